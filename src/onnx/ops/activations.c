/* Activations with attributes or several inputs, and dropout. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "adze/random.h"
#include "run.h"

static adz_tensor *celu(const reader_call *call)
{
    return adz_celu(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 1));
}

static adz_tensor *elu(const reader_call *call)
{
    return adz_elu(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 1));
}

static adz_tensor *gelu(const reader_call *call)
{
    bool none = strcmp(adzi_reader_string(call, "approximate", "none"), "none") == 0;
    return adz_gelu(adzi_reader_in(call, 0), none ? ADZ_GELU_NONE : ADZ_GELU_TANH);
}

static adz_tensor *hard_sigmoid(const reader_call *call)
{
    adz_tensor *y = adz_mul_number(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 0.2f));
    return adz_clamp(adz_add_number(y, adzi_reader_float(call, "beta", 0.5f)), 0, 1);
}

static adz_tensor *hard_swish(const reader_call *call)
{
    return adz_hardswish(adzi_reader_in(call, 0));
}

static adz_tensor *mish(const reader_call *call)
{
    return adz_mish(adzi_reader_in(call, 0));
}

static adz_tensor *leaky_relu(const reader_call *call)
{
    return adz_leaky_relu(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 0.01f));
}

static adz_tensor *prelu(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *slope = adzi_reader_in(call, 1);
    if (call->node->opset < 7 && adz_tensor_rank(slope) == 1 && adz_tensor_rank(x) > 1) {
        slope = adzi_reader_along(slope, adz_tensor_rank(x), 1);
    }
    return adz_where(adz_lt_number(x, 0), adz_mul(x, slope), x);
}

static adz_tensor *selu(const reader_call *call)
{
    double alpha = adzi_reader_float(call, "alpha", 1.67326319217681884765625);
    double gamma = adzi_reader_float(call, "gamma", 1.05070102214813232421875);
    return adz_mul_number(adz_elu(adzi_reader_in(call, 0), alpha), gamma);
}

static adz_tensor *shrink(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    double lambd = adzi_reader_float(call, "lambd", 0.5), bias = adzi_reader_float(call, "bias", 0);
    const adz_dtype dtype = adz_tensor_dtype(x);
    if (x != NULL && dtype != ADZ_F32 && dtype != ADZ_F64) {
        x = adz_to(x, ADZ_F64); /* whole numbers: the fraction of the result is dropped */
    }
    adz_tensor *above =
        adz_where(adz_gt_number(x, lambd), adz_sub_number(x, bias), adz_zeros_like(x));
    adz_tensor *y = adz_where(adz_lt_number(x, -lambd), adz_add_number(x, bias), above);
    return y != NULL && adz_tensor_dtype(y) != dtype ? adz_to(y, dtype) : y;
}

static adz_tensor *swish_by(adz_tensor *x, double alpha)
{
    return alpha == 1 ? adz_silu(x) : adz_mul(x, adz_sigmoid(adz_mul_number(x, alpha)));
}

static adz_tensor *swish(const reader_call *call)
{
    return swish_by(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 1));
}

static adz_tensor *swiglu(const reader_call *call)
{
    adz_tensor *gate = swish_by(adzi_reader_in(call, 0), adzi_reader_float(call, "alpha", 1));
    return adz_mul(gate, adzi_reader_in(call, 1));
}

static adz_tensor *thresholded_relu(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_tensor *above = adz_gt_number(x, adzi_reader_float(call, "alpha", 1)); /* NaN is not */
    return adz_where(above, x, adz_zeros_like(x));
}

/* ---- bounds --------------------------------------------------------------------------------- */

/** Whether input i never changes between two runs. */
static bool is_constant(const reader_call *call, size_t i)
{
    size_t value = call->node->inputs[i];
    int kind = call->run->model->values[value].kind;
    return kind == VALUE_CONSTANT || kind == VALUE_WEIGHT || adzi_reader_is_host(call->run, value);
}

static adz_tensor *clip(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    bool fixed = adz_tensor_dtype(x) == ADZ_F32 || adz_tensor_dtype(x) == ADZ_F64;
    for (size_t i = 1; i <= 2; i++) {
        fixed = fixed && (!adzi_reader_has(call, i) || is_constant(call, i));
    }
    if (fixed) {
        double min, max;
        return adzi_reader_number(call, 1, -INFINITY, &min) &&
                       adzi_reader_number(call, 2, INFINITY, &max)
                   ? adz_clamp(x, min, max)
                   : NULL;
    }
    if (adzi_reader_has(call, 1)) {
        x = adz_maximum(x, adzi_reader_in(call, 1));
    }
    return adzi_reader_has(call, 2) ? adz_minimum(x, adzi_reader_in(call, 2)) : x;
}

static adz_tensor *clip_by_attributes(const reader_call *call)
{
    double min = adzi_reader_float(call, "min", -INFINITY);
    double max = adzi_reader_float(call, "max", INFINITY);
    return adz_clamp(adzi_reader_in(call, 0), min, max);
}

/* ---- softmax -------------------------------------------------------------------------------- */

/** Before opset 13 all dimensions from `axis` on count as one. */
static adz_tensor *along(const reader_call *call, adz_tensor *(*f)(adz_tensor *, int))
{
    adz_tensor *x = adzi_reader_in(call, 0);
    bool one = call->node->opset >= 13;
    int rank = adz_tensor_rank(x);
    int64_t axis = adzi_reader_int(call, "axis", one ? -1 : 1);
    if (rank < 0) {
        return NULL;
    }
    if (!one && axis == rank) {
        return adz_squeeze(f(adz_unsqueeze(x, rank), rank), rank); /* each element alone */
    }
    int dim = adzi_reader_dim(call, axis, rank);
    if (dim < 0) {
        return NULL;
    }
    if (one || dim == rank - 1) {
        return f(x, dim);
    }
    return adz_reshape(f(adz_flatten(x, dim, -1), dim), adz_tensor_shape(x));
}

static adz_tensor *hardmax_of(adz_tensor *x, int dim)
{
    adz_tensor *at = adz_argmax(x, ADZ_DIMS(dim), ADZ_KEEPDIM);
    adz_tensor *zeros = adz_zeros_like(x);
    return adz_scatter(zeros, dim, at, adz_ones(adz_tensor_shape(at), adz_tensor_dtype(x)));
}

static adz_tensor *softmax(const reader_call *call)
{
    return along(call, adz_softmax);
}

static adz_tensor *log_softmax(const reader_call *call)
{
    return along(call, adz_log_softmax);
}

static adz_tensor *hardmax(const reader_call *call)
{
    return along(call, hardmax_of);
}

/* ---- dropout -------------------------------------------------------------------------------- */

/** Drops elements with probability p, and says which it kept. */
static adz_tensor *dropped(const reader_call *call, adz_tensor *x, double p)
{
    if (!adzi_reader_wants(call, 1)) {
        return adz_dropout(x, p, true, NULL);
    }
    adz_tensor *kept = adz_ge_number(adz_rand(adz_tensor_shape(x), ADZ_F32), p);
    adzi_reader_set(call, 1, kept);
    return p < 1 ? adz_dropout_mask(x, kept, 1 - p) : adz_zeros_like(x);
}

/** The ratio counts in a module that trains, and wherever the file asks for training. */
static adz_tensor *dropout(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    double p = adzi_reader_float(call, "ratio", 0.5);
    bool training = adz_module_is_training(call->run->module);
    if (adzi_reader_has(call, 2)) {
        const reader_numbers *mode = adzi_reader_host(call, 2);
        if (mode == NULL) {
            return NULL;
        }
        training = training || (mode->n == 1 && mode->at[0].i != 0);
    }
    if (!adzi_reader_number(call, 1, p, &p)) {
        return NULL;
    }
    if (training && p > 0) {
        return dropped(call, x, p);
    }
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, adz_ones(adz_tensor_shape(x), ADZ_BOOL));
    }
    return x;
}

const reader_operator adzi_reader_activations[] = {
    ROW("Celu", 12, 0, 1, 1, 1, "alpha:f", 0, celu),
    ROW("Clip", 6, 10, 1, 1, 1, "min:f max:f", 0, clip_by_attributes),
    ROW("Clip", 11, 0, 1, 3, 1, "", 6, clip),
    ROW("Dropout", 6, 6, 1, 1, 2, "ratio:f is_test:i", 0, dropout),
    ROW("Dropout", 7, 11, 1, 1, 2, "ratio:f", 0, dropout),
    ROW("Dropout", 12, 0, 1, 3, 2, "seed:i", 6, dropout),
    ROW("Elu", 6, 0, 1, 1, 1, "alpha:f", 0, elu),
    ROW("Gelu", 20, 0, 1, 1, 1, "approximate:s=none|tanh", 0, gelu),
    ROW("HardSigmoid", 6, 0, 1, 1, 1, "alpha:f beta:f", 0, hard_sigmoid),
    ROW("HardSwish", 14, 0, 1, 1, 1, "", 0, hard_swish),
    ROW("Hardmax", 1, 0, 1, 1, 1, "axis:i", ALL_FIXED, hardmax),
    ROW("LeakyRelu", 6, 0, 1, 1, 1, "alpha:f", 0, leaky_relu),
    ROW("LogSoftmax", 1, 0, 1, 1, 1, "axis:i", 0, log_softmax),
    ROW("Mish", 18, 0, 1, 1, 1, "", 0, mish),
    ROW("PRelu", 6, 0, 2, 2, 1, "", 0, prelu),
    ROW("Selu", 6, 0, 1, 1, 1, "alpha:f gamma:f", 0, selu),
    ROW("Shrink", 9, 0, 1, 1, 1, "bias:f lambd:f", 0, shrink),
    ROW("Softmax", 1, 0, 1, 1, 1, "axis:i", 0, softmax),
    ROW("SwiGLU", 28, 0, 2, 2, 1, "alpha:f", 0, swiglu),
    ROW("Swish", 24, 0, 1, 1, 1, "alpha:f", 0, swish),
    ROW("ThresholdedRelu", 10, 0, 1, 1, 1, "alpha:f", 0, thresholded_relu),
    { .name = NULL },
};
