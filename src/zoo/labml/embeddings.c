/* The embeddings of the annotated transformers (labml_nn): ids[T, B] become
 *
 *     embedding(ids) * sqrt(D) + encodings[0 .. T-1]
 *
 * where the encodings[max_len, 1, D] are sines and cosines or a parameter. */
#include <math.h>

#include "adze/nn/embedding.h"
#include "adze/nn/init.h"
#include "adze/zoo/labml_transformer.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/shape.h"
#include "labml/labml.h"
#include "zoo.h"

/* True if d_model is even; false with the error recorded. Sines and cosines alternate, so the
 * features must come in pairs. */
static bool check_even(const char *op, int64_t d_model)
{
    if (d_model < 2 || d_model % 2 != 0) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "d_model is %lld, but must be even and 2 or more: sines and cosines come in pairs",
            (long long)d_model);
        return false;
    }
    return true;
}

adz_tensor *adz_labml_get_positional_encoding(int64_t d_model, int64_t max_len, adz_dtype dtype)
{
    static const char op[] = "adz_labml_get_positional_encoding";
    if (!adz_check_parameter_dtype(op, dtype) || !check_even(op, d_model) ||
        !adz_check_size(op, "max_len", max_len, 1)) {
        return NULL;
    }
    const double log_10000 = 9.210340371976182736;
    adz_tensor *channels = adz_arange(0, (double)d_model, 2, ADZ_F64);
    adz_tensor *frequencies = adz_exp(adz_mul_number(channels, -(log_10000 / (double)d_model)));
    adz_tensor *steps = adz_unsqueeze(adz_arange(0, (double)max_len, 1, ADZ_F64), 1);
    adz_tensor *angles = adz_mul(steps, frequencies);
    adz_tensor *pairs[] = { adz_sin(angles), adz_cos(angles) };
    adz_tensor *y = adz_reshape(adz_stack(pairs, 2, 2), ADZ_SHAPE(max_len, 1, d_model));
    return adz_to(y, dtype);
}

/* ---- the modules ---------------------------------------------------------------------------- */

typedef struct {
    bool learned; /* the encodings are a parameter; otherwise they are a buffer */
} embeddings_state;

static adz_tensor *encodings(const adz_module *self)
{
    const embeddings_state *state = zoo_state(self);
    return state->learned ? zoo_parameter(self, 0) : zoo_buffer(self, 0);
}

static adz_tensor *forward(adz_module *self, adz_tensor *ids)
{
    if (!adz_check_tensor(adz_module_name(self), "ids", ids)) {
        return NULL;
    }
    adz_tensor *all = encodings(self);
    if (adz_tensor_rank(ids) != 2) {
        return zoo_fail(
            adz_module_name(self), ADZ_ERR_SHAPE, "ids%s must be [T, B]", adz_text_shape(ids));
    }
    if (adz_tensor_size(ids, 0) > adz_tensor_size(all, 0)) {
        return zoo_fail(adz_module_name(self), ADZ_ERR_SHAPE,
            "ids%s has %lld positions, but max_len is %lld", adz_text_shape(ids),
            (long long)adz_tensor_size(ids, 0), (long long)adz_tensor_size(all, 0));
    }
    adz_tensor *y = adz_module_forward(zoo_child(self, 0), ids);
    y = adz_mul_number(y, sqrt((double)adz_tensor_size(all, 2)));
    return adz_add(y, adz_narrow(all, 0, 0, adz_tensor_size(ids, 0)));
}

/* Zeroes the encodings. The child, an Embedding, draws the table. */
static adz_status reset_learned(adz_module *self)
{
    adz_init_zeros_(zoo_parameter(self, 0));
    return adz_error_code();
}

static const adz_module_type fixed_type = {
    .size = sizeof(adz_module_type),
    .name = "EmbeddingsWithPositionalEncoding",
    .forward = forward,
};

static const adz_module_type learned_type = {
    .size = sizeof(adz_module_type),
    .name = "EmbeddingsWithLearnedPositionalEncoding",
    .forward = forward,
    .reset_parameters = reset_learned,
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_labml_embeddings_options, max_len, .value = 5000, ADZ_SIZE_FROM(1)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_labml_embeddings_options),
};

ADZ_OPTIONS_TABLE(adz_labml_embeddings_options, ADZ_LABML_EMBEDDINGS_OPTIONS, fields)

static bool add_encodings(
    adz_module *self, int64_t d_model, const adz_labml_embeddings_options *o, bool learned)
{
    static const char name[] = "positional_encodings";
    if (!learned) {
        adz_tensor *fixed = adz_labml_get_positional_encoding(d_model, o->max_len, o->dtype);
        return adz_module_add_buffer(self, name, fixed, true) != NULL;
    }
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(o->max_len, 1, d_model), o->dtype);
    return adz_module_add_parameter(self, name, zeros) != NULL;
}

static adz_module *embeddings_new(const char *op, int64_t d_model, int64_t n_vocab,
    const adz_labml_embeddings_options *options, bool learned)
{
    adz_labml_embeddings_options o;
    if (!adz_options_take(op, &adz_labml_embeddings_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "d_model", d_model, 1) || !(learned || check_even(op, d_model)) ||
        !adz_check_size(op, "n_vocab", n_vocab, 1)) {
        return NULL;
    }
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    table.dtype = o.dtype;
    adz_scope *scope = adz_scope_open();
    adz_module *self =
        adz_module_new(learned ? &learned_type : &fixed_type, sizeof(embeddings_state));
    bool good = self != NULL;
    if (good) {
        ((embeddings_state *)zoo_state(self))->learned = learned;
        good = adz_module_add_child(self, "linear", adz_embedding_new(n_vocab, d_model, &table)) !=
                   NULL &&
               add_encodings(self, d_model, &o, learned);
    }
    return adzi_zoo_built(scope, self, good);
}

adz_module *adz_labml_embeddings_new(
    int64_t d_model, int64_t n_vocab, const adz_labml_embeddings_options *options)
{
    return embeddings_new("adz_labml_embeddings_new", d_model, n_vocab, options, false);
}

adz_module *adz_labml_learned_embeddings_new(
    int64_t d_model, int64_t n_vocab, const adz_labml_embeddings_options *options)
{
    return embeddings_new("adz_labml_learned_embeddings_new", d_model, n_vocab, options, true);
}
