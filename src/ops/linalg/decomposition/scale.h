/* Powers of two that keep backwards within the range of their dtype. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_SCALE_H
#define ADZI_OPS_LINALG_DECOMPOSITION_SCALE_H

#include "ops/op.h"

/* Note [Scaled backwards]
 * A gradient is linear in the upstream gradients, and homogeneous in the factors of a matrix. So a
 * power of two may be taken from each and given to the result, which changes no bit unless a number
 * leaves the range of the dtype. Without it, products such as a^-1 dy a^-1 overflow or vanish on
 * the way, although the gradient itself fits. The powers are constants of the expression, because
 * no derivative depends on them. */

/**
 * The exponents of the largest absolute elements of matrices, without a gradient.
 *
 * @param n      parts
 * @param parts  matrices [..., r, c] with the same leading sizes; NULL for one that is absent
 * @param more   more[i] is added to the exponent of parts[i]; NULL for 0
 * @return       e[..., 1, 1], the largest exponent of all parts of an item: every element is below
 *               2^(e + 2) / 2^more, because a logarithm may be rounded; or NULL
 */
adz_tensor *adzi_common_exponent(int n, adz_tensor *const *parts, adz_tensor *const *more);

/** The exponents of one tensor of matrices. */
static inline adz_tensor *adzi_exponent(adz_tensor *x)
{
    return adzi_common_exponent(1, &x, &(adz_tensor *){ NULL });
}

/** An expression: x 2^e for whole numbers e that broadcast with x. Exponents beyond twice those of
 * the dtype count as such. */
adz_tensor *adzi_ldexp(adz_tensor *x, adz_tensor *e);

/** An expression: x 2^-e. */
static inline adz_tensor *adzi_unscale(adz_tensor *x, adz_tensor *e)
{
    return adzi_ldexp(x, adz_neg(e));
}

#endif
