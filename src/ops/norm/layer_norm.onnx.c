/* The node LayerNormalization, and what it lacks. */
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_layer_norm;
adzi_onnx_batch_rule adzi_onnx_batch_layer_norm;

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
    return adzi_onnx_last(g, "Identity", ADZI_NAMES(y), ADZI_NO_ATTRS);
}

/* The weight is no optional input of the node. */
bool adzi_onnx_print_layer_norm(adzi_onnx *g)
{
    const adzi_traced_value *x = adzi_onnx_input(g, 0);
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank = adzi_onnx_list(g, "normalized_shape", shape, ADZ_MAX_RANK);
    const double eps = adzi_onnx_attr_number(g, "eps");
    for (int d = 0; d < x->rank; ++d) {
        if (x->sizes[d] == 0) { /* nothing is computed, and nodes refuse it */
            return adzi_onnx_last(g, "Identity", ADZI_NAMES(adzi_onnx_in(g, 0)), ADZI_NO_ATTRS);
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
    return adzi_onnx_last(g, "LayerNormalization",
        (adzi_onnx_names){ in, g->call->in[2] >= 0 ? 3 : 2 },
        ADZI_ATTRS(ADZI_ATTR_INT("axis", -(int64_t)rank), ADZI_ATTR_FLOAT("epsilon", eps),
            ADZI_ATTR_INT("stash_type", adzi_onnx_dtype(x->dtype))));
}

bool adzi_onnx_batch_layer_norm(const adzi_onnx *g)
{
    int64_t shape[ADZ_MAX_RANK];
    const size_t rank = adzi_onnx_list(g, "normalized_shape", shape, ADZ_MAX_RANK);
    return adzi_onnx_batch_in(g, 0)->axis < adzi_onnx_input(g, 0)->rank - (int)rank &&
           adzi_onnx_batch_first(g);
}
