/* Products by OpenBLAS.
 *
 * Note [Cutting products for OpenBLAS]
 * OpenBLAS's own threads change the last bits with their number. So OpenBLAS always computes on the
 * thread that calls it, and adze cuts large products for its own threads (cut.h).
 *
 * Cuts along rows: a block has a multiple of 48 rows and at least BLOCK_WORK multiply-adds.
 * Multiples of 48 keep every element at the same position in OpenBLAS's register tiles. The least
 * size keeps parts away from OpenBLAS's separate code for small matrices. The bits then do not
 * depend on where parts end. Tests hold this for each of OpenBLAS's kernels; OpenBLAS does not
 * promise it.
 *
 * It does not hold for cuts along columns (f32 on Haswell and Zen) nor for products of a matrix and
 * a vector. There, and everywhere under adz_set_deterministic(), each block is a separate call.
 * Along the columns of a wide C that costs little, because each call packs only the small operand
 * again.
 */
#include "tensor/gemm/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#ifdef ADZI_OPENMP
#include <omp.h>
#endif

#include "adze/precision.h"
#include "base/threads/fork.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/openblas.h"

enum {
    ROW_MULTIPLE = 48,    /* a multiple of the height and width of all register tiles of OpenBLAS */
    BLOCK_WORK = 1 << 21, /* least multiply-adds of a block: twice a small product of OpenBLAS */
    COLUMN_BLOCK = 192    /* least columns of a block, so that packing A again costs little */
};

int64_t adzi_gemm_size_limit = sizeof(blasint) == 8 ? INT64_MAX : INT_MAX;

/* ---- keeping BLAS on one thread ------------------------------------------------------------- */

/* The values of openblas_get_parallel(). */
enum { BLAS_SERIAL = 0, BLAS_PTHREAD = 1, BLAS_OPENMP = 2 };

static adzi_openblas openblas;

/* What inspect_blas has found out about OpenBLAS. */
static struct {
    char missing[400]; /* empty, or why it is not there and what to do */
    int parallel;
    int (*max_threads)(void);         /* omp_get_max_threads if BLAS uses OpenMP, or NULL */
    void (*set_threads)(int threads); /* omp_set_num_threads, for the calling thread */
    char info[192];
    atomic_bool inspected;
} blas;

static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

/* A serial OpenBLAS is built without locks: two calls at a time may get one buffer for their panels
 * and return wrong numbers. Our calls of it take turns. */
static pthread_mutex_t serial_blas = PTHREAD_MUTEX_INITIALIZER;

ADZI_FORK_TAKES(serial_blas, ADZI_LOCK_BLAS)

#ifndef ADZI_OPENMP
/* Finds OpenMP's functions if this BLAS has loaded OpenMP. adze itself is not linked with it here.
 */
static void find_openmp(void)
{
    void *max_threads = dlsym(openblas.library, "omp_get_max_threads");
    void *set_threads = dlsym(openblas.library, "omp_set_num_threads");
    if (max_threads != NULL && set_threads != NULL) {
        memcpy(&blas.max_threads, &max_threads, sizeof max_threads);
        memcpy(&blas.set_threads, &set_threads, sizeof set_threads);
    }
}
#else
static void find_openmp(void)
{
    blas.max_threads = omp_get_max_threads;
    blas.set_threads = omp_set_num_threads;
}
#endif

static void describe_blas(void)
{
    static const char *const kinds[] = { "serial", "pthreads", "openmp" };
    blas.parallel = openblas.openblas_get_parallel();
    if (blas.parallel == BLAS_OPENMP) {
        find_openmp();
    }
    const bool known = blas.parallel >= 0 && blas.parallel <= BLAS_OPENMP;
    snprintf(blas.info, sizeof blas.info, "%.150s (%s)", openblas.openblas_get_config(),
        known ? kinds[blas.parallel] : "unknown threads");
}

static void inspect_blas(void)
{
    const char *why = adzi_openblas_get(&openblas);
    if (why == NULL) {
        describe_blas();
    } else {
        snprintf(blas.info, sizeof blas.info, "OpenBLAS not found");
        snprintf(blas.missing, sizeof blas.missing,
            "OpenBLAS cannot be loaded (%.200s): install it, as libopenblas0 (Debian, Ubuntu), openblas (Fedora, Alpine, Arch)",
            why);
    }
    atomic_store_explicit(&blas.inspected, true, memory_order_release);
}

const char *adzi_blas_missing(void)
{
    pthread_once(&blas_once, inspect_blas);
    return blas.missing[0] != '\0' ? blas.missing : NULL;
}

const char *adzi_blas_info(void)
{
    pthread_once(&blas_once, inspect_blas);
    return blas.info;
}

const char *adzi_blas_now(void)
{
    const bool inspected = atomic_load_explicit(&blas.inspected, memory_order_acquire);
    return inspected || adzi_openblas_file == NULL ? adzi_blas_info() : "OpenBLAS, not loaded";
}

/* With OpenMP the setting belongs to the calling thread. With BLAS's own threads it belongs to the
 * process and stays. A serial BLAS is locked until blas_leave(). */
static int blas_enter(void)
{
    pthread_once(&blas_once, inspect_blas);
    if (blas.parallel == BLAS_OPENMP && blas.max_threads != NULL) {
        int before = blas.max_threads();
        if (before != 1) {
            blas.set_threads(1);
        }
        return before;
    }
    if (blas.parallel == BLAS_SERIAL) {
        pthread_mutex_lock(&serial_blas);
    } else if (openblas.openblas_get_num_threads() != 1) {
        openblas.openblas_set_num_threads(1);
    }
    return 1;
}

/* Ends what blas_enter() has begun. `before` is its result. */
static void blas_leave(int before)
{
    if (blas.parallel == BLAS_SERIAL) {
        pthread_mutex_unlock(&serial_blas);
    }
    if (before != 1) {
        blas.set_threads(before);
    }
}

/* ---- one product ---------------------------------------------------------------------------- */

/* y = alpha op(M) x + beta y for M stored [rows, columns] */
static void call_gemv(const adzi_gemm_args *g, bool transposed, int64_t rows, int64_t columns,
    const void *matrix, int64_t ld, const void *x, int64_t x_step, double beta, void *y,
    int64_t y_step)
{
    CBLAS_TRANSPOSE op = transposed ? CblasTrans : CblasNoTrans;
    if (g->dtype == ADZ_F32) {
        openblas.cblas_sgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, (float)g->alpha,
            matrix, (blasint)ld, x, (blasint)x_step, (float)beta, y, (blasint)y_step);
    } else {
        openblas.cblas_dgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, g->alpha, matrix,
            (blasint)ld, x, (blasint)x_step, beta, y, (blasint)y_step);
    }
}

/* One call of BLAS for a part of `whole`. The shape of the whole product decides which routine
 * runs, because the routines give different bits. */
static void call_blas(const adzi_gemm_args *whole, const adzi_gemm_args *g)
{
    if (whole->n == 1) {
        call_gemv(g, g->ta, g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->a, g->lda, g->b,
            g->tb ? 1 : g->ldb, g->beta, g->c, g->ldc);
        return;
    }
    if (whole->m == 1) {
        call_gemv(g, !g->tb, g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->b, g->ldb, g->a,
            g->ta ? g->lda : 1, g->beta, g->c, 1);
        return;
    }
    CBLAS_TRANSPOSE ta = g->ta ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = g->tb ? CblasTrans : CblasNoTrans;
    blasint m = (blasint)g->m, n = (blasint)g->n, k = (blasint)g->k;
    blasint lda = (blasint)g->lda, ldb = (blasint)g->ldb, ldc = (blasint)g->ldc;
    if (g->dtype == ADZ_F32) {
        openblas.cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, g->a, lda, g->b, ldb,
            (float)g->beta, g->c, ldc);
    } else {
        openblas.cblas_dgemm(
            CblasRowMajor, ta, tb, m, n, k, g->alpha, g->a, lda, g->b, ldb, g->beta, g->c, ldc);
    }
}

/* A rectangle of one item. */
static void multiply(const adzi_gemm_args *whole, const adzi_gemm_block *block)
{
    adzi_gemm_args g = adzi_gemm_part(whole, block);
    /* Versions of OpenBLAS differ in whether a matrix-vector product with beta 0 reads y. */
    if (g.bias != NULL || (g.beta == 0 && (whole->m == 1 || whole->n == 1))) {
        adzi_gemm_start(&g);
        g.beta = 1;
    }
    call_blas(whole, &g);
}

bool adzi_blas_supports(const adzi_gemm_args *g)
{
    const int64_t sizes[] = { g->m, g->n, g->k, g->lda, g->ldb, g->ldc };
    bool fit = adzi_blas_missing() == NULL;
    for (int i = 0; i < 6; ++i) {
        fit = fit && sizes[i] <= adzi_gemm_size_limit;
    }
    return fit;
}

/* ---- products cut between threads ----------------------------------------------------------- */

typedef struct blas_args {
    adzi_gemm_cut cut;
} blas_args;

ADZI_ADDRESSES(blas_args, ADZI_GEMM_ADDRESSES(cut.g.));

/* True if C is to be cut along its columns: it is much wider than high, or has too few rows. */
static bool cuts_columns(const adzi_gemm_args *g)
{
    if (g->m == 1 || g->n == 1) {
        return g->m == 1;
    }
    return g->n >= 2 * COLUMN_BLOCK && g->n > g->m && (g->n / 4 >= g->m || g->m < 4 * ROW_MULTIPLE);
}

/* The kernel: computes blocks begin .. end - 1 of a product. */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const blas_args *args = opaque;
    int before = blas_enter();
    while (begin < end) {
        const adzi_gemm_block block = adzi_gemm_cut_next(&args->cut, &begin, end);
        multiply(&args->cut.g, &block);
    }
    blas_leave(before);
}

bool adzi_blas_run(const adzi_gemm_args *g)
{
    const bool by_columns = cuts_columns(g);
    const adzi_gemm_cut_rule rule = { .by_columns = by_columns,
        .each_alone = by_columns || g->n == 1 || adz_is_deterministic(),
        .work = BLOCK_WORK,
        .least = by_columns ? COLUMN_BLOCK - 1 : 0,
        .above = true,
        .multiple = ROW_MULTIPLE };
    const blas_args args = { adzi_gemm_cut_by(g, &rule) };
    ADZI_GEMM_LAUNCH_CUT(compute_blocks, blas_args, &args);
    return true;
}
