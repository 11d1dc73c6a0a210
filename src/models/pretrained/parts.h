/* Parts of published models, made of weights that are taken from a file, and small helpers of their
 * forward passes. */
#ifndef ADZI_MODELS_PRETRAINED_PARTS_H
#define ADZI_MODELS_PRETRAINED_PARTS_H

#include "adze/nn/type.h"
#include "adze/nn/values.h"
#include "pretrained/weights.h"

/** A linear layer of the weights PATH.weight[out, in] and PATH.bias[out]. */
adz_module *adzi_models_linear(
    models_weights *weights, const char *path, int64_t in, int64_t out, bool bias);

/** The head of a language model: a linear layer without a bias from the features of the tokens'
 * table to its rows. Its weight is the table if both are tied, else that of lm_head. */
adz_module *adzi_models_head(models_weights *weights, adz_tensor *table, bool tied);

/** A table of the weight PATH.weight[rows, width], in which ids are looked up. The row `padding`
 * has no gradient; ADZ_NO_PADDING for none. */
adz_module *adzi_models_table(
    models_weights *weights, const char *path, int64_t rows, int64_t width, int64_t padding);

/** A LayerNorm of PATH.weight[width] and PATH.bias[width]. */
adz_module *adzi_models_layer_norm(
    models_weights *weights, const char *path, int64_t width, double eps);

/** An RMSNorm of PATH.weight[width]. */
adz_module *adzi_models_rms_norm(
    models_weights *weights, const char *path, int64_t width, double eps);

/** Adds a child that may be NULL because its constructor has failed. False with the error recorded.
 */
bool adzi_models_add(adz_module *parent, const char *name, adz_module *child);

/** Returns the module if `good`; otherwise frees it and returns NULL. */
adz_module *adzi_models_or_free(bool good, adz_module *module);

/** x[B, T, H * E] as [B, T, H, E]. */
adz_tensor *adzi_models_split_heads(adz_tensor *x, int64_t heads);

/** x[B, H, T, E] as [B, T, H * E]. */
adz_tensor *adzi_models_merge_heads(adz_tensor *x);

/** Calls a module with one value and returns its first result. */
adz_tensor *adzi_models_forward(const adz_module *parent, size_t child, adz_tensor *x);

/** Checks ids[B, T]: an i64 tensor of rank 2. False with the error recorded. */
bool adzi_models_check_ids(const adz_module *module, const char *name, const adz_tensor *ids);

/** A mask of tokens [B, S], bool or numbers that are not 0 for tokens that count, as the bool mask
 * [B, 1, 1, S] of attention. ADZ_NONE stays; NULL with the error recorded. */
adz_tensor *adzi_models_key_mask(
    const adz_module *module, adz_tensor *mask, int64_t batch, int64_t keys);

/** The positions of h[B, T, D] whose logits a call asks for: the last ones by its argument
 * "logits_to_keep", i64[], the argument number `at`; all of them if it is left out or 0. NULL with
 * the error recorded. */
adz_tensor *adzi_models_kept(
    const adz_module *module, const adz_values *in, size_t at, adz_tensor *h);

static inline void *models_state(const adz_module *module)
{
    return adz_module_data((adz_module *)(uintptr_t)module);
}

static inline adz_module *models_child(const adz_module *module, size_t i)
{
    return adz_module_child_at((adz_module *)(uintptr_t)module, i);
}

static inline bool models_is_none(const adz_tensor *t)
{
    return t == ADZ_NONE;
}

#endif
