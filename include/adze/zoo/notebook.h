/**
 * @file notebook.h
 * The feed-forward network of the reference notebook, and its parts where they differ from
 * PyTorch's.
 */
#ifndef ADZE_ZOO_NOTEBOOK_H
#define ADZE_ZOO_NOTEBOOK_H

#include "adze/nn/activations.h"
#include "adze/nn/dropout.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The notebook's ReLU: max(x, 0) as a clamp, whose gradient at exactly 0 is 1.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_notebook_relu_new(void);

/**
 * The notebook's ReLU, which overwrites its argument.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_notebook_relu_inplace_new(void);

/**
 * The notebook's Dropout: adz_dropout, with p below 1.
 *
 * @param p        probability of zeroing, in [0, 1)
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_notebook_dropout_new(double p, const adz_dropout_options *options);

/** Options of the notebook's network. Start from
 * ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS. */
typedef struct adz_notebook_feed_forward_options {
    size_t size;              /**< sizeof(adz_notebook_feed_forward_options) */
    double dropout;           /**< probability of zeroing a hidden value, in [0, 1); 0.1 */
    bool bias;                /**< whether there are b1 and b2; true */
    adz_dtype dtype;          /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
    adz_generator *generator; /**< for dropout, stays the caller's; NULL for the default one */
} adz_notebook_feed_forward_options;

/** The defaults. */
#define ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS                                                      \
    {                                                                                          \
        ADZ_MEMBER(size, sizeof(adz_notebook_feed_forward_options)), ADZ_MEMBER(dropout, 0.1), \
            ADZ_MEMBER(bias, true), ADZ_MEMBER(dtype, ADZ_F32), ADZ_MEMBER(generator, NULL)    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_notebook_feed_forward_options) as the caller knows it
 */
ADZ_API void adz_notebook_feed_forward_options_init(
    adz_notebook_feed_forward_options *options, size_t size);

/**
 * The notebook's position-wise feed-forward network.
 *
 *     y = dropout(relu(x w1 + b1)) w2 + b2
 *
 * The parameters are w1[d_model, d_ff] and w2[d_ff, d_model], drawn from the normal distribution
 * and divided by the root of their fan-in, and b1 and b2, zeros; listed as w1, w2, b1, b2. The
 * children are called relu and dropout. x is [..., d_model], y is shaped like x.
 *
 * @param d_model  features of x, 1 or more
 * @param d_ff     hidden features, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_notebook_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_notebook_feed_forward_options *options);

#ifdef __cplusplus
}
#endif

#endif
