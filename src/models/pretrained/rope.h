/* The frequencies of rotary embeddings, as configurations describe them. */
#ifndef ADZI_MODELS_PRETRAINED_ROPE_H
#define ADZI_MODELS_PRETRAINED_ROPE_H

#include "json.h"
#include "adze/tensor.h"

typedef enum models_rope_kind {
    MODELS_ROPE_LINEAR, /* all frequencies are divided by the factor */
    MODELS_ROPE_LLAMA3, /* those of long wavelengths are */
    MODELS_ROPE_YARN    /* those of long wavelengths are, and attention is scaled */
} models_rope_kind;

/** How positions become angles. */
typedef struct models_rope {
    double theta;  /* the base of the frequencies */
    double factor; /* 1: frequencies are not scaled */
    models_rope_kind kind;
    double original_max_position_embeddings;  /* of llama3 and yarn */
    double low_freq_factor, high_freq_factor; /* of llama3 */
    double beta_fast, beta_slow;              /* of yarn: turns within the original positions */
    bool truncate;                            /* of yarn: the range of its blend is whole */
    double attention_factor;                  /* cosines and sines are multiplied by it */
} models_rope;

/** Reads rope_parameters, or rope_theta and rope_scaling of older files. False with the error
 * recorded: a type of scaling other than default, linear, llama3 and yarn is ADZ_ERR_UNSUPPORTED.
 */
bool adzi_models_rope_read(const models_json *config, models_rope *rope);

/** The frequencies [width / 2] of the pairs of a head of `width` features, borrowed from the scope.
 */
adz_tensor *adzi_models_rope_frequencies(const models_rope *rope, int64_t width, adz_dtype dtype);

#endif
