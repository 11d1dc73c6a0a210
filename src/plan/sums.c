/* Products whose elements are only added to another matrix.
 *
 * Note [Products that are added]
 * A gradient by a weight that several steps use is a sum of products: each step computes a product
 * and adds it to the sum. The product is written to memory and read once. In a replay the launch of
 * the product adds to the sum itself (adzi_gemm_make_added), with the same bits, and the launch of
 * the sum is left out.
 *
 * This is right if nothing else refers to the product, and if no launch between the two refers to
 * the sum, which then changes earlier. Both are blocks of the call, and the sum is in place. */
#include <string.h>

#include "base/alloc.h"
#include "plan/replay.h"
#include "tensor/gemm/loops.h"
#include "tensor/kernel/pointwise.h"

KERNEL_TABLE_ALL(add);

/* A captured call while its sums are looked for. */
typedef struct sums {
    adzi_captured_call *c;
    size_t *uses; /* of each block: how many addresses of launches are in it */
    bool *moves;  /* of each launch: an address of it moves */
    bool *gone;   /* of each launch: another one does its work */
} sums;

/* The block in which the address at an offset of the arguments of launch i lies; SIZE_MAX for none.
 */
static size_t block_at(const sums *f, size_t i, size_t at)
{
    const adzi_plan_reference *r = adzi_reference_at(f->c, &f->c->launches[i], at);
    return r != NULL ? r->block : SIZE_MAX;
}

static bool refers(const sums *f, size_t i, size_t block)
{
    const adzi_plan_launch *l = &f->c->launches[i];
    bool found = false;
    for (size_t k = 0; k < l->n_references; ++k) {
        found = found || f->c->references[l->first_reference + k].block == block;
    }
    return found;
}

/* Whether launch j adds `product`, the result of g, to a matrix in place. Sets the matrix. */
static bool adds(const sums *f, size_t j, const adzi_gemm_args *g, char **sum)
{
    const adzi_plan_launch *l = &f->c->launches[j];
    adzi_pointwise_args args;
    if (l->kernel != KERNEL_FOR(add, g->dtype) || l->units != g->m * g->n || f->moves[j]) {
        return false;
    }
    memcpy(&args, l->args, ADZI_POINTWISE_FLAT_SIZE);
    const char *product = g->c;
    *sum = args.out;
    return args.flat && args.factor == NULL && product != args.out &&
           ((args.in[0] == args.out && args.in[1] == product) ||
               (args.in[1] == args.out && args.in[0] == product));
}

/* The launch behind i that refers to a block, in a straight line of kernels; 0 for none. */
static size_t next_use(const sums *f, size_t i, size_t block)
{
    const adzi_captured_call *c = f->c;
    const adzi_plan_loop *loop = adzi_plan_loop_at(c, i);
    const size_t end = loop != NULL ? loop->first + loop->length : c->n_launches;
    for (size_t j = i + 1; j < end && c->launches[j].kernel != NULL; ++j) {
        if (loop == NULL && adzi_plan_loop_at(c, j) != NULL) {
            break;
        }
        if (refers(f, j, block)) {
            return j;
        }
    }
    return 0;
}

/* Lets launch i add its product, if it can and another launch does so. */
static void join(const sums *f, size_t i)
{
    adzi_plan_launch *l = &f->c->launches[i];
    const adzi_gemm_args *g = adzi_gemm_addable(l->kernel, l->args);
    if (g == NULL || (g->ldc != g->n && g->m > 1)) {
        return;
    }
    const size_t product = block_at(f, i, offsetof(adzi_gemm_args, c));
    if (product == SIZE_MAX || f->uses[product] != 2 || !f->c->blocks.all[product].freed) {
        return;
    }
    char *sum;
    const size_t j = next_use(f, i, product);
    if (j == 0 || !adds(f, j, g, &sum)) {
        return;
    }
    const size_t block = block_at(f, j, offsetof(adzi_pointwise_args, out));
    bool seen = block == SIZE_MAX;
    for (size_t k = i; k < j && !seen; ++k) {
        seen = refers(f, k, block);
    }
    if (!seen) {
        adzi_gemm_make_added(&l->kernel, l->args, sum);
        f->gone[j] = true;
    }
}

/* Leaves the launches out that are gone. `to` has room for one number of each launch. */
static void leave_out(const sums *f, size_t *to)
{
    adzi_captured_call *c = f->c;
    size_t left = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        to[i] = left;
        if (!f->gone[i]) {
            c->launches[left++] = c->launches[i];
        }
    }
    for (size_t i = 0; i < c->n_loops; ++i) {
        adzi_plan_loop *loop = &c->loops[i];
        const size_t last = loop->first + loop->length - 1;
        const size_t end = to[last] + !f->gone[last];
        loop->first = to[loop->first];
        loop->length = end - loop->first;
    }
    for (size_t i = 0; i < c->n_patches; ++i) {
        c->patches[i].launch = to[c->patches[i].launch];
    }
    c->n_launches = left;
}

bool adzi_plan_join_sums(adzi_captured_call *c)
{
    const size_t n = c->n_launches, blocks = c->blocks.count;
    const size_t bytes = (blocks + n) * sizeof(size_t) + 2 * n * sizeof(bool);
    char *room = adzi_alloc_zero(bytes + 1);
    if (room == NULL) {
        return false;
    }
    sums f = { .c = c, .uses = (size_t *)(void *)room };
    size_t *to = f.uses + blocks;
    f.moves = (bool *)(to + n);
    f.gone = f.moves + n;
    for (size_t i = 0; i < n; ++i) {
        const adzi_plan_launch *l = &c->launches[i];
        for (size_t k = 0; k < l->n_references; ++k) {
            ++f.uses[c->references[l->first_reference + k].block];
        }
    }
    for (size_t i = 0; i < c->n_patches; ++i) {
        f.moves[c->patches[i].launch] = true;
    }
    for (size_t i = 0; i < n; ++i) {
        join(&f, i);
    }
    leave_out(&f, to);
    adzi_free(room, bytes + 1);
    return true;
}
