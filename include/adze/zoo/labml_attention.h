/**
 * @file labml_attention.h
 * The annotated library's multi-headed attention. Time comes first: x is [T, B, D].
 *
 * A mask is [T, S, B] over queries, keys and batch, where a size of 1 stands for all; it is true,
 * or not 0, where a query may attend to a key.
 */
#ifndef ADZE_ZOO_LABML_ATTENTION_H
#define ADZE_ZOO_LABML_ATTENTION_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a projection into heads. Start from ADZ_LABML_PREPARE_OPTIONS. */
typedef struct adz_labml_prepare_options {
    size_t size;     /**< sizeof(adz_labml_prepare_options) */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_labml_prepare_options;

/** The defaults. */
#define ADZ_LABML_PREPARE_OPTIONS                                                       \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_labml_prepare_options)), ADZ_MEMBER(dtype, ADZ_F32) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_prepare_options) as the caller knows it
 */
ADZ_API void adz_labml_prepare_options_init(adz_labml_prepare_options *options, size_t size);

/**
 * A linear layer whose features are split into heads.
 *
 *     y[..., h, :] = linear(x)[..., h d_k : (h + 1) d_k]
 *
 * The child is called linear. x is [..., d_model] of rank 1 to ADZ_MAX_RANK - 1, y is
 * [..., heads, d_k].
 *
 * @param d_model  features of x, 1 or more
 * @param heads    heads H, 1 or more
 * @param d_k      features of a head, 1 or more
 * @param bias     whether the linear layer has one
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.mha.PrepareForMultiHeadAttention
 */
ADZ_API adz_module *adz_labml_prepare_new(int64_t d_model, int64_t heads, int64_t d_k, bool bias,
    const adz_labml_prepare_options *options);

/** Options of multi-headed attention. Start from ADZ_LABML_ATTENTION_OPTIONS.
 */
typedef struct adz_labml_attention_options {
    size_t size;         /**< sizeof(adz_labml_attention_options) */
    double dropout_prob; /**< probability of zeroing an attention probability, in [0, 1]; 0.1 */
    bool bias;           /**< whether queries and keys have one; values and output always do;
                            true */
    adz_dtype dtype;     /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's; NULL for the default one */
} adz_labml_attention_options;

/** The defaults. */
#define ADZ_LABML_ATTENTION_OPTIONS                                                           \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_labml_attention_options)), ADZ_MEMBER(dropout_prob, 0.1), \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)   \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_attention_options) as the caller knows it
 */
ADZ_API void adz_labml_attention_options_init(adz_labml_attention_options *options, size_t size);

/**
 * Scaled dot-product attention with several heads, to the queries' own sequence or to another one.
 *
 *     q, k, v = query(x), key(keys), value(values) in heads;
 *     p = softmax(q k^T / sqrt(d_model / heads)) over the keys that the mask allows;
 *     y = output(dropout(p) v)
 *
 * The call takes query[T, B, d_model] and, by position or by name, key[S, B, d_model] (left out:
 * the query), value[S, B, d_model] (left out: the key) and mask[T, S, B] of any dtype, each size of
 * which may be 1; it gives y[T, B, d_model]. A query that may attend to nothing gets a head of
 * zeros (NaN in the reference). The children are called query, key, value, output and dropout. The
 * probabilities are not kept.
 *
 * @param heads    heads, 1 or more
 * @param d_model  features, 1 or more, divided by heads
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.mha.MultiHeadAttention
 */
ADZ_API adz_module *adz_labml_attention_new(
    int64_t heads, int64_t d_model, const adz_labml_attention_options *options);

/**
 * The mask by which each position attends to itself and to what went before.
 *
 *     y[i, j, 0] = j <= i
 *
 * @param seq_len  positions T, 0 or more
 * @return         y[T, T, 1], bool, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           none
 * @see            labml_nn.transformers.utils.subsequent_mask
 */
ADZ_API adz_tensor *adz_labml_subsequent_mask(int64_t seq_len);

#ifdef __cplusplus
}
#endif

#endif
