/**
 * @file dlpack.h
 * Sharing tensors with other libraries without copying, through DLPack's managed tensors.
 *
 * The structures are those of DLPack's stable C interface (version 0.8: no flags, no version
 * field), so that a pointer can be handed to or taken from any library that speaks it.
 */
#ifndef ADZE_DLPACK_H
#define ADZE_DLPACK_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where memory lies, as DLPack's DLDevice. */
typedef struct adz_dl_device {
    int32_t device_type; /**< 1 for memory that the processor addresses */
    int32_t device_id;   /**< 0 for such memory */
} adz_dl_device;

/** The type of an element, as DLPack's DLDataType. */
typedef struct adz_dl_data_type {
    uint8_t code;   /**< 0 integer, 1 unsigned, 2 float, 4 bfloat, 6 bool */
    uint8_t bits;   /**< of one lane */
    uint16_t lanes; /**< 1 */
} adz_dl_data_type;

/** A tensor's memory and layout, as DLPack's DLTensor. */
typedef struct adz_dl_tensor {
    void *data;             /**< start of the memory */
    adz_dl_device device;   /**< where it lies */
    int32_t ndim;           /**< dimensions */
    adz_dl_data_type dtype; /**< of the elements */
    int64_t *shape;         /**< ndim sizes */
    int64_t *strides;       /**< ndim strides in elements; NULL when contiguous */
    uint64_t byte_offset;   /**< from data to the first element */
} adz_dl_tensor;

/** A tensor with its owner's deleter, as DLPack's DLManagedTensor. */
typedef struct adz_dl_managed_tensor {
    adz_dl_tensor dl_tensor;                             /**< the tensor */
    void *manager_ctx;                                   /**< the owner's */
    void (*deleter)(struct adz_dl_managed_tensor *self); /**< ends it; may be NULL */
} adz_dl_managed_tensor;

/**
 * Hands a tensor out. The memory is shared and lives until the deleter is called.
 *
 * @param t  any tensor that wants no gradient
 * @return   the consumer's: it calls the deleter once, on any thread; NULL with ADZ_ERR_NULL,
 *           ADZ_ERR_GRAPH (detach it first) or ADZ_ERR_MEMORY
 * @see      torch.utils.dlpack.to_dlpack
 */
ADZ_API adz_dl_managed_tensor *adz_tensor_to_dlpack(adz_tensor *t);

/**
 * Takes a tensor in. The memory is shared; the deleter is called when the last tensor over it ends.
 *
 * @param managed  in the processor's memory, with one lane and a dtype of adze's. On failure it
 * stays the caller's.
 * @return         a view, borrowed from the scope, or NULL with ADZ_ERR_NULL, ADZ_ERR_UNSUPPORTED,
 *                 ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT (misaligned) or ADZ_ERR_MEMORY
 * @see            torch.utils.dlpack.from_dlpack
 */
ADZ_API adz_tensor *adz_tensor_from_dlpack(adz_dl_managed_tensor *managed);

#ifdef __cplusplus
}
#endif

#endif
