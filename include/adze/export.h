/**
 * @file export.h
 * Networks as files for other programs: ONNX, and C99 that needs no library.
 *
 * The C file is for microcontrollers, WebAssembly, and programs into which nothing can be
 * installed. It has one function, NAME_run, which computes the plan's function on arrays of the
 * caller:
 *
 *     void NAME_run(const float *x, float *y);
 *
 * A plan with several results (adz_plan_new_results) gives a file with an output for each of them.
 *
 * With an optimizer it also has a training step, so that a device goes on learning:
 *
 *     float NAME_step(const float *x, const float *target);
 *
 * docs/export.md tells how to train, capture and ship a network.
 */
#ifndef ADZE_EXPORT_H
#define ADZE_EXPORT_H

#include "adze/optim/optimizer.h"
#include "adze/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ONNX ------------------------------------------------------------------------------------ */

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
 * first result is its "output". The other results of a call, such as the last state of a recurrent
 * layer, are left out: a plan of a function that returns them writes them (adz_plan_new_results).
 * Parameters and buffers keep their names in the state. Dropouts and batch normalisation must be in
 * evaluation (adz_module_eval). What a module carries from call to call is written with its present
 * contents: call adz_module_reset before. Nothing is changed.
 *
 * @param module   any; its call must consist of adze's operators
 * @param x        an example: its contents do not matter, but dimensions that are not free keep
 *                 their sizes
 * @param path     the file, which is replaced completely or not at all
 * @param options  NULL for the defaults
 * @return         ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an option, or a name that is no UTF-8),
 *                 ADZ_ERR_UNSUPPORTED (an operator without a counterpart for its dtypes, elements
 *                 that the program reads by itself or computes beside adze's operators, a result
 *                 that does not depend on x, more than 2 GiB), ADZ_ERR_IO, ADZ_ERR_MEMORY, or the
 *                 error of the module
 * @see            torch.onnx.export
 */
ADZ_API adz_status adz_module_write_onnx(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options);

/**
 * Writes the function of a plan as an ONNX model. The plan's inputs and their names are those of
 * the model. Its outputs are the plan's results, in their order: "output", or "output0", "output1"
 * and so on, or the names of adz_plan_options.result_names. A default name that another value has
 * gets an ending. The function is called once, and nothing is changed by it.
 *
 * A result may be an input, another result or a view of one. A result that depends on no input
 * would be a constant, and is refused.
 *
 * @param plan     of a forward in evaluation, with one input or more
 * @param path     the file, which is replaced completely or not at all
 * @param options  NULL for the defaults
 * @return         as adz_module_write_onnx, with the error of the function in place of the
 *                 module's; ADZ_ERR_ARGUMENT also for a given name that another value has
 * @see            torch.onnx.export
 */
ADZ_API adz_status adz_plan_write_onnx(
    adz_plan *plan, const char *path, const adz_onnx_options *options);

/* ---- C99 ------------------------------------------------------------------------------------- */

/** The loss that a training step in C minimises. */
typedef enum adz_c_loss {
    ADZ_C_MSE_LOSS = 0,     /**< the mean squared error; the target has the prediction's shape */
    ADZ_C_CROSS_ENTROPY = 1 /**< the target is an int32_t class per row, negative to leave a row
                                 out; classes are dimension 1 of the prediction */
} adz_c_loss;

/** How a C file is written. Start from ADZ_C_OPTIONS. */
typedef struct adz_c_options {
    size_t size;      /**< sizeof(adz_c_options) */
    const char *name; /**< prefix of the public names; NULL: the file's name without its ending */
    bool libm;        /**< call expf, sqrtf and others of libm; false: the file has its own */
    const char *weights; /**< path of a separate file for the weights, in the byte order of this
                              machine, which the caller hands to NAME_load; NULL: they are arrays
                              in the C file */
    adz_optimizer *optimizer; /**< SGD, Adam or AdamW: write a training step as well, which goes on
                                   from the optimizer's present state; NULL: none */
    adz_c_loss loss;          /**< what the training step minimises; ADZ_C_MSE_LOSS */
    bool batch_statistics;    /**< batch norm in the training step uses the statistics of the batch
                                   and moves the running ones, as a module in training does; false:
                                   it uses the running ones and leaves them */
} adz_c_options;

/** The defaults. */
#define ADZ_C_OPTIONS                                                         \
    {                                                                         \
        sizeof(adz_c_options), NULL, false, NULL, NULL, ADZ_C_MSE_LOSS, false \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_c_options) as the caller knows it
 */
ADZ_API void adz_c_options_init(adz_c_options *options, size_t size);

/**
 * Writes the function of a plan as a C99 file and a header beside it. The files need no library;
 * weights are constant arrays, and buffers are static.
 *
 * @code
 * static void export_network(adz_module *net, adz_tensor *x, adz_plan_function predict, void *user)
 * {
 *     adz_plan_options o = ADZ_PLAN_OPTIONS;
 *     o.inputs = adz_tensor_list_of(&x, 1);
 *     o.module = net;
 *     adz_module_eval(net);
 *     adz_plan *plan = adz_plan_new(predict, user, &o);
 *     adz_plan_write_c(plan, "net.c", NULL); // void net_run(const float *x, float *y);
 *     adz_plan_free(&plan);
 * }
 * @endcode
 *
 * Several results are several arrays, in their order and behind the inputs. They are called y0, y1
 * and so on, or after the names that the plan has for them:
 *
 *     void net_run(const float *x, float *y_boxes, float *y_scores);
 *
 * A result may be an input, another result or a view of one. A result that depends on no input
 * would be a constant, and is refused. A training step compares the first result with the target.
 *
 * The function is called once more and changes nothing: buffers and generators are put back. Its
 * inputs keep the shapes that they have. Float tensors are f32; a standardiser around the network
 * may compute with f64. Integers are int32_t in C: a computed integer that does not fit keeps its
 * low 32 bits.
 *
 * @param plan     any, with the inputs and the module in its options
 * @param path     where the C file goes; ends with ".c". Each file is replaced completely or not at
 *                 all, and none is touched before its text is complete.
 * @param options  NULL for the defaults
 * @return         ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (a path without ".c", an optimizer without
 *                 the module's parameters); ADZ_ERR_UNSUPPORTED (an operator that cannot be
 *                 written, which is named; a result that depends on no input); ADZ_ERR_DTYPE (an
 *                 operator with f64), ADZ_ERR_IO, ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_plan_write_c(adz_plan *plan, const char *path, const adz_c_options *options);

#ifdef __cplusplus
}
#endif

#endif
