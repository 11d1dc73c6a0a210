/**
 * @file embedding_bag.h
 * Rows of a table, of which those of a bag become one.
 */
#ifndef ADZE_OPS_EMBEDDING_BAG_H
#define ADZE_OPS_EMBEDDING_BAG_H

#include "adze/ops/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of the rows of a bag. */
typedef enum adz_bag_mode {
    ADZ_BAG_SUM = 0,  /**< their sum */
    ADZ_BAG_MEAN = 1, /**< their mean, PyTorch's default */
    ADZ_BAG_MAX = 2   /**< the largest element of each feature */
} adz_bag_mode;

/** Options of adz_embedding_bag. Start from ADZ_EMBEDDING_BAG_OPTIONS. */
typedef struct adz_embedding_bag_options {
    size_t size;              /**< sizeof(adz_embedding_bag_options) */
    adz_bag_mode mode;        /**< sum, mean or max; mean */
    int64_t padding_idx;      /**< ids of this row do not count; a negative number counts from the
                                   last row; ADZ_NO_PADDING */
    bool scale_grad_by_freq;  /**< divide a row's gradient by how often ids names it; not with max;
                                   false */
    bool include_last_offset; /**< offsets ends with the end of the last bag; false */
    bool sparse;              /**< true is ADZ_ERR_UNSUPPORTED: gradients are dense; false */
} adz_embedding_bag_options;

/** The defaults. */
#define ADZ_EMBEDDING_BAG_OPTIONS                                                            \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_embedding_bag_options)), ADZ_MEMBER(mode, ADZ_BAG_MEAN), \
            ADZ_MEMBER(padding_idx, ADZ_NO_PADDING), ADZ_MEMBER(scale_grad_by_freq, false),  \
            ADZ_MEMBER(include_last_offset, false), ADZ_MEMBER(sparse, false)                \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_embedding_bag_options) as the caller knows it
 */
ADZ_API void adz_embedding_bag_options_init(adz_embedding_bag_options *options, size_t size);

/**
 * Looks up rows of a table and gives one row for each bag of ids: their sum, mean or largest
 * elements.
 *
 *     y[b, :] = sum over i in bag b of per_sample_weights[i] weight[ids[i], :]
 *
 * A bag without ids, or with ids of the padding alone, gives zeros. Among equal largest elements
 * the first one has the gradient. A NaN is the largest element; PyTorch passes over it unless it is
 * the first. The looked-up rows are in memory at a time, L D elements.
 *
 * @param ids                 ids[B, S], each row a bag; or ids[L], which offsets divides into bags;
 *                            0 .. V-1, i64 or i32
 * @param weight              weight[V, D], f32 or f64
 * @param offsets             with ids[L]: where each bag begins, ascending from 0 to at most L,
 *                            i64 or i32; what is before the next offset belongs to the bag.
 * ADZ_NONE with ids[B, S]
 * @param per_sample_weights  factors of the rows, shaped like ids and of weight's dtype, only with
 *                            sum; or ADZ_NONE
 * @param options             NULL for the defaults
 * @return                    y[B, D], borrowed from the scope, or NULL
 * @errors                    ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX (ids and padding_idx),
 *                            ADZ_ERR_ARGUMENT (options, offsets), ADZ_ERR_UNSUPPORTED (sparse),
 *                            ADZ_ERR_MEMORY
 * @grad                      weight and per_sample_weights, to any order
 * @see                       torch.nn.functional.embedding_bag, whose max_norm adze does not have
 */
ADZ_API adz_tensor *adz_embedding_bag(adz_tensor *ids, adz_tensor *weight, adz_tensor *offsets,
    adz_tensor *per_sample_weights, const adz_embedding_bag_options *options);

#ifdef __cplusplus
}
#endif

#endif
