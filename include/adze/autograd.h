/**
 * @file autograd.h
 * Gradients: which tensors want one, backward, gradients as results, gradient checks. It includes
 * adze/hooks.h.
 */
#ifndef ADZE_AUTOGRAD_H
#define ADZE_AUTOGRAD_H

#include "adze/hooks.h"
#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who takes part ----------------------------------------------------------------------- */

/**
 * Sets whether a leaf wants a gradient.
 *
 * @param t   an f32 or f64 tensor that no recorded operator made
 * @param on  true to start, false to stop
 * @return    t; NULL with ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (t is not a leaf) or ADZ_ERR_MEMORY
 * @see       torch.Tensor.requires_grad_
 */
ADZ_API adz_tensor *adz_requires_grad_(adz_tensor *t, bool on);

/**
 * Whether a backward computes a gradient for this tensor.
 *
 * @param t  any tensor
 * @return   false when t is NULL
 */
ADZ_API bool adz_tensor_requires_grad(const adz_tensor *t);

/**
 * Whether this tensor is a leaf: no recorded operator computed it.
 *
 * @param t  any tensor
 * @return   false when t is NULL
 */
ADZ_API bool adz_tensor_is_leaf(const adz_tensor *t);

/**
 * The gradient that backward has accumulated for a tensor.
 *
 * @param t  a leaf, or a result on which adz_retain_grad was called
 * @return   owned by t until it is zeroed or set; NULL, without an error, when there is none
 */
ADZ_API adz_tensor *adz_tensor_grad(const adz_tensor *t);

/**
 * Replaces the gradient of a tensor.
 *
 * @param t     a tensor that wants a gradient
 * @param grad  of t's shape and dtype, copied; ADZ_NONE to drop the gradient
 * @return      ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_tensor_set_grad(adz_tensor *t, adz_tensor *grad);

/**
 * Makes backward keep the gradient of a result that is not a leaf.
 *
 * @param t  a tensor that wants a gradient
 * @return   ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_GRAPH or ADZ_ERR_MEMORY
 * @see      torch.Tensor.retain_grad
 */
ADZ_API adz_status adz_retain_grad(adz_tensor *t);

/**
 * Turns recording on or off for this thread.
 *
 * @param on  whether operators record what gradients need
 * @return    what it was before, to be restored
 * @see       torch.set_grad_enabled
 */
ADZ_API bool adz_set_grad_enabled(bool on);

/**
 * Whether operators on this thread record what gradients need.
 *
 * @return true at a thread's start
 */
ADZ_API bool adz_is_grad_enabled(void);

/**
 * Whether an export (adze/export.h) calls the running function, to learn which operators it calls.
 * Code that reads elements of tensors by itself, such as a check of its arguments, can leave this
 * out then; an export cannot repeat it.
 *
 * @return false outside exports
 * @see    torch.onnx.is_in_onnx_export
 */
ADZ_API bool adz_is_exporting(void);

/**
 * Begins a block in which operators record nothing: ADZ_NO_GRAD { ... }. Blocks nest.
 *
 * With gcc and clang the earlier mode returns however the block is left: by its end, by break,
 * continue, return or goto, and in C++ by an exception. To the compiler the block is a loop, so
 * break and continue leave the block and not the loop around it.
 *
 * With other C compilers only the end of the block and continue restore the mode. With any compiler
 * longjmp out of the block does not restore it. Call adz_set_grad_enabled in these cases.
 */
#define ADZ_NO_GRAD ADZ_NO_GRAD_AT_(__LINE__)
/** @cond the names of nested blocks differ by their line */
#define ADZ_NO_GRAD_AT_(line)    ADZ_NO_GRAD_PASTE_(line)
#define ADZ_NO_GRAD_PASTE_(line) ADZ_NO_GRAD_BLOCK_(adz_block_##line)
#ifdef __cplusplus
} /* a class may not stand in extern "C" */
class adz_no_grad_block
{
  public:
    adz_no_grad_block() noexcept : before(adz_set_grad_enabled(false))
    {
    }
    ~adz_no_grad_block()
    {
        (void)adz_set_grad_enabled(before);
    }
    adz_no_grad_block(const adz_no_grad_block &) = delete;
    adz_no_grad_block &operator=(const adz_no_grad_block &) = delete;
    bool adz_once() noexcept
    {
        bool now = once;
        once = false;
        return now;
    }

  private:
    bool before, once = true;
};
extern "C" {
#define ADZ_NO_GRAD_BLOCK_(block) for (adz_no_grad_block block; block.adz_once();)
#else
typedef struct adz_no_grad_block {
    bool before, once;
} adz_no_grad_block;
static inline void adz_no_grad_end_(adz_no_grad_block *block)
{
    (void)adz_set_grad_enabled(block->before);
}
#ifdef __GNUC__
#define ADZ_NO_GRAD_BLOCK_(block)                                                            \
    for (adz_no_grad_block block                                                             \
         __attribute__((cleanup(adz_no_grad_end_))) = { adz_set_grad_enabled(false), true }; \
         block.once; block.once = false)
#else
#define ADZ_NO_GRAD_BLOCK_(block)                                                     \
    for (adz_no_grad_block block = { adz_set_grad_enabled(false), true }; block.once; \
         block.once = false, adz_no_grad_end_(&block))
#endif
#endif
/** @endcond */

/* ---- backward ----------------------------------------------------------------------------- */

/** Options of adz_autograd_backward and adz_autograd_grad. Start from ADZ_BACKWARD_OPTIONS. */
typedef struct adz_backward_options {
    size_t size;       /**< sizeof(adz_backward_options) */
    bool retain_graph; /**< keep the saved values for another backward; false by default */
    bool create_graph; /**< differentiable gradients (adz_autograd_grad only); false by default */
    bool allow_unused; /**< an input on which no output depends has the gradient ADZ_NONE; false,
                            the default: such an input is an error */
    adz_tensor *const *inputs; /**< the only leaves that get a gradient (adz_autograd_backward
                                  only); other leaves and their hooks are left alone, and what only
                                  they need is not computed; NULL, the default, for all leaves */
    size_t n_inputs;           /**< the number of `inputs`; 0 */
} adz_backward_options;

/** The defaults. */
#define ADZ_BACKWARD_OPTIONS                                                             \
    {                                                                                    \
        ADZ_MEMBER(size, sizeof(adz_backward_options)), ADZ_MEMBER(retain_graph, false), \
            ADZ_MEMBER(create_graph, false), ADZ_MEMBER(allow_unused, false),            \
            ADZ_MEMBER(inputs, NULL), ADZ_MEMBER(n_inputs, 0)                            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_backward_options) as the caller knows it
 */
ADZ_API void adz_backward_options_init(adz_backward_options *options, size_t size);

/**
 * Adds the gradients of a loss to `.grad` of every leaf that wants one.
 *
 * @code
 * adz_tensor *x = adz_requires_grad_(adz_arange(0, 3, 1, ADZ_F32), true);
 * adz_backward(adz_sum(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM));
 * adz_tensor_print(adz_tensor_grad(x), stdout); // tensor([0., 2., 4.])
 * @endcode
 *
 * Gradients change completely or not at all: they are committed after the last operator. The values
 * that the graph saved are then released.
 *
 * Leaves with a post-accumulate hook or in a flat buffer (adz_flat_parameters_new) are committed as
 * soon as their gradient is complete. If the backward fails afterwards, these gradients become
 * zero, and optimizers refuse a step until they are zeroed, dropped or set.
 *
 * @param loss  one element, made by recorded operators
 * @return      ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_SHAPE (more than one element), ADZ_ERR_GRAPH (nothing
 *              recorded, or released by an earlier backward), ADZ_ERR_VERSION (a value that was
 *              needed has been changed in place), ADZ_ERR_MEMORY, ADZ_ERR_NUMERIC (anomaly mode)
 * @see         torch.Tensor.backward
 */
ADZ_API adz_status adz_backward(adz_tensor *loss);

/**
 * Adds the gradients of several outputs, with given upstream gradients, to `.grad` of every leaf
 * that wants one.
 *
 * @param outputs    n tensors made by recorded operators, or leaves that want a gradient
 * @param gradients  n upstream gradients, each of its output's shape and dtype; ADZ_NONE stands for
 *                   1 where the output has one element; the array may be NULL for all ADZ_NONE
 * @param n          1 or more
 * @param options    NULL for the defaults; create_graph is an error here: use adz_autograd_grad.
 *                   With `inputs`, only these leaves get gradients, as PyTorch's inputs= does
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE and ADZ_ERR_DTYPE (an
 *                   upstream gradient does not fit), ADZ_ERR_GRAPH (nothing recorded, or released;
 *                   an input that is no leaf, or on which no output depends), ADZ_ERR_VERSION,
 *                   ADZ_ERR_UNSUPPORTED (inputs during an export), ADZ_ERR_MEMORY, ADZ_ERR_NUMERIC
 *                   (anomaly mode)
 * @see              torch.autograd.backward
 */
ADZ_API adz_status adz_autograd_backward(adz_tensor *const *outputs, adz_tensor *const *gradients,
    size_t n, const adz_backward_options *options);

/**
 * Returns the gradients of outputs with respect to inputs. No `.grad` changes.
 *
 * @code
 * adz_tensor *x = adz_requires_grad_(adz_scalar(2, ADZ_F64), true), *first, *second;
 * adz_tensor *y = adz_pow_number(x, 3);
 * adz_backward_options options = ADZ_BACKWARD_OPTIONS;
 * options.create_graph = true;
 * adz_autograd_grad(&y, NULL, 1, &x, 1, &options, &first);   // 3 x^2 = 12
 * adz_autograd_grad(&first, NULL, 1, &x, 1, NULL, &second);  // 6 x = 12
 * @endcode
 *
 * @param outputs    n_outputs tensors
 * @param gradients  n_outputs upstream gradients, each of its output's shape and dtype; ADZ_NONE
 *                   stands for 1 where the output has one element; NULL for all ADZ_NONE
 * @param n_outputs  1 or more
 * @param inputs     n_inputs tensors, leaves or results, that want a gradient
 * @param n_inputs   1 or more
 * @param options    NULL for the defaults; create_graph implies retain_graph
 * @param results    receives n_inputs gradients, borrowed from the scope, shaped like the inputs;
 *                   ADZ_NONE for an unused input under allow_unused. Untouched on failure.
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                   ADZ_ERR_GRAPH (nothing recorded, released, or an unused input),
 *                   ADZ_ERR_VERSION, ADZ_ERR_MEMORY, ADZ_ERR_NUMERIC (anomaly mode)
 * @grad             results, to any order, under create_graph
 * @see              torch.autograd.grad
 */
ADZ_API adz_status adz_autograd_grad(adz_tensor *const *outputs, adz_tensor *const *gradients,
    size_t n_outputs, adz_tensor *const *inputs, size_t n_inputs,
    const adz_backward_options *options, adz_tensor **results);

/* ---- checks ------------------------------------------------------------------------------- */

/**
 * Turns anomaly mode on or off for this thread. It makes every operator slower.
 *
 * In anomaly mode an operator that computes a NaN or an infinity from finite inputs fails with
 * ADZ_ERR_NUMERIC, forward and backward. In the forward an operator also fails if NaN enters by one
 * of its inputs, such as from data, and if it makes NaN of infinities. Views, results that are
 * finite again, and infinities of infinite inputs, such as masks, are no errors. The message names
 * the operator, the input and the index and, under ADZ_SITES, the file and line of the call.
 *
 * @param on  false by default
 * @return    what it was before
 * @see       torch.autograd.set_detect_anomaly
 */
ADZ_API bool adz_set_anomaly_enabled(bool on);

/**
 * Whether anomaly mode is on for this thread.
 *
 * @return false at a thread's start
 */
ADZ_API bool adz_is_anomaly_enabled(void);

/**
 * Lets backwards compute some activations again instead of keeping them from the forward, for the
 * context that the calling thread uses. A step then takes less memory and a little more time; the
 * gradients have the same bits.
 *
 * A linear layer or a matrix product keeps its input for the gradient of its weight. With this
 * setting it does not keep an input that is the result of adz_layer_norm, adz_rms_norm, adz_gelu,
 * adz_silu, adz_elu, adz_leaky_relu, adz_softplus or adz_bias_activation, if the input has 64 kB or
 * more and the product has 64 multiply-adds or more for each of its elements. These operators keep
 * their own inputs, from which the result is computed again. Steps of three transformers then grew
 * the process by 0.76 to 0.89 of what they did otherwise, for 1 to 5% more time
 * (docs/measurements/memory.md).
 *
 * adz_activation_checkpoint_new saves more memory, for more time. With either, a write to what an
 * activation is computed from makes the backward fail with ADZ_ERR_VERSION. Graphs that were
 * recorded before the call stay as they are.
 *
 * @param on  false by default
 * @return    what it was before
 */
ADZ_API bool adz_set_recomputing(bool on);

/**
 * Whether adz_set_recomputing is on.
 *
 * @return false by default
 */
ADZ_API bool adz_is_recomputing(void);

/** A function of several tensors with several results. */
typedef struct adz_tensor_function {
    /** Computes outputs from inputs. Fills at most 16 outputs; returns how many, 0 for a failure */
    int (*call)(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user);
    void *user; /**< handed to call */
} adz_tensor_function;

/** A function whose gradients are to be checked. */
typedef adz_tensor_function adz_gradcheck_function;

/** Options of the gradient checks, with PyTorch's tolerances. Start from ADZ_GRADCHECK_OPTIONS. */
typedef struct adz_gradcheck_options {
    size_t size;   /**< sizeof(adz_gradcheck_options) */
    double eps;    /**< step of the central difference, above 0; 1e-6 */
    double atol;   /**< absolute tolerance, 0 or more; 1e-5 */
    double rtol;   /**< relative tolerance, 0 or more; 1e-3 */
    uint64_t seed; /**< seed of the random upstream gradients of adz_gradgradcheck; 0 */
    /** Above 0: adz_gradcheck runs the function in f32 too. Results and derivatives may then differ
     * from f64 values v by f32_tolerance max(1, |v|). 1e-4 suits most; 0, the default: no run */
    double f32_tolerance;
} adz_gradcheck_options;

/** The defaults. */
#define ADZ_GRADCHECK_OPTIONS                                                    \
    {                                                                            \
        ADZ_MEMBER(size, sizeof(adz_gradcheck_options)), ADZ_MEMBER(eps, 1e-6),  \
            ADZ_MEMBER(atol, 1e-5), ADZ_MEMBER(rtol, 1e-3), ADZ_MEMBER(seed, 0), \
            ADZ_MEMBER(f32_tolerance, 0)                                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gradcheck_options) as the caller knows it
 */
ADZ_API void adz_gradcheck_options_init(adz_gradcheck_options *options, size_t size);

/**
 * The findings of a gradient check. The worst element is the element whose error is the largest
 * part of what the tolerances allow.
 */
typedef struct adz_gradcheck_report {
    size_t input;         /**< the input of the worst element */
    size_t output;        /**< the output of the worst element */
    int64_t index;        /**< the worst element of that input, counted in order; -1 where the run
                               in f32 failed on the output's value itself */
    int64_t output_index; /**< the element of the output */
    double analytic;      /**< its derivative from backward; the one in f32 if that run failed */
    double numeric;  /**< its derivative from differences; the one in f64 if f32's run failed */
    double error;    /**< |analytic - numeric| */
    size_t elements; /**< derivatives compared */
    size_t nonzero;  /**< of these, analytic ones other than 0 */
} adz_gradcheck_report;

/**
 * Compares every element of the Jacobian with central differences, in f64.
 *
 * @code
 * static int call(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
 * {
 *     outputs[0] = adz_tanh(adz_matmul(inputs[0], inputs[1]));
 *     return outputs[0] != NULL;
 * }
 *
 * adz_gradcheck_function f = { call, NULL };
 * adz_tensor *ab[] = { adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), true),
 *     adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 4), ADZ_F64), true) };
 * adz_gradcheck_report report;
 * if (adz_gradcheck(&f, ab, 2, NULL, &report) != ADZ_OK) {
 *     printf("input %zu: %g, not %g\n", report.input, report.analytic, report.numeric);
 * }
 * @endcode
 *
 * A check in f64 never runs a kernel that exists for f32 only. With options.f32_tolerance above 0
 * the function runs a second time, with every f64 input rounded to f32. Outputs and Jacobian are
 * compared with those in f64 at the rounded inputs. For an operator that exists in f32 only, write
 * a function that computes f64 inputs in another way, for example with adze's operators.
 *
 * @param function  what to check
 * @param inputs    n tensors; the f64 leaves that want a gradient are checked, the others constant
 * @param n         1 or more
 * @param options   NULL for PyTorch's tolerances and no run in f32
 * @param report    filled with the worst element; may be NULL
 * @return          ADZ_OK; ADZ_ERR_NUMERIC, naming input, index, analytic and numeric value;
 *                  ADZ_ERR_ARGUMENT when nothing wants a gradient, or when f32 inputs do not give
 *                  f32 outputs; or the function's own error
 * @see             torch.autograd.gradcheck
 */
ADZ_API adz_status adz_gradcheck(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, const adz_gradcheck_options *options, adz_gradcheck_report *report);

/**
 * Compares every second derivative with central differences of the gradients, in f64. The upstream
 * gradients are random, and the derivatives with respect to them are checked as well.
 * options.f32_tolerance is not read.
 *
 * @param function  what to check
 * @param inputs    n tensors; the f64 leaves that want a gradient are checked, the others constant
 * @param n         1 or more
 * @param options   NULL for PyTorch's tolerances
 * @param report    filled with the worst element; may be NULL
 * @return          ADZ_OK; ADZ_ERR_NUMERIC, naming input, index, analytic and numeric value;
 *                  ADZ_ERR_ARGUMENT when nothing wants a gradient; or the function's own error
 * @see             torch.autograd.gradgradcheck
 */
ADZ_API adz_status adz_gradgradcheck(const adz_gradcheck_function *function,
    adz_tensor *const *inputs, size_t n, const adz_gradcheck_options *options,
    adz_gradcheck_report *report);

/**
 * Writes the graph of operators that computed a tensor in the language of Graphviz. Each recorded
 * call is a node, labelled with its attributes and the shape of its first result, such as
 * "softmax(dim=1)". Each leaf is a box.
 *
 * @param t       a tensor made by recorded operators
 * @param stream  where to
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_MEMORY or ADZ_ERR_IO
 */
ADZ_API adz_status adz_graph_dot(adz_tensor *t, FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
