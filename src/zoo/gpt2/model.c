/* GPT2Model, the stack of blocks with its embeddings, and GPT2LMHeadModel, which adds the decoder
 * and the loss. */
#include <string.h>

#include "adze/nn/containers.h"
#include "adze/nn/dropout.h"
#include "adze/nn/embedding.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/loss.h"
#include "adze/ops/shape.h"
#include "gpt2/gpt2.h"
#include "zoo.h"

static const adz_field fields[] = {
    ADZ_FIELD(adz_gpt2_options, vocab_size, .value = 50257, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_gpt2_options, n_positions, .value = 1024, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_gpt2_options, n_ctx, .value = 1024, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_gpt2_options, n_embd, .value = 768, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_gpt2_options, n_layer, .value = 12, ADZ_CLOSED(0, ZOO_MOST_LAYERS)),
    ADZ_FIELD(adz_gpt2_options, n_head, .value = 12),
    ADZ_FIELD(adz_gpt2_options, layer_norm_epsilon, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_gpt2_options),
    ADZ_FIELD(adz_gpt2_options, embd_pdrop, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_gpt2_options, attn_pdrop, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_gpt2_options, resid_pdrop, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_gpt2_options, skip_init, .value = false),
};

ADZ_OPTIONS_TABLE(adz_gpt2_options, ADZ_GPT2_OPTIONS, fields)

bool adzi_gpt2_options(const char *op, adz_gpt2_options *o, const adz_gpt2_options *options)
{
    return adz_options_take(op, &adz_gpt2_options_table, o, options);
}

/* ---- the stack ------------------------------------------------------------------------------ */

enum { WTE, WPE, H, LN_F, DROP }; /* children; DROP only if embd_pdrop is above 0 */

/* Reshapes ids[..., T] to [B, T]. NULL passes through. */
static adz_tensor *flat(adz_tensor *ids)
{
    return ids == NULL ? NULL : adz_reshape(ids, ADZ_SHAPE(-1, adz_tensor_size(ids, -1)));
}

/* The past of block i among the arguments: the one called "past.i", or the unnamed one at position
 * `first` + i. */
static adz_tensor *past_of(const adz_values *in, size_t first, size_t i)
{
    char name[32];
    snprintf(name, sizeof name, "past.%zu", i);
    return adz_values_argument(in, first + i, name);
}

/* The number of positions in the past; -1 with the error recorded. */
static int64_t past_length(adz_module *self, const adz_values *in, size_t layers)
{
    const char *op = adz_module_name(self);
    adz_tensor *first = past_of(in, 3, 0);
    for (size_t i = 0; i < layers; ++i) {
        adz_tensor *past = past_of(in, 3, i);
        if (past == NULL || zoo_is_none(past) != zoo_is_none(first)) {
            adz_error_format(op, ADZ_ERR_ARGUMENT,
                "past.%zu is %s: give the past of all %zu blocks or none", i,
                zoo_is_none(past) ? "left out" : "given, unlike past.0", layers);
            return -1;
        }
        if (!zoo_is_none(past) && adz_tensor_rank(past) != 5) {
            adz_error_format(
                op, ADZ_ERR_SHAPE, "past.%zu%s must be [2, B, H, P, D/H]", i, adz_text_shape(past));
            return -1;
        }
    }
    return layers > 0 && !zoo_is_none(first) ? adz_tensor_size(first, 3) : 0;
}

static bool check_ids(adz_module *self, const char *name, const adz_tensor *ids)
{
    if (!adz_check_tensor(adz_module_name(self), name, ids)) {
        return false;
    }
    if (adz_tensor_rank(ids) < 1) {
        adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE, "%s%s must be [..., T]", name,
            adz_text_shape(ids));
        return false;
    }
    return true;
}

/* The positions past .. past + T - 1 as i64[T]; NULL with the error recorded. */
static adz_tensor *count_positions(adz_module *self, const adz_tensor *ids, int64_t past)
{
    int64_t n = adz_tensor_size(ids, -1);
    int64_t most = adz_tensor_size(zoo_parameter(zoo_child(self, WPE), 0), 0);
    if (past + n > most) {
        return zoo_fail(adz_module_name(self), ADZ_ERR_SHAPE,
            "input_ids%s after a past of %lld makes %lld positions, but n_positions is %lld",
            adz_text_shape(ids), (long long)past, (long long)(past + n), (long long)most);
    }
    return adz_arange((double)past, (double)(past + n), 1, ADZ_I64);
}

/* The sum of the embeddings of tokens, positions and, if given, token types: [B, T, D]. Types are
 * looked up in the table of the tokens, as in the original code. */
static adz_tensor *embed(adz_module *self, const adz_values *in, adz_tensor *ids, int64_t past)
{
    adz_module *wte = zoo_child(self, WTE), *wpe = zoo_child(self, WPE);
    adz_tensor *positions = adz_values_argument(in, 1, "position_ids");
    adz_tensor *types = adz_values_argument(in, 2, "token_type_ids");
    adz_tensor *h = adz_module_forward(wte, flat(ids));
    if (zoo_is_none(positions)) {
        h = adz_add(h, adz_module_forward(wpe, count_positions(self, ids, past)));
    } else if (check_ids(self, "position_ids", positions)) {
        h = adz_add(h, adz_module_forward(wpe, flat(positions)));
    } else {
        return NULL;
    }
    if (zoo_is_none(types)) {
        return h;
    }
    return check_ids(self, "token_type_ids", types)
               ? adz_add(h, adz_module_forward(wte, flat(types)))
               : NULL;
}

/* The mask of tokens, [..., P + T] for ids[..., T], as the bool mask [B, 1, 1, P + T] of attention.
 * ADZ_NONE stays; NULL with the error recorded. */
static adz_tensor *key_mask(adz_module *self, adz_tensor *mask, const adz_tensor *ids, int64_t past)
{
    static const char argument[] = "attention_mask";
    const char *op = adz_module_name(self);
    if (zoo_is_none(mask)) {
        return mask;
    }
    if (!adz_check_tensor(op, argument, mask)) {
        return NULL;
    }
    adz_shape wanted = adz_tensor_shape(ids);
    wanted.sizes[wanted.rank - 1] += past;
    const adz_shape own = adz_tensor_shape(mask);
    if (own.rank != wanted.rank ||
        memcmp(own.sizes, wanted.sizes, (size_t)own.rank * sizeof *own.sizes) != 0) {
        return zoo_fail(op, ADZ_ERR_SHAPE,
            "%s%s does not fit input_ids%s after a past of %lld: it has one element for each of %lld positions",
            argument, adz_text_shape(mask), adz_text_shape(ids), (long long)past,
            (long long)wanted.sizes[wanted.rank - 1]);
    }
    mask = adz_tensor_dtype(mask) == ADZ_BOOL ? mask : adz_ne_number(mask, 0);
    return mask == NULL ? NULL
                        : adz_reshape(mask, ADZ_SHAPE(-1, 1, 1, wanted.sizes[wanted.rank - 1]));
}

/* Calls block i with h, its past and the mask of tokens. Returns the new h and appends present.i to
 * `out`; NULL with the error recorded. */
static adz_tensor *run_block(adz_module *block, adz_tensor *const *given, size_t i, adz_values *out)
{
    static const char *const names[] = { "", "past", "attention_mask" };
    adz_values *to = adz_values_new(), *from = adz_values_new();
    char name[32];
    snprintf(name, sizeof name, "present.%zu", i);
    bool good = true;
    for (size_t k = 0; k < 3 && good; ++k) {
        good = adz_values_add(to, names[k], given[k]) == ADZ_OK;
    }
    good = good && adz_module_call(block, to, from) == ADZ_OK &&
           adz_values_add(out, name, adz_values_at(from, 1)) == ADZ_OK;
    adz_tensor *h = good ? adz_values_at(from, 0) : NULL;
    adz_values_free(&to);
    adz_values_free(&from);
    return h;
}

/* Reshapes h[B, T, D] to the shape of the ids with D appended. NULL passes through. */
static adz_tensor *unflatten(adz_tensor *h, const adz_tensor *ids)
{
    adz_shape shape = adz_tensor_shape(ids);
    if (shape.rank == ADZ_MAX_RANK) {
        return zoo_fail("GPT2Model", ADZ_ERR_SHAPE, "input_ids%s leaves no dimension for features",
            adz_text_shape(ids));
    }
    shape.sizes[shape.rank++] = adz_tensor_size(h, 2);
    return adz_reshape(h, shape);
}

static adz_status model_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_module *blocks = zoo_child(self, H);
    const size_t layers = adz_module_child_count(blocks);
    adz_tensor *ids = adz_values_argument(in, 0, "input_ids");
    int64_t past = check_ids(self, "input_ids", ids) ? past_length(self, in, layers) : -1;
    adz_tensor *mask =
        past >= 0 ? key_mask(self, adz_values_argument(in, 3 + layers, "attention_mask"), ids, past)
                  : NULL;
    adz_tensor *h = mask != NULL ? embed(self, in, ids, past) : NULL;
    if (h != NULL && adz_module_child_count(self) > DROP) {
        h = adz_module_forward(zoo_child(self, DROP), h);
    }
    adz_values *presents = adz_values_new();
    for (size_t i = 0; i < layers && h != NULL; ++i) {
        adz_tensor *const given[] = { h, past_of(in, 3, i), mask };
        h = run_block(zoo_child(blocks, i), given, i, presents);
    }
    h = h != NULL ? unflatten(adz_module_forward(zoo_child(self, LN_F), h), ids) : NULL;
    adz_status status = adz_values_add(out, "", h);
    if (status == ADZ_OK) {
        status = adzi_zoo_append(out, presents, 0);
    }
    adz_values_free(&presents);
    return status;
}

static const adz_module_type model_type = {
    .size = sizeof(adz_module_type),
    .name = "GPT2Model",
    .call = model_call,
};

static adz_module *blocks_new(const adz_gpt2_options *o)
{
    adz_module *list = adz_module_list_new(NULL, 0);
    for (int64_t i = 0; i < o->n_layer && list != NULL; ++i) {
        if (adz_module_list_append(list, adz_gpt2_block_new(o->n_ctx, true, o)) == NULL) {
            adz_module_release(&list);
        }
    }
    return list;
}

/* Adds a table of `rows` tokens or positions, which has no elements with skip_init. */
static bool add_table(adz_module *self, const char *name, int64_t rows, const adz_gpt2_options *o)
{
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    table.dtype = o->dtype;
    return adz_module_add_child(self, name,
               o->skip_init ? adz_embedding_new(0, 0, &table)
                            : adz_embedding_new(rows, o->n_embd, &table)) != NULL;
}

static bool add_drop(adz_module *self, const adz_gpt2_options *o)
{
    adz_dropout_options d = ADZ_DROPOUT_OPTIONS;
    d.generator = o->generator;
    return o->embd_pdrop == 0 ||
           adz_module_add_child(self, "drop", adz_dropout_new(o->embd_pdrop, &d)) != NULL;
}

adz_module *adz_gpt2_model_new(const adz_gpt2_options *options)
{
    adz_gpt2_options o;
    if (!adzi_gpt2_options("adz_gpt2_model_new", &o, options) ||
        !adzi_gpt2_check_heads("adz_gpt2_model_new", o.n_embd, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&model_type, 0);
    bool good = self != NULL && add_table(self, "wte", o.vocab_size, &o) &&
                add_table(self, "wpe", o.n_positions, &o) &&
                adz_module_add_child(self, "h", blocks_new(&o)) != NULL &&
                adzi_gpt2_add_norm(self, "ln_f", &o) && add_drop(self, &o);
    return adzi_zoo_or_free(good, self);
}

/* ---- the language model --------------------------------------------------------------------- */

enum { TRANSFORMER, LM_HEAD }; /* children */

static adz_tensor *head_forward(adz_module *self, adz_tensor *h)
{
    return adz_module_forward(zoo_child(self, 0), h);
}

static const adz_module_type head_type = {
    .size = sizeof(adz_module_type),
    .name = "GPT2LMHead",
    .forward = head_forward,
};

/* Mean cross entropy over all positions whose label is not -1. */
static adz_tensor *loss_of(adz_tensor *logits, adz_tensor *labels)
{
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.ignore_index = -1;
    adz_tensor *rows = adz_reshape(logits, ADZ_SHAPE(-1, adz_tensor_size(logits, -1)));
    return adz_cross_entropy(rows, adz_reshape(labels, ADZ_SHAPE(-1)), ADZ_NONE, &o);
}

/* Copies the arguments of the language model to `to`, without the labels. */
static adz_status stack_arguments(adz_module *self, const adz_values *in, adz_values *to)
{
    static const char *const names[] = { "input_ids", "position_ids", "token_type_ids" };
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < 3 && status == ADZ_OK; ++i) {
        status = adz_values_add(to, names[i], adz_values_argument(in, i, names[i]));
    }
    size_t layers = adz_module_child_count(zoo_child(zoo_child(self, TRANSFORMER), H));
    for (size_t i = 0; i < layers && status == ADZ_OK; ++i) {
        char name[32];
        snprintf(name, sizeof name, "past.%zu", i);
        status = adz_values_add(to, name, past_of(in, 4, i));
    }
    if (status == ADZ_OK) {
        static const char mask[] = "attention_mask";
        status = adz_values_add(to, mask, adz_values_argument(in, 4 + layers, mask));
    }
    return status;
}

static adz_status lm_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *labels = adz_values_argument(in, 3, "lm_labels");
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = stack_arguments(self, in, to);
    if (status == ADZ_OK) {
        status = adz_module_call(zoo_child(self, TRANSFORMER), to, from);
    }
    if (status == ADZ_OK) {
        adz_tensor *logits = adz_module_forward(zoo_child(self, LM_HEAD), adz_values_at(from, 0));
        status = zoo_is_none(labels) ? adz_values_add(out, "logits", logits)
                                     : adz_values_add(out, "loss", loss_of(logits, labels));
    }
    if (status == ADZ_OK && zoo_is_none(labels)) {
        status = adzi_zoo_append(out, from, 1);
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

/* Draws the table of the tokens once more. The children are drawn before their parent, and the
 * decoder has just overwritten the table, which is its weight. */
static adz_status lm_reset(adz_module *self)
{
    return adz_module_reset_parameters(zoo_child(zoo_child(self, TRANSFORMER), WTE));
}

static const adz_module_type lm_type = {
    .size = sizeof(adz_module_type),
    .name = "GPT2LMHeadModel",
    .call = lm_call,
    .reset_parameters = lm_reset,
};

/* The head. Its linear layer is made with no features, so that no weight is drawn, and then gets
 * the table as its weight. */
static adz_module *head_new(adz_tensor *table)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    adz_module *self = adz_module_new(&head_type, 0);
    adz_module *decoder =
        self != NULL ? adz_module_add_child(self, "decoder", adz_linear_new(0, 0, &o)) : NULL;
    if (decoder == NULL || adz_module_set_parameter(decoder, "weight", table) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

adz_module *adz_gpt2_lm_head_model_new(const adz_gpt2_options *options)
{
    static const char op[] = "adz_gpt2_lm_head_model_new";
    adz_gpt2_options o;
    if (!adzi_gpt2_options(op, &o, options) || !adzi_gpt2_check_heads(op, o.n_embd, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&lm_type, 0);
    adz_module *stack = adz_module_add_child(self, "transformer", adz_gpt2_model_new(&o));
    adz_module *head = head_new(zoo_parameter(zoo_child(stack, WTE), 0));
    return adzi_zoo_or_free(adz_module_add_child(self, "lm_head", head) != NULL, self);
}
