/**
 * @file gpt2.h
 * GPT-2 in the dialect of its PyTorch port, from its parts to the small language model, and the
 * feed-forward network of the notes on it. Names and layouts of the parameters are the reference's:
 * weights of linear layers are stored [in, out].
 */
#ifndef ADZE_ZOO_GPT2_H
#define ADZE_ZOO_GPT2_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parts -------------------------------------------------------------------------------- */

/** Options of a Conv1D. Start from ADZ_GPT2_CONV1D_OPTIONS. */
typedef struct adz_gpt2_conv1d_options {
    size_t size;     /**< sizeof(adz_gpt2_conv1d_options) */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_gpt2_conv1d_options;

/** The defaults. */
#define ADZ_GPT2_CONV1D_OPTIONS                                                       \
    {                                                                                 \
        ADZ_MEMBER(size, sizeof(adz_gpt2_conv1d_options)), ADZ_MEMBER(dtype, ADZ_F32) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gpt2_conv1d_options) as the caller knows it
 */
ADZ_API void adz_gpt2_conv1d_options_init(adz_gpt2_conv1d_options *options, size_t size);

/**
 * GPT-2's linear layer, whose weight is stored the other way round.
 *
 *     y = x weight + bias
 *
 * The parameters are weight[nx, nf], normal with deviation 0.02, and bias[nf], zeros. x is
 * [..., nx] of rank 1 or more, y is [..., nf]. Mind the order of the arguments: the reference takes
 * the outputs first.
 *
 * @param nf       features of y, 1 or more
 * @param nx       features of x, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            transformers.pytorch_utils.Conv1D
 */
ADZ_API adz_module *adz_gpt2_conv1d_new(
    int64_t nf, int64_t nx, const adz_gpt2_conv1d_options *options);

/** Options of GPT-2's layer normalisation. Start from ADZ_GPT2_LAYER_NORM_OPTIONS. */
typedef struct adz_gpt2_layer_norm_options {
    size_t size;     /**< sizeof(adz_gpt2_layer_norm_options) */
    double eps;      /**< added to the variance, 0 or more; 1e-12 */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_gpt2_layer_norm_options;

/** The defaults. */
#define ADZ_GPT2_LAYER_NORM_OPTIONS                                                    \
    {                                                                                  \
        ADZ_MEMBER(size, sizeof(adz_gpt2_layer_norm_options)), ADZ_MEMBER(eps, 1e-12), \
            ADZ_MEMBER(dtype, ADZ_F32)                                                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gpt2_layer_norm_options) as the caller knows it
 */
ADZ_API void adz_gpt2_layer_norm_options_init(adz_gpt2_layer_norm_options *options, size_t size);

/**
 * adz_layer_norm_new over the last dimension, with this code's epsilon. Inside a block the epsilon
 * is the model's.
 *
 * @param hidden_size  features of x, 0 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_layer_norm_new(
    int64_t hidden_size, const adz_gpt2_layer_norm_options *options);

/** Options of the notes' feed-forward network. Start from
 * ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS. */
typedef struct adz_gpt2_notes_feed_forward_options {
    size_t size;              /**< sizeof(adz_gpt2_notes_feed_forward_options) */
    double dropout;           /**< probability of zeroing a result, in [0, 1]; 0.1 */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's; NULL for the default one */
} adz_gpt2_notes_feed_forward_options;

/** The defaults. */
#define ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS                                                      \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_gpt2_notes_feed_forward_options)), ADZ_MEMBER(dropout, 0.1), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gpt2_notes_feed_forward_options) as the caller knows it
 */
ADZ_API void adz_gpt2_notes_feed_forward_options_init(
    adz_gpt2_notes_feed_forward_options *options, size_t size);

/**
 * The feed-forward network of the notes on GPT-2.
 *
 *     y = dropout(c_proj(gelu(c_fc(x)))), gelu with erf
 *
 * As the notes' code has it, the widths go to Conv1D in its own order: x and y are [..., nx] and
 * d_model is the hidden width. The network that the notes' text describes, which expands d_model
 * to 4 d_model and contracts again, is adz_gpt2_notes_feed_forward_new(4 * d_model, d_model, ...).
 *
 * @param d_model  hidden features, 1 or more (the notes' default: 768)
 * @param nx       features of x, 1 or more (the notes' default: 3072)
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_notes_feed_forward_new(
    int64_t d_model, int64_t nx, const adz_gpt2_notes_feed_forward_options *options);

/* ---- the model ---------------------------------------------------------------------------- */

/** What a GPT-2 is made of. Start from ADZ_GPT2_OPTIONS, which are the small one's. */
typedef struct adz_gpt2_options {
    size_t size;               /**< sizeof(adz_gpt2_options) */
    int64_t vocab_size;        /**< tokens V, 1 or more; 50257 */
    int64_t n_positions;       /**< the longest text, past included, 1 or more; 1024 */
    int64_t n_ctx;             /**< side of the causal mask, 1 or more; 1024 */
    int64_t n_embd;            /**< features D, 1 or more; 768 */
    int64_t n_layer;           /**< blocks, 0 to 65535; 12 */
    int64_t n_head;            /**< heads H, which must divide the features; 12 */
    double layer_norm_epsilon; /**< of the blocks and of the last norm, 0 or more; 1e-5 */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    double embd_pdrop;         /**< probability of zeroing a value of the embeddings' sum, in
                                  [0, 1]; 0, which the reference has no layer for */
    adz_generator *generator;  /**< for dropout, stays the caller's; NULL for the default one */
    double attn_pdrop;         /**< probability of zeroing a probability of attention, in [0, 1]; 0,
                                  which the reference has no layer for */
    double resid_pdrop; /**< probability of zeroing a result of attention or of the feed-forward
                           network, in [0, 1]; 0, which the reference has no layer for */
    bool skip_init;     /**< whether the weights of Conv1D and of the tables are made as [0, 0], and
                           the masks are left out. The program replaces those weights, by
                           adz_module_set_parameter or adz_module_set_child, before the first call.
                           Use it for weights of a file: nothing is drawn, and they may be in half
                           precision. False. See torch.nn.utils.skip_init */
} adz_gpt2_options;

/** The defaults. */
#define ADZ_GPT2_OPTIONS                                                                           \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_gpt2_options)), ADZ_MEMBER(vocab_size, 50257),                 \
            ADZ_MEMBER(n_positions, 1024), ADZ_MEMBER(n_ctx, 1024), ADZ_MEMBER(n_embd, 768),       \
            ADZ_MEMBER(n_layer, 12), ADZ_MEMBER(n_head, 12), ADZ_MEMBER(layer_norm_epsilon, 1e-5), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(embd_pdrop, 0), ADZ_MEMBER(generator, NULL),    \
            ADZ_MEMBER(attn_pdrop, 0), ADZ_MEMBER(resid_pdrop, 0), ADZ_MEMBER(skip_init, false)    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gpt2_options) as the caller knows it
 */
ADZ_API void adz_gpt2_options_init(adz_gpt2_options *options, size_t size);

/**
 * The feed-forward network inside GPT-2.
 *
 *     y = dropout(c_proj(gelu(c_fc(x)))), gelu with tanh
 *
 * x and y are [..., n_embd].
 *
 * @param n_state  hidden features, 1 or more; blocks have 4 n_embd
 * @param options  n_embd, resid_pdrop, generator, dtype and skip_init are read; NULL for the
 *                 defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_mlp_new(int64_t n_state, const adz_gpt2_options *options);

/**
 * Causal self-attention with several heads, which can continue from the keys and values of what
 * went before.
 *
 *     q, k, v = c_attn(x) in heads;  k, v = past k and v, then these;
 *     s = q k^T, over sqrt(D / H) if scale, and -1e10 where the key comes later than the query or
 *         attention_mask hides it;
 *     y = dropout(c_proj(dropout(softmax(s)) v)), by resid_pdrop and attn_pdrop
 *
 * The call takes x[B, T, D]; second or as "past", past[2, B, H, P, D/H], keys first; and third or
 * as "attention_mask", a bool mask that expands to [B, H, T, P + T] and is true for keys that
 * count. It gives y[B, T, D] and "present"[2, B, H, P + T, D/H], without a past a view of c_attn's
 * result. What a query gets whose keys are all hidden is not defined. The buffer bias[1, 1, n_ctx,
 * n_ctx] hides later keys; with skip_init there is no buffer, they are hidden all the same, and
 * P + T has no limit.
 *
 * @param nx       features D, 1 or more, divided by n_head
 * @param n_ctx    the longest P + T, 1 or more
 * @param scale    whether scores are divided by the root of a head's width (the reference's
 *                 default: false; its model says true)
 * @param options  n_head, attn_pdrop, resid_pdrop, generator, dtype and skip_init are read; NULL
 * for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_attention_new(
    int64_t nx, int64_t n_ctx, bool scale, const adz_gpt2_options *options);

/**
 * One layer of GPT-2.
 *
 *     x = x + attn(ln_1(x));  y = x + mlp(ln_2(x))
 *
 * Arguments and results are those of adz_gpt2_attention_new.
 *
 * @param n_ctx    the longest text, past included, 1 or more
 * @param scale    whether scores are divided by the root of a head's width (the reference's
 *                 default: false; its model says true)
 * @param options  n_embd, n_head, layer_norm_epsilon, attn_pdrop, resid_pdrop, generator, dtype and
 *                 skip_init are read; NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_block_new(int64_t n_ctx, bool scale, const adz_gpt2_options *options);

/**
 * The stack of GPT-2 without a head.
 *
 *     h = wte[ids] + wpe[positions] + wte[token types];  h = each block in turn;  y = ln_f(h)
 *
 * Arguments, by position or by name: "input_ids"[..., T] of integers; "position_ids"[..., T],
 * counted from the length of the past where left out; "token_type_ids"[..., T], no term where left
 * out; "past.0", "past.1", ...: for each block the present of an earlier call, all or none;
 * "attention_mask"[..., P + T], bool or numbers, true or not 0 for tokens that count. A mask moves
 * no positions: with padding on the left, give position_ids that count the tokens of each text.
 * Results: y[..., T, D] and "present.0", "present.1", ... The tables start with the initial values
 * of adz_embedding_new. Each block draws its own weights. With an embd_pdrop, the sum of the
 * embeddings goes through the child drop, as in GPT-2's own code.
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_model_new(const adz_gpt2_options *options);

/**
 * GPT-2 as a language model, whose head is the table of tokens.
 *
 *     logits = y wte^T;  loss = mean cross entropy of logits and labels
 *
 * Arguments, by position or by name: those of adz_gpt2_model_new with "lm_labels"[..., T] before
 * the past, so "attention_mask" is still the last one. Results: without labels "logits"[..., T, V]
 * and "present.0", "present.1", ...; with labels the scalar "loss" alone, in which labels of -1 do
 * not count. Labels are not shifted: the label of a position is the token after it. The children
 * are transformer and lm_head; wte.weight of the one is decoder.weight of the other, listed once
 * and saved under both names.
 *
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_gpt2_lm_head_model_new(const adz_gpt2_options *options);

#ifdef __cplusplus
}
#endif

#endif
