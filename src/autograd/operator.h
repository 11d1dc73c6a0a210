/* What adz_record and adz_operator_call share, and the backward that is derived from an expression.
 */
#ifndef ADZI_AUTOGRAD_OPERATOR_H
#define ADZI_AUTOGRAD_OPERATOR_H

#include "autograd/node.h"

/** The names of inputs for adzi_enter: "input 0, input 1, ...". */
extern const char adzi_input_names[];

/** Whether a user's operator has a size and a name. Records the error if not; `function` is named
 * where the operator has no name. */
bool adzi_check_operator(const char *function, const adz_operator *op);

/** Whether the table of fields is valid and every field lies inside the attributes. Records the
 * error if not. */
bool adzi_check_attributes(const adz_operator *op, const void *attributes, size_t size);

/** Copies the user's struct to `op`, in which members that the caller's version lacks are zero, and
 * checks what makes it an operator that can be called. Records the error if it is none; `function`
 * is named where the operator has no name. */
bool adzi_read_operator(const char *function, const adz_operator *given, adz_operator *op);

/** Calls the operator's expression. False with the error recorded if it fails. */
bool adzi_call_expression(
    const adz_operator *op, adz_tensor **results, adz_tensor *const *in, const void *attributes);

/**
 * The backward of an operator without one: differentiates the expression at the saved inputs. It
 * reads nothing but what the node has saved (Note [The derived backward]).
 */
adz_status adzi_derived_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/**
 * The derived backward of an elementwise function y = f(x): dx = dy f'(x), with f' derived for a
 * gradient of 1. An operator registers it as its backward, so that an infinite dy gives what the
 * fused backward gives.
 */
adz_status adzi_derived_slope(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/**
 * For an expression: extra value `slot` of the node whose derived backward calls the expression
 * with these attributes, such as the mask of a dropout.
 *
 * @param attr  the attributes with which the expression was called
 * @return      the value; ADZ_NONE if somebody else calls the expression, as an export does; NULL
 *              with the error recorded if the value was changed since
 */
adz_tensor *adzi_derived_extra(const void *attr, int slot);

/** Zeros shaped like result 0 of a node, for the expression that its derived backward calls with
 * these attributes. They replace an input of that shape that was not saved and needs no gradient.
 * This is right for an input in which the operator is linear. */
adz_tensor *adzi_derived_zeros(const void *attr);

#endif
