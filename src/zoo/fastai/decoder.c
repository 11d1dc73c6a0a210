/* fastai's LinearDecoder, the head of its language models, and SequentialRNN, which joins encoder
 * and head. */
#include "adze/zoo/fastai_decoder.h"

#include <string.h>

#include "adze/zoo/fastai_dropout.h"
#include "adze/nn/init.h"
#include "fastai/outputs.h"
#include "adze/ops/linalg.h"
#include "zoo.h"

/* ---- results of encoders -------------------------------------------------------------------- */

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
    size_t at = adz_values_count(in);
    for (size_t i = 0; i < adz_values_count(in); ++i) {
        bool first = i == 0 && adz_values_name_at(in, i)[0] == '\0';
        at = first || starts_with(adz_values_name_at(in, i), "out.") ? i : at;
    }
    if (at == adz_values_count(in)) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT,
            "there is neither an encoder's out.0 among the arguments nor a first argument without a name");
    }
    adz_tensor *x = adz_values_at(in, at);
    if (!adz_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (adz_tensor_rank(x) != 3) {
        return zoo_fail(op, ADZ_ERR_SHAPE, "x%s must be [B, T, D]", adz_text_shape(x));
    }
    return x;
}

adz_status adzi_hand_on_outputs(adz_values *to, const adz_values *from)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < adz_values_count(from) && status == ADZ_OK; ++i) {
        if (adzi_is_layer_output(adz_values_name_at(from, i))) {
            status = adz_values_add(to, adz_values_name_at(from, i), adz_values_at(from, i));
        }
    }
    return status;
}

/* ---- LinearDecoder -------------------------------------------------------------------------- */

enum { WEIGHT, BIAS };

typedef struct {
    bool tied; /* the weight is the encoder's table, and the encoder draws it */
} layer_state;

/* Draws the weight from U(-0.1, 0.1) and sets the bias to 0. A tied weight is left alone. The
 * constructor calls this before it ties the weight. */
static adz_status layer_reset(adz_module *self)
{
    adz_tensor *weight = zoo_parameter(self, WEIGHT), *bias = zoo_parameter(self, BIAS);
    if (!((const layer_state *)zoo_state(self))->tied) {
        adz_init_uniform_(weight, -0.1, 0.1, NULL);
    }
    if (!zoo_is_none(bias)) {
        adz_init_zeros_(bias); /* refused after an error */
    }
    return adz_error_code();
}

static adz_tensor *layer_forward(adz_module *self, adz_tensor *x)
{
    return adz_linear(x, zoo_parameter(self, WEIGHT), zoo_parameter(self, BIAS));
}

static size_t layer_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = zoo_parameter(self, WEIGHT);
    return (size_t)snprintf(buffer, size, "in_features=%lld, out_features=%lld, bias=%s",
        (long long)adz_tensor_size(weight, 1), (long long)adz_tensor_size(weight, 0),
        zoo_is_none(zoo_parameter(self, BIAS)) ? "False" : "True");
}

static const adz_module_type layer_type = {
    .size = sizeof(adz_module_type),
    .name = "Linear",
    .forward = layer_forward,
    .reset_parameters = layer_reset,
    .extra_repr = layer_repr,
    .half_parameters = 1u << WEIGHT,
};

enum { DECODER, OUTPUT_DP };

static adz_status decoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adzi_last_output(adz_module_name(self), in);
    const adz_tensor *weight = zoo_parameter(zoo_child(self, DECODER), WEIGHT);
    if (x == NULL) {
        return adz_error_code();
    }
    if (adz_tensor_size(x, 2) != adz_tensor_size(weight, 1)) {
        return adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE,
            "x%s must have the %lld features that n_hid says", adz_text_shape(x),
            (long long)adz_tensor_size(weight, 1));
    }
    adz_tensor *h = adz_module_forward(zoo_child(self, OUTPUT_DP), x);
    adz_tensor *y = adz_module_forward(zoo_child(self, DECODER), h);
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adzi_hand_on_outputs(out, in) : status;
}

static const adz_module_type decoder_type = {
    .size = sizeof(adz_module_type),
    .name = "LinearDecoder",
    .call = decoder_call,
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_linear_decoder_options, output_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_linear_decoder_options, bias, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_linear_decoder_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_linear_decoder_options, ADZ_FASTAI_LINEAR_DECODER_OPTIONS, fields)

/* The encoder's table, which becomes the decoder's weight. ADZ_NONE if there is no encoder; NULL
 * with the error recorded if its shape is not [n_out, n_hid]. */
static adz_tensor *table_of(const char *op, adz_module *encoder, int64_t n_out, int64_t n_hid)
{
    adz_tensor *table = encoder != NULL ? adz_module_get_parameter(encoder, "weight") : ADZ_NONE;
    if (table == NULL || encoder == NULL) {
        return table;
    }
    if (adz_tensor_rank(table) != 2 || adz_tensor_size(table, 0) != n_out ||
        adz_tensor_size(table, 1) != n_hid) {
        return zoo_fail(op, ADZ_ERR_SHAPE,
            "tie_encoder's weight%s must be [n_out, n_hid], which is [%lld, %lld]",
            adz_text_shape(table), (long long)n_out, (long long)n_hid);
    }
    return table;
}

static adz_module *layer_new(const char *op, int64_t n_out, int64_t n_hid, adz_tensor *table,
    const adz_fastai_linear_decoder_options *o)
{
    const bool tied = !zoo_is_none(table);
    const adz_dtype dtype = tied ? adz_tensor_dtype(table) : o->dtype;
    if (!adz_check_parameter_dtype(op, dtype)) {
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    adz_module *layer = adz_module_new(&layer_type, sizeof(layer_state));
    bool good = layer != NULL &&
                adz_module_add_parameter(
                    layer, "weight", adz_empty(ADZ_SHAPE(n_out, n_hid), dtype)) != NULL &&
                adz_module_add_parameter(layer, "bias",
                    o->bias ? adz_empty(ADZ_SHAPE(n_out), dtype) : ADZ_NONE) != NULL &&
                layer_reset(layer) == ADZ_OK;
    if (good && tied) {
        ((layer_state *)zoo_state(layer))->tied = true;
        good = adz_module_set_parameter(layer, "weight", table) != NULL;
    }
    return adzi_zoo_built(scope, layer, good);
}

adz_module *adz_fastai_linear_decoder_new(
    int64_t n_out, int64_t n_hid, const adz_fastai_linear_decoder_options *options)
{
    static const char op[] = "adz_fastai_linear_decoder_new";
    adz_fastai_linear_decoder_options o;
    if (!adz_options_take(op, &adz_fastai_linear_decoder_options_table, &o, options)) {
        return NULL;
    }
    if (n_out < 1 || n_hid < 1) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "n_out %lld and n_hid %lld must be 1 or more",
            (long long)n_out, (long long)n_hid);
    }
    adz_tensor *table = table_of(op, o.tie_encoder, n_out, n_hid);
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_module *self = adz_module_new(&decoder_type, 0);
    bool good = self != NULL &&
                adz_module_add_child(self, "decoder", layer_new(op, n_out, n_hid, table, &o)) &&
                adz_module_add_child(
                    self, "output_dp", adz_fastai_rnn_dropout_new(o.output_p, &dropout)) != NULL;
    return adzi_zoo_or_free(good, self);
}

/* ---- SequentialRNN -------------------------------------------------------------------------- */

/* Passes all results of a child to the next one. A Sequential passes only the first result on if it
 * is called by adz_module_forward; this module has no forward, so it always passes all. */
static adz_status sequential_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const size_t count = adz_module_child_count(self);
    adz_values *lists[] = { adz_values_new(), adz_values_new() };
    const adz_values *current = in;
    adz_status status = ADZ_OK; /* A list that is NULL is refused by the call of a child. */
    for (size_t i = 0; i < count && status == ADZ_OK; ++i) {
        adz_values *next = lists[i % 2];
        adz_values_clear(next);
        status = adz_module_call(zoo_child(self, i), current, next);
        current = next;
    }
    if (status == ADZ_OK) {
        status = adzi_zoo_append(out, current, 0);
    }
    adz_values_free(&lists[0]);
    adz_values_free(&lists[1]);
    return status;
}

static const adz_module_type sequential_rnn_type = {
    .size = sizeof(adz_module_type),
    .name = "SequentialRNN",
    .call = sequential_call,
};

adz_module *adz_fastai_sequential_rnn_new(adz_module *const *modules, size_t count)
{
    if (modules == NULL && count > 0) {
        return zoo_fail_null("adz_fastai_sequential_rnn_new", "modules");
    }
    adz_module *self = adz_module_new(&sequential_rnn_type, 0);
    for (size_t i = 0; i < count; ++i) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        if (adz_module_add_child(self, name, modules[i]) == NULL) {
            adz_module_release(&self);
        }
    }
    return self;
}
