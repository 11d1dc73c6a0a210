/* The common part of elementwise operators: forwards and fused backwards of functions of one and of
 * two tensors, the common dtype and the common shape of several inputs, and checks of dtypes. */
#ifndef ADZI_OPS_ELEMENTWISE_ELEMENTWISE_H
#define ADZI_OPS_ELEMENTWISE_ELEMENTWISE_H

#include "ops/op.h"

/** A table of kernels as a function's argument: [level][dtype], as KERNEL_TABLE_FLOAT declares it
 * for f32 and f64. */
typedef const adzi_kernel (*adzi_float_kernels)[2];

/** Which dtypes an operator takes, and what its result has. f16 and bf16 are always refused. */
typedef enum adzi_types {
    ADZI_TO_FLOAT,    /* f32 and f64; integers and bool are converted to f32 first */
    ADZI_ONLY_FLOAT,  /* f32 and f64; all others are refused */
    ADZI_ANY_TYPE,    /* six dtypes, which the result keeps; two inputs are promoted to one dtype */
    ADZI_COUNTED,     /* like ADZI_ANY_TYPE, but bool is converted to i64 */
    ADZI_TRUTH,       /* six dtypes, of which two inputs are promoted to one; the result is bool */
    ADZI_TRUTH_VALUES /* each input is converted to bool: what is not 0 is true; the result is bool
                       */
} adzi_types;

/** What the node saves for the gradient, as a sum. */
enum { ADZI_SAVES_NOTHING = 0, ADZI_SAVES_A = 1, ADZI_SAVES_B = 2, ADZI_SAVES_Y = 4 };
enum { ADZI_SAVES_X = ADZI_SAVES_A };

/** How an operator of the table is called. table.h says what its columns mean. */
typedef struct adzi_elementwise {
    const adzi_op *op;
    const adzi_kernel *kernels; /* [level][dtype], of `columns` dtypes each */
    int columns;                /* 2: f32 and f64; 6: all that arithmetic knows */
    adzi_types types;
    unsigned saves;       /* a sum of ADZI_SAVES_ */
    unsigned saves_for_b; /* the same, if b wants a gradient */
    const char *instead;  /* bool is refused with the advice to use this; or NULL */
    size_t attr_size;     /* bytes of the attributes; 0 for none */
    adz_tensor *(*recompute)(adzi_node *); /* computes y again (adzi_offer_recompute), or NULL */
    bool (*check)(const adzi_call *call);  /* refuses elements; or NULL */
} adzi_elementwise;

/** The members that name the kernels: a table of KERNEL_TABLE_FLOAT, _PRODUCT or _ALL. */
#define ADZI_KERNELS(name) \
    .kernels = &name##_kernels[0][0], .columns = sizeof *name##_kernels / sizeof **name##_kernels

/**
 * The whole forward of a function of one tensor, y = f(x, p).
 *
 * @param form     how the operator is called
 * @param x        any shape, which y has, too
 * @param p        ADZI_POINTWISE_PARAMS numbers that the kernels read; NULL for none
 * @param attr     the attributes, of form->attr_size bytes, which the node copies; NULL for none
 * @param inplace  y is x itself
 * @return         y, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_call1(
    const adzi_elementwise *form, adz_tensor *x, const double *p, const void *attr, bool inplace);

/** The whole forward of a function of two tensors, which broadcast: y = f(a, b). */
adz_tensor *adzi_call2(const adzi_elementwise *form, adz_tensor *a, adz_tensor *b);

/**
 * The fused backward of a function of one tensor: dx[0] = k(dy, saved, p) by one kernel. May write
 * dx over dy. A `saved` of NULL means that reading it failed, and gives that error's status.
 */
adz_status adzi_fused1(adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *saved,
    const adzi_kernel *kernels);

/** The fused backward of a function of two tensors that saves both. The kernel reads (the input
 * whose gradient it computes, the other input, dy). */
adz_status adzi_fused2(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adzi_float_kernels kernels);

/**
 * Whether a number beside x can be a parameter of the kernel: x is a float, and nothing depends on
 * the number's being a tensor. x may be what a caller has not checked.
 */
bool adzi_takes_number(const adz_tensor *x, double number);

/** Whether a call with x would be recorded. */
static inline bool adzi_would_record(const adz_tensor *x)
{
    return adzi_requires_grad(x) && adzi_self()->grad_enabled;
}

/**
 * The whole forward of a function of a tensor and a number, which the kernels read as p[0]. Use it
 * if adzi_takes_number() is true. The node saves nothing.
 *
 * @param a, b  the operands; ADZ_NONE stands for the number
 * @param attr  the attributes of the operator, or NULL if it has none
 * @return      the result, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_call_number(const adzi_op *op, adzi_float_kernels kernels, adz_tensor *a,
    adz_tensor *b, double number, const void *attr);

/** The backward of a function that is constant between its jumps. */
adz_status adzi_backward_zeros(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** Brings both inputs to one float dtype: f32 if both are integers or bool. */
bool adzi_promote_floats(adzi_call *call);

/**
 * dy times a number, for a backward. If the rows of dy are one row in memory and the gradient gets
 * no graph, that row is multiplied once, and the result is expanded as well. Each pass of a
 * Jacobian by rows begins with such a dy.
 */
adz_tensor *adzi_scaled_gradient(adz_tensor *dy, double number);

/** Fails with ADZ_ERR_DTYPE unless input i is bool. */
bool adzi_want_mask(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE when input i is bool. `instead` tells the caller what to use. */
bool adzi_refuse_bool(adzi_call *call, int i, const char *instead);

#endif
