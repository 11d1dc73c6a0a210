/* The models of the annotated transformers (labml_nn): EncoderDecoder, AutoregressiveModel, and the
 * autoregressive model of characters. */
#include "adze/nn/feed_forward.h"
#include "adze/nn/init.h"
#include "adze/zoo/labml_transformer.h"
#include "adze/ops/loss.h"
#include "adze/ops/shape.h"
#include "adze/nn/linear.h"
#include "labml/labml.h"
#include "zoo.h"

/* ---- Generator ------------------------------------------------------------------------------ */

static adz_tensor *generator_forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(zoo_child(self, 0), x);
}

static const adz_module_type generator_type = {
    .size = sizeof(adz_module_type),
    .name = "Generator",
    .forward = generator_forward,
};

static const adz_field generator_fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_labml_generator_options),
};

ADZ_OPTIONS_TABLE(adz_labml_generator_options, ADZ_LABML_GENERATOR_OPTIONS, generator_fields)

adz_module *adz_labml_generator_new(
    int64_t n_vocab, int64_t d_model, const adz_labml_generator_options *options)
{
    static const char op[] = "adz_labml_generator_new";
    adz_labml_generator_options o;
    if (!adz_options_take(op, &adz_labml_generator_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "n_vocab", n_vocab, 1) || !adz_check_size(op, "d_model", d_model, 1)) {
        return NULL;
    }
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    linear.dtype = o.dtype;
    adz_module *self = adz_module_new(&generator_type, 0);
    if (self != NULL && !adzi_labml_add_linear(self, "projection", d_model, n_vocab, &linear)) {
        adz_module_release(&self);
    }
    return self;
}

/* ---- EncoderDecoder ------------------------------------------------------------------------- */

enum { ENCODER, DECODER, SRC_EMBED, TGT_EMBED, GENERATOR }; /* children */

static adz_tensor *encode(adz_module *self, adz_tensor *src, adz_tensor *src_mask)
{
    adz_tensor *x = adz_module_forward(zoo_child(self, SRC_EMBED), src);
    adzi_argument arguments[] = { { "x", x }, { "mask", src_mask } };
    return x == NULL ? NULL : adzi_labml_call(zoo_child(self, ENCODER), arguments, 2);
}

static adz_tensor *decode(adz_module *self, adz_tensor *memory, adz_tensor *src_mask,
    adz_tensor *tgt, adz_tensor *tgt_mask)
{
    adz_tensor *x = memory == NULL ? NULL : adz_module_forward(zoo_child(self, TGT_EMBED), tgt);
    adzi_argument arguments[] = { { "x", x }, { "memory", memory }, { "src_mask", src_mask },
        { "tgt_mask", tgt_mask } };
    return x == NULL ? NULL : adzi_labml_call(zoo_child(self, DECODER), arguments, 4);
}

static adz_status both_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *src = adz_values_argument(in, 0, "src");
    adz_tensor *tgt = adz_values_argument(in, 1, "tgt");
    adz_tensor *src_mask = adz_values_argument(in, 2, "src_mask");
    adz_tensor *tgt_mask = adz_values_argument(in, 3, "tgt_mask");
    if (!adz_check_tensor(adz_module_name(self), "src", src) ||
        !adz_check_tensor(adz_module_name(self), "tgt", tgt)) {
        return adz_error_code();
    }
    adz_tensor *memory = encode(self, src, src_mask);
    return adz_values_add(out, "", decode(self, memory, src_mask, tgt, tgt_mask));
}

/* Draws every matrix by xavier_uniform_, as labml_nn does after the children have drawn their own
 * parameters. */
static adz_status both_reset(adz_module *self)
{
    adz_tensor_list all = adz_module_parameters(self);
    for (size_t i = 0; i < all.count; ++i) {
        if (adz_tensor_rank(all.items[i]) > 1 &&
            adz_init_xavier_uniform_(all.items[i], 1, NULL) == NULL) {
            return adz_error_code();
        }
    }
    return adz_error_code();
}

static const adz_module_type both_type = {
    .size = sizeof(adz_module_type),
    .name = "EncoderDecoder",
    .call = both_call,
    .reset_parameters = both_reset,
};

/* Makes a model of n children, whose references are taken over in every case. A NULL child is an
 * error, because it comes from a constructor that failed. */
static adz_module *model_new(const char *op, const adz_module_type *type, const char *const *names,
    adz_module *const *children, size_t n)
{
    adz_module *self = NULL;
    const char *missing = NULL;
    for (size_t i = n; i-- > 0;) {
        missing = children[i] == NULL ? names[i] : missing;
    }
    if (missing != NULL) {
        adz_error_null(op, missing);
    } else {
        self = adz_module_new(type, 0);
    }
    return adzi_labml_adopt(self, names, children, n);
}

adz_module *adz_labml_encoder_decoder_new(adz_module *encoder, adz_module *decoder,
    adz_module *src_embed, adz_module *tgt_embed, adz_module *generator)
{
    static const char *const names[] = { "encoder", "decoder", "src_embed", "tgt_embed",
        "generator" };
    adz_module *children[] = { encoder, decoder, src_embed, tgt_embed, generator };
    adz_module *self = model_new("adz_labml_encoder_decoder_new", &both_type, names, children, 5);
    if (self != NULL && both_reset(self) != ADZ_OK) {
        adz_module_release(&self);
    }
    return self;
}

/* True if the module is an EncoderDecoder; false with the error recorded. */
static bool is_both(const char *op, const adz_module *model)
{
    if (model == NULL) {
        adz_error_null(op, "model");
        return false;
    }
    if (adz_module_type_of(model) != &both_type) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "model is a %s, but must come from adz_labml_encoder_decoder_new",
            adz_module_name(model));
        return false;
    }
    return true;
}

static bool check_mask(const char *op, const char *name, const adz_tensor *mask)
{
    return mask == ADZ_NONE || adz_check_tensor(op, name, mask);
}

adz_tensor *adz_labml_encode(adz_module *model, adz_tensor *src, adz_tensor *src_mask)
{
    static const char op[] = "adz_labml_encode";
    return is_both(op, model) && adz_check_tensor(op, "src", src) &&
                   check_mask(op, "src_mask", src_mask)
               ? encode(model, src, src_mask)
               : NULL;
}

adz_tensor *adz_labml_decode(adz_module *model, adz_tensor *memory, adz_tensor *src_mask,
    adz_tensor *tgt, adz_tensor *tgt_mask)
{
    static const char op[] = "adz_labml_decode";
    return is_both(op, model) && adz_check_tensor(op, "memory", memory) &&
                   check_mask(op, "src_mask", src_mask) && adz_check_tensor(op, "tgt", tgt) &&
                   check_mask(op, "tgt_mask", tgt_mask)
               ? decode(model, memory, src_mask, tgt, tgt_mask)
               : NULL;
}

/* ---- AutoregressiveModel -------------------------------------------------------------------- */

enum { EMBED, STACK, LOGITS }; /* children */

static adz_tensor *logits_of(adz_module *self, adz_tensor *ids)
{
    adz_tensor *x = adz_module_forward(zoo_child(self, EMBED), ids);
    adzi_argument arguments[] = { { "x", x },
        { "mask", adz_labml_subsequent_mask(adz_tensor_size(ids, 0)) } };
    x = adzi_labml_call(zoo_child(self, STACK), arguments, 2);
    return adz_module_forward(zoo_child(self, LOGITS), x);
}

/* Mean cross entropy over all positions. logits[T, B, V] and target[T, B] have them in equal order.
 */
static adz_tensor *loss_of(adz_tensor *logits, adz_tensor *target)
{
    adz_tensor *rows = adz_reshape(logits, ADZ_SHAPE(-1, adz_tensor_size(logits, -1)));
    return adz_cross_entropy(rows, adz_reshape(target, ADZ_SHAPE(-1)), ADZ_NONE, NULL);
}

static adz_status autoregressive_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const char *op = adz_module_name(self);
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    adz_tensor *target = adz_values_argument(in, 1, "target");
    if (!adz_check_tensor(op, "ids", ids)) {
        return adz_error_code();
    }
    if (adz_tensor_rank(ids) != 2) {
        return adz_error_format(op, ADZ_ERR_SHAPE, "ids%s must be [T, B]", adz_text_shape(ids));
    }
    bool judged = !zoo_is_none(target);
    if (judged && (!adz_check_tensor(op, "target", target) || adz_tensor_rank(target) != 2 ||
                      adz_tensor_size(target, 0) != adz_tensor_size(ids, 0) ||
                      adz_tensor_size(target, 1) != adz_tensor_size(ids, 1))) {
        return target == NULL
                   ? adz_error_code()
                   : adz_error_format(op, ADZ_ERR_SHAPE, "target%s must be shaped like ids%s",
                         adz_text_shape(target), adz_text_shape(ids));
    }
    adz_tensor *logits = logits_of(self, ids);
    adz_status status = adz_values_add(out, "logits", logits);
    return status == ADZ_OK && judged ? adz_values_add(out, "loss", loss_of(logits, target))
                                      : status;
}

static const adz_module_type autoregressive_type = {
    .size = sizeof(adz_module_type),
    .name = "AutoregressiveModel",
    .call = autoregressive_call,
};

adz_module *adz_labml_autoregressive_model_new(
    adz_module *src_embed, adz_module *encoder, adz_module *generator)
{
    static const char *const names[] = { "src_embed", "encoder", "generator" };
    adz_module *children[] = { src_embed, encoder, generator };
    return model_new(
        "adz_labml_autoregressive_model_new", &autoregressive_type, names, children, 3);
}

/* ---- model of characters -------------------------------------------------------------------- */

ADZ_OPTIONS_INIT(adz_labml_character_model_options_init, adz_labml_character_model_options,
    ADZ_LABML_CHARACTER_MODEL_OPTIONS)

static adz_module *layer_new(const adz_labml_character_model_options *o)
{
    adz_labml_attention_options attention = ADZ_LABML_ATTENTION_OPTIONS;
    adz_feed_forward_options feed_forward = ADZ_FEED_FORWARD_OPTIONS;
    adz_labml_transformer_layer_options layer = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    attention.bias = o->attention_bias;
    attention.dropout_prob = feed_forward.dropout = o->dropout;
    attention.dtype = feed_forward.dtype = layer.dtype = o->dtype;
    attention.generator = feed_forward.generator = layer.generator = o->generator;
    adz_module *heads = adz_labml_attention_new(o->n_heads, o->d_model, &attention);
    return adz_labml_transformer_layer_new(o->d_model, heads,
        adz_feed_forward_variant_new(o->glu_variant, o->d_model, o->d_ff, &feed_forward),
        o->dropout, &layer);
}

adz_module *adz_labml_character_model_new(
    int64_t n_chars, const adz_labml_character_model_options *options)
{
    static const char op[] = "adz_labml_character_model_new";
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LABML_CHARACTER_MODEL_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "n_chars", n_chars, 1)) {
        return NULL;
    }
    adz_labml_embeddings_options embeddings = ADZ_LABML_EMBEDDINGS_OPTIONS;
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    embeddings.max_len = o.max_len;
    embeddings.dtype = linear.dtype = o.dtype;
    adz_module *embed = adz_labml_embeddings_new(o.d_model, n_chars, &embeddings);
    if (embed == NULL) {
        return NULL;
    }
    adz_module *encoder = adz_labml_encoder_new(layer_new(&o), o.n_layers);
    return adz_labml_autoregressive_model_new(
        embed, encoder, encoder == NULL ? NULL : adz_linear_new(o.d_model, n_chars, &linear));
}
