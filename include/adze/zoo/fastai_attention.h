/**
 * @file fastai_attention.h
 * The attention of fastai's transformers, and the sinusoids that stand for positions.
 *
 * @code
 * adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
 * o.attn_p = 0.1;
 * adz_module *attention = adz_fastai_attention_new(4, 32, &o);
 * adz_tensor *y = adz_module_forward(attention, adz_randn(ADZ_SHAPE(2, 10, 32), ADZ_F32));
 * adz_module_release(&attention);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_ATTENTION_H
#define ADZE_ZOO_FASTAI_ATTENTION_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- positions ---------------------------------------------------------------------------- */

/** Options of sinusoidal positions. Start from
 * ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS. */
typedef struct adz_fastai_positional_encoding_options {
    size_t size;     /**< sizeof(adz_fastai_positional_encoding_options) */
    adz_dtype dtype; /**< of the frequencies, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_fastai_positional_encoding_options;

/** The defaults. */
#define ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS                            \
    {                                                                     \
        ADZ_MEMBER(size, sizeof(adz_fastai_positional_encoding_options)), \
            ADZ_MEMBER(dtype, ADZ_F32)                                    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_positional_encoding_options) as the caller knows it
 */
ADZ_API void adz_fastai_positional_encoding_options_init(
    adz_fastai_positional_encoding_options *options, size_t size);

/**
 * Positions as sines and cosines: all sines first, then all cosines.
 *
 *     y[t, :] = sin(pos[t] freq), cos(pos[t] freq);  freq[i] = 10000^(-2i/d), i < ceil(d / 2)
 *
 * pos[T] are numbers of any kind, fractions and negative ones among them; y is
 * [T, 2 ceil(d / 2)], one wider than d where that is odd. The frequencies are the buffer "freq",
 * which the state contains.
 *
 * @param d        features, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.transformer.PositionalEncoding
 */
ADZ_API adz_module *adz_fastai_positional_encoding_new(
    int64_t d, const adz_fastai_positional_encoding_options *options);

/* ---- attention ---------------------------------------------------------------------------- */

/** Options of an attention. Start from ADZ_FASTAI_ATTENTION_OPTIONS. */
typedef struct adz_fastai_attention_options {
    size_t size;     /**< sizeof(adz_fastai_attention_options) */
    int64_t d_head;  /**< features of a head, 1 or more, or 0 for d_model / n_heads, rounded
                          down; n_heads d_head need not be d_model; 0 */
    double resid_p;  /**< probability of zeroing a result before the sum, in [0, 1]; 0 */
    double attn_p;   /**< probability of zeroing a probability, in [0, 1]; 0 */
    bool bias;       /**< whether the linear layers have one; true */
    bool scale;      /**< whether scores are divided by sqrt(d_head); true */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for the dropouts, stays the caller's; NULL for the default one */
} adz_fastai_attention_options;

/** The defaults. */
#define ADZ_FASTAI_ATTENTION_OPTIONS                                                         \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_fastai_attention_options)), ADZ_MEMBER(d_head, 0),       \
            ADZ_MEMBER(resid_p, 0.0), ADZ_MEMBER(attn_p, 0.0), ADZ_MEMBER(bias, true),       \
            ADZ_MEMBER(scale, true), ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_attention_options) as the caller knows it
 */
ADZ_API void adz_fastai_attention_options_init(adz_fastai_attention_options *options, size_t size);

/**
 * What makes the attention of a decoder layer: adz_fastai_attention_new,
 * adz_fastai_relative_attention_new, or a constructor of one's own with these
 * parameters, whose module is called with "x" and, by name, what its layer is called with.
 */
typedef adz_module *(*adz_fastai_attention_class)(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options);

/**
 * Self-attention with several heads, its residual connection and its norm.
 *
 *     q, k, v = attention(x) in heads;
 *     s = q k^T, over sqrt(d_head) if scale, and -inf where the mask hides the key;
 *     y = layer_norm(x + dropout(out(dropout(softmax(s)) v)))
 *
 * The call takes "x"[B, T, d_model] and, second or by name, "mask", which broadcasts to
 * [B, n_heads, T, T]: bool, true hides a key from a query. A number "is_causal" that is not 0 hides
 * the keys that come after the query, as a mask that is true above the diagonal does, but without
 * storing one; both may be given. A query that sees no key gets no values (NaN in the
 * reference). The children are attention, of which y has 3 n_heads d_head features, out, drop_att,
 * drop_res and ln.
 *
 * @param n_heads  heads, 1 or more
 * @param d_model  features of x and y, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.transformer.MultiHeadAttention
 */
ADZ_API adz_module *adz_fastai_attention_new(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options);

/**
 * Self-attention that knows distances instead of positions, over a memory and its argument.
 *
 *     q = attention(x);  k, v = attention(mem, then x);  p = r_attn(r), all in heads;
 *     s = (q + u) k^T + line_shift((q + v) p^T), over sqrt(d_head) if scale, then the mask;
 *     y = layer_norm(x + dropout(out(dropout(softmax(s)) v)))
 *
 * The call takes "x"[B, T, d_model]; second or by name "mask", which broadcasts to
 * [B, n_heads, T, M + T] and hides the keys where it is true; and by name
 * "r"[M + T, d_model], the encoded distances from M + T - 1 down to 0, "u" and
 * "v"[n_heads, 1, d_head], and "mem"[B, M, d_model], no memory where it is left out. With
 * "is_causal" query i sees key j where j <= i + M. The children are those of
 * adz_fastai_attention_new and r_attn. Without `scale` the reference fails; here the
 * scores are then not divided.
 *
 * @param n_heads  heads, 1 or more
 * @param d_model  features of x and y, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.transformer.MultiHeadRelativeAttention
 */
ADZ_API adz_module *adz_fastai_relative_attention_new(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options);

/**
 * Moves row i of each matrix left by n - 1 - i, so that what stood by distance stands by key.
 *
 * What follows the end of a row is a zero and then the start of the next row, as it comes of
 * reading the rows behind a column of zeros without a break and from element n on.
 *
 * @param x     [B, H, n, p]
 * @param mask  whether zeros replace what follows the end of a row
 * @return      y, shaped like x, borrowed from the scope; or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad        x
 * @see         fastai.text.models.transformer._line_shift
 */
ADZ_API adz_tensor *adz_fastai_line_shift(adz_tensor *x, bool mask);

#ifdef __cplusplus
}
#endif

#endif
