// SPDX-License-Identifier: BSD-3-Clause
/* For the device probe's test: a run of one process with a journal, and a device around
 * the host device that is made wrong, dead or small. */
#ifndef FC_TESTS_UNIT_DEVICE_RIG_H
#define FC_TESTS_UNIT_DEVICE_RIG_H

#include "core/journal.h"
#include "device/device.h"
#include "device/probe_device.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

enum fault {
    FAULT_NONE,
    FAULT_COPY_ONE_WORD,  /* the third copy has one wrong word */
    FAULT_COPY_NOTHING,   /* copies return and have done nothing */
    FAULT_GEMM_ONCE,      /* the fifth product has a wrong last bit */
    FAULT_GEMM_ALWAYS,    /* each product's same element is wrong */
    FAULT_GEMM_NOTHING,   /* after the second, products do nothing */
    FAULT_WHOLE_LATER,    /* only products of whole numbers, only between repetitions */
    FAULT_INPUT,          /* a bit of A flips in memory meanwhile */
    FAULT_GEMM_DEAD,      /* products return an error */
    FAULT_NO_MEMORY,      /* the third allocation fails */
    FAULT_NO_STREAM_PEAK, /* the ceiling cannot be had */
    FAULT_FOREIGN,        /* memory that the host cannot read */
};

/* Wraps the host device; one at a time. */
static struct {
    struct fc_device base;
    struct fc_device *host;
    enum fault fault;
    int copies, gemms, allocs, frees;
    const void *whole_a; /* the first product's */
    uint64_t memory_bytes, cache_bytes;
    double core_share;
} fake;

static struct fc_error err;

static enum fc_status info(struct fc_device *d, struct fc_device_info *out,
                           struct fc_error *e)
{
    (void)d;
    enum fc_status status = fake.host->ops->info(fake.host, out, e);
    out->memory_bytes = fake.memory_bytes;
    out->cache_bytes = fake.cache_bytes;
    out->core_share = fake.core_share;
    if (fake.fault == FAULT_FOREIGN)
        strcpy(out->kind, "cuda");
    return status;
}

static enum fc_status alloc(struct fc_device *d, size_t bytes, void **out,
                            struct fc_error *e)
{
    (void)d;
    if (++fake.allocs == 3 && fake.fault == FAULT_NO_MEMORY) {
        fake.allocs--;
        return fc_fail(e, FC_NOMEM, "no memory today");
    }
    return fake.host->ops->alloc(fake.host, bytes, out, e);
}

static void release(struct fc_device *d, void *at, size_t bytes)
{
    (void)d;
    fake.frees++;
    fake.host->ops->free(fake.host, at, bytes);
}

static enum fc_status copy(struct fc_device *d, struct fc_stream *s, void *dst,
                           const void *src, size_t bytes, struct fc_error *e)
{
    (void)d;
    fake.copies++;
    if (fake.fault == FAULT_COPY_NOTHING)
        return FC_OK;
    enum fc_status status = fake.host->ops->copy(fake.host, s, dst, src, bytes, e);
    if (fake.fault == FAULT_COPY_ONE_WORD && fake.copies == 3)
        ((unsigned char *)dst)[bytes - 2] ^= 1;
    return status;
}

static enum fc_status gemm(struct fc_device *d, struct fc_stream *s,
                           const struct fc_gemm *g, struct fc_error *e)
{
    (void)d;
    int call = ++fake.gemms;
    size_t size = fc_dtype_bytes(g->dtype), last = (size_t)g->m * (size_t)g->n - 1;
    unsigned char *c = g->c;
    if (call == 1)
        fake.whole_a = g->a;
    if (fake.fault == FAULT_GEMM_DEAD)
        return fc_fail(e, FC_FAILED, "the multiplier fell off");
    if (fake.fault == FAULT_GEMM_NOTHING && call > 2)
        return FC_OK;
    if (fake.fault == FAULT_INPUT && call == 4)
        ((unsigned char *)(uintptr_t)g->a)[size * 5 + size - 2] ^= 0x10;
    enum fc_status status = fake.host->ops->gemm(fake.host, s, g, e);
    if (fake.fault == FAULT_GEMM_ALWAYS ||
        (fake.fault == FAULT_WHOLE_LATER && call > 2 && g->dtype == FC_DTYPE_FP32 &&
         g->a == fake.whole_a))
        c[last * size + size - 2] ^= 0x20;
    if (fake.fault == FAULT_GEMM_ONCE && call == 5)
        c[last * size] ^= 1;
    return status;
}

static enum fc_status fill(struct fc_device *d, struct fc_stream *s, void *dst,
                           size_t count, enum fc_dtype dtype, struct fc_pattern p,
                           struct fc_error *e)
{
    (void)d;
    return fake.host->ops->fill(fake.host, s, dst, count, dtype, p, e);
}

static enum fc_status compare(struct fc_device *d, struct fc_stream *s,
                              const void *data, size_t count, enum fc_dtype dtype,
                              struct fc_pattern p, struct fc_mismatch *out,
                              struct fc_error *e)
{
    (void)d;
    return fake.host->ops->compare(fake.host, s, data, count, dtype, p, out, e);
}

static enum fc_status fma_peak(struct fc_device *d, enum fc_dtype dtype, double *out,
                               struct fc_error *e)
{
    (void)d;
    return fake.host->ops->fma_peak(fake.host, dtype, out, e);
}

static enum fc_status stream_peak(struct fc_device *d, void *dst, const void *src,
                                  size_t bytes, double *out, struct fc_error *e)
{
    (void)d;
    return fake.host->ops->stream_peak(fake.host, dst, src, bytes, out, e);
}

/* A run of one process with a journal of its own; `lines` are what came of it. */
struct rig {
    struct fc_run run;
    struct fc_settings settings;
    struct fc_device_ops ops;
    char dir[64];
    struct fc_journal_text text;
};

static void rig_open(struct rig *rig, enum fault fault)
{
    memset(rig, 0, sizeof *rig);
    memset(&fake, 0, sizeof fake);
    assert_int_equal(fc_device_host_open(0, 1, &fake.host, &err), FC_OK);
    rig->ops = *fake.host->ops; /* streams and events pass through */
    rig->ops.info = info;
    rig->ops.alloc = alloc;
    rig->ops.free = release;
    rig->ops.copy = copy;
    rig->ops.gemm = gemm;
    rig->ops.fill = fill;
    rig->ops.compare = compare;
    rig->ops.fma_peak = fma_peak;
    rig->ops.stream_peak = fault == FAULT_NO_STREAM_PEAK ? NULL : stream_peak;
    fake.base.ops = &rig->ops;
    fake.fault = fault;
    fake.memory_bytes = 64 * MIB; /* keeps the test short */
    fake.cache_bytes = MIB;
    fake.core_share = 1.0;
    tree_make(rig->dir, sizeof rig->dir);
    rig->settings =
        (struct fc_settings){.level = FC_LEVEL_QUICK, .work_ns = 60000000000};
    rig->run = (struct fc_run){
        .settings = &rig->settings, .device = &fake.base, .sharers = 1, .seed = 7};
    assert_int_equal(fc_rte_open(&rig->run.rte, NULL, &err), FC_OK);
    rig->run.rte->wait_ns = 60000000000;
    assert_int_equal(fc_sink_open(0, &rig->run.sink, &err), FC_OK);
    char path[80];
    snprintf(path, sizeof path, "%s/run", rig->dir);
    assert_int_equal(fc_journal_create(path, &rig->run.journal, &err), FC_OK);
    char *line = fc_line("run", json_pack("{s:s}", "schema", FC_JOURNAL_SCHEMA));
    assert_int_equal(fc_journal_line(rig->run.journal, line, &err), FC_OK);
}

static void rig_run(struct rig *rig, const struct fc_focus *focus)
{
    assert_int_equal(fc_probe_device.run(&rig->run, NULL, focus, &err), FC_OK);
    assert_int_equal(
        fc_journal_read(fc_journal_path(rig->run.journal), &rig->text, &err), FC_OK);
    assert_int_equal(fake.allocs, fake.frees);
}

static void rig_close(struct rig *rig)
{
    fc_journal_text_free(&rig->text);
    fc_journal_close(rig->run.journal);
    fc_sink_close(rig->run.sink);
    fc_rte_close(rig->run.rte);
    fake.host->ops->close(fake.host);
    tree_remove(rig->dir);
}

/* The one record of a metric. */
static const json_t *record(const struct rig *rig, const char *metric)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < rig->text.lines; i++) {
        const char *name =
            json_string_value(json_object_get(rig->text.line[i], "metric"));
        if (!name || strcmp(name, metric) != 0)
            continue;
        assert_null(found);
        found = rig->text.line[i];
    }
    assert_non_null(found);
    return found;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

#endif
