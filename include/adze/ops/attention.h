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
 * What else attention can be told. Start from ADZ_ATTENTION_OPTIONS.
 *
 * A tensor that is NULL is left out, as ADZ_NONE is; but while an error is recorded NULL counts as
 * the failure that it then probably is, and the call fails.
 */
typedef struct adz_attention_options {
    size_t size;           /**< sizeof(adz_attention_options) */
    adz_tensor *attn_mask; /**< broadcasts to [..., L, S]; bool: true where a query may attend to
                                a key, or of the query's dtype: added to the scaled scores; NULL
                                for none */
    bool is_causal;   /**< query i sees key j only if j <= i + (S - L), beside any mask; false */
    double scale;     /**< factor of the scores, 1 for none, 0 for 1/sqrt(E); 0 */
    double dropout_p; /**< probability of zeroing a probability, in [0, 1]; 0 */
    bool training;    /**< whether dropout acts; false */
    adz_generator *generator; /**< that dropout draws from; NULL for the default one */
    adz_tensor *dropout_mask; /**< what dropout keeps, in place of a drawn mask: broadcasts to
                                   [..., L, S]; bool, or numbers that are 0 or not; NULL: draws */
} adz_attention_options;

/** The defaults. */
#define ADZ_ATTENTION_OPTIONS                                                    \
    {                                                                            \
        sizeof(adz_attention_options), NULL, false, 0.0, 0.0, false, NULL, NULL, \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_attention_options) as the caller knows it
 */
ADZ_API void adz_attention_options_init(adz_attention_options *options, size_t size);

/**
 * Every query's mean of the values, weighted by how well their keys fit.
 *
 *     y[..., L, Ev] = dropout(softmax(scale q[..., L, E] k[..., S, E]^T + mask)) v[..., S, Ev]
 *
 * The leading dimensions of query, key and value broadcast. No operand is copied as long as its
 * last dimension is contiguous: heads are split off by adz_reshape and adz_permute for free. A
 * query that may attend to nothing gives zeros and has zero gradients.
 *
 * With is_causal the last query sees all keys: query i sees key j where j <= i + (S - L), so that
 * the queries of a sequence's end fit the keys of all of it. PyTorch's is_causal counts from the
 * start (j <= i), which is the same where L is S. Unlike there, a mask may stand beside it.
 *
 * Dropout's mask depends on the generator's state and the shapes alone. Probabilities are kept with
 * 1 - dropout_p and divided by it, under a given mask too, from which no gradient flows.
 *
 * @param query    q[..., L, E], f32 or f64
 * @param key      k[..., S, E] of that dtype
 * @param value    v[..., S, Ev] of that dtype
 * @param options  NULL for the defaults
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           query, key, value and a float attn_mask, to any order; saves them and the masks
 * @see            torch.nn.functional.scaled_dot_product_attention
 */
ADZ_API adz_tensor *adz_scaled_dot_product_attention(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options);

#ifdef __cplusplus
}
#endif

#endif
