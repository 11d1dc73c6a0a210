/* Chooses the implementation of a product: adzi_gemm_algorithms is the table, and run() walks along
 * it.
 */
#include "tensor/gemm/gemm.h"

#include "adze/precision.h"
#include "base/isa.h"
#include "tensor/gemm/blas.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/half.h"
#include "tensor/gemm/loops.h"
#include "tensor/gemm/medium.h"
#include "tensor/kernel/registers.h"

KERNEL_TABLE_PRODUCT(gemm_small);
KERNEL_TABLE_PRODUCT(gemm_relu);

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

int64_t adzi_gemm_small_limit = 1 << 16;
adzi_gemm_choice adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;

/* True if the table may give large products to our loops and tiles. */
static bool are_ours(void)
{
    return adzi_gemm_backend_choice == ADZI_GEMM_BY_RULE && adzi_has_fused() &&
           adz_get_gemm_backend() == ADZ_GEMM_OWN;
}

bool adzi_gemm_uses_blas(void)
{
    return adzi_gemm_backend_choice != ADZI_GEMM_OURS && !are_ours();
}

/* ---- integers ------------------------------------------------------------------------------- */

static bool is_integer(const adzi_gemm_args *g)
{
    return g->dtype != ADZ_F32 && g->dtype != ADZ_F64;
}

static bool run_integers(const adzi_gemm_args *g)
{
    int column = (int)g->dtype - (int)ADZ_I32;
    adzi_launch(gemm_int_kernels[adzi_cpu_level][column], adzi_gemm_args, g, g->batch * g->m,
        adzi_gemm_grain((double)g->n * (double)(g->k + 1)));
    return true;
}

/* ---- small products ------------------------------------------------------------------------- */

enum {
    NARROW = 16,    /* a product with a side below this fills tiles in part only */
    SIDES_BITS = 21 /* the product of three sides below 2^21 fits in 64 bits */
};

/* True if there is nothing to multiply, or too little for tiles to pay (bench-gemm cross). For f64
 * our loops have half as many lanes. */
static bool is_small(const adzi_gemm_args *g)
{
    const int64_t m = g->m, n = g->n, k = g->k;
    int64_t limit = adzi_gemm_small_limit;
    if (m < NARROW || n < NARROW || k < NARROW) {
        limit *= 4;
    }
    if (g->dtype == ADZ_F64) {
        limit /= 2;
    }
    return ((m | n | k) >> SIDES_BITS == 0 && m * n * k <= limit) || k == 0 || g->alpha == 0;
}

/* Computes a product by the loops for small products. A unit of the launch is an item of the batch.
 */
static bool run_small(const adzi_gemm_args *g)
{
    if (adzi_gemm_has_stored(g)) {
        return adzi_gemm_loops_run_small(g);
    }
    adzi_launch(KERNEL_FOR(gemm_small, g->dtype), adzi_gemm_args, g, g->batch,
        adzi_gemm_grain((double)g->m * (double)g->n * (double)(g->k + 1)));
    return true;
}

/* ---- large products in our own tiles -------------------------------------------------------- */

/* True if our tiles are not to compute the product and a BLAS can. */
static bool suits_blas(const adzi_gemm_args *g)
{
    return adzi_gemm_uses_blas() && adzi_blas_supports(g);
}

static bool run_blas(const adzi_gemm_args *g)
{
    return adzi_gemm_has_stored(g) ? adzi_gemm_run_copies(g, false, adzi_blas_run)
                                   : adzi_blas_run(g);
}

/* True if the elements of C are dot products of rows that are contiguous along k, and the rows of
 * one operand are few. */
static bool suits_dots(const adzi_gemm_args *g)
{
    return are_ours() &&
           ((g->m == 1 && g->tb) || (g->n == 1 && !g->ta) || adzi_gemm_is_few_rows(g));
}

enum { FORWARD_LEAST = 13, FORWARD_MOST = 64, FORWARD_SIDE = 512 };

/* True for x W^T of few rows, where other libraries pack W. Our tiles read W once, where it lies.
 */
static bool suits_swapped_tiles(const adzi_gemm_args *g)
{
    return are_ours() && g->m >= FORWARD_LEAST && g->m <= FORWARD_MOST && g->n >= FORWARD_SIDE &&
           g->k >= FORWARD_SIDE && adzi_gemm_is_swapped(g);
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool supports_all(const adzi_gemm_args *g)
{
    (void)g;
    return true;
}

const adzi_gemm_algorithm adzi_gemm_algorithms[] = {
    { .name = "integer loops",
        .what = "i32, i64 and u8",
        .why = "BLAS has no integers",
        .supports = is_integer,
        .run = run_integers },
    { .name = "tiles in bf16",
        .what = "f32 at ADZ_MATMUL_MEDIUM from 2^18 multiply-adds on, with AMD's AVX512_BF16",
        .why = "Zen 5: 7 to 20% less time than where the operands are rounded first",
        .supports = adzi_gemm_medium_supports_ours,
        .run = adzi_gemm_loops_run_bf16,
        .rounds = true,
        .relu = true },
    { .name = "f32 of rounded operands",
        .what = "f32 at ADZ_MATMUL_MEDIUM",
        .why = "the same values wherever bf16 is not faster than f32",
        .supports = adzi_gemm_medium_supports,
        .run = adzi_gemm_medium_run_rounded,
        .rounds = true,
        .relu = true },
    { .name = "small loops",
        .what = "up to 2^16 multiply-adds, 2^18 with a side below 16; half as many in f64",
        .why =
            "Emerald Rapids: AVX-512 0.2 to 0.95 of the time of tiles, AVX2 0.2 to 1.1 (bench-gemm cross)",
        .supports = is_small,
        .run = run_small,
        .relu = true },
    { .name = "dot products",
        .what =
            "x W^T of one row, A B of one column, and x W^T of up to 12 rows from 2^16 weights on, with AVX2, AVX-512 or NEON",
        .why =
            "Emerald Rapids: one row as fast as memory is read; Zen 4: up to 12 rows, for which tiles take 1.3 to 3.6 times as long",
        .supports = suits_dots,
        .run = adzi_gemm_loops_run,
        .relu = true },
    { .name = "tiles, W in place",
        .what =
            "x W^T of 13 to 64 rows, x up to 768 kB, both sides of W 512 or more, with AVX2 or AVX-512",
        .why = "Emerald Rapids: 0.70 to 0.95 of the time of tiles that pack W",
        .supports = suits_swapped_tiles,
        .run = adzi_gemm_loops_run,
        .relu = true },
    { .name = "OpenBLAS",
        .what =
            "everything else on processors without fused multiply-adds, or as adz_set_gemm_backend() asks, if this build has a BLAS",
        .why = "it has packed kernels for the most processors",
        .supports = suits_blas,
        .run = run_blas },
    { .name = "tiles",
        .what = "everything else",
        .why =
            "Emerald Rapids: 0.4 to 0.95 of OpenBLAS's time; Zen 4: 0.4 to 0.95 (docs/measurements/product.md)",
        .supports = supports_all,
        .run = adzi_gemm_loops_run,
        .relu = true },
};
const int adzi_gemm_n_algorithms = sizeof adzi_gemm_algorithms / sizeof *adzi_gemm_algorithms;

const adzi_gemm_algorithm *adzi_gemm_algorithm_of(const adzi_gemm_args *g)
{
    const adzi_gemm_algorithm *algorithm = adzi_gemm_algorithms;
    while (!algorithm->supports(g)) {
        ++algorithm;
    }
    return algorithm;
}

/* A leading dimension that BLAS accepts. A matrix of a single row may have any leading dimension
 * here, but BLAS requires at least the length of a row. */
static int64_t tidy(int64_t ld, int64_t rows, int64_t columns)
{
    return rows > 1 ? ld : (columns > 1 ? columns : 1);
}

/* Applies the ReLU to C, for implementations that do not apply it themselves. */
static void clip(const adzi_gemm_args *g)
{
    adzi_launch(KERNEL_FOR(gemm_relu, g->dtype), adzi_gemm_args, g, g->batch * g->m,
        adzi_gemm_grain(32 * (double)g->n));
}

/* Gives the product to the rows of the table in order, until one computes it. Rows that round to
 * bf16 are left out unless the context and `may_round` allow it. */
static void run(const adzi_gemm_args *args, bool may_round)
{
    if (args->m == 0 || args->n == 0 || args->batch == 0) {
        return;
    }
    adzi_gemm_args g = *args;
    if (g.k ==
        0) { /* A and B are empty, and a plan must not record the addresses of empty memory */
        g.a = g.b = g.c;
    }
    if (g.k == 0 || g.alpha == 0) { /* nothing is read, so nothing is widened */
        g.a_stored = g.b_stored = 0;
    }
    g.lda = tidy(g.lda, g.ta ? g.k : g.m, g.ta ? g.m : g.k);
    g.ldb = tidy(g.ldb, g.tb ? g.n : g.k, g.tb ? g.k : g.n);
    g.ldc = tidy(g.ldc, g.m, g.n);
    const bool rounds = may_round && adzi_gemm_medium_supports(&g);
    const adzi_gemm_algorithm *algorithm = adzi_gemm_algorithms;
    while ((algorithm->rounds && !rounds) || !algorithm->supports(&g) || !algorithm->run(&g)) {
        ++algorithm;
    }
    if (g.relu && !algorithm->relu) {
        clip(&g);
    }
}

void adzi_gemm_run(const adzi_gemm_args *args)
{
    run(args, true);
}

void adzi_gemm_run_f32(const adzi_gemm_args *args)
{
    run(args, false);
}

void adzi_gemm(adzi_gemm_size size, adzi_operand a, adzi_operand b, void *c, int64_t ldc)
{
    adzi_gemm_run(&(adzi_gemm_args){ .dtype = size.dtype,
        .ta = a.transposed,
        .tb = b.transposed,
        .m = size.m,
        .n = size.n,
        .k = size.k,
        .alpha = 1,
        .a = a.data,
        .lda = a.ld,
        .b = b.data,
        .ldb = b.ld,
        .c = c,
        .ldc = ldc,
        .batch = 1 });
}
