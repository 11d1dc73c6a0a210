/* Pooling. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "window.h"

/* ---- the largest element -------------------------------------------------------------------- */

static adz_tensor *max_of_windows(adz_tensor *x, const reader_window *w,
    const adz_max_pool_options *options, adz_tensor **indices)
{
    adz_shape kernel = adzi_reader_sizes(w, w->kernel);
    switch (w->n) {
    case 1:
        return adz_max_pool1d(x, w->kernel[0], options, indices);
    case 2:
        return adz_max_pool2d(x, kernel, options, indices);
    default:
        return adz_max_pool3d(x, kernel, options, indices);
    }
}

/** The first windows of each dimension, as many as there should be. */
static adz_tensor *first_windows(adz_tensor *y, const reader_window *w)
{
    for (int i = 0; i < w->n && y != NULL; i++) {
        if (adz_tensor_size(y, 2 + i) != w->count[i]) {
            y = adz_narrow(y, 2 + i, 0, w->count[i]);
        }
    }
    return y;
}

/** The number of the first element of each channel of each sample, shaped [N, C, 1, ...]. */
static adz_tensor *channel_starts(const adz_tensor *x, const reader_window *w)
{
    int64_t shape[2 + WINDOW_DIMS] = { adz_tensor_size(x, 0), adz_tensor_size(x, 1), 1, 1, 1 };
    int64_t size = 1, channels = shape[0] * shape[1];
    for (int i = 0; i < w->n; i++) {
        size *= w->size[i];
    }
    adz_tensor *starts = adz_arange(0, (double)channels, 1, ADZ_I64);
    return adz_reshape(adz_mul_number(starts, (double)size), adz_shape_of(2 + w->n, shape));
}

/** Numbers of elements in the padded channel as numbers in the whole input, which count the last
 * spatial dimension first, or the first one if `columns`. */
static adz_tensor *input_numbers(
    adz_tensor *indices, const adz_tensor *x, const reader_window *w, bool padded, bool columns)
{
    adz_tensor *numbers = channel_starts(x, w);
    int64_t weight[WINDOW_DIMS], total = 1;
    for (int k = 0; k < w->n; k++) {
        int i = columns ? k : w->n - 1 - k;
        weight[i] = total;
        total *= w->size[i];
    }
    for (int i = w->n - 1; i >= 0; i--) {
        int64_t before = padded ? w->before[i] : 0;
        int64_t size = w->size[i] + before + (padded ? w->after[i] : 0);
        adz_tensor *at = adz_remainder_number(indices, (double)size);
        at = adz_mul_number(adz_add_number(at, (double)-before), (double)weight[i]);
        numbers = adz_add(numbers, at);
        indices = adz_floor_divide_number(indices, (double)size);
    }
    return numbers;
}

/** Pooling is for floats: integers of at most 32 bits become f64, which holds them. */
static adz_tensor *as_floats(const reader_call *call, adz_tensor *x)
{
    if (adz_tensor_dtype(x) == ADZ_I64) {
        return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "int64 is not supported");
    }
    bool whole = adz_tensor_dtype(x) == ADZ_I32 || adz_tensor_dtype(x) == ADZ_U8;
    return whole ? adz_to(x, ADZ_F64) : x;
}

static adz_tensor *max_pool(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *floats;
    reader_window w;
    if (x == NULL || !adzi_reader_window(call, NULL, &w) || (floats = as_floats(call, x)) == NULL) {
        return NULL;
    }
    adz_max_pool_options options = ADZ_MAX_POOL_OPTIONS;
    options.stride = adzi_reader_sizes(&w, w.stride);
    options.dilation = adzi_reader_sizes(&w, w.dilation);
    options.ceil_mode = adzi_reader_int(call, "ceil_mode", 0) != 0;
    bool padded = !adzi_reader_even(&w, 2);
    if (padded) {
        floats = adzi_reader_padded(floats, &w, -INFINITY);
    } else {
        options.padding = adzi_reader_sizes(&w, w.before);
    }
    adz_tensor *indices = NULL;
    bool wanted = adzi_reader_wants(call, 1);
    adz_tensor *y = max_of_windows(floats, &w, &options, wanted ? &indices : NULL);
    if (wanted) {
        bool columns = adzi_reader_int(call, "storage_order", 0) != 0;
        indices = first_windows(indices, &w);
        adzi_reader_set(call, 1, input_numbers(indices, x, &w, padded, columns));
    }
    return adz_to(first_windows(y, &w), adz_tensor_dtype(x));
}

static adz_tensor *max_unpool(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *indices = adzi_reader_in(call, 1);
    reader_window w;
    if (x == NULL || indices == NULL || !adzi_reader_pooled(call, &w)) {
        return NULL;
    }
    adz_shape shape = adz_tensor_shape(x), wanted;
    for (int i = 0; i < w.n; i++) {
        shape.sizes[2 + i] = (w.size[i] - 1) * w.stride[i] + w.kernel[i] - w.before[i] - w.after[i];
    }
    if (!adzi_reader_shape(call, NULL, 2, &wanted)) {
        return NULL;
    }
    adz_tensor *y = adz_flatten(adz_zeros(shape, adz_tensor_dtype(x)), 0, -1);
    y = adz_scatter(y, 0, adz_flatten(indices, 0, -1), adz_flatten(x, 0, -1));
    y = adz_reshape(y, shape);
    if (wanted.rank < 0) {
        return y;
    }
    /* The indices count in the smaller result. What output_shape adds comes behind it. */
    if (wanted.rank != shape.rank) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "output_shape has %d sizes", wanted.rank);
    }
    for (int i = 0; i < w.n; i++) {
        if (wanted.sizes[2 + i] < 0) {
            return adzi_reader_fail(call, ADZ_ERR_SHAPE, "output_shape has a negative size");
        }
        w.before[i] = 0;
        w.after[i] = wanted.sizes[2 + i] - shape.sizes[2 + i];
    }
    return adzi_reader_padded(y, &w, 0);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/** The sum of each window, by a convolution with ones. `x` has the padding. */
static adz_tensor *sums(adz_tensor *x, const reader_window *w)
{
    reader_window rest = *w; /* what the last windows need beyond the padding */
    for (int i = 0; i < w->n; i++) {
        int64_t end = (w->count[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        rest.before[i] = 0;
        rest.after[i] = end - (w->size[i] + w->before[i] + w->after[i]);
    }
    x = adzi_reader_padded(x, &rest, 0);
    adz_shape shape = adz_tensor_shape(x);
    if (shape.rank < 0) {
        return NULL;
    }
    int64_t n = shape.sizes[0], c = shape.sizes[1], kernel[2 + WINDOW_DIMS] = { 1, 1 };
    memcpy(kernel + 2, w->kernel, sizeof(w->kernel));
    adz_tensor *ones = adz_ones(adz_shape_of(2 + w->n, kernel), adz_tensor_dtype(x));
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.stride = adzi_reader_sizes(w, w->stride);
    options.dilation = adzi_reader_sizes(w, w->dilation);
    shape.sizes[0] = n * c;
    shape.sizes[1] = 1;
    x = adz_reshape(x, shape);
    adz_tensor *y = w->n == 1   ? adz_conv1d(x, ones, ADZ_NONE, &options)
                    : w->n == 2 ? adz_conv2d(x, ones, ADZ_NONE, &options)
                                : adz_conv3d(x, ones, ADZ_NONE, &options);
    shape.sizes[0] = n;
    shape.sizes[1] = c;
    memcpy(shape.sizes + 2, w->count, (size_t)w->n * sizeof(int64_t));
    return adz_reshape(y, shape);
}

/** How many elements each window has. */
static adz_tensor *counts(const adz_tensor *x, const reader_window *w, bool with_padding)
{
    int64_t shape[2 + WINDOW_DIMS] = { 1, 1 };
    memcpy(shape + 2, w->size, sizeof(w->size));
    adz_tensor *ones = adz_ones(adz_shape_of(2 + w->n, shape), adz_tensor_dtype(x));
    return sums(adzi_reader_padded(ones, w, with_padding ? 1 : 0), w);
}

static bool dilated(const reader_window *w)
{
    for (int i = 0; i < w->n; i++) {
        if (w->dilation[i] != 1) {
            return true;
        }
    }
    return false;
}

static adz_tensor *average_pool(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    reader_window w;
    if (x == NULL || !adzi_reader_window(call, NULL, &w)) {
        return NULL;
    }
    bool with_padding = adzi_reader_int(call, "count_include_pad", 0) != 0;
    if (dilated(&w) || !adzi_reader_even(&w, 2)) {
        adz_tensor *sum = sums(adzi_reader_padded(x, &w, 0), &w);
        return adz_div(sum, counts(x, &w, with_padding));
    }
    adz_avg_pool_options options = ADZ_AVG_POOL_OPTIONS;
    options.stride = adzi_reader_sizes(&w, w.stride);
    options.padding = adzi_reader_sizes(&w, w.before);
    options.ceil_mode = adzi_reader_int(call, "ceil_mode", 0) != 0;
    options.count_include_pad = with_padding;
    adz_shape kernel = adzi_reader_sizes(&w, w.kernel);
    return w.n == 1   ? adz_avg_pool1d(x, w.kernel[0], &options)
           : w.n == 2 ? adz_avg_pool2d(x, kernel, &options)
                      : adz_avg_pool3d(x, kernel, &options);
}

static adz_tensor *power(adz_tensor *x, double p)
{
    return p == 1 ? adz_abs(x) : p == 2 ? adz_square(x) : adz_pow_number(adz_abs(x), p);
}

static adz_tensor *root(adz_tensor *x, double p)
{
    return p == 1 ? x : p == 2 ? adz_sqrt(x) : adz_pow_number(x, 1 / p);
}

static adz_tensor *lp_pool(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    reader_window w;
    int64_t p = adzi_reader_int(call, "p", 2);
    if (x == NULL || !adzi_reader_window(call, NULL, &w)) {
        return NULL;
    }
    if (p < 1) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "p is %lld, below 1", (long long)p);
    }
    return root(sums(adzi_reader_padded(power(x, (double)p), &w, 0), &w), (double)p);
}

/* ---- whole channels ------------------------------------------------------------------------- */

/** All dimensions from the third on; false with an error recorded if there are none. */
static bool spatial_dims(const reader_call *call, adz_dims *dims)
{
    int rank = adz_tensor_rank(adzi_reader_in(call, 0)), list[ADZ_MAX_RANK];
    for (int i = 2; i < rank; i++) {
        list[i - 2] = i;
    }
    *dims = adz_dims_of(rank - 2, list);
    if (rank >= 0 && rank < 3) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "input 0 has %d dimensions, below 3", rank);
    }
    return rank >= 3;
}

static adz_tensor *global_average_pool(const reader_call *call)
{
    adz_dims dims;
    return spatial_dims(call, &dims) ? adz_mean(adzi_reader_in(call, 0), dims, ADZ_KEEPDIM) : NULL;
}

static adz_tensor *global_max_pool(const reader_call *call)
{
    adz_dims dims;
    return spatial_dims(call, &dims) ? adz_amax(adzi_reader_in(call, 0), dims, ADZ_KEEPDIM) : NULL;
}

static adz_tensor *global_lp_pool(const reader_call *call)
{
    adz_dims dims;
    double p = (double)adzi_reader_int(call, "p", 2);
    return spatial_dims(call, &dims) ? adz_norm(adzi_reader_in(call, 0), p, dims, ADZ_KEEPDIM)
                                     : NULL;
}

#define POOL "kernel_shape:I strides:I pads:I " AUTO_PAD

const reader_operator adzi_reader_pools[] = {
    ROW("AveragePool", 1, 9, 1, 1, 1, POOL " count_include_pad:i", 0, average_pool),
    ROW("AveragePool", 10, 18, 1, 1, 1, POOL " count_include_pad:i ceil_mode:i", 0, average_pool),
    ROW("AveragePool", 19, 0, 1, 1, 1, POOL " count_include_pad:i ceil_mode:i dilations:I", 0,
        average_pool),
    ROW("GlobalAveragePool", 1, 0, 1, 1, 1, "", 0, global_average_pool),
    ROW("GlobalLpPool", 2, 0, 1, 1, 1, "p:i", 0, global_lp_pool),
    ROW("GlobalMaxPool", 1, 0, 1, 1, 1, "", 0, global_max_pool),
    ROW("LpPool", 2, 17, 1, 1, 1, POOL " p:i", 0, lp_pool),
    ROW("LpPool", 18, 0, 1, 1, 1, POOL " p:i ceil_mode:i dilations:I", 0, lp_pool),
    ROW("MaxPool", 1, 7, 1, 1, 1, POOL, 0, max_pool),
    ROW("MaxPool", 8, 9, 1, 1, 2, POOL " storage_order:i", 0, max_pool),
    ROW("MaxPool", 10, 0, 1, 1, 2, POOL " storage_order:i ceil_mode:i dilations:I", 0, max_pool),
    ROW("MaxUnpool", 9, 0, 2, 3, 1, "kernel_shape:I strides:I pads:I", 6, max_unpool),
    { .name = NULL },
};
