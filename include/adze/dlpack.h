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

/** The device that owns memory (DLPack: DLDevice). */
typedef struct adz_dl_device {
    int32_t device_type; /**< 1 for memory that the processor addresses */
    int32_t device_id;   /**< 0 for such memory */
} adz_dl_device;

/** The type of an element (DLPack: DLDataType). */
typedef struct adz_dl_data_type {
    uint8_t code;   /**< 0 integer, 1 unsigned, 2 float, 4 bfloat, 6 bool */
    uint8_t bits;   /**< bits of one lane */
    uint16_t lanes; /**< 1 */
} adz_dl_data_type;

/** The memory and the layout of a tensor (DLPack: DLTensor). */
typedef struct adz_dl_tensor {
    void *data;             /**< start of the memory */
    adz_dl_device device;   /**< the device that owns the memory */
    int32_t ndim;           /**< number of dimensions */
    adz_dl_data_type dtype; /**< type of the elements */
    int64_t *shape;         /**< ndim sizes */
    int64_t *strides;       /**< ndim strides in elements; NULL when contiguous */
    uint64_t byte_offset;   /**< from data to the first element */
} adz_dl_tensor;

/** A tensor with the deleter of its owner (DLPack: DLManagedTensor). */
typedef struct adz_dl_managed_tensor {
    adz_dl_tensor dl_tensor;                             /**< the tensor */
    void *manager_ctx;                                   /**< a pointer for the owner's use */
    void (*deleter)(struct adz_dl_managed_tensor *self); /**< ends it; may be NULL */
} adz_dl_managed_tensor;

/**
 * Gives another library access to a tensor. The memory is shared and lives until the consumer calls
 * the deleter.
 *
 * @param t  any tensor that wants no gradient
 * @return   owned by the consumer, which calls the deleter once, on any thread; NULL with
 *           ADZ_ERR_NULL, ADZ_ERR_GRAPH (detach it first) or ADZ_ERR_MEMORY
 * @see      torch.utils.dlpack.to_dlpack
 */
ADZ_API adz_dl_managed_tensor *adz_tensor_to_dlpack(adz_tensor *t);

/**
 * Makes a tensor over another library's memory. The memory is shared. The deleter is called when
 * the last tensor over it ends.
 *
 * @param managed  in the processor's memory, with one lane and one of adze's dtypes. After a
 *                 failure the caller still owns it.
 * @return         a view, borrowed from the scope, or NULL with ADZ_ERR_NULL, ADZ_ERR_UNSUPPORTED,
 *                 ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT (misaligned) or ADZ_ERR_MEMORY
 * @see            torch.utils.dlpack.from_dlpack
 */
ADZ_API adz_tensor *adz_tensor_from_dlpack(adz_dl_managed_tensor *managed);

#ifdef __cplusplus
}
#endif

#endif
