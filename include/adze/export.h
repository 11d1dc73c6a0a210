/**
 * @file export.h
 * Networks as files for other programs: ONNX.
 */
#ifndef ADZE_EXPORT_H
#define ADZE_EXPORT_H

#include "adze/nn/module.h"

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

/**
 * Writes what a module computes as an ONNX model (opset 17), for runtimes such as onnxruntime.
 *
 * The module is called once with x, whose shape and dtype are those of the model's "input"; the
 * first result is its "output". Parameters and buffers keep their names in the state. Dropouts and
 * batch normalisation must be in evaluation (adz_module_eval). What a module carries from call to
 * call is written with its present contents: call adz_module_reset before. Nothing is changed.
 *
 * @param module   any; its call must consist of adze's operators
 * @param x        an example: its contents do not matter, but dimensions that are not free keep
 *                 their sizes
 * @param path     the file, which is replaced completely or not at all
 * @param options  NULL for the defaults
 * @return         ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an option, or a name that is no UTF-8),
 *                 ADZ_ERR_UNSUPPORTED (an operator without a counterpart, elements that the program
 *                 reads by itself, more than 2 GiB), ADZ_ERR_IO, ADZ_ERR_MEMORY, or the error of
 *                 the module
 * @see            torch.onnx.export
 */
ADZ_API adz_status adz_module_write_onnx(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options);

#ifdef __cplusplus
}
#endif

#endif
