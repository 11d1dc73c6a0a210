/**
 * @file labml_transformer.h
 * The annotated library's transformer: embeddings with positions, pre-norm layers, encoder,
 * decoder, both together, and the autoregressive model of characters. Time comes first: ids are [T,
 * B], states [T, B, D]; masks are those of labml_attention.h.
 *
 * @code
 * adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
 * o.d_model = 16;
 * o.n_heads = 2;
 * o.n_layers = 2;
 * o.d_ff = 32;
 * o.glu_variant = "SwiGLU";
 * adz_module *model = adz_labml_character_model_new(65, &o);
 * adz_tensor *ids = adz_randint(0, 65, ADZ_SHAPE(10, 4), ADZ_I64);
 * adz_tensor *logits = adz_module_forward(model, ids);
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_ZOO_LABML_TRANSFORMER_H
#define ADZE_ZOO_LABML_TRANSFORMER_H

#include "adze/zoo/labml_attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- positions and embeddings -------------------------------------------------------------- */

/**
 * Fixed encodings of positions, sines and cosines in turn.
 *
 *     y[t, 0, 2i] = sin(t 10000^(-2i/D)),  y[t, 0, 2i + 1] = cos(t 10000^(-2i/D))
 *
 * Computed in f64 and rounded once, where the reference computes in f32.
 *
 * @param d_model  features D, 2 or more and even
 * @param max_len  positions, 1 or more (the reference's default: 5000)
 * @param dtype    ADZ_F32 or ADZ_F64
 * @return         y[max_len, 1, D], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           none
 * @see            labml_nn.transformers.positional_encoding.get_positional_encoding
 */
ADZ_API adz_tensor *adz_labml_get_positional_encoding(
    int64_t d_model, int64_t max_len, adz_dtype dtype);

/** Options of an embedding with positions. Start from ADZ_LABML_EMBEDDINGS_OPTIONS. */
typedef struct adz_labml_embeddings_options {
    size_t size;     /**< sizeof(adz_labml_embeddings_options) */
    int64_t max_len; /**< the longest sequence, 1 or more; 5000 */
    adz_dtype dtype; /**< of table and encodings, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_labml_embeddings_options;

/** The defaults. */
#define ADZ_LABML_EMBEDDINGS_OPTIONS                                                       \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_labml_embeddings_options)), ADZ_MEMBER(max_len, 5000), \
            ADZ_MEMBER(dtype, ADZ_F32)                                                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_embeddings_options) as the caller knows it
 */
ADZ_API void adz_labml_embeddings_options_init(adz_labml_embeddings_options *options, size_t size);

/**
 * Embeddings of tokens, made larger, plus the fixed encoding of their positions.
 *
 *     y[t, b, :] = sqrt(D) table[ids[t, b], :] + encodings[t, 0, :]
 *
 * The table is the child linear, the encodings are the buffer positional_encodings[max_len, 1, D].
 * Ids outside the table and sequences longer than max_len are errors.
 *
 * @param d_model  features D, 2 or more and even
 * @param n_vocab  tokens, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.models.EmbeddingsWithPositionalEncoding
 */
ADZ_API adz_module *adz_labml_embeddings_new(
    int64_t d_model, int64_t n_vocab, const adz_labml_embeddings_options *options);

/**
 * adz_labml_embeddings_new with encodings that are learned: a parameter
 * that starts as zeros. D may be odd.
 *
 * @param d_model  features D, 1 or more
 * @param n_vocab  tokens, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.models.EmbeddingsWithLearnedPositionalEncoding
 */
ADZ_API adz_module *adz_labml_learned_embeddings_new(
    int64_t d_model, int64_t n_vocab, const adz_labml_embeddings_options *options);

/* ---- layers -------------------------------------------------------------------------------- */

/** Options of a transformer layer. Start from ADZ_LABML_TRANSFORMER_LAYER_OPTIONS. */
typedef struct adz_labml_transformer_layer_options {
    size_t size;              /**< sizeof(adz_labml_transformer_layer_options) */
    adz_module *src_attn;     /**< attention to a source, for a decoder; the layer takes a reference
                                 of its own; NULL for none */
    adz_dtype dtype;          /**< of the norms, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's; NULL for the default one */
} adz_labml_transformer_layer_options;

/** The defaults. */
#define ADZ_LABML_TRANSFORMER_LAYER_OPTIONS                                                        \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_labml_transformer_layer_options)), ADZ_MEMBER(src_attn, NULL), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                                \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_transformer_layer_options) as the caller knows it
 */
ADZ_API void adz_labml_transformer_layer_options_init(
    adz_labml_transformer_layer_options *options, size_t size);

/**
 * A layer of the transformer whose norms come first.
 *
 *     z = norm_self_attn(x);  x = x + dropout(self_attn(z, z, z, mask));
 *     with a source: x = x + dropout(src_attn(norm_src_attn(x), src, src, src_mask));
 *     y = x + dropout(feed_forward(norm_ff(x)))
 *
 * The call takes x[T, B, D] and, by position or by name, mask, src[S, B, D] and src_mask, each of
 * which may be left out; it gives y[T, B, D]. The source is not normalised; without one, src_attn
 * is passed over. The children are called self_attn, src_attn, feed_forward, dropout,
 * norm_self_attn, norm_src_attn and norm_ff.
 *
 * @param d_model       features D, 1 or more
 * @param self_attn     called with query, key, value and mask by name, as
 *                      adz_labml_attention_new is; its reference is taken over in every
 *                      case, failure included
 * @param feed_forward  called with one tensor; its reference is taken over in every case
 * @param dropout_prob  probability of zeroing what is added to x, in [0, 1]
 * @param options       NULL for the defaults
 * @return              yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 *                      ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                 labml_nn.transformers.models.TransformerLayer
 */
ADZ_API adz_module *adz_labml_transformer_layer_new(int64_t d_model, adz_module *self_attn,
    adz_module *feed_forward, double dropout_prob,
    const adz_labml_transformer_layer_options *options);

/**
 * Copies of a layer, called one after the other, and a layer norm.
 *
 *     x = layers.i(x, mask) for each i;  y = norm(x)
 *
 * The call takes x[T, B, D] and, second or by name, mask; it gives y[T, B, D]. The layers are deep
 * copies, so all of them start with equal weights.
 *
 * @param layer     from adz_labml_transformer_layer_new; its reference is taken over in every case
 * @param n_layers  how many copies, 0 to 65535
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see             labml_nn.transformers.models.Encoder
 */
ADZ_API adz_module *adz_labml_encoder_new(adz_module *layer, int64_t n_layers);

/**
 * An encoder whose layers also attend to a memory.
 *
 *     x = layers.i(x, tgt_mask, memory, src_mask) for each i;  y = norm(x)
 *
 * The call takes x[T, B, D] and, by position or by name, memory[S, B, D], src_mask and tgt_mask; it
 * gives y[T, B, D].
 *
 * @param layer     from adz_labml_transformer_layer_new, with a src_attn; its reference is taken
 *                  over in every case
 * @param n_layers  how many copies, 0 to 65535
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see             labml_nn.transformers.models.Decoder
 */
ADZ_API adz_module *adz_labml_decoder_new(adz_module *layer, int64_t n_layers);

/* ---- models -------------------------------------------------------------------------------- */

/** Options of a generator of logits. Start from ADZ_LABML_GENERATOR_OPTIONS. */
typedef struct adz_labml_generator_options {
    size_t size;     /**< sizeof(adz_labml_generator_options) */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_labml_generator_options;

/** The defaults. */
#define ADZ_LABML_GENERATOR_OPTIONS                                                       \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_labml_generator_options)), ADZ_MEMBER(dtype, ADZ_F32) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_generator_options) as the caller knows it
 */
ADZ_API void adz_labml_generator_options_init(adz_labml_generator_options *options, size_t size);

/**
 * The linear layer that turns states into logits. Its child is called projection.
 *
 *     y = projection(x)
 *
 * @param n_vocab  tokens, features of y, 1 or more
 * @param d_model  features of x[..., d_model], 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.models.Generator
 */
ADZ_API adz_module *adz_labml_generator_new(
    int64_t n_vocab, int64_t d_model, const adz_labml_generator_options *options);

/**
 * Encoder and decoder together.
 *
 *     memory = encoder(src_embed(src), src_mask);
 *     y = decoder(tgt_embed(tgt), memory, src_mask, tgt_mask)
 *
 * The call takes src[S, B], tgt[T, B] and, by position or by name, src_mask and tgt_mask; it gives
 * y[T, B, D], the decoder's states: the generator is the caller's to apply. All parameters of rank
 * 2 and more are drawn again, by adz_init_xavier_uniform_, and so they are by
 * adz_module_reset_parameters.
 *
 * @param encoder    from adz_labml_encoder_new; as every argument here, its reference is taken over
 *                   in every case, failure included
 * @param decoder    from adz_labml_decoder_new
 * @param src_embed  embeds src
 * @param tgt_embed  embeds tgt; may be src_embed with one more reference
 * @param generator  from states to logits
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                   recorded
 * @see              labml_nn.transformers.models.EncoderDecoder
 */
ADZ_API adz_module *adz_labml_encoder_decoder_new(adz_module *encoder, adz_module *decoder,
    adz_module *src_embed, adz_module *tgt_embed, adz_module *generator);

/**
 * The first half of an encoder-decoder's call.
 *
 * @param model     from adz_labml_encoder_decoder_new
 * @param src       ids[S, B]
 * @param src_mask  a mask, or ADZ_NONE
 * @return          the memory [S, B, D], borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                  ADZ_ERR_ARGUMENT (another module) or the encoder's errors recorded
 * @see             labml_nn.transformers.models.EncoderDecoder.encode
 */
ADZ_API adz_tensor *adz_labml_encode(adz_module *model, adz_tensor *src, adz_tensor *src_mask);

/**
 * The second half of an encoder-decoder's call.
 *
 * @param model     from adz_labml_encoder_decoder_new
 * @param memory    from adz_labml_encode
 * @param src_mask  a mask, or ADZ_NONE
 * @param tgt       ids[T, B]
 * @param tgt_mask  a mask, or ADZ_NONE
 * @return          the states [T, B, D], borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                  ADZ_ERR_ARGUMENT (another module) or the decoder's errors recorded
 * @see             labml_nn.transformers.models.EncoderDecoder.decode
 */
ADZ_API adz_tensor *adz_labml_decode(adz_module *model, adz_tensor *memory, adz_tensor *src_mask,
    adz_tensor *tgt, adz_tensor *tgt_mask);

/**
 * A language model: an encoder in which each position sees what went before.
 *
 *     logits = generator(encoder(src_embed(ids), subsequent mask))
 *
 * The call takes ids[T, B] and, second or as "target", the ids[T, B] to be foretold; it gives
 * "logits"[T, B, V] and, with a target, "loss": the mean cross entropy over all positions. The
 * parameters are left as they were drawn.
 *
 * @param src_embed  embeds ids; as every argument here, its reference is taken over in every case,
 *                   failure included
 * @param encoder    from adz_labml_encoder_new
 * @param generator  from states to logits
 * @return           yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                   recorded
 * @see              labml_nn.transformers.glu_variants.simple.AutoregressiveModel
 */
ADZ_API adz_module *adz_labml_autoregressive_model_new(
    adz_module *src_embed, adz_module *encoder, adz_module *generator);

/** What a model of characters is made of. Start from ADZ_LABML_CHARACTER_MODEL_OPTIONS. */
typedef struct adz_labml_character_model_options {
    size_t size;              /**< sizeof(adz_labml_character_model_options) */
    int64_t d_model;          /**< features, 2 or more and even, divided by n_heads; 512 */
    int64_t n_layers;         /**< layers, 0 to 65535; 6 */
    int64_t n_heads;          /**< heads, 1 or more; 8 */
    int64_t d_ff;             /**< hidden features of the feed-forward networks, 1 or more; 2048 */
    double dropout;           /**< of attention, of the networks and of what is added, in [0, 1];
                                 0.1 */
    const char *glu_variant;  /**< a name for adz_feed_forward_variant_new; "GLU" */
    int64_t max_len;          /**< the longest sequence, 1 or more; 5000 */
    bool attention_bias;      /**< whether queries and keys have one; true */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's; NULL for the default one */
} adz_labml_character_model_options;

/** The defaults: the reference's experiment. */
#define ADZ_LABML_CHARACTER_MODEL_OPTIONS                                                        \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_labml_character_model_options)), ADZ_MEMBER(d_model, 512),   \
            ADZ_MEMBER(n_layers, 6), ADZ_MEMBER(n_heads, 8), ADZ_MEMBER(d_ff, 2048),             \
            ADZ_MEMBER(dropout, 0.1), ADZ_MEMBER(glu_variant, "GLU"), ADZ_MEMBER(max_len, 5000), \
            ADZ_MEMBER(attention_bias, true), ADZ_MEMBER(dtype, ADZ_F32),                        \
            ADZ_MEMBER(generator, NULL)                                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_labml_character_model_options) as the caller knows it
 */
ADZ_API void adz_labml_character_model_options_init(
    adz_labml_character_model_options *options, size_t size);

/**
 * The autoregressive model of the experiment with gated linear units, from its sizes: embeddings
 * with fixed positions, an encoder of layers with one of the seven feed-forward networks, and a
 * linear layer as the generator.
 *
 * @param n_chars  characters V, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                 recorded; ADZ_ERR_ARGUMENT or ADZ_ERR_DTYPE for options that cannot be
 * @see            labml_nn.transformers.glu_variants.simple.Trainer
 */
ADZ_API adz_module *adz_labml_character_model_new(
    int64_t n_chars, const adz_labml_character_model_options *options);

#ifdef __cplusplus
}
#endif

#endif
