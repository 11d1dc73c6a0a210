/**
 * @file flat_parameters.h
 * Parameters and their gradients laid out in flat buffers.
 */
#ifndef ADZE_NN_FLAT_PARAMETERS_H
#define ADZE_NN_FLAT_PARAMETERS_H

#include "adze/nn/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Parameters whose elements lie in one contiguous buffer per dtype, and whose gradients lie in
 * another buffer of the same layout. Code that works on all parameters or all gradients, such as an
 * all-reduce between ranks, then handles a few large tensors instead of many small ones.
 *
 * @code
 * adz_module *model = adz_linear_new(3, 2, NULL);
 * adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(model));
 * adz_backward(adz_mean(adz_module_forward(model, adz_ones(ADZ_SHAPE(4, 3), ADZ_F32)),
 *     ADZ_ALL_DIMS, ADZ_DROPDIM));
 * adz_tensor *gradients = adz_flat_parameters_gradients(flat, 0); // all of them
 * adz_flat_parameters_free(&flat);
 * adz_module_release(&model);
 * @endcode
 *
 * The parameters stay the tensors that they were: modules, optimizers, checkpoints and clipping
 * work as before, and give the same bits. A group is made of the parameters of one dtype, in the
 * order in which they were given. Each parameter starts on a boundary of 64 bytes; the gaps hold
 * zeros.
 *
 * Backward writes each gradient into its slice. Where a parameter has no gradient, the slice holds
 * zeros. Zeroing or dropping a gradient sets its slice to zero, and the next backward uses the
 * slice again. If a backward fails after it has written to slices, it sets them to zero, and
 * optimizers refuse a step until the gradients are zeroed, dropped or set.
 *
 * A parameter that is laid out cannot be converted by adz_module_to or replaced by
 * adz_module_set_parameter. These calls fail with ADZ_ERR_STATE.
 */
typedef struct adz_flat_parameters adz_flat_parameters;

/** Where one parameter lies. */
typedef struct adz_flat_slice {
    adz_tensor *parameter; /**< borrowed; NULL where a call has failed */
    int group;             /**< its group, which has one dtype */
    int64_t offset;        /**< of its first element in the flat tensors of the group */
    int64_t length;        /**< its number of elements */
} adz_flat_slice;

/**
 * Lays parameters and their gradients out in flat buffers. Values and gradients are kept.
 *
 * Parameters that want no gradient are left out, as PyTorch's DistributedDataParallel leaves them
 * out. They stay ordinary tensors, and stay out if they want a gradient later. A tensor that stands
 * in the list several times is laid out once. Other tensors that share memory with a parameter,
 * such as views taken before, keep the old elements.
 *
 * @param parameters  leaves, f32 or f64, contiguous: adz_module_parameters(module)
 * @return            yours, end it with adz_flat_parameters_free. NULL with nothing changed and
 *                    ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (no parameter wants a gradient, one is laid out
 *                    already, or two share their memory), ADZ_ERR_GRAPH (one is no leaf),
 *                    ADZ_ERR_SHAPE (one is not contiguous) or ADZ_ERR_MEMORY recorded
 * @see               gradient_as_bucket_view of torch.nn.parallel.DistributedDataParallel, and the
 *                    flat parameters of torch.distributed.fsdp
 */
ADZ_API adz_flat_parameters *adz_flat_parameters_new(adz_tensor_list parameters);

/**
 * Ends the layout. The parameters and their gradients stay where they are and keep the memory of
 * the buffers alive, but from now on they are ordinary tensors.
 *
 * @param flat  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_flat_parameters_free(adz_flat_parameters **flat);

/**
 * The number of parameters that are laid out.
 *
 * @param flat  any layout
 * @return      0 when flat is NULL
 */
ADZ_API size_t adz_flat_parameters_count(const adz_flat_parameters *flat);

/**
 * Where one parameter lies.
 *
 * @param flat   any layout
 * @param index  below adz_flat_parameters_count, in the order in which the parameters were given
 * @return       its slice; one of zeros with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_flat_slice adz_flat_parameters_slice_at(const adz_flat_parameters *flat, size_t index);

/**
 * The number of groups: one for each dtype, in the order of their first parameters.
 *
 * @param flat  any layout
 * @return      0 when flat is NULL
 */
ADZ_API int adz_flat_parameters_group_count(const adz_flat_parameters *flat);

/**
 * All values of a group in one tensor of rank 1. After writing to it, call
 * adz_flat_parameters_touch.
 *
 * @param flat   any layout
 * @param group  below adz_flat_parameters_group_count
 * @return       borrowed from flat; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_tensor *adz_flat_parameters_values(const adz_flat_parameters *flat, int group);

/**
 * All gradients of a group in one tensor of rank 1, laid out like the values. Where a parameter has
 * no gradient there are zeros. What is written there counts once adz_flat_parameters_attach_grad
 * has been called for the parameter. After writing, call adz_flat_parameters_touch.
 *
 * @param flat   any layout
 * @param group  below adz_flat_parameters_group_count
 * @return       borrowed from flat; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_tensor *adz_flat_parameters_gradients(const adz_flat_parameters *flat, int group);

/**
 * Makes what lies in a parameter's slice of the flat gradients its gradient. Does nothing if the
 * parameter has a gradient. Use it where other ranks have computed a gradient for the parameter.
 *
 * @param flat   any layout
 * @param index  below adz_flat_parameters_count
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_INDEX, or ADZ_ERR_STATE while a running backward
 * still sums this gradient
 */
ADZ_API adz_status adz_flat_parameters_attach_grad(adz_flat_parameters *flat, size_t index);

/**
 * Says that elements were written through the flat tensors, so that a graph which has saved a
 * parameter notices.
 *
 * @param flat  any layout
 * @return      ADZ_OK or ADZ_ERR_NULL
 * @see         adz_tensor_touch
 */
ADZ_API adz_status adz_flat_parameters_touch(adz_flat_parameters *flat);

/**
 * Checks that a list has exactly the parameters that are laid out, in the same order. Parameters
 * that want no gradient and are not laid out are skipped. Use it to notice that a module was
 * changed after it was laid out.
 *
 * @param flat        any layout
 * @param parameters  adz_module_parameters(module)
 * @return            ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_STATE with a message that names the first
 *                    difference; ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_flat_parameters_check(
    const adz_flat_parameters *flat, adz_tensor_list parameters);

#ifdef __cplusplus
}
#endif

#endif
