/**
 * @file fastai_transformer.h
 * fastai's Transformer and Transformer-XL.
 *
 * @code
 * adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_XL_OPTIONS;
 * o.n_layers = 2;
 * o.n_heads = 2;
 * o.d_model = 16;
 * o.d_head = 8;
 * o.d_inner = 32;
 * o.mem_len = 12;
 * adz_module *encoder = adz_fastai_transformer_xl_new(30, &o);
 * adz_fastai_init_transformer(encoder);
 * adz_tensor *first = adz_module_forward(encoder, adz_zeros(ADZ_SHAPE(4, 10), ADZ_I64));
 * adz_tensor *next = adz_module_forward(encoder, adz_zeros(ADZ_SHAPE(4, 10), ADZ_I64));
 * adz_module_reset(encoder); // before a text that does not go on from the last one
 * adz_module_release(&encoder);
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_TRANSFORMER_H
#define ADZE_ZOO_FASTAI_TRANSFORMER_H

#include "adze/zoo/fastai.h"
#include "adze/zoo/fastai_attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a layer ------------------------------------------------------------------------------ */

/** Options of a decoder layer. Start from ADZ_FASTAI_DECODER_LAYER_OPTIONS. */
typedef struct adz_fastai_decoder_layer_options {
    size_t size;    /**< sizeof(adz_fastai_decoder_layer_options) */
    double resid_p; /**< probability of zeroing what attention adds, in [0, 1]; 0 */
    double attn_p;  /**< probability of zeroing a probability of attention, in [0, 1]; 0 */
    double ff_p;    /**< probability of zeroing in the feed-forward network, in [0, 1]; 0 */
    bool bias;      /**< whether attention's linear layers have one; true */
    bool scale;     /**< whether scores are divided by sqrt(d_head); true */
    adz_fastai_activation act; /**< of the feed-forward network; ADZ_FASTAI_ACTIVATION_RELU */
    bool double_drop;          /**< its dropout after the activation too; true */
    adz_fastai_attention_class attn_cls; /**< makes the attention; NULL for
                                            adz_fastai_attention_new; NULL */
    adz_dtype dtype;                     /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for the dropouts, stays the caller's; NULL for the default one */
} adz_fastai_decoder_layer_options;

/** The defaults. */
#define ADZ_FASTAI_DECODER_LAYER_OPTIONS                                                           \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_fastai_decoder_layer_options)), ADZ_MEMBER(resid_p, 0.0),      \
            ADZ_MEMBER(attn_p, 0.0), ADZ_MEMBER(ff_p, 0.0), ADZ_MEMBER(bias, true),                \
            ADZ_MEMBER(scale, true), ADZ_MEMBER(act, ADZ_FASTAI_ACTIVATION_RELU),                  \
            ADZ_MEMBER(double_drop, true), ADZ_MEMBER(attn_cls, NULL), ADZ_MEMBER(dtype, ADZ_F32), \
            ADZ_MEMBER(generator, NULL)                                                            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_decoder_layer_options) as the caller knows it
 */
ADZ_API void adz_fastai_decoder_layer_options_init(
    adz_fastai_decoder_layer_options *options, size_t size);

/**
 * One layer: attention, then the feed-forward network, each with its residual connection and norm.
 *
 *     y = ff(mhra(x, mask, ...))
 *
 * The call takes "x"[B, T, d_model], second or by name "mask", and hands every other argument, by
 * its name, to the attention. The children are mhra and ff (adz_fastai_feed_forward_new).
 *
 * @param n_heads  heads, 1 or more
 * @param d_model  features of x and y, 1 or more
 * @param d_head   features of a head, 1 or more, or 0 for d_model / n_heads, rounded down
 * @param d_inner  hidden features of the feed-forward network, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.transformer.DecoderLayer
 */
ADZ_API adz_module *adz_fastai_decoder_layer_new(int64_t n_heads, int64_t d_model, int64_t d_head,
    int64_t d_inner, const adz_fastai_decoder_layer_options *options);

/* ---- encoders ----------------------------------------------------------------------------- */

/** What a transformer is made of. Start from ADZ_FASTAI_TRANSFORMER_OPTIONS or
 * ADZ_FASTAI_TRANSFORMER_XL_OPTIONS: where the reference has no default, the sizes are those of
 * its own configurations. */
typedef struct adz_fastai_transformer_options {
    size_t size;      /**< sizeof(adz_fastai_transformer_options) */
    int64_t ctx_len;  /**< rows of the table of learned positions, 1 or more; 512, for
                         Transformer-XL 150 */
    int64_t n_layers; /**< layers, 0 to 65535; 12 */
    int64_t n_heads;  /**< heads H, 1 or more; 12, for Transformer-XL 10 */
    int64_t d_model;  /**< features D, 1 or more, even for sinusoidal positions; 768, for
                         Transformer-XL 410 */
    int64_t d_head;   /**< features of a head, 1 or more, or 0 for d_model / n_heads, rounded down;
                         64, for Transformer-XL 41 */
    int64_t d_inner;  /**< hidden features of the feed-forward networks, 1 or more; 3072, for
                         Transformer-XL 2100 */
    double resid_p;   /**< probability of zeroing what attention adds, in [0, 1]; 0 */
    double attn_p;    /**< probability of zeroing a probability of attention, in [0, 1]; 0 */
    double ff_p;      /**< probability of zeroing in the feed-forward networks, in [0, 1]; 0 */
    double embed_p;   /**< probability of zeroing in the embedding, in [0, 1]; 0 */
    bool bias;        /**< whether attention's linear layers have one; true, for Transformer-XL
                         false */
    bool scale;       /**< whether scores are divided by sqrt(d_head); true */
    adz_fastai_activation act; /**< of the feed-forward networks; ADZ_FASTAI_ACTIVATION_RELU */
    bool double_drop;          /**< their dropout after the activation too; true */
    adz_fastai_attention_class attn_cls; /**< makes the attention of each layer; NULL for
                                            adz_fastai_attention_new, for Transformer-XL
                                            adz_fastai_relative_attention_new; NULL */
    bool learned_pos_enc;     /**< learned positions, else sinusoidal ones; true, for Transformer-XL
                                 false, and true is ADZ_ERR_UNSUPPORTED: it fails in the reference */
    bool mask;                /**< whether later tokens are hidden; true */
    int64_t mem_len;          /**< steps that a Transformer-XL remembers, 0 or more; 0 */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for the dropouts, stays the caller's; NULL for the default one */
} adz_fastai_transformer_options;

/** The defaults of a Transformer. */
#define ADZ_FASTAI_TRANSFORMER_OPTIONS                                                             \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_fastai_transformer_options)), ADZ_MEMBER(ctx_len, 512),        \
            ADZ_MEMBER(n_layers, 12), ADZ_MEMBER(n_heads, 12), ADZ_MEMBER(d_model, 768),           \
            ADZ_MEMBER(d_head, 64), ADZ_MEMBER(d_inner, 3072), ADZ_MEMBER(resid_p, 0.0),           \
            ADZ_MEMBER(attn_p, 0.0), ADZ_MEMBER(ff_p, 0.0), ADZ_MEMBER(embed_p, 0.0),              \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(scale, true),                                       \
            ADZ_MEMBER(act, ADZ_FASTAI_ACTIVATION_RELU), ADZ_MEMBER(double_drop, true),            \
            ADZ_MEMBER(attn_cls, NULL), ADZ_MEMBER(learned_pos_enc, true), ADZ_MEMBER(mask, true), \
            ADZ_MEMBER(mem_len, 0), ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)        \
    }

/** The defaults of a Transformer-XL. */
#define ADZ_FASTAI_TRANSFORMER_XL_OPTIONS                                                   \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_fastai_transformer_options)), ADZ_MEMBER(ctx_len, 150), \
            ADZ_MEMBER(n_layers, 12), ADZ_MEMBER(n_heads, 10), ADZ_MEMBER(d_model, 410),    \
            ADZ_MEMBER(d_head, 41), ADZ_MEMBER(d_inner, 2100), ADZ_MEMBER(resid_p, 0.0),    \
            ADZ_MEMBER(attn_p, 0.0), ADZ_MEMBER(ff_p, 0.0), ADZ_MEMBER(embed_p, 0.0),       \
            ADZ_MEMBER(bias, false), ADZ_MEMBER(scale, true),                               \
            ADZ_MEMBER(act, ADZ_FASTAI_ACTIVATION_RELU), ADZ_MEMBER(double_drop, true),     \
            ADZ_MEMBER(attn_cls, NULL), ADZ_MEMBER(learned_pos_enc, false),                 \
            ADZ_MEMBER(mask, true), ADZ_MEMBER(mem_len, 0), ADZ_MEMBER(dtype, ADZ_F32),     \
            ADZ_MEMBER(generator, NULL)                                                     \
    }

/**
 * Fills options with the defaults of a Transformer.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_transformer_options) as the caller knows it
 */
ADZ_API void adz_fastai_transformer_options_init(
    adz_fastai_transformer_options *options, size_t size);

/**
 * Fills options with the defaults of a Transformer-XL.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_transformer_options) as the caller knows it
 */
ADZ_API void adz_fastai_transformer_xl_options_init(
    adz_fastai_transformer_options *options, size_t size);

/**
 * The Transformer as an encoder of text.
 *
 *     h = dropout(encoder[ids] + pos_enc(0, 1, ...));  y = each layer in turn
 *
 * The call takes ids[B, T], integers, with learned positions at most ctx_len of them in a row, and
 * gives "out.0"[B, T, D] and, for heads that read it, the same tensor as "raw.0". The children are
 * encoder, pos_enc, drop_emb and layers. An attention of one's own gets "x" and, with `mask`,
 * "mask"[1, 1, T, T], true above the diagonal.
 *
 * @param vocab_sz  tokens V, 1 or more
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see             fastai.text.models.transformer.Transformer
 */
ADZ_API adz_module *adz_fastai_transformer_new(
    int64_t vocab_sz, const adz_fastai_transformer_options *options);

/**
 * The Transformer-XL as an encoder of text: it remembers the last mem_len steps of every layer's
 * input and attends to them by distance.
 *
 *     h[0] = dropout(encoder[ids]);  h[l + 1] = layer l of h[l], with mem[l] before it;
 *     mem[l] = the last mem_len steps of mem[l], h[l], taken without gradient
 *
 * The call takes ids[B, T], integers, and gives "out.0"[B, T, D], the last layer's, and "raw.0",
 * "raw.1", ...: the memories after the call, mem[l] as "raw.l", one more than layers, the last of
 * which is never read; without a memory "raw.0" is "out.0". The memory starts empty and grows. It
 * consists of buffers "mem_0", "mem_1", ... that the state does not contain; adz_module_reset
 * empties it, adz_module_select_hidden picks rows of its batch, and a call with another batch is
 * ADZ_ERR_SHAPE until one of the two was done. The parameters u and v[H, 1, d_head] are shared by
 * all layers and drawn with deviation 0.02. The children are encoder, pos_enc, drop_emb and layers.
 * An attention of one's own gets "x", "r", "u", "v", "mem" and, with `mask`,
 * "mask"[1, 1, T, M + T].
 *
 * @param vocab_sz  tokens V, 1 or more
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE, ADZ_ERR_UNSUPPORTED or ADZ_ERR_MEMORY recorded
 * @see             fastai.text.models.transformer.TransformerXL
 */
ADZ_API adz_module *adz_fastai_transformer_xl_new(
    int64_t vocab_sz, const adz_fastai_transformer_options *options);

/**
 * Draws a tree of modules as fastai draws its transformers.
 *
 * The weight of every module with "Linear" in the name of its kind becomes normal with deviation
 * 0.02, its bias 0; the weight of every one with "LayerNorm" normal around 1 with deviation 0.02,
 * its bias 0; u and v of every one with "TransformerXL" normal with deviation 0.02. Everything else
 * stays, embedding tables among it, unless a decoder is tied to one.
 *
 * @param module  any module
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_MEMORY
 * @see           fastai.text.models.transformer.init_transformer
 */
ADZ_API adz_status adz_fastai_init_transformer(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
