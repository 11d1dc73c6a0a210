/* fastai's language models: the decoder and the container. */
#include "adze/nn/fastai_decoder.h"

#include <string.h>

#include "adze/nn/fastai_dropout.h"
#include "adze/nn/init.h"
#include "nn/layers/containers.h"
#include "nn/zoo/fastai/outputs.h"
#include "nn/layers/linear.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

/* ---- what encoders hand over ---------------------------------------------------------------- */

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool adzi_is_layer_output(const char *name)
{
    return starts_with(name, "raw.") || starts_with(name, "out.");
}

adz_tensor *adzi_last_output(const char *op, const adz_values *in)
{
    size_t at = in->count;
    for (size_t i = 0; i < in->count; ++i) {
        bool first = i == 0 && in->items[i].name[0] == '\0';
        at = first || starts_with(in->items[i].name, "out.") ? i : at;
    }
    if (at == in->count) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "there is neither an encoder's out.0 among the arguments nor a tensor by place");
    }
    adz_tensor *x = in->items[at].tensor;
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank != 3) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s must be [B, T, D]", adzi_text_shape(x));
    }
    return x;
}

adz_status adzi_hand_on_outputs(adz_values *to, const adz_values *from)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < from->count && status == ADZ_OK; ++i) {
        if (adzi_is_layer_output(from->items[i].name)) {
            status = adz_values_add(to, from->items[i].name, from->items[i].tensor);
        }
    }
    return status;
}

/* ---- LinearDecoder -------------------------------------------------------------------------- */

enum { WEIGHT, BIAS };

typedef struct {
    bool tied; /* the weight is drawn by the encoder */
} layer_state;

/* The decoder's own layer; the constructor draws before it ties. */
static adz_status layer_reset(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    if ((!((const layer_state *)self->state)->tied &&
            adz_init_uniform_(weight, -0.1, 0.1, NULL) == NULL) ||
        (!adzi_is_none(bias) && adz_init_zeros_(bias) == NULL)) {
        return adz_error_code();
    }
    return ADZ_OK;
}

static const adz_module_type layer_type = {
    .size = sizeof(adz_module_type),
    .name = "Linear",
    .forward = adzi_linear_forward,
    .reset_parameters = layer_reset,
    .extra_repr = adzi_linear_repr,
};

enum { DECODER, OUTPUT_DP };

static adz_status decoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adzi_last_output(self->type.name, in);
    const adz_tensor *weight = adzi_parameter(adzi_child_at(self, DECODER), WEIGHT);
    if (x == NULL) {
        return adz_error_code();
    }
    if (x->sizes[2] != weight->sizes[1]) {
        return adzi_error(self->type.name, ADZ_ERR_SHAPE,
            "x%s must have the %lld features that n_hid says", adzi_text_shape(x),
            (long long)weight->sizes[1]);
    }
    adz_tensor *h = adz_module_forward(adzi_child_at(self, OUTPUT_DP), x);
    adz_tensor *y = adz_module_forward(adzi_child_at(self, DECODER), h);
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adzi_hand_on_outputs(out, in) : status;
}

static const adz_module_type decoder_type = {
    .size = sizeof(adz_module_type),
    .name = "LinearDecoder",
    .call = decoder_call,
};

ADZI_OPTIONS_INIT(adz_fastai_linear_decoder_options_init, adz_fastai_linear_decoder_options,
    ADZ_FASTAI_LINEAR_DECODER_OPTIONS)

/* The table to tie to, ADZ_NONE for none; NULL for one that does not fit. */
static adz_tensor *table_of(const char *op, adz_module *encoder, int64_t n_out, int64_t n_hid)
{
    adz_tensor *table = encoder != NULL ? adz_module_parameter(encoder, "weight") : ADZ_NONE;
    if (table == NULL || encoder == NULL) {
        return table;
    }
    if (table->rank != 2 || table->sizes[0] != n_out || table->sizes[1] != n_hid) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "tie_encoder's weight%s must be [n_out, n_hid], which is [%lld, %lld]",
            adzi_text_shape(table), (long long)n_out, (long long)n_hid);
    }
    return table;
}

static adz_module *layer_new(const char *op, int64_t n_out, int64_t n_hid, adz_tensor *table,
    const adz_fastai_linear_decoder_options *o)
{
    bool tied = !adzi_is_none(table);
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    linear.bias = o->bias;
    linear.dtype = tied ? table->dtype : o->dtype;
    adz_module *layer =
        adzi_linear_new(op, &layer_type, sizeof(layer_state), n_hid, n_out, &linear);
    if (layer != NULL && tied) {
        ((layer_state *)layer->state)->tied = true;
        if (adz_module_set_parameter(layer, "weight", table) == NULL) {
            adz_module_free(&layer);
        }
    }
    return layer;
}

adz_module *adz_fastai_linear_decoder_new(
    int64_t n_out, int64_t n_hid, const adz_fastai_linear_decoder_options *options)
{
    static const char op[] = "adz_fastai_linear_decoder_new";
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_FASTAI_LINEAR_DECODER_OPTIONS, &o, options)) {
        return NULL;
    }
    if (n_out < 1 || n_hid < 1) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "n_out %lld and n_hid %lld must be 1 or more",
            (long long)n_out, (long long)n_hid);
    }
    adz_tensor *table = table_of(op, o.tie_encoder, n_out, n_hid);
    if (table == NULL) {
        return NULL;
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_module *self = adz_module_new(&decoder_type, 0);
    bool good = self != NULL &&
                adz_module_add_child(self, "decoder", layer_new(op, n_out, n_hid, table, &o)) &&
                adz_module_add_child(
                    self, "output_dp", adz_fastai_rnn_dropout_new(o.output_p, &dropout)) != NULL;
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}

/* ---- SequentialRNN -------------------------------------------------------------------------- */

static const adz_module_type sequential_rnn_type = {
    .size = sizeof(adz_module_type),
    .name = "SequentialRNN",
    .call = adzi_sequential_call, /* adz_module_forward too hands all results on */
};

adz_module *adz_fastai_sequential_rnn_new(adz_module *const *modules, size_t count)
{
    return adzi_container_new(
        "adz_fastai_sequential_rnn_new", &sequential_rnn_type, modules, count);
}
