/* The node BatchNormalization, and what it lacks. */
#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_batch_norm;
adzi_onnx_batch_rule adzi_onnx_batch_batch_norm;

/* The name of input i, or of a vector that stands for an input that was left out. */
static const char *or_vector(adzi_onnx *g, int i, double value, int64_t n)
{
    return g->call->in[i] >= 0 ? adzi_onnx_in(g, i)
                               : adzi_onnx_repeated(g, adzi_onnx_input(g, 0)->dtype, value, n);
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
    return adzi_onnx_last(g, "Add", ADZI_NAMES(y, along(g, bias)), ADZI_NO_ATTRS);
}

bool adzi_onnx_print_batch_norm(adzi_onnx *g)
{
    const int64_t channels = adzi_onnx_input(g, X)->sizes[1];
    if (adzi_onnx_attr_whole(g, "training")) {
        return adzi_onnx_refuse(g, "is in training; call adz_module_eval before the export");
    }
    const char *scale = or_vector(g, WEIGHT, 1, channels), *bias = or_vector(g, BIAS, 0, channels);
    const double eps = adzi_onnx_attr_number(g, "eps");
    if (adzi_onnx_input(g, X)->dtype == ADZ_F64 && (double)(float)eps != eps) {
        return wide_batch_norm(g, scale, bias, eps);
    }
    return adzi_onnx_last(g, "BatchNormalization",
        ADZI_NAMES(adzi_onnx_in(g, X), scale, bias, adzi_onnx_in(g, MEAN), adzi_onnx_in(g, VAR)),
        ADZI_ATTRS(ADZI_ATTR_FLOAT("epsilon", eps)));
}

bool adzi_onnx_batch_batch_norm(const adzi_onnx *g)
{
    return (adzi_onnx_batch_in(g, 0)->axis == 0 || adzi_onnx_attr_whole(g, "training") ||
               adzi_onnx_batch_in(g, 0)->axis < 0) &&
           adzi_onnx_batch_first(g);
}
