/* The only file that knows BLAS; what goes elsewhere is gemm_backend.c's to say.
 *
 * Note [Cutting products]
 * OpenBLAS's own threads change the last bits with their number, so BLAS always computes on the
 * thread that calls it, and large products are cut here, into blocks that the shape alone gives.
 * A block of rows is a multiple of 48 of them with at least BLOCK_WORK multiply-adds; a part of a
 * launch is a run of such blocks, computed by one call. Multiples of 48 keep every element in the
 * same place of OpenBLAS's register tiles, and the least size keeps parts away from its separate
 * code for small matrices, so the bits do not depend on where the parts end. That is a property of
 * the kernels OpenBLAS has, tested but not promised. It does not hold for cuts along columns (f32
 * on Haswell and Zen) nor for matrix-vector products; there, and everywhere under
 * adz_set_deterministic, each block is a call of its own, and blocks are few and large. Along the
 * columns of a wide C that costs nothing to speak of, since what every block packs again is the
 * small operand.
 */
#include "tensor/gemm/gemm.h"

#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#ifdef ADZI_OPENMP
#include <omp.h>
#endif

#include "adze/precision.h"
#include "base/context.h"
#include "tensor/gemm/gemm_backend.h"
#include "tensor/gemm/gemm_loops.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "base/thread.h"

KERNEL_TABLE_FLOAT(gemm_small);
KERNEL_TABLE_FLOAT(gemm_relu);

ADZI_DECLARE_KERNEL(gemm_int, i32);
ADZI_DECLARE_KERNEL(gemm_int, i64);
ADZI_DECLARE_KERNEL(gemm_int, u8);
#define INT_ROW(level)                                                                      \
    {                                                                                       \
        ADZI_KERNEL_COLUMN(gemm_int, i32, level), ADZI_KERNEL_COLUMN(gemm_int, i64, level), \
            ADZI_KERNEL_COLUMN(gemm_int, u8, level)                                         \
    }
static const adzi_kernel gemm_int_kernels[ADZI_CPU_LEVELS][3] = { INT_ROW(baseline), INT_ROW(avx2),
    INT_ROW(avx512) };

enum {
    ROW_MULTIPLE = 48,     /* a multiple of every register tile's height and width */
    BLOCK_WORK = 1 << 21,  /* least multiply-adds of a block: twice OpenBLAS's "small" */
    LAUNCH_WORK = 1 << 18, /* multiply-adds of small products that are worth a thread */
    LAGGING = 16,          /* of our loops' limit, where BLAS has no AVX-512 */
    COLUMN_BLOCK = 192,    /* least columns of a block: what each packs again is then small */
    MOST_FIXED_BLOCKS = 8  /* blocks per product where each is a call of its own */
};

int64_t adzi_gemm_size_limit = sizeof(blasint) == 8 ? INT64_MAX : INT_MAX;
int64_t adzi_gemm_small_limit = 32 * 32 * 32; /* at most 2^20: is_small cubes it */

void adz_set_deterministic(bool on)
{
    atomic_store_explicit(&adzi_self()->context->deterministic, on, memory_order_relaxed);
}

bool adz_get_deterministic(void)
{
    return atomic_load_explicit(&adzi_self()->context->deterministic, memory_order_relaxed);
}

/* ---- keeping BLAS on one thread ------------------------------------------------------------- */

enum { BLAS_SERIAL = 0, BLAS_PTHREAD = 1, BLAS_OPENMP = 2 }; /* openblas_get_parallel() */

static struct {
    int parallel;
    int (*max_threads)(void);         /* OpenMP's, where this BLAS uses OpenMP */
    void (*set_threads)(int threads); /* for the calling thread only */
    bool avx512;                      /* it has chosen kernels for AVX-512 */
    char info[192];
} blas;

static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

/* A serial OpenBLAS is built without locks: two calls at a time may get one buffer for their panels
 * and return wrong numbers. Our calls of it take turns. */
static pthread_mutex_t serial_blas = PTHREAD_MUTEX_INITIALIZER;

#ifndef ADZI_OPENMP
/* This build does not link OpenMP; a BLAS that does brings it along. */
static void find_openmp(void)
{
    void *max_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    void *set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
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

static void look_at_blas(void)
{
    static const char *const kinds[] = { "serial", "pthreads", "openmp" };
    blas.parallel = openblas_get_parallel();
    if (blas.parallel == BLAS_OPENMP) {
        find_openmp();
    }
    static const char *const wide[] = { "SkylakeX", "Cooperlake", "SapphireRapids" };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i) {
        blas.avx512 = blas.avx512 || strcasecmp(openblas_get_corename(), wide[i]) == 0;
    }
    bool known = blas.parallel >= 0 && blas.parallel <= BLAS_OPENMP;
    snprintf(blas.info, sizeof blas.info, "%.150s (%s)", openblas_get_config(),
        known ? kinds[blas.parallel] : "unknown threads");
}

const char *adzi_blas_info(void)
{
    pthread_once(&blas_once, look_at_blas);
    return blas.info;
}

bool adzi_blas_lags(void)
{
    pthread_once(&blas_once, look_at_blas);
    return adzi_cpu_level == ADZI_CPU_AVX512 && !blas.avx512;
}

/* Keeps BLAS calls of this thread on this thread until blas_leave gets what this returned. With
 * OpenMP the setting is the calling thread's own; with BLAS's own threads it is the process's,
 * and stays. A serial BLAS is this thread's alone until blas_leave. */
static int blas_enter(void)
{
    pthread_once(&blas_once, look_at_blas);
    if (blas.parallel == BLAS_OPENMP && blas.max_threads != NULL) {
        int before = blas.max_threads();
        if (before != 1) {
            blas.set_threads(1);
        }
        return before;
    }
    if (blas.parallel == BLAS_SERIAL) {
        pthread_mutex_lock(&serial_blas);
    } else if (openblas_get_num_threads() != 1) {
        openblas_set_num_threads(1);
    }
    return 1;
}

static void blas_leave(int before)
{
    if (blas.parallel == BLAS_SERIAL) {
        pthread_mutex_unlock(&serial_blas);
    }
    if (before != 1) {
        blas.set_threads(before);
    }
}

/* ---- one call ------------------------------------------------------------------------------- */

/* A rectangle of one item's C, with the part of the sums that it takes. */
typedef struct piece {
    int64_t row, rows, column, columns, from, depth;
} piece;

static int64_t size_of(const adzi_gemm_args *g)
{
    return g->dtype == ADZ_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
}

static const void *at(const void *base, int64_t elements, const adzi_gemm_args *g)
{
    return (const char *)base + elements * size_of(g);
}

/* y = alpha op(M) x + beta y for M stored [rows, columns] */
static void call_gemv(const adzi_gemm_args *g, bool turned, int64_t rows, int64_t columns,
    const void *matrix, int64_t ld, const void *x, int64_t x_step, double beta, void *y,
    int64_t y_step)
{
    CBLAS_TRANSPOSE op = turned ? CblasTrans : CblasNoTrans;
    if (g->dtype == ADZ_F32) {
        cblas_sgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, (float)g->alpha, matrix,
            (blasint)ld, x, (blasint)x_step, (float)beta, y, (blasint)y_step);
    } else {
        cblas_dgemv(CblasRowMajor, op, (blasint)rows, (blasint)columns, g->alpha, matrix,
            (blasint)ld, x, (blasint)x_step, beta, y, (blasint)y_step);
    }
}

/* Which routine runs is decided by the whole product's shape, never by a piece's. */
static void call_blas(
    const adzi_gemm_args *g, const void *a, const void *b, void *c, const piece *p, double beta)
{
    a = at(a, g->ta ? p->from * g->lda + p->row : p->row * g->lda + p->from, g);
    b = at(b, g->tb ? p->column * g->ldb + p->from : p->from * g->ldb + p->column, g);
    c = (char *)c + (p->row * g->ldc + p->column) * size_of(g);
    if (g->n == 1) {
        call_gemv(g, g->ta, g->ta ? p->depth : p->rows, g->ta ? p->rows : p->depth, a, g->lda, b,
            g->tb ? 1 : g->ldb, beta, c, g->ldc);
        return;
    }
    if (g->m == 1) {
        call_gemv(g, !g->tb, g->tb ? p->columns : p->depth, g->tb ? p->depth : p->columns, b,
            g->ldb, a, g->ta ? g->lda : 1, beta, c, 1);
        return;
    }
    CBLAS_TRANSPOSE ta = g->ta ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = g->tb ? CblasTrans : CblasNoTrans;
    blasint m = (blasint)p->rows, n = (blasint)p->columns, k = (blasint)p->depth;
    blasint lda = (blasint)g->lda, ldb = (blasint)g->ldb, ldc = (blasint)g->ldc;
    if (g->dtype == ADZ_F32) {
        cblas_sgemm(
            CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, a, lda, b, ldb, (float)beta, c, ldc);
    } else {
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, g->alpha, a, lda, b, ldb, beta, c, ldc);
    }
}

/* C = beta C + bias over a rectangle; C is not read when beta is 0. */
#define START_ROWS(T)                                                            \
    for (int64_t i = 0; i < p->rows; ++i) {                                      \
        T *row = (T *)c + (p->row + i) * g->ldc + p->column;                     \
        const T *bias = g->bias != NULL ? (const T *)g->bias + p->column : NULL; \
        if (g->beta == 0 && bias == NULL) {                                      \
            memset(row, 0, (size_t)p->columns * sizeof(T));                      \
        } else if (g->beta == 0) {                                               \
            memcpy(row, bias, (size_t)p->columns * sizeof(T));                   \
        } else {                                                                 \
            for (int64_t j = 0; j < p->columns; ++j) {                           \
                row[j] = (T)g->beta * row[j] + (bias != NULL ? bias[j] : (T)0);  \
            }                                                                    \
        }                                                                        \
    }

static void start_rows(const adzi_gemm_args *g, void *c, const piece *p)
{
    if (g->dtype == ADZ_F32) {
        START_ROWS(float)
    } else {
        START_ROWS(double)
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A rectangle of one item, in as many calls as BLAS's integers need. */
static void multiply(const adzi_gemm_args *g, int64_t item, const piece *whole)
{
    const void *a = at(g->a, item * g->stride_a, g);
    const void *b = at(g->b, item * g->stride_b, g);
    void *c = (char *)g->c + item * g->stride_c * size_of(g);
    double beta = g->beta;
    /* Versions of OpenBLAS differ in whether a matrix-vector product with beta 0 reads y. */
    if (g->bias != NULL || (beta == 0 && (g->m == 1 || g->n == 1))) {
        start_rows(g, c, whole);
        beta = 1;
    }
    int64_t limit = adzi_gemm_size_limit;
    int64_t step = limit > ROW_MULTIPLE ? limit - limit % ROW_MULTIPLE : limit;
    int64_t last_row = whole->row + whole->rows, last_column = whole->column + whole->columns;
    for (int64_t i = whole->row; i < last_row; i += least(step, last_row - i)) {
        for (int64_t j = whole->column; j < last_column; j += least(step, last_column - j)) {
            for (int64_t p = 0; p < g->k; p += least(step, g->k - p)) {
                piece part = { i, least(step, last_row - i), j, least(step, last_column - j), p,
                    least(step, g->k - p) };
                call_blas(g, a, b, c, &part, p == 0 ? beta : 1);
            }
        }
    }
}

/* ---- blocks for the module ------------------------------------------------------------------ */

/* The distance to a row that does not exist is anything; BLAS insists that it is a row's length. */
static int64_t tidy(int64_t ld, int64_t rows, int64_t columns)
{
    return rows > 1 ? ld : (columns > 1 ? columns : 1);
}

static adzi_gemm_args tidied(const adzi_gemm_args *args)
{
    adzi_gemm_args g = *args;
    g.lda = tidy(g.lda, g.ta ? g.k : g.m, g.ta ? g.m : g.k);
    g.ldb = tidy(g.ldb, g.tb ? g.n : g.k, g.tb ? g.k : g.n);
    g.ldc = tidy(g.ldc, g.m, g.n);
    return g;
}

/* Rows further apart than BLAS's integers can say: no size helps there, but our loops do. */
static bool is_far_apart(const adzi_gemm_args *g)
{
    int64_t limit = adzi_gemm_size_limit;
    return g->lda > limit || g->ldb > limit || g->ldc > limit;
}

void adzi_gemm_start_block(const adzi_gemm_args *g, const adzi_gemm_block *b)
{
    piece whole = { b->row, b->rows, b->column, b->columns, 0, g->k };
    start_rows(g, (char *)g->c + b->item * g->stride_c * size_of(g), &whole);
}

void adzi_gemm_own_block(const adzi_gemm_args *args, const adzi_gemm_block *b, bool started)
{
    adzi_gemm_args g = tidied(args);
    if (started) {
        g.beta = 1;
        g.bias = NULL;
    }
    if (is_far_apart(&g)) {
        g.m = b->rows;
        g.n = b->columns;
        g.a = at(g.a, b->item * g.stride_a + b->row * (g.ta ? 1 : g.lda), &g);
        g.b = at(g.b, b->item * g.stride_b + b->column * (g.tb ? g.ldb : 1), &g);
        g.c = (char *)g.c + (b->item * g.stride_c + b->row * g.ldc + b->column) * size_of(&g);
        g.bias = g.bias != NULL ? at(g.bias, b->column, &g) : NULL;
        KERNEL_FOR(gemm_small, g.dtype)(&g, 0, 1);
        return;
    }
    piece whole = { b->row, b->rows, b->column, b->columns, 0, g.k };
    int before = blas_enter();
    multiply(&g, b->item, &whole);
    blas_leave(before);
}

/* ---- large products ------------------------------------------------------------------------- */

/* How one product is cut; see Note [Cutting products]. */
typedef struct plan {
    adzi_gemm_args g;
    bool by_columns;
    bool each_alone; /* every block is a call of its own */
    int64_t extent;  /* rows or columns in all */
    int64_t length;  /* of one block; the last block of an item takes what is left too */
    int64_t blocks;  /* per item */
} plan;

/* Where C is far wider than high, or too low to be cut by rows. */
static bool cuts_columns(const adzi_gemm_args *g)
{
    if (g->m == 1 || g->n == 1) {
        return g->m == 1;
    }
    return g->n >= 2 * COLUMN_BLOCK && g->n > g->m && (g->n / 4 >= g->m || g->m < 4 * ROW_MULTIPLE);
}

static plan plan_product(const adzi_gemm_args *g)
{
    plan p = { .g = *g, .by_columns = cuts_columns(g) };
    p.each_alone = p.by_columns || g->n == 1 || adz_get_deterministic();
    p.extent = p.by_columns ? g->n : g->m;
    double across = (double)(p.by_columns ? g->m : g->n) * (double)g->k;
    double length = (double)BLOCK_WORK / across;
    if (p.each_alone && length < (double)p.extent / MOST_FIXED_BLOCKS) {
        length = (double)p.extent / MOST_FIXED_BLOCKS;
    }
    if (p.by_columns && length < COLUMN_BLOCK - 1) {
        length = COLUMN_BLOCK - 1;
    }
    if (length < (double)p.extent) {
        int64_t multiples = (int64_t)length / ROW_MULTIPLE + 1;
        p.length = multiples * ROW_MULTIPLE;
        p.blocks = p.extent / p.length;
    }
    if (p.blocks < 1) {
        p.blocks = 1;
        p.length = p.extent;
    }
    return p;
}

/* Units are the blocks of all items. */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const plan *p = opaque;
    const adzi_gemm_args *g = &p->g;
    int before = blas_enter();
    while (begin < end) {
        int64_t first = begin % p->blocks;
        int64_t count = p->each_alone ? 1 : least(p->blocks - first, end - begin);
        int64_t from = first * p->length;
        int64_t to = first + count == p->blocks ? p->extent : from + count * p->length;
        piece whole = { 0, g->m, 0, g->n, 0, g->k };
        if (p->by_columns) {
            whole.column = from;
            whole.columns = to - from;
        } else {
            whole.row = from;
            whole.rows = to - from;
        }
        multiply(g, begin / p->blocks, &whole);
        begin += count;
    }
    blas_leave(before);
}

/* ---- which way ------------------------------------------------------------------------------ */

/* Nothing to multiply, or not enough that BLAS pays (bench/gemm.c). BLAS is far from its best at
 * vectors, and where only B is transposed; our loops have half as many lanes for f64. */
static inline bool is_within(const adzi_gemm_args *g, int64_t limit)
{
    const int64_t m = g->m, n = g->n, k = g->k;
    if (m == 1 || n == 1) {
        limit *= 2;
    } else if (!g->ta && g->tb && k <= 64) { /* a linear layer of few inputs */
        limit *= 4;
    } else if (g->dtype == ADZ_F64 && (g->ta || !g->tb)) {
        limit /= 2;
    }
    /* The sides together are below the cube of 2^21, whose product fits. */
    return ((m | n | k) >> 21 == 0 && m * n * k <= limit) || k == 0 || g->alpha == 0;
}

static inline bool is_small(const adzi_gemm_args *g)
{
    return is_within(g, adzi_gemm_small_limit);
}

/* Whether our loops take half the time of this BLAS. It is no match for vectors, which are read
 * once, by whomever. */
static bool blas_is_slow(const adzi_gemm_args *g)
{
    return adzi_gemm_backend_choice == ADZI_GEMM_BY_RULE && g->m > 1 && g->n > 1 &&
           adzi_blas_lags();
}

/* is_small with a look at this BLAS. */
static bool is_small_here(const adzi_gemm_args *g)
{
    return is_small(g) || (is_within(g, adzi_gemm_small_limit * LAGGING) && blas_is_slow(g));
}

static bool suits_our_loops(const adzi_gemm_args *g)
{
    return blas_is_slow(g) || (adzi_gemm_backend_choice >= ADZI_GEMM_OURS && g->m > 1 && g->n > 1);
}

static int64_t units_for(double work, double work_per_unit)
{
    double units = work / (work_per_unit < 1 ? 1 : work_per_unit);
    return units < 1 ? 1 : (int64_t)units;
}

static void run_large(const adzi_gemm_args *args)
{
    adzi_gemm_args g = tidied(args);
    double work = (double)g.m * (double)g.n * (double)g.k;
    if (is_far_apart(&g)) {
        adzi_launch(KERNEL_FOR(gemm_small, g.dtype), &g, g.batch, units_for(LAUNCH_WORK, work));
        return;
    }
    if (adzi_gemm_backend_run(&g)) {
        return;
    }
    if (suits_our_loops(&g)) {
        adzi_gemm_loops_run(&g);
        return;
    }
    plan p = plan_product(&g);
    adzi_launch(
        compute_blocks, &p, p.blocks * g.batch, units_for(LAUNCH_WORK, work / (double)p.blocks));
}

static void run_integers(const adzi_gemm_args *g)
{
    int column = (int)g->dtype - (int)ADZ_I32;
    adzi_launch(gemm_int_kernels[adzi_cpu_level][column], g, g->batch * g->m,
        units_for(LAUNCH_WORK, (double)g->n * (double)(g->k + 1)));
}

static void clip(const adzi_gemm_args *g)
{
    if (g->relu) {
        adzi_launch(KERNEL_FOR(gemm_relu, g->dtype), g, g->batch * g->m,
            units_for(LAUNCH_WORK, 32 * (double)g->n));
    }
}

static void run_float(const adzi_gemm_args *g)
{
    if (!is_small_here(g)) {
        run_large(g);
        clip(g);
        return;
    }
    adzi_kernel kernel = KERNEL_FOR(gemm_small, g->dtype);
    if (g->batch == 1) {
        adzi_launch(kernel, g, 1, 1);
    } else {
        double work = (double)g->m * (double)g->n * (double)(g->k + 1);
        adzi_launch(kernel, g, g->batch, units_for(LAUNCH_WORK, work));
    }
}

void adzi_gemm_run_f32(const adzi_gemm_args *g)
{
    run_float(g);
}

static inline bool medium(void)
{
    return adzi_is_medium(adzi_self()->context);
}

void adzi_gemm_run(const adzi_gemm_args *g)
{
    if (g->m == 0 || g->n == 0 || g->batch == 0) {
        return;
    }
    const bool f32 = g->dtype == ADZ_F32;
    if (g->batch == 1 && (f32 ? !medium() : g->dtype == ADZ_F64) && is_small(g)) {
        adzi_launch(KERNEL_FOR(gemm_small, g->dtype), g, 1, 1);
        return;
    }
    if (f32 && medium() && adzi_gemm_medium_run(g)) {
        clip(g);
    } else if (f32 || g->dtype == ADZ_F64) {
        run_float(g);
    } else {
        run_integers(g);
    }
}

void adzi_gemm(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha,
    const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc)
{
    adzi_gemm_batched(dtype, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

void adzi_gemm_batched(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
    double alpha, const void *a, int64_t lda, int64_t stride_a, const void *b, int64_t ldb,
    int64_t stride_b, double beta, void *c, int64_t ldc, int64_t stride_c, int64_t batch)
{
    adzi_gemm_args args = { .dtype = dtype,
        .ta = ta,
        .tb = tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = a,
        .lda = lda,
        .b = b,
        .ldb = ldb,
        .beta = beta,
        .c = c,
        .ldc = ldc,
        .bias = NULL,
        .relu = false,
        .batch = batch,
        .stride_a = stride_a,
        .stride_b = stride_b,
        .stride_c = stride_c };
    adzi_gemm_run(&args);
}

/* ---- warming up ----------------------------------------------------------------------------- */

enum { WARM_SIDE = 32, WARM_DEPTH = 2048 };

typedef struct warm_up_args {
    const float *zeros; /* WARM_SIDE * WARM_DEPTH of them: both operands */
} warm_up_args;

/* Long enough that the threads of one launch work at the same time, each in a buffer of BLAS's. */
static void warm_up(const void *args, int64_t begin, int64_t end)
{
    const float *zeros = ((const warm_up_args *)args)->zeros;
    float c[WARM_SIDE * WARM_SIDE];
    int before = blas_enter();
    for (int64_t i = begin; i < end; ++i) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, WARM_SIDE, WARM_SIDE, WARM_DEPTH, 1.0f,
            zeros, WARM_DEPTH, zeros, WARM_DEPTH, 0.0f, c, WARM_SIDE);
    }
    blas_leave(before);
}

void adzi_gemm_warm(void)
{
    static const float zeros[WARM_SIDE * WARM_DEPTH];
    const warm_up_args args = { zeros };
    for (int round = 0; round < 2; ++round) {
        adzi_launch(warm_up, &args, adzi_num_threads(), 1);
    }
}
