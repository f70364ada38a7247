// SPDX-License-Identifier: BSD-3-Clause
#include "device/host_blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* OpenBLAS' own calls; NULL when another CBLAS is linked. */
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) char *openblas_get_config(void);
__attribute__((weak)) char *openblas_get_corename(void);
__attribute__((weak)) int openblas_get_parallel(void); /* 0: built without threads */

/* Blocks begin at whole register tiles, unless that would leave members idle. */
enum { GEMM_GRAIN = 16 };

/* With OpenMP the number of threads belongs to the calling thread, so each member sets
 * it; in turn, since it also rebuilds OpenBLAS' own pool. */
static void one_blas_thread(void *arg, int member, int members)
{
    (void)member;
    (void)members;
    pthread_mutex_lock(arg);
    openblas_set_num_threads(1);
    pthread_mutex_unlock(arg);
}

/* A BLAS built without threads keeps its work space unlocked: calls may not overlap. */
enum fc_status fc_host_blas_open(struct fc_crew *crew, char *out_name,
                                 size_t name_bytes, struct fc_error *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!openblas_set_num_threads || !openblas_get_config || !openblas_get_corename ||
        !openblas_get_parallel) {
        snprintf(out_name, name_bytes, "CBLAS");
        return FC_OK;
    }
    const char *config = openblas_get_config();
    if (openblas_get_parallel() == 0 && fc_crew_size(crew) > 1 &&
        !strstr(config, "USE_LOCKING"))
        return fc_fail(err, FC_UNSUPPORTED,
                       "host device: this OpenBLAS has neither threads nor locks; "
                       "use its pthread or OpenMP build");
    snprintf(out_name, name_bytes, "%s (%s)", config, openblas_get_corename());
    fc_crew_run(crew, one_blas_thread, &lock);
    return FC_OK;
}

void fc_host_grid(int members, int m, int n, int *out_rows, int *out_columns)
{
    double least = 0.0;
    for (int rows = 1; rows <= members; rows++) {
        if (members % rows)
            continue;
        int columns = members / rows;
        double edge = (double)m / rows + (double)n / columns;
        if (rows > 1 && edge >= least)
            continue;
        least = edge;
        *out_rows = rows;
        *out_columns = columns;
    }
}

struct gemm_job {
    const struct fc_gemm *gemm;
    int rows, columns;
};

static size_t grain_of(int length, int parts)
{
    return length / parts >= 4 * GEMM_GRAIN ? GEMM_GRAIN : 1;
}

/* Where a block's part of A or B begins, and how far its stored rows are apart. */
struct operand {
    size_t at;
    int pitch;
};

/* `from`: the block's first row (of A) or column (of B) of `length`. It is a stored
 * column when k counts stored rows. */
static struct operand operand_of(bool k_is_rows, size_t from, int length, int k)
{
    if (k_is_rows)
        return (struct operand){from, length};
    return (struct operand){from * (size_t)k, k};
}

static void gemm_block(void *arg, int member, int members)
{
    const struct gemm_job *job = arg;
    const struct fc_gemm *g = job->gemm;
    size_t top, bottom, left, right;
    (void)members;
    fc_crew_part((size_t)g->m, grain_of(g->m, job->rows), member / job->columns,
                 job->rows, &top, &bottom);
    fc_crew_part((size_t)g->n, grain_of(g->n, job->columns), member % job->columns,
                 job->columns, &left, &right);
    if (top == bottom || left == right)
        return;
    struct operand a = operand_of(g->transpose_a, top, g->m, g->k);
    struct operand b = operand_of(!g->transpose_b, left, g->n, g->k);
    size_t to = top * (size_t)g->n + left;
    int rows = (int)(bottom - top), columns = (int)(right - left);
    CBLAS_TRANSPOSE ta = g->transpose_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = g->transpose_b ? CblasTrans : CblasNoTrans;
    if (g->dtype == FC_DTYPE_FP32)
        cblas_sgemm(CblasRowMajor, ta, tb, rows, columns, g->k, 1.0f,
                    (const float *)g->a + a.at, a.pitch, (const float *)g->b + b.at,
                    b.pitch, 0.0f, (float *)g->c + to, g->n);
    else
        cblas_dgemm(CblasRowMajor, ta, tb, rows, columns, g->k, 1.0,
                    (const double *)g->a + a.at, a.pitch, (const double *)g->b + b.at,
                    b.pitch, 0.0, (double *)g->c + to, g->n);
}

enum fc_status fc_host_gemm(struct fc_crew *crew, const struct fc_gemm *gemm,
                            struct fc_error *err)
{
    struct gemm_job job = {.gemm = gemm};
    if (gemm->dtype != FC_DTYPE_FP32 && gemm->dtype != FC_DTYPE_FP64)
        return fc_fail(err, FC_UNSUPPORTED,
                       "host device: no %s product, only fp32 and fp64",
                       fc_dtype_name(gemm->dtype));
    if (gemm->m < 1 || gemm->n < 1 || gemm->k < 1)
        return fc_fail(err, FC_UNSUPPORTED, "host device: no product of %d x %d x %d",
                       gemm->m, gemm->n, gemm->k);
    fc_host_grid(fc_crew_size(crew), gemm->m, gemm->n, &job.rows, &job.columns);
    fc_crew_run(crew, gemm_block, &job);
    return FC_OK;
}
