/* A linear recurrence, on which the gradients of forget_mult and of the recurrence itself rest. */
#ifndef ADZI_OPS_CUMULATIVE_LINEAR_RECURRENCE_H
#define ADZI_OPS_CUMULATIVE_LINEAR_RECURRENCE_H

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

/** Checks a, b and s0 of such a call, the inputs of `call`, whose names are given. */
bool adzi_check_recurrence(const adzi_call *call, const char *const *names, int dim);

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
