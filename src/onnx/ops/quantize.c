/* Quantised operators. int8 is held as i32. Products of integers are computed in floats that hold
 * them exactly. */
#include <math.h>

#include "window.h"

#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/conv.h"
#include "adze/ops/convert.h"
#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/rounding.h"
#include "adze/ops/shape.h"

/* ---- types and ranges ----------------------------------------------------------------------- */

/* The least and the largest 8-bit number. */
typedef struct range {
    double least, most;
} range;

static range range_of(int element)
{
    return element == ELEMENT_INT8 ? (range){ -128, 127 } : (range){ 0, 255 };
}

static int element_of(const reader_model *model, const reader_node *node, size_t i)
{
    return i < node->n_inputs && node->inputs[i] != NO_VALUE
               ? model->values[node->inputs[i]].element
               : 0;
}

static bool has(const reader_node *node, size_t i)
{
    return i < node->n_inputs && node->inputs[i] != NO_VALUE;
}

static void set_element(const reader_model *model, const reader_node *node, size_t i, int element)
{
    if (i < node->n_outputs && node->outputs[i] != NO_VALUE) {
        model->values[node->outputs[i]].element = element;
    }
}

/* The zero point decides about the type of the result. */
static adz_status check_zero_point(const reader_model *model, const reader_node *node, size_t i)
{
    const reader_attribute *a = adzi_reader_attribute(node, "output_dtype");
    const int asked = a != NULL && a->i > 0 && a->i < 256 ? (int)a->i : 0;
    const int given = element_of(model, node, i);
    const int element = has(node, i) ? given : asked != 0 ? asked : ELEMENT_UINT8;
    if (element != ELEMENT_UINT8 && element != ELEMENT_INT8) {
        return adzi_reader_refuse(node,
            "the type of its zero point is %s; int8 and uint8 are supported, from an initialiser, an input or another quantised operator",
            element == 0 ? "not known at loading" : adzi_reader_element_name(element));
    }
    set_element(model, node, 0, element);
    return ADZ_OK;
}

static adz_status check_quantize(const reader_model *model, const reader_node *node)
{
    return check_zero_point(model, node, 2);
}

static adz_status check_product(const reader_model *model, const reader_node *node)
{
    return check_zero_point(model, node, 7);
}

static adz_status check_dynamic(const reader_model *model, const reader_node *node)
{
    set_element(model, node, 0, ELEMENT_UINT8);
    set_element(model, node, 2, ELEMENT_UINT8);
    return ADZ_OK;
}

static adz_status check_dequantize(const reader_model *model, const reader_node *node)
{
    (void)model;
    const reader_attribute *a = adzi_reader_attribute(node, "output_dtype");
    return a == NULL || a->i == 0 || a->i == ELEMENT_FLOAT || a->i == ELEMENT_DOUBLE ||
                   a->i == ELEMENT_FLOAT16 || a->i == ELEMENT_BFLOAT16
               ? ADZ_OK
               : adzi_reader_refuse(node, "attribute \"output_dtype\" is %lld, which is no float",
                     (long long)a->i);
}

/* ---- scales and zero points ----------------------------------------------------------------- */

/* A scale or zero point in the shape in which it goes with x: one number, one for each index of an
 * axis, or one for each block along an axis. */
static adz_tensor *along(const reader_call *call, adz_tensor *t, const adz_tensor *x)
{
    const int rank = x != NULL ? adz_tensor_rank(x) : 0;
    if (t == NULL || x == NULL || adz_tensor_numel(t) == 1) {
        return t != NULL ? adz_reshape(t, ADZ_SHAPE_SCALAR) : NULL;
    }
    const int dim = adzi_reader_dim(call, adzi_reader_int(call, "axis", 1), rank);
    const int64_t block = adzi_reader_int(call, "block_size", 0);
    if (dim < 0) {
        return NULL;
    }
    const int64_t size = adz_tensor_size(x, dim);
    if (adz_tensor_rank(t) == 1 && block == 0 && adz_tensor_numel(t) == size) {
        return adzi_reader_along(t, rank, dim);
    }
    if (block > 0 && adz_tensor_rank(t) == rank &&
        adz_tensor_size(t, dim) == size / block + (size % block != 0)) {
        return adz_narrow(adz_repeat_interleave(t, block, dim), dim, 0, size);
    }
    return adzi_reader_fail(call, ADZ_ERR_SHAPE,
        "a scale or zero point%s does not go with x%s along axis %d in blocks of %lld",
        adz_text_shape(t), adz_text_shape(x), dim, (long long)block);
}

/* Rounds y / scale + zero to the numbers of a type. */
static adz_tensor *rounded(
    const reader_call *call, adz_tensor *y, adz_tensor *scale, adz_tensor *zero, int element)
{
    const range r = range_of(element);
    adz_dtype dtype = ADZ_I32;
    adzi_reader_dtype(call->run->model, element, &dtype);
    adz_tensor *q = adz_round(adz_div(y, scale));
    q = q != NULL && zero != ADZ_NONE ? adz_add(q, adz_to(zero, adz_tensor_dtype(q))) : q;
    return adz_to(adz_clamp(q, r.least, r.most), dtype);
}

static adz_tensor *quantize(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *zero = adzi_reader_in(call, 2);
    adz_tensor *scale = along(call, adzi_reader_in(call, 1), x);
    zero = zero == ADZ_NONE ? zero : along(call, zero, x);
    if (x == NULL || scale == NULL || zero == NULL) {
        return NULL;
    }
    x = adz_to(x, adz_tensor_dtype(scale));
    return rounded(call, x, scale, zero, call->run->model->values[call->node->outputs[0]].element);
}

static adz_tensor *dequantize(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *zero = adzi_reader_in(call, 2);
    adz_tensor *scale = along(call, adzi_reader_in(call, 1), x);
    zero = zero == ADZ_NONE ? zero : along(call, zero, x);
    if (x == NULL || scale == NULL || zero == NULL) {
        return NULL;
    }
    x = adz_to(x, ADZ_I32);
    x = zero == ADZ_NONE ? x : adz_sub(x, adz_to(zero, ADZ_I32));
    adz_tensor *y = adz_mul(adz_to(x, adz_tensor_dtype(scale)), scale);
    adz_dtype dtype;
    const int64_t target = adzi_reader_int(call, "output_dtype", 0);
    if (target == 0) {
        return y;
    }
    return adzi_reader_target(call, target, &dtype) ? adz_to(y, dtype) : NULL;
}

/* The range of x, with 0 in it, in 255 steps. */
static adz_tensor *quantize_by_range(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    if (x == NULL || adz_tensor_numel(x) == 0) {
        return x == NULL
                   ? x
                   : adzi_reader_fail(call, ADZ_ERR_SHAPE, "x%s has no range", adz_text_shape(x));
    }
    adz_tensor *least = adz_clamp(adz_amin(x, ADZ_ALL_DIMS, false), -INFINITY, 0);
    adz_tensor *most = adz_clamp(adz_amax(x, ADZ_ALL_DIMS, false), 0, INFINITY);
    adz_tensor *scale = adz_div_number(adz_sub(most, least), 255);
    /* Zeros alone have a scale of 0. They are divided by 1. */
    scale = adz_masked_fill(scale, adz_eq_number(scale, 0), 1);
    adz_tensor *zero = adz_round(adz_clamp(adz_neg(adz_div(least, scale)), 0, 255));
    adzi_reader_set(call, 1, scale);
    adzi_reader_set(call, 2, adz_to(zero, ADZ_U8));
    return rounded(call, x, scale, zero, ELEMENT_UINT8);
}

/* ---- products ------------------------------------------------------------------------------- */

/* Differences of 8-bit numbers are below 256 each, and f32 holds integers up to 2^24. */
static adz_dtype exact_dtype(int64_t terms)
{
    return terms <= (1 << 24) / (255 * 255) ? ADZ_F32 : ADZ_F64;
}

/* A scale or zero point for a tensor of this rank: one number, or a list along dimension `dim`. */
static adz_tensor *spread(adz_tensor *t, int rank, int dim)
{
    if (t == NULL || adz_tensor_numel(t) == 1) {
        return t != NULL ? adz_reshape(t, ADZ_SHAPE_SCALAR) : NULL;
    }
    return adz_tensor_rank(t) == 1 ? adzi_reader_along(t, rank, dim) : t;
}

/* t - zero, as floats. A list of zero points belongs to the rows of a matrix, or to its columns. */
static adz_tensor *centred(
    const reader_call *call, size_t i, size_t zero_at, int dim, adz_dtype dtype)
{
    adz_tensor *t = adzi_reader_in(call, i), *zero = adzi_reader_in(call, zero_at);
    if (t == NULL || zero == NULL || zero == ADZ_NONE) {
        return t != NULL && zero != NULL ? adz_to(t, dtype) : NULL;
    }
    return adz_sub(adz_to(t, dtype), adz_to(spread(zero, adz_tensor_rank(t), dim), dtype));
}

/* The product of inputs a and b without their zero points; its elements are integers. */
static adz_tensor *product(
    const reader_call *call, size_t a, size_t a_zero, size_t b, size_t b_zero)
{
    adz_tensor *t = adzi_reader_in(call, a);
    if (t == NULL || adz_tensor_rank(t) == 0) {
        return t == NULL ? t : adzi_reader_fail(call, ADZ_ERR_SHAPE, "a scalar has no product");
    }
    const adz_dtype dtype = exact_dtype(adz_tensor_size(t, -1));
    return adz_matmul(centred(call, a, a_zero, -2, dtype), centred(call, b, b_zero, -1, dtype));
}

static adz_tensor *matmul_integer(const reader_call *call)
{
    return adz_to(product(call, 0, 2, 1, 3), ADZ_I32);
}

/* The convolution of input 0 with the weight at `w`, without their zero points. */
static adz_tensor *convolution(const reader_call *call, size_t x_zero, size_t w, size_t w_zero)
{
    adz_tensor *weight = adzi_reader_in(call, w);
    reader_window window;
    if (weight == NULL || !adzi_reader_window(call, weight, &window)) {
        return NULL;
    }
    const int64_t channels = adz_tensor_size(weight, 0);
    const adz_dtype dtype = exact_dtype(channels > 0 ? adz_tensor_numel(weight) / channels : 0);
    adz_tensor *x = adzi_reader_padded(centred(call, 0, x_zero, 1, dtype), &window, 0);
    weight = centred(call, w, w_zero, 0, dtype);
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.stride = adzi_reader_sizes(&window, window.stride);
    options.dilation = adzi_reader_sizes(&window, window.dilation);
    options.groups = adzi_reader_int(call, "group", 1);
    return window.n == 1   ? adz_conv1d(x, weight, ADZ_NONE, &options)
           : window.n == 2 ? adz_conv2d(x, weight, ADZ_NONE, &options)
                           : adz_conv3d(x, weight, ADZ_NONE, &options);
}

static adz_tensor *conv_integer(const reader_call *call)
{
    return adz_to(convolution(call, 2, 1, 3), ADZ_I32);
}

/* A scale of the channels, or of columns, along dimension `dim` of y. */
static adz_tensor *scale_along(const reader_call *call, size_t i, const adz_tensor *y, int dim)
{
    return spread(adzi_reader_in(call, i), adz_tensor_rank(y), dim);
}

/* Integers times the scales of both factors, as numbers of y's type. */
static adz_tensor *rescaled(
    const reader_call *call, adz_tensor *y, size_t second, int a_dim, int b_dim)
{
    if (y == NULL) {
        return NULL;
    }
    adz_tensor *a = scale_along(call, 1, y, a_dim);
    adz_tensor *b = scale_along(call, second, y, b_dim);
    adz_tensor *scale = scale_along(call, 6, y, a_dim);
    adz_tensor *zero = scale_along(call, 7, y, a_dim);
    if (a == NULL || b == NULL || scale == NULL || zero == NULL) {
        return NULL;
    }
    adz_tensor *factor = adz_div(adz_mul(a, b), scale);
    y = adz_mul(adz_to(y, ADZ_F64), adz_to(factor, ADZ_F64));
    return rounded(call, y, adz_full(ADZ_SHAPE_SCALAR, 1, ADZ_F64), zero,
        call->run->model->values[call->node->outputs[0]].element);
}

static adz_tensor *matmul_quantized(const reader_call *call)
{
    return rescaled(call, product(call, 0, 2, 3, 5), 4, -2, -1);
}

static adz_tensor *conv_quantized(const reader_call *call)
{
    adz_tensor *y = convolution(call, 2, 3, 5), *bias = adzi_reader_in(call, 8);
    if (y != NULL && bias != NULL && bias != ADZ_NONE) {
        bias = adz_to(adzi_reader_along(bias, adz_tensor_rank(y), 1), ADZ_F64);
        y = adz_add(adz_to(y, ADZ_F64), bias);
    }
    return rescaled(call, bias != NULL ? y : NULL, 4, 1, 1);
}

#define CONV     "group:i pads:I strides:I dilations:I kernel_shape:I " AUTO_PAD
#define QUANTIZE "axis:i saturate:i block_size:i output_dtype:i"

const reader_operator adzi_reader_quantized[] = {
    { "ConvInteger", 10, 0, 2, 4, 1, CONV, ALL_FIXED, .run = conv_integer },
    { "DequantizeLinear", 10, 0, 2, 3, 1, "axis:i block_size:i output_dtype:i", 1u | 4u,
        .run = dequantize, .check = check_dequantize },
    { "DynamicQuantizeLinear", 11, 0, 1, 1, 3, "", ALL_FIXED, .run = quantize_by_range,
        .check = check_dynamic },
    { "MatMulInteger", 10, 0, 2, 4, 1, "", ALL_FIXED, .run = matmul_integer },
    { "QLinearConv", 10, 0, 8, 9, 1, CONV, ALL_FIXED, .run = conv_quantized,
        .check = check_product },
    { "QLinearMatMul", 10, 0, 8, 8, 1, "", ALL_FIXED, .run = matmul_quantized,
        .check = check_product },
    { "QuantizeLinear", 10, 0, 2, 3, 1, QUANTIZE, ALL_FIXED, .run = quantize,
        .check = check_quantize },
    { 0 },
};
