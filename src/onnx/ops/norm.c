/* Normalisation. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

#define EPSILON 1e-5f

/** The attribute epsilon, which is stored as a float. */
static double epsilon(const reader_call *call)
{
    return adzi_reader_float(call, "epsilon", EPSILON);
}

/* ---- batches -------------------------------------------------------------------------------- */

/** Whether the module owns the tensor of input i: then training may update it. */
static bool is_weight(const reader_call *call, size_t i)
{
    return call->run->model->values[call->node->inputs[i]].kind == VALUE_WEIGHT;
}

/** Statistics of the batch, with running ones as further results. */
static adz_tensor *batch_norm_trained(const reader_call *call, adz_tensor *const in[5])
{
    double momentum = adzi_reader_float(call, "momentum", 0.9f);
    int dims[ADZ_MAX_RANK], n = 0, rank = adz_tensor_rank(in[0]);
    for (int i = 0; i < rank; i++) {
        dims[n] = i;
        n += i != 1 ? 1 : 0;
    }
    for (size_t i = 1; i <= 2; i++) {
        if (adzi_reader_wants(call, i)) {
            adz_tensor *now = i == 1 ? adz_mean(in[0], adz_dims_of(n, dims), ADZ_DROPDIM)
                                     : adz_var(in[0], adz_dims_of(n, dims), 0, ADZ_DROPDIM);
            adz_tensor *before = adz_mul_number(in[2 + i], momentum);
            now = adz_to(adz_mul_number(now, 1 - momentum), adz_tensor_dtype(before));
            adzi_reader_set(call, i, adz_add(before, now));
        }
    }
    return adz_batch_norm(in[0], ADZ_NONE, ADZ_NONE, in[1], in[2], true, 0, epsilon(call));
}

static adz_status check_batch_norm(const reader_model *model, const reader_node *node)
{
    (void)model;
    const reader_attribute *spatial = adzi_reader_attribute(node, "spatial");
    const reader_attribute *training = adzi_reader_attribute(node, "training_mode");
    if (spatial != NULL && spatial->i == 0) {
        return adzi_reader_refuse(node, "spatial = 0 is not supported");
    }
    for (size_t i = 1; i < node->n_outputs && (training == NULL || training->i == 0); i++) {
        if (node->outputs[i] != NO_VALUE) {
            return adzi_reader_refuse(
                node, "statistics as results are supported from opset 14 on, with training_mode");
        }
    }
    return ADZ_OK;
}

static adz_tensor *batch_norm(const reader_call *call)
{
    adz_tensor *in[5];
    for (size_t i = 0; i < 5; i++) {
        if ((in[i] = adzi_reader_in(call, i)) == NULL) {
            return NULL;
        }
    }
    for (size_t i = 1; i <= 2; i++) { /* they may have another dtype than x */
        if (adz_tensor_dtype(in[i]) != adz_tensor_dtype(in[0])) {
            in[i] = adz_to(in[i], adz_tensor_dtype(in[0]));
        }
    }
    if (adzi_reader_int(call, "training_mode", 0) != 0) {
        return batch_norm_trained(call, in);
    }
    bool training = adz_module_is_training(call->run->module) && !call->run->model->freeze_norms &&
                    is_weight(call, 3) && is_weight(call, 4);
    for (size_t i = 3; i <= 4; i++) {
        if (adz_tensor_dtype(in[i]) != adz_tensor_dtype(in[0])) {
            if (training) {
                return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
                    "statistics of another dtype than the input's cannot be updated; load the file with freeze_norms, or with dtype = ADZ_F64");
            }
            in[i] = adz_to(in[i], adz_tensor_dtype(in[0]));
        }
    }
    double momentum = 1 - adzi_reader_float(call, "momentum", 0.9f);
    return adz_batch_norm(in[0], in[3], in[4], in[1], in[2], training, momentum, epsilon(call));
}

/** A channel with a single value is its mean, so that only the bias is left. */
static adz_tensor *instance_norm(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *scale = adzi_reader_in(call, 1);
    adz_tensor *bias = adzi_reader_in(call, 2);
    if (x == NULL || scale == NULL || bias == NULL) {
        return NULL;
    }
    const bool ranked = adz_tensor_rank(x) >= 2 && adz_tensor_rank(scale) == 1;
    if (ranked && adz_tensor_numel(x) == adz_tensor_size(x, 0) * adz_tensor_size(x, 1)) {
        adz_tensor *none = adz_mul(adz_sub(x, x), adzi_reader_along(scale, adz_tensor_rank(x), 1));
        return adz_add(none, adzi_reader_along(bias, adz_tensor_rank(x), 1));
    }
    return adz_instance_norm(x, ADZ_NONE, ADZ_NONE, scale, bias, true, 0, epsilon(call));
}

/* ---- last dimensions ------------------------------------------------------------------------ */

/** The dimensions from attribute axis on; rank -1 with an error recorded. */
static adz_shape last_sizes(const reader_call *call, const adz_tensor *x, adz_dims *dims)
{
    adz_shape shape = adz_tensor_shape(x), none = { .rank = -1 };
    int axis =
        shape.rank < 0 ? -1 : adzi_reader_dim(call, adzi_reader_int(call, "axis", -1), shape.rank);
    if (axis < 0) {
        return none;
    }
    dims->count = shape.rank - axis;
    for (int i = 0; i < dims->count; i++) {
        dims->dims[i] = axis + i;
    }
    return adz_shape_of(shape.rank - axis, shape.sizes + axis);
}

static bool same_sizes(const adz_tensor *t, adz_shape shape)
{
    adz_shape own = adz_tensor_shape(t);
    return own.rank == shape.rank &&
           memcmp(own.sizes, shape.sizes, (size_t)own.rank * sizeof(int64_t)) == 0;
}

static adz_tensor *layer_norm(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *scale = adzi_reader_in(call, 1);
    adz_tensor *bias = adzi_reader_in(call, 2);
    adz_dims dims;
    adz_shape last = last_sizes(call, x, &dims);
    if (last.rank < 0 || scale == NULL || bias == NULL) {
        return NULL;
    }
    adz_dtype dtype; /* of the statistics: f32 whatever x is */
    if (!adzi_reader_target(call, ELEMENT_FLOAT, &dtype)) {
        return NULL;
    }
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, adz_to(adz_mean(x, dims, ADZ_KEEPDIM), dtype));
    }
    if (adzi_reader_wants(call, 2)) {
        adz_tensor *variance = adz_var(x, dims, 0, ADZ_KEEPDIM);
        adz_tensor *inverse = adz_rsqrt(adz_add_number(variance, epsilon(call)));
        adzi_reader_set(call, 2, adz_to(inverse, dtype));
    }
    bool whole = same_sizes(scale, last) && (bias == ADZ_NONE || same_sizes(bias, last));
    if (whole) {
        return adz_layer_norm(x, last, scale, bias, epsilon(call));
    }
    adz_tensor *y = adz_mul(adz_layer_norm(x, last, ADZ_NONE, ADZ_NONE, epsilon(call)), scale);
    return bias == ADZ_NONE ? y : adz_add(y, bias);
}

static adz_tensor *rms_norm(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *scale = adzi_reader_in(call, 1);
    adz_dims dims;
    adz_shape last = last_sizes(call, x, &dims);
    if (last.rank < 0 || scale == NULL) {
        return NULL;
    }
    if (same_sizes(scale, last)) {
        return adz_rms_norm(x, last, scale, epsilon(call));
    }
    return adz_mul(adz_rms_norm(x, last, ADZ_NONE, epsilon(call)), scale);
}

/* ---- channels ------------------------------------------------------------------------------- */

static adz_tensor *group_norm(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *scale = adzi_reader_in(call, 1);
    adz_tensor *bias = adzi_reader_in(call, 2);
    int64_t groups = adzi_reader_int(call, "num_groups", 0);
    if (x == NULL || groups < 1) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "num_groups is missing or below 1");
    }
    if (groups > INT32_MAX || adz_tensor_size(x, 1) % groups != 0) {
        return adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "x%s has no %lld groups", adz_text_shape(x), (long long)groups);
    }
    if (call->node->opset < 21) { /* one number for each group */
        int64_t channels = adz_tensor_size(x, 1) / groups;
        scale = adz_repeat_interleave(scale, channels, 0);
        bias = adz_repeat_interleave(bias, channels, 0);
    }
    if (adz_tensor_numel(x) == adz_tensor_size(x, 0) * groups) { /* each value is its mean */
        adz_tensor *none = adz_mul(adz_sub(x, x), adzi_reader_along(scale, adz_tensor_rank(x), 1));
        return adz_add(none, adzi_reader_along(bias, adz_tensor_rank(x), 1));
    }
    return adz_group_norm(x, groups, scale, bias, epsilon(call));
}

/** Regions of an even size have the further channel at their end, those of adze at their front. */
static adz_tensor *local_response_norm(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    int64_t size = adzi_reader_int(call, "size", 0);
    double alpha = adzi_reader_float(call, "alpha", 1e-4f);
    double beta = adzi_reader_float(call, "beta", 0.75f);
    double bias = adzi_reader_float(call, "bias", 1);
    bool even = size % 2 == 0;
    if (even) {
        x = adz_flip(x, ADZ_DIMS(1));
    }
    adz_tensor *y = adz_local_response_norm(x, size, alpha, beta, bias);
    return even ? adz_flip(y, ADZ_DIMS(1)) : y;
}

static adz_tensor *lp_normalization(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    int64_t p = adzi_reader_int(call, "p", 2);
    int dim = x == NULL
                  ? -1
                  : adzi_reader_dim(call, adzi_reader_int(call, "axis", -1), adz_tensor_rank(x));
    if (dim < 0) {
        return NULL;
    }
    if (p != 1 && p != 2) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "p is %lld, not 1 or 2", (long long)p);
    }
    adz_tensor *norm = adz_norm(x, (double)p, ADZ_DIMS(dim), ADZ_KEEPDIM);
    return adz_div(x, adz_masked_fill(norm, adz_eq_number(norm, 0), 1));
}

static adz_tensor *mean_variance(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_dims dims = ADZ_DIMS(0, 2, 3);
    if (x == NULL || (adzi_reader_attribute(call->node, "axes") != NULL &&
                         !adzi_reader_dims(call, "axes", NO_VALUE, adz_tensor_rank(x), &dims))) {
        return NULL;
    }
    adz_tensor *deviation = adz_sqrt(adz_var(x, dims, 0, ADZ_KEEPDIM));
    adz_tensor *centred = adz_sub(x, adz_mean(x, dims, ADZ_KEEPDIM));
    return adz_div(centred, adz_add_number(deviation, 1e-9));
}

#define STATISTICS (1u << 3 | 1u << 4)
#define BATCH_NORM(since, until, outputs, attributes)                                         \
    {                                                                                         \
        "BatchNormalization", since, until, 5, 5, outputs, "epsilon:f momentum:f" attributes, \
            STATISTICS, .run = batch_norm, .check = check_batch_norm                          \
    }

const reader_operator adzi_reader_norms[] = {
    BATCH_NORM(6, 6, 5, " is_test:i spatial:i"),
    BATCH_NORM(7, 8, 5, " spatial:i"),
    BATCH_NORM(9, 13, 5, ""),
    BATCH_NORM(14, 0, 3, " training_mode:i"),
    ROW("GroupNormalization", 18, 20, 3, 3, 1, "epsilon:f num_groups:i", 0, group_norm),
    ROW("GroupNormalization", 21, 0, 3, 3, 1, "epsilon:f num_groups:i stash_type:i", 0, group_norm),
    ROW("InstanceNormalization", 6, 0, 3, 3, 1, "epsilon:f", 0, instance_norm),
    ROW("LRN", 1, 0, 1, 1, 1, "alpha:f beta:f bias:f size:i", 0, local_response_norm),
    ROW("LayerNormalization", 17, 0, 2, 3, 3, "axis:i epsilon:f stash_type:i", 0, layer_norm),
    ROW("LpNormalization", 1, 0, 1, 1, 1, "axis:i p:i", 0, lp_normalization),
    ROW("MeanVarianceNormalization", 9, 0, 1, 1, 1, "axes:I", 0, mean_variance),
    ROW("RMSNormalization", 23, 0, 2, 2, 1, "axis:i epsilon:f stash_type:i", 0, rms_norm),
    { .name = NULL },
};
