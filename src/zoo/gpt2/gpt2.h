/* Helpers that GPT-2's modules share. */
#ifndef ADZI_ZOO_GPT2_GPT2_H
#define ADZI_ZOO_GPT2_GPT2_H

#include "adze/zoo/gpt2.h"

/** Fills `o` with the caller's options, and with the defaults where `options` is NULL or shorter.
 * False with the error recorded. */
bool adzi_gpt2_options(const char *op, adz_gpt2_options *o, const adz_gpt2_options *options);

/** True if the number of heads divides the number of features; false with ADZ_ERR_ARGUMENT recorded
 * if not. */
bool adzi_gpt2_check_heads(const char *op, int64_t features, int64_t heads);

/** Adds a Conv1D from `nx` to `nf` features as a child, whose weight is [0, 0] with skip_init;
 * false with the error recorded. dtype and skip_init of the options are read. */
bool adzi_gpt2_add_conv1d(
    adz_module *self, const char *name, int64_t nf, int64_t nx, const adz_gpt2_options *o);

/** Adds a LayerNorm over n_embd features, with the model's epsilon, as a child; false with the
 * error recorded. */
bool adzi_gpt2_add_norm(adz_module *self, const char *name, const adz_gpt2_options *o);

/** Adds a child "dropout", which zeroes values with a probability, unless that is 0; false with the
 * error recorded. */
bool adzi_gpt2_add_dropout(adz_module *self, double p, adz_generator *generator);

#endif
