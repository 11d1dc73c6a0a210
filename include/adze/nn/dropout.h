/**
 * @file dropout.h
 * Dropout as a module.
 */
#ifndef ADZE_NN_DROPOUT_H
#define ADZE_NN_DROPOUT_H

#include "adze/nn/module.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a dropout. Start from ADZ_DROPOUT_OPTIONS. */
typedef struct adz_dropout_options {
    size_t size;              /**< sizeof(adz_dropout_options) */
    adz_generator *generator; /**< drawn from, stays the caller's and must outlive the module and
                                 its copies; NULL for the default one */
} adz_dropout_options;

/** The defaults. */
#define ADZ_DROPOUT_OPTIONS                                                        \
    {                                                                              \
        ADZ_MEMBER(size, sizeof(adz_dropout_options)), ADZ_MEMBER(generator, NULL) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_dropout_options) as the caller knows it
 */
ADZ_API void adz_dropout_options_init(adz_dropout_options *options, size_t size);

/**
 * adz_dropout while training; returns its argument in evaluation. A failed forward of a larger
 * module may have drawn from the generator.
 *
 * @param p        probability of zeroing, in [0, 1]
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 * ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Dropout
 */
ADZ_API adz_module *adz_dropout_new(double p, const adz_dropout_options *options);

/**
 * Drops whole channels of signals while training: adz_dropout1d; returns its argument in
 * evaluation.
 *
 * x is [N, C, L] or [C, L]. A mask of a replay broadcasts to x.
 *
 * @param p        probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Dropout1d
 */
ADZ_API adz_module *adz_dropout1d_new(double p, const adz_dropout_options *options);

/**
 * Drops whole channels of images while training: adz_dropout2d; returns its argument in evaluation.
 *
 * x is [N, C, H, W]; [N, C, L] counts as a batch of signals, as in PyTorch. A mask of a replay
 * broadcasts to x.
 *
 * @param p        probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Dropout2d
 */
ADZ_API adz_module *adz_dropout2d_new(double p, const adz_dropout_options *options);

/**
 * Drops whole channels of volumes while training: adz_dropout3d; returns its argument in
 * evaluation.
 *
 * x is [N, C, D, H, W] or [C, D, H, W]. A mask of a replay broadcasts to x.
 *
 * @param p        probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Dropout3d
 */
ADZ_API adz_module *adz_dropout3d_new(double p, const adz_dropout_options *options);

/**
 * adz_alpha_dropout while training, for networks of adz_selu; returns its argument in evaluation.
 *
 * @param p        probability of dropping, in [0, 1]; PyTorch's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.AlphaDropout
 */
ADZ_API adz_module *adz_alpha_dropout_new(double p, const adz_dropout_options *options);

/**
 * adz_feature_alpha_dropout while training: alpha dropout of whole channels of x[N, C, ...].
 * Returns its argument in evaluation.
 *
 * @param p        probability of dropping, in [0, 1]; PyTorch's default is 0.5
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.FeatureAlphaDropout
 */
ADZ_API adz_module *adz_feature_alpha_dropout_new(double p, const adz_dropout_options *options);

/**
 * The mask that a module has to use instead of drawing one, for dropouts of your own. Masks of
 * another run can be replayed, in the order in which modules ask for them; adze's tests compare
 * with PyTorch in this way. Ask only when the module would draw.
 *
 * @param module  the module that drops elements
 * @return        the mask, for adz_dropout_mask, borrowed; ADZ_NONE if no masks are replayed, which
 *                is the usual case; NULL with ADZ_ERR_NULL, or ADZ_ERR_STATE if no mask is left
 */
ADZ_API adz_tensor *adz_module_next_mask(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
