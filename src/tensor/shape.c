/* Arithmetic of shapes: checks, strides, dimensions, broadcasting and views. */
#include "tensor/shape.h"

#include <string.h>

/* Rank -1 marks a shape that has too many sizes. Every call that takes a shape refuses it. */
adz_shape adz_shape_of(int rank, const int64_t *sizes)
{
    adz_shape shape = { -1, { 0 } };
    if (rank >= 0 && rank <= ADZ_MAX_RANK && (rank == 0 || sizes != NULL)) {
        shape.rank = rank;
        for (int i = 0; i < rank; ++i) {
            shape.sizes[i] = sizes[i];
        }
    }
    return shape;
}

/* Count -1 stands for all dimensions, and -2 marks a list that is invalid. */
adz_dims adz_dims_of(int count, const int *dims)
{
    adz_dims list = { -2, { 0 } };
    if (count == 0) {
        list.count = -1;
    } else if (count > 0 && count <= ADZ_MAX_RANK && dims != NULL) {
        list.count = count;
        memcpy(list.dims, dims, (size_t)count * sizeof *dims);
    }
    return list;
}

adz_status adzi_check_sizes(
    const char *op, int rank, const int64_t *sizes, adz_dtype dtype, int64_t *numel)
{
    const int64_t size = (int64_t)adz_dtype_size(dtype);
    if (size == 0) {
        return adzi_error(op, ADZ_ERR_DTYPE, "%d is not a dtype", (int)dtype);
    }
    if (rank < 0 || rank > ADZ_MAX_RANK) {
        return adzi_error(op, ADZ_ERR_SHAPE, "a shape has 0 to %d sizes", ADZ_MAX_RANK);
    }
    /* Sizes of 0 are left out of the product, because strides are products of the others. These
     * must fit int64_t even if the tensor is empty. */
    int64_t bytes = size;
    bool empty = false;
    for (int i = 0; i < rank; ++i) {
        if (sizes[i] < 0) {
            return adzi_error(op, ADZ_ERR_SHAPE, "size %lld in shape %s is negative",
                (long long)sizes[i], adzi_text_sizes(rank, sizes));
        }
        empty = empty || sizes[i] == 0;
        if (sizes[i] != 0 && !adzi_multiply(bytes, sizes[i], &bytes)) {
            return adzi_error(op, ADZ_ERR_SHAPE, "shape %s has more elements than fit in memory",
                adzi_text_sizes(rank, sizes));
        }
    }
    *numel = empty ? 0 : bytes / size;
    return ADZ_OK;
}

void adzi_contiguous_strides(int rank, const int64_t *sizes, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
        strides[i] = stride;
        stride *= sizes[i] > 1 ? sizes[i] : 1;
    }
}

int adzi_dim(const char *op, const adz_tensor *t, int dim)
{
    int rank = t->rank > 0 ? t->rank : 1;
    if (dim < -rank || dim >= rank) {
        adzi_error(op, ADZ_ERR_DIM, "dimension %d is outside -%d .. %d of x%s", dim, rank, rank - 1,
            adzi_text_shape(t));
        return -1;
    }
    return dim < 0 ? dim + rank : dim;
}

int adzi_new_dim(const char *op, const adz_tensor *t, int dim)
{
    int rank = t->rank + 1;
    if (dim < -rank || dim >= rank) {
        adzi_error(op, ADZ_ERR_DIM, "new dimension %d is outside -%d .. %d for x%s", dim, rank,
            rank - 1, adzi_text_shape(t));
        return -1;
    }
    return dim < 0 ? dim + rank : dim;
}

bool adzi_dims_mask(const char *op, const adz_tensor *t, adz_dims dims, unsigned *mask)
{
    if (dims.count == -1) {
        *mask = (1u << t->rank) - 1u;
        return true;
    }
    if (dims.count < 0 || dims.count > ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_DIM, "a list of dimensions has at most %d", ADZ_MAX_RANK);
        return false;
    }
    *mask = 0;
    for (int i = 0; i < dims.count; ++i) {
        int dim = adzi_dim(op, t, dims.dims[i]);
        if (dim < 0) {
            return false;
        }
        if (*mask & (1u << dim)) {
            adzi_error(op, ADZ_ERR_DIM, "dimension %d of x%s is named twice", dims.dims[i],
                adzi_text_shape(t));
            return false;
        }
        *mask |= 1u << dim;
    }
    if (t->rank == 0) {
        *mask = 0; /* dimension 0 of a scalar is the scalar itself */
    }
    return true;
}

int adzi_reduced_sizes(const adz_tensor *t, unsigned mask, bool keepdim, int64_t *sizes)
{
    int rank = 0;
    for (int i = 0; i < t->rank; ++i) {
        if (!(mask & (1u << i))) {
            sizes[rank++] = t->sizes[i];
        } else if (keepdim) {
            sizes[rank++] = 1;
        }
    }
    return rank;
}

bool adzi_broadcast(
    const char *op, int *rank, int64_t *sizes, const adz_tensor *a, const adz_tensor *b)
{
    *rank = 0;
    return adzi_broadcast_with(op, rank, sizes, a) && adzi_broadcast_with(op, rank, sizes, b);
}

bool adzi_broadcast_with(const char *op, int *rank, int64_t *sizes, const adz_tensor *t)
{
    int64_t before[ADZ_MAX_RANK];
    const int n = *rank, r = n > t->rank ? n : t->rank;
    memcpy(before, sizes, (size_t)n * sizeof *before);
    for (int i = 0; i < r; ++i) {
        int ia = i - (r - n), ib = i - (r - t->rank);
        int64_t na = ia < 0 ? 1 : before[ia], nb = ib < 0 ? 1 : t->sizes[ib];
        if (na != nb && na != 1 && nb != 1) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "shapes do not broadcast: a%s and b%s differ in dimension %d (sizes must be equal or 1, counted from the last)",
                adzi_text_sizes(n, before), adzi_text_shape(t), i - r);
            return false;
        }
        sizes[i] = na == 1 ? nb : na;
    }
    *rank = r;
    return true;
}

void adzi_broadcast_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides)
{
    int missing = rank - t->rank;
    for (int i = 0; i < rank; ++i) {
        bool repeated = i < missing || (t->sizes[i - missing] == 1 && sizes[i] != 1);
        strides[i] = repeated ? 0 : t->strides[i - missing];
    }
}

bool adzi_view_strides(const adz_tensor *t, int rank, const int64_t *sizes, int64_t *strides)
{
    if (t->numel == 0) {
        adzi_contiguous_strides(rank, sizes, strides);
        return true;
    }
    /* Both shapes are walked from their last dimension. A run of old dimensions that lie in memory
     * without gaps can be divided into new dimensions. `base` is the stride of the run's last
     * dimension and `run` the number of its elements. `cut` is the product of the new dimensions
     * that have been cut from the run. */
    int view = rank - 1;
    int64_t run = 1, cut = 1, base = 0;
    for (int i = t->rank - 1; i >= 0; --i) {
        base = run == 1 ? t->strides[i] : base;
        run *= t->sizes[i];
        bool ends = i == 0 || (t->sizes[i - 1] != 1 && t->strides[i - 1] != run * base);
        if (!ends) {
            continue;
        }
        while (view >= 0 && (cut < run || sizes[view] == 1)) {
            strides[view] = cut * base;
            cut *= sizes[view--];
        }
        if (cut != run) {
            return false;
        }
        run = cut = 1;
    }
    while (view >= 0 && sizes[view] == 1) {
        strides[view--] = 1;
    }
    return view < 0;
}

const char *adzi_text_shape(const adz_tensor *t)
{
    return adzi_is_none(t) ? "(none)" : adzi_text_sizes(t->rank, t->sizes);
}
