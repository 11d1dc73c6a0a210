/**
 * @file averaged_model.h
 * Averages of weights over training steps: their mean (SWA), or one in which old weights fade
 * (EMA).
 *
 * @code
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_averaged_model_options ema = ADZ_AVERAGED_MODEL_OPTIONS;
 * ema.decay = 0.99; // without it, the mean of all weights
 * adz_module *averaged = adz_averaged_model_new(model, &ema);
 * for (int step = 0; step < 100; ++step) {
 *     // zero_grad, backward, adz_optimizer_step
 *     adz_averaged_model_update(averaged, model);
 * }
 * adz_module_eval(averaged);
 * adz_tensor *y = adz_module_forward(averaged, adz_ones(ADZ_SHAPE(3, 4), ADZ_F32));
 * adz_module_release(&averaged);
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_OPTIM_AVERAGED_MODEL_H
#define ADZE_OPTIM_AVERAGED_MODEL_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** adz_averaged_model_options.decay: the mean of all weights. */
#define ADZ_MEAN_OF_ALL (-1.0)

/** Settings of an averaged model. Start from ADZ_AVERAGED_MODEL_OPTIONS. */
typedef struct adz_averaged_model_options {
    size_t size;      /**< sizeof(adz_averaged_model_options) */
    double decay;     /**< part of the average that an update keeps, 0 to 1 (PyTorch's default for
                           EMA: 0.999); or ADZ_MEAN_OF_ALL, which is the default */
    bool use_buffers; /**< average the buffers, too, instead of copying them; false */
} adz_averaged_model_options;

/** The defaults. */
#define ADZ_AVERAGED_MODEL_OPTIONS                                                                \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_averaged_model_options)), ADZ_MEMBER(decay, ADZ_MEAN_OF_ALL), \
            ADZ_MEMBER(use_buffers, false)                                                        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_averaged_model_options) as the caller knows it
 */
ADZ_API void adz_averaged_model_options_init(adz_averaged_model_options *options, size_t size);

/**
 * A copy of a model whose parameters are averages. It is called as the model is. Its state has the
 * model's names after "module.", and the number of updates as "n_averaged", as in PyTorch, whose
 * checkpoints it loads.
 *
 *     n = 0:  a = w
 *     mean:   a = a + (w - a) / (n + 1)
 *     EMA:    a = decay a + (1 - decay) w
 *
 * PyTorch's functions avg_fn and multi_avg_fn are decay here. For another average, loop over
 * adz_module_parameters of both.
 *
 * @param model    any module, copied (adz_module_copy)
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                 or ADZ_ERR_MEMORY recorded
 * @see            torch.optim.swa_utils.AveragedModel; Izmailov et al., 2018 (SWA)
 */
ADZ_API adz_module *adz_averaged_model_new(
    adz_module *model, const adz_averaged_model_options *options);

/**
 * Takes the model's weights into the averages, and counts. Records nothing, and may be captured in
 * a plan. Buffers are copied, or averaged like parameters with `use_buffers`; an average of
 * integers is cut to an integer. After an error the averages may be changed in part.
 *
 * @param averaged  made by adz_averaged_model_new
 * @param model     a module with the parameters and buffers of the one that was copied
 * @return          ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another kind of module, or another
 *                  number of parameters or buffers, with nothing changed), ADZ_ERR_SHAPE,
 *                  ADZ_ERR_MEMORY
 * @see             torch.optim.swa_utils.AveragedModel.update_parameters
 */
ADZ_API adz_status adz_averaged_model_update(adz_module *averaged, adz_module *model);

/**
 * Gives the next batch for adz_update_bn.
 *
 * @param user  as given to adz_update_bn
 * @return      the input of the model, borrowed; NULL at the end, or for a failure with the error
 *              recorded
 */
typedef adz_tensor *(*adz_batch_source)(void *user);

/**
 * Computes the running statistics of all batch norms again, as averages over batches, because those
 * of averaged weights are not averages of statistics. Calls the model on every batch in training
 * mode, without recording. A model without batch norms is not called.
 *
 * @param model  any module; its mode stays as it was
 * @param next   called for each batch, until it returns NULL
 * @param user   handed to next
 * @return       ADZ_OK; ADZ_ERR_NULL, or the error of `next` or of the model
 * @see          torch.optim.swa_utils.update_bn
 */
ADZ_API adz_status adz_update_bn(adz_module *model, adz_batch_source next, void *user);

#ifdef __cplusplus
}
#endif

#endif
