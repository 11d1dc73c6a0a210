/* Fourier transforms and windows. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

#define PI 3.14159265358979323846

/* ---- transforms ----------------------------------------------------------------------------- */

enum { MOST_POINTS = 8192 }; /* the matrix of a transform has their square */

/** The cosine or sine of 2 pi rows columns / points, [rows, columns]. */
static adz_tensor *waves(
    int64_t rows, int64_t columns, int64_t points, adz_tensor *(*f)(adz_tensor *), adz_dtype dtype)
{
    adz_tensor *row = adz_unsqueeze(adz_arange(0, (double)rows, 1, ADZ_I64), 1);
    adz_tensor *turns = adz_mul(row, adz_arange(0, (double)columns, 1, ADZ_I64));
    turns = adz_to(adz_remainder_number(turns, (double)points), ADZ_F64);
    return adz_to(f(adz_mul_number(turns, 2 * PI / (double)points)), dtype);
}

/** The first `size` entries of the last dimension, with zeros for those that are missing. */
static adz_tensor *resized(adz_tensor *x, int64_t size)
{
    int64_t more = size - adz_tensor_size(x, -1);
    return more == 0 ? x : adz_pad(x, (const int64_t[]){ 0, more }, 2, 0);
}

typedef struct transform {
    adz_tensor *re, *im; /* [..., n]; im is NULL for real numbers */
    int64_t points;
    bool inverse, onesided;
} transform;

/** [..., k, 2], or for a onesided inverse [..., k, 1]. */
static adz_tensor *transformed(const transform *t)
{
    int64_t n = t->points, half = n / 2 + 1;
    bool real = t->inverse && t->onesided;
    int64_t in = real ? half : n, out = t->onesided && !t->inverse ? half : n;
    adz_tensor *re = resized(t->re, in), *im = t->im != NULL ? resized(t->im, in) : NULL;
    adz_dtype dtype = adz_tensor_dtype(re);
    adz_tensor *cosine = waves(in, out, n, adz_cos, dtype);
    adz_tensor *sine = waves(in, out, n, adz_sin, dtype);
    if (real) { /* the other half holds the conjugates */
        adz_tensor *twice = adz_full(ADZ_SHAPE(in), 2, dtype);
        adz_tensor *at = adz_arange(0, (double)in, 1, ADZ_I64);
        twice = adz_masked_fill(twice, adz_eq_number(at, 0), 1);
        if (n % 2 == 0) {
            twice = adz_masked_fill(twice, adz_eq_number(at, (double)(in - 1)), 1);
        }
        re = adz_mul(re, twice);
        im = im != NULL ? adz_mul(im, twice) : NULL;
    }
    adz_tensor *y_re = adz_matmul(re, cosine), *y_im = adz_matmul(re, sine);
    if (im != NULL) {
        adz_tensor *across = adz_matmul(im, sine);
        y_re = t->inverse ? adz_sub(y_re, across) : adz_add(y_re, across);
        across = adz_matmul(im, cosine);
        y_im = t->inverse ? adz_add(across, y_im) : adz_sub(across, y_im);
    } else if (!t->inverse) {
        y_im = adz_neg(y_im);
    }
    adz_tensor *y =
        real ? adz_unsqueeze(y_re, -1) : adz_stack((adz_tensor *[]){ y_re, y_im }, 2, -1);
    return t->inverse ? adz_div_number(y, (double)n) : y;
}

/** Splits x[..., 1 or 2] into real and imaginary parts. */
static bool parts(const reader_call *call, adz_tensor *x, transform *t)
{
    int64_t numbers = adz_tensor_size(x, -1);
    if (adz_tensor_rank(x) < 2 || numbers < 1 || numbers > 2) {
        adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "x%s holds no numbers of 1 or 2 parts", adz_text_shape(x));
        return false;
    }
    if (numbers == 2 && t->onesided && !t->inverse) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "onesided transforms are of real numbers");
        return false;
    }
    t->re = adz_select(x, -1, 0);
    t->im = numbers == 2 ? adz_select(x, -1, 1) : NULL;
    return true;
}

static bool few_points(const reader_call *call, int64_t points)
{
    if (points < 1 || points > MOST_POINTS) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "%lld points; 1 to %d are supported",
            (long long)points, MOST_POINTS);
        return false;
    }
    return true;
}

static adz_tensor *dft(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    transform t = { .inverse = adzi_reader_int(call, "inverse", 0) != 0,
        .onesided = adzi_reader_int(call, "onesided", 0) != 0 };
    int64_t axis = adzi_reader_int(call, "axis", 1);
    if (x == NULL || !parts(call, x, &t) ||
        (call->node->opset >= 20 && !adzi_reader_whole(call, 2, -2, &axis))) {
        return NULL;
    }
    int rank = adz_tensor_rank(x), dim = adzi_reader_dim(call, axis, rank);
    if (dim < 0 || dim == rank - 1) {
        return dim < 0 ? NULL : adzi_reader_fail(call, ADZ_ERR_DIM, "axis is that of the parts");
    }
    int64_t size = adz_tensor_size(x, dim);
    if (!adzi_reader_whole(call, 1, t.inverse && t.onesided ? 2 * (size - 1) : size, &t.points) ||
        !few_points(call, t.points)) {
        return NULL;
    }
    t.re = adz_transpose(t.re, dim, -1);
    t.im = t.im != NULL ? adz_transpose(t.im, dim, -1) : NULL;
    return adz_transpose(transformed(&t), dim, -2);
}

/** The frames of a signal: x[batch, length] as [batch, frames, points]. */
static adz_tensor *frames(adz_tensor *x, int64_t step, int64_t points)
{
    int64_t count = (adz_tensor_size(x, 1) - points) / step + 1;
    adz_tensor *start = adz_arange(0, (double)(count * step), (double)step, ADZ_I64);
    adz_tensor *at = adz_add(adz_unsqueeze(start, 1), adz_arange(0, (double)points, 1, ADZ_I64));
    x = adz_index_select(x, 1, adz_flatten(at, 0, -1));
    return adz_reshape(x, ADZ_SHAPE(adz_tensor_size(x, 0), count, points));
}

static adz_tensor *stft(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *window = adzi_reader_in(call, 2);
    transform t = { .onesided = adzi_reader_int(call, "onesided", 1) != 0 };
    int64_t step, length = adz_tensor_size(x, 1);
    if (x == NULL || window == NULL || adz_tensor_rank(x) != 3 || !parts(call, x, &t) ||
        !adzi_reader_whole(call, 1, 1, &step)) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE,
            "signal%s must have 3 dimensions, the last of them of size 1 or 2", adz_text_shape(x));
    }
    int64_t points = window != ADZ_NONE ? adz_tensor_numel(window) : length;
    if (!adzi_reader_whole(call, 3, points, &t.points) || !few_points(call, t.points)) {
        return NULL;
    }
    if (step < 1 || t.points > length || (window != ADZ_NONE && t.points != points)) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "frames of %lld in a signal of %lld",
            (long long)t.points, (long long)length);
    }
    t.re = frames(t.re, step, t.points);
    t.im = t.im != NULL ? frames(t.im, step, t.points) : NULL;
    if (window != ADZ_NONE) {
        t.re = adz_mul(t.re, window);
        t.im = t.im != NULL ? adz_mul(t.im, window) : NULL;
    }
    return transformed(&t);
}

/* ---- windows -------------------------------------------------------------------------------- */

/** a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) */
static adz_tensor *window(const reader_call *call, double a0, double a1, double a2)
{
    int64_t size;
    adz_dtype dtype;
    if (!adzi_reader_whole(call, 0, 0, &size) ||
        !adzi_reader_target(call, adzi_reader_int(call, "output_datatype", 1), &dtype)) {
        return NULL;
    }
    double n = (double)size - (adzi_reader_int(call, "periodic", 1) != 0 ? 0 : 1);
    if (size < 0 || n < 0) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "size is %lld", (long long)size);
    }
    adz_tensor *angle = adz_arange(0, (double)size, 1, ADZ_F64);
    angle = adz_div_number(adz_mul_number(angle, 2 * PI), n);
    adz_tensor *y = adz_add_number(adz_mul_number(adz_cos(angle), -a1), a0);
    y = adz_add(y, adz_mul_number(adz_cos(adz_mul_number(angle, 2)), a2));
    if (dtype != ADZ_F32 && dtype != ADZ_F64) {
        y = adz_to(y, ADZ_F32); /* as ONNX computes it before the fraction is dropped */
    }
    return adz_to(y, dtype);
}

static adz_tensor *hann(const reader_call *call)
{
    return window(call, 0.5, 0.5, 0);
}

static adz_tensor *hamming(const reader_call *call)
{
    return window(call, 25.0 / 46, 21.0 / 46, 0);
}

static adz_tensor *blackman(const reader_call *call)
{
    return window(call, 0.42, 0.5, 0.08);
}

const reader_operator adzi_reader_signals[] = {
    ROW("BlackmanWindow", 17, 0, 1, 1, 1, "output_datatype:i periodic:i", ALL_FIXED, blackman),
    ROW("DFT", 17, 19, 1, 2, 1, "axis:i inverse:i onesided:i", 2, dft),
    ROW("DFT", 20, 0, 1, 3, 1, "inverse:i onesided:i", 6, dft),
    ROW("HammingWindow", 17, 0, 1, 1, 1, "output_datatype:i periodic:i", ALL_FIXED, hamming),
    ROW("HannWindow", 17, 0, 1, 1, 1, "output_datatype:i periodic:i", ALL_FIXED, hann),
    ROW("STFT", 17, 0, 2, 4, 1, "onesided:i", 10, stft),
    { .name = NULL },
};
