/* The frequencies of rotary embeddings, as configurations describe them. */
#ifndef ADZI_MODELS_PRETRAINED_ROPE_H
#define ADZI_MODELS_PRETRAINED_ROPE_H

#include "json.h"
#include "adze/tensor.h"

/** How positions become angles. */
typedef struct models_rope {
    double theta;  /* the base of the frequencies */
    double factor; /* 1: frequencies are not scaled */
    bool llama3;   /* scaled by wavelength, by the numbers below; else all are divided by factor */
    double low_freq_factor, high_freq_factor, original_max_position_embeddings;
} models_rope;

/** Reads rope_parameters, or rope_theta and rope_scaling of older files. False with the error
 * recorded: a type of scaling other than default, linear and llama3 is ADZ_ERR_UNSUPPORTED. */
bool adzi_models_rope_read(const models_json *config, models_rope *rope);

/** The frequencies [width / 2] of the pairs of a head of `width` features, borrowed from the scope.
 */
adz_tensor *adzi_models_rope_frequencies(const models_rope *rope, int64_t width, adz_dtype dtype);

#endif
