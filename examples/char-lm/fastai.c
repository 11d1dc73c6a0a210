/* fastai's encoders with its decoder, whose weight is the table of tokens. */
#include <adze/custom.h>
#include <adze/zoo.h>
#include <stdio.h>

#include "model.h"

/* ---- gated feed-forward networks ------------------------------------------------------------ */

enum { NETWORK, DROPOUT, NORM };

/* y = norm(x + dropout(network(x))). fastai's feed-forward network computes this too, but it has no
 * gate. */
static adz_tensor *gated_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *h = adz_module_forward(adz_module_child_at(self, NETWORK), x);
    h = adz_module_forward(adz_module_child_at(self, DROPOUT), h);
    return adz_module_forward(adz_module_child_at(self, NORM), adz_add(x, h));
}

static const adz_module_type gated_type = {
    .size = sizeof(adz_module_type), .name = "GatedFeedForward", .forward = gated_forward
};

static adz_module *new_gated(const options *o)
{
    adz_module *ff = adz_module_new(&gated_type, 0);
    adz_module_add_child(ff, "network", new_ffn(o));
    adz_module_add_child(ff, "dropout", adz_dropout_new(o->ff_p, NULL));
    adz_module_add_child(ff, "norm", adz_layer_norm_new(ADZ_SHAPE(o->width), NULL));
    return ff;
}

/* ---- encoders ------------------------------------------------------------------------------- */

static adz_module *new_transformer(const options *o, int64_t vocabulary)
{
    static const adz_fastai_activation activations[] = { [FFN_GELU] = ADZ_FASTAI_ACTIVATION_GELU,
        [FFN_RELU] = ADZ_FASTAI_ACTIVATION_RELU,
        [FFN_SWISH] = ADZ_FASTAI_ACTIVATION_SWISH };
    bool xl = o->arch == TRANSFORMER_XL;
    adz_fastai_transformer_options t;
    if (xl) {
        adz_fastai_transformer_xl_options_init(&t, sizeof t);
    } else {
        adz_fastai_transformer_options_init(&t, sizeof t);
    }
    t.ctx_len = o->context;
    t.n_layers = o->layers;
    t.n_heads = o->heads;
    t.d_model = o->width;
    t.d_head = o->width / o->heads;
    t.d_inner = o->hidden;
    t.resid_p = o->dropout;
    t.attn_p = o->attention_p;
    t.ff_p = o->ff_p;
    t.embed_p = o->embed_p;
    t.act = activations[o->ffn < FFN_GLU ? o->ffn : FFN_GELU];
    t.double_drop = false;
    t.mem_len = xl ? o->memory : 0;
    adz_module *encoder = xl ? adz_fastai_transformer_xl_new(vocabulary, &t)
                             : adz_fastai_transformer_new(vocabulary, &t);
    for (int64_t i = 0; i < o->layers && o->ffn >= FFN_GLU; ++i) {
        char path[64];
        snprintf(path, sizeof path, "layers.%lld", (long long)i);
        adz_module_set_child(adz_module_get_child(encoder, path), "ff", new_gated(o));
    }
    return encoder;
}

/* The vocabulary has no padding token, so fastai's table uses its last row as padding. That row is
 * trained as a part of the decoder only. */
static adz_module *new_recurrent(const options *o, int64_t vocabulary)
{
    adz_fastai_awd_lstm_options a = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    a.pad_token = ADZ_NO_PADDING;
    a.hidden_p = o->dropout;
    a.input_p = o->input_p;
    a.embed_p = o->embed_p;
    a.weight_p = o->weight_p;
    a.qrnn = o->arch == QRNN;
    return adz_fastai_awd_lstm_new(vocabulary, o->width, o->hidden, o->layers, &a);
}

adz_module *new_fastai(const options *o, int64_t vocabulary)
{
    bool recurrent = o->arch == AWD_LSTM || o->arch == QRNN;
    adz_module *parts[2];
    parts[0] = recurrent ? new_recurrent(o, vocabulary) : new_transformer(o, vocabulary);
    adz_fastai_linear_decoder_options d = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    d.output_p = o->output_p;
    d.tie_encoder = adz_module_get_child(parts[0], "encoder");
    parts[1] = adz_fastai_linear_decoder_new(vocabulary, o->width, &d);
    adz_module *network = adz_fastai_sequential_rnn_new(parts, 2);
    if (!recurrent) {
        adz_fastai_init_transformer(network);
    }
    return network;
}

/* ---- a Transformer with a cache of keys and values ------------------------------------------ */

/* Splits x[1, T, H d] into heads: [1, H, T, d]. */
static adz_tensor *split_heads(adz_tensor *x, int64_t heads)
{
    adz_shape shape = ADZ_SHAPE(1, adz_tensor_size(x, 1), heads, adz_tensor_size(x, 2) / heads);
    return adz_transpose(adz_reshape(x, shape), 1, 2);
}

/* Appends these keys or values to those in the cache and returns all of them. */
static adz_tensor *join(cache *c, size_t i, adz_tensor *new_ones)
{
    adz_tensor *both[] = { c->past[i], new_ones };
    adz_tensor *all = c->length > 0 ? adz_cat(both, 2, 2) : adz_contiguous(new_ones);
    remember(c, i, all);
    return all;
}

/* One layer with the cache: y = ff(ln(x + out(attention(x)))). */
static adz_tensor *run_layer(adz_module *layer, adz_tensor *x, int64_t heads, size_t i, cache *c)
{
    adz_tensor *qkv = adz_module_forward(adz_module_get_child(layer, "mhra.attention"), x),
               *part[3];
    int64_t rows = adz_tensor_size(x, 1), width = adz_tensor_size(qkv, 2) / 3;
    for (int k = 0; k < 3; ++k) {
        part[k] = split_heads(adz_narrow(qkv, 2, k * width, width), heads);
    }
    adz_tensor *keys = join(c, 2 * i, part[1]), *values = join(c, 2 * i + 1, part[2]);
    adz_attention_options a = ADZ_ATTENTION_OPTIONS;
    a.is_causal = true;
    adz_tensor *y = adz_scaled_dot_product_attention(part[0], keys, values, &a);
    y = adz_reshape(adz_transpose(y, 1, 2), ADZ_SHAPE(1, rows, width));
    y = adz_add(x, adz_module_forward(adz_module_get_child(layer, "mhra.out"), y));
    y = adz_module_forward(adz_module_get_child(layer, "mhra.ln"), y);
    return adz_module_forward(adz_module_get_child(layer, "ff"), y);
}

adz_tensor *run_transformer_cached(const options *o, adz_module *network, adz_tensor *ids, cache *c)
{
    adz_tensor *positions =
        adz_arange((double)c->length, (double)(c->length + adz_tensor_size(ids, 1)), 1, ADZ_I64);
    adz_tensor *x = adz_add(adz_module_forward(adz_module_get_child(network, "0.encoder"), ids),
        adz_module_forward(adz_module_get_child(network, "0.pos_enc"), positions));
    for (int64_t i = 0; i < o->layers; ++i) {
        char path[64];
        snprintf(path, sizeof path, "0.layers.%lld", (long long)i);
        x = run_layer(adz_module_get_child(network, path), x, o->heads, (size_t)i, c);
    }
    return adz_module_forward(adz_module_get_child(network, "1"), x);
}
