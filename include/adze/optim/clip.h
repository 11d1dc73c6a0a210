/**
 * @file clip.h
 * Gradient clipping.
 */
#ifndef ADZE_OPTIM_CLIP_H
#define ADZE_OPTIM_CLIP_H

#include "adze/nn/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Scales all gradients by one factor so that their common norm is at most max_norm.
 *
 *     norm = (sum |g|^norm_type)^(1/norm_type) over all elements of all gradients
 *     g = g min(1, max_norm / (norm + 1e-6))
 *
 * A norm that fits is right although a sum of powers overflows, where PyTorch makes all gradients
 * 0.
 *
 * @param parameters  those without a gradient are left out
 * @param max_norm    0 or more
 * @param norm_type   above 0; INFINITY for the largest magnitude (PyTorch's default: 2)
 * @return            the norm before clipping, 0 without gradients; NaN with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY or the error that is pending recorded, or,
 *                    without an error, when a gradient has one
 * @see               torch.nn.utils.clip_grad_norm_
 *
 * A function that a plan captures cannot use the norm of a run, so it calls adz_clip_grads.
 */
ADZ_API double adz_clip_grad_norm(adz_tensor_list parameters, double max_norm, double norm_type);

/**
 * adz_clip_grad_norm without the norm. It may be called in a function that a plan captures
 * (adze/plan.h); adz_plan_grad_norm gives the norm after each run.
 *
 * @param parameters  those without a gradient are left out
 * @param max_norm    0 or more
 * @param norm_type   above 0; INFINITY for the largest magnitude (PyTorch's default: 2)
 * @return            ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY, or the code of the
 *                    error that is pending
 * @see               torch.nn.utils.clip_grad_norm_
 */
ADZ_API adz_status adz_clip_grads(adz_tensor_list parameters, double max_norm, double norm_type);

/**
 * Limits every element of every gradient to [-clip_value, clip_value].
 *
 * @param parameters  those without a gradient are left out
 * @param clip_value  0 or more
 * @return            ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, or the code of the error that is
 *                    pending
 * @see               torch.nn.utils.clip_grad_value_
 */
ADZ_API adz_status adz_clip_grad_value(adz_tensor_list parameters, double clip_value);

#ifdef __cplusplus
}
#endif

#endif
