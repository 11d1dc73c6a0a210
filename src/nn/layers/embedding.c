/* Embedding: a table weight[V, D] whose rows are chosen by ids: y[..., D] = weight[ids[...]]. The
 * row padding_idx begins as zeros and receives no gradient. */
#include "adze/nn/embedding.h"

#include <string.h>

#include "adze/nn/init.h"
#include "adze/ops/convert.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

typedef struct {
    adz_embedding_options options; /* its padding_idx is 0 .. V-1, or ADZ_NO_PADDING */
} embedding_state;

static adz_tensor *forward(adz_module *self, adz_tensor *ids)
{
    const embedding_state *state = self->state;
    adz_tensor *y = adz_embedding(ids, adzi_parameter(self, 0), &state->options);
    return y != NULL && adzi_is_half((adz_dtype)y->dtype) ? adz_to(y, ADZ_F32) : y;
}

/* Draws the table from N(0, 1) as PyTorch does, then zeroes the row of the padding. */
static adz_status reset_parameters(adz_module *self)
{
    const embedding_state *state = self->state;
    adz_tensor *weight = adzi_parameter(self, 0);
    if (adz_init_normal_(weight, 0, 1, NULL) == NULL) {
        return adz_error_code();
    }
    if (state->options.padding_idx != ADZ_NO_PADDING) {
        size_t row = (size_t)weight->sizes[1] * adzi_item_size(weight);
        memset(weight->data + (size_t)state->options.padding_idx * row, 0, row);
    }
    return ADZ_OK;
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_embedding_options *o = &((const embedding_state *)self->state)->options;
    const adz_tensor *weight = adzi_parameter(self, 0);
    char padding[48] = "";
    if (o->padding_idx != ADZ_NO_PADDING) {
        snprintf(padding, sizeof padding, ", padding_idx=%lld", (long long)o->padding_idx);
    }
    return (size_t)snprintf(buffer, size, "%lld, %lld%s%s", (long long)weight->sizes[0],
        (long long)weight->sizes[1], padding,
        o->scale_grad_by_freq ? ", scale_grad_by_freq=True" : "");
}

static const adz_module_type embedding_type = {
    .size = sizeof(adz_module_type),
    .name = "Embedding",
    .forward = forward,
    .reset_parameters = reset_parameters,
    .extra_repr = extra_repr,
    .half_parameters = 1,
};

adz_status adz_embedding_get_options(
    const adz_module *module, adz_embedding_options *options, size_t size)
{
    static const char op[] = "adz_embedding_get_options";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (module->identity != &embedding_type) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "the module is of type %s, but must be an Embedding", module->type.name);
    }
    const adz_embedding_options *all = &((const embedding_state *)module->state)->options;
    return adz_options_fill(op, options, size, all, sizeof *all);
}

ADZ_OPTIONS_INIT(
    adz_embedding_module_options_init, adz_embedding_module_options, ADZ_EMBEDDING_MODULE_OPTIONS)

static bool check(int64_t rows, int64_t features, const adz_embedding_module_options *o)
{
    static const char op[] = "adz_embedding_new";
    if (!adz_check_parameter_dtype(op, o->dtype)) {
        return false;
    }
    if (o->sparse) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED, "gradients are dense: leave sparse off");
        return false;
    }
    if (rows < 0 || features < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "num_embeddings %lld and embedding_dim %lld must not be negative", (long long)rows,
            (long long)features);
        return false;
    }
    if (o->padding_idx != ADZ_NO_PADDING && (o->padding_idx < -rows || o->padding_idx >= rows)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "padding_idx %lld is no row of %lld",
            (long long)o->padding_idx, (long long)rows);
        return false;
    }
    return true;
}

adz_module *adz_embedding_new(
    int64_t num_embeddings, int64_t embedding_dim, const adz_embedding_module_options *options)
{
    adz_embedding_module_options o = ADZ_EMBEDDING_MODULE_OPTIONS;
    if (!ADZ_OPTIONS_READ("adz_embedding_new", ADZ_EMBEDDING_MODULE_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!check(num_embeddings, embedding_dim, &o)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&embedding_type, sizeof(embedding_state));
    bool good = self != NULL;
    if (good) {
        embedding_state *state = self->state;
        state->options = (adz_embedding_options)ADZ_EMBEDDING_OPTIONS;
        state->options.scale_grad_by_freq = o.scale_grad_by_freq;
        bool from_end = o.padding_idx < 0 && o.padding_idx != ADZ_NO_PADDING;
        state->options.padding_idx = o.padding_idx + (from_end ? num_embeddings : 0);
        good = adz_module_add_parameter(self, "weight",
                   adz_empty(ADZ_SHAPE(num_embeddings, embedding_dim), o.dtype)) != NULL &&
               reset_parameters(self) == ADZ_OK;
    }
    return adzi_build_end(build, self, good);
}
