/**
 * @file export.h
 * Networks as files for other programs: ONNX.
 */
#ifndef ADZE_EXPORT_H
#define ADZE_EXPORT_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether the first dimension of the inputs may have any size in an exported network. */
typedef enum adz_batch_dimension {
    ADZ_BATCH_AUTO = 0, /**< free if every operator of the network allows it, else fixed */
    ADZ_BATCH_FREE = 1, /**< free; an error that names the operator in question otherwise */
    ADZ_BATCH_FIXED = 2 /**< the size that the inputs have */
} adz_batch_dimension;

/** How a network is written as ONNX. Start from ADZ_ONNX_OPTIONS. */
typedef struct adz_onnx_options {
    size_t size;                         /**< sizeof(adz_onnx_options) */
    adz_batch_dimension batch_dimension; /**< ADZ_BATCH_AUTO by default */
} adz_onnx_options;

/** The defaults. */
#define ADZ_ONNX_OPTIONS                         \
    {                                            \
        sizeof(adz_onnx_options), ADZ_BATCH_AUTO \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_onnx_options) as the caller knows it
 */
ADZ_API void adz_onnx_options_init(adz_onnx_options *options, size_t size);

#ifdef __cplusplus
}
#endif

#endif
