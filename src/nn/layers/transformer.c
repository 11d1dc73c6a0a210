/* TransformerEncoder and TransformerDecoder, stacks of layers with a norm behind them, and the
 * Transformer, which joins both: y = decoder(tgt, encoder(src)). */
#include "nn/layers/transformer.h"

#include <math.h>
#include <stdio.h>

#include "adze/nn/containers.h"
#include "adze/nn/init.h"
#include "adze/options.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "ops/activation/activation_table.h"

/* ---- stacks --------------------------------------------------------------------------------- */

enum { LAYERS, NORM }; /* children of a stack; there may be no norm */

/* Calls the layers one after the other. list->items[0] is x, the others stay as they are. */
static adz_tensor *run_layers(const adz_module *self, adzi_arguments *list)
{
    const adz_module *layers = adzi_child_at(self, LAYERS);
    adz_tensor *x = list->items[0].tensor;
    for (size_t i = 0; i < layers->n_children && x != NULL; ++i) {
        list->items[0].tensor = x;
        x = adz_module_call_named(adzi_child_at(layers, i), list->items, list->count, NULL);
    }
    adz_module *norm = adzi_optional_child(self, NORM, "norm");
    return x != NULL && norm != NULL ? adz_module_forward(norm, x) : x;
}

/* An argument of a stack's call, and the name under which the layers get it. "" is the argument by
 * position, which is not optional. */
typedef struct {
    const char *name, *of_layer;
} stack_argument;

static adz_status call_stack(adz_module *self, const stack_argument *arguments, size_t n,
    const adz_values *in, adz_values *out)
{
    adzi_arguments list = { .count = 0 };
    for (size_t i = 0; i < n; ++i) {
        adz_tensor *t;
        if (!adzi_take_argument(self, in, i, arguments[i].name, &t) ||
            (arguments[i].of_layer[0] == '\0' &&
                !adzi_check_tensor(self->type.name, arguments[i].name, t))) {
            return adz_error_code();
        }
        adzi_argument(&list, arguments[i].of_layer, t);
    }
    return adz_values_add(out, "", run_layers(self, &list));
}

static adz_status encoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const stack_argument arguments[] = { { "src", "" }, { "mask", "src_mask" },
        { "src_key_padding_mask", "src_key_padding_mask" } };
    return call_stack(self, arguments, sizeof arguments / sizeof *arguments, in, out);
}

static adz_status decoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const stack_argument arguments[] = { { "tgt", "" }, { "memory", "" },
        { "tgt_mask", "tgt_mask" }, { "memory_mask", "memory_mask" },
        { "tgt_key_padding_mask", "tgt_key_padding_mask" },
        { "memory_key_padding_mask", "memory_key_padding_mask" } };
    return call_stack(self, arguments, sizeof arguments / sizeof *arguments, in, out);
}

static const adz_module_type encoder_type = {
    .size = sizeof(adz_module_type), .name = "TransformerEncoder", .call = encoder_call
};
static const adz_module_type decoder_type = {
    .size = sizeof(adz_module_type), .name = "TransformerDecoder", .call = decoder_call
};

/* A ModuleList of copies of a layer. */
static adz_module *copies(adz_module *layer, int64_t count)
{
    adz_module *list = adz_module_list_new(NULL, 0);
    bool good = list != NULL;
    for (int64_t i = 0; i < count && good; ++i) {
        good = adz_module_list_append(list, adz_module_copy(layer)) != NULL;
    }
    if (!good) {
        adz_module_release(&list);
    }
    return list;
}

/* Checks the arguments of a stack's constructor. */
static bool check_stack(const char *op, const adz_module *layer, int64_t num_layers)
{
    if (!adzi_check_module(op, "layer", layer) ||
        !adz_check_size(op, "num_layers", num_layers, 0)) {
        return false;
    }
    if (adzi_module_refs_of_callers(layer) < 1) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "layer, a %s, belongs to another module; hand over a reference of your own with adz_module_keep",
            layer->type.name);
        return false;
    }
    return true;
}

/* Takes over the references to `layer` and `norm` in every case. */
static adz_module *stack_new(const char *op, const adz_module_type *type, adz_module *layer,
    int64_t num_layers, adz_module *norm)
{
    adz_module *self = NULL;
    bool good = check_stack(op, layer, num_layers);
    if (good) {
        self = adz_module_new(type, 0);
        good =
            self != NULL && adz_module_add_child(self, "layers", copies(layer, num_layers)) != NULL;
    }
    adzi_module_give_back(layer);
    if (good && norm != NULL) {
        good = adz_module_add_child(self, "norm", norm) != NULL;
    } else {
        adzi_module_give_back(norm);
    }
    if (!good) {
        adz_module_release(&self);
    }
    return self;
}

adz_module *adz_transformer_encoder_new(adz_module *layer, int64_t num_layers, adz_module *norm)
{
    return stack_new("adz_transformer_encoder_new", &encoder_type, layer, num_layers, norm);
}

adz_module *adz_transformer_decoder_new(adz_module *layer, int64_t num_layers, adz_module *norm)
{
    return stack_new("adz_transformer_decoder_new", &decoder_type, layer, num_layers, norm);
}

/* ---- Transformer ---------------------------------------------------------------------------- */

enum { ENCODER, DECODER }; /* children of a Transformer */

/* The arguments of the constructor. They are not kept. */
typedef struct {
    adz_transformer_options o;
    int64_t d_model, nhead;
} transformer_arguments;

static const adz_field fields[] = {
    ADZ_FIELD(transformer_arguments, d_model, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(transformer_arguments, nhead, ADZ_SIZE_FROM(1)),
    ADZI_TRANSFORMER_FIELDS(adz_transformer_options),
    ADZ_FIELD(adz_transformer_options, tgt_is_causal, .value = false),
    ADZ_FIELD(adz_transformer_options, memory_is_causal, .value = false),
    ADZ_FIELD(adz_transformer_options, src_is_causal, .value = false),
    ADZ_FIELD(adz_transformer_options, num_encoder_layers, .value = 6, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_transformer_options, num_decoder_layers, .value = 6, ADZ_SIZE_FROM(0)),
};

ADZ_OPTIONS_TABLE(adz_transformer_options, ADZ_TRANSFORMER_OPTIONS, fields)

static adz_tensor *encode(const adz_module *self, adz_tensor *src, adz_tensor *const *masks)
{
    adzi_arguments list = { .count = 0 };
    adzi_argument(&list, "", src);
    adzi_argument(&list, "mask", masks[0]);
    adzi_argument(&list, "src_key_padding_mask", masks[3]);
    return adz_module_call_named(adzi_child_at(self, ENCODER), list.items, list.count, NULL);
}

static adz_tensor *decode(
    const adz_module *self, adz_tensor *tgt, adz_tensor *memory, adz_tensor *const *masks)
{
    adzi_arguments list = { .count = 0 };
    adzi_argument(&list, "", tgt);
    adzi_argument(&list, "", memory);
    adzi_argument(&list, "tgt_mask", masks[1]);
    adzi_argument(&list, "memory_mask", masks[2]);
    adzi_argument(&list, "tgt_key_padding_mask", masks[4]);
    adzi_argument(&list, "memory_key_padding_mask", masks[5]);
    return adz_module_call_named(adzi_child_at(self, DECODER), list.items, list.count, NULL);
}

static adz_status transformer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const char *const names[] = { "src_mask", "tgt_mask", "memory_mask",
        "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask" };
    enum { MASKS = sizeof names / sizeof *names };
    adz_tensor *masks[MASKS], *src, *tgt;
    bool good = adzi_take_argument(self, in, 0, "src", &src) &&
                adzi_take_argument(self, in, 1, "tgt", &tgt);
    for (size_t i = 0; i < MASKS && good; ++i) {
        good = adzi_take_argument(self, in, i + 2, names[i], &masks[i]);
    }
    if (!good || !adzi_check_tensor(self->type.name, "src", src) ||
        !adzi_check_tensor(self->type.name, "tgt", tgt)) {
        return adz_error_code();
    }
    adz_tensor *memory = encode(self, src, masks);
    return adz_values_add(out, "", memory == NULL ? NULL : decode(self, tgt, memory, masks));
}

/* Draws all parameters of two or more dimensions, whatever their own modules have drawn before. */
static adz_status reset_parameters(adz_module *self)
{
    const adz_tensor_list all = adz_module_parameters(self);
    if (all.count == 0) { /* custom parts may have none, or memory was refused */
        return adz_error_code();
    }
    for (size_t i = 0; i < all.count; ++i) {
        if (all.items[i]->rank > 1 && adz_init_xavier_uniform_(all.items[i], 1, NULL) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static const adz_module_type transformer_type = {
    .size = sizeof(adz_module_type),
    .name = "Transformer",
    .call = transformer_call,
    .reset_parameters = reset_parameters,
};

/* Copies the options that layers and transformer have in common. */
#define COPY_COMMON(to, from)                                    \
    do {                                                         \
        (to)->dim_feedforward = (from)->dim_feedforward;         \
        (to)->dropout = (from)->dropout;                         \
        (to)->activation = (from)->activation;                   \
        (to)->layer_norm_eps = (from)->layer_norm_eps;           \
        (to)->batch_first = (from)->batch_first;                 \
        (to)->norm_first = (from)->norm_first;                   \
        (to)->bias = (from)->bias;                               \
        (to)->dtype = (from)->dtype;                             \
        (to)->generator = (from)->generator;                     \
        (to)->activation_function = (from)->activation_function; \
        (to)->activation_module = (from)->activation_module;     \
    } while (0)

static adz_module *norm_of(const transformer_arguments *a)
{
    return adzi_transformer_norm_new(a->d_model, a->o.layer_norm_eps, a->o.bias, a->o.dtype);
}

static adz_module *encoder_of(const transformer_arguments *a)
{
    if (a->o.custom_encoder != NULL) {
        return adz_module_keep(a->o.custom_encoder);
    }
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    COPY_COMMON(&o, &a->o);
    o.is_causal = a->o.src_is_causal;
    adz_module *layer = adz_transformer_encoder_layer_new(a->d_model, a->nhead, &o);
    adz_module *norm = layer != NULL ? norm_of(a) : NULL;
    if (norm == NULL) { /* which the stack would take for a stack without a norm */
        adz_module_release(&layer);
        return NULL;
    }
    return adz_transformer_encoder_new(layer, a->o.num_encoder_layers, norm);
}

static adz_module *decoder_of(const transformer_arguments *a)
{
    if (a->o.custom_decoder != NULL) {
        return adz_module_keep(a->o.custom_decoder);
    }
    adz_transformer_decoder_layer_options o = ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS;
    COPY_COMMON(&o, &a->o);
    o.tgt_is_causal = a->o.tgt_is_causal;
    o.memory_is_causal = a->o.memory_is_causal;
    adz_module *layer = adz_transformer_decoder_layer_new(a->d_model, a->nhead, &o);
    adz_module *norm = layer != NULL ? norm_of(a) : NULL;
    if (norm == NULL) { /* which the stack would take for a stack without a norm */
        adz_module_release(&layer);
        return NULL;
    }
    return adz_transformer_decoder_new(layer, a->o.num_decoder_layers, norm);
}

adz_module *adz_transformer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_options *options)
{
    static const char op[] = "adz_transformer_new";
    transformer_arguments a = { .d_model = d_model, .nhead = nhead };
    if (!adz_options_take(op, &adz_transformer_options_table, &a, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&transformer_type, 0);
    const bool good = self != NULL &&
                      adz_module_add_child(self, "encoder", encoder_of(&a)) != NULL &&
                      adz_module_add_child(self, "decoder", decoder_of(&a)) != NULL &&
                      reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_tensor *adz_generate_square_subsequent_mask(int64_t size, adz_dtype dtype)
{
    static const char op[] = "adz_generate_square_subsequent_mask";
    if (!adz_check_size(op, "size", size, 0)) {
        return NULL;
    }
    if (!adzi_is_float(dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "dtype is %s, but must be float32 or float64",
            adz_dtype_name(dtype));
    }
    return adz_triu(adz_full(ADZ_SHAPE(size, size), -INFINITY, dtype), 1);
}
