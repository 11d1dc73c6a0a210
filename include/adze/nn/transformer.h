/**
 * @file transformer.h
 * Transformers as modules: the layers of encoder and decoder, stacks of them, and the whole.
 */
#ifndef ADZE_NN_TRANSFORMER_H
#define ADZE_NN_TRANSFORMER_H

#include "adze/nn/activations.h"
#include "adze/nn/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a layer of an encoder. Start from ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS. */
typedef struct adz_transformer_encoder_layer_options {
    size_t size;               /**< sizeof(adz_transformer_encoder_layer_options) */
    int64_t dim_feedforward;   /**< hidden features F, 1 or more; 2048 */
    double dropout;            /**< probability of all dropouts, in [0, 1]; 0.1 */
    adz_activation activation; /**< between the linear layers; ADZ_ACTIVATION_RELU */
    double layer_norm_eps;     /**< of the layer norms, 0 or more; 1e-5 */
    bool batch_first;          /**< tensors are [B, L, E] instead of [L, B, E]; false */
    bool norm_first;           /**< the norms stand before attention and feed-forward; false */
    bool bias;                 /**< linear layers and norms have biases; true */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's and must outlive the module and
                                  its copies; NULL for the default one */
    adz_activation_function activation_function; /**< instead of activation; NULL for none */
    adz_module *activation_module; /**< instead of activation, becomes the child "activation"; the
                                      layer takes a reference of its own; NULL for none */
    bool is_causal;                /**< position i sees position j only if j <= i; false */
} adz_transformer_encoder_layer_options;

/** The defaults. */
#define ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS                                                      \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_transformer_encoder_layer_options)),                           \
            ADZ_MEMBER(dim_feedforward, 2048), ADZ_MEMBER(dropout, 0.1),                           \
            ADZ_MEMBER(activation, ADZ_ACTIVATION_RELU), ADZ_MEMBER(layer_norm_eps, 1e-5),         \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(norm_first, false), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL),                               \
            ADZ_MEMBER(activation_function, NULL), ADZ_MEMBER(activation_module, NULL),            \
            ADZ_MEMBER(is_causal, false)                                                           \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_transformer_encoder_layer_options) as the caller knows it
 */
ADZ_API void adz_transformer_encoder_layer_options_init(
    adz_transformer_encoder_layer_options *options, size_t size);

/**
 * A layer of a transformer's encoder: attention of the positions among each other, and a
 * feed-forward network for each position.
 *
 *     a(x) = dropout1(self_attn(x, x, x));   f(x) =
 * dropout2(linear2(dropout(activation(linear1(x))))) x = norm1(x + a(x));         y = norm2(x +
 * f(x)) x = x + a(norm1(x));         y = x + f(norm2(x))           with norm_first
 *
 * A call takes "src" [L, B, E], [B, L, E] with batch_first or [L, E] without a batch. It may take
 * "src_mask" and "src_key_padding_mask", which are the attn_mask and the key_padding_mask of
 * adz_multihead_attention_new. The result is shaped like src. A position to which all others are
 * hidden gets the bias of attention's output projection.
 *
 * The children are self_attn, linear1, dropout, linear2, norm1, norm2, dropout1, dropout2 and
 * perhaps activation.
 *
 * @param d_model  features E, 1 or more
 * @param nhead    heads of attention, 1 or more; divides d_model
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 *                 or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.TransformerEncoderLayer
 */
ADZ_API adz_module *adz_transformer_encoder_layer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_encoder_layer_options *options);

/** Options of a layer of a decoder. Start from ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS. */
typedef struct adz_transformer_decoder_layer_options {
    size_t size;               /**< sizeof(adz_transformer_decoder_layer_options) */
    int64_t dim_feedforward;   /**< hidden features F, 1 or more; 2048 */
    double dropout;            /**< probability of all dropouts, in [0, 1]; 0.1 */
    adz_activation activation; /**< between the linear layers; ADZ_ACTIVATION_RELU */
    double layer_norm_eps;     /**< of the layer norms, 0 or more; 1e-5 */
    bool batch_first;          /**< tensors are [B, L, E] instead of [L, B, E]; false */
    bool norm_first;           /**< the norms stand before attention and feed-forward; false */
    bool bias;                 /**< linear layers and norms have biases; true */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's and must outlive the module and
                                  its copies; NULL for the default one */
    adz_activation_function activation_function; /**< instead of activation; NULL for none */
    adz_module *activation_module; /**< instead of activation, becomes the child "activation"; the
                                      layer takes a reference of its own; NULL for none */
    bool tgt_is_causal;            /**< position i of tgt sees position j of tgt only if j <= i;
                                      false */
    bool memory_is_causal;         /**< position i of tgt sees position j of memory only if j <= i;
                                      false */
} adz_transformer_decoder_layer_options;

/** The defaults. */
#define ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS                                                      \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_transformer_decoder_layer_options)),                           \
            ADZ_MEMBER(dim_feedforward, 2048), ADZ_MEMBER(dropout, 0.1),                           \
            ADZ_MEMBER(activation, ADZ_ACTIVATION_RELU), ADZ_MEMBER(layer_norm_eps, 1e-5),         \
            ADZ_MEMBER(batch_first, false), ADZ_MEMBER(norm_first, false), ADZ_MEMBER(bias, true), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL),                               \
            ADZ_MEMBER(activation_function, NULL), ADZ_MEMBER(activation_module, NULL),            \
            ADZ_MEMBER(tgt_is_causal, false), ADZ_MEMBER(memory_is_causal, false)                  \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_transformer_decoder_layer_options) as the caller knows it
 */
ADZ_API void adz_transformer_decoder_layer_options_init(
    adz_transformer_decoder_layer_options *options, size_t size);

/**
 * A layer of a transformer's decoder: attention of the positions among each other, attention to
 * what the encoder gave, and a feed-forward network for each position.
 *
 *     a(x) = dropout1(self_attn(x, x, x));   m(x) = dropout2(multihead_attn(x, memory, memory))
 *     f(x) = dropout3(linear2(dropout(activation(linear1(x)))))
 *     x = norm1(x + a(x));    x = norm2(x + m(x));    y = norm3(x + f(x))
 *     x = x + a(norm1(x));    x = x + m(norm2(x));    y = x + f(norm3(x))     with norm_first
 *
 * A call takes "tgt" [L, B, E] and "memory" [S, B, E]; [B, L, E] and [B, S, E] with batch_first, or
 * without B if there is no batch. It may take "tgt_mask", "memory_mask", "tgt_key_padding_mask" and
 * "memory_key_padding_mask", the masks of adz_multihead_attention_new for the two attentions. The
 * result is shaped like tgt.
 *
 * The children are self_attn, multihead_attn, linear1, dropout, linear2, norm1, norm2, norm3,
 * dropout1, dropout2, dropout3 and perhaps activation.
 *
 * @param d_model  features E, 1 or more
 * @param nhead    heads of attention, 1 or more; divides d_model
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 *                 or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.TransformerDecoderLayer
 */
ADZ_API adz_module *adz_transformer_decoder_layer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_decoder_layer_options *options);

/**
 * An encoder: copies of a layer, called one after the other, and perhaps a norm.
 *
 * A call takes "src", and may take "mask" and "src_key_padding_mask". Each layer gets the result of
 * the one before, and the masks as "src_mask" and "src_key_padding_mask" if they are given. Any
 * module that takes these arguments may be the layer. The copies start with equal parameters, as in
 * PyTorch; adz_module_reset_parameters draws them anew.
 *
 * The children are layers, a ModuleList, and norm if there is one.
 *
 * @param layer       its reference is taken over in every case, failure included; it is copied
 *                    num_layers times
 * @param num_layers  0 or more
 * @param norm        called with the result of the last layer; its reference is taken over in every
 *                    case; NULL for none
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_OWNERSHIP or ADZ_ERR_MEMORY recorded
 * @see               torch.nn.TransformerEncoder
 */
ADZ_API adz_module *adz_transformer_encoder_new(
    adz_module *layer, int64_t num_layers, adz_module *norm);

/**
 * A decoder: copies of a layer, called one after the other, and perhaps a norm.
 *
 * A call takes "tgt" and "memory", and may take "tgt_mask", "memory_mask", "tgt_key_padding_mask"
 * and "memory_key_padding_mask". Each layer gets the result of the one before, the memory, and the
 * masks that are given. Any module that takes these arguments may be the layer. The copies start
 * with equal parameters, as in PyTorch; adz_module_reset_parameters draws them anew.
 *
 * The children are layers, a ModuleList, and norm if there is one.
 *
 * @param layer       its reference is taken over in every case, failure included; it is copied
 *                    num_layers times
 * @param num_layers  0 or more
 * @param norm        called with the result of the last layer; its reference is taken over in every
 *                    case; NULL for none
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_OWNERSHIP or ADZ_ERR_MEMORY recorded
 * @see               torch.nn.TransformerDecoder
 */
ADZ_API adz_module *adz_transformer_decoder_new(
    adz_module *layer, int64_t num_layers, adz_module *norm);

/** Options of a Transformer. Start from ADZ_TRANSFORMER_OPTIONS. */
typedef struct adz_transformer_options {
    size_t size;               /**< sizeof(adz_transformer_options) */
    int64_t dim_feedforward;   /**< hidden features F, 1 or more; 2048 */
    double dropout;            /**< probability of all dropouts, in [0, 1]; 0.1 */
    adz_activation activation; /**< between the linear layers; ADZ_ACTIVATION_RELU */
    double layer_norm_eps;     /**< of the layer norms, 0 or more; 1e-5 */
    bool batch_first;          /**< tensors are [B, L, E] instead of [L, B, E]; false */
    bool norm_first;           /**< the norms stand before attention and feed-forward; false */
    bool bias;                 /**< linear layers and norms have biases; true */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's and must outlive the module and
                                  its copies; NULL for the default one */
    adz_activation_function activation_function; /**< instead of activation; NULL for none */
    adz_module
        *activation_module; /**< instead of activation, each layer gets a copy; NULL for none */
    bool tgt_is_causal;     /**< position i of tgt sees position j of tgt only if j <= i; false */
    bool memory_is_causal;  /**< position i of tgt sees position j of memory only if j <= i;
                               false */
    bool src_is_causal;     /**< position i of src sees position j of src only if j <= i; false */
    int64_t num_encoder_layers; /**< 0 or more; 6 */
    int64_t num_decoder_layers; /**< 0 or more; 6 */
    adz_module *custom_encoder; /**< instead of an encoder; the module takes a reference of its own;
                                   NULL for none */
    adz_module *custom_decoder; /**< instead of a decoder; as custom_encoder; NULL for none */
} adz_transformer_options;

/** The defaults. */
#define ADZ_TRANSFORMER_OPTIONS                                                                \
    {                                                                                          \
        ADZ_MEMBER(size, sizeof(adz_transformer_options)), ADZ_MEMBER(dim_feedforward, 2048),  \
            ADZ_MEMBER(dropout, 0.1), ADZ_MEMBER(activation, ADZ_ACTIVATION_RELU),             \
            ADZ_MEMBER(layer_norm_eps, 1e-5), ADZ_MEMBER(batch_first, false),                  \
            ADZ_MEMBER(norm_first, false), ADZ_MEMBER(bias, true), ADZ_MEMBER(dtype, ADZ_F32), \
            ADZ_MEMBER(generator, NULL), ADZ_MEMBER(activation_function, NULL),                \
            ADZ_MEMBER(activation_module, NULL), ADZ_MEMBER(tgt_is_causal, false),             \
            ADZ_MEMBER(memory_is_causal, false), ADZ_MEMBER(src_is_causal, false),             \
            ADZ_MEMBER(num_encoder_layers, 6), ADZ_MEMBER(num_decoder_layers, 6),              \
            ADZ_MEMBER(custom_encoder, NULL), ADZ_MEMBER(custom_decoder, NULL)                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_transformer_options) as the caller knows it
 */
ADZ_API void adz_transformer_options_init(adz_transformer_options *options, size_t size);

/**
 * The transformer of Vaswani et al. (Attention Is All You Need, 2017): an encoder, and a decoder
 * that sees its results. Embeddings, positions and the last linear layer are not part of it.
 *
 *     y = decoder(tgt, encoder(src))
 *
 * A call takes "src" [S, B, E] and "tgt" [L, B, E]; [B, S, E] and [B, L, E] with batch_first, or
 * without B if there is no batch. It may take "src_mask", "tgt_mask", "memory_mask",
 * "src_key_padding_mask", "tgt_key_padding_mask" and "memory_key_padding_mask", the masks of
 * adz_multihead_attention_new for the three attentions. The result is shaped like tgt.
 *
 * Encoder and decoder end with a layer norm. All parameters of two or more dimensions start by
 * Xavier's uniform rule, those of custom modules too.
 *
 * @param d_model  features E, 1 or more; PyTorch's default is 512
 * @param nhead    heads of attention, 1 or more; divides d_model; PyTorch's default is 8
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 *                 or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Transformer
 */
ADZ_API adz_module *adz_transformer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_options *options);

/**
 * A causal mask for attn_mask: 0 where j <= i, and -infinity elsewhere.
 *
 * @param size   rows and columns, 0 or more
 * @param dtype  ADZ_F32 or ADZ_F64, that of the tensors of the call
 * @return       [size, size], borrowed from the scope; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE or
 *               ADZ_ERR_MEMORY recorded
 * @see          torch.nn.Transformer.generate_square_subsequent_mask
 */
ADZ_API adz_tensor *adz_generate_square_subsequent_mask(int64_t size, adz_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
