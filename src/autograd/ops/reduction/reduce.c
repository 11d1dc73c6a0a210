#include "autograd/ops/reduction/reduce.h"

#include "autograd/ops/reduction/attr.h"
#include "base/parallel.h"
#include "tensor/shape.h"

const adz_field adzi_reduce_fields[2] = { ADZI_FIELD_MASK(adzi_reduce_attr, mask, "dim"),
    ADZI_FIELD(adzi_reduce_attr, keepdim) };

/* Adds a dimension to a list, merged with the one before where both are walked without a jump. */
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
    args->block = args->n;
    return results;
}

/* See Note [Few results of many elements]. */
static void cut(adzi_reduce_args *args, int64_t results, size_t state)
{
    int64_t most = (int64_t)(ADZI_REDUCE_PARTIAL / state) / results;
    if (most < 2 || args->n < 2 * ADZI_REDUCE_GRAIN) {
        return;
    }
    int64_t wanted = args->n / ADZI_REDUCE_GRAIN;
    int64_t block = args->n / (wanted < most ? wanted : most) + 1;
    args->block = (block + ADZI_REDUCE_CHUNK - 1) / ADZI_REDUCE_CHUNK * ADZI_REDUCE_CHUNK;
    args->blocks = (args->n + args->block - 1) / args->block;
}

void adzi_reduce(adzi_reducer reducer, adz_tensor *y, adz_tensor *places, const adz_tensor *x,
    unsigned mask, const double *p)
{
    adzi_reduce_args args;
    int64_t results = adzi_reduce_args_of(&args, x, mask);
    if (results == 0) {
        return;
    }
    args.out = y != NULL ? y->data : NULL;
    for (int i = 0; p != NULL && i < 2; ++i) {
        args.p[i] = p[i];
    }
    args.places = places != NULL ? places->data : NULL;
    _Alignas(16) char if_refused[ADZI_REDUCE_PARTIAL];
    cut(&args, results, reducer.state);
    char *block = args.blocks > 1 ? adzi_alloc(ADZI_REDUCE_PARTIAL) : NULL;
    if (args.blocks > 1) {
        args.partial = block != NULL ? block : if_refused;
    }
    int64_t grain = args.block > 0 ? ADZI_REDUCE_GRAIN / args.block : results;
    adzi_launch(reducer.run, &args, results * args.blocks, grain > 1 ? grain : 1);
    if (args.blocks > 1) {
        adzi_launch(reducer.join, &args, results, ADZI_REDUCE_GRAIN / args.blocks);
    }
    adzi_free(block, ADZI_REDUCE_PARTIAL);
}

int64_t adzi_reduced_count(adz_shape shape, unsigned mask)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i) {
        n *= mask & (1u << i) ? shape.sizes[i] : 1;
    }
    return n;
}

adz_shape adzi_kept_shape(adz_shape shape, unsigned mask)
{
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = mask & (1u << i) ? 1 : shape.sizes[i];
    }
    return shape;
}

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
