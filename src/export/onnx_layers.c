/* Printers of layers that ONNX has as one node: normalisation and LSTM. */
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

/* ---- LSTM ----------------------------------------------------------------------------------- */

enum { X, H0, C0, WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH };

/* A dimension of size 1 in front: the direction. */
static const char *with_direction(adzi_onnx *g, const char *name)
{
    const int64_t zero = 0;
    return adzi_onnx_step(g, "Unsqueeze", name, adzi_onnx_ints(g, &zero, 1));
}

/* Input i with its gates in ONNX's order: i, o, f, g, where PyTorch's is i, f, g, o. The state's
 * tensors keep their names and their contents, and the runtime moves the gates once. */
static const char *gates(adzi_onnx *g, int i)
{
    const char *part[4];
    for (int k = 0; k < 4; ++k) {
        part[k] = adzi_onnx_temporary(g);
    }
    adzi_onnx_node(
        g, "Split", ADZI_NAMES(adzi_onnx_in(g, i)), part, 4, ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Concat", ADZI_NAMES(part[0], part[3], part[1], part[2]), ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return y;
}

/* The biases one after the other; "" if both were left out. */
static const char *biases(adzi_onnx *g, int64_t hidden)
{
    if (g->call->in[BIAS_IH] < 0 && g->call->in[BIAS_HH] < 0) {
        return "";
    }
    const char *part[2];
    for (int k = 0; k < 2; ++k) {
        part[k] = g->call->in[BIAS_IH + k] >= 0
                      ? gates(g, BIAS_IH + k)
                      : adzi_onnx_repeated(g, adzi_onnx_input(g, X)->dtype, 0, 4 * hidden);
    }
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Concat", part, 2, ADZI_NAMES(y), ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return with_direction(g, y);
}

/* True if input i is a constant of zeros, which the node takes for a state that is left out. */
static bool is_zero(const adzi_onnx *g, int i)
{
    const int value = g->call->in[i];
    if (!g->values[value].constant) {
        return false;
    }
    adz_scope *scope = adz_scope_open();
    const adz_tensor *t = scope != NULL ? adzi_traced_contents(g->trace, value) : NULL;
    bool zero = t != NULL;
    for (size_t k = 0; zero && k < (size_t)t->numel * adzi_item_size(t); ++k) {
        zero = t->data[k] == 0;
    }
    adz_scope_close(scope);
    return zero;
}

static const char *state(adzi_onnx *g, int i)
{
    return is_zero(g, i) ? "" : with_direction(g, adzi_onnx_in(g, i));
}

/* Result k without the dimension of the direction. */
static void without_direction(adzi_onnx *g, const char *from, int k, int64_t dim)
{
    adzi_onnx_node(g, "Squeeze", ADZI_NAMES(from, adzi_onnx_ints(g, &dim, 1)),
        ADZI_NAMES(adzi_onnx_out(g, k)), NULL, 0);
}

static bool lstm(adzi_onnx *g, const printer *row)
{
    const int64_t hidden = adzi_onnx_input(g, WEIGHT_HH)->sizes[1];
    const char *y[3];
    (void)row;
    for (int k = 0; k < 3; ++k) {
        y[k] = adzi_onnx_temporary(g);
    }
    const char *w = with_direction(g, gates(g, WEIGHT_IH));
    const char *r = with_direction(g, gates(g, WEIGHT_HH));
    const char *b = biases(g, hidden), *h0 = state(g, H0), *c0 = state(g, C0);
    adzi_onnx_node(g, "LSTM", ADZI_NAMES(adzi_onnx_in(g, X), w, r, b, "", h0, c0), y, 3,
        ADZI_ATTRS(ADZI_ATTR_INT("hidden_size", hidden),
            ADZI_ATTR_TEXT("direction", whole(g, "reverse") ? "reverse" : "forward")));
    for (int k = 0; k < 3; ++k) {
        if (adzi_onnx_result(g, k)->used) {
            without_direction(g, y[k], k, k == 0 ? 1 : 0);
        }
    }
    return !g->failed;
}

/* x[T, B, I] and the states [B, H]. States of zeros fit every batch. */
static bool carry_lstm(const adzi_onnx *g)
{
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, X);
    for (int i = H0; i < g->call->n_in; ++i) {
        const adzi_onnx_batch b =
            g->call->in[i] >= 0 ? *adzi_onnx_batch_in(g, i) : (adzi_onnx_batch){ -1, 0, 0 };
        const bool given = i <= C0 && x.axis == 1 && b.axis == 0;
        const bool zeros = i <= C0 && b.axis < 0 && is_zero(g, i);
        if (!given && !(b.axis < 0 && (x.axis < 0 || i > C0 || zeros))) {
            return false;
        }
    }
    if (x.axis >= 0) {
        adzi_onnx_batch last = x;
        last.axis = 0;
        *adzi_onnx_batch_out(g, 0) = x;
        *adzi_onnx_batch_out(g, 1) = *adzi_onnx_batch_out(g, 2) = last;
    }
    return x.axis < 0 || (x.axis == 1 && x.before == 1 && x.after == 1);
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
    { "lstm_layer", lstm, carry_lstm, NULL },
    { "dropout", dropout, adzi_onnx_carry_first, NULL },
    { NULL, NULL, NULL, NULL },
};
