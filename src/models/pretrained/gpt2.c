/* GPT2LMHeadModel: the stack of libadze-zoo, adz_gpt2_model_new, with the weights of a file, and a
 * head. */
#include <stdio.h>
#include <string.h>

#include "adze/nn/containers.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/shape.h"
#include "adze/zoo/gpt2.h"
#include "pretrained/cache.h"
#include "pretrained/gpt2.h"
#include "pretrained/families.h"

/* ---- the configuration ---------------------------------------------------------------------- */

typedef struct {
    int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner;
    double layer_norm_epsilon, embd_pdrop, attn_pdrop, resid_pdrop;
    bool tie_word_embeddings;
} gpt2_config;

static const adz_field rows[] = {
    MODELS_SIZE(gpt2_config, vocab_size),
    MODELS_SIZE(gpt2_config, n_positions),
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
    return true;
}

/* ---- the call ------------------------------------------------------------------------------- */

enum { TRANSFORMER, LM_HEAD }; /* children */

typedef struct {
    int64_t layers, heads, width;
} lm_state;

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
    if (!adzi_models_check_cache(self, &cache, shape, length)) {
        return adz_error_code();
    }
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = adz_values_add(to, "input_ids", ids);
    status = status == ADZ_OK ? adz_values_add(to, "position_ids", positions) : status;
    status = status == ADZ_OK ? adz_values_add(to, "attention_mask", mask) : status;
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

/* Parts of a block with weights: a Conv1D from `in` to `out` times n_embd features, or a norm of
 * n_embd features, whose `in` is 0. */
static const struct {
    const char *name;
    int64_t in, out;
} parts[] = { { "ln_1", 0, 1 }, { "attn.c_attn", 1, 3 }, { "attn.c_proj", 1, 1 }, { "ln_2", 0, 1 },
    { "mlp.c_fc", 1, 4 }, { "mlp.c_proj", 4, 1 } };

/* Gives a Conv1D or a norm its weights PATH.weight and PATH.bias[out]; `in` is 0 for a norm. */
static bool fill_part(
    models_weights *w, adz_module *part, const char *path, int64_t in, int64_t out)
{
    if (part == NULL) {
        return false;
    }
    adz_tensor *weight = in > 0 ? adzi_models_take_stored(w, path, "weight", ADZ_SHAPE(in, out))
                                : adzi_models_take(w, path, "weight", ADZ_SHAPE(out));
    adz_tensor *bias = weight != NULL ? adzi_models_take(w, path, "bias", ADZ_SHAPE(out)) : NULL;
    return bias != NULL && adz_module_set_parameter(part, "weight", weight) != NULL &&
           adz_module_set_parameter(part, "bias", bias) != NULL;
}

/* A block of the weights PATH.ln_1.weight and so on. */
static adz_module *block_new(models_weights *w, const char *path, const adz_gpt2_options *o)
{
    adz_module *block = adz_gpt2_block_new(o->n_ctx, true, o);
    char at[MODELS_NAME];
    bool good = block != NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && good; ++i) {
        good = fill_part(w, adz_module_get_child(block, parts[i].name),
            adzi_models_join(at, path, parts[i].name), parts[i].in * o->n_embd,
            parts[i].out * o->n_embd);
    }
    return adzi_models_or_free(good, block);
}

/* A table PATH.NAME.weight[count, n_embd]. */
static adz_module *table_new(
    models_weights *w, const char *path, const char *name, int64_t count, const adz_gpt2_options *o)
{
    char at[MODELS_NAME];
    return adzi_models_table(w, adzi_models_join(at, path, name), count, o->n_embd, ADZ_NO_PADDING);
}

/* The stack with `layers` blocks. It is made without blocks and weights, and gets each when the
 * file has shown those before it. */
static adz_module *stack_new(
    models_weights *w, const char *body, const adz_gpt2_options *o, int64_t layers)
{
    char path[MODELS_NAME], number[32];
    adz_module *wte = table_new(w, body, "wte", o->vocab_size, o);
    adz_module *stack = wte != NULL ? adz_gpt2_model_new(o) : NULL;
    if (stack == NULL) {
        adz_module_release(&wte);
        return NULL;
    }
    bool good =
        adz_module_set_child(stack, "wte", wte) != NULL &&
        adz_module_set_child(stack, "wpe", table_new(w, body, "wpe", o->n_positions, o)) != NULL;
    adz_module *blocks = adz_module_get_child(stack, "h");
    for (int64_t i = 0; i < layers && good; ++i) {
        snprintf(number, sizeof number, "h.%lld", (long long)i);
        adz_module *block = block_new(w, adzi_models_join(path, body, number), o);
        good = block != NULL && adz_module_list_append(blocks, block) != NULL;
    }
    adzi_models_join(path, body, "ln_f");
    good = good && fill_part(w, adz_module_get_child(stack, "ln_f"), path, 0, o->n_embd);
    return adzi_models_or_free(good, stack);
}

static adz_gpt2_options options_of(const gpt2_config *c, adz_dtype dtype)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = c->vocab_size;
    o.n_positions = o.n_ctx = c->n_positions;
    o.n_embd = c->n_embd;
    o.n_layer = 0;
    o.n_head = c->n_head;
    o.layer_norm_epsilon = c->layer_norm_epsilon;
    o.embd_pdrop = c->embd_pdrop;
    o.attn_pdrop = c->attn_pdrop;
    o.resid_pdrop = c->resid_pdrop;
    o.dtype = dtype;
    o.skip_init = true;
    return o;
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
    const adz_gpt2_options o = options_of(&c, w->dtype);
    adz_module *stack = stack_new(w, body, &o, c.n_layer);
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
