#include "adze/nn/fastai_awd_lstm.h"

#include "adze/nn/containers.h"
#include "adze/nn/embedding.h"
#include "adze/nn/fastai_dropout.h"
#include "adze/nn/fastai_qrnn.h"
#include "adze/nn/init.h"
#include "adze/nn/lstm.h"
#include "adze/ops/convert.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

static const char op[] = "adz_fastai_awd_lstm_new";

enum { ENCODER, ENCODER_DP, RNNS, INPUT_DP, HIDDEN_DPS };

/* One tensor that a layer carries: its name among the arguments, the results, our results. */
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

/* ---- the carried state ---------------------------------------------------------------------- */

/* Buffer l * n_carried + i is state i of layer l, ADZ_NONE for zeros. */
static adz_tensor *hidden_at(const adz_module *self, int64_t layer, int i)
{
    const awd_state *state = self->state;
    return self->buffers[layer * state->n_carried + i].tensor;
}

static bool set_hidden(adz_module *self, size_t i, adz_tensor *t)
{
    return adz_module_set_buffer(self, self->buffers[i].name, t) != NULL;
}

static adz_status reset(adz_module *self)
{
    bool good = true;
    for (size_t i = 0; i < self->n_buffers && good; ++i) {
        good = set_hidden(self, i, ADZ_NONE);
    }
    return good ? ADZ_OK : adz_error_code();
}

static adz_status select_hidden(adz_module *self, adz_tensor *rows)
{
    bool good = true;
    for (size_t i = 0; i < self->n_buffers && good; ++i) {
        adz_tensor *t = self->buffers[i].tensor;
        good = adzi_is_none(t) || set_hidden(self, i, adz_index_select(t, 1, rows));
    }
    return good ? ADZ_OK : adz_error_code();
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The words of a call, embedded; NULL with the error recorded. */
static adz_tensor *embed(adz_module *self, const adz_values *in)
{
    const awd_state *state = self->state;
    const char *name = self->type.name;
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    ids = ids != NULL && adzi_is_none(ids) ? adz_values_find(in, "x") : ids;
    if (!adzi_check_tensor(name, "ids", ids)) {
        return NULL;
    }
    if (!adzi_is_float((adz_dtype)ids->dtype)) {
        return ids->rank == 2 && ids->sizes[0] > 0 && ids->sizes[1] > 0
                   ? adz_module_forward(adzi_child_at(self, ENCODER_DP), ids)
                   : adzi_fail(name, ADZ_ERR_SHAPE, "ids%s must be [B, T], neither of them 0",
                         adzi_text_shape(ids));
    }
    adz_dtype dtype = (adz_dtype)adzi_parameter(adzi_child_at(self, ENCODER), 0)->dtype;
    if (ids->dtype != dtype) {
        return adzi_fail(name, ADZ_ERR_DTYPE, "x is %s, the module %s; convert one",
            adz_dtype_name((adz_dtype)ids->dtype), adz_dtype_name(dtype));
    }
    return ids->rank == 3 && ids->sizes[2] == state->emb_sz
               ? ids
               : adzi_fail(name, ADZ_ERR_SHAPE,
                     "x%s must be embedded words [B, T, %lld], or else ids [B, T] of integers",
                     adzi_text_shape(ids), (long long)state->emb_sz);
}

/* Whether what is carried belongs to a batch of another size than x's. */
static bool is_other_batch(const adz_module *self, const adz_tensor *x)
{
    const adz_tensor *h = hidden_at(self, 0, 0);
    return !adzi_is_none(h) && h->sizes[1] != x->sizes[0];
}

/* Layer l with its state; appends the new state, without gradient, to `hidden`. */
static adz_tensor *run_layer(adz_module *self, int64_t l, adz_tensor *x, adz_values *hidden)
{
    const awd_state *state = self->state;
    adz_values in, out;
    adzi_values_begin(&in);
    adzi_values_begin(&out);
    adz_tensor *y = NULL;
    bool good = adz_values_add(&in, "x", x) == ADZ_OK;
    for (int i = 0; i < state->n_carried && good; ++i) {
        adz_tensor *h = hidden_at(self, l, i);
        h = is_other_batch(self, x) ? ADZ_NONE : h;
        good = adz_values_add(&in, state->carries[i].initial, h) == ADZ_OK;
    }
    adz_module *rnn = adzi_child_at(adzi_child_at(self, RNNS), (size_t)l);
    good = good && adz_module_call(rnn, &in, &out) == ADZ_OK;
    for (int i = 0; i < state->n_carried && good; ++i) {
        char name[ADZ_VALUE_NAME + 1];
        snprintf(name, sizeof name, "hidden.%lld.%s", (long long)l, state->carries[i].hidden);
        adz_tensor *h = adz_values_find(&out, state->carries[i].last);
        h = adz_contiguous(adz_detach(h));
        good = h != NULL && adz_values_add(hidden, name, h) == ADZ_OK;
    }
    y = good ? adz_values_at(&out, 0) : NULL;
    adzi_values_end(&in);
    adzi_values_end(&out);
    return y;
}

static bool add_numbered(adz_values *values, const char *name, int64_t l, adz_tensor *t)
{
    char text[ADZ_VALUE_NAME + 1];
    snprintf(text, sizeof text, "%s.%lld", name, (long long)l);
    return t != NULL && adz_values_add(values, text, t) == ADZ_OK;
}

static bool run_layers(
    adz_module *self, const adz_values *in, adz_values *out, adz_values *outs, adz_values *hidden)
{
    const awd_state *state = self->state;
    adz_tensor *x = embed(self, in);
    x = x != NULL ? adz_module_forward(adzi_child_at(self, INPUT_DP), x) : NULL;
    bool good = x != NULL &&
                (!is_other_batch(self, x) || adz_module_reset(adzi_child_at(self, RNNS)) == ADZ_OK);
    for (int64_t l = 0; l < state->n_layers && good; ++l) {
        x = run_layer(self, l, x, hidden);
        good = add_numbered(out, "raw", l, x);
        if (good && l < state->n_layers - 1) {
            adz_module *dropout = adzi_child_at(adzi_child_at(self, HIDDEN_DPS), (size_t)l);
            x = adz_module_forward(dropout, x);
        }
        good = good && add_numbered(outs, "out", l, x);
    }
    return good;
}

static bool append(adz_values *to, const adz_values *from)
{
    bool good = true;
    for (size_t i = 0; i < from->count && good; ++i) {
        good = adz_values_add(to, from->items[i].name, from->items[i].tensor) == ADZ_OK;
    }
    return good;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_values outs, hidden;
    adzi_values_begin(&outs);
    adzi_values_begin(&hidden);
    bool good =
        run_layers(self, in, out, &outs, &hidden) && append(out, &outs) && append(out, &hidden);
    for (size_t i = 0; i < hidden.count && good; ++i) {
        good = set_hidden(self, i, hidden.items[i].tensor); /* no longer fails */
    }
    adzi_values_end(&outs);
    adzi_values_end(&hidden);
    return good ? ADZ_OK : adz_error_code();
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const awd_state *state = self->state;
    adz_values in, out;
    adzi_values_begin(&in);
    adzi_values_begin(&out);
    adz_tensor *y = adz_values_add(&in, "", x) == ADZ_OK && call(self, &in, &out) == ADZ_OK
                        ? adz_values_at(&out, (size_t)(2 * state->n_layers - 1))
                        : NULL;
    adzi_values_end(&in);
    adzi_values_end(&out);
    return y;
}

/* The padding row too, as in the reference. */
static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(adzi_child_at(self, ENCODER), 0);
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

/* ---- making --------------------------------------------------------------------------------- */

ADZI_OPTIONS_INIT(
    adz_fastai_awd_lstm_options_init, adz_fastai_awd_lstm_options, ADZ_FASTAI_AWD_LSTM_OPTIONS)

static bool check(int64_t vocab_sz, int64_t emb_sz, int64_t n_hid, int64_t n_layers,
    const adz_fastai_awd_lstm_options *o)
{
    if (!adzi_check_features(op, "vocab_sz", vocab_sz, 1) ||
        !adzi_check_features(op, "emb_sz", emb_sz, 1) ||
        !adzi_check_features(op, "n_hid", n_hid, 1) ||
        !adzi_check_layers(op, "n_layers", n_layers, 1)) {
        return false;
    }
    if (o->qrnn && o->bidir) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "qrnn and bidir exclude each other");
        return false;
    }
    if (o->bidir && (emb_sz < 2 || (n_layers > 1 && n_hid % 2 != 0))) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "with bidir each direction has half of the features, but n_hid is %lld and emb_sz %lld",
            (long long)n_hid, (long long)emb_sz);
        return false;
    }
    return adzi_check_module_dtype(op, o->dtype);
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

/* The gates' weight is dropped, which is all that the layer has. */
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
    adz_module *layer = self != NULL ? adz_module_child(self, "layers.0") : NULL;
    adz_module *linear = layer != NULL ? adz_module_child(layer, "linear") : NULL;
    const char *const names[] = { "weight" };
    linear = linear != NULL ? adz_fastai_weight_dropout_new(
                                  adz_module_keep(linear), o->weight_p, names, 1, &dropout)
                            : NULL;
    if (linear == NULL || adz_module_set_child(layer, "linear", linear) == NULL) {
        adz_module_free(&self);
    }
    return self;
}

/* All layers and the dropouts behind them. */
static bool add_layers(adz_module *self, int64_t emb_sz, int64_t n_hid, int64_t n_layers,
    const adz_fastai_awd_lstm_options *o)
{
    const awd_state *state = self->state;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o->generator;
    adz_module *rnns = adz_module_add_child(self, "rnns", adz_module_list_new(NULL, 0));
    adz_module *input = adz_fastai_rnn_dropout_new(o->input_p, &dropout);
    bool good = adz_module_add_child(self, "input_dp", input) != NULL && rnns != NULL;
    adz_module *dps = adz_module_add_child(self, "hidden_dps", adz_module_list_new(NULL, 0));
    good = good && dps != NULL;
    for (int64_t l = 0; l < n_layers && good; ++l) {
        int64_t in = l == 0 ? emb_sz : n_hid, out = l == n_layers - 1 ? emb_sz : n_hid;
        adz_module *layer =
            o->qrnn ? qrnn_layer(in, out, l == 0, o) : lstm_layer(in, o->bidir ? out / 2 : out, o);
        good =
            adz_module_list_append(rnns, layer) != NULL &&
            adz_module_list_append(dps, adz_fastai_rnn_dropout_new(o->hidden_p, &dropout)) != NULL;
        for (int i = 0; i < state->n_carried && good; ++i) {
            char name[48];
            snprintf(name, sizeof name, "hidden_%lld_%s", (long long)l, state->carries[i].hidden);
            good = adz_module_add_buffer(self, name, ADZ_NONE, false) != NULL;
        }
    }
    return good;
}

static bool add_encoder(
    adz_module *self, int64_t vocab_sz, int64_t emb_sz, const adz_fastai_awd_lstm_options *o)
{
    adz_embedding_table_options table = ADZ_EMBEDDING_TABLE_OPTIONS;
    adz_fastai_embedding_dropout_options dropout = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    table.padding_idx = o->pad_token;
    table.dtype = o->dtype;
    dropout.generator = o->generator;
    adz_module *encoder =
        adz_module_add_child(self, "encoder", adz_embedding_new(vocab_sz, emb_sz, &table));
    if (encoder == NULL) {
        return false;
    }
    encoder = adz_fastai_embedding_dropout_new(adz_module_keep(encoder), o->embed_p, &dropout);
    return adz_module_add_child(self, "encoder_dp", encoder) != NULL;
}

adz_module *adz_fastai_awd_lstm_new(int64_t vocab_sz, int64_t emb_sz, int64_t n_hid,
    int64_t n_layers, const adz_fastai_awd_lstm_options *options)
{
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_fastai_awd_lstm_new", ADZ_FASTAI_AWD_LSTM_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!check(vocab_sz, emb_sz, n_hid, n_layers, &o)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&awd_type, sizeof(awd_state));
    if (self == NULL) {
        return NULL;
    }
    *(awd_state *)self->state = o.qrnn ? (awd_state){ emb_sz, n_layers, qrnn_carries, 1 }
                                       : (awd_state){ emb_sz, n_layers, lstm_carries, 2 };
    if (!add_encoder(self, vocab_sz, emb_sz, &o) ||
        !add_layers(self, emb_sz, n_hid, n_layers, &o) || reset_parameters(self) != ADZ_OK) {
        adz_module_free(&self);
    }
    return self;
}
