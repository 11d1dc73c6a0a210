/* The decoder block of Llama, Qwen2 and Qwen3. */
#ifndef ADZI_MODELS_PRETRAINED_DECODER_H
#define ADZI_MODELS_PRETRAINED_DECODER_H

#include "adze/ops/activation.h"
#include "pretrained/parts.h"

/** The sizes and the options of a block. */
typedef struct models_decoder {
    int64_t hidden, intermediate; /* features of the block, and inside its feed-forward network */
    int64_t heads, key_heads, head_dim; /* heads of queries; of keys and values; features of each */
    double norm_eps, dropout;           /* dropout of the probabilities, in training */
    bool qkv_bias, o_bias, mlp_bias;    /* which linear layers have one */
    bool qk_norm;                       /* heads of queries and keys are normalised */
    adz_activation activation;          /* of the gate */
} models_decoder;

/**
 * Makes a block of the weights PATH.self_attn.q_proj.weight and so on.
 *
 *     h = x + attention(norm(x)),   y = h + down(f(gate(norm(h))) * up(norm(h)))
 *
 * A call takes "x" [B, T, D], "cos" and "sin" [T or B, T, 1, E/2], "mask", a bool mask of the keys
 * or ADZ_NONE, "cache" [2, B, Hk, capacity, E] or ADZ_NONE, and "past", the positions that the
 * cache has, i64[]; ADZ_NONE stands for 0. The result is y.
 *
 * @param window  keys that a query sees, its own among them; 0: all before it
 */
adz_module *adzi_models_decoder_new(
    models_weights *weights, const char *path, const models_decoder *d, int64_t window);

#endif
