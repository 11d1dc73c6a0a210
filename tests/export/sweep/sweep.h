/* The sweep over exported operators: every operator of tests/ops, as functions that an exporter
 * writes. tests/export/c99/sweep.c compares what it writes as C with the library.
 *
 * A case is one call of an operator: a sample of its op_case, a dtype, a layout, and which of the
 * tensors are inputs of the function. Cases are derived from the samples and from what the library
 * accepts, so a new operator is swept without being named here. */
#ifndef ADZE_TESTS_EXPORT_SWEEP_H
#define ADZE_TESTS_EXPORT_SWEEP_H

#include "ops/sweep.h"

/** Which tensors of a call are inputs of the exported function. */
typedef enum sweep_role {
    SWEEP_INPUTS, /* all of them */
    SWEEP_VIEWED, /* one; the others are buffers of a module, which the function makes views of */
    SWEEP_CONSTANTS, /* one; the others are views that were made before the function */
    SWEEP_ROLES
} sweep_role;

/** What a kind of file holds. */
typedef struct sweep_limits {
    bool i64_is_i32; /* int64 is stored with 32 bits: contents of inputs fit */
} sweep_limits;

typedef struct sweep_case {
    const op_case *op;
    size_t sample;
    adz_dtype dtype; /* of the tensors whose dtype the sample leaves open */
    int only;        /* the one input that has this dtype while the others are f32; -1 for all */
    case_layout layout;
    sweep_role role;
    int result;       /* the result of the operator that the function returns */
    bool elementwise; /* the operator computes each element by itself */
    bool products;    /* the operator adds products up */
    sweep_limits limits;

    case_input specs[CASE_INPUTS];
    built b;
    adz_tensor *fixed[CASE_INPUTS]; /* SWEEP_CONSTANTS: the arguments that are no inputs */
    adz_tensor *inputs[CASE_INPUTS];
    int positions[CASE_INPUTS]; /* of the inputs among the arguments */
    size_t n_inputs;
    adz_module *module; /* SWEEP_VIEWED: owns the buffers; else NULL */
} sweep_case;

/** The exported function; `user` is the case. The result is borrowed from the scope. */
adz_tensor *sweep_call(void *user);

/**
 * Visits the cases of an operator that the library accepts, always in the same order. Nothing is
 * recorded for gradients.
 *
 * @param visit  gets the case with drawn contents; it may change the contents, and leaves no error
 * @return       the number of cases
 */
size_t sweep_cases(
    const op_case *op, sweep_limits limits, void (*visit)(sweep_case *c, void *user), void *user);

/** The number of different contents of a case's inputs. */
int sweep_n_contents(const sweep_case *c);

/** Gives the inputs contents number k. The first ones are drawn. In others, special values of the
 * dtypes are mixed with drawn ones, or fill the inputs: zeros of both signs, subnormals,
 * infinities, NaN, the largest and smallest integers, and for elementwise operators the largest
 * floats. Indices are always drawn. */
void sweep_fill(sweep_case *c, int k);

/** True if the contents number k are drawn alone. */
bool sweep_is_drawn(int k);

/** The library's result for the present contents, contiguous and borrowed from the scope. NULL,
 * with the error cleared, if the library refuses them, such as an index that is out of range. */
adz_tensor *sweep_expected(sweep_case *c);

/** Fills argument i, which is no input of the function, with special values. */
void sweep_fill_special(sweep_case *c, int i);

/**
 * Compares a result with the library's. Integers and bools are equal. NaN is equal to NaN,
 * infinities have equal signs, and so do zeros, unless the operator adds products up
 * or is batch norm. Other numbers
 * may differ by a share of the library's number and by a share of the largest number below 1e6
 * among inputs and results:
 *
 *                                              f32            f64
 *     the operator is elementwise              2e-6, 0        1e-13, 0
 *     it is not                                1e-5, 1e-6     1e-12, 1e-13
 *
 * Twice the error that the library's f32 has against its f64 comes on top. Subnormal numbers of
 * elementwise operators may differ by the smallest normal one, and numbers of other operators by
 * 1e-36 (1e-306).
 *
 * @param says  filled with the first difference
 */
bool sweep_agrees(sweep_case *c, adz_tensor *expected, adz_tensor *got, char *says, size_t size);

/** True if an exporter's refusal names an operator, and a dtype too. The dtype may be missing if
 * the same call of f32 is refused as well, as a call that draws random numbers is. */
bool sweep_refusal_is_right(const sweep_case *c, const char *message, bool f32_is_refused);

/** True if the library's result differs for some contents of the inputs. If it does not, an
 * exporter may refuse the function, which it would write as a constant. */
bool sweep_depends(sweep_case *c);

/** Writes "sort, sample 2, int32, sliced, inputs, result 1". */
void sweep_describe(const sweep_case *c, char *to, size_t size);

#endif
