#include "ops/pool/max_unpool.h"

#include "adze/options.h"
#include "adze/sequences.h"
#include "ops/op.h"
#include "ops/pool/windows.h"

/* Elements at the positions that max_pool has found, torch.nn.functional.max_unpool1d to
 * max_unpool3d: compositions.
 *
 *     y[p] = 0, then y[p][indices[p][q]] = x[p][q]     p counts channels, q positions
 *     size of y = (size of x - 1) stride - 2 padding + kernel_size
 *
 * Of several elements at one position the last one stays, and the others have gradient 0. */

const adz_field adzi_max_unpool_rows[ADZI_MAX_UNPOOL_ROWS] = {
    ADZ_FIELD_AS(adzi_max_unpool_arguments, kernel_size, "kernel_size", ADZ_FIELD_SHAPE,
        ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(
        adz_max_unpool_options, stride, "stride", ADZ_FIELD_SHAPE, ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(
        adz_max_unpool_options, padding, "padding", ADZ_FIELD_SHAPE, ADZ_CLOSED(0, INT32_MAX)),
    ADZ_FIELD_AS(adz_max_unpool_options, output_size, "output_size", ADZ_FIELD_SHAPE,
        ADZ_CLOSED(1, INT32_MAX), .shown = ADZ_SHOWN_NEVER),
};

ADZ_OPTIONS_TABLE(adz_max_unpool_options, ADZ_MAX_UNPOOL_OPTIONS, adzi_max_unpool_rows)

/* Modules check their arguments by this when they are made. A list of one number becomes one number
 * for each dimension, and a missing stride is the size of the windows. */
bool adzi_max_unpool_read(
    const char *op, int n, adzi_max_unpool_arguments *all, const adz_max_unpool_options *options)
{
    const adz_max_unpool_options defaults = ADZ_MAX_UNPOOL_OPTIONS;
    int64_t kernel[ADZI_AXES], stride[ADZI_AXES], padding[ADZI_AXES] = { 0 };
    if (!adz_options_take(
            op, &adz_max_unpool_options_table, all, options != NULL ? options : &defaults) ||
        !adzi_spread_given(op, "kernel_size", &all->kernel_size, n, kernel)) {
        return false;
    }
    memcpy(stride, kernel, sizeof stride);
    if (!adzi_spread(op, "stride", &all->o.stride, n, stride) ||
        !adzi_spread(op, "padding", &all->o.padding, n, padding)) {
        return false;
    }
    if (all->o.output_size.rank != 0 && all->o.output_size.rank != n) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "output_size has %d numbers, but needs %d",
            all->o.output_size.rank, n);
        return false;
    }
    all->kernel_size = adz_shape_of(n, kernel);
    all->o.stride = adz_shape_of(n, stride);
    all->o.padding = adz_shape_of(n, padding);
    return true;
}

/* The sizes of y in the dimensions of the windows. An output_size must be one that max_pool makes x
 * of. False with the error recorded. */
static bool read_sizes(const char *op, int n, const adz_tensor *x,
    const adzi_max_unpool_arguments *all, int64_t *sizes)
{
    for (int d = 0; d < n; ++d) {
        const int64_t stride = all->o.stride.sizes[d], size = x->sizes[x->rank - n + d];
        const int64_t around = all->kernel_size.sizes[d] - 2 * all->o.padding.sizes[d];
        int64_t plain;
        if (!adzi_multiply(size - 1, stride, &plain) ||
            __builtin_add_overflow(plain, around, &plain)) {
            adzi_error(op, ADZ_ERR_SHAPE, "x%s with stride %lld has a size that overflows",
                adzi_text_shape(x), (long long)stride);
            return false;
        }
        sizes[d] = all->o.output_size.rank != 0 ? all->o.output_size.sizes[d] : plain;
        if (sizes[d] <= plain - stride || sizes[d] - stride >= plain || sizes[d] < 1) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the size %lld of dimension %d is not between %lld and %lld, exclusive, and 1 or more; kernel_size, stride and padding must be those of the pooling",
                (long long)sizes[d], x->rank - n + d, (long long)(plain - stride),
                (long long)(plain + stride));
            return false;
        }
    }
    return true;
}

/* x and the indices must be results of one pooling. */
static bool check(const char *op, int n, const adz_tensor *x, const adz_tensor *indices)
{
    if (!adzi_check_planes(op, x, n)) {
        return false;
    }
    if (indices->dtype != ADZ_I64 || indices->rank != x->rank ||
        memcmp(indices->sizes, x->sizes, (size_t)x->rank * sizeof *x->sizes) != 0) {
        adzi_error(op, indices->dtype != ADZ_I64 ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
            "indices%s, which are %s, must be int64 and shaped like x%s, as max_pool gives them",
            adzi_text_shape(indices), adz_dtype_name((adz_dtype)indices->dtype),
            adzi_text_shape(x));
        return false;
    }
    return true;
}

adz_tensor *adzi_max_unpool(const char *op, int n, adz_tensor *x, adz_tensor *indices,
    adz_shape kernel_size, const adz_max_unpool_options *options)
{
    adzi_max_unpool_arguments all = { .kernel_size = kernel_size };
    int64_t sizes[ADZI_AXES], volume = 1, numel;
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "indices", indices) ||
        !adzi_max_unpool_read(op, n, &all, options) || !check(op, n, x, indices) ||
        !read_sizes(op, n, x, &all, sizes)) {
        return NULL;
    }
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    for (int d = 0; d < n; ++d) {
        shape.sizes[shape.rank - n + d] = sizes[d];
    }
    if (adzi_check_sizes(op, shape.rank, shape.sizes, (adz_dtype)x->dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    for (int d = 0; d < n; ++d) {
        volume *= sizes[d];
    }
    const int64_t planes = adzi_planes(x->rank, x->sizes, n);
    const adz_shape flat = ADZ_SHAPE(planes, adzi_numel(n, x->sizes + x->rank - n));
    adz_tensor *rows = adz_reshape(adz_arange(0, (double)planes, 1, ADZ_I64), ADZ_SHAPE(planes, 1));
    adz_tensor *const at[] = { rows, adz_reshape(indices, flat) };
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(planes, volume), (adz_dtype)x->dtype);
    return adz_reshape(adz_index_put(zeros, at, 2, adz_reshape(x, flat), false), shape);
}

/* x is [C, L] or [N, C, L], and indices are those of max_pool1d. */
adz_tensor *adz_max_unpool1d(
    adz_tensor *x, adz_tensor *indices, int64_t kernel_size, const adz_max_unpool_options *options)
{
    ADZI_COMPOSED();
    return adzi_max_unpool("max_unpool1d", 1, x, indices, ADZ_SHAPE(kernel_size), options);
}

/* x is [C, H, W] or [N, C, H, W], and indices are those of max_pool2d. */
adz_tensor *adz_max_unpool2d(adz_tensor *x, adz_tensor *indices, adz_shape kernel_size,
    const adz_max_unpool_options *options)
{
    ADZI_COMPOSED();
    return adzi_max_unpool("max_unpool2d", 2, x, indices, kernel_size, options);
}

/* x is [C, D, H, W] or [N, C, D, H, W], and indices are those of max_pool3d. */
adz_tensor *adz_max_unpool3d(adz_tensor *x, adz_tensor *indices, adz_shape kernel_size,
    const adz_max_unpool_options *options)
{
    ADZI_COMPOSED();
    return adzi_max_unpool("max_unpool3d", 3, x, indices, kernel_size, options);
}
