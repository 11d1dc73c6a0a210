/* What the expressions of the library's optimizers share. */
#ifndef ADZI_OPTIM_EXPRESSIONS_H
#define ADZI_OPTIM_EXPRESSIONS_H

#include "adze/ops/arithmetic.h"
#include "optim/optimizer.h"

/** g = sign dw + decay w. `maximizes` is true if sign is -1. `decay` is a scalar, or NULL for
 * none. */
static inline adz_tensor *adzi_decayed_gradient(
    const adz_update *u, bool maximizes, adz_tensor *decay)
{
    adz_tensor *g = maximizes ? adz_neg(u->gradient) : u->gradient;
    return decay != NULL ? adz_add(g, adz_mul(decay, u->parameter)) : g;
}

/** part old + fresh x, for scalars part and fresh. */
static inline adz_tensor *adzi_averaged(
    adz_tensor *part, adz_tensor *old, adz_tensor *fresh, adz_tensor *x)
{
    return adz_add(adz_mul(part, old), adz_mul(fresh, x));
}

#endif
