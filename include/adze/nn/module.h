/**
 * @file module.h
 * Modules: parameters plus a composition of operators.
 *
 * A module is reference-counted: adz_*_new returns a reference of yours, adz_module_keep takes
 * another, adz_module_release ends one. A parent takes over the reference of a module that becomes
 * its child, so ADZ_SEQUENTIAL(a, a) is an error and ADZ_SEQUENTIAL(a, adz_module_keep(a)) is
 * right. One thread at a time changes a module; several may call it at once as long as nobody does.
 *
 * @code
 * adz_module *model =
 *     ADZ_SEQUENTIAL(adz_linear_new(8, 32, NULL), adz_relu_new(), adz_linear_new(32, 1, NULL));
 * adz_tensor *y = adz_module_forward(model, adz_randn(ADZ_SHAPE(5, 8), ADZ_F32)); // y[5, 1]
 * adz_module_print(model, stdout);
 * adz_module_release(&model);
 *
 * adz_module *gru = adz_gru_new(3, 4, NULL); // arguments by name, and all results
 * adz_tensor *x = adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32);
 * adz_tensor *lengths = adz_tensor_from((int64_t[]){ 5, 3 }, ADZ_SHAPE(2), ADZ_I64);
 * adz_values *results = adz_values_new();
 * y = ADZ_CALL_RESULTS(gru, results, { NULL, x }, { "lengths", lengths }); // y[5, 2, 4]
 * adz_tensor *h = adz_values_get(results, "h");                           // h[1, 2, 4]
 * adz_values_free(&results);
 * adz_module_release(&gru);
 * @endcode
 */
#ifndef ADZE_NN_MODULE_H
#define ADZE_NN_MODULE_H

#include "adze/nn/state.h"
#include "adze/nn/values.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/** Named parameters, buffers and children, and a forward. */
typedef struct adz_module adz_module;

/* ---- ownership ---------------------------------------------------------------------------- */

/**
 * Takes one more reference.
 *
 * @param module  any module; NULL gives NULL
 * @return        module; NULL with ADZ_ERR_OWNERSHIP recorded for one that has ended
 */
ADZ_API adz_module *adz_module_keep(adz_module *module);

/**
 * Ends a reference; the last one ends the module and its references to parameters and children.
 *
 * ADZ_ERR_OWNERSHIP is recorded, and nothing ends, if the only references belong to parents, or if
 * the module has ended already and its memory has not been used again (always with
 * adz_set_debug(true)). Other functions refuse a module that has ended in the same way.
 *
 * @param module  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_module_release(adz_module **module);

/* ---- calling ------------------------------------------------------------------------------ */

/**
 * Calls a module with one tensor.
 *
 * The call has its own scope: what it computed and neither the result nor a gradient needs is
 * freed. An error's message starts with the path of the module that failed.
 *
 * @param module  any module
 * @param x       the argument
 * @return        the (first) result, borrowed from the scope, or x itself; NULL for a failure
 * @errors        the module's own
 */
ADZ_API adz_tensor *adz_module_forward(adz_module *module, adz_tensor *x);

/**
 * Calls a module with any number of arguments.
 *
 * @param module  any module
 * @param in      the arguments, by position or by name; an absent one is ADZ_NONE. An argument that
 * the module has not read when the call is done was misspelt or cannot be taken: this is
 *                ADZ_ERR_ARGUMENT, and the message lists the names that the module asked for
 * @param out     the results are appended, borrowed from the scope; unchanged for a failure
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or the module's own error
 */
ADZ_API adz_status adz_module_call(adz_module *module, const adz_values *in, adz_values *out);

/**
 * adz_module_call with the arguments written down; behind ADZ_CALL and ADZ_CALL_RESULTS.
 *
 * @param module     any module
 * @param arguments  count arguments, each with its name, NULL or "" for one by position; an absent
 * one is ADZ_NONE
 * @param count      0 or more
 * @param results    all results are appended, borrowed from the scope; unchanged for a failure.
 * NULL if the first one suffices
 * @return           the first result, borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                   ADZ_ERR_ARGUMENT, ADZ_ERR_STATE (the call has no result) or the module's own
 *                   error recorded
 */
ADZ_API adz_tensor *adz_module_call_named(
    adz_module *module, const adz_named_tensor *arguments, size_t count, adz_values *results);

/**
 * adz_module_call with other tensors instead of parameters, for the time of the call. They
 * may be results of operators: gradients then flow into what they were computed from.
 *
 * @param module      any module
 * @param parameters  the tensors, each named by the parameter's path: "layers.0.weight"
 * @param in          the arguments, by position or by name; an absent one is ADZ_NONE
 * @param out         the results are appended, borrowed from the scope; unchanged for a failure
 * @return            ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or the module's own error;
 *                    ADZ_ERR_ARGUMENT also for a name that is no parameter's
 * @see               torch.func.functional_call
 */
ADZ_API adz_status adz_module_functional_call(
    adz_module *module, const adz_values *parameters, const adz_values *in, adz_values *out);

/* ---- what it consists of ------------------------------------------------------------------ */

/**
 * The name of a module's kind, as PyTorch prints it.
 *
 * @param module  any module
 * @return        "Linear"; NULL when module is NULL
 */
ADZ_API const char *adz_module_name(const adz_module *module);

/**
 * All parameters of the module and of what is below it, each once.
 *
 * @param module  any module
 * @return        borrowed from the module until its structure changes; empty with ADZ_ERR_NULL or
 *                ADZ_ERR_MEMORY recorded
 * @see           torch.nn.Module.parameters
 */
ADZ_API adz_tensor_list adz_module_parameters(adz_module *module);

/**
 * All parameters with their names, each once, under its first name.
 *
 * @param module  any module
 * @return        borrowed from the module until its structure changes; empty with ADZ_ERR_NULL or
 *                ADZ_ERR_MEMORY recorded
 * @see           torch.nn.Module.named_parameters
 */
ADZ_API adz_named_list adz_module_named_parameters(adz_module *module);

/**
 * All buffers with their names, each once, under its first name.
 *
 * @param module  any module
 * @return        borrowed from the module until its structure changes; empty with ADZ_ERR_NULL or
 *                ADZ_ERR_MEMORY recorded
 * @see           torch.nn.Module.named_buffers
 */
ADZ_API adz_named_list adz_module_named_buffers(adz_module *module);

/**
 * The number of elements of all parameters.
 *
 * @param module  any module
 * @return        each tied parameter counted once; -1 with ADZ_ERR_NULL or ADZ_ERR_MEMORY recorded
 */
ADZ_API int64_t adz_module_numel(adz_module *module);

/**
 * Looks a parameter up.
 *
 * @param module  any module
 * @param path    "weight", or "encoder.0.weight"
 * @return        borrowed from the module; ADZ_NONE for one that was left out; the value of a
 *                parametrised one, borrowed from the scope; NULL with ADZ_ERR_ARGUMENT,
 * ADZ_ERR_NULL or a parametrisation's own error recorded
 * @see           torch.nn.Module.get_parameter
 */
ADZ_API adz_tensor *adz_module_get_parameter(adz_module *module, const char *path);

/**
 * One of the module's own parameters.
 *
 * @param module  any module
 * @param index   in the order of adding
 * @return        borrowed from the module; ADZ_NONE for one that was left out; the value of a
 *                parametrised one, borrowed from the scope; NULL with ADZ_ERR_INDEX, ADZ_ERR_NULL
 * or a parametrisation's own error recorded
 */
ADZ_API adz_tensor *adz_module_parameter_at(adz_module *module, size_t index);

/**
 * The number of the module's own parameters, with those that were left out.
 *
 * @param module  any module
 * @return        0 when module is NULL
 */
ADZ_API size_t adz_module_parameter_count(const adz_module *module);

/**
 * The name of one of the module's own parameters.
 *
 * @param module  any module
 * @param index   below adz_module_parameter_count
 * @return        borrowed from the module; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API const char *adz_module_parameter_name_at(const adz_module *module, size_t index);

/**
 * Looks a buffer up.
 *
 * @param module  any module
 * @param path    "mean", or "input.mean"
 * @return        borrowed from the module; ADZ_NONE for one that was left out; NULL with
 *                ADZ_ERR_ARGUMENT or ADZ_ERR_NULL recorded
 * @see           torch.nn.Module.get_buffer
 */
ADZ_API adz_tensor *adz_module_get_buffer(adz_module *module, const char *path);

/**
 * One of the module's own buffers.
 *
 * @param module  any module
 * @param index   in the order of adding
 * @return        borrowed from the module; ADZ_NONE for one that was left out; NULL with
 *                ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_tensor *adz_module_buffer_at(adz_module *module, size_t index);

/**
 * The number of children.
 *
 * @param module  any module
 * @return        0 when module is NULL
 */
ADZ_API size_t adz_module_child_count(const adz_module *module);

/**
 * Looks a module below this one up.
 *
 * @param module  any module
 * @param path    "0", or "encoder.0.norm"
 * @return        borrowed from the module; NULL with ADZ_ERR_ARGUMENT or ADZ_ERR_NULL recorded
 * @see           torch.nn.Module.get_submodule
 */
ADZ_API adz_module *adz_module_get_child(adz_module *module, const char *path);

/**
 * One child.
 *
 * @param module  any module
 * @param index   below adz_module_child_count
 * @return        borrowed from the module; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_module *adz_module_child_at(adz_module *module, size_t index);

/**
 * The name of one child.
 *
 * @param module  any module
 * @param index   below adz_module_child_count
 * @return        borrowed from the module; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API const char *adz_module_child_name_at(const adz_module *module, size_t index);

/* ---- what applies to a whole tree --------------------------------------------------------- */

/**
 * Drops the gradients of all parameters. Call it before the forward, which then has their
 * memory: between forward and backward both are held.
 *
 * @param module  any module
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_MEMORY
 * @see           torch.nn.Module.zero_grad
 */
ADZ_API adz_status adz_module_zero_grad(adz_module *module);

/**
 * Writes zeros to the gradients of all parameters that have one.
 *
 * @param module  any module
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_MEMORY
 * @see           torch.nn.Module.zero_grad with set_to_none=False
 */
ADZ_API adz_status adz_module_fill_grad_zero(adz_module *module);

/**
 * Sets training or evaluation mode, which dropout and normalisation heed.
 *
 * @param module  any module; everything below it changes too
 * @param mode    true for training, as a new module is
 * @return        ADZ_OK or ADZ_ERR_NULL
 * @see           torch.nn.Module.train
 */
ADZ_API adz_status adz_module_train(adz_module *module, bool mode);

/**
 * adz_module_train(module, false).
 *
 * @param module  any module
 * @return        ADZ_OK or ADZ_ERR_NULL
 * @see           torch.nn.Module.eval
 */
ADZ_API adz_status adz_module_eval(adz_module *module);

/**
 * Whether a module is in training mode.
 *
 * @param module  any module
 * @return        false when module is NULL
 */
ADZ_API bool adz_module_is_training(const adz_module *module);

/**
 * Says whether the parameters want gradients; off freezes them.
 *
 * @param module  any module; everything below it changes too
 * @param on      true as a new parameter does
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_MEMORY, or ADZ_ERR_DTYPE (on, and a weight is in
 * half precision) with nothing changed
 * @see           torch.nn.Module.requires_grad_
 */
ADZ_API adz_status adz_module_requires_grad_(adz_module *module, bool on);

/** Called with each module of a tree; a failure ends the walk. */
typedef adz_status (*adz_module_visitor)(adz_module *module, void *user);

/**
 * Calls a function with every module: children first, a module itself after them.
 *
 * @param module  where the tree starts
 * @param visit   called; must not change the structure
 * @param user    handed to visit
 * @return        ADZ_OK, ADZ_ERR_NULL or what visit returned
 * @see           torch.nn.Module.apply
 */
ADZ_API adz_status adz_module_apply(adz_module *module, adz_module_visitor visit, void *user);

/**
 * Draws all parameters again, as the constructors did.
 *
 * @param module  any module; everything below it changes too
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_module_reset_parameters(adz_module *module);

/**
 * Makes every module of a tree forget what it carries from one call to the next: a recurrent
 * state, a memory.
 *
 * @param module  any module; one without such a state stays as it is
 * @return        ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_MEMORY or a module's own error with nothing changed
 * @see           fastai's reset
 */
ADZ_API adz_status adz_module_reset(adz_module *module);

/**
 * Keeps some batch rows of what a tree carries from one call to the next, in the order given; a row
 * may be kept several times, as beam search does.
 *
 * @param module  any module; one without such a state stays as it is
 * @param rows    i64[n], each a row of the batch of the last call
 * @return        ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_SHAPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 *                or a module's own error with nothing changed
 * @see           fastai's select_hidden
 */
ADZ_API adz_status adz_module_select_hidden(adz_module *module, adz_tensor *rows);

/**
 * Converts all parameters, their gradients and all float buffers. Weights that
 * adz_module_store_weights stored in half precision are converted too. An optimizer keeps the
 * tensors, because they stay the objects that they were. Its state keeps its dtype.
 *
 * @param module  any module
 * @param dtype   ADZ_F32 or ADZ_F64
 * @return        ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY, or ADZ_ERR_STATE (a parameter
 *                lies in a flat buffer of another dtype) with nothing changed
 * @see           torch.nn.Module.to
 */
ADZ_API adz_status adz_module_to(adz_module *module, adz_dtype dtype);

/**
 * Stores the weights of linear layers and embedding tables in half precision, for inference in two
 * bytes per weight. Products widen them while they read them and compute in f32, so a result has
 * the bits of a module whose weights were rounded and widened again. Biases, normalisations and
 * all other parameters stay f32.
 *
 * Call it after loading, or before, to load a file of the same dtype without a conversion. The
 * weights stop wanting a gradient and lose theirs. They cannot be trained: adz_requires_grad_ and
 * the optimizers refuse them by name. Gradients of other parameters flow through them.
 * adz_module_to converts them back to f32 or f64, and adz_module_requires_grad_ makes them
 * trainable again.
 *
 * Linear, Embedding and GPT-2's Conv1D store weights so, and types that declare half_parameters. A
 * weight is converted wherever it is shared. A module that reads it in another way, such as a
 * recurrent layer, then fails with ADZ_ERR_DTYPE.
 *
 * @param module  any module whose weights are f32 or in half precision
 * @param dtype   ADZ_BF16 or ADZ_F16. Weights above 65504 become infinite in ADZ_F16
 * @return        ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY, or ADZ_ERR_STATE (a weight
 *                lies in a flat buffer) with nothing changed
 */
ADZ_API adz_status adz_module_store_weights(adz_module *module, adz_dtype dtype);

/**
 * adz_module_store_weights in blocks of Q8_0 (adz_quantize_q8_0), for 1.06 bytes per weight. The
 * weight w[H, D] becomes u8[H, D / 32, 34], also in states and files. adz_module_to converts back.
 *
 * @param module  any module whose weights are f32, in half precision or in blocks
 * @return        ADZ_OK; with nothing changed ADZ_ERR_SHAPE (a row is no multiple of 32 weights),
 *                ADZ_ERR_UNSUPPORTED (a type without block_parameters, as GPT-2's Conv1D), or an
 *                error of adz_module_store_weights
 */
ADZ_API adz_status adz_module_quantize_weights(adz_module *module);

/**
 * A deep copy: parameters and buffers copied, without gradients. What occurs several times
 * occurs as often in the copy, as one object.
 *
 * @param module  any module
 * @return        yours, end it with adz_module_release; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                recorded
 * @see           copy.deepcopy of a torch.nn.Module
 */
ADZ_API adz_module *adz_module_copy(adz_module *module);

/* ---- state -------------------------------------------------------------------------------- */

/**
 * All parameters and persistent buffers by name; tied ones under every name.
 *
 * @param module  any module
 * @return        yours, end it with adz_state_dict_free; its tensors are the module's own, not
 * copies. NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY recorded
 * @see           torch.nn.Module.state_dict
 */
ADZ_API adz_state_dict *adz_module_state_dict(adz_module *module);

/**
 * Copies values into parameters and buffers.
 *
 * Their dtypes must be those of the module, with two exceptions: float16 and bfloat16 are
 * converted, and so are whole numbers if all values fit the module's dtype. (PyTorch converts all.)
 *
 * @param module  any module
 * @param state   tensors by the names of adz_module_state_dict; adz_module_load_state_dict_with
 *                takes other names
 * @param strict  whether names that only one side has are an error; a state of which no name fits
 *                is an error in any case
 * @return        ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_STATE (one message lists the
 *                missing, the unexpected, the mis-shaped and the mis-typed names, and says if a
 *                prefix would fit), ADZ_ERR_MEMORY, or the code of an error that is pending
 * @see           torch.nn.Module.load_state_dict
 */
ADZ_API adz_status adz_module_load_state_dict(
    adz_module *module, const adz_state_dict *state, bool strict);

/* ---- printing ----------------------------------------------------------------------------- */

/**
 * Prints the tree of modules as PyTorch does, and a newline.
 *
 * @param module  any module
 * @param stream  where to
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_MEMORY or ADZ_ERR_IO
 */
ADZ_API adz_status adz_module_print(adz_module *module, FILE *stream);

/**
 * The tree of modules as text.
 *
 * @param module  any module
 * @param buffer  receives the text, cut to fit and always terminated; may be NULL when size is 0
 * @param size    bytes of buffer
 * @return        the length of the whole text without its terminator; 0 with ADZ_ERR_NULL or
 *                ADZ_ERR_MEMORY recorded
 */
ADZ_API size_t adz_module_to_string(adz_module *module, char *buffer, size_t size);

#ifdef __cplusplus
}
/** adz_module_call_named of the arguments written down; behind ADZ_CALL in C++. */
static inline adz_tensor *adz_call_list(
    adz_module *module, adz_values *results, std::initializer_list<adz_named_tensor> arguments)
{
    return adz_module_call_named(module, arguments.begin(), arguments.size(), results);
}
/** Calls a module with arguments by position and by name; results receives all results. */
#define ADZ_CALL_RESULTS(module, results, ...) (adz_call_list((module), (results), { __VA_ARGS__ }))
#else
/** Calls a module with arguments by position and by name; results receives all results. */
#define ADZ_CALL_RESULTS(module, results, ...)                                 \
    adz_module_call_named((module), (const adz_named_tensor[]){ __VA_ARGS__ }, \
        sizeof((const adz_named_tensor[]){ __VA_ARGS__ }) / sizeof(adz_named_tensor), (results))
#endif
/** Calls a module with arguments by position and by name and gives the first result:
 * ADZ_CALL(gru, { NULL, x }, { "lengths", lengths }). */
#define ADZ_CALL(module, ...) ADZ_CALL_RESULTS(module, NULL, __VA_ARGS__)

#endif
