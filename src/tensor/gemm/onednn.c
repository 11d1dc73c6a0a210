/* Products by the module with oneDNN, and the rule for which products it gets.
 *
 * Note [Which products go to oneDNN]
 * OpenBLAS copies both operands into panels before it multiplies, and adds to C once per panel. The
 * smaller the smallest of m, n and k is, the more these copies cost: at 40 rows they take as long
 * as the product itself. oneDNN reads one operand where it is.
 *
 * How many times as fast as OpenBLAS is oneDNN on a Cascade Lake (bench-gemm backends)?
 *
 *     smallest side     8          40           128          512
 *     oneDNN            1.0-3      1.0-1.6      1.0-1.4      0.9-1.2
 *
 * So on such processors it gets every product that is large enough for OpenBLAS to pack.
 *
 * On a Zen 4 our tiles take 0.9 to 1.05 of oneDNN's time, whatever the smallest side is, and apply
 * bias and ReLU themselves. oneDNN gets nothing there (adzi_gemm_tiles_lead).
 *
 * OpenBLAS may have no kernels for the processor's AVX-512 (0.3.21 has none for a Zen 5's). Our
 * small loops then get up to 2^19 multiply-adds, and our tiles products with no side under
 * EQUAL_SIZE. For the latter oneDNN takes as long, or 3% less on two threads, and needs 20 MB more
 * memory. oneDNN gets the products between these two kinds.
 *
 * On processors with AMX only products with a small side were measured. oneDNN gets these there.
 *
 * Two ways lead to oneDNN: its BLAS-like function, which takes all transposes and strides, and code
 * prepared per shape. For x W^T, the forward of a linear layer, prepared code is up to 1.6 times as
 * fast again while x has few rows. For the gradients of the layer it is not.
 *
 * Without AVX-512 the module is not used: with oneDNN's AVX2 code the bits depend on where a
 * product is cut. The BLAS-like function gives every element the same bits wherever a block ends.
 * Tests hold this; oneDNN does not promise it. Prepared code, and everything under
 * adz_set_deterministic(), computes each block in a call of its own.
 */
#include "tensor/gemm/onednn.h"

#include <limits.h>
#include <stdatomic.h>

#include "adze/precision.h"
#include "base/alloc.h"
#include "tensor/gemm/blas.h"
#include "tensor/gemm/loops.h"

static _Atomic uint64_t products;

uint64_t adzi_gemm_backend_products(void)
{
    return atomic_load_explicit(&products, memory_order_relaxed);
}

/* ---- the rule ------------------------------------------------------------------------------- */

enum {
    SMALL_SIZE = 96,           /* with AMX, products with a side of at most so much were measured */
    SMALL_PREPARED_SIZE = 128, /* prepared code is faster if one side is at most so long */
    LEAST_WORK = 1 << 20,      /* OpenBLAS does not pack for fewer multiply-adds */
    EQUAL_SIZE = 256,          /* our tiles for AVX-512 are as fast if all sides are so long */
    LEAST_ROWS = 8,            /* prepared code is slower for fewer rows */
    BLOCK_MULTIPLE = 64,       /* the columns that oneDNN's code computes at a time */
    LEAST_LENGTH = 128,        /* least rows or columns of a block of the BLAS-like function */
    BLOCK_WORK = 1 << 21       /* about so many multiply-adds per block */
};

/* True for x W^T without gaps between rows, as prepared code needs it. */
static bool is_dense(const adzi_gemm_args *g)
{
    return !g->ta && g->tb && g->lda == g->k && g->ldb == g->k;
}

/* True if the module can compute the product. */
static bool can_take(const adzi_gemm_args *g)
{
    const int64_t most = INT_MAX;
    return g->dtype == ADZ_F32 && g->m > 1 && g->n > 1 && g->m <= most && g->n <= most &&
           g->k <= most && g->lda <= most && g->ldb <= most && g->ldc <= most;
}

static int64_t smallest_side(const adzi_gemm_args *g)
{
    return adzi_gemm_least(g->k, adzi_gemm_least(g->m, g->n));
}

/* The module if the rule may give it the product, or NULL. Loads it. */
static const adzi_gemm_backend *candidate(const adzi_gemm_args *g)
{
    const adzi_gemm_choice choice = adzi_gemm_backend_choice;
    if (!can_take(g) || choice == ADZI_GEMM_BLAS_ALONE || choice >= ADZI_GEMM_OURS) {
        return NULL;
    }
    const bool nothing_to_gain = adzi_blas_lags()
                                     ? smallest_side(g) >= EQUAL_SIZE
                                     : adzi_gemm_work(g) < LEAST_WORK || adzi_gemm_tiles_lead();
    return choice == ADZI_GEMM_BY_RULE && nothing_to_gain ? NULL : adzi_gemm_backend_get();
}

bool adzi_onednn_takes_prepared(const adzi_gemm_args *g)
{
    if (!is_dense(g) || candidate(g) == NULL) {
        return false;
    }
    return adzi_gemm_backend_choice == ADZI_GEMM_BY_RULE
               ? g->m >= LEAST_ROWS && smallest_side(g) <= SMALL_PREPARED_SIZE
               : adzi_gemm_backend_choice == ADZI_GEMM_MODULE_PREPARED;
}

bool adzi_onednn_takes(const adzi_gemm_args *g)
{
    const adzi_gemm_backend *backend = candidate(g);
    return backend != NULL &&
           (adzi_gemm_backend_choice != ADZI_GEMM_BY_RULE || adzi_onednn_takes_prepared(g) ||
               smallest_side(g) <= SMALL_SIZE || !backend->amx);
}

/* ---- computing ------------------------------------------------------------------------------ */

adzi_onednn_plan adzi_onednn_plan_for(const adzi_gemm_args *g, bool each_alone)
{
    /* The last block of the BLAS-like function is the longer one: oneDNN computes a single column
     * or row by other code, with other bits. */
    const adzi_gemm_cut_rule rule = { .by_columns = g->n >= g->m,
        .each_alone = each_alone,
        .last_is_shorter = each_alone,
        .work = BLOCK_WORK,
        .least = each_alone ? 0 : LEAST_LENGTH,
        .multiple = BLOCK_MULTIPLE };
    return (
        adzi_onednn_plan){ .cut = adzi_gemm_cut_by(g, &rule), .backend = adzi_gemm_backend_get() };
}

/* Computes a block by prepared code. False, with C unchanged, if that fails. */
static bool run_prepared(const adzi_onednn_plan *p, const adzi_gemm_block *b, const void *a_block,
    const void *b_block, const adzi_gemm_args *part)
{
    const bool last = (p->cut.by_columns ? b->columns : b->rows) != p->cut.length;
    const adzi_gemm_target to = { part->c, part->ldc, (float)part->alpha, (float)part->beta,
        part->bias };
    size_t bytes = p->backend->working_bytes(p->prepared[last], &to);
    void *working = bytes > 0 ? adzi_alloc(bytes) : NULL;
    if (bytes > 0 && working == NULL) {
        return false;
    }
    bool done = p->backend->run(p->prepared[last], a_block, b_block, &to, working);
    adzi_free(working, bytes);
    return done;
}

/* Computes a block by the BLAS-like function. That has no bias, so C gets beta C + bias first.
 * False if the module refuses. */
static bool run_strided(const adzi_onednn_plan *p, adzi_gemm_args *part)
{
    if (part->bias != NULL) {
        adzi_gemm_start(part);
        part->beta = 1;
    }
    const adzi_gemm_call call = { .m = part->m,
        .n = part->n,
        .k = part->k,
        .ta = part->ta,
        .tb = part->tb,
        .a = part->a,
        .b = part->b,
        .c = part->c,
        .lda = part->lda,
        .ldb = part->ldb,
        .ldc = part->ldc,
        .alpha = (float)part->alpha,
        .beta = (float)part->beta };
    return p->backend->multiply(&call);
}

static bool run_block(const adzi_onednn_plan *p, const adzi_gemm_block *b)
{
    const adzi_gemm_args *g = &p->cut.g;
    adzi_gemm_args part = adzi_gemm_part(g, b);
    if (p->a != NULL) {
        const int64_t item_a = g->stride_a == 0 ? 0 : b->item;
        const int64_t item_b = g->stride_b == 0 ? 0 : b->item;
        return run_prepared(p, b, p->a + (item_a * g->m + b->row) * g->k,
            p->b + (item_b * g->n + b->column) * g->k, &part);
    }
    return p->prepared[0] != NULL ? run_prepared(p, b, part.a, part.b, &part)
                                  : run_strided(p, &part);
}

/* The kernel: computes blocks begin .. end - 1. OpenBLAS computes a block that the module refuses.
 */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_onednn_plan *p = opaque;
    while (begin < end) {
        const adzi_gemm_block block = adzi_gemm_cut_next(&p->cut, &begin, end);
        if (!run_block(p, &block)) {
            adzi_blas_block(&p->cut.g, &block, p->cut.g.bias != NULL && p->prepared[0] == NULL);
        }
    }
}

bool adzi_onednn_prepare(adzi_onednn_plan *p, bool ta, bool bf16)
{
    const adzi_gemm_cut *cut = &p->cut;
    adzi_gemm_shape shape = {
        .m = cut->g.m, .n = cut->g.n, .k = cut->g.k, .ta = ta, .tb = cut->g.tb, .bf16 = bf16
    };
    const int64_t last = cut->extent - (cut->blocks - 1) * cut->length;
    *(cut->by_columns ? &shape.n : &shape.m) = cut->length;
    p->prepared[0] = p->backend->prepare(&shape);
    if (p->prepared[0] != NULL && last != cut->length) {
        *(cut->by_columns ? &shape.n : &shape.m) = last;
        p->prepared[1] = p->backend->prepare(&shape);
        if (p->prepared[1] == NULL) {
            p->backend->release(p->prepared[0]);
            p->prepared[0] = NULL;
        }
    }
    return p->prepared[0] != NULL;
}

void adzi_onednn_run_plan(const adzi_onednn_plan *p)
{
    ADZI_GEMM_LAUNCH_CUT(compute_blocks, p);
    atomic_fetch_add_explicit(&products, 1, memory_order_relaxed);
}

void adzi_onednn_end(adzi_onednn_plan *p)
{
    for (int i = 0; i < 2; ++i) {
        if (p->prepared[i] != NULL) {
            p->backend->release(p->prepared[i]);
        }
    }
}

bool adzi_onednn_run_prepared(const adzi_gemm_args *g)
{
    adzi_onednn_plan plan = adzi_onednn_plan_for(g, true);
    if (!adzi_onednn_prepare(&plan, g->ta, false)) {
        return false;
    }
    adzi_onednn_run_plan(&plan);
    adzi_onednn_end(&plan);
    return true;
}

bool adzi_onednn_run_strided(const adzi_gemm_args *g)
{
    const adzi_onednn_plan plan = adzi_onednn_plan_for(g, adz_is_deterministic());
    adzi_onednn_run_plan(&plan);
    return true;
}
