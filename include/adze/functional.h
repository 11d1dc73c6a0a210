/**
 * @file functional.h
 * Derivatives of functions: products with the Jacobian, and Jacobians and Hessians as tensors
 * (PyTorch: torch.func and torch.autograd.functional).
 *
 * @code
 * static adz_tensor *stress(adz_tensor *strain, void *law) // strain[N, 6] to stress[N, 6]
 * {
 *     return adz_module_forward(law, strain);
 * }
 *
 * static adz_tensor *tangent(adz_module *law, adz_tensor *strain) // [N, 6, 6]
 * {
 *     return adz_jacobian_rows(stress, law, strain, NULL);
 * }
 * @endcode
 *
 * Each of these functions calls the given function once, with inputs that stand for the given ones
 * in the graph, and differentiates its results. No `.grad` changes. Other tensors that the function
 * uses, such as parameters, are constants, unless create_graph is set. What the function draws at
 * random is drawn once, so a dropout has one mask in the value and in all derivatives.
 *
 * An input on which a result does not depend has the derivative 0, and so has a result that depends
 * on no input. A region without gradients (ADZ_NO_GRAD) changes nothing. All functions may be
 * called in a function that a plan captures, except under check_rows.
 *
 * adz_jvp, and Jacobians that are computed in forward mode, differentiate the gradient once more.
 * They are refused where an operator has no second derivative.
 */
#ifndef ADZE_FUNCTIONAL_H
#define ADZE_FUNCTIONAL_H

#include "adze/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ADZ_FUNCTION_INPUTS  16 /**< the most inputs of an adz_tensor_function here */
#define ADZ_FUNCTION_RESULTS 16 /**< the most results of an adz_tensor_function */

/**
 * A function of one tensor with one result.
 *
 * @param x     a tensor of the shape, dtype and elements of the one that was given
 * @param user  the pointer that was given
 * @return      the result, borrowed; NULL for a failure, with the error recorded
 */
typedef adz_tensor *(*adz_tensor_map)(adz_tensor *x, void *user);

/** In which way a Jacobian is computed. */
typedef enum adz_jacobian_mode {
    ADZ_JACOBIAN_AUTO = 0,    /**< forward if the inputs have fewer elements than the results */
    ADZ_JACOBIAN_REVERSE = 1, /**< one backward for each element of a result (of a row) */
    ADZ_JACOBIAN_FORWARD = 2  /**< one adz_jvp for each element of an input (of a row) */
} adz_jacobian_mode;

/** Options of the functions here. Start from ADZ_FUNCTIONAL_OPTIONS. */
typedef struct adz_functional_options {
    size_t size;       /**< sizeof(adz_functional_options) */
    bool create_graph; /**< makes the derivatives and the results differentiable, by the inputs and
                            by other tensors that the function uses; false */
    adz_tensor **results;   /**< receives the results of the function, which are computed anyway;
                                 they are borrowed, and untouched on failure. NULL */
    adz_jacobian_mode mode; /**< of Jacobians; ADZ_JACOBIAN_AUTO. The modes differ in last bits. */
    bool check_rows; /**< adz_jacobian_rows also checks that rows do not depend on each other,
                          which takes another backward; false */
} adz_functional_options;

/** The defaults. */
#define ADZ_FUNCTIONAL_OPTIONS                                                             \
    {                                                                                      \
        ADZ_MEMBER(size, sizeof(adz_functional_options)), ADZ_MEMBER(create_graph, false), \
            ADZ_MEMBER(results, NULL), ADZ_MEMBER(mode, ADZ_JACOBIAN_AUTO),                \
            ADZ_MEMBER(check_rows, false)                                                  \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_functional_options) as the caller knows it
 */
ADZ_API void adz_functional_options_init(adz_functional_options *options, size_t size);

/* ---- functions of one tensor with one result ---------------------------------------------------
 */

/**
 * The product of a vector with the Jacobian: the gradient of sum(v f(x)) with respect to x.
 *
 * @param function  computes y from x
 * @param user      handed to the function
 * @param x         any shape, f32 or f64
 * @param v         shaped like y, of its dtype; ADZ_NONE stands for 1 if y has one element
 * @param options   NULL for the defaults
 * @return          shaped like x, borrowed; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE (x or y has no
 *                  derivative), ADZ_ERR_SHAPE (v does not fit), ADZ_ERR_ARGUMENT (an option),
 *                  ADZ_ERR_MEMORY or the error of the function recorded
 * @grad            under create_graph, by x, v and what the function uses, to any order
 * @see             torch.func.vjp
 */
ADZ_API adz_tensor *adz_vjp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options);

/**
 * The product of the Jacobian with a vector: the derivative of f(x + s v) by s at s = 0.
 *
 * @param function  computes y from x
 * @param user      handed to the function
 * @param x         any shape, f32 or f64
 * @param v         the direction, of the shape and dtype of x; ADZ_NONE stands for 0
 * @param options   NULL for the defaults
 * @return          shaped like y, borrowed; NULL with an error as for adz_vjp, or
 *                  ADZ_ERR_UNSUPPORTED (an operator without a second derivative)
 * @grad            under create_graph, by x, v and what the function uses, to any order
 * @see             torch.func.jvp, torch.autograd.functional.jvp
 */
ADZ_API adz_tensor *adz_jvp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options);

/**
 * The Jacobian: the derivative of each element of y by each element of x.
 *
 * @param function  computes y from x
 * @param user      handed to the function
 * @param x         any shape, f32 or f64
 * @param options   NULL for the defaults
 * @return          the shape of y followed by that of x, borrowed; NULL with an error as for
 *                  adz_jvp, or ADZ_ERR_SHAPE if that is more than ADZ_MAX_RANK dimensions
 * @grad            under create_graph, by x and what the function uses, to any order
 * @see             torch.func.jacrev, torch.func.jacfwd, torch.autograd.functional.jacobian
 */
ADZ_API adz_tensor *adz_jacobian(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options);

/**
 * The Jacobians of a function of rows, such as a network that is applied to a batch: row n of y
 * depends on row n of x only. All rows are differentiated at once, in min(M, D) passes.
 *
 * A function whose rows depend on each other, such as one with batch norm in training, would give
 * sums of derivatives; check_rows finds it.
 *
 * @param function  computes y[N, M] from x[N, D]
 * @param user      handed to the function
 * @param x         [N, D], f32 or f64
 * @param options   NULL for the defaults
 * @return          [N, M, D], borrowed; NULL with an error as for adz_jvp, or ADZ_ERR_SHAPE (x or y
 *                  is no matrix, or they have different numbers of rows), or under check_rows
 *                  ADZ_ERR_ARGUMENT (the rows depend on each other) and ADZ_ERR_STATE (in a
 *                  function that a plan captures)
 * @grad            under create_graph, by x and what the function uses, to any order
 * @see             torch.func.vmap of torch.func.jacrev
 */
ADZ_API adz_tensor *adz_jacobian_rows(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options);

/**
 * The Hessian of a function with one number as its result: its second derivatives.
 *
 * @param function  computes y, of one element, from x
 * @param user      handed to the function
 * @param x         any shape of at most half of ADZ_MAX_RANK dimensions, f32 or f64
 * @param options   NULL for the defaults
 * @return          the shape of x twice, borrowed; NULL with an error as for adz_jvp, or
 *                  ADZ_ERR_SHAPE if y has not one element
 * @grad            under create_graph, by x and what the function uses, to any order
 * @see             torch.func.hessian, torch.autograd.functional.hessian
 */
ADZ_API adz_tensor *adz_hessian(
    adz_tensor_map function, void *user, adz_tensor *x, const adz_functional_options *options);

/**
 * The product of the Hessian with a vector, in the time of a few calls of the function.
 *
 * @param function  computes y, of one element, from x
 * @param user      handed to the function
 * @param x         any shape, f32 or f64
 * @param v         of the shape and dtype of x; ADZ_NONE stands for 0
 * @param options   NULL for the defaults
 * @return          shaped like x, borrowed; NULL with an error as for adz_hessian
 * @grad            under create_graph, by x, v and what the function uses, to any order
 * @see             torch.autograd.functional.hvp
 */
ADZ_API adz_tensor *adz_hvp(adz_tensor_map function, void *user, adz_tensor *x, adz_tensor *v,
    const adz_functional_options *options);

/* ---- functions of several tensors with several results -----------------------------------------
 */

/**
 * adz_vjp of a function of several tensors.
 *
 * @param function   computes n_results tensors from n; parameters of a module may be among the
 *                   inputs by means of adz_module_functional_call
 * @param inputs     n tensors, f32 or f64
 * @param n          1 to ADZ_FUNCTION_INPUTS
 * @param vectors    one for each result, of its shape and dtype; ADZ_NONE stands for 1 if the
 *                   result has one element; NULL: ADZ_NONE for all
 * @param n_results  how many results the function has, 1 to ADZ_FUNCTION_RESULTS
 * @param options    NULL for the defaults
 * @param gradients  receives n gradients, shaped like the inputs, borrowed; untouched on failure
 * @return           ADZ_OK, or an error as for adz_vjp
 * @grad             gradients, under create_graph
 * @see              torch.func.vjp
 */
ADZ_API adz_status adz_vjp_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, adz_tensor *const *vectors, size_t n_results, const adz_functional_options *options,
    adz_tensor **gradients);

/**
 * adz_jvp of a function of several tensors.
 *
 * @param function     computes n_results tensors from n
 * @param inputs       n tensors, f32 or f64
 * @param n            1 to ADZ_FUNCTION_INPUTS
 * @param vectors      n directions, each of its input's shape and dtype; ADZ_NONE stands for 0
 * @param n_results    how many results the function has, 1 to ADZ_FUNCTION_RESULTS
 * @param options      NULL for the defaults
 * @param derivatives  receives n_results tensors, shaped like the results, borrowed; untouched on
 *                     failure
 * @return             ADZ_OK, or an error as for adz_jvp
 * @grad               derivatives, under create_graph
 * @see                torch.func.jvp
 */
ADZ_API adz_status adz_jvp_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, adz_tensor *const *vectors, size_t n_results, const adz_functional_options *options,
    adz_tensor **derivatives);

/**
 * adz_jacobian of a function of several tensors.
 *
 * @param function   computes n_results tensors from n
 * @param inputs     n tensors, f32 or f64
 * @param n          1 to ADZ_FUNCTION_INPUTS
 * @param n_results  how many results the function has, 1 to ADZ_FUNCTION_RESULTS
 * @param options    NULL for the defaults
 * @param jacobians  receives n_results rows of n tensors each, borrowed: jacobians[k * n + i] has
 *                   the shape of result k followed by that of input i; untouched on failure
 * @return           ADZ_OK, or an error as for adz_jacobian
 * @grad             jacobians, under create_graph
 * @see              torch.autograd.functional.jacobian
 */
ADZ_API adz_status adz_jacobian_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, size_t n_results, const adz_functional_options *options, adz_tensor **jacobians);

/**
 * adz_jacobian_rows of a function of several tensors, all with N rows.
 *
 * @param function   computes n_results tensors y[N, M] from n tensors x[N, D]
 * @param inputs     n tensors [N, D], f32 or f64
 * @param n          1 to ADZ_FUNCTION_INPUTS
 * @param n_results  how many results the function has, 1 to ADZ_FUNCTION_RESULTS
 * @param options    NULL for the defaults
 * @param jacobians  receives n_results rows of n tensors each, borrowed: jacobians[k * n + i] is
 *                   [N, M of result k, D of input i]; untouched on failure
 * @return           ADZ_OK, or an error as for adz_jacobian_rows
 * @grad             jacobians, under create_graph
 * @see              torch.func.vmap of torch.func.jacrev
 */
ADZ_API adz_status adz_jacobian_rows_many(const adz_tensor_function *function,
    adz_tensor *const *inputs, size_t n, size_t n_results, const adz_functional_options *options,
    adz_tensor **jacobians);

/**
 * adz_hessian of a function of several tensors.
 *
 * @param function  computes one tensor of one element from n tensors
 * @param inputs    n tensors, f32 or f64
 * @param n         1 to ADZ_FUNCTION_INPUTS
 * @param options   NULL for the defaults
 * @param hessians  receives n rows of n tensors each, borrowed: hessians[i * n + j] has the shape
 *                  of input i followed by that of input j; untouched on failure
 * @return          ADZ_OK, or an error as for adz_hessian
 * @grad            hessians, under create_graph
 * @see             torch.autograd.functional.hessian
 */
ADZ_API adz_status adz_hessian_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, const adz_functional_options *options, adz_tensor **hessians);

/**
 * adz_hvp of a function of several tensors.
 *
 * @param function  computes one tensor of one element from n tensors
 * @param inputs    n tensors, f32 or f64
 * @param n         1 to ADZ_FUNCTION_INPUTS
 * @param vectors   n tensors, each of its input's shape and dtype; ADZ_NONE stands for 0
 * @param options   NULL for the defaults
 * @param products  receives n tensors, shaped like the inputs, borrowed; untouched on failure
 * @return          ADZ_OK, or an error as for adz_hvp
 * @grad            products, under create_graph
 * @see             torch.autograd.functional.hvp
 */
ADZ_API adz_status adz_hvp_many(const adz_tensor_function *function, adz_tensor *const *inputs,
    size_t n, adz_tensor *const *vectors, const adz_functional_options *options,
    adz_tensor **products);

#ifdef __cplusplus
}
#endif

#endif
