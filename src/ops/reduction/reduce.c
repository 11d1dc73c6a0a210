#include "ops/reduction/reduce.h"

#include "ops/reduction/attr.h"
#include "base/threads/parallel.h"
#include "tensor/shape.h"

/* Launches reductions of any layout over any set of dimensions.
 *
 * A tensor is described to kernels as two lists of sizes and strides: the kept dimensions, which
 * number the results, and the reduced ones, which number the elements of a result. Neighbouring
 * dimensions that are contiguous in memory are merged, so most reductions have one or two
 * dimensions. Nothing is recorded here. */

/* The names of the attributes that sum, mean, prod and logsumexp share. */
const adz_field adzi_reduce_fields[2] = { ADZI_FIELD_MASK(adzi_reduce_attr, mask, "dim"),
    ADZI_FIELD(adzi_reduce_attr, keepdim) };

/* Appends a dimension to a list of `n`. It is merged into the last one if both can be walked with
 * one stride. Dimensions of size 1 do not count. */
static void push(int *n, int64_t *sizes, int64_t *strides, int64_t size, int64_t stride)
{
    if (size == 1) {
        return;
    }
    if (*n > 0 && strides[*n - 1] == stride * size) {
        sizes[*n - 1] *= size;
        strides[*n - 1] = stride;
        return;
    }
    sizes[*n] = size;
    strides[(*n)++] = stride;
}

/* Describes x over the dimensions in `mask`. Both lists keep the order of x, so elements are
 * numbered in row-major order. */
int64_t adzi_reduce_args_of(adzi_reduce_args *args, const adz_tensor *x, unsigned mask)
{
    int64_t results = 1;
    *args = (adzi_reduce_args){ .in = x->data, .n = 1, .blocks = 1 };
    for (int i = 0; i < x->rank; ++i) {
        if (mask & (1u << i)) {
            args->n *= x->sizes[i];
            push(
                &args->n_reduced, args->reduced, args->reduced_strides, x->sizes[i], x->strides[i]);
        } else {
            results *= x->sizes[i];
            push(&args->n_kept, args->kept, args->kept_strides, x->sizes[i], x->strides[i]);
        }
    }
    /* All elements of a result are one block until the launch decides otherwise. */
    args->block = args->n;
    return results;
}

/* Decides into how many blocks the elements of each result are cut, see Note [Few
 * results of many elements]. `state` is the size in bytes of the state of one block. The partial
 * states of all results together have to fit into ADZI_REDUCE_PARTIAL bytes. */
static void cut_into_blocks(adzi_reduce_args *args, int64_t results, size_t state)
{
    int64_t most = (int64_t)(ADZI_REDUCE_PARTIAL / state) / results;
    if (most < 2 || args->n < 2 * ADZI_REDUCE_GRAIN) {
        return;
    }
    /* A block has at least ADZI_REDUCE_GRAIN elements, as far as the memory for states allows. */
    int64_t wanted = args->n / ADZI_REDUCE_GRAIN;
    int64_t block = args->n / (wanted < most ? wanted : most) + 1;
    /* A block is a whole number of chunks, so that chunks begin at the same elements with and
     * without a cut. */
    args->block = (block + ADZI_REDUCE_CHUNK - 1) / ADZI_REDUCE_CHUNK * ADZI_REDUCE_CHUNK;
    args->blocks = (args->n + args->block - 1) / args->block;
}

/* Runs one launch over all results, or two: over the blocks of all results, and then over the
 * results to join their blocks. Units of the first launch are numbered result * blocks + block. */
void adzi_reduce(
    adzi_reducer reducer, adz_tensor *y, adz_tensor *indices, const adz_tensor *x, unsigned mask)
{
    adzi_reduce_args args;
    int64_t results = adzi_reduce_args_of(&args, x, mask);
    if (results == 0) {
        return;
    }
    args.out = y != NULL ? y->data : NULL;
    memcpy(args.p, reducer.p, sizeof args.p);
    args.indices = indices != NULL ? indices->data : NULL;
    _Alignas(16) char on_stack[ADZI_REDUCE_PARTIAL];
    cut_into_blocks(&args, results, reducer.state);
    char *block = args.blocks > 1 ? adzi_alloc_for_kernels(ADZI_REDUCE_PARTIAL) : NULL;
    if (args.blocks > 1) {
        args.partial = block != NULL ? block : on_stack;
    }
    adzi_launch(reducer.run, adzi_reduce_args, &args, results * args.blocks,
        adzi_grain_of(ADZI_REDUCE_GRAIN, args.block));
    if (args.blocks > 1) {
        adzi_launch(reducer.join, adzi_reduce_args, &args, results,
            adzi_grain_of(ADZI_REDUCE_GRAIN, args.blocks));
    }
    adzi_free(block, ADZI_REDUCE_PARTIAL);
}

/* An empty product of sizes is 1: without reduced dimensions every element is a result. */
int64_t adzi_reduced_count(adz_shape shape, unsigned mask)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i) {
        n *= mask & (1u << i) ? shape.sizes[i] : 1;
    }
    return n;
}

/* A result in this shape has the elements of the dropped one, and broadcasts against x. */
adz_shape adzi_kept_shape(adz_shape shape, unsigned mask)
{
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = mask & (1u << i) ? 1 : shape.sizes[i];
    }
    return shape;
}

/* For reductions without a neutral element, such as a maximum. */
bool adzi_want_elements(const char *op, const adz_tensor *x, unsigned mask)
{
    for (int i = 0; i < x->rank; ++i) {
        if ((mask & (1u << i)) && x->sizes[i] == 0) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "dimension %d of x%s has no elements, and there is no %s of nothing", i,
                adzi_text_shape(x), op);
            return false;
        }
    }
    return true;
}
