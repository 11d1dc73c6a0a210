/* What the layers of transformers and the whole share. */
#ifndef ADZI_NN_LAYERS_TRANSFORMER_H
#define ADZI_NN_LAYERS_TRANSFORMER_H

#include "adze/nn/transformer.h"
#include "nn/module.h"

/** The rows of the options that encoder layers, decoder layers and transformers have in common. */
#define ADZI_TRANSFORMER_FIELDS(type)                                                              \
    ADZ_FIELD(type, dim_feedforward, .value = 2048, ADZ_SIZE_FROM(1)),                             \
        ADZ_FIELD(type, dropout, .value = 0.1, ADZ_CLOSED(0, 1)),                                  \
        ADZ_FIELD_AS(type, activation, "activation", ADZ_FIELD_ENUM, .value = ADZ_ACTIVATION_RELU, \
            .values = adzi_activation_names),                                                      \
        ADZ_FIELD(type, layer_norm_eps, .value = 1e-5, ADZ_AT_LEAST(0)),                           \
        ADZ_FIELD(type, batch_first, .value = false), ADZ_FIELD(type, norm_first, .value = false), \
        ADZ_FIELD(type, bias, .value = true), ADZ_FIELD_PARAMETER_DTYPE(type)

/** A LayerNorm of the width d_model. */
adz_module *adzi_transformer_norm_new(int64_t d_model, double eps, bool bias, adz_dtype dtype);

/** A list of arguments that grows, for a call of a child. */
typedef struct adzi_arguments {
    adz_named_tensor items[8];
    size_t count;
} adzi_arguments;

/** Appends an argument that is given; ADZ_NONE is left out, so that a module which does not take it
 * can be called. */
static inline void adzi_argument(adzi_arguments *list, const char *name, adz_tensor *t)
{
    if (t != ADZ_NONE) {
        list->items[list->count++] = (adz_named_tensor){ name, t };
    }
}

/** Reads argument `index` of a call. False with the error recorded if it is neither a tensor nor,
 * where it is optional, left out. */
bool adzi_take_argument(
    const adz_module *self, const adz_values *in, size_t index, const char *name, adz_tensor **t);

#endif
