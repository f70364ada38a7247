// SPDX-License-Identifier: BSD-3-Clause
/* The training step without other ranks: models, buckets, hashes of weights, what is
 * refused, and that repetition takes no memory. */
#include "training/training.h"

#include "collectives/comm.h"
#include "device/device.h"
#include "training/buckets.h"
#include "training/model.h"
#include "training/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fc_error err;
static const struct fc_model_fit one = {.threads = 1, .sharers = 1};

/* --- models --- */

static void presets_have_the_real_models_parameters(void **state)
{
    struct fc_model model;
    (void)state;
    /* Llama 2: 6.74e9 and 68.98e9 less embeddings, output layer and norms. */
    assert_int_equal(fc_model_preset("7b", &one, &model, &err), FC_OK);
    assert_int_equal(model.whole, 32);
    assert_int_equal(fc_model_parameters(&model) * 32,
                     (uint64_t)model.blocks * UINT64_C(6476005376));
    assert_non_null(strstr(model.variant, "7b, 1 of 32 layers"));
    assert_true(fc_model_flop(&model) ==
                6.0 * model.tokens * (double)fc_model_parameters(&model));
    fc_model_close(&model);
    assert_int_equal(fc_model_preset("70b", &one, &model, &err), FC_OK);
    assert_int_equal(fc_model_parameters(&model) * 80,
                     (uint64_t)model.blocks * UINT64_C(68451041280));
    fc_model_close(&model);
}

static void work_fits_the_cores(void **state)
{
    struct fc_model_fit many = {.threads = 48, .sharers = 1};
    struct fc_model_fit crowded = {.threads = 1, .sharers = 32};
    struct fc_model_fit wish = {.threads = 8, .sharers = 1, .tokens = 33};
    struct fc_model a, b;
    (void)state;
    assert_int_equal(fc_model_preset("tiny", &one, &a, &err), FC_OK);
    assert_int_equal(fc_model_preset("tiny", &many, &b, &err), FC_OK);
    assert_int_equal(b.tokens, 48 * a.tokens);
    assert_int_equal(fc_model_parameters(&a), fc_model_parameters(&b));
    fc_model_close(&b);
    assert_int_equal(fc_model_preset("tiny", &crowded, &b, &err), FC_OK);
    assert_true(fc_model_flop(&b) < fc_model_flop(&a) / 4);
    fc_model_close(&b);
    assert_int_equal(fc_model_preset("7b", &crowded, &b, &err), FC_OK);
    assert_int_equal(b.layer[0].in, 4096);
    assert_true(b.tokens < a.tokens);
    fc_model_close(&b);
    assert_int_equal(fc_model_preset("tiny", &wish, &b, &err), FC_OK);
    assert_int_equal(b.tokens, 33);
    fc_model_close(&b);
    fc_model_close(&a);
}

static void layer_lists_are_read_or_refused_by_name(void **state)
{
    static const struct {
        const char *list, *named;
    } bad[] = {{"", "''"},
               {"512", "'512'"},
               {"512x", "'512x'"},
               {"x512", "'x512'"},
               {"512x0", "'512x0'"},
               {"-1x5", "'-1x5'"},
               {"512x2048,,64x64", "''"},
               {"512x2048,", "''"},
               {"512x2048,7y8", "'7y8'"},
               {"64x64x64", "'64x64x64'"},
               {"1x1048577", "'1x1048577'"},
               {"512x99999999999999999999", "'512x99999999999999999999'"},
               {"1x1000000000000000000000000000000000000000", "'1x1000"}};
    struct fc_model model;
    (void)state;
    assert_int_equal(fc_model_custom("512x2048,2048x512,1x1", &one, &model, &err),
                     FC_OK);
    assert_int_equal(model.layers, 3);
    assert_int_equal(model.layer[1].in, 2048);
    assert_int_equal(model.layer[1].out, 512);
    assert_int_equal(fc_model_parameters(&model), 2 * 512 * 2048 + 1);
    fc_model_close(&model);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fc_model_custom(bad[i].list, &one, &model, &err), FC_USAGE);
        assert_non_null(strstr(err.text, "--layers"));
        assert_non_null(strstr(err.text, bad[i].named));
    }
    char *long_list = malloc(4 * 5000 + 1);
    assert_non_null(long_list);
    for (int i = 0; i < 5000; i++)
        memcpy(long_list + 4 * i, "8x8,", 5);
    long_list[4 * 5000 - 1] = '\0';
    assert_int_equal(fc_model_custom(long_list, &one, &model, &err), FC_USAGE);
    free(long_list);
}

/* --- buckets --- */

/* Walks the buckets as the backward pass does. */
static void covered_once(const struct fc_model *model, uint64_t limit, int ranks)
{
    struct fc_buckets b;
    assert_int_equal(fc_buckets_open(model, limit, ranks, &b, &err), FC_OK);
    unsigned char *seen = calloc(b.elements, 1);
    size_t next = model->layers, at = 0;
    assert_non_null(seen);
    for (size_t i = 0; i < b.count; i++) {
        const struct fc_bucket *bucket = &b.bucket[i];
        size_t inside = 0;
        assert_int_equal(bucket->at, at);
        assert_int_equal(bucket->elements % (size_t)ranks, 0);
        assert_true(bucket->count > 0);
        assert_int_equal(bucket->lowest + bucket->count, next);
        for (size_t l = next; l-- > bucket->lowest;) {
            size_t parameters = fc_layer_parameters(&model->layer[l]);
            assert_int_equal(b.layer_at[l], at + inside);
            for (size_t e = 0; e < parameters; e++)
                assert_int_equal(seen[b.layer_at[l] + e]++, 0);
            inside += parameters;
            /* the last layer fills it, not one before */
            if (limit && l > bucket->lowest)
                assert_true(inside * sizeof(float) < limit);
        }
        assert_true(bucket->elements >= inside);
        assert_true(bucket->elements - inside < 16 * (size_t)ranks);
        next = bucket->lowest;
        at += bucket->elements;
    }
    assert_int_equal(next, 0);
    assert_int_equal(at, b.elements);
    free(seen);
    fc_buckets_close(&b);
}

static void buckets_cover_every_parameter_once_in_reverse(void **state)
{
    static const uint64_t limits[] = {0, 1, 4000, 100000, 3 << 20, (uint64_t)1 << 40};
    static const int ranks[] = {1, 2, 3, 4, 7, 64};
    static const char *const lists[] = {"1x1", "37x11,5x5,640x480,1x3,3x1,999x7",
                                        "512x512,512x512,512x512,512x512,512x512"};
    (void)state;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        struct fc_model model;
        assert_int_equal(fc_model_custom(lists[l], &one, &model, &err), FC_OK);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
            for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
                covered_once(&model, limits[i], ranks[r]);
        fc_model_close(&model);
    }
}

static void the_first_bucket_is_small(void **state)
{
    struct fc_model model;
    struct fc_buckets b;
    (void)state;
    assert_int_equal(
        fc_model_custom("1024x1024,1024x1024,1024x1024,512x512", &one, &model, &err),
        FC_OK);
    assert_int_equal(fc_buckets_open(&model, 0, 1, &b, &err), FC_OK);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.bucket[0].elements, 512 * 512);
    fc_buckets_close(&b);
    fc_model_close(&model);
}

/* --- weights --- */

static void a_flipped_bit_is_found_in_its_layer(void **state)
{
    struct fc_model model;
    struct fc_buckets b;
    uint64_t before[3], after[3];
    int64_t bad;
    (void)state;
    assert_int_equal(fc_model_custom("300x301,7x5,64x64", &one, &model, &err), FC_OK);
    assert_int_equal(fc_buckets_open(&model, 1000, 2, &b, &err), FC_OK);
    float *w = calloc(b.elements, sizeof *w);
    assert_non_null(w);
    for (size_t i = 0; i < b.elements; i++)
        w[i] = (float)i;
    uint64_t whole = fc_weights_hash(w, &model, &b, before, &bad);
    assert_int_equal(bad, -1);
    for (size_t l = 0; l < 3; l++) {
        size_t last = fc_layer_parameters(&model.layer[l]) - 1;
        float *at = &w[b.layer_at[l] + last], kept = *at;
        ((unsigned char *)at)[0] ^= 1;
        assert_true(fc_weights_hash(w, &model, &b, after, &bad) != whole);
        assert_int_equal(bad, -1);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(after[k] == before[k], k != l);
        *at = l == 1 ? INFINITY : NAN;
        (void)fc_weights_hash(w, &model, &b, after, &bad);
        assert_int_equal(bad, (int64_t)l);
        *at = kept;
    }
    assert_true(fc_weights_hash(w, &model, &b, after, &bad) == whole);
    free(w);
    fc_buckets_close(&b);
    fc_model_close(&model);
}

static void a_majority_is_more_than_half(void **state)
{
    static const struct {
        int ranks, majority;
        uint64_t hash[7];
    } cases[] = {{1, 0, {5}},
                 {2, 0, {5, 5}},
                 {2, -1, {5, 6}},
                 {3, 1, {9, 5, 5}},
                 {3, 0, {5, 9, 5}},
                 {3, -1, {1, 2, 3}},
                 {4, -1, {1, 1, 2, 2}},
                 {5, 1, {9, 5, 5, 8, 5}},
                 {7, -1, {1, 2, 2, 3, 2, 4, 5}},
                 {6, -1, {1, 2, 1, 2, 1, 2}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t wide[7][3] = {{0}};
        for (int r = 0; r < cases[i].ranks; r++)
            wide[r][0] = cases[i].hash[r];
        assert_int_equal(fc_weights_majority(&wide[0][0], cases[i].ranks, 3),
                         cases[i].majority);
    }
}

/* --- a run of one rank --- */

struct rig {
    struct fc_run run;
    struct fc_settings settings;
    struct fc_device_ops ops;
};

static void rig_open(struct rig *rig)
{
    *rig = (struct rig){.settings = {.level = FC_LEVEL_QUICK, .work_ns = 60000000000}};
    rig->run = (struct fc_run){.settings = &rig->settings, .sharers = 1, .seed = 7};
    assert_int_equal(fc_rte_open(&rig->run.rte, NULL, &err), FC_OK);
    rig->run.rte->wait_ns = 60000000000;
    assert_int_equal(fc_device_host_open(0, 1, &rig->run.device, &err), FC_OK);
    assert_int_equal(fc_comm_self_open(&rig->run.world, &err), FC_OK);
    rig->ops = *rig->run.device->ops;
    rig->run.device->ops = &rig->ops;
}

static void rig_close(struct rig *rig)
{
    rig->run.world->ops->close(rig->run.world);
    rig->run.device->ops->close(rig->run.device);
    fc_rte_close(rig->run.rte);
}

static long resident_pages(void)
{
    long size, resident = -1;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
    fclose(file);
    return resident;
}

static void steps(struct rig *rig, int count, bool sharded)
{
    struct fc_training_settings settings = {.layers = "256x512,512x256,256x256",
                                            .tokens = 32,
                                            .bucket_bytes = 1 << 19,
                                            .sharded = sharded,
                                            .steps = count};
    struct fc_training_result result;
    assert_int_equal(fc_training_run(&rig->run, &settings, &result, &err), FC_OK);
    assert_int_equal(result.own_status, FC_OK);
    assert_int_equal(result.worst, FC_OK);
    assert_int_equal(result.step_s.n, count);
    assert_int_equal(result.own_compute_s.n, count);
    assert_int_equal(result.compared, count + 1);
    assert_false(result.fault.any);
    assert_int_equal(result.comm_s.n, 0);
    assert_int_equal(result.exposed_s.n, 0);
    assert_true(result.step_s.median > 0 && result.jitter >= 1);
    assert_true(result.mfu.median > 0);
    assert_true(result.flop == 6.0 * 32 * (2 * 256 * 512 + 256 * 256));
    fc_training_result_close(&result);
}

#ifdef __SANITIZE_ADDRESS__
enum { GROWTH_PAGES = 1 << 17 }; /* it keeps what was freed; leaks it finds itself */
#else
enum { GROWTH_PAGES = 1024 };
#endif

static void repetition_takes_no_memory(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    steps(&rig, 10, false);
    steps(&rig, 10, true);
    long before = resident_pages();
    steps(&rig, 40, false);
    steps(&rig, 40, true);
    /* 80 steps' gradients alone would be 100 MB */
    assert_true(resident_pages() - before < GROWTH_PAGES);
    rig_close(&rig);
}

static void settings_that_make_no_sense_are_named(void **state)
{
    static const struct {
        struct fc_training_settings settings;
        const char *named;
    } cases[] = {{{.preset = "8b"}, "--preset: '8b'"},
                 {{.preset = ""}, "--preset: ''"},
                 {{.preset = "7b", .layers = "8x8"}, "exclude"},
                 {{.layers = "8by8"}, "--layers: '8by8'"},
                 {{.tokens = -3}, "--tokens: -3"},
                 {{.tokens = 1 << 30}, "--tokens: 1073741824"}};
    struct rig rig;
    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fc_training_result result;
        assert_int_equal(fc_training_run(&rig.run, &cases[i].settings, &result, &err),
                         FC_USAGE);
        assert_non_null(strstr(err.text, cases[i].named));
        fc_training_result_close(&result);
    }
    rig_close(&rig);
}

/* --- devices that are not what a step needs --- */

static const struct fc_device_ops *real;
static const char *kind;
static uint64_t memory_bytes;
static int allocs;

static enum fc_status info(struct fc_device *d, struct fc_device_info *out,
                           struct fc_error *e)
{
    enum fc_status status = real->info(d, out, e);
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    out->memory_bytes = memory_bytes;
    return status;
}

static enum fc_status alloc(struct fc_device *d, size_t bytes, void **out,
                            struct fc_error *e)
{
    allocs++;
    return real->alloc(d, bytes, out, e);
}

static void too_little_memory_and_other_devices_are_refused(void **state)
{
    struct fc_training_settings large = {.layers = "4096x4096"}, own = {.steps = 1};
    struct fc_training_result result;
    struct rig rig;
    (void)state;
    rig_open(&rig);
    struct fc_device_ops host = rig.ops;
    real = &host;
    kind = "host";
    memory_bytes = 100 << 20;
    rig.ops.info = info;
    rig.ops.alloc = alloc;
    assert_int_equal(fc_training_run(&rig.run, &large, &result, &err), FC_NOMEM);
    assert_non_null(strstr(err.text, "of memory"));
    assert_int_equal(allocs, 0);
    fc_training_result_close(&result);
    /* the level's own choice gives way: no 7b in 100 MiB */
    rig.settings.level = FC_LEVEL_STANDARD;
    own.tokens = 16;
    assert_int_equal(fc_training_run(&rig.run, &own, &result, &err), FC_OK);
    assert_non_null(strstr(result.model.variant, "tiny"));
    fc_training_result_close(&result);
    kind = "cuda";
    assert_int_equal(fc_training_run(&rig.run, &own, &result, &err), FC_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cuda"));
    fc_training_result_close(&result);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_the_real_models_parameters),
        cmocka_unit_test(work_fits_the_cores),
        cmocka_unit_test(layer_lists_are_read_or_refused_by_name),
        cmocka_unit_test(buckets_cover_every_parameter_once_in_reverse),
        cmocka_unit_test(the_first_bucket_is_small),
        cmocka_unit_test(a_flipped_bit_is_found_in_its_layer),
        cmocka_unit_test(a_majority_is_more_than_half),
        cmocka_unit_test(repetition_takes_no_memory),
        cmocka_unit_test(settings_that_make_no_sense_are_named),
        cmocka_unit_test(too_little_memory_and_other_devices_are_refused),
    };
    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
