/**
 * @file feed_forward.h
 * The position-wise feed-forward network.
 */
#ifndef ADZE_NN_FEED_FORWARD_H
#define ADZE_NN_FEED_FORWARD_H

#include "adze/nn/activations.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a feed-forward network. Start from ADZ_FEED_FORWARD_OPTIONS. */
typedef struct adz_feed_forward_options {
    size_t size;               /**< sizeof(adz_feed_forward_options) */
    double dropout;            /**< probability of zeroing a hidden value, in [0, 1]; 0.1 */
    adz_activation activation; /**< between the layers; ADZ_ACTIVATION_RELU */
    bool is_gated;             /**< multiply by a second linear layer of x; false */
    bool bias1;                /**< whether layer1 has a bias; true */
    bool bias2;                /**< whether layer2 has one; true */
    bool bias_gate;            /**< whether linear_v has one; true */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's; NULL for the default one */
    adz_activation_function activation_function; /**< instead of activation; NULL for none */
    adz_module *activation_module; /**< instead of activation; the network takes a reference of its
                                      own, so that several may share one; NULL for none */
    adz_module *dropout_module;    /**< instead of a Dropout; as activation_module; NULL for none */
} adz_feed_forward_options;

/** The defaults. */
#define ADZ_FEED_FORWARD_OPTIONS                                                           \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_feed_forward_options)), ADZ_MEMBER(dropout, 0.1),      \
            ADZ_MEMBER(activation, ADZ_ACTIVATION_RELU), ADZ_MEMBER(is_gated, false),      \
            ADZ_MEMBER(bias1, true), ADZ_MEMBER(bias2, true), ADZ_MEMBER(bias_gate, true), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL),                       \
            ADZ_MEMBER(activation_function, NULL), ADZ_MEMBER(activation_module, NULL),    \
            ADZ_MEMBER(dropout_module, NULL)                                               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_feed_forward_options) as the caller knows it
 */
ADZ_API void adz_feed_forward_options_init(adz_feed_forward_options *options, size_t size);

/**
 * Two linear layers with an activation between them, applied to each position.
 *
 *     h = activation(layer1(x));  gated: h = h * linear_v(x);  y = layer2(dropout(h))
 *
 * The children are called layer1, layer2, dropout, activation and, when gated, linear_v. x is [...,
 * d_model], y is shaped like x.
 *
 * @param d_model  features of x, 1 or more
 * @param d_ff     features of h, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            labml_nn.transformers.feed_forward.FeedForward
 */
ADZ_API adz_module *adz_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options);

/**
 * A feed-forward network of the experiment with gated linear units, by its name there.
 *
 * | name     | activation | gated, without biases |
 * |----------|------------|-----------------------|
 * | ReLU     | relu       | no: both biases       |
 * | GELU     | gelu, erf  | no: both biases       |
 * | GLU      | sigmoid    | yes                   |
 * | Bilinear | identity   | yes                   |
 * | ReGLU    | relu       | yes                   |
 * | GEGLU    | gelu, erf  | yes                   |
 * | SwiGLU   | silu       | yes                   |
 *
 * @param variant  a name of the table
 * @param d_model  features of x, 1 or more
 * @param d_ff     features of h, 1 or more
 * @param options  dropout, dtype, generator and dropout_module are read; the variant decides the
 *                 rest; NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded; ADZ_ERR_ARGUMENT also for an unknown name
 * @see            Shazeer 2020, GLU Variants Improve Transformer
 */
ADZ_API adz_module *adz_feed_forward_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options);

#ifdef __cplusplus
}
#endif

#endif
