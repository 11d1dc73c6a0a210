/**
 * @file darts.h
 * The feed-forward networks of the time-series library darts, and its dropout.
 */
#ifndef ADZE_ZOO_DARTS_H
#define ADZE_ZOO_DARTS_H

#include "adze/nn/dropout.h"
#include "adze/nn/feed_forward.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Dropout that can stay on in evaluation: active while training, and wherever
 * adz_darts_set_mc_dropout has switched it on. Predictions then differ from call to call, and their
 * spread says how sure the network is.
 *
 * @param p        probability of zeroing, in [0, 1]
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            darts.utils.torch.MonteCarloDropout; Gal and Ghahramani 2016
 */
ADZ_API adz_module *adz_darts_monte_carlo_dropout_new(double p, const adz_dropout_options *options);

/**
 * Switches every Monte-Carlo dropout of a tree on or off for evaluation; other dropouts stay as
 * they are. A new one is off.
 *
 * @param module  any module; everything below it changes too
 * @param on      true to drop in evaluation as well
 * @return        ADZ_OK or ADZ_ERR_NULL
 */
ADZ_API adz_status adz_darts_set_mc_dropout(adz_module *module, bool on);

/**
 * adz_feed_forward_new with a Monte-Carlo dropout.
 *
 * @param d_model  features of x, 1 or more
 * @param d_ff     hidden features, 1 or more
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded
 * @see            darts.models.components.feed_forward.FeedForward
 */
ADZ_API adz_module *adz_darts_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options);

/**
 * One of the classes ReLU, GELU, GLU, Bilinear, ReGLU, GEGLU and SwiGLU: the network of
 * adz_feed_forward_variant_new with a Monte-Carlo dropout, as the child ffn, so that its parameters
 * are called ffn.layer1.weight and so on.
 *
 * @param variant  a name of the table in adz_feed_forward_variant_new
 * @param d_model  features of x, 1 or more
 * @param d_ff     hidden features, 1 or more
 * @param options  dropout, dtype, generator and dropout_module are read; the variant decides the
 *                 rest; NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE
 * or ADZ_ERR_MEMORY recorded; ADZ_ERR_ARGUMENT also for an unknown name
 * @see            darts.models.components.glu_variants
 */
ADZ_API adz_module *adz_darts_glu_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options);

#ifdef __cplusplus
}
#endif

#endif
