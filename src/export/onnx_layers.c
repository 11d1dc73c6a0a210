/* Printers of layers that ONNX has as one node: normalisation. */
#include <string.h>

#include "export/onnx.h"

static int64_t whole(const adzi_onnx *g, const char *name)
{
    return adzi_attr_whole(g->call->op, g->call->attr, name);
}

/* The name of input i, or of a vector that stands for an input that was left out. */
static const char *or_vector(adzi_onnx *g, int i, double value, int64_t n)
{
    return g->call->in[i] >= 0 ? adzi_onnx_in(g, i)
                               : adzi_onnx_repeated(g, adzi_onnx_input(g, 0)->dtype, value, n);
}

/* ---- normalisation -------------------------------------------------------------------------- */

/* (x - mean) / sqrt(var + eps) * weight + bias in single nodes, with an eps of f64: the attribute
 * of a node is f32. */
static bool wide_layer_norm(adzi_onnx *g, size_t rank, double eps)
{
    const char *x = adzi_onnx_in(g, 0), *mean = adzi_onnx_temporary(g);
    int64_t dims[ADZ_MAX_RANK];
    for (size_t d = 0; d < rank; ++d) {
        dims[d] = (int64_t)d - (int64_t)rank;
    }
    adzi_onnx_node(g, "ReduceMean", ADZI_NAMES(x), ADZI_NAMES(mean),
        ADZI_ATTRS(ADZI_ATTR_INTS("axes", dims, rank)));
    const char *d = adzi_onnx_step(g, "Sub", x, mean), *square = adzi_onnx_step(g, "Mul", d, d);
    const char *var = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "ReduceMean", ADZI_NAMES(square), ADZI_NAMES(var),
        ADZI_ATTRS(ADZI_ATTR_INTS("axes", dims, rank)));
    const char *sum = adzi_onnx_step(g, "Add", var, adzi_onnx_number(g, ADZ_F64, eps));
    const char *y = adzi_onnx_step(g, "Div", d, adzi_onnx_step(g, "Sqrt", sum, NULL));
    y = g->call->in[1] >= 0 ? adzi_onnx_step(g, "Mul", y, adzi_onnx_in(g, 1)) : y;
    y = g->call->in[2] >= 0 ? adzi_onnx_step(g, "Add", y, adzi_onnx_in(g, 2)) : y;
    adzi_onnx_node(g, "Identity", ADZI_NAMES(y), ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    return !g->failed;
}

/* The weight is no optional input of the node. */
bool adzi_onnx_print_layer_norm(adzi_onnx *g)
{
    const adzi_traced_value *x = adzi_onnx_input(g, 0);
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank =
        adzi_attr_list(g->call->op, g->call->attr, "normalized_shape", shape, ADZ_MAX_RANK);
    const double eps = adzi_attr_number(g->call->op, g->call->attr, "eps");
    for (int d = 0; d < x->rank; ++d) {
        if (x->sizes[d] == 0) { /* nothing is computed, and nodes refuse it */
            adzi_onnx_node(g, "Identity", ADZI_NAMES(adzi_onnx_in(g, 0)),
                ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
            return !g->failed;
        }
    }
    if (x->dtype == ADZ_F64 && (double)(float)eps != eps) {
        return wide_layer_norm(g, rank, eps);
    }
    const char *weight = adzi_onnx_in(g, 1);
    if (g->call->in[1] < 0) {
        weight = adzi_onnx_step(
            g, "Expand", adzi_onnx_number(g, x->dtype, 1), adzi_onnx_ints(g, shape, rank));
    }
    const char *in[] = { adzi_onnx_in(g, 0), weight, adzi_onnx_in(g, 2) };
    adzi_onnx_node(g, "LayerNormalization", (adzi_onnx_names){ in, g->call->in[2] >= 0 ? 3 : 2 },
        ADZI_NAMES(adzi_onnx_out(g, 0)),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", -(int64_t)rank), ADZI_ATTR_FLOAT("epsilon", eps),
            ADZI_ATTR_INT("stash_type", adzi_onnx_dtype(x->dtype))));
    return !g->failed;
}

bool adzi_onnx_carry_layer_norm(const adzi_onnx *g)
{
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank =
        adzi_attr_list(g->call->op, g->call->attr, "normalized_shape", shape, ADZ_MAX_RANK);
    return adzi_onnx_batch_in(g, 0)->axis < adzi_onnx_input(g, 0)->rank - (int)rank &&
           adzi_onnx_carry_first(g);
}

enum { X, MEAN, VAR, WEIGHT, BIAS }; /* of batch_norm */

/* A vector of the channels as [C, 1, ...], which broadcasts to x. */
static const char *along(adzi_onnx *g, const char *vector)
{
    int64_t sizes[ADZ_MAX_RANK];
    const int rank = adzi_onnx_input(g, X)->rank;
    for (int d = 0; d < rank - 1; ++d) {
        sizes[d] = d == 0 ? adzi_onnx_input(g, X)->sizes[1] : 1;
    }
    return adzi_onnx_step(g, "Reshape", vector, adzi_onnx_ints(g, sizes, (size_t)(rank - 1)));
}

/* batch_norm in single nodes, with an eps of f64. */
static bool wide_batch_norm(adzi_onnx *g, const char *scale, const char *bias, double eps)
{
    const char *mean = along(g, adzi_onnx_in(g, MEAN)), *var = adzi_onnx_in(g, VAR);
    const char *sum = adzi_onnx_step(g, "Add", var, adzi_onnx_number(g, ADZ_F64, eps));
    const char *std = along(g, adzi_onnx_step(g, "Sqrt", sum, NULL));
    const char *y =
        adzi_onnx_step(g, "Div", adzi_onnx_step(g, "Sub", adzi_onnx_in(g, X), mean), std);
    y = adzi_onnx_step(g, "Mul", y, along(g, scale));
    adzi_onnx_node(
        g, "Add", ADZI_NAMES(y, along(g, bias)), ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    return !g->failed;
}

bool adzi_onnx_print_batch_norm(adzi_onnx *g)
{
    const int64_t channels = adzi_onnx_input(g, X)->sizes[1];
    if (whole(g, "training")) {
        return adzi_onnx_refuse(g, "is in training; call adz_module_eval before the export");
    }
    const char *scale = or_vector(g, WEIGHT, 1, channels), *bias = or_vector(g, BIAS, 0, channels);
    const double eps = adzi_attr_number(g->call->op, g->call->attr, "eps");
    if (adzi_onnx_input(g, X)->dtype == ADZ_F64 && (double)(float)eps != eps) {
        return wide_batch_norm(g, scale, bias, eps);
    }
    adzi_onnx_node(g, "BatchNormalization",
        ADZI_NAMES(adzi_onnx_in(g, X), scale, bias, adzi_onnx_in(g, MEAN), adzi_onnx_in(g, VAR)),
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_ATTRS(ADZI_ATTR_FLOAT("epsilon", eps)));
    return !g->failed;
}

bool adzi_onnx_carry_batch_norm(const adzi_onnx *g)
{
    return (adzi_onnx_batch_in(g, 0)->axis == 0 || whole(g, "training") ||
               adzi_onnx_batch_in(g, 0)->axis < 0) &&
           adzi_onnx_carry_first(g);
}

/* ---- what has no counterpart in a forward --------------------------------------------------- */

bool adzi_onnx_print_dropout(adzi_onnx *g)
{
    return adzi_onnx_refuse(g, "is in training; call adz_module_eval before the export");
}
