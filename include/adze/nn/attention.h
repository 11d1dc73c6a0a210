/**
 * @file attention.h
 * Attention with several heads as a module.
 */
#ifndef ADZE_NN_ATTENTION_H
#define ADZE_NN_ATTENTION_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a MultiheadAttention. Start from ADZ_MULTIHEAD_ATTENTION_OPTIONS. */
typedef struct adz_multihead_attention_options {
    size_t size;               /**< sizeof(adz_multihead_attention_options) */
    double dropout;            /**< of the probabilities while training, in [0, 1]; 0 */
    bool bias;                 /**< the projections have biases; true */
    bool add_bias_kv;          /**< a trained key and value follow those of each call; false */
    bool add_zero_attn;        /**< a key and a value of zeros follow as the last ones; false */
    int64_t kdim;              /**< features of key; 0, the default, means embed_dim */
    int64_t vdim;              /**< features of value; 0, the default, means embed_dim */
    bool batch_first;          /**< tensors are [B, L, E] instead of [L, B, E]; false */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's and must outlive the module and
                                  its copies; NULL for the default one */
    bool need_weights;         /**< a call has the result "weights", for which it holds all
                                  probabilities; false is faster; true */
    bool average_attn_weights; /**< the weights are the mean over the heads; true */
    bool is_causal;            /**< query i sees key j only if j <= i; false */
} adz_multihead_attention_options;

/** The defaults. */
#define ADZ_MULTIHEAD_ATTENTION_OPTIONS                                                      \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_multihead_attention_options)), ADZ_MEMBER(dropout, 0.0), \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(add_bias_kv, false),                          \
            ADZ_MEMBER(add_zero_attn, false), ADZ_MEMBER(kdim, 0), ADZ_MEMBER(vdim, 0),      \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(dtype, ADZ_F32),                      \
            ADZ_MEMBER(generator, NULL), ADZ_MEMBER(need_weights, true),                     \
            ADZ_MEMBER(average_attn_weights, true), ADZ_MEMBER(is_causal, false)             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_multihead_attention_options) as the caller knows it
 */
ADZ_API void adz_multihead_attention_options_init(
    adz_multihead_attention_options *options, size_t size);

/**
 * Attention of several heads: each head compares its projections of queries and keys, and takes the
 * mean of its projection of the values with these weights.
 *
 *     q, k, v = query W_q^T + b_q,  key W_k^T + b_k,  value W_v^T + b_v;   E/H features per head
 *     p = dropout(softmax(q k^T / sqrt(E/H) + masks))
 *     y = concat(p v of each head) W_o^T + b_o
 *
 * A call takes "query" [L, B, E], "key" [S, B, kdim] and "value" [S, B, vdim]. They are [B, L, E]
 * and so on with batch_first, and [L, E] and so on without a batch. A key that is left out is the
 * query, and a value that is left out is the key. The result is y, shaped like query. With
 * need_weights there is "weights" [B, L, S], or [B, H, L, S] with average_attn_weights = false,
 * both without B if there is no batch. As in PyTorch dropout acts on these weights. S grows by one
 * with add_bias_kv and by one with add_zero_attn; masks are given without these keys, and no mask
 * hides them.
 *
 * Masks may be given, too. They hide a key where they are true. A mask of the dtype of query is
 * added to the scores instead.
 * - "key_padding_mask" [B, S], or [S] without a batch
 * - "attn_mask" [L, S] for all, or [B H, L, S] with the heads of an item next to each other
 *
 * A query to which all keys are hidden has NaN as its result with need_weights. Without, it has the
 * bias of the output projection alone, because its mean of the values is 0. PyTorch does the same
 * in training. Its fast path for evaluation gives NaN in both cases.
 *
 * PyTorch takes need_weights, average_attn_weights and is_causal with each call; here they are
 * options. PyTorch's is_causal is a hint that attn_mask is a causal mask. Here it hides the keys by
 * itself, and attn_mask may be left out.
 *
 * The parameters are in_proj_weight [3E, E], or q_proj_weight [E, E], k_proj_weight [E, kdim] and
 * v_proj_weight [E, vdim] if kdim or vdim is not E; in_proj_bias [3E]; bias_k and bias_v [1, 1, E]
 * with add_bias_kv; and out_proj.weight [E, E] and out_proj.bias [E]. Weights of the inputs start
 * by Xavier's uniform rule, bias_k and bias_v by his normal rule, the other biases as zeros, and
 * out_proj.weight as in adz_linear_new.
 *
 * @param embed_dim  features E of query and y, 1 or more
 * @param num_heads  heads H, 1 or more; divides embed_dim
 * @param options    NULL for the defaults
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 *                   ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see              torch.nn.MultiheadAttention
 */
ADZ_API adz_module *adz_multihead_attention_new(
    int64_t embed_dim, int64_t num_heads, const adz_multihead_attention_options *options);

#ifdef __cplusplus
}
#endif

#endif
