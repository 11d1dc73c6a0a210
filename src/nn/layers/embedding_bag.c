/* EmbeddingBag: a table weight[V, D] of which the rows that the ids of a bag name become one. The
 * row padding_idx begins as zeros and does not count. */
#include "adze/nn/embedding.h"

#include "adze/options.h"
#include "nn/layers/embedding.h"
#include "nn/module.h"
#include "base/error.h"

typedef struct {
    adz_embedding_bag_module_options o;
    int64_t num_embeddings, embedding_dim;
    adz_embedding_bag_options options; /* its padding_idx is 0 .. V-1, or ADZ_NO_PADDING */
} bag_state;

/* With their quotation marks, as PyTorch prints them. */
static const char *const modes[] = { "'sum'", "'mean'", "'max'", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(bag_state, num_embeddings, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(bag_state, embedding_dim, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_embedding_bag_module_options, scale_grad_by_freq, .value = false,
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_AS(adz_embedding_bag_module_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes,
        .value = ADZ_BAG_MEAN),
    ADZ_FIELD(adz_embedding_bag_module_options, padding_idx, .value = ADZ_NO_PADDING,
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_embedding_bag_module_options, include_last_offset, .value = false,
        .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD(adz_embedding_bag_module_options, sparse, .value = false, .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD_PARAMETER_DTYPE(adz_embedding_bag_module_options),
};

ADZ_OPTIONS_TABLE(adz_embedding_bag_module_options, ADZ_EMBEDDING_BAG_MODULE_OPTIONS, fields)

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const bag_state *state = self->state;
    adz_tensor *ids = adz_values_argument(in, 0, "ids");
    adz_tensor *offsets = adz_values_argument(in, 1, "offsets");
    adz_tensor *factors = adz_values_argument(in, 2, "per_sample_weights");
    return adz_values_add(out, "",
        adz_embedding_bag(ids, adzi_parameter(self, 0), offsets, factors, &state->options));
}

static adz_status reset_parameters(adz_module *self)
{
    const bag_state *state = self->state;
    return adzi_embedding_reset(adzi_parameter(self, 0), state->options.padding_idx);
}

static const adz_module_type bag_type = {
    .size = sizeof(adz_module_type),
    .name = "EmbeddingBag",
    .call = call,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
};

/* Refuses what no call could take. */
static bool check(const char *op, const bag_state *s)
{
    const int64_t row = s->o.padding_idx, rows = s->num_embeddings;
    if (s->o.sparse) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED, "gradients are dense: leave sparse off");
        return false;
    }
    if (s->o.mode == ADZ_BAG_MAX && s->o.scale_grad_by_freq) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "scale_grad_by_freq divides sums of gradients, and mode max has none; leave it off");
        return false;
    }
    if (row != ADZ_NO_PADDING && (row < -rows || row >= rows)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "padding_idx %lld is no row of %lld", (long long)row,
            (long long)rows);
        return false;
    }
    return true;
}

adz_module *adz_embedding_bag_new(
    int64_t num_embeddings, int64_t embedding_dim, const adz_embedding_bag_module_options *options)
{
    static const char op[] = "adz_embedding_bag_new";
    bag_state s = { .num_embeddings = num_embeddings,
        .embedding_dim = embedding_dim,
        .options = ADZ_EMBEDDING_BAG_OPTIONS };
    int64_t *row = &s.o.padding_idx;
    if (!adz_options_take(op, &adz_embedding_bag_module_options_table, &s, options) ||
        !check(op, &s)) {
        return NULL;
    }
    *row += *row < 0 && *row != ADZ_NO_PADDING ? num_embeddings : 0;
    s.options.padding_idx = *row;
    s.options.mode = s.o.mode;
    s.options.include_last_offset = s.o.include_last_offset;
    s.options.scale_grad_by_freq = s.o.scale_grad_by_freq;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&bag_type, &s, sizeof s);
    const bool good = self != NULL &&
                      adz_module_add_parameter(self, "weight",
                          adz_empty(ADZ_SHAPE(num_embeddings, embedding_dim), s.o.dtype)) != NULL &&
                      reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}
