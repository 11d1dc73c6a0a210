/**
 * @file hooks.h
 * Hooks: functions that see gradients during a backward. adze/autograd.h includes this header.
 */
#ifndef ADZE_HOOKS_H
#define ADZE_HOOKS_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A hook: it sees a gradient before the gradient is used, and may replace it. It does not write to
 * the gradient, which may share its elements with a weight or with other gradients.
 *
 * @param grad  the gradient, borrowed
 * @param user  the pointer given to adz_register_hook
 * @return      grad itself, a replacement of the same shape and dtype, or NULL for a failure
 */
typedef adz_tensor *(*adz_tensor_hook)(adz_tensor *grad, void *user);

/**
 * Registers a hook. Every backward calls it with the gradient of the tensor, as soon as the
 * gradient has been summed completely.
 *
 * @param t     a tensor that wants a gradient
 * @param hook  called in the order of registration
 * @param user  handed to hook
 * @return      a positive number for adz_remove_hook; 0 with ADZ_ERR_NULL, ADZ_ERR_GRAPH or
 *              ADZ_ERR_MEMORY recorded
 * @see         torch.Tensor.register_hook
 */
ADZ_API uint64_t adz_register_hook(adz_tensor *t, adz_tensor_hook hook, void *user);

/**
 * A post-accumulate hook: it runs when `.grad` of a leaf is complete. It may read and change the
 * gradient, and change the leaf in place.
 *
 * @param t     the leaf, borrowed
 * @param user  the pointer given to adz_register_post_accumulate_grad_hook
 * @return      ADZ_OK; anything else ends the backward with this failure
 */
typedef adz_status (*adz_post_accumulate_grad_hook)(adz_tensor *t, void *user);

/**
 * Registers a hook that adz_backward and adz_autograd_backward call after they have added to
 * `.grad` of a leaf. It runs as soon as no other operator can add to the gradient, while the
 * backward goes on with older operators. Data-parallel training sends gradients from such hooks.
 *
 * The gradient of a leaf with such a hook is committed before the hook runs. If the backward fails
 * afterwards, this gradient becomes zero, and optimizers refuse a step until it is zeroed, dropped
 * or set. adz_autograd_grad does not call these hooks.
 *
 * @param t     a leaf that wants a gradient
 * @param hook  called in the order of registration
 * @param user  handed to hook
 * @return      a positive number for adz_remove_hook; 0 with ADZ_ERR_NULL, ADZ_ERR_GRAPH (t is not
 *              a leaf or wants no gradient) or ADZ_ERR_MEMORY recorded
 * @see         torch.Tensor.register_post_accumulate_grad_hook
 */
ADZ_API uint64_t adz_register_post_accumulate_grad_hook(
    adz_tensor *t, adz_post_accumulate_grad_hook hook, void *user);

/**
 * Removes a hook.
 *
 * @param t   the tensor it was registered on
 * @param id  what adz_register_hook or adz_register_post_accumulate_grad_hook returned
 * @return    ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_ARGUMENT
 */
ADZ_API adz_status adz_remove_hook(adz_tensor *t, uint64_t id);

/** Ends what a hook's `user` points to. */
typedef void (*adz_hook_end)(void *user);

/**
 * Gives what a hook's `user` points to an end: a function that is called once with `user`, when the
 * hook is removed or when the graph or the leaf that has the hook ends. Use it where a hook owns
 * memory, such as the function of another language.
 *
 * @param t    the tensor the hook was registered on
 * @param id   what adz_register_hook or adz_register_post_accumulate_grad_hook returned
 * @param end  called on the thread on which the hook ends; NULL for nothing
 * @return     ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (no such hook)
 */
ADZ_API adz_status adz_set_hook_end(adz_tensor *t, uint64_t id, adz_hook_end end);

#ifdef __cplusplus
}
#endif

#endif
