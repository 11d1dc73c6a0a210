/**
 * @file embedding.h
 * Embedding tables as modules.
 */
#ifndef ADZE_NN_EMBEDDING_H
#define ADZE_NN_EMBEDDING_H

#include "adze/nn/module.h"
#include "adze/ops/embedding_bag.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of an embedding table. Start from ADZ_EMBEDDING_MODULE_OPTIONS. */
typedef struct adz_embedding_module_options {
    size_t size;             /**< sizeof(adz_embedding_module_options) */
    int64_t padding_idx;     /**< the row that starts as zeros and has no gradient, negative ones
                                counted from the last; ADZ_NO_PADDING */
    bool scale_grad_by_freq; /**< divide a row's gradient by how often the ids name it; false */
    bool sparse;             /**< true is ADZ_ERR_UNSUPPORTED: gradients are dense; false */
    adz_dtype dtype;         /**< of the table, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_embedding_module_options;

/** The defaults. */
#define ADZ_EMBEDDING_MODULE_OPTIONS                                                        \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_embedding_module_options)),                             \
            ADZ_MEMBER(padding_idx, ADZ_NO_PADDING), ADZ_MEMBER(scale_grad_by_freq, false), \
            ADZ_MEMBER(sparse, false), ADZ_MEMBER(dtype, ADZ_F32)                           \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_embedding_module_options) as the caller knows it
 */
ADZ_API void adz_embedding_module_options_init(adz_embedding_module_options *options, size_t size);

/**
 * A table of rows, drawn from the normal distribution, that integers look up.
 *
 *     y[..., :] = weight[ids[...], :]
 *
 * @param num_embeddings  rows V, 0 or more
 * @param embedding_dim   features D of a row, 0 or more
 * @param options         NULL for the defaults
 * @return                yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                        ADZ_ERR_DTYPE, ADZ_ERR_UNSUPPORTED or ADZ_ERR_MEMORY recorded
 * @see                   torch.nn.Embedding, whose max_norm adze does not have
 */
ADZ_API adz_module *adz_embedding_new(
    int64_t num_embeddings, int64_t embedding_dim, const adz_embedding_module_options *options);

/**
 * Reads the options by which an Embedding looks up its rows. Use it in a module of your own that
 * looks up rows of another table.
 *
 * @param module   made by adz_embedding_new
 * @param options  filled; padding_idx is not negative, or ADZ_NO_PADDING
 * @param size     sizeof(adz_embedding_options) as the caller knows it
 * @return         ADZ_OK, ADZ_ERR_NULL, or ADZ_ERR_ARGUMENT if it is another module
 */
ADZ_API adz_status adz_embedding_get_options(
    const adz_module *module, adz_embedding_options *options, size_t size);

/** Options of adz_embedding_bag_new. Start from ADZ_EMBEDDING_BAG_MODULE_OPTIONS. */
typedef struct adz_embedding_bag_module_options {
    size_t size;              /**< sizeof(adz_embedding_bag_module_options) */
    bool scale_grad_by_freq;  /**< divide a row's gradient by how often the ids name it; not with
                                   max; false */
    adz_bag_mode mode;        /**< sum, mean or max; mean */
    bool include_last_offset; /**< offsets ends with the end of the last bag; false */
    int64_t padding_idx;      /**< the row that starts as zeros and does not count, negative ones
                                   counted from the last; ADZ_NO_PADDING */
    bool sparse;              /**< true is ADZ_ERR_UNSUPPORTED: gradients are dense; false */
    adz_dtype dtype;          /**< of the table, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_embedding_bag_module_options;

/** The defaults. */
#define ADZ_EMBEDDING_BAG_MODULE_OPTIONS                                                     \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_embedding_bag_module_options)),                          \
            ADZ_MEMBER(scale_grad_by_freq, false), ADZ_MEMBER(mode, ADZ_BAG_MEAN),           \
            ADZ_MEMBER(include_last_offset, false), ADZ_MEMBER(padding_idx, ADZ_NO_PADDING), \
            ADZ_MEMBER(sparse, false), ADZ_MEMBER(dtype, ADZ_F32)                            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_embedding_bag_module_options) as the caller knows it
 */
ADZ_API void adz_embedding_bag_module_options_init(
    adz_embedding_bag_module_options *options, size_t size);

/**
 * A table of rows, drawn from the normal distribution, of which those of a bag of ids become one:
 * adz_embedding_bag.
 *
 * The arguments are "ids", "offsets" and "per_sample_weights"; the last two may be absent.
 *
 * @param num_embeddings  rows V, 0 or more
 * @param embedding_dim   features D of a row, 0 or more
 * @param options         NULL for the defaults
 * @return                yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                        ADZ_ERR_DTYPE, ADZ_ERR_UNSUPPORTED or ADZ_ERR_MEMORY recorded
 * @see                   torch.nn.EmbeddingBag, whose max_norm adze does not have
 */
ADZ_API adz_module *adz_embedding_bag_new(
    int64_t num_embeddings, int64_t embedding_dim, const adz_embedding_bag_module_options *options);

#ifdef __cplusplus
}
#endif

#endif
