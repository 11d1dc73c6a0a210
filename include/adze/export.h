/**
 * @file export.h
 * Networks as files for other programs: ONNX, and C99 that needs no library.
 *
 * The C file is for microcontrollers, WebAssembly, and programs into which nothing can be
 * installed. It has a function for each plan, which computes the plan's function on arrays of the
 * caller:
 *
 *     void NAME_run(const float *x, float *y);
 *
 * A plan with several results (adz_plan_new_many) becomes a function with an array for each of
 * them. A plan may be of a whole training step, so that a device goes on learning:
 *
 *     void NAME_step(const float *x0, const float *x1, float *y);
 *
 * docs/export.md tells how to train, capture and ship a network.
 */
#ifndef ADZE_EXPORT_H
#define ADZE_EXPORT_H

#include "adze/nn/module.h"
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
    bool
        allow_nonfinite; /**< true writes weights that are NaN or infinite, too; false refuses them,
                              because they are most often those of a training that went wrong */
} adz_onnx_options;

/** The defaults. */
#define ADZ_ONNX_OPTIONS                                                                         \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_onnx_options)), ADZ_MEMBER(batch_dimension, ADZ_BATCH_AUTO), \
            ADZ_MEMBER(allow_nonfinite, false)                                                   \
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
 *                 ADZ_ERR_UNSUPPORTED (an operator without a counterpart for its dtypes, elements
 *                 that the program reads by itself or computes without adze's operators, a result
 *                 that does not depend on x, more than 2 GiB), ADZ_ERR_NUMERIC (a weight is NaN or
 *                 infinite, without allow_nonfinite), ADZ_ERR_IO, ADZ_ERR_MEMORY, or the
 *                 error of the module
 * @see            torch.onnx.export
 */
ADZ_API adz_status adz_module_write_onnx(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options);

/**
 * Writes the function of a plan as an ONNX model. The plan's inputs and their names are those of
 * the model; its result is "output". The function is called once, and nothing is changed by it.
 *
 * @param plan     of a forward in evaluation, with one input or more
 * @param path     the file, which is replaced completely or not at all
 * @param options  NULL for the defaults
 * @return         as adz_module_write_onnx, with the error of the function in place of the
 * module's; ADZ_ERR_STATE if the function reads another tensor now than an input of the plan
 * @see            torch.onnx.export
 */
ADZ_API adz_status adz_plan_write_onnx(
    adz_plan *plan, const char *path, const adz_onnx_options *options);

/* ---- C99 ------------------------------------------------------------------------------------- */

/** Where a C file keeps its buffers, and what its functions change. */
typedef enum adz_c_state {
    ADZ_C_STATE_STATIC = 0, /**< in static memory: one instance, and one call at a time */
    ADZ_C_STATE_CALLER = 1  /**< in a struct NAME_state that every function gets */
} adz_c_state;

/** How a C file is written. Start from ADZ_C_OPTIONS. */
typedef struct adz_c_options {
    size_t size;      /**< sizeof(adz_c_options) */
    const char *name; /**< prefix of the public names; NULL: the file's name without its ending */
    bool libm;        /**< call expf, sqrtf and others of libm; false: the file has its own */
    const char *weights; /**< path of a separate file for the weights, in the byte order of this
                              machine, which the caller hands to NAME_load; NULL: they are arrays
                              in the C file */
    adz_c_state state;   /**< ADZ_C_STATE_STATIC by default */
    adz_dtype precision; /**< ADZ_F32, or ADZ_F64: all floats are double in C; ADZ_F32 by default */
    bool
        allow_nonfinite; /**< true writes weights that are NaN or infinite, too; false refuses them,
                              because they are most often those of a training that went wrong */
    bool batches;        /**< true adds a function NAME_<name>_batches for each plan, which runs it
                              for many batches; false */
} adz_c_options;

/** The defaults. */
#define ADZ_C_OPTIONS                                                                             \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_c_options)), ADZ_MEMBER(name, NULL), ADZ_MEMBER(libm, false), \
            ADZ_MEMBER(weights, NULL), ADZ_MEMBER(state, ADZ_C_STATE_STATIC),                     \
            ADZ_MEMBER(precision, ADZ_F32), ADZ_MEMBER(allow_nonfinite, false),                   \
            ADZ_MEMBER(batches, false)                                                            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_c_options) as the caller knows it
 */
ADZ_API void adz_c_options_init(adz_c_options *options, size_t size);

/**
 * Writes the functions of several plans of one module as a C99 file and a header next to it. The
 * files need no library. Each plan becomes a function with the inputs and the batch size of that
 * plan; weights, buffers of the module and what optimizers keep are in the file once.
 *
 * @code
 * static void export_learner(adz_plan *predict, adz_plan *train)
 * {
 *     adz_plan *const plans[] = { predict, train };
 *     const char *const names[] = { "run", "step" };
 *     adz_plan_write_c_many(plans, names, 2, "net.c", NULL);
 *     // void net_run(const float *x, float *y);
 *     // void net_step(const float *x0, const float *x1, float *y);
 * }
 * @endcode
 *
 * A plan may be a forward or a whole training step: zeroing, forward, any loss, adz_backward,
 * clipping, adz_optimizer_step. Making the plan of a step makes one, unless the plan has the option
 * `restore`. What the functions change is an array that keeps its contents from
 * call to call: weights, running statistics of batch norm, states of optimizers, gradients to which
 * steps add. It begins with the present contents. What no function changes is constant.
 *
 * A function has the plan's inputs in their order, then the results in theirs: x, or x0, x1 and so
 * on, then y, or y0, y1 and so on. If the plan has names for its results, the arrays are called
 * after them:
 *
 *     void net_run(const float *x, float *y_boxes, float *y_scores);
 *
 * A result may be an input, another result or a view of one. A result that depends neither on an
 * input nor on what the function changes would be a constant, and is refused.
 *
 * Inputs keep the shapes that they have, in row-major order. Float tensors are f32; a standardiser
 * around the network may compute with f64. With the precision ADZ_F64 all of them are double in C,
 * also those of a module of f32, which computes as if adz_module_to had converted it. A file of
 * doubles that changes tensors of the plans' module needs a module of f64, for its checkpoints.
 * Integers are int32_t in C: a computed integer that does not fit keeps its low 32 bits.
 *
 * A file whose functions change weights, or make steps of an optimizer, also writes and reads what
 * they have learnt as a checkpoint, for adz_checkpoint_load and from adz_checkpoint_save:
 *
 *     void NAME_weights_get(unsigned char *file); // NAME_WEIGHTS_FILE_BYTES bytes
 *     int NAME_weights_set(const unsigned char *file, unsigned long bytes);
 *
 * The second one gives 0, or 1 or 2 for a file that it refuses. They have the module's state and
 * the first optimizer. Further optimizers have functions whose names end with _1, _2 and so on.
 * docs/export.md says what a file holds and what is refused.
 *
 * With the option `batches` an epoch is one call (adz_plan_run_batches):
 *
 *     void NAME_step_batches(int32_t count, const int32_t *order, const float *x0, const float *x1,
 *         float *y);
 *
 * Each array has those of `count` batches, one behind the other. Call i takes batch order[i], or
 * batch i if `order` is NULL, and writes result i.
 *
 * `float NAME_learning_rate[G]`, or double with the precision ADZ_F64, has the rate of each group
 * of parameters, and may be changed between calls. Other settings are those of the moment. A
 * function that an optimizer's type has for its numbers is written as the text in its
 * `numbers_text` (adze/optim/type.h).
 *
 * Under ADZ_C_STATE_CALLER a program has as many instances as it likes, and each thread may have
 * one. Buffers and all that functions change are in a struct, which NAME_init makes ready and each
 * function gets first. Nothing of the file is written to. Functions return an int, which is 0, or
 * tells a state that is NULL, that another version of the file has made, or that is too small:
 *
 *     static law_state state;
 *     law_init(&state, sizeof state); // law_state_bytes() in other languages
 *     law_tangent(&state, x, y, dydx);
 *
 * Two calls with one state at the same time are an error. A file that is compiled without NDEBUG,
 * or with NAME_DEBUG, finds it.
 *
 * Every function is called once and changes nothing: parameters, gradients, optimizers, buffers and
 * generators are put back.
 *
 * @param plans    n plans with their inputs and one module in their options
 * @param names    n different identifiers of C: plan i becomes NAME_<names[i]>. None begins with
 *                 weights_.
 * @param n        1 or more
 * @param path     where the C file goes; ends with ".c". Each file is replaced completely or not at
 *                 all, and none is touched before its text is complete.
 * @param options  NULL for the defaults
 * @return         ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (a path without ".c", a name that is no
 *                 identifier or given twice, plans of different modules, an option);
 *                 ADZ_ERR_UNSUPPORTED (an
 *                 operator, an optimizer or a step that cannot be written, which is named; a
 *                 result that would be a constant; batch norm in training in a function that makes
 *                 no backward and no step; a file of weights of more than 2 GiB);
 *                 ADZ_ERR_NUMERIC (a weight is NaN or infinite, without allow_nonfinite);
 *                 ADZ_ERR_STATE (a call that cannot be a part of a step; a function that reads
 *                 another tensor now than an input of its plan; a call in a function that a plan
 *                 captures); ADZ_ERR_DTYPE (an operator with f64 in a file of f32; a module of
 *                 f32 that functions of a file of f64 change), ADZ_ERR_IO, ADZ_ERR_MEMORY,
 *                 or the error of a plan's function
 */
ADZ_API adz_status adz_plan_write_c_many(adz_plan *const *plans, const char *const *names, size_t n,
    const char *path, const adz_c_options *options);

/**
 * Writes the function of one plan as NAME_run: adz_plan_write_c_many with a single plan.
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
 * @param plan     any, with the inputs and the module in its options
 * @param path     as adz_plan_write_c_many takes it
 * @param options  NULL for the defaults
 * @return         as adz_plan_write_c_many
 */
ADZ_API adz_status adz_plan_write_c(adz_plan *plan, const char *path, const adz_c_options *options);

#ifdef __cplusplus
}
#endif

#endif
