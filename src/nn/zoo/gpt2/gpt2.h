/* Helpers that GPT-2's modules share. */
#ifndef ADZI_NN_ZOO_GPT2_GPT2_H
#define ADZI_NN_ZOO_GPT2_GPT2_H

#include "adze/nn/gpt2.h"

/** Sets `o` to the caller's options over the defaults; false with an error recorded. */
bool adzi_gpt2_options(const char *op, adz_gpt2_options *o, const adz_gpt2_options *options);

/** Fails with ADZ_ERR_ARGUMENT for heads that do not divide the features. */
bool adzi_gpt2_check_heads(const char *op, int64_t features, int64_t heads);

/** A Conv1D as a child. */
bool adzi_gpt2_add_conv1d(
    adz_module *self, const char *name, int64_t nf, int64_t nx, adz_dtype dtype);

/** A LayerNorm over n_embd features, with the model's epsilon, as a child. */
bool adzi_gpt2_add_norm(adz_module *self, const char *name, const adz_gpt2_options *o);

#endif
