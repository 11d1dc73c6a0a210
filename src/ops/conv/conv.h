/* What all convolutions share: checked arguments, the call, and the gradients.
 *
 * Note [Convolutions and their gradients]
 *
 * Three operators are closed under differentiation. For an image `big`, an image `small` and a
 * weight, all of them are derivatives of one form that is linear in each of the three:
 *
 *     small  = convolution(big, weight)
 *     big    = transposed convolution(small, weight)
 *     weight = adz_conv_weight(big, small)
 *
 * The gradients of each operator are calls of the other two, so derivatives of every order need no
 * further code. */
#ifndef ADZI_OPS_CONV_CONV_H
#define ADZI_OPS_CONV_CONV_H

#include "adze/ops/conv.h"
#include "ops/conv/conv.kernel.h"
#include "ops/op.h"

/* The inputs on the tape. */
enum { ADZI_CONV_X, ADZI_CONV_WEIGHT, ADZI_CONV_BIAS, ADZI_CONV_INPUTS };

/** The attributes of every convolution. Only the first n elements of an array are used. The result
 * of a transposed convolution loses padding_after at its end; a negative number, as output_padding
 * makes it, adds elements. */
typedef struct adzi_conv {
    int n;                              /* spatial dimensions: 1, 2 or 3 */
    int n_padding, n_after, n_dilation; /* all equal n, because each array has its own count */
    int64_t stride[ADZI_CONV_AXES], padding[ADZI_CONV_AXES], padding_after[ADZI_CONV_AXES];
    int64_t dilation[ADZI_CONV_AXES];
    int64_t groups;
} adzi_conv;

/** The table of the fields of adzi_conv, whose length is ADZI_CONV_FIELDS. */
extern const adz_field adzi_conv_fields[];
enum { ADZI_CONV_FIELDS = 9 };

extern const adzi_op adzi_op_conv1d, adzi_op_conv2d, adzi_op_conv3d, adzi_op_conv_transpose1d,
    adzi_op_conv_transpose2d, adzi_op_conv_transpose3d, adzi_op_conv_weight;

/** The operator for n spatial dimensions. */
const adzi_op *adzi_conv_op(bool transposed, int n);

/** Reads the options of a call with at->n spatial dimensions and kernels of these sizes, which
 * "same" and "causal" need. Returns false with the error recorded under `op`. */
bool adzi_conv_read(adzi_conv *at, const char *op, const adz_conv_options *options, bool transposed,
    const int64_t *kernel);

/** The names of padding rules, by adz_padding_rule; NULL ends them. */
extern const char *const adzi_conv_rules[];

/** Sets padding_after such that a convolution of an image of size `big` gives one of size `small`.
 */
void adzi_conv_fit(adzi_conv *at, const int64_t *big, const int64_t *small, const int64_t *kernel);

/** The sizes of small that a big image gives. Returns false with the error recorded. */
bool adzi_conv_small(
    const adzi_conv *at, const char *op, const int64_t *big, const int64_t *kernel, int64_t *small);

/** Returns true if x has rank n + 1 or n + 2 and no empty image; else records the error. */
bool adzi_conv_check_images(const char *op, const adz_tensor *x, const char *x_name, int n);

/** A convolution or a transposed one as an operator of the tape. */
adz_tensor *adzi_conv_call(
    bool transposed, adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adzi_conv *at);

/** The public call, which reads the options. */
adz_tensor *adzi_conv_public(const adzi_op *op, adz_tensor *x, adz_tensor *weight, adz_tensor *bias,
    const adz_conv_options *options);

/** The shape rules of convolutions and of transposed ones. */
adz_status adzi_conv_rule(adz_result *y, adz_tensor *const *in, void *call);
adz_status adzi_conv_transpose_rule(adz_result *y, adz_tensor *const *in, void *call);

/** The step `save` of operators that are linear in inputs 0 and 1: each is saved only if the
 * gradient of the other one will read it. */
void adzi_conv_save(adzi_call *call, adz_tensor *const *y, const void *attr);

/** The gradient of a weight of this shape as an operator of the tape. */
adz_tensor *adzi_conv_weight_call(
    adz_tensor *x, adz_tensor *dy, adz_shape weight, const adzi_conv *at);

/** The backwards of convolutions and of transposed ones. */
adz_status adzi_conv_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_conv_transpose_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** The forwards as expressions of other operators, for exports. */
adz_status adzi_conv_expression(adz_tensor **y, adz_tensor *const *in, const void *attr);
adz_status adzi_conv_transpose_expression(adz_tensor **y, adz_tensor *const *in, const void *attr);

#endif
