/* GPT2LMHeadModel: the stack of libadze-zoo, adz_gpt2_model_new, with the weights of a file, and a
 * head. */
#include <stdio.h>
#include <string.h>

#include "adze/ops/convert.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "adze/random.h"
#include "adze/zoo/gpt2.h"
#include "pretrained/cache.h"
#include "pretrained/gpt2.h"
#include "pretrained/families.h"

/* Each block of the stack has a mask of n_positions^2 numbers, which the file does not show. All
 * masks together may have MOST_MASKED numbers, five times as many as those of GPT-2 XL (48 layers,
 * 1024 positions). */
enum { MOST_POSITIONS = 8192, MOST_MASKED = 1 << 28 };

/* ---- the configuration ---------------------------------------------------------------------- */

typedef struct {
    int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner;
    double layer_norm_epsilon, embd_pdrop, attn_pdrop, resid_pdrop;
    bool tie_word_embeddings;
} gpt2_config;

static const adz_field rows[] = {
    MODELS_SIZE(gpt2_config, vocab_size),
    ADZ_FIELD(gpt2_config, n_positions, .value = 0, ADZ_CLOSED(1, MOST_POSITIONS),
        .hint = "the configuration says it, and each layer has a mask of its square"),
    MODELS_SIZE(gpt2_config, n_embd),
    ADZ_FIELD(gpt2_config, n_layer, .value = -1, ADZ_CLOSED(0, MODELS_MOST_LAYERS - 1),
        .hint = "the configuration says it"),
    MODELS_SIZE(gpt2_config, n_head),
    ADZ_FIELD(gpt2_config, n_inner, .value = 0, ADZ_BELOW(0, 0x1p31)),
    ADZ_FIELD(gpt2_config, layer_norm_epsilon, .value = 1e-5, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(gpt2_config, embd_pdrop, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(gpt2_config, attn_pdrop, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(gpt2_config, resid_pdrop, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(gpt2_config, tie_word_embeddings, .value = true),
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool read_config(const models_json *config, gpt2_config *c)
{
    static const char *const others[] = { "activation_function", "add_cross_attention", "n_ctx",
        "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
        "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
        "summary_use_proj", NULL };
    adz_activation activation;
    *c = (gpt2_config){ 0 };
    if (!adzi_models_config_read(config, rows, N_ROWS, c) ||
        !adzi_models_config_known(config, rows, N_ROWS, others) ||
        !adzi_models_config_activation(config, "activation_function", "gelu_new", &activation) ||
        !adzi_models_config_is_flag(config, "is_encoder_decoder", false) ||
        !adzi_models_config_is_flag(config, "add_cross_attention", false) ||
        !adzi_models_config_is_flag(config, "scale_attn_weights", true) ||
        !adzi_models_config_is_flag(config, "scale_attn_by_inverse_layer_idx", false)) {
        return false;
    }
    if (activation != ADZ_ACTIVATION_GELU_TANH) {
        const models_json entry = adzi_models_json_member(config, "activation_function");
        adzi_models_json_fail(&entry, ADZ_ERR_UNSUPPORTED, "must be \"gelu_new\" for GPT-2");
        return false;
    }
    if (c->n_embd % c->n_head != 0 || (c->n_inner != 0 && c->n_inner != 4 * c->n_embd)) {
        adzi_models_json_fail(config, ADZ_ERR_UNSUPPORTED,
            "has %lld heads and n_inner %lld for n_embd %lld: heads must divide, and n_inner be 4 n_embd",
            (long long)c->n_head, (long long)c->n_inner, (long long)c->n_embd);
        return false;
    }
    if (c->n_layer * c->n_positions * c->n_positions > MOST_MASKED) {
        adzi_models_json_fail(config, ADZ_ERR_UNSUPPORTED,
            "has n_layer %lld and n_positions %lld: the masks of all layers, n_layer n_positions^2, "
            "may have %d numbers",
            (long long)c->n_layer, (long long)c->n_positions, MOST_MASKED);
        return false;
    }
    return true;
}

/* ---- the call ------------------------------------------------------------------------------- */

enum { TRANSFORMER, LM_HEAD }; /* children */

typedef struct {
    int64_t layers, heads, width;
} lm_state;

/* The stack knows no hidden tokens besides later ones. */
static bool check_mask(adz_module *self, adz_tensor *mask, int64_t batch, int64_t keys)
{
    mask = adzi_models_key_mask(self, mask, batch, keys);
    if (mask == NULL || models_is_none(mask)) {
        return mask != NULL;
    }
    adz_tensor *least = adz_amin(adz_to(mask, ADZ_I64), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (least != NULL && adz_tensor_numel(mask) > 0 && adz_item_i64(least) == 0) {
        adz_error_format(adz_module_name(self), ADZ_ERR_UNSUPPORTED,
            "attention_mask hides tokens, which GPT-2 cannot; give sequences of one length");
        return false;
    }
    return least != NULL;
}

/* The cache of a block with the positions it has, as the stack wants it: [2, B, H, P, E]. */
static adz_tensor *past_of(adz_tensor *cache, int64_t layer, int64_t past)
{
    return adz_narrow(adz_select(cache, 0, layer), 3, 0, past);
}

/* Copies the new keys and values, which are the last ones of `present`, behind the others. */
static adz_status remember(
    adz_tensor *cache, const adz_values *from, int64_t layers, int64_t past, int64_t length)
{
    for (int64_t i = 0; i < layers; ++i) {
        adz_tensor *present = adz_values_at(from, (size_t)i + 1);
        adz_tensor *to = adz_narrow(adz_select(cache, 0, i), 3, past, length);
        if (adz_copy_(to, adz_narrow(present, 3, past, length)) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static adz_status lm_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const lm_state *state = models_state(self);
    models_cache_call cache = { .cache = adz_values_argument(in, 3, "cache"),
        .past = adz_values_argument(in, 4, "past") };
    adz_tensor *ids = adz_values_argument(in, 0, "input_ids");
    adz_tensor *mask = adz_values_argument(in, 1, "attention_mask");
    adz_tensor *positions = adz_values_argument(in, 2, "position_ids");
    if (!adzi_models_check_ids(self, "input_ids", ids)) {
        return adz_error_code();
    }
    const int64_t batch = adz_tensor_size(ids, 0), length = adz_tensor_size(ids, 1);
    const adz_shape shape = ADZ_SHAPE(state->layers, 2, batch, state->heads, 0, state->width);
    if (!adzi_models_check_cache(self, &cache, shape, length) ||
        !check_mask(self, mask, batch, cache.seen + length)) {
        return adz_error_code();
    }
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = adz_values_add(to, "input_ids", ids);
    status = status == ADZ_OK ? adz_values_add(to, "position_ids", positions) : status;
    for (int64_t i = 0; i < state->layers && cache.seen > 0 && status == ADZ_OK; ++i) {
        char name[32];
        snprintf(name, sizeof name, "past.%lld", (long long)i);
        status = adz_values_add(to, name, past_of(cache.cache, i, cache.seen));
    }
    status = status == ADZ_OK ? adz_module_call(models_child(self, TRANSFORMER), to, from) : status;
    if (status == ADZ_OK && !models_is_none(cache.cache)) {
        status = remember(cache.cache, from, state->layers, cache.seen, length);
    }
    if (status == ADZ_OK) {
        adz_tensor *h = adz_values_at(from, 0);
        adz_tensor *kept = adzi_models_kept(self, in, 5, h);
        status = adz_values_add(out, "logits", adzi_models_forward(self, LM_HEAD, kept));
        status = status == ADZ_OK ? adz_values_add(out, "last_hidden_state", h) : status;
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

static const adz_module_type lm_type = {
    .size = sizeof(adz_module_type), .name = "GPT2LMHeadModel", .call = lm_call
};

bool adzi_models_is_gpt2(const adz_module *module)
{
    return adz_module_type_of(module) == &lm_type;
}

adz_shape adzi_models_gpt2_cache_shape(const adz_module *module, int64_t batch, int64_t capacity)
{
    const lm_state *state = models_state(module);
    return ADZ_SHAPE(state->layers, 2, batch, state->heads, capacity, state->width);
}

/* ---- building ------------------------------------------------------------------------------- */

/* Whether the file has all weights of the stack, so that it has shown their memory before it is
 * asked for. */
static bool check_weights(models_weights *w, const char *body, const gpt2_config *c)
{
    const int64_t n = c->n_embd;
    const struct {
        const char *name;
        adz_shape weight, bias;
    } parts[] = { { "ln_1", ADZ_SHAPE(n), ADZ_SHAPE(n) },
        { "attn.c_attn", ADZ_SHAPE(n, 3 * n), ADZ_SHAPE(3 * n) },
        { "attn.c_proj", ADZ_SHAPE(n, n), ADZ_SHAPE(n) }, { "ln_2", ADZ_SHAPE(n), ADZ_SHAPE(n) },
        { "mlp.c_fc", ADZ_SHAPE(n, 4 * n), ADZ_SHAPE(4 * n) },
        { "mlp.c_proj", ADZ_SHAPE(4 * n, n), ADZ_SHAPE(n) } };
    char path[MODELS_NAME], layer[MODELS_NAME];
    bool good =
        adzi_models_check_weight(
            w, adzi_models_join(path, body, "wte"), "weight", ADZ_SHAPE(c->vocab_size, n)) &&
        adzi_models_check_weight(
            w, adzi_models_join(path, body, "wpe"), "weight", ADZ_SHAPE(c->n_positions, n)) &&
        adzi_models_check_weight(w, adzi_models_join(path, body, "ln_f"), "weight", ADZ_SHAPE(n)) &&
        adzi_models_check_weight(w, adzi_models_join(path, body, "ln_f"), "bias", ADZ_SHAPE(n));
    for (int64_t i = 0; i < c->n_layer && good; ++i) {
        char number[32];
        snprintf(number, sizeof number, "h.%lld", (long long)i);
        adzi_models_join(layer, body, number);
        for (size_t k = 0; k < sizeof parts / sizeof *parts && good; ++k) {
            adzi_models_join(path, layer, parts[k].name);
            good = adzi_models_check_weight(w, path, "weight", parts[k].weight) &&
                   adzi_models_check_weight(w, path, "bias", parts[k].bias);
        }
    }
    return good;
}

/* Replaces the parameters of a module and of those below it by the weights of the file. */
static bool replace(models_weights *w, adz_module *module, const char *path)
{
    for (size_t i = 0; i < adz_module_parameter_count(module); ++i) {
        adz_tensor *own = adz_module_parameter_at(module, i);
        const char *name = adz_module_parameter_name_at(module, i);
        const bool stored = (adz_module_type_of(module)->half_parameters >> i & 1) != 0;
        adz_tensor *t = models_is_none(own) ? own
                        : stored ? adzi_models_take_stored(w, path, name, adz_tensor_shape(own))
                                 : adzi_models_take(w, path, name, adz_tensor_shape(own));
        if (t == NULL ||
            (!models_is_none(own) && adz_module_set_parameter(module, name, t) == NULL)) {
            return false;
        }
    }
    bool good = true;
    for (size_t i = 0; i < adz_module_child_count(module) && good; ++i) {
        char below[MODELS_NAME];
        adzi_models_join(below, path, adz_module_child_name_at(module, i));
        good = replace(w, adz_module_child_at(module, i), below);
    }
    return good;
}

/* The stack. Its constructor draws weights, which leaves no trace in the default generator. */
static adz_module *stack_new(models_weights *w, const char *body, const gpt2_config *c)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = c->vocab_size;
    o.n_positions = o.n_ctx = c->n_positions;
    o.n_embd = c->n_embd;
    o.n_layer = c->n_layer;
    o.n_head = c->n_head;
    o.layer_norm_epsilon = c->layer_norm_epsilon;
    o.embd_pdrop = c->embd_pdrop;
    o.attn_pdrop = c->attn_pdrop;
    o.resid_pdrop = c->resid_pdrop;
    o.dtype = w->dtype;
    adz_generator *generator = adz_default_generator();
    const adz_generator_state before = adz_generator_get_state(generator);
    adz_module *stack = adz_gpt2_model_new(&o);
    adz_generator_set_state(generator, before);
    return adzi_models_or_free(stack != NULL && replace(w, stack, body), stack);
}

static adz_module *build(models_weights *w, const models_json *config, const char *architecture)
{
    gpt2_config c;
    (void)architecture;
    if (!read_config(config, &c)) {
        return NULL;
    }
    /* The files of the first models have the names of the stack alone. */
    const char *body = adzi_models_has(w, "wte", "weight") ? "" : "transformer";
    if (!check_weights(w, body, &c)) {
        return NULL;
    }
    adz_module *stack = stack_new(w, body, &c);
    adz_module *self = stack != NULL ? adz_module_new(&lm_type, sizeof(lm_state)) : NULL;
    if (self == NULL) {
        adz_module_release(&stack);
        return NULL;
    }
    *(lm_state *)models_state(self) = (lm_state){ c.n_layer, c.n_head, c.n_embd / c.n_head };
    adz_tensor *table = adz_module_get_parameter(stack, "wte.weight");
    const bool good =
        adzi_models_add(self, "transformer", stack) &&
        adzi_models_add(self, "lm_head", adzi_models_head(w, table, c.tie_word_embeddings));
    return adzi_models_or_free(good, self);
}

/* The masks of the blocks, which are buffers of old files. */
static bool ignored(const char *name)
{
    return adzi_models_ends_in(name, ".attn.bias") ||
           adzi_models_ends_in(name, ".attn.masked_bias");
}

const models_family adzi_models_gpt2[] = {
    { "gpt2", (const char *const[]){ "GPT2LMHeadModel", NULL }, build, ignored },
    { .model_type = NULL },
};
