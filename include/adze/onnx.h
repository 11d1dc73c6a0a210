/**
 * @file onnx.h
 * libadze-onnx: networks of other programs, read from ONNX files as modules. A program that
 * includes this header links libadze-onnx and libadze; adze.h does not include it. Writing ONNX is
 * in adze/export.h.
 *
 * @code
 * static void tune(const char *path, adz_tensor *x, adz_tensor *target)
 * {
 *     adz_module *net = adz_onnx_load(path, NULL);
 *     adz_module_train(net, true); // a loaded network begins in evaluation
 *     adz_optimizer *adam = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
 *     adz_backward(adz_mse_loss(adz_module_forward(net, x), target, ADZ_REDUCE_MEAN));
 *     adz_optimizer_step(adam);
 *     adz_optimizer_release(&adam);
 *     adz_module_eval(net);
 *     adz_module_write_onnx(net, x, "tuned.onnx", NULL);
 *     adz_module_release(&net);
 * }
 * @endcode
 */
#ifndef ADZE_ONNX_H
#define ADZE_ONNX_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Says whether training changes a weight. `name` is that of the file; nothing may be changed. */
typedef bool (*adz_onnx_trains)(const char *name, const adz_tensor *weight, void *user);

/** How an ONNX file is read. Start from ADZ_ONNX_LOAD_OPTIONS. */
typedef struct adz_onnx_load_options {
    size_t size;       /**< sizeof(adz_onnx_load_options) */
    adz_dtype dtype;   /**< ADZ_F32: floats are those of the file; ADZ_F64: all floats, inputs too,
                            are double; ADZ_F32 by default */
    bool freeze_norms; /**< true: BatchNormalization keeps its statistics in training; false */
    adz_onnx_trains trains; /**< asked for each float weight that a gradient reaches; NULL: all of
                                 them are trained */
    void *user;             /**< handed to trains */
} adz_onnx_load_options;

/** The defaults. */
#define ADZ_ONNX_LOAD_OPTIONS                                                                 \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_onnx_load_options)), ADZ_MEMBER(dtype, ADZ_F32),          \
            ADZ_MEMBER(freeze_norms, false), ADZ_MEMBER(trains, NULL), ADZ_MEMBER(user, NULL) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_onnx_load_options) as the caller knows it
 */
ADZ_API void adz_onnx_load_options_init(adz_onnx_load_options *options, size_t size);

/**
 * Reads a network from an ONNX file: opsets 6 to 28, IR versions 3 to 14.
 *
 * The module computes with adze's operators, so gradients, plans, C files and ONNX files of it work
 * as of any module. It begins in evaluation. Float initialisers that a gradient reaches are
 * parameters, other tensors are buffers, under the names of the file: "fc.weight" is the parameter
 * "weight" of the child "fc". If a name of the file cannot be split at its dots, dots become
 * underscores in all names. The values of Constant nodes are buffers that the state does not
 * contain. f16 and bf16 become f32, int8 becomes i32.
 *
 * The inputs are arguments by position or by the name in the file. A name of more than
 * ADZ_VALUE_NAME characters goes by position only. A network with one input also works in
 * adz_module_forward. The results have the names of the outputs. Sizes that the file gives must be
 * met. Lists that decide about shapes are followed on the host if they come from shapes and
 * constants; otherwise the network cannot be captured or exported, and says so.
 *
 * The module owns all it needs: the file may be deleted after loading. Nothing of the file is
 * trusted, and the memory is bounded by its length.
 *
 * @param path     the file
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with an error recorded:
 *                 ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an option), ADZ_ERR_IO, ADZ_ERR_FORMAT (no valid
 *                 model), ADZ_ERR_UNSUPPORTED (an operator, an attribute or a version, which the
 *                 message names with the node), ADZ_ERR_MEMORY, or the error that is pending
 * @see            onnx.load, onnxruntime.InferenceSession
 */
ADZ_API adz_module *adz_onnx_load(const char *path, const adz_onnx_load_options *options);

/**
 * Reads a tensor from a file that holds one TensorProto message, as ONNX's test cases have them.
 * f16 and bf16 become f32, int8 becomes i32. A plan that captures the call keeps the contents of
 * then.
 *
 * @param path  the file
 * @return      contiguous, borrowed from the scope; NULL with ADZ_ERR_NULL, ADZ_ERR_IO,
 *              ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED (elements that adze does not hold, more than 8
 *              dimensions) or ADZ_ERR_MEMORY recorded
 * @see         onnx.load_tensor
 */
ADZ_API adz_tensor *adz_onnx_tensor_load(const char *path);

/**
 * The number of inputs that a network from a file takes.
 *
 * @param module  from adz_onnx_load
 * @return        0 with ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (another module) recorded
 */
ADZ_API size_t adz_onnx_input_count(const adz_module *module);

/**
 * The name of an input.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_input_count
 * @return        borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or
 *                ADZ_ERR_INDEX recorded
 */
ADZ_API const char *adz_onnx_input_name_at(const adz_module *module, size_t index);

/**
 * The dtype of an input.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_input_count
 * @return        the dtype that the call takes, ADZ_F32 for one that the file does not declare;
 *                ADZ_F32 with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_dtype adz_onnx_input_dtype_at(const adz_module *module, size_t index);

/**
 * The sizes of an input.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_input_count
 * @return        -1 for each size that is free; rank -1 if the file declares no shape, or with
 *                ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_shape adz_onnx_input_shape_at(const adz_module *module, size_t index);

/**
 * The number of results that a network from a file gives.
 *
 * @param module  from adz_onnx_load
 * @return        0 with ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (another module) recorded
 */
ADZ_API size_t adz_onnx_output_count(const adz_module *module);

/**
 * The name of a result.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_output_count
 * @return        borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or
 *                ADZ_ERR_INDEX recorded
 */
ADZ_API const char *adz_onnx_output_name_at(const adz_module *module, size_t index);

/**
 * The dtype of a result, as the file declares it.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_output_count
 * @return        ADZ_F32 also if the file does not declare it, and with ADZ_ERR_NULL,
 *                ADZ_ERR_ARGUMENT or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_dtype adz_onnx_output_dtype_at(const adz_module *module, size_t index);

/**
 * The sizes of a result, as the file declares them.
 *
 * @param module  from adz_onnx_load
 * @param index   below adz_onnx_output_count
 * @return        -1 for each size that is free; rank -1 if the file declares no shape, or with
 *                ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_shape adz_onnx_output_shape_at(const adz_module *module, size_t index);

#ifdef __cplusplus
}
#endif

#endif
