/**
 * @file record.h
 * Operators of your own: a forward in plain C and a backward that the tape calls.
 *
 * @code
 * static adz_status cube_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
 * {
 *     adz_tensor *x = adz_node_input(node, 0);
 *     dx[0] = adz_mul(dy[0], adz_mul_number(adz_mul(x, x), 3));
 *     return dx[0] != NULL ? ADZ_OK : adz_error_code();
 * }
 *
 * static const adz_operator cube_operator = { sizeof(adz_operator), "cube", cube_backward, NULL,
 *     NULL, NULL, 0, NULL };
 *
 * static adz_tensor *cube(adz_tensor *x)
 * {
 *     adz_tensor *in = adz_contiguous(x), *y = adz_empty_like(in);
 *     const double *from = adz_tensor_data_f64(in);
 *     double *to = adz_tensor_data_f64(y);
 *     if (from == NULL || to == NULL) {
 *         return NULL;
 *     }
 *     for (int64_t i = 0; i < adz_tensor_numel(y); ++i) {
 *         to[i] = from[i] * from[i] * from[i];
 *     }
 *     adz_record_options o = ADZ_RECORD_OPTIONS;
 *     o.saved_inputs = 1u << 0;
 *     return adz_record(&cube_operator, &x, 1, &y, 1, &o) == ADZ_OK ? y : NULL;
 * }
 *
 * adz_tensor *x = adz_requires_grad_(adz_scalar(2, ADZ_F64), true);
 * adz_backward(cube(x)); // x's gradient is 12
 * @endcode
 *
 * The backward is an expression of adze's operators, so that it can be differentiated again. Check
 * it with adz_gradcheck and adz_gradgradcheck.
 */
#ifndef ADZE_RECORD_H
#define ADZE_RECORD_H

#include "adze/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A node of the tape: one recorded call. */
typedef struct adzi_node adz_node;

/**
 * A backward. It gets the gradient dy[k] of each result, NULL for a result that received none. It
 * fills dx[i] for each input that needs a gradient (adz_node_needs). A dx[i] that stays NULL while
 * the function returns ADZ_OK means zero.
 *
 * New tensors are borrowed from a scope of the call. The engine sums gradients over the dimensions
 * along which an input was broadcast.
 */
typedef adz_status (*adz_backward_function)(adz_node *node, adz_tensor **dx, adz_tensor *const *dy);

/**
 * The forward of an operator as an expression of adze's operators. An export (adze/plan.h) writes
 * it in place of an operator that it does not know. It fills results[k] for each result, whose
 * values must be those of the operator's own forward.
 *
 * inputs[i] is ADZ_NONE for an input that was left out. `attributes` are those of the call, or
 * NULL. New tensors are borrowed from the innermost scope. Returns ADZ_OK, or a status with an
 * error recorded.
 */
typedef adz_status (*adz_expression_function)(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes);

/** What a field of an operator's attributes holds. */
typedef enum adz_field_kind {
    ADZ_FIELD_BOOL = 0, /**< bool, shown as True or False */
    ADZ_FIELD_INT = 1,  /**< int */
    ADZ_FIELD_I64 = 2,  /**< int64_t */
    ADZ_FIELD_U64 = 3,  /**< uint64_t */
    ADZ_FIELD_F64 = 4,  /**< double, shown with as few digits as read back to the same value */
    ADZ_FIELD_MASK = 5, /**< unsigned, whose bit d stands for dimension d; shown as [0, 2] */
    ADZ_FIELD_ENUM = 6  /**< an enumeration without negative values, of the size of an int */
} adz_field_kind;

/**
 * One field of an operator's attributes. From a table of fields the library shows, compares and
 * copies attributes: messages and graph pictures then say "cube(factor=3)" and not only "cube".
 * Fields that are zero stand for the usual case, so that a table may begin each row with the first
 * three and leave out the rest.
 *
 * @code
 * typedef struct {
 *     int n;
 *     int64_t sizes[8];
 *     double factor;
 * } resize_attributes;
 *
 * const adz_field fields[] = {
 *     { "n", ADZ_FIELD_INT, offsetof(resize_attributes, n), 0, false, true, NULL },
 *     { "size", ADZ_FIELD_I64, offsetof(resize_attributes, sizes), 8, true, false, NULL },
 *     { "factor", ADZ_FIELD_F64, offsetof(resize_attributes, factor), 0, false, false, NULL },
 * }; // with n = 2: resize(size=[3, 4], factor=0.5)
 * adz_operator op = { sizeof op, "resize", NULL, NULL, NULL, fields, 3, NULL };
 * @endcode
 */
typedef struct adz_field {
    const char *name;    /**< the argument's name, as messages show it */
    adz_field_kind kind; /**< of the field or, in an array, of each element */
    size_t offset;       /**< offsetof(the struct, the field) */
    size_t count;        /**< elements of an array; 0: a single value */
    bool counted;        /**< an array of which only some elements are used: the row before this one
                              in the table is the int that says how many */
    bool hidden;         /**< copied and compared, but not shown */
    const char *const *values; /**< the names of an enumeration's values 0, 1, ..., ended by NULL;
                                    NULL: shown as a number */
} adz_field;

/** Describes an operator to the tape. It must outlive every call, so make it static. */
typedef struct adz_operator {
    size_t size;                    /**< sizeof(adz_operator) */
    const char *name;               /**< for messages */
    adz_backward_function backward; /**< an expression of adze's operators */
    adz_backward_function fused;    /**< a faster backward that records nothing, or NULL; it runs
                                         when nobody will differentiate the gradients */
    void (*attributes_free)(void *attributes); /**< releases what the attributes own, or NULL */
    const adz_field *fields; /**< what the attributes consist of, for messages; NULL: unknown */
    size_t n_fields;         /**< rows of fields; 0 */
    adz_expression_function expression; /**< the forward by adze's operators, for exports; NULL:
                                             exports refuse the operator */
} adz_operator;

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
#define ADZ_RECORD_OPTIONS                                 \
    {                                                      \
        sizeof(adz_record_options), 0, 0, NULL, 0, NULL, 0 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_record_options) as the caller knows it
 */
ADZ_API void adz_record_options_init(adz_record_options *options, size_t size);

/**
 * Puts a call on the tape, if an input wants a gradient and the thread records.
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
 *                   wants a gradient as a leaf), ADZ_ERR_MEMORY
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
ADZ_API bool adz_node_needs(const adz_node *node, size_t i);

/**
 * The saved value of input i.
 *
 * @param node  the call
 * @param i     an input named in saved_inputs
 * @return      owned by the call; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION (changed
 *              in place since)
 */
ADZ_API adz_tensor *adz_node_input(adz_node *node, size_t i);

/**
 * The saved value of result k, connected to the graph.
 *
 * @param node  the call
 * @param k     a result named in saved_results
 * @return      borrowed from the scope; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION
 *              (changed in place since)
 */
ADZ_API adz_tensor *adz_node_result(adz_node *node, size_t k);

/**
 * A saved tensor that is neither an input nor a result.
 *
 * @param node  the call
 * @param i     its place in extras
 * @return      owned by the call; NULL with ADZ_ERR_GRAPH (not saved) or ADZ_ERR_VERSION (changed
 *              in place since)
 */
ADZ_API adz_tensor *adz_node_extra(adz_node *node, size_t i);

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
