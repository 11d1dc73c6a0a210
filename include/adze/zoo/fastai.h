/**
 * @file fastai.h
 * The feed-forward network of fastai's text models, and its containers.
 */
#ifndef ADZE_ZOO_FASTAI_H
#define ADZE_ZOO_FASTAI_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** fastai's activations. */
typedef enum adz_fastai_activation {
    ADZ_FASTAI_ACTIVATION_RELU = 0,  /**< max(x, 0), in place */
    ADZ_FASTAI_ACTIVATION_SWISH = 1, /**< x sigmoid(x) */
    ADZ_FASTAI_ACTIVATION_GELU = 2   /**< with tanh */
} adz_fastai_activation;

/** Options of fastai's network. Start from ADZ_FASTAI_FEED_FORWARD_OPTIONS. */
typedef struct adz_fastai_feed_forward_options {
    size_t size;               /**< sizeof(adz_fastai_feed_forward_options) */
    double ff_p;               /**< probability of zeroing, in [0, 1]; 0 */
    adz_fastai_activation act; /**< between the layers; ADZ_FASTAI_ACTIVATION_RELU */
    bool double_drop;          /**< dropout after the activation too; true */
    adz_dtype dtype;           /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator;  /**< for dropout, stays the caller's; NULL for the default one */
} adz_fastai_feed_forward_options;

/** The defaults. */
#define ADZ_FASTAI_FEED_FORWARD_OPTIONS                                                 \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_fastai_feed_forward_options)), ADZ_MEMBER(ff_p, 0), \
            ADZ_MEMBER(act, ADZ_FASTAI_ACTIVATION_RELU), ADZ_MEMBER(double_drop, true), \
            ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_fastai_feed_forward_options) as the caller knows it
 */
ADZ_API void adz_fastai_feed_forward_options_init(
    adz_fastai_feed_forward_options *options, size_t size);

/**
 * The feed-forward network with its residual connection and its norm.
 *
 *     h = act(linear(x));  double_drop: h = dropout(h);
 *     y = layer_norm(x + dropout(linear(h)))
 *
 * A SequentialEx of, in this order, Linear, activation, Dropout (with double_drop), Linear,
 * Dropout, MergeLayer and LayerNorm, so that the parameters are called layers.0, layers.3 and
 * layers.6 with double_drop, else layers.0, layers.2 and layers.5. x is [..., d_model], y is shaped
 * like x.
 *
 * @param d_model  features of x, 1 or more
 * @param d_ff     hidden features, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            fastai.text.models.transformer.feed_forward
 */
ADZ_API adz_module *adz_fastai_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_fastai_feed_forward_options *options);

/**
 * Modules called one after the other, whose MergeLayers add the argument of the whole.
 *
 * @param modules  count modules, children "0", "1", ... of the child layers; each reference is
 *                 taken over in every case, failure included; a NULL among them fails
 * @param count    0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                 recorded
 * @see            fastai.layers.SequentialEx
 */
ADZ_API adz_module *adz_fastai_sequential_ex_new(adz_module *const *modules, size_t count);

/**
 * The position in a SequentialEx where its argument is added. Anywhere else, calling it is an
 * error.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    fastai.layers.MergeLayer
 */
ADZ_API adz_module *adz_fastai_merge_layer_new(void);

#ifdef __cplusplus
}
#endif

#endif
