// SPDX-License-Identifier: BSD-3-Clause
/* What two pictures differ in, in words; each changed picture went through the reader,
 * so that what is derived of it is right. And which node is the usual one. */
#include "topology/differ.h"
#include "topology/model.h"
#include "topology/print.h"

#include "tests/unit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char root[64];

static json_t *read_picture(const char *path)
{
    struct fc_topo *topo = NULL;
    struct fc_error err = {""};
    const struct fc_topo_source source = {.from = path};
    if (fc_topo_open(&source, &topo, &err) != FC_OK)
        fail_msg("%s", err.text);
    json_t *json = fc_topo_json(topo);
    fc_topo_close(topo);
    return json;
}

static json_t *fixture(void)
{
    char path[512];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/fixtures/topo/nccl-8gpu-8nic-4switch.xml",
             top ? top : ".");
    return read_picture(path);
}

/* {"facts", "topology"}; steals `topology`, as it is once it was read again. */
static json_t *picture_of(json_t *topology)
{
    char path[128], *text = json_dumps(topology, 0);
    tree_write(root, "/picture.json", text);
    snprintf(path, sizeof path, "%s/picture.json", root);
    json_t *again = read_picture(path);
    free(text);
    json_decref(topology);
    return json_pack("{s:{s:s, s:i, s:s}, s:o}", "facts", "cpu.model", "CPU X",
                     "mem.gib", 2048, "topo.class", "00ff", "topology", again);
}

static json_t *member(json_t *topology, const char *list, size_t i)
{
    json_t *o = json_array_get(json_object_get(topology, list), i);
    assert_non_null(o);
    return o;
}

static json_t *function(json_t *topology, const char *bdf)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(topology, "pci"), i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "bdf")), bdf) == 0)
            return o;
    }
    fail_msg("no function %s", bdf);
    return NULL;
}

static const char *text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void drop_function(json_t *topology, const char *bdf)
{
    json_t *list = json_object_get(topology, "pci");
    for (size_t i = json_array_size(list); i-- > 0;)
        if (strcmp(text(json_array_get(list, i), "bdf"), bdf) == 0)
            json_array_remove(list, i);
}

static void lose_gpu(json_t *topology, int gpu)
{
    json_t *peers = json_object_get(topology, "peers");
    drop_function(topology, text(member(topology, "gpus", (size_t)gpu), "bdf"));
    json_array_remove(json_object_get(topology, "gpus"), (size_t)gpu);
    for (size_t i = json_array_size(peers); i-- > 0;) {
        json_t *number = json_object_get(json_array_get(peers, i), "gpu");
        if (json_integer_value(number) == gpu)
            json_array_remove(peers, i);
        else if (json_integer_value(number) > gpu)
            json_integer_set(number, json_integer_value(number) - 1);
    }
}

static void lose_nic(json_t *topology, size_t nic)
{
    drop_function(topology, text(member(topology, "nics", nic), "bdf"));
    json_array_remove(json_object_get(topology, "nics"), nic);
}

static void move_function(json_t *topology, json_t *device, const char *bdf)
{
    json_t *f = function(topology, text(device, "bdf"));
    json_object_set_new(f, "bdf", json_string(bdf));
    json_object_set_new(device, "bdf", json_string(bdf));
}

/* Each text of `list` on a line of its own; the caller frees. */
static char *lines_of(const json_t *list)
{
    char *lines = NULL;
    size_t bytes, i;
    json_t *one;
    FILE *out = open_memstream(&lines, &bytes);
    assert_non_null(out);
    json_array_foreach(list, i, one) fprintf(out, "%s\n", json_string_value(one));
    assert_int_equal(fclose(out), 0);
    return lines;
}

/* `mine` against the fixture; steals `mine`. NULL: no difference. */
static json_t *differences(json_t *mine)
{
    json_t *out = NULL, *usual = picture_of(fixture());
    struct fc_error err;
    uint64_t a, b;
    assert_int_equal(fc_differ(mine, usual, &out, &err), FC_OK);
    assert_int_equal(fc_differ_print(mine, &a, &err), FC_OK);
    assert_int_equal(fc_differ_print(usual, &b, &err), FC_OK);
    assert_int_equal(a == b, out == NULL);
    json_decref(usual);
    json_decref(mine);
    return out;
}

static void expect(json_t *topology, const char *want)
{
    json_t *out = differences(picture_of(topology));
    assert_non_null(out);
    char *have = lines_of(json_object_get(out, "topology"));
    assert_string_equal(have, want);
    assert_int_equal(json_array_size(json_object_get(out, "facts")), 0);
    assert_int_equal(json_integer_value(json_object_get(out, "more")), 0);
    free(have);
    json_decref(out);
}

static void the_same(void **state)
{
    (void)state;
    json_t *topology = fixture();
    assert_null(differences(picture_of(topology)));
    /* what is each node's own */
    topology = fixture();
    json_object_set_new(topology, "host", json_string("another"));
    for (size_t i = 0; i < 8; i++) {
        json_t *link = json_object_get(
            function(topology, text(member(topology, "gpus", i), "bdf")), "link");
        json_object_set_new(link, "GTps", json_real(2.5));
        json_object_set_new(member(topology, "gpus", i), "uuid", json_string("GPU-9"));
    }
    assert_null(differences(picture_of(topology)));
}

static void a_part_is_missing(void **state)
{
    (void)state;
    json_t *topology = fixture();
    lose_gpu(topology, 5);
    expect(topology, "7 GPUs instead of 8\n"
                     "GPU 0000:93:00.0 missing\n");
    topology = fixture();
    lose_nic(topology, 3);
    expect(topology, "8 NICs instead of 9\n"
                     "NIC mlx5_3 (0000:57:00.0) missing\n");
}

static void a_part_is_otherwise(void **state)
{
    (void)state;
    json_t *topology = fixture();
    json_t *port =
        json_array_get(json_object_get(member(topology, "nics", 2), "ports"), 0);
    json_object_set_new(port, "Gbps", json_real(200));
    expect(topology,
           "NIC mlx5_2 (0000:56:00.0): port 1 200 Gb/s instead of 400 Gb/s\n");
    topology = fixture();
    json_object_set_new(json_object_get(function(topology, "0000:12:00.0"), "link"),
                        "width", json_integer(8));
    expect(topology, "GPU 0000:12:00.0: link x8 instead of x16\n");
    topology = fixture();
    for (size_t i = 0; i < 8; i++)
        json_object_set_new(member(topology, "gpus", i), "name", json_string("B200"));
    json_t *out = differences(picture_of(topology));
    char *have = lines_of(json_object_get(out, "topology"));
    assert_non_null(strstr(
        have, "GPUs 0000:12:00.0, 0000:13:00.0, 0000:52:00.0 and 5 more: product B200 "
              "instead of "));
    free(have);
    json_decref(out);
}

static void a_part_is_elsewhere(void **state)
{
    (void)state;
    json_t *topology = fixture();
    /* a NIC that keeps its name and stands under another switch */
    json_object_set_new(function(topology, "0000:16:00.0"), "parent",
                        json_string("0000:90:00.0"));
    json_object_set_new(function(topology, "0000:16:00.0"), "numa", json_integer(1));
    json_object_set_new(function(topology, "0000:16:00.0"), "host", json_integer(1));
    json_t *out = differences(picture_of(topology));
    char *have = lines_of(json_object_get(out, "topology"));
    assert_non_null(
        strstr(have, "NIC mlx5_0 (0000:16:00.0): NUMA node 1 instead of 0"));
    assert_non_null(strstr(have, "GPUs 0000:12:00.0 to mlx5_0 (0000:16:00.0), "
                                 "0000:13:00.0 to mlx5_0 (0000:16:00.0): SYS instead "
                                 "of PIX"));
    free(have);
    json_decref(out);
    topology = fixture();
    move_function(topology, member(topology, "nics", 0), "0000:18:00.0");
    expect(topology,
           "NIC mlx5_0 (0000:18:00.0): at 0000:18:00.0 instead of 0000:16:00.0\n");
    /* the firmware counted the buses otherwise */
    topology = fixture();
    move_function(topology, member(topology, "gpus", 0), "0000:11:00.0");
    expect(topology, "GPU 0000:11:00.0: at 0000:11:00.0 instead of 0000:12:00.0\n");
}

static void facts_differ(void **state)
{
    (void)state;
    json_t *mine = picture_of(fixture());
    json_object_set_new(json_object_get(mine, "facts"), "mem.gib", json_integer(1024));
    json_object_set_new(json_object_get(mine, "facts"), "topo.class",
                        json_string("00fe"));
    json_t *out = differences(mine);
    char *have = lines_of(json_object_get(out, "facts"));
    assert_string_equal(have, "mem.gib 1024 instead of 2048\n");
    assert_int_equal(json_array_size(json_object_get(out, "topology")), 0);
    free(have);
    json_decref(out);
}

static void many_differences(void **state)
{
    (void)state;
    json_t *topology = fixture();
    for (size_t i = 0; i < 8; i++) {
        char name[32];
        snprintf(name, sizeof name, "another %zu", i);
        json_object_set_new(member(topology, "gpus", i), "name", json_string(name));
        json_object_set_new(member(topology, "nics", i), "firmware", json_string(name));
        json_object_set_new(member(topology, "nics", i), "board", json_string(name));
    }
    json_t *out = differences(picture_of(topology));
    assert_int_equal(json_array_size(json_object_get(out, "topology")), FC_DIFFER_MOST);
    assert_int_equal(json_integer_value(json_object_get(out, "more")),
                     24 - FC_DIFFER_MOST);
    json_decref(out);
}

/* Pictures of a damaged journal are no danger. */
static void no_pictures(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{\"facts\":[],\"topology\":3}",
        "{\"facts\":{\"a\":[1],\"b\":null},\"topology\":{\"gpus\":{},\"nics\":[1,null]}"
        "}",
        "{\"topology\":{\"gpus\":[{},{\"bdf\":7}],\"nics\":[{\"ports\":[3,{}]}],"
        "\"matrix\":{\"rows\":[[1],2]},\"pci\":[1],\"numa\":[{}],\"packages\":[9]}}",
    };
    struct fc_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *odd = json_loads(texts[i], 0, NULL), *usual = picture_of(fixture());
        json_t *one = NULL, *other = NULL;
        uint64_t print;
        assert_non_null(odd);
        assert_int_equal(fc_differ(odd, usual, &one, &err), FC_OK);
        assert_int_equal(fc_differ(usual, odd, &other, &err), FC_OK);
        assert_int_equal(fc_differ_print(odd, &print, &err), FC_OK);
        assert_non_null(one);
        assert_non_null(other);
        json_decref(one);
        json_decref(other);
        json_decref(usual);
        json_decref(odd);
    }
}

/* ---- the usual node ---- */

static int usual(const struct fc_kin *kin, size_t n, uint64_t class)
{
    struct fc_kin copy[16];
    memcpy(copy, kin, n * sizeof *kin);
    fc_kin_sort(copy, n);
    return fc_kin_usual(copy, n, class);
}

static bool alike(const struct fc_kin *kin, size_t n)
{
    struct fc_kin copy[16];
    memcpy(copy, kin, n * sizeof *kin);
    fc_kin_sort(copy, n);
    return fc_kin_alike(copy, n);
}

static void who_is_usual(void **state)
{
    (void)state;
    static const struct fc_kin one[] = {{7, 1, 0, 0}, {0, 0, 1, 0}, {7, 1, 2, 0}};
    assert_true(alike(one, 3));
    assert_true(alike(one, 0));
    assert_int_equal(usual(one, 3, 0), 0);
    /* most nodes' class, and in it most nodes' print: not the first node of all */
    static const struct fc_kin many[] = {{9, 1, 0, 0}, {5, 2, 1, 0}, {5, 1, 2, 0},
                                         {0, 0, 3, 0}, {5, 1, 4, 0}, {9, 3, 5, 0}};
    assert_false(alike(many, 6));
    assert_int_equal(usual(many, 6, 0), 2);
    assert_int_equal(usual(many, 6, 5), 2);
    assert_int_equal(usual(many, 6, 9), 0);
    assert_int_equal(usual(many, 6, 4), -1);
    /* of two halves that with the lowest rank */
    static const struct fc_kin halves[] = {{9, 1, 0, 0}, {5, 1, 1, 0}};
    assert_int_equal(usual(halves, 2, 0), 0);
    static const struct fc_kin prints[] = {{5, 9, 0, 0}, {5, 1, 1, 0}};
    assert_false(alike(prints, 2));
    assert_int_equal(usual(prints, 2, 0), 0);
    static const struct fc_kin nobody[] = {{0, 0, 0, 0}, {0, 0, 1, 0}};
    assert_true(alike(nobody, 2));
    assert_int_equal(usual(nobody, 2, 0), -1);
}

static int set_up(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same),
        cmocka_unit_test(a_part_is_missing),
        cmocka_unit_test(a_part_is_otherwise),
        cmocka_unit_test(a_part_is_elsewhere),
        cmocka_unit_test(facts_differ),
        cmocka_unit_test(many_differences),
        cmocka_unit_test(no_pictures),
        cmocka_unit_test(who_is_usual),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
