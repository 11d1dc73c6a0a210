/**
 * @file attention.h
 * Attention.
 */
#ifndef ADZE_OPS_ATTENTION_H
#define ADZE_OPS_ATTENTION_H

#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Options of adz_scaled_dot_product_attention. Start from ADZ_ATTENTION_OPTIONS.
 *
 * NULL and ADZ_NONE both leave a tensor out. While an error is recorded, NULL counts as the result
 * of the call that failed, and attention fails too.
 */
typedef struct adz_attention_options {
    size_t size;              /**< sizeof(adz_attention_options) */
    adz_tensor *attn_mask;    /**< broadcasts to [..., L, S]. A bool mask is true where a query may
                                   attend to a key. A mask of query's dtype is added to the
                                   scaled scores. NULL for none */
    bool is_causal;           /**< query i sees key j only if j <= i + (S - L); false by default */
    double scale;             /**< factor of the scores; 0, the default, means 1/sqrt(E) */
    double dropout_p;         /**< probability of zeroing a probability, in [0, 1]; 0 */
    bool training;            /**< whether dropout acts; false */
    adz_generator *generator; /**< that dropout draws from; NULL for the default one */
    adz_tensor *dropout_mask; /**< the elements that dropout keeps; broadcasts to [..., L, S];
                                   bool, or numbers where 0 drops; NULL draws a mask */
    bool enable_gqa;          /**< heads of query in groups that share a head of key and value;
                                   false */
    int64_t sliding_window; /**< query i sees key j only if j > i + (S - L) - sliding_window; 0, the
                                 default, means no window */
} adz_attention_options;

/** The defaults. */
#define ADZ_ATTENTION_OPTIONS                                                                 \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_attention_options)), ADZ_MEMBER(attn_mask, NULL),         \
            ADZ_MEMBER(is_causal, false), ADZ_MEMBER(scale, 0.0), ADZ_MEMBER(dropout_p, 0.0), \
            ADZ_MEMBER(training, false), ADZ_MEMBER(generator, NULL),                         \
            ADZ_MEMBER(dropout_mask, NULL), ADZ_MEMBER(enable_gqa, false),                    \
            ADZ_MEMBER(sliding_window, 0)                                                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_attention_options) as the caller knows it
 */
ADZ_API void adz_attention_options_init(adz_attention_options *options, size_t size);

/**
 * Attention: for each query, the mean of the values, weighted by the fit of query and keys.
 *
 *     y[..., L, Ev] = dropout(softmax(scale q[..., L, E] k[..., S, E]^T + mask)) v[..., S, Ev]
 *
 * The leading dimensions of query, key and value broadcast. An operand is copied only if its last
 * dimension is not contiguous, so adz_reshape and adz_permute split off heads without a copy. A
 * query that may attend to no key gives zeros and has zero gradients.
 *
 * With is_causal, query i sees key j where j <= i + (S - L), so the last query sees all keys. The
 * queries of a sequence's end then fit the keys of the whole sequence. PyTorch's is_causal counts
 * from the start (j <= i); both agree where L = S. adz_attention_options may combine is_causal with
 * a mask, which PyTorch does not allow.
 *
 * With enable_gqa (grouped queries) query is q[..., H, L, E], and key and value are k[..., Hk, S,
 * E] and v[..., Hk, S, Ev], where Hk divides H. The head h of query uses the head h / (H / Hk) of
 * key and value, which are not repeated in memory.
 *
 * With sliding_window = W and is_causal, each query sees W keys at most: its own and those before
 * it. Keys that lie before the windows of all queries are not read.
 *
 * The mask of dropout depends on the state of the generator and on the shapes only. Kept
 * probabilities are divided by 1 - dropout_p, with a given dropout_mask as well. No gradient flows
 * to dropout_mask.
 *
 * @param query    q[..., L, E], f32 or f64
 * @param key      k[..., S, E] of the dtype of query
 * @param value    v[..., S, Ev] of the dtype of query
 * @param options  NULL for the defaults
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           query, key, value and a float attn_mask, to any order; saves them and the masks
 * @see            torch.nn.functional.scaled_dot_product_attention
 */
ADZ_API adz_tensor *adz_scaled_dot_product_attention(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options);

/**
 * Rotary position embedding (Su et al., "RoFormer", 2021): rotates pairs of the first R features of
 * each row by an angle, whose cosine and sine are given. The features behind them stay.
 *
 *     a' = a cos - b sin,   b' = b cos + a sin
 *
 * Pair i is a = x_i, b = x_{i + R/2}, as in Llama and GPT-NeoX. With `interleaved` it is a = x_2i,
 * b = x_{2i+1}, as in GPT-J and the paper.
 *
 * For x[B, T, H, E] with the heads behind the positions, cos and sin are [T, 1, R/2], or
 * [B, T, 1, R/2] if the items of a batch have positions of their own. The angle of pair i at
 * position p is p / theta^(2 i / R), where theta is usually 10000.
 *
 * @param x            x[..., E], f32 or f64, rank >= 1
 * @param cos          [..., R/2], of the dtype of x, whose leading dimensions broadcast to those of
 *                     x; 0 <= R <= E
 * @param sin          of the shape and the dtype of cos
 * @param interleaved  whether the features of a pair are neighbours
 * @return             y, shaped like x, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad               x, cos and sin, to any order; saves cos and sin, and x if they want a
 * gradient
 * @see                torchtune.modules.RotaryPositionalEmbeddings
 */
ADZ_API adz_tensor *adz_rotary_embedding(
    adz_tensor *x, adz_tensor *cos, adz_tensor *sin, bool interleaved);

#ifdef __cplusplus
}
#endif

#endif
