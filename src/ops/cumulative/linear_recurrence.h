/* A linear recurrence, on which the gradients of forget_mult and of the recurrence itself rest. */
#ifndef ADZI_OPS_CUMULATIVE_LINEAR_RECURRENCE_H
#define ADZI_OPS_CUMULATIVE_LINEAR_RECURRENCE_H

#include "ops/slices.h"
#include "ops/op.h"

/**
 * s_t = b_t + a_t s_(t-1) along dimension `dim`, the last step first when `reverse`.
 *
 * a and b have one shape, at least 1 along `dim`; s0 has it without `dim`, or is ADZ_NONE for
 * zeros. The result is shaped like b. Differentiable, to any order, in all three; saves a, s0 and
 * the result.
 */
adz_tensor *adzi_linear_recurrence(
    adz_tensor *a, adz_tensor *b, adz_tensor *s0, int dim, bool reverse);

/** The inputs of such a call: a, b and s0, or what the operator calls them. */
typedef struct adzi_recurrence_inputs {
    const char *op;
    const char *names[3];
    adz_tensor *const *in;
} adzi_recurrence_inputs;

/** Checks shapes and dtypes of the inputs. False with the error recorded. */
bool adzi_check_recurrence(const adzi_recurrence_inputs *call, int dim);

/** Fills in, out, n and inner. in[2], with one element per slice, may be ADZ_NONE. Returns the
 * number of slices. */
int64_t adzi_recurrence_slices(
    adzi_slices_args *args, adz_tensor *const *in, const adz_tensor *out, int dim);

/* How the steps look from the one after or before them. Step 1 is the last along `dim` when
 * `reverse`; both are expressions of operators. */

/** [s_0, s_1, ... s_(n-1)] of s[1 .. n] and s0 (ADZ_NONE: zeros). */
adz_tensor *adzi_step_before(adz_tensor *s, adz_tensor *s0, int dim, bool reverse);

/** [s_2, ... s_n, 0]. */
adz_tensor *adzi_step_after(adz_tensor *s, int dim, bool reverse);

/** s_1, without `dim`. */
adz_tensor *adzi_first_step(adz_tensor *s, int dim, bool reverse);

/** The recurrence s_t = b_t + a_t * s_(t-1) as operators, one step after the other. `s0` may be
 * ADZ_NONE. */
adz_tensor *adzi_unrolled_recurrence(
    adz_tensor *a, adz_tensor *b, adz_tensor *s0, int dim, bool reverse);

#endif
