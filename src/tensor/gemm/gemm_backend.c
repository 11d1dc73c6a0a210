/* Finding the module beside OpenBLAS, and the rule for what it gets.
 *
 * Note [Which products go to oneDNN]
 * OpenBLAS copies both operands into panels before it multiplies, and adds to C once per panel.
 * That is spread over the smallest of m, n and k: at 40 rows it takes as long as the product
 * itself. oneDNN reads one operand where it lies. On a Cascade Lake it is 1.0 to 3 times as fast
 * with a side of 8, 1.0 to 1.6 with 40, 1.0 to 1.4 with 128 and 0.9 to 1.2 with 512, 1.1 on the
 * average (bench-gemm backends), so there it gets all that is large enough for OpenBLAS to pack.
 * Where OpenBLAS has no kernels for this processor's AVX-512 (0.3.21 on AMD's), our own loops come
 * first: for what fits the cache, and for sides of 512 and more, where oneDNN takes as long, or
 * 3% less on two threads, and 20 MB of malloc's besides. It gets what is between.
 * Processors with AMX are others, on which only small sides were measured: there it gets those.
 * Two ways lead to oneDNN: its BLAS-like function for all transposes and distances, and code
 * prepared per shape, which for a linear layer's forward, x W^T, is up to 1.6 times as fast again
 * while x has few rows, but not for its gradients. Weights in oneDNN's own format would gain 1.1
 * to 1.6 once more, and lose more than that to their copy, which a training step makes anew.
 * Without AVX-512 the module is not used: with oneDNN's AVX2 code the bits depend on where a
 * product is cut.
 *
 * Bits: a product is cut along the longer side of C into blocks that its shape alone gives. The
 * BLAS-like function gives every element the same bits wherever the blocks end, as tests show and
 * nobody promises, so one call computes all neighbouring blocks of a thread. Of prepared code,
 * and under adz_set_deterministic, each block is a call; there are then at most MOST_BLOCKS,
 * because each packs the short operand again.
 */
#include "tensor/gemm/gemm_backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/base.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/gemm_module.h"
#include "base/parallel.h"

adzi_gemm_choice adzi_gemm_backend_choice = ADZI_GEMM_BY_RULE;

static _Atomic uint64_t products;

uint64_t adzi_gemm_backend_products(void)
{
    return atomic_load_explicit(&products, memory_order_relaxed);
}

/* ---- finding it ----------------------------------------------------------------------------- */

static struct {
    pthread_once_t place_once, once;
    adzi_gemm_place place; /* what was found on the disk, which may turn out to be of no use */
    const adzi_gemm_backend *backend;
    atomic_bool looked;
    char info[sizeof "no oneDNN ()" + ADZI_GEMM_REASON_SIZE];
} found = { .place_once = PTHREAD_ONCE_INIT, .once = PTHREAD_ONCE_INIT };

static void look_for_place(void)
{
    adzi_gemm_module_find(&found.place);
}

/* Loads the module that was found. On failure it returns NULL and says why. */
static const adzi_gemm_backend *open_module(const char *path, char *why_not, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *message = dlerror();
        snprintf(why_not, size, "%.140s", message != NULL ? message : path);
        return NULL;
    }
    void *symbol = dlsym(handle, ADZI_GEMM_BACKEND_OPEN);
    adzi_gemm_backend_opener open = NULL;
    if (symbol != NULL) {
        memcpy(&open, &symbol, sizeof open);
    }
    const adzi_gemm_backend *backend = open != NULL ? open() : NULL;
    if (backend == NULL || backend->version != ADZI_GEMM_BACKEND_VERSION ||
        backend->size != sizeof *backend) {
        snprintf(why_not, size, "%.100s is no module of this adze", path);
        dlclose(handle);
        return NULL;
    }
    if (!backend->avx512) {
        /* It stays open: the engine that it has made cannot be ended. */
        snprintf(why_not, size, "%.40s has %.40s here; it is used with AVX-512 alone",
            backend->name, backend->isa);
        return NULL;
    }
    return backend;
}

static void look_for_module(void)
{
    pthread_once(&found.place_once, look_for_place);
    adzi_gemm_place *place = &found.place;
    char why_not[ADZI_GEMM_REASON_SIZE];
    snprintf(why_not, sizeof why_not, "%s", place->why_not);
    if (place->path[0] != '\0') {
        found.backend = open_module(place->path, why_not, sizeof why_not);
    }
    if (found.backend != NULL) {
        snprintf(found.info, sizeof found.info, "%.40s (%.40s)", found.backend->name,
            found.backend->isa);
    } else {
        snprintf(found.info, sizeof found.info, "no oneDNN (%s)", why_not);
    }
    atomic_store_explicit(&found.looked, true, memory_order_release);
}

const adzi_gemm_backend *adzi_gemm_backend_get(void)
{
    if (!atomic_load_explicit(&found.looked, memory_order_acquire)) {
        pthread_once(&found.once, look_for_module);
    }
    return found.backend;
}

const char *adzi_gemm_backend_info(void)
{
    if (!atomic_load_explicit(&found.looked, memory_order_acquire)) {
        pthread_once(&found.place_once, look_for_place);
        if (found.place.path[0] != '\0') {
            return "oneDNN not needed yet";
        }
        adzi_gemm_backend_get(); /* loads nothing, because there is nothing */
    }
    return found.info;
}

/* ---- the rule ------------------------------------------------------------------------------- */

enum {
    SMALL_SIZE = 96,           /* the smallest size, where nothing larger was measured */
    SMALL_PREPARED_SIZE = 128, /* the smallest size up to which prepared code is ahead */
    LEAST_WORK = 1 << 20,      /* multiply-adds under which OpenBLAS does not pack */
    EQUAL_SIZE = 256,      /* the smallest size from which our own loops, AVX-512's, are equal */
    LEAST_ROWS = 8,        /* under which prepared code is behind */
    BLOCK_MULTIPLE = 64,   /* columns that oneDNN's code takes at a time */
    LEAST_LENGTH = 128,    /* of a block that its BLAS-like function computes */
    BLOCK_WORK = 1 << 21,  /* multiply-adds of a block, about */
    MOST_BLOCKS = 8,       /* blocks of a product */
    LAUNCH_WORK = 1 << 18, /* multiply-adds that are worth a thread */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows without gaps, which prepared code wants. */
static bool is_dense(const adzi_gemm_args *g)
{
    return !g->ta && g->tb && g->lda == g->k && g->ldb == g->k;
}

/* See Note [Which products go to oneDNN]. Loads the module for a product that it may get. */
static adzi_gemm_choice choose(const adzi_gemm_args *g)
{
    int64_t most = INT_MAX;
    bool sizes_fit = g->m <= most && g->n <= most && g->k <= most && g->lda <= most &&
                     g->ldb <= most && g->ldc <= most;
    if (g->dtype != ADZ_F32 || !sizes_fit || g->m == 1 || g->n == 1 ||
        adzi_gemm_backend_choice == ADZI_GEMM_BLAS_ALONE ||
        adzi_gemm_backend_choice >= ADZI_GEMM_OURS) {
        return ADZI_GEMM_BLAS_ALONE;
    }
    bool by_rule = adzi_gemm_backend_choice == ADZI_GEMM_BY_RULE;
    double work = (double)g->m * (double)g->n * (double)g->k;
    int64_t smallest = least(g->k, least(g->m, g->n));
    bool nothing_to_gain = adzi_blas_lags() ? smallest >= EQUAL_SIZE : work < LEAST_WORK;
    const adzi_gemm_backend *backend = by_rule && nothing_to_gain ? NULL : adzi_gemm_backend_get();
    if (backend == NULL) {
        return ADZI_GEMM_BLAS_ALONE;
    }
    if (!by_rule) {
        bool cannot = adzi_gemm_backend_choice == ADZI_GEMM_MODULE_PREPARED && !is_dense(g);
        return cannot ? ADZI_GEMM_MODULE_STRIDED : adzi_gemm_backend_choice;
    }
    if (is_dense(g) && g->m >= LEAST_ROWS && smallest <= SMALL_PREPARED_SIZE) {
        return ADZI_GEMM_MODULE_PREPARED;
    }
    return smallest <= SMALL_SIZE || !backend->amx ? ADZI_GEMM_MODULE_STRIDED
                                                   : ADZI_GEMM_BLAS_ALONE;
}

/* ---- computing ------------------------------------------------------------------------------ */

void adzi_gemm_cut_product(adzi_gemm_cut *p, const adzi_gemm_args *g, bool each_alone)
{
    *p = (adzi_gemm_cut){ .g = *g,
        .backend = adzi_gemm_backend_get(),
        .each_alone = each_alone,
        .by_columns = g->n >= g->m };
    p->extent = p->by_columns ? g->n : g->m;
    double across = (double)(p->by_columns ? g->m : g->n) * (double)g->k;
    double length = (double)BLOCK_WORK / across;
    double shortest = each_alone ? (double)p->extent / MOST_BLOCKS : LEAST_LENGTH;
    length = length < shortest ? shortest : length;
    p->length = p->extent;
    if (length < (double)p->extent) {
        int64_t rounded = ((int64_t)length + BLOCK_MULTIPLE - 1) / BLOCK_MULTIPLE * BLOCK_MULTIPLE;
        p->length = least(rounded < BLOCK_MULTIPLE ? BLOCK_MULTIPLE : rounded, p->extent);
    }
    /* Another function computes a single column or row, with other bits. */
    p->blocks = (p->extent + (each_alone ? p->length - 1 : 0)) / p->length;
}

static bool run_block(const adzi_gemm_cut *p, const adzi_gemm_block *b, const void *a_block,
    const void *b_block, float *c)
{
    const adzi_gemm_args *g = &p->g;
    bool last = (p->by_columns ? b->columns : b->rows) != p->length;
    adzi_gemm_target to = { c, g->ldc, (float)g->alpha, (float)g->beta,
        g->bias != NULL ? (const float *)g->bias + b->column : NULL };
    size_t bytes = p->backend->working_bytes(p->prepared[last], &to);
    void *working = bytes > 0 ? adzi_alloc(bytes) : NULL;
    if (bytes > 0 && working == NULL) {
        return false;
    }
    bool done = p->backend->run(p->prepared[last], a_block, b_block, &to, working);
    adzi_free(working, bytes);
    return done;
}

static bool multiply_block(const adzi_gemm_cut *p, const adzi_gemm_block *b)
{
    const adzi_gemm_args *g = &p->g;
    adzi_gemm_call call = { .m = b->rows,
        .n = b->columns,
        .k = g->k,
        .ta = g->ta,
        .tb = g->tb,
        .a = (const float *)g->a + b->item * g->stride_a + b->row * (g->ta ? 1 : g->lda),
        .b = (const float *)g->b + b->item * g->stride_b + b->column * (g->tb ? g->ldb : 1),
        .c = (float *)g->c + b->item * g->stride_c + b->row * g->ldc + b->column,
        .lda = g->lda,
        .ldb = g->ldb,
        .ldc = g->ldc,
        .alpha = (float)g->alpha,
        .beta = (float)g->beta };
    if (p->a != NULL) {
        int64_t item_a = g->stride_a == 0 ? 0 : b->item, item_b = g->stride_b == 0 ? 0 : b->item;
        return run_block(p, b, p->a + (item_a * g->m + b->row) * g->k,
            p->b + (item_b * g->n + b->column) * g->k, call.c);
    }
    if (p->prepared[0] != NULL) {
        return run_block(p, b, call.a, call.b, call.c);
    }
    if (g->bias != NULL) {
        adzi_gemm_start_block(g, b);
        call.beta = 1;
    }
    return p->backend->multiply(&call);
}

/* Units are the blocks of all items; neighbours that need not be alone are one rectangle. */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_cut *p = opaque;
    const adzi_gemm_args *g = &p->g;
    while (begin < end) {
        int64_t first = begin % p->blocks;
        int64_t count = p->each_alone ? 1 : least(p->blocks - first, end - begin);
        adzi_gemm_block b = { .item = begin / p->blocks, .rows = g->m, .columns = g->n };
        int64_t from = first * p->length;
        int64_t extent = first + count == p->blocks ? p->extent - from : count * p->length;
        *(p->by_columns ? &b.column : &b.row) = from;
        *(p->by_columns ? &b.columns : &b.rows) = extent;
        if (!multiply_block(p, &b)) {
            adzi_gemm_own_block(g, &b, g->bias != NULL && p->prepared[0] == NULL);
        }
        begin += count;
    }
}

bool adzi_gemm_cut_prepare(adzi_gemm_cut *p, bool ta, bool bf16)
{
    const adzi_gemm_args *g = &p->g;
    adzi_gemm_form form = { .m = g->m, .n = g->n, .k = g->k, .ta = ta, .tb = g->tb, .bf16 = bf16 };
    int64_t last = p->extent - (p->blocks - 1) * p->length;
    *(p->by_columns ? &form.n : &form.m) = p->length;
    p->prepared[0] = p->backend->prepare(&form);
    if (p->prepared[0] != NULL && last != p->length) {
        *(p->by_columns ? &form.n : &form.m) = last;
        p->prepared[1] = p->backend->prepare(&form);
        if (p->prepared[1] == NULL) {
            p->backend->release(p->prepared[0]);
            p->prepared[0] = NULL;
        }
    }
    return p->prepared[0] != NULL;
}

void adzi_gemm_cut_run(const adzi_gemm_cut *p)
{
    const adzi_gemm_args *g = &p->g;
    double work = (double)g->m * (double)g->n * (double)g->k / (double)p->blocks;
    int64_t grain = work < LAUNCH_WORK ? (int64_t)(LAUNCH_WORK / (work < 1 ? 1 : work)) : 1;
    adzi_launch(compute_blocks, p, p->blocks * g->batch, grain);
    atomic_fetch_add_explicit(&products, 1, memory_order_relaxed);
}

void adzi_gemm_cut_end(adzi_gemm_cut *p)
{
    for (int i = 0; i < 2; ++i) {
        if (p->prepared[i] != NULL) {
            p->backend->release(p->prepared[i]);
        }
    }
}

bool adzi_gemm_backend_run(const adzi_gemm_args *g)
{
    adzi_gemm_choice way = choose(g);
    if (way == ADZI_GEMM_BLAS_ALONE) {
        return false;
    }
    adzi_gemm_cut cut;
    adzi_gemm_cut_product(&cut, g, true);
    if (way != ADZI_GEMM_MODULE_PREPARED || !adzi_gemm_cut_prepare(&cut, g->ta, false)) {
        adzi_gemm_cut_product(&cut, g, adz_get_deterministic());
    }
    adzi_gemm_cut_run(&cut);
    adzi_gemm_cut_end(&cut);
    return true;
}
