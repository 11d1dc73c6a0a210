/* fastai's AWD_LSTM, an encoder of text: an embedding, then layers of LSTMs or QRNNs with dropout
 * between them. The hidden states are buffers, so that the next call continues where this one
 * ended. Results: raw.l[B, T, D], the output of layer l; out.l, which is raw.l after dropout, and
 * in the last layer raw.l itself; hidden.l.h and hidden.l.c, the states. */
#include "adze/zoo/fastai_awd_lstm.h"

#include "adze/nn/containers.h"
#include "adze/nn/embedding.h"
#include "adze/zoo/fastai_dropout.h"
#include "adze/zoo/fastai_qrnn.h"
#include "adze/nn/init.h"
#include "adze/nn/lstm.h"
#include "adze/ops/convert.h"
#include "zoo.h"

static const char op[] = "adz_fastai_awd_lstm_new";

enum { ENCODER, ENCODER_DP, RNNS, INPUT_DP, HIDDEN_DPS }; /* children */

/* The names of one tensor that a layer carries from call to call: as an argument of the layer, as a
 * result of the layer, and in the results of the AWD_LSTM. */
typedef struct {
    const char *initial, *last, *hidden;
} carried;

static const carried lstm_carries[] = { { "h0", "h", "h" }, { "c0", "c", "c" } };
static const carried qrnn_carries[] = { { "hid", "h", "c" } };

typedef struct {
    int64_t emb_sz, n_layers;
    const carried *carries; /* n_carried of them */
    int n_carried;
} awd_state;

/* ---- hidden states -------------------------------------------------------------------------- */

/* State i of a layer, which is buffer layer * n_carried + i. ADZ_NONE stands for zeros. */
static adz_tensor *hidden_at(const adz_module *self, int64_t layer, int i)
{
    const awd_state *state = zoo_state(self);
    return zoo_buffer(self, (size_t)(layer * state->n_carried + i));
}

/* Writes the name of the buffer of state i to `name`, which has 48 bytes. */
static void name_hidden(char *name, const awd_state *state, int64_t layer, int i)
{
    snprintf(name, 48, "hidden_%lld_%s", (long long)layer, state->carries[i].hidden);
}

/* Forgets all states if `rows` is NULL; otherwise keeps these rows of the batch in every state. */
static adz_status set_all_hidden(adz_module *self, adz_tensor *rows)
{
    const awd_state *state = zoo_state(self);
    for (int64_t k = 0; k < state->n_layers * state->n_carried; ++k) {
        char name[48];
        const int64_t layer = k / state->n_carried;
        const int i = (int)(k % state->n_carried);
        adz_tensor *t = hidden_at(self, layer, i);
        name_hidden(name, state, layer, i);
        if (rows == NULL || !zoo_is_none(t)) {
            t = rows == NULL ? ADZ_NONE : adz_index_select(t, 1, rows);
            if (adz_module_set_buffer(self, name, t) == NULL) {
                return adz_error_code();
            }
        }
    }
    return ADZ_OK;
}

static adz_status reset(adz_module *self)
{
    return set_all_hidden(self, NULL);
}

static adz_status select_hidden(adz_module *self, adz_tensor *rows)
{
    return set_all_hidden(self, rows);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The embedded words x[B, T, D] of a call. The argument is either ids[B, T] or, as fastai allows,
 * words that are embedded already. NULL with the error recorded. */
static adz_tensor *embed(adz_module *self, const adz_values *in)
{
    const awd_state *state = zoo_state(self);
    const char *name = adz_module_name(self);
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    ids = ids != NULL && zoo_is_none(ids) ? adz_values_get(in, "x") : ids;
    if (!adz_check_tensor(name, "ids", ids)) {
        return NULL;
    }
    const adz_dtype given = adz_tensor_dtype(ids);
    if (given != ADZ_F32 && given != ADZ_F64) {
        return adz_tensor_rank(ids) == 2 && adz_tensor_size(ids, 0) > 0 &&
                       adz_tensor_size(ids, 1) > 0
                   ? adz_module_forward(zoo_child(self, ENCODER_DP), ids)
                   : zoo_fail(name, ADZ_ERR_SHAPE, "ids%s must be [B, T], neither of them 0",
                         adz_text_shape(ids));
    }
    /* A table in half precision is widened where it is looked up. */
    const adz_dtype stored = adz_tensor_dtype(zoo_parameter(zoo_child(self, ENCODER), 0));
    const adz_dtype dtype = stored == ADZ_F64 ? ADZ_F64 : ADZ_F32;
    if (given != dtype) {
        return zoo_fail(name, ADZ_ERR_DTYPE, "x is %s, the module %s; convert one",
            adz_dtype_name(given), adz_dtype_name(dtype));
    }
    return adz_tensor_rank(ids) == 3 && adz_tensor_size(ids, 2) == state->emb_sz
               ? ids
               : zoo_fail(name, ADZ_ERR_SHAPE,
                     "x%s must be embedded words [B, T, %lld], or else ids [B, T] of integers",
                     adz_text_shape(ids), (long long)state->emb_sz);
}

/* True if there is a hidden state and its batch has another size than that of x. */
static bool is_other_batch(const adz_module *self, const adz_tensor *x)
{
    const adz_tensor *h = hidden_at(self, 0, 0);
    return !zoo_is_none(h) && adz_tensor_size(h, 1) != adz_tensor_size(x, 0);
}

/* Calls layer l with its hidden state and returns the output. Appends the new states, detached from
 * the graph, to `hidden`. NULL with the error recorded. */
static adz_tensor *run_layer(adz_module *self, int64_t l, adz_tensor *x, adz_values *hidden)
{
    const awd_state *state = zoo_state(self);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *y = NULL;
    bool good = adz_values_add(in, "x", x) == ADZ_OK;
    for (int i = 0; i < state->n_carried && good; ++i) {
        adz_tensor *h = hidden_at(self, l, i);
        h = is_other_batch(self, x) ? ADZ_NONE : h;
        good = adz_values_add(in, state->carries[i].initial, h) == ADZ_OK;
    }
    adz_module *rnn = zoo_child(zoo_child(self, RNNS), (size_t)l);
    good = good && adz_module_call(rnn, in, out) == ADZ_OK;
    for (int i = 0; i < state->n_carried && good; ++i) {
        char name[ADZ_VALUE_NAME + 1];
        snprintf(name, sizeof name, "hidden.%lld.%s", (long long)l, state->carries[i].hidden);
        adz_tensor *h = adz_values_get(out, state->carries[i].last);
        h = adz_contiguous(adz_detach(h));
        good = h != NULL && adz_values_add(hidden, name, h) == ADZ_OK;
    }
    y = good ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

/* Appends t under a name such as "raw.2". */
static bool add_numbered(adz_values *values, const char *name, int64_t l, adz_tensor *t)
{
    char text[ADZ_VALUE_NAME + 1];
    snprintf(text, sizeof text, "%s.%lld", name, (long long)l);
    return t != NULL && adz_values_add(values, text, t) == ADZ_OK;
}

/* Runs all layers. The outputs raw.l go to `out`, the outputs out.l to `outs`, and the new states
 * to `hidden`. False with the error recorded. */
static bool run_layers(
    adz_module *self, const adz_values *in, adz_values *out, adz_values *outs, adz_values *hidden)
{
    const awd_state *state = zoo_state(self);
    adz_tensor *x = embed(self, in);
    x = x != NULL ? adz_module_forward(zoo_child(self, INPUT_DP), x) : NULL;
    bool good = x != NULL &&
                (!is_other_batch(self, x) || adz_module_reset(zoo_child(self, RNNS)) == ADZ_OK);
    for (int64_t l = 0; l < state->n_layers && good; ++l) {
        x = run_layer(self, l, x, hidden);
        good = add_numbered(out, "raw", l, x);
        if (good && l < state->n_layers - 1) {
            adz_module *dropout = zoo_child(zoo_child(self, HIDDEN_DPS), (size_t)l);
            x = adz_module_forward(dropout, x);
        }
        good = good && add_numbered(outs, "out", l, x);
    }
    return good;
}

/* Stores the new states in the buffers only after all layers have succeeded. */
static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const awd_state *state = zoo_state(self);
    adz_values *outs = adz_values_new(), *hidden = adz_values_new();
    bool good = run_layers(self, in, out, outs, hidden) &&
                adzi_zoo_append(out, outs, 0) == ADZ_OK &&
                adzi_zoo_append(out, hidden, 0) == ADZ_OK;
    for (size_t i = 0; i < adz_values_count(hidden) && good; ++i) {
        char name[48];
        name_hidden(name, state, (int64_t)i / state->n_carried, (int)i % state->n_carried);
        good = adz_module_set_buffer(self, name, adz_values_at(hidden, i)) != NULL;
    }
    adz_values_free(&outs);
    adz_values_free(&hidden);
    return good ? ADZ_OK : adz_error_code();
}

/* The last layer's output: result 2 L - 1, after raw.0 .. raw.(L-1) and out.0 .. out.(L-2). */
static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const awd_state *state = zoo_state(self);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *y = adz_values_add(in, "", x) == ADZ_OK && call(self, in, out) == ADZ_OK
                        ? adz_values_at(out, (size_t)(2 * state->n_layers - 1))
                        : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

/* Draws the embedding from U(-0.1, 0.1). As in fastai, the row of the padding is drawn too. */
static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = zoo_parameter(zoo_child(self, ENCODER), 0);
    return adz_init_uniform_(weight, -0.1, 0.1, NULL) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type awd_type = {
    .size = sizeof(adz_module_type),
    .name = "AWD_LSTM",
    .forward = forward,
    .call = call,
    .reset_parameters = reset_parameters,
    .reset = reset,
    .select_hidden = select_hidden,
};

/* ---- constructors --------------------------------------------------------------------------- */

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_awd_lstm_options, pad_token, .value = 1),
    ADZ_FIELD(adz_fastai_awd_lstm_options, hidden_p, .value = 0.2, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_awd_lstm_options, input_p, .value = 0.6, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_awd_lstm_options, embed_p, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_awd_lstm_options, weight_p, .value = 0.5, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_awd_lstm_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_awd_lstm_options, ADZ_FASTAI_AWD_LSTM_OPTIONS, fields)

static bool check(int64_t vocab_sz, int64_t emb_sz, int64_t n_hid, int64_t n_layers,
    const adz_fastai_awd_lstm_options *o)
{
    if (!adz_check_size(op, "vocab_sz", vocab_sz, 1) || !adz_check_size(op, "emb_sz", emb_sz, 1) ||
        !adz_check_size(op, "n_hid", n_hid, 1) ||
        !adz_check_range(op, "n_layers", n_layers, 1, ZOO_MOST_LAYERS)) {
        return false;
    }
    if (o->qrnn && o->bidir) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "qrnn and bidir exclude each other");
        return false;
    }
    if (o->bidir && (emb_sz < 2 || (n_layers > 1 && n_hid % 2 != 0))) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "with bidir each direction has half of the features, but n_hid is %lld and emb_sz %lld",
            (long long)n_hid, (long long)emb_sz);
        return false;
    }
    return true;
}

static adz_module *lstm_layer(int64_t in, int64_t out, const adz_fastai_awd_lstm_options *o)
{
    adz_lstm_module_options lstm = ADZ_LSTM_MODULE_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    lstm.batch_first = true;
    lstm.bidirectional = o->bidir;
    lstm.dtype = o->dtype;
    dropout.generator = o->generator;
    return adz_fastai_weight_dropout_new(
        adz_lstm_new(in, out, &lstm), o->weight_p, NULL, 0, &dropout);
}

/* A QRNN of one layer with dropout on the weight of its gates. The first layer of the encoder sees
 * two steps at a time. */
static adz_module *qrnn_layer(
    int64_t in, int64_t out, bool first, const adz_fastai_awd_lstm_options *o)
{
    adz_fastai_qrnn_options qrnn = ADZ_FASTAI_QRNN_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    qrnn.save_prev_x = true;
    qrnn.window = first ? 2 : 1;
    qrnn.dtype = o->dtype;
    qrnn.generator = dropout.generator = o->generator;
    adz_module *self = adz_fastai_qrnn_new(in, out, &qrnn);
    adz_module *layer = self != NULL ? adz_module_get_child(self, "layers.0") : NULL;
    adz_module *linear = layer != NULL ? adz_module_get_child(layer, "linear") : NULL;
    const char *const names[] = { "weight" };
    linear = linear != NULL ? adz_fastai_weight_dropout_new(
                                  adz_module_keep(linear), o->weight_p, names, 1, &dropout)
                            : NULL;
    if (linear == NULL || adz_module_set_child(layer, "linear", linear) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

/* Adds the layers, the dropouts before and behind them, and the buffers of the hidden states. */
static bool add_layers(adz_module *self, int64_t emb_sz, int64_t n_hid, int64_t n_layers,
    const adz_fastai_awd_lstm_options *o)
{
    const awd_state *state = zoo_state(self);
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o->generator;
    adz_module *rnns = adz_module_add_child(self, "rnns", adz_module_list_new(NULL, 0));
    adz_module *input = adz_fastai_rnn_dropout_new(o->input_p, &dropout);
    bool good = adz_module_add_child(self, "input_dp", input) != NULL;
    adz_module *dps = adz_module_add_child(self, "hidden_dps", adz_module_list_new(NULL, 0));
    for (int64_t l = 0; l < n_layers && good; ++l) {
        int64_t in = l == 0 ? emb_sz : n_hid, out = l == n_layers - 1 ? emb_sz : n_hid;
        adz_module *layer =
            o->qrnn ? qrnn_layer(in, out, l == 0, o) : lstm_layer(in, o->bidir ? out / 2 : out, o);
        good =
            adz_module_list_append(rnns, layer) != NULL &&
            adz_module_list_append(dps, adz_fastai_rnn_dropout_new(o->hidden_p, &dropout)) != NULL;
        for (int i = 0; i < state->n_carried && good; ++i) {
            char name[48];
            name_hidden(name, state, l, i);
            good = adz_module_add_buffer(self, name, ADZ_NONE, false) != NULL;
        }
    }
    return good;
}

/* Adds the embedding and the module that drops rows of it. Both own the embedding. */
static bool add_encoder(
    adz_module *self, int64_t vocab_sz, int64_t emb_sz, const adz_fastai_awd_lstm_options *o)
{
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    adz_fastai_embedding_dropout_options dropout = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    table.padding_idx = o->pad_token;
    table.dtype = o->dtype;
    dropout.generator = o->generator;
    adz_module *encoder =
        adz_module_add_child(self, "encoder", adz_embedding_new(vocab_sz, emb_sz, &table));
    encoder = adz_fastai_embedding_dropout_new(adz_module_keep(encoder), o->embed_p, &dropout);
    return adz_module_add_child(self, "encoder_dp", encoder) != NULL;
}

adz_module *adz_fastai_awd_lstm_new(int64_t vocab_sz, int64_t emb_sz, int64_t n_hid,
    int64_t n_layers, const adz_fastai_awd_lstm_options *options)
{
    adz_fastai_awd_lstm_options o;
    if (!adz_options_take(
            "adz_fastai_awd_lstm_new", &adz_fastai_awd_lstm_options_table, &o, options)) {
        return NULL;
    }
    if (!check(vocab_sz, emb_sz, n_hid, n_layers, &o)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&awd_type, sizeof(awd_state));
    if (self == NULL) {
        return NULL;
    }
    *(awd_state *)zoo_state(self) = o.qrnn ? (awd_state){ emb_sz, n_layers, qrnn_carries, 1 }
                                           : (awd_state){ emb_sz, n_layers, lstm_carries, 2 };
    if (!add_encoder(self, vocab_sz, emb_sz, &o) ||
        !add_layers(self, emb_sz, n_hid, n_layers, &o) || reset_parameters(self) != ADZ_OK) {
        adz_module_release(&self);
    }
    return self;
}
