/* Recurrent layers in ONNX, which has each of them as one node. */
#include "export/onnx.h"
#include "ops/recurrent/recurrent_run.h"

adzi_onnx_printer adzi_onnx_print_recurrent;
adzi_onnx_batch_rule adzi_onnx_batch_recurrent;

static const adzi_recurrent_cell *cell_of(const adzi_onnx *g)
{
    return adzi_recurrent_cell_of(g->call->op);
}

/* The position of a weight among the inputs. */
static int at(const adzi_recurrent_cell *k, int weight)
{
    return 1 + k->states + weight;
}

static int64_t whole(const adzi_onnx *g, const char *name)
{
    return adzi_attr_whole(g->call->op, g->call->attr, name);
}

/* A dimension of size 1 in front: the direction. */
static const char *with_direction(adzi_onnx *g, const char *name)
{
    const int64_t zero = 0;
    return adzi_onnx_step(g, "Unsqueeze", name, adzi_onnx_ints(g, &zero, 1));
}

/* Input i with its gates in ONNX's order. The state's tensors keep their names and their contents,
 * and the runtime moves the gates once. */
static const char *gates(adzi_onnx *g, const adzi_recurrent_cell *k, int i)
{
    const char *part[4], *moved[4];
    if (k->gates == 1) {
        return adzi_onnx_in(g, i);
    }
    for (int j = 0; j < k->gates; ++j) {
        part[j] = adzi_onnx_temporary(g);
    }
    for (int j = 0; j < k->gates; ++j) {
        moved[j] = part[k->onnx_order[j]];
    }
    adzi_onnx_node(g, "Split", ADZI_NAMES(adzi_onnx_in(g, i)),
        (adzi_onnx_names){ part, (size_t)k->gates }, ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Concat", (adzi_onnx_names){ moved, (size_t)k->gates }, ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return y;
}

/* The biases one after the other; "" if both were left out. */
static const char *biases(adzi_onnx *g, const adzi_recurrent_cell *k, int64_t hidden)
{
    const int first = at(k, BIAS_IH);
    if (g->call->in[first] < 0 && g->call->in[first + 1] < 0) {
        return "";
    }
    const char *part[2];
    for (int j = 0; j < 2; ++j) {
        part[j] = g->call->in[first + j] >= 0
                      ? gates(g, k, first + j)
                      : adzi_onnx_repeated(g, adzi_onnx_input(g, X)->dtype, 0, k->gates * hidden);
    }
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Concat", (adzi_onnx_names){ part, 2 }, ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0)));
    return with_direction(g, y);
}

/* The lengths, which ONNX has as int32; "" if they were left out. */
static const char *lengths(adzi_onnx *g, const adzi_recurrent_cell *k)
{
    const int i = at(k, LENGTHS);
    return g->call->in[i] < 0 ? "" : adzi_onnx_cast(g, adzi_onnx_in(g, i), ADZ_I64, ADZ_I32);
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
        ADZI_NAMES(adzi_onnx_out(g, k)), ADZI_NO_ATTRS);
}

bool adzi_onnx_print_recurrent(adzi_onnx *g)
{
    const adzi_recurrent_cell *k = cell_of(g);
    const int64_t hidden = adzi_onnx_input(g, at(k, WEIGHT_HH))->sizes[1];
    const adzi_traced_value *x = adzi_onnx_input(g, X);
    const char *y[3];
    if (x->sizes[0] == 0 || x->sizes[1] == 0) {
        return adzi_onnx_refuse(g, "has no elements, which runtimes do not bear");
    }
    for (int i = 0; i <= k->states; ++i) {
        y[i] = adzi_onnx_temporary(g);
    }
    const char *w = with_direction(g, gates(g, k, at(k, WEIGHT_IH)));
    const char *r = with_direction(g, gates(g, k, at(k, WEIGHT_HH)));
    const char *b = biases(g, k, hidden), *n = lengths(g, k), *h0 = state(g, H0);
    const char *in[] = { adzi_onnx_in(g, X), w, r, b, n, h0, k->states == 2 ? state(g, C0) : "" };
    adzi_onnx_attr attrs[4] = { ADZI_ATTR_INT("hidden_size", hidden),
        ADZI_ATTR_TEXT("direction", whole(g, "reverse") ? "reverse" : "forward") };
    size_t n_attrs = 2;
    if (k->onnx_flag != NULL) {
        attrs[n_attrs++] = (adzi_onnx_attr)ADZI_ATTR_INT(k->onnx_flag, 1);
    }
    if (k->has_relu) {
        attrs[n_attrs++] =
            (adzi_onnx_attr)ADZI_ATTR_TEXTS("activations", whole(g, "relu") ? "Relu" : "Tanh");
    }
    adzi_onnx_node(g, adzi_onnx_type(g), (adzi_onnx_names){ in, (size_t)(5 + k->states) },
        (adzi_onnx_names){ y, (size_t)(1 + k->states) }, (adzi_onnx_attrs){ attrs, n_attrs });
    for (int i = 0; i <= k->states; ++i) {
        if (adzi_onnx_result(g, i)->used) {
            without_direction(g, y[i], i, i == 0 ? 1 : 0);
        }
    }
    return !g->failed;
}

/* x[T, B, I], the states [B, H] and the lengths [B]. States of zeros fit every batch. */
bool adzi_onnx_batch_recurrent(const adzi_onnx *g)
{
    const adzi_recurrent_cell *k = cell_of(g);
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, X);
    for (int i = H0; i < g->call->n_in; ++i) {
        const adzi_onnx_batch b =
            g->call->in[i] >= 0 ? *adzi_onnx_batch_in(g, i) : (adzi_onnx_batch){ -1, 0, 0 };
        const bool is_state = i <= k->states, is_lengths = i == at(k, LENGTHS);
        const bool given = (is_state || is_lengths) && x.axis == 1 && b.axis == 0;
        const bool free =
            is_state ? b.axis < 0 && is_zero(g, i) : !is_lengths || g->call->in[i] < 0;
        if (!given && !(b.axis < 0 && (x.axis < 0 || free))) {
            return false;
        }
    }
    if (x.axis >= 0) {
        adzi_onnx_batch last = x;
        last.axis = 0;
        *adzi_onnx_batch_out(g, 0) = x;
        for (int i = 1; i <= k->states; ++i) {
            *adzi_onnx_batch_out(g, i) = last;
        }
    }
    return x.axis < 0 || (x.axis == 1 && x.before == 1 && x.after == 1);
}
