/* Resize and Upsample. Every mode is linear in x and works along one dimension at a time, so a
 * dimension is a product with a matrix of weights; nearest takes elements. */
#include <math.h>
#include <string.h>

#include "run.h"

#include "adze/checks.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/linalg.h"
#include "adze/ops/pool.h"
#include "adze/ops/shape.h"

/* What a node asks for, in words of its attributes. */
typedef struct resizing {
    const reader_call *call;
    const char *positions; /* coordinate_transformation_mode */
    const char *nearest;   /* nearest_mode */
    const char *mode;
    bool antialias, exclude_outside;
    double cubic_a, outside;
} resizing;

/* One dimension. */
typedef struct axis {
    int64_t in, out;
    double scale, start, end; /* of the region; 0 and 1 for all */
} axis;

/* ---- positions ------------------------------------------------------------------------------ */

/* The position in x of element i of y. */
static double position(const resizing *r, const axis *a, int64_t i)
{
    const double at = (double)i, in = (double)a->in, length = a->scale * in;
    if (strcmp(r->positions, "align_corners") == 0) {
        return length == 1 ? 0 : at * (in - 1) / (length - 1);
    }
    if (strcmp(r->positions, "asymmetric") == 0) {
        return at / a->scale;
    }
    if (strcmp(r->positions, "tf_half_pixel_for_nn") == 0) {
        return (at + 0.5) / a->scale;
    }
    if (strcmp(r->positions, "tf_crop_and_resize") == 0) {
        return a->out > 1 ? a->start * (in - 1) +
                                at * (a->end - a->start) * (in - 1) / ((double)a->out - 1)
                          : 0.5 * (a->start + a->end) * (in - 1);
    }
    if (strcmp(r->positions, "pytorch_half_pixel") == 0 && a->out == 1) {
        return 0;
    }
    double offset = 0;
    if (strcmp(r->positions, "half_pixel_symmetric") == 0) {
        offset = in / 2 * (1 - (double)a->out / length);
    }
    return offset + (at + 0.5) / a->scale - 0.5;
}

static bool is_outside(const resizing *r, const axis *a, double at)
{
    return strcmp(r->positions, "tf_crop_and_resize") == 0 && (at < 0 || at > (double)a->in - 1);
}

static int64_t clamped(double at, int64_t in)
{
    return !(at > 0) ? 0 : at >= (double)in - 1 ? in - 1 : (int64_t)at;
}

/* ---- nearest -------------------------------------------------------------------------------- */

static int64_t nearest(const resizing *r, const axis *a, double at)
{
    const double below = floor(at);
    double chosen = ceil(at - 0.5); /* round_prefer_floor */
    if (strcmp(r->nearest, "floor") == 0) {
        chosen = below;
    } else if (strcmp(r->nearest, "ceil") == 0) {
        chosen = ceil(at);
    } else if (strcmp(r->nearest, "round_prefer_ceil") == 0) {
        chosen = floor(at + 0.5);
    }
    return clamped(chosen, a->in);
}

/* Whether each element of x comes the same number of times, in order; that number, or 0. */
static int64_t repeats(const int64_t *index, const axis *a)
{
    const int64_t times = a->in > 0 ? a->out / a->in : 0;
    if (times * a->in != a->out) {
        return 0;
    }
    for (int64_t i = 0; i < a->out; ++i) {
        if (index[i] != i / times) {
            return 0;
        }
    }
    return times;
}

static adz_tensor *take_nearest(const resizing *r, adz_tensor *x, int dim, const axis *a)
{
    int64_t *index = adzi_reader_alloc(&r->call->run->arena, (size_t)a->out, sizeof *index);
    if (index == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < a->out; ++i) {
        index[i] = nearest(r, a, position(r, a, i));
    }
    const int64_t times = repeats(index, a);
    return times > 0 ? adz_repeat_interleave(x, times, dim)
                     : adz_index_select(x, dim, adz_tensor_from(index, ADZ_SHAPE(a->out), ADZ_I64));
}

/* ---- linear and cubic ----------------------------------------------------------------------- */

static double linear_weight(double distance)
{
    const double d = fabs(distance);
    return d < 1 ? 1 - d : 0;
}

static double cubic_weight(double distance, double a)
{
    const double d = fabs(distance);
    if (d <= 1) {
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    }
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Fills one row: the weights of x's elements for the position. */
static void fill_row(const resizing *r, const axis *a, double at, double *row)
{
    const bool cubic = strcmp(r->mode, "cubic") == 0;
    const double shrink = r->antialias && a->scale < 1 ? a->scale : 1;
    const double reach = (cubic ? 2 : 1) / shrink;
    double sum = 0;
    for (double i = ceil(at - reach); i <= floor(at + reach); ++i) {
        const double distance = (i - at) * shrink;
        const double weight = cubic ? cubic_weight(distance, r->cubic_a) : linear_weight(distance);
        if (r->exclude_outside && (i < 0 || i > (double)a->in - 1)) {
            continue;
        }
        row[clamped(i, a->in)] += weight;
        sum += weight;
    }
    for (int64_t i = 0; i < a->in && (r->exclude_outside || shrink < 1); ++i) {
        row[i] /= sum;
    }
}

/* y[pre, out, post] = W[out, in] x[pre, in, post], with all of x's other dimensions. */
static adz_tensor *weighted(const resizing *r, adz_tensor *x, int dim, const axis *a)
{
    /* Only a region much larger than x has such a scale. Each row would take 1 / scale steps. */
    if (r->antialias && a->scale * (double)a->in < 0.5 && a->out > 0) {
        return adzi_reader_fail(r->call, ADZ_ERR_UNSUPPORTED,
            "antialias with scale %s of %lld elements is not supported", adz_text_number(a->scale),
            (long long)a->in);
    }
    /* adzi_reader_alloc refuses SIZE_MAX */
    const bool many = a->in > 0 && a->out > INT64_MAX / a->in;
    const size_t n = many ? SIZE_MAX : (size_t)(a->in * a->out);
    double *weights = adzi_reader_alloc(&r->call->run->arena, n, sizeof *weights);
    if (weights == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < a->out; ++i) {
        const double at = position(r, a, i);
        if (!is_outside(r, a, at)) {
            fill_row(r, a, at, weights + i * a->in);
        }
    }
    adz_tensor *w =
        adz_to(adz_tensor_from(weights, ADZ_SHAPE(a->out, a->in), ADZ_F64), adz_tensor_dtype(x));
    adz_shape shape = adz_tensor_shape(x);
    int64_t before = 1, after = 1;
    for (int d = 0; d < shape.rank; ++d) {
        before *= d < dim ? shape.sizes[d] : 1;
        after *= d > dim ? shape.sizes[d] : 1;
    }
    shape.sizes[dim] = a->out;
    adz_tensor *y = after == 1 ? adz_linear(adz_reshape(x, ADZ_SHAPE(before, a->in)), w, ADZ_NONE)
                               : adz_matmul(w, adz_reshape(x, ADZ_SHAPE(before, a->in, after)));
    return adz_reshape(y, shape);
}

/* True where all positions lie inside x, for tf_crop_and_resize. */
static adz_tensor *inside(const resizing *r, const adz_tensor *x, const axis *axes)
{
    const int rank = adz_tensor_rank(x);
    adz_tensor *all = adz_ones(ADZ_SHAPE_SCALAR, ADZ_BOOL);
    for (int d = 0; d < rank; ++d) {
        bool *one = adzi_reader_alloc(&r->call->run->arena, (size_t)axes[d].out, sizeof *one);
        for (int64_t i = 0; i < axes[d].out && one != NULL; ++i) {
            one[i] = !is_outside(r, &axes[d], position(r, &axes[d], i));
        }
        adz_tensor *along =
            one != NULL ? adz_tensor_from(one, ADZ_SHAPE(axes[d].out), ADZ_BOOL) : NULL;
        all = along != NULL ? adz_logical_and(all, adzi_reader_along(along, rank, d)) : NULL;
    }
    return all;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* The dimensions that the lists of the node speak of; their number, -1 with an error recorded. */
static int listed(const reader_call *call, int rank, int *dims)
{
    adz_shape axes;
    if (!adzi_reader_shape(call, "axes", NO_VALUE, &axes)) {
        return -1;
    }
    const int n = axes.rank >= 0 ? axes.rank : rank;
    for (int i = 0; i < n; ++i) {
        dims[i] = axes.rank >= 0 ? adzi_reader_dim(call, axes.sizes[i], rank) : i;
        if (dims[i] < 0) {
            return -1;
        }
    }
    return n;
}

/* Numbers of input i; NULL if it is left out or empty, or with an error recorded. */
static const reader_numbers *numbers(const reader_call *call, size_t i)
{
    if (i == NO_VALUE || !adzi_reader_has(call, i)) {
        return NULL;
    }
    const reader_numbers *list = adzi_reader_host(call, i);
    return list != NULL && list->n > 0 ? list : NULL;
}

static double as_float(const reader_numbers *list, size_t i)
{
    return list->dtype == ADZ_F32 || list->dtype == ADZ_F64 ? list->at[i].f : (double)list->at[i].i;
}

/* A number as a size; -1 for one that is none. */
static int64_t as_size(double x)
{
    return x >= 0 && x <= 0x1p53 ? (int64_t)x : -1;
}

/* Fills the axes from sizes, which a policy may change to keep the ratio. */
static void by_sizes(
    const reader_call *call, const reader_numbers *sizes, const int *dims, int n, axis *axes)
{
    const char *policy = adzi_reader_string(call, "keep_aspect_ratio_policy", "stretch");
    double scale = 0;
    for (int i = 0; i < n; ++i) {
        const double s = as_float(sizes, (size_t)i) / (double)axes[dims[i]].in;
        scale = i == 0 || (strcmp(policy, "not_larger") == 0 ? s < scale : s > scale) ? s : scale;
    }
    for (int i = 0; i < n; ++i) {
        axis *a = &axes[dims[i]];
        a->out = as_size(as_float(sizes, (size_t)i));
        a->scale = (double)a->out / (double)a->in;
        if (strcmp(policy, "stretch") != 0) {
            a->out = as_size(floor(scale * (double)a->in + 0.5));
            a->scale = scale;
        }
    }
}

static void by_scales(const reader_numbers *scales, const int *dims, int n, axis *axes)
{
    for (int i = 0; i < n; ++i) {
        axis *a = &axes[dims[i]];
        a->scale = as_float(scales, (size_t)i);
        a->out = as_size(floor((double)a->in * (a->end - a->start) * a->scale));
    }
}

/* Where the lists stand among the inputs. */
typedef struct lists {
    size_t roi, scales, sizes;
} lists;

static bool read_axes(const reader_call *call, lists at, const adz_tensor *x, axis *axes)
{
    const int rank = adz_tensor_rank(x);
    int dims[ADZ_MAX_RANK];
    const int n = listed(call, rank, dims);
    const reader_numbers *roi = numbers(call, at.roi), *scales = numbers(call, at.scales);
    const reader_numbers *sizes = numbers(call, at.sizes);
    const reader_numbers *given = sizes != NULL ? sizes : scales;
    if (n < 0 || adz_error_code() != ADZ_OK) {
        return false;
    }
    if (given == NULL || given->n != (size_t)n || (roi != NULL && roi->n != 2 * (size_t)n)) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE,
            "x%s needs a scale or a size for each of %d dimensions, and two ends for a region",
            adz_text_shape(x), n);
        return false;
    }
    for (int d = 0; d < rank; ++d) {
        axes[d] = (axis){ adz_tensor_size(x, d), adz_tensor_size(x, d), 1, 0, 1 };
    }
    const bool crops = strcmp(adzi_reader_string(call, "coordinate_transformation_mode", ""),
                           "tf_crop_and_resize") == 0;
    for (int i = 0; i < n && roi != NULL && crops; ++i) {
        axes[dims[i]].start = as_float(roi, (size_t)i);
        axes[dims[i]].end = as_float(roi, (size_t)(i + n));
    }
    if (sizes != NULL) {
        by_sizes(call, sizes, dims, n, axes);
    } else {
        by_scales(scales, dims, n, axes);
    }
    for (int d = 0; d < rank; ++d) {
        const bool changes = axes[d].out != axes[d].in;
        if (axes[d].out < 0 || (changes && (axes[d].in < 1 || !(axes[d].scale > 0)))) {
            adzi_reader_fail(call, ADZ_ERR_SHAPE, "dimension %d of x%s would have %lld elements", d,
                adz_text_shape(x), (long long)axes[d].out);
            return false;
        }
    }
    return true;
}

/* ---- the nodes ------------------------------------------------------------------------------ */

/* Whether an axis copies x. */
static bool stays(const resizing *r, const axis *a)
{
    return a->in == a->out && a->scale == 1 && a->start == 0 && a->end == 1 &&
           strcmp(r->positions, "tf_half_pixel_for_nn") != 0;
}

/* The library's operator has its own kernel for images whose sizes and positions are PyTorch's. */
static adz_tensor *by_kernel(const resizing *r, adz_tensor *x, const axis *axes)
{
    const int rank = adz_tensor_rank(x);
    const bool corners = strcmp(r->positions, "align_corners") == 0;
    if (strcmp(r->mode, "linear") != 0 || r->antialias || r->exclude_outside || rank < 3 ||
        rank > 5 || !stays(r, &axes[0]) || !stays(r, &axes[1]) ||
        !(corners || strcmp(r->positions, "half_pixel") == 0)) {
        return NULL;
    }
    adz_shape size = { .rank = rank - 2 };
    for (int d = 2; d < rank; ++d) {
        if (axes[d].in < 1 || axes[d].out < 1 ||
            axes[d].scale * (double)axes[d].in != (double)axes[d].out) {
            return NULL;
        }
        size.sizes[d - 2] = axes[d].out;
    }
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = rank == 3   ? ADZ_INTERPOLATE_LINEAR
             : rank == 4 ? ADZ_INTERPOLATE_BILINEAR
                         : ADZ_INTERPOLATE_TRILINEAR;
    o.align_corners = corners;
    return adz_interpolate(x, size, &o);
}

static adz_tensor *resized(const resizing *r, adz_tensor *x, const axis *axes)
{
    const bool is_nearest = strcmp(r->mode, "nearest") == 0;
    adz_tensor *y = by_kernel(r, x, axes);
    if (y != NULL || adz_error_code() != ADZ_OK) {
        return y;
    }
    y = x;
    for (int d = 0; d < adz_tensor_rank(x) && y != NULL; ++d) {
        if (!stays(r, &axes[d])) {
            y = is_nearest ? take_nearest(r, y, d, &axes[d]) : weighted(r, y, d, &axes[d]);
        }
    }
    if (y != NULL && strcmp(r->positions, "tf_crop_and_resize") == 0) {
        y = adz_where(
            inside(r, x, axes), y, adz_full(ADZ_SHAPE_SCALAR, r->outside, adz_tensor_dtype(y)));
    }
    return y;
}

/* Whether ONNX says which elements are the nearest: opset 10 does not, where a smaller result skips
 * a number of elements that is not whole. */
static bool is_defined(const reader_call *call, const resizing *r, const axis *axes, int rank)
{
    for (int d = 0; d < rank && call->node->opset < 11; ++d) {
        const double step = 1 / axes[d].scale;
        if (strcmp(r->mode, "nearest") == 0 && step > 1 && fabs(step - round(step)) > 1e-6) {
            adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
                "mode nearest with scale %s is not supported: ONNX defines it from opset 11 on",
                adz_text_number(axes[d].scale));
            return false;
        }
    }
    return true;
}

static adz_tensor *resize(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const bool old = call->node->opset < 11;
    const lists at = old ? (lists){ NO_VALUE, 1, NO_VALUE } : (lists){ 1, 2, 3 };
    resizing r = { .call = call,
        .positions = adzi_reader_string(
            call, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
        .nearest = adzi_reader_string(call, "nearest_mode", old ? "floor" : "round_prefer_floor"),
        .mode = adzi_reader_string(call, "mode", "nearest"),
        .antialias = adzi_reader_int(call, "antialias", 0) != 0,
        .exclude_outside = adzi_reader_int(call, "exclude_outside", 0) != 0,
        .cubic_a = adzi_reader_float(call, "cubic_coeff_a", -0.75),
        .outside = adzi_reader_float(call, "extrapolation_value", 0) };
    axis axes[ADZ_MAX_RANK];
    if (x == NULL || !read_axes(call, at, x, axes) ||
        !is_defined(call, &r, axes, adz_tensor_rank(x))) {
        return NULL;
    }
    return resized(&r, x, axes);
}

/* Before opset 9, the scales are an attribute. */
static adz_tensor *upsample_by_attribute(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const reader_attribute *scales = adzi_reader_attribute(call->node, "scales");
    resizing r = { .call = call,
        .positions = "asymmetric",
        .nearest = "floor",
        .mode = adzi_reader_string(call, "mode", "nearest") };
    axis axes[ADZ_MAX_RANK];
    if (x == NULL) {
        return NULL;
    }
    if (scales == NULL || scales->n != (size_t)adz_tensor_rank(x)) {
        return adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "x%s needs a scale for each dimension", adz_text_shape(x));
    }
    for (int d = 0; d < adz_tensor_rank(x); ++d) {
        const int64_t in = adz_tensor_size(x, d);
        axes[d] =
            (axis){ in, as_size(floor((double)in * scales->floats[d])), scales->floats[d], 0, 1 };
        if (!(scales->floats[d] >= 1) || axes[d].out < 0 || in < 1) {
            return adzi_reader_fail(call, ADZ_ERR_SHAPE,
                "a scale is below 1 or too large, or x%s is empty", adz_text_shape(x));
        }
    }
    return resized(&r, x, axes);
}

#define POSITIONS                                                                          \
    "coordinate_transformation_mode:s=half_pixel|pytorch_half_pixel|half_pixel_symmetric|" \
    "align_corners|asymmetric|tf_crop_and_resize|tf_half_pixel_for_nn "
#define NEAREST "nearest_mode:s=round_prefer_floor|round_prefer_ceil|floor|ceil "
#define RESIZE                                                                         \
    POSITIONS NEAREST "mode:s=nearest|linear|cubic exclude_outside:i cubic_coeff_a:f " \
                      "extrapolation_value:f"
#define RESIZE_18 \
    RESIZE " antialias:i axes:I keep_aspect_ratio_policy:s=stretch|not_larger|not_smaller"

const reader_operator adzi_reader_resize[] = {
    { "Resize", 10, 10, 2, 2, 1, "mode:s=nearest|linear", 2u, .run = resize },
    { "Resize", 11, 17, 1, 4, 1, RESIZE, 14u, .run = resize },
    { "Resize", 18, 0, 1, 4, 1, RESIZE_18, 14u, .run = resize },
    { "Upsample", 7, 8, 1, 1, 1, "mode:s=nearest|linear scales:F", 0,
        .run = upsample_by_attribute },
    { "Upsample", 9, 0, 2, 2, 1, "mode:s=nearest|linear", 2u, .run = resize },
    { 0 },
};
