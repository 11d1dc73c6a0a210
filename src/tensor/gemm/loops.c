/* Large products in our own loops, on several threads. */
#include "tensor/gemm/loops.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/isa.h"
#include "tensor/gemm/blas.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/half.h"
#include "tensor/kernel/registers.h"

KERNEL_TABLE_PRODUCT(gemm_small);
KERNEL_TABLE_PRODUCT(gemm_few_rows);
KERNEL_TABLE_PRODUCT(gemm_sum_rows);
KERNEL_TABLE_PRODUCT(gemm_blocked);
KERNEL_TABLE_PRODUCT(gemm_pack);
KERNEL_TABLE_PRODUCT(gemm_added);
#ifdef ADZI_KNOWS_BF16
void adzi_gemm_blocked_bf16_avx512(const void *, int64_t, int64_t);
#endif

enum {
    UNIT = 16,             /* rows or columns of C that a thread gets at least: whole tiles */
    FEW_ROWS = 4,          /* rows of C that fill half a tile */
    DOTS_MOST = 12,        /* rows that dot products compute: tiles leave half their lanes empty */
    DOTS_DEPTH = 128,      /* least k of them: each sum ends in a sum over lanes */
    DOTS_WEIGHT = 1 << 16, /* least elements of their B: a smaller one stays in the cache */
    PAGE = 4096,           /* bytes; rows that are whole pages apart share a set of the cache */
    SWAPPED_MOST = 96,     /* rows of the largest swapped product */
    SWAPPED_DEPTH = 64,    /* least k of one: the sums are copied once more */
    SWAPPED_WIDER = 4,     /* C has so many times as many columns as rows, or more */
    PACKED_WIDTH = 128,    /* least columns of a B that is packed once: strips have no narrow end */
    SHORT_ROW = 1024,      /* bytes of a row of a B that tiles read where it lies */
    WIDENED = 1 << 17,     /* bytes of a stored operand that are widened at a time */
    WIDENED_WIDE = 1 << 21 /* for tiles, of which each part reads all rows of A, and for a B whose
                              rows lie along n, of which each part reads a piece of each row */
};

typedef struct loops_args {
    adzi_gemm_cut cut;
    adzi_kernel kernel; /* for the dtype */
    bool tiles;         /* the kernel is gemm_blocked, which needs working memory */
    bool swapped;       /* the tiles compute C^T = B A^T */
    int64_t tail;       /* the last rows of a swapped product, which dot products compute, or 0 */
    adzi_gemm_widths widths; /* of stored operands */
} loops_args;

ADZI_ADDRESSES(loops_args, ADZI_GEMM_ADDRESSES(cut.g.));

/* A thread's part of the work. */
typedef struct worker {
    const loops_args *args;
    void *work, *wide; /* for tiles, and for widened operands; NULL if none or refused */
} worker;

bool adzi_gemm_is_swapped(const adzi_gemm_args *g)
{
    const int64_t lanes = ADZI_GEMM_STRIP_BYTES / 3 / adzi_gemm_item_size(g);
    const int64_t rows = (g->m + lanes - 1) / lanes * lanes;
    return g->tb && g->k >= SWAPPED_DEPTH && g->m <= SWAPPED_MOST && g->n / SWAPPED_WIDER >= g->m &&
           g->k <= ADZI_GEMM_GROUP_BYTES / adzi_gemm_item_size(g) / rows;
}

bool adzi_gemm_is_few_rows(const adzi_gemm_args *g)
{
    const bool apart = (g->ldb * adzi_gemm_item_size(g)) % PAGE == 0;
    return g->tb && !g->ta && adzi_has_fused() && g->m <= DOTS_MOST && (g->m > 1 || apart) &&
           g->k >= DOTS_DEPTH && g->n >= DOTS_WEIGHT / g->k;
}

/* Computes a product in tiles, but for its last `tail` rows, which are dot products. */
static void compute_tiles(const loops_args *args, const adzi_gemm_args *part, void *work)
{
    adzi_gemm_args most = *part, last = *part;
    const int64_t item = adzi_gemm_item_size(part);
    most.m -= args->tail;
    args->kernel(&(adzi_gemm_blocked_args){ &most, args->swapped, work }, 0, 1);
    if (args->tail > 0) {
        last.m = args->tail;
        last.a = (const char *)part->a + most.m * part->lda * item;
        last.c = (char *)part->c + most.m * part->ldc * item;
        KERNEL_FOR(gemm_few_rows, part->dtype)(&last, 0, 1);
    }
}

/* Computes a part of the product whose operands are in the dtype of C. */
static void compute_part(const void *opaque, const adzi_gemm_args *part)
{
    const worker *w = opaque;
    if (w->work != NULL) {
        compute_tiles(w->args, part, w->work);
    } else {
        (w->args->tiles ? KERNEL_FOR(gemm_small, part->dtype) : w->args->kernel)(part, 0, 1);
    }
}

/* Computes blocks begin .. end - 1. */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const loops_args *args = opaque;
    const size_t bytes = ADZI_GEMM_WORK((size_t)adzi_gemm_item_size(&args->cut.g));
    const bool stored = args->widths.bytes > 0;
    const worker w = { args, args->tiles && begin < end ? adzi_alloc(bytes) : NULL,
        stored && begin < end ? adzi_alloc(args->widths.bytes) : NULL };
    while (begin < end) {
        const adzi_gemm_block block = adzi_gemm_cut_next(&args->cut, &begin, end);
        adzi_gemm_args part = adzi_gemm_part(&args->cut.g, &block);
        part.relu = args->cut.g.relu;
        if (stored) {
            adzi_gemm_in_widths(&part, &args->widths, w.wide, compute_part, &w);
        } else {
            compute_part(&w, &part);
        }
    }
    adzi_free(w.work, bytes);
    adzi_free(w.wide, args->widths.bytes);
}

/* The last rows of a swapped product, which would fill a vector of AVX-512 in part only. Dot
 * products compute them in less time: 40 rows take 8 to 10% less, as 32 rows and 8. With AVX2
 * nothing is gained. 0 if there are no such rows. */
static int64_t tail_of(const adzi_gemm_args *g)
{
    const int64_t lanes = ADZI_GEMM_STRIP_BYTES / 3 / adzi_gemm_item_size(g);
    adzi_gemm_args tail = *g;
    tail.m = g->m % lanes;
    return g->m > lanes && tail.m > 1 && adzi_gemm_is_few_rows(&tail) ? tail.m : 0;
}

static bool has_blocks(const adzi_gemm_args *g)
{
    return g->a_stored == ADZI_STORED_Q8_0 || g->b_stored == ADZI_STORED_Q8_0;
}

static bool run(const adzi_gemm_args *g, adzi_kernel kernel, bool tiles, bool swapped)
{
    const adzi_gemm_cut_rule rule = { .by_columns = g->n > g->m,
        .multiple = has_blocks(g) ? ADZI_Q8_0_VALUES : UNIT };
    loops_args args = { .cut = adzi_gemm_cut_by(g, &rule),
        .kernel = kernel,
        .tiles = tiles,
        .swapped = swapped,
        .tail = swapped ? tail_of(g) : 0 };
    if (adzi_gemm_has_stored(g)) {
        adzi_gemm_args widened = *g; /* two kernels read the larger operand as it is stored */
        if (kernel == KERNEL_FOR(gemm_few_rows, g->dtype) && adzi_has_fused()) {
            widened.b_stored = 0;
        } else if (kernel == KERNEL_FOR(gemm_sum_rows, g->dtype) && !has_blocks(g)) {
            *(g->m == 1 && !g->tb ? &widened.b_stored : &widened.a_stored) = 0;
        }
        const bool wide = tiles || (!g->tb && widened.b_stored != 0);
        args.widths = adzi_gemm_widths_of(&widened, wide ? WIDENED_WIDE : WIDENED, swapped);
    }
    ADZI_GEMM_LAUNCH_CUT(compute_blocks, loops_args, &args);
    return true;
}

/* True for products that the loops for small products compute: vectors, and so few rows that tiles
 * would be half empty. */
static bool needs_no_tiles(const adzi_gemm_args *g)
{
    return g->m == 1 || g->n == 1 || (g->m <= FEW_ROWS && !g->tb);
}

bool adzi_gemm_loops_run_small(const adzi_gemm_args *g)
{
    /* Up to three rows are dot products in both kernels, with one order of sums. This one reads a B
     * that is stored in another way. */
    if (g->m < FEW_ROWS && g->tb && !g->ta && g->b_stored != 0 && adzi_has_fused()) {
        return run(g, KERNEL_FOR(gemm_few_rows, g->dtype), false, false);
    }
    return run(g, KERNEL_FOR(gemm_small, g->dtype), false, false);
}

bool adzi_gemm_loops_run(const adzi_gemm_args *g)
{
    /* Dot products of one row have one order of sums in both kernels. This one reads a B that is
     * stored in half precision or in blocks. */
    const bool one_row = g->m == 1 && g->tb && !g->ta && adzi_has_fused() && g->b_stored != 0;
    if (adzi_gemm_is_few_rows(g) || one_row) {
        return run(g, KERNEL_FOR(gemm_few_rows, g->dtype), false, false);
    }
    if ((g->m == 1 && !g->tb) || (g->n == 1 && g->ta)) {
        return run(g, KERNEL_FOR(gemm_sum_rows, g->dtype), false, false);
    }
    if (needs_no_tiles(g)) {
        return adzi_gemm_loops_run_small(g);
    }
    return run(g, KERNEL_FOR(gemm_blocked, g->dtype), true, adzi_gemm_is_swapped(g));
}

bool adzi_gemm_loops_run_bf16(const adzi_gemm_args *g)
{
#ifdef ADZI_KNOWS_BF16
    return run(g, adzi_gemm_blocked_bf16_avx512, true, false);
#else
    return adzi_gemm_loops_run(g);
#endif
}

/* ---- weights that are packed once ----------------------------------------------------------- */

/* The columns of the widest strip of any instruction set. Strips of each begin at multiples of it.
 */
static int64_t widest_strip(const adzi_gemm_args *g)
{
    return ADZI_GEMM_STRIP_BYTES / adzi_gemm_item_size(g);
}

static int64_t widest_strips(const adzi_gemm_args *g)
{
    return (g->n + widest_strip(g) - 1) / widest_strip(g);
}

adzi_gemm_args *adzi_gemm_packable(adzi_kernel kernel, void *args)
{
    loops_args *loops = args;
    if (kernel != compute_blocks) {
        return NULL;
    }
    adzi_gemm_args *g = &loops->cut.g;
    const bool in_tiles = loops->kernel == KERNEL_FOR(gemm_blocked, g->dtype) && !loops->swapped;
    const bool copied = g->tb || g->ldb * adzi_gemm_item_size(g) > SHORT_ROW;
    return in_tiles && copied && !adzi_gemm_has_stored(g) && g->batch == 1 && g->n >= PACKED_WIDTH
               ? g
               : NULL;
}

size_t adzi_gemm_packed_bytes(const adzi_gemm_args *g)
{
    return (size_t)(widest_strips(g) * ADZI_GEMM_STRIP_BYTES * g->k);
}

void adzi_gemm_pack(const adzi_gemm_args *g, void *to)
{
    const adzi_gemm_pack_args args = { g, to };
    adzi_launch(KERNEL_FOR(gemm_pack, g->dtype), adzi_gemm_pack_args, &args, widest_strips(g), 1);
}

void adzi_gemm_use_packed(void *opaque, const void *packed, int64_t *units, int64_t *grain)
{
    loops_args *args = opaque;
    const int64_t multiple = args->cut.by_columns ? widest_strip(&args->cut.g) : UNIT;
    const adzi_gemm_cut_rule rule = { .by_columns = args->cut.by_columns, .multiple = multiple };
    args->cut.g.packed = packed;
    args->cut = adzi_gemm_cut_by(&args->cut.g, &rule);
    *units = args->cut.blocks;
    *grain = adzi_gemm_cut_grain(&args->cut);
}

/* ---- products that are added to a matrix ---------------------------------------------------- */

const adzi_gemm_args *adzi_gemm_addable(adzi_kernel kernel, const void *opaque)
{
    const adzi_gemm_args *g = opaque;
    if (kernel != KERNEL_FOR(gemm_small, ADZ_F32) && kernel != KERNEL_FOR(gemm_small, ADZ_F64)) {
        return NULL;
    }
    const bool bare = g->alpha == 1 && g->beta == 0 && g->bias == NULL && !g->relu;
    const bool in_place = !g->tb || (g->k == 1 && g->ldb == 1);
    return bare && in_place && g->batch == 1 && g->k > 0 && g->n > 1 && !adzi_gemm_has_stored(g)
               ? g
               : NULL;
}

void adzi_gemm_make_added(adzi_kernel *kernel, void *opaque, void *c)
{
    adzi_gemm_args *g = opaque;
    *kernel = KERNEL_FOR(gemm_added, g->dtype);
    g->c = c;
    g->ldc = g->n;
}

bool adzi_gemm_is_added(adzi_kernel kernel)
{
    return kernel == KERNEL_FOR(gemm_added, ADZ_F32) || kernel == KERNEL_FOR(gemm_added, ADZ_F64);
}
