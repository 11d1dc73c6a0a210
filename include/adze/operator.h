/**
 * @file operator.h
 * Operators of your own: a kernel in plain C, and what the tape, plans and exports need with it.
 *
 * @code
 * // y = x^3 for the elements begin .. end-1
 * static void cube_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
 * {
 *     const float *x = call->inputs[0].data;
 *     float *y = call->results[0].data;
 *     for (int64_t i = begin; i < end; ++i) {
 *         y[i] = x[i] * x[i] * x[i];
 *     }
 * }
 *
 * // dx = 3 x^2 dy
 * static adz_status cube_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
 * {
 *     adz_tensor *x = adz_node_input_at(node, 0);
 *     dx[0] = adz_mul(dy[0], adz_mul_number(adz_square(x), 3));
 *     return dx[0] != NULL ? ADZ_OK : adz_error_code();
 * }
 *
 * // the same function by adze's operators: for exports, and for dtypes without a kernel
 * static adz_status cube_expression(
 *     adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
 * {
 *     (void)attributes;
 *     results[0] = adz_mul(adz_mul(inputs[0], inputs[0]), inputs[0]);
 *     return results[0] != NULL ? ADZ_OK : adz_error_code();
 * }
 *
 * static const adz_operator cube_operator = {
 *     .size = sizeof(adz_operator),
 *     .name = "cube",
 *     .kernels = { [ADZ_F32] = cube_f32 },
 *     .units = ADZ_UNITS_ELEMENTS,
 *     .backward = cube_backward,
 *     .saved_inputs = 1U << 0,
 *     .expression = cube_expression,
 * };
 *
 * static adz_tensor *cube(adz_tensor *x)
 * {
 *     return adz_operator_call(&cube_operator, &x, 1, NULL, NULL);
 * }
 *
 * adz_tensor *x = adz_requires_grad_(adz_scalar(2, ADZ_F32), true);
 * adz_backward(cube(x)); // x's gradient is 12
 * @endcode
 *
 * The library checks the inputs, makes the results, runs the kernel on its threads and records the
 * call. A plan replays the kernel (adze/plan.h), and an export writes the expression
 * (adze/export.h). Without a backward the gradients are those of the expression.
 *
 * The backward is an expression of adze's operators, so that it can be differentiated again. Check
 * it with adz_gradcheck and adz_gradgradcheck, and the kernel with adz_operator_check. A kernel for
 * a backward is the kernel of a second operator, which the backward calls.
 */
#ifndef ADZE_OPERATOR_H
#define ADZE_OPERATOR_H

#include "adze/autograd.h"
#include "adze/fields.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A node of the tape: one recorded call. */
typedef struct adzi_node adz_node;

/**
 * A backward. It gets the gradient dy[k] of each result, NULL for a result that received none. It
 * fills dx[i] for each input that needs a gradient (adz_node_needs_input_grad). A dx[i] that stays
 * NULL while the function returns ADZ_OK means zero.
 *
 * New tensors are borrowed from a scope of the call. The engine sums gradients over the dimensions
 * along which an input was broadcast.
 */
typedef adz_status (*adz_backward_function)(adz_node *node, adz_tensor **dx, adz_tensor *const *dy);

/**
 * The forward of an operator as an expression of adze's operators. An export (adze/export.h) writes
 * it instead of the operator. adz_operator_call computes with it where the operator has no kernel,
 * and differentiates it where the operator has no backward. It fills results[k] for each result,
 * and results[n_results + k] for each value that the operator keeps. Values must be those of the
 * operator's kernels.
 *
 * inputs[i] is ADZ_NONE for an input that was left out. `attributes` are those of the call, or
 * NULL. New tensors are borrowed from the innermost scope. Returns ADZ_OK, or a status with an
 * error recorded.
 */
typedef adz_status (*adz_expression_function)(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes);

/** An array that a kernel reads: the elements of an input in row-major order, without gaps unless
 * the operator takes the input with strides (strided_inputs). */
typedef struct adz_const_array {
    const void *data;              /**< the first element; NULL for an input that was left out */
    int64_t numel;                 /**< elements; 0 for an input that was left out */
    int64_t sizes[ADZ_MAX_RANK];   /**< outermost first, `rank` of them */
    int rank;                      /**< 0 to 8 */
    adz_dtype dtype;               /**< of the elements */
    int64_t strides[ADZ_MAX_RANK]; /**< elements from one index of a dimension to the next; 0 where
                                        one element stands for all, as after adz_expand */
} adz_const_array;

/** An array that a kernel writes: the elements of a result in row-major order, without gaps. */
typedef struct adz_array {
    void *data;                  /**< written by the kernel */
    int64_t numel;               /**< elements */
    int64_t sizes[ADZ_MAX_RANK]; /**< outermost first, `rank` of them */
    int rank;                    /**< 0 to 8 */
    adz_dtype dtype;             /**< of the elements */
} adz_array;

/** What a kernel computes from and to. */
typedef struct adz_kernel_call {
    const adz_const_array *inputs; /**< n_inputs */
    const adz_array *results;      /**< n_results, and then the operator's n_kept values; their
                                        elements are undefined yet */
    const void *attributes;        /**< of the call; NULL if the operator has none */
    size_t n_inputs;               /**< as the operator says */
    size_t n_results;              /**< as the operator says */
    int64_t slice_size;            /**< elements of a slice; 0 unless the units are slices */
    int64_t slice_stride; /**< elements from one element of a slice to the next; 0 unless the
                               units are slices */
} adz_kernel_call;

/**
 * A kernel: computes the units begin .. end-1 of a call (adz_units). A call is cut into ranges that
 * several threads compute at a time, in any order. A plan calls the kernel again later, with other
 * elements and addresses, from whichever thread runs the plan.
 *
 * A kernel therefore depends on its inputs and attributes alone, and writes its results alone. It
 * gives the same bits however the units are cut. It calls no function of adze, and neither longjmp
 * nor a C++ exception leaves it. It cannot fail: what may be wrong with the arguments of a call is
 * found by the shape rule and the check.
 */
typedef void (*adz_kernel_function)(const adz_kernel_call *call, int64_t begin, int64_t end);

/** What the units of a kernel are. The first result of a call says how many there are. */
typedef enum adz_units {
    ADZ_UNITS_UNSET = 0,    /**< an error in an operator with kernels */
    ADZ_UNITS_ELEMENTS = 1, /**< the elements of the first result */
    ADZ_UNITS_ROWS = 2,     /**< its rows along the last dimension; a scalar is one row */
    ADZ_UNITS_CALL = 3,  /**< one unit, the whole call: begin is 0 and end is 1. It is computed on
                              the calling thread */
    ADZ_UNITS_SLICES = 4 /**< the slices of the first input along one dimension, which the attribute
                              `dim`, an int, names: the elements that differ in the index of this
                              dimension alone. A contiguous array is seen as
                              [outer, slice_size, slice_stride]; slice i begins at its element
                              i / slice_stride * slice_size * slice_stride + i % slice_stride */
} adz_units;

/** The shape and the dtype of a result and, of a view, its place in the first input. */
typedef struct adz_result {
    adz_shape shape;               /**< rank 0 to 8, sizes 0 or more */
    adz_dtype dtype;               /**< any; of a view, that of the first input */
    int64_t strides[ADZ_MAX_RANK]; /**< of a view, 0 or more: elements from one index to the next */
    int64_t offset; /**< of a view, 0 or more: its first element, counted from that of the input */
} adz_result;

/**
 * Says which shapes and dtypes the results of a call have. `results` come with the shape and the
 * dtype of the first input, and those of a view with its strides and the offset 0; change what
 * differs. Values that the operator keeps (n_kept) follow the results. Shapes and dtypes of the
 * inputs decide, never their elements.
 *
 * inputs[i] is ADZ_NONE for an input that was left out. `attributes` are the operator's copy of
 * those of the call, or NULL. The rule checks them and may complete them: it may count a negative
 * dimension from the first one. Messages, kernels and backwards see what it leaves there. Returns
 * ADZ_OK, or what adz_error_set returns if the inputs do not fit each other.
 */
typedef adz_status (*adz_shape_rule)(
    adz_result *results, adz_tensor *const *inputs, void *attributes);

/** How inputs of different dtypes come to one dtype before a call. Conversions are on the tape. */
typedef enum adz_promotion {
    ADZ_PROMOTION_NONE = 0,        /**< not at all: the inputs have one dtype, see other_dtypes */
    ADZ_PROMOTION_DEFAULT = 1,     /**< by adz_promote_types, where a tensor of rank 0 counts as a
                                        number (torch.result_type) */
    ADZ_PROMOTION_INT_TO_FLOAT = 2 /**< likewise, and integers and bools become f32 */
} adz_promotion;

/**
 * Checks what shapes and dtypes do not say, such as the elements of an index. It runs before the
 * results are made and after the shape rule, so it may rely on what that has checked. Call adze's
 * operators and adz_assert_all: a plan repeats them, so each run is checked. Nothing is recorded on
 * the tape, and new tensors live until the check returns.
 *
 * inputs[i] is ADZ_NONE for an input that was left out. `attributes` are those of the call, as the
 * shape rule has left them, or NULL. Returns ADZ_OK, or a status with an error recorded.
 */
typedef adz_status (*adz_input_check)(adz_tensor *const *inputs, const void *attributes);

/** Bit d stands for the dtype d, as in .dtypes = ADZ_DTYPE_BIT(ADZ_F32). */
#define ADZ_DTYPE_BIT(dtype) (1U << (dtype))

/** The dtypes f32 and f64. */
#define ADZ_DTYPES_FLOATS (ADZ_DTYPE_BIT(ADZ_F32) | ADZ_DTYPE_BIT(ADZ_F64))

/** The numbers of dtypes for which an operator can have kernels. */
#define ADZ_KERNEL_DTYPES 16

/**
 * Describes an operator to the tape. It must outlive every call, so make it static. Name the
 * members that you set, as in .name = "cube"; the others are zero then. The struct grows at its
 * end, and a program that was compiled with fewer members goes on to work.
 *
 * adz_record reads the members up to `expression`. Those behind it serve adz_operator_call.
 */
typedef struct adz_operator {
    size_t size;                    /**< sizeof(adz_operator) */
    const char *name;               /**< for messages */
    adz_backward_function backward; /**< an expression of adze's operators; NULL: adz_operator_call
                                         differentiates `expression` */
    adz_backward_function fused;    /**< a faster backward that records nothing, or NULL; it runs
                                         when nobody will differentiate the gradients */
    void (*attributes_free)(void *attributes); /**< releases what the attributes own, or NULL; only
                                                    for adz_record */
    const adz_field *fields; /**< what the attributes consist of (adze/fields.h). adz_record: for
                                  messages, may be NULL. adz_operator_call checks the fields' bounds
                                  and copies these fields and no others */
    size_t n_fields;         /**< rows of fields; 0 */
    adz_expression_function expression; /**< the forward by adze's operators; NULL: exports refuse
                                             the operator */
    adz_kernel_function
        kernels[ADZ_KERNEL_DTYPES]; /**< by the dtype of the first input, as in
                                         .kernels = { [ADZ_F32] = cube_f32 }. Where there is NULL,
                                         the expression computes the call */
    adz_units units;                /**< what the kernels count; needed if there are kernels */
    int64_t grain; /**< units that take some ten microseconds: fewer are not worth a thread. 0: as
                        many as make 4096 elements of the first result */
    adz_shape_rule shape_rule; /**< NULL: results have the shape and dtype of the first input */
    size_t n_inputs;           /**< 1 to 32; 0 stands for 1 */
    size_t n_results;          /**< 1 to 8; 0 stands for 1 */
    uint32_t optional_inputs;  /**< bit i set: input i may be ADZ_NONE; none by default */
    uint32_t other_dtypes;  /**< bit i set: input i need not have the dtype of the others, and the
                                 shape rule checks which it has; none by default. It does not count
                                 as the first input, unless all inputs are of this kind */
    uint32_t saved_inputs;  /**< bit i set: the backward reads input i (adz_node_input_at); none by
                                 default. Without a backward all inputs are saved */
    uint32_t saved_results; /**< bit k set: the backward reads result k (adz_node_result_at); none
                               by default */
    size_t attributes_size; /**< sizeof the struct of attributes, at most 512; 0 for none */
    uint32_t dtypes; /**< bit d set: the first input may have the dtype d (ADZ_DTYPE_BIT); 0: all
                        for which there is a kernel or an expression */
    uint32_t strided_inputs; /**< bit i set: kernels read input i by its strides; none by default:
                                  what is strided is copied */
    adz_promotion promotion; /**< of the inputs, except those in other_dtypes; none by default */
    bool broadcasts; /**< all inputs are broadcast to one shape, with which results come to the
                        shape rule, and which kernels see; false by default */
    const char *c_element; /**< how C computes an element of the result, for files that
                                adze/export.h writes; NULL: they get the expression. A text for f32
                                and f64, as in .c_element = "$a > $0 ? $a : 0". In it $a, $b and $c
                                are the elements of the inputs, which broadcast, $0 and $1 the first
                                two attributes that are single numbers, and `@exp` is a function of
                                the mathematical library. It must compute what the kernel does */
    bool view; /**< the results are views of the first input, at the strides and offsets that the
                    shape rule gives; there is no kernel then. False by default */
    adz_input_check check; /**< checks elements of the inputs; NULL: nothing to check */
    size_t n_kept; /**< values behind the results that the caller does not get, such as a mask or
                        the statistics of rows; 0 by default, and 8 with the results at most. The
                        shape rule gives them a shape and a dtype. The kernel writes them to
                        results[n_results + k], and so does the expression where it computes the
                        call. Backwards read them by adz_node_extra_at. They have no graph: a mask
                        may serve `backward`, a value with a derivative serves `fused` alone */
    const uint32_t *saved_for; /**< n_inputs masks in addition to saved_inputs. Bit j of
                                    saved_for[i] set: the gradient of input i reads input j, which
                                    is saved if input i wants one. NULL: none */
} adz_operator;

/**
 * Calls an operator of your own: checks the inputs, makes the results, computes them by a kernel
 * and puts the call on the tape.
 *
 * The kernel is that for the dtype of the first input that is not left out. All inputs have this
 * dtype, unless the operator says otherwise. Without a kernel for it, the operator's expression
 * computes the results; an expression for f64 in addition to a kernel for f32 serves adz_gradcheck.
 * Inputs that are strided are copied for the kernel. Integers among the inputs and results have no
 * gradient.
 *
 * A plan replays the kernel. An export writes the expression, and refuses an operator without one.
 * In anomaly mode a result that is not finite, from finite inputs, is an error.
 *
 * @param op          the operator, with a kernel or an expression
 * @param inputs      n_inputs tensors, or ADZ_NONE for those that are left out
 * @param n_inputs    as the operator says
 * @param attributes  the arguments that are not tensors, of the operator's attributes_size; copied.
 *                    Values alone: what a pointer leads to may be gone when a plan runs. NULL if
 *                    the operator has none
 * @param more        gets the results 1 .. n_results-1, borrowed from the scope; NULL if there is
 *                    one result
 * @return            the first result, borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT (the operator or the number of inputs), ADZ_ERR_DTYPE (no
 *                    kernel and no expression, or inputs of different dtypes), ADZ_ERR_GRAPH (an
 *                    input wants a gradient, but there is neither a backward nor an expression),
 *                    ADZ_ERR_SHAPE, ADZ_ERR_NUMERIC, ADZ_ERR_MEMORY, or the error of the shape
 *                    rule, of the check or of the expression
 * @grad              by the operator's backward, or through its expression
 * @see               torch.library.custom_op, torch.autograd.Function.apply
 */
ADZ_API adz_tensor *adz_operator_call(const adz_operator *op, adz_tensor *const *inputs,
    size_t n_inputs, const void *attributes, adz_tensor **more);

/**
 * Calls an operator of your own in place: the first input gets the values of the result, whose
 * shape and dtype it must have. The kernel may be given the input itself as its result if its units
 * are elements. It therefore reads element i of its inputs before it writes element i.
 *
 * @param op          the operator, with one result, which is no view, and a kernel for the dtype of
 *                    the first input
 * @param inputs      as adz_operator_call takes them. The first one must not be a leaf that wants a
 *                    gradient, a view inside a graph, or expanded
 * @param n_inputs    as the operator says
 * @param attributes  as adz_operator_call takes them
 * @return            inputs[0]; NULL with an error of adz_operator_call, ADZ_ERR_ARGUMENT also if
 *                    the operator cannot be called in place, or ADZ_ERR_INPLACE. The input is
 *                    unchanged then
 * @grad              as that of adz_operator_call
 */
ADZ_API adz_tensor *adz_operator_call_(
    const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs, const void *attributes);

/**
 * Compares what an operator says twice: its kernel with its expression, and its backward and
 * `fused` with the derivative of the expression. Exports write the expression, so they compute what
 * the kernel computes only if the two agree.
 *
 * @param op          the operator, with an expression
 * @param inputs      a sample, as adz_operator_call takes it. Gradients of the inputs that want one
 *                    are compared, for upstream gradients that differ from element to element
 * @param n_inputs    as the operator says
 * @param attributes  as adz_operator_call takes them
 * @param tolerance   the largest difference, 0 or more; multiplied by the expression's value if
 * that is above 1 in size. NaN equals NaN
 * @return            ADZ_OK; ADZ_ERR_NUMERIC (they differ: the message names the element),
 *                    ADZ_ERR_ARGUMENT (no expression, or the tolerance), ADZ_ERR_STATE
 *                    and ADZ_ERR_UNSUPPORTED (in a function that a plan captures or an export
 *                    traces), or an error of adz_operator_call or of the backward
 * @see               torch.library.opcheck
 */
ADZ_API adz_status adz_operator_check(const adz_operator *op, adz_tensor *const *inputs,
    size_t n_inputs, const void *attributes, double tolerance);

/** The values that a call saves for its backward. Start from ADZ_RECORD_OPTIONS. */
typedef struct adz_record_options {
    size_t size;               /**< sizeof(adz_record_options) */
    uint32_t saved_inputs;     /**< bit i set: save input i; none by default */
    uint32_t saved_results;    /**< bit k set: save result k; none by default */
    adz_tensor *const *extras; /**< further tensors to save; NULL by default */
    size_t n_extras;           /**< how many tensors `extras` has; 0 by default */
    const void *attributes;    /**< arguments that are not tensors, copied; NULL by default */
    size_t attributes_size;    /**< bytes of the attributes; 0 by default */
} adz_record_options;

/** The defaults. */
#define ADZ_RECORD_OPTIONS                                                                   \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_record_options)), ADZ_MEMBER(saved_inputs, 0),           \
            ADZ_MEMBER(saved_results, 0), ADZ_MEMBER(extras, NULL), ADZ_MEMBER(n_extras, 0), \
            ADZ_MEMBER(attributes, NULL), ADZ_MEMBER(attributes_size, 0)                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_record_options) as the caller knows it
 */
ADZ_API void adz_record_options_init(adz_record_options *options, size_t size);

/**
 * Puts a call on the tape whose results the program has computed itself, if an input wants a
 * gradient and the thread records. Use it where adz_operator_call does not fit: where the number of
 * inputs varies, or where the results come from a library that is called between two operators.
 *
 * What the program computes itself is not replayed by a plan. While a function is captured, results
 * that adze's operators have not computed are therefore refused.
 *
 * @param op         the operator
 * @param inputs     n_inputs tensors, or ADZ_NONE for those left out
 * @param n_inputs   1 to 32
 * @param results    n_results new tensors that no operator on the tape made (adz_empty and the
 *                   like); f32 and f64 ones become differentiable
 * @param n_results  1 to 32
 * @param options    NULL for the defaults
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (also if a field of the operator lies
 *                   outside the attributes), ADZ_ERR_GRAPH (a result has a history already, or
 *                   wants a gradient as a leaf), ADZ_ERR_STATE (a plan cannot replay how the
 *                   results were computed), ADZ_ERR_MEMORY
 * @see              torch.autograd.Function
 */
ADZ_API adz_status adz_record(const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs,
    adz_tensor *const *results, size_t n_results, const adz_record_options *options);

/**
 * Whether the running backward has to compute the gradient of input i.
 *
 * @param node  the call
 * @param i     0 .. n_inputs-1
 * @return      false when i is out of range
 */
ADZ_API bool adz_node_needs_input_grad(const adz_node *node, size_t i);

/**
 * The saved value of input i.
 *
 * @param node  the call
 * @param i     an input named in saved_inputs
 * @return      owned by the call; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION (changed
 *              in place since)
 */
ADZ_API adz_tensor *adz_node_input_at(adz_node *node, size_t i);

/**
 * The saved value of result k, connected to the graph.
 *
 * @param node  the call
 * @param k     a result named in saved_results
 * @return      borrowed from the scope; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION
 *              (changed in place since)
 */
ADZ_API adz_tensor *adz_node_result_at(adz_node *node, size_t k);

/**
 * A saved tensor that is neither an input nor a result.
 *
 * @param node  the call
 * @param i     its position in extras, or among the values that the operator keeps (n_kept)
 * @return      owned by the call; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION (changed
 *              in place since)
 */
ADZ_API adz_tensor *adz_node_extra_at(adz_node *node, size_t i);

/**
 * The saved attributes.
 *
 * @param node  the call
 * @return      the copy, or NULL when there are none
 */
ADZ_API const void *adz_node_attributes(const adz_node *node);

#ifdef __cplusplus
}
#endif

#endif
