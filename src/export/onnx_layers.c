/* Printers of layers that ONNX has as one node: normalisation. */
#include <string.h>

#include "export/onnx.h"

typedef adzi_onnx_printer printer;

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

/* The weight is no optional input of the node. Statistics of f64 are computed in f64. */
static bool layer_norm(adzi_onnx *g, const printer *row)
{
    const adzi_traced_value *x = adzi_onnx_input(g, 0);
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank =
        adzi_attr_list(g->call->op, g->call->attr, "normalized_shape", shape, ADZ_MAX_RANK);
    const double eps = adzi_attr_number(g->call->op, g->call->attr, "eps");
    const char *weight = adzi_onnx_in(g, 1);
    (void)row;
    if (g->call->in[1] < 0) {
        weight = adzi_onnx_step(
            g, "Expand", adzi_onnx_number(g, x->dtype, 1), adzi_onnx_ints(g, shape, rank));
    }
    const char *in[] = { adzi_onnx_in(g, 0), weight, adzi_onnx_in(g, 2) };
    adzi_onnx_node(g, "LayerNormalization", in, g->call->in[2] >= 0 ? 3 : 2,
        ADZI_NAMES(adzi_onnx_out(g, 0)),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", -(int64_t)rank), ADZI_ATTR_FLOAT("epsilon", eps),
            ADZI_ATTR_INT("stash_type", adzi_onnx_dtype(x->dtype))));
    return !g->failed;
}

static bool carry_layer_norm(const adzi_onnx *g)
{
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank =
        adzi_attr_list(g->call->op, g->call->attr, "normalized_shape", shape, ADZ_MAX_RANK);
    return adzi_onnx_batch_in(g, 0)->axis < adzi_onnx_input(g, 0)->rank - (int)rank &&
           adzi_onnx_carry_first(g);
}

static bool batch_norm(adzi_onnx *g, const printer *row)
{
    enum { X, MEAN, VAR, WEIGHT, BIAS };
    const int64_t channels = adzi_onnx_input(g, X)->sizes[1];
    (void)row;
    if (whole(g, "training")) {
        return adzi_onnx_refuse(g, "is in training; call adz_module_eval before the export");
    }
    const char *scale = or_vector(g, WEIGHT, 1, channels), *bias = or_vector(g, BIAS, 0, channels);
    const double eps = adzi_attr_number(g->call->op, g->call->attr, "eps");
    adzi_onnx_node(g, "BatchNormalization",
        ADZI_NAMES(adzi_onnx_in(g, X), scale, bias, adzi_onnx_in(g, MEAN), adzi_onnx_in(g, VAR)),
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_ATTRS(ADZI_ATTR_FLOAT("epsilon", eps)));
    return !g->failed;
}

static bool carry_batch_norm(const adzi_onnx *g)
{
    return (adzi_onnx_batch_in(g, 0)->axis == 0 || whole(g, "training") ||
               adzi_onnx_batch_in(g, 0)->axis < 0) &&
           adzi_onnx_carry_first(g);
}

/* ---- what has no counterpart in a forward --------------------------------------------------- */

static bool dropout(adzi_onnx *g, const printer *row)
{
    (void)row;
    return adzi_onnx_refuse(g, "is in training; call adz_module_eval before the export");
}

const adzi_onnx_printer adzi_onnx_layers[] = {
    { "layer_norm", layer_norm, carry_layer_norm, NULL },
    { "batch_norm", batch_norm, carry_batch_norm, NULL },
    { "dropout", dropout, adzi_onnx_carry_first, NULL },
    { NULL, NULL, NULL, NULL },
};
