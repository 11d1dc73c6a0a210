#include <math.h>

#include "ops/op.h"
#include "ops/cumulative/linear_recurrence.h"

/* Logarithms of running sums of exponentials, torch.logcumsumexp.
 *
 *     m_i = max(x_0, ..., x_i)
 *     s_i = s_(i - 1) exp(m_(i - 1) - m_i) + exp(x_i - m_i),   y_i = m_i + log(s_i)
 *
 * A composition. No factor is above 1, so nothing overflows. y does not depend on m, which
 * therefore has no gradient. */

/* exp(m_(i - 1) - m_i), and 1 for the first i. Where it is above 1, no element was above -infinity
 * before, and s is 0. */
static adz_tensor *factors(adz_tensor *m, int d, int64_t n)
{
    adz_tensor *before = adz_narrow(m, d, 0, n - 1), *own = adz_narrow(m, d, 1, n - 1);
    adz_tensor *steps = adz_exp(adz_clamp(adz_sub(before, own), -(double)INFINITY, 0));
    adz_tensor *first = adz_narrow(m, d, 0, 1);
    adz_tensor *parts[] = { first != NULL ? adz_ones_like(first) : NULL, steps };
    return parts[0] != NULL && steps != NULL ? adz_cat(parts, 2, d) : NULL;
}

/* The logarithms of the running sums, torch.logcumsumexp. */
adz_tensor *adz_logcumsumexp(adz_tensor *x, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "logcumsumexp";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (x->rank == 0) {
        return adz_reshape(adz_logcumsumexp(adz_reshape(x, ADZ_SHAPE(1)), 0), ADZ_SHAPE_SCALAR);
    }
    const int64_t n = x->sizes[d];
    if (x->numel == 0) {
        return adz_clone(x);
    }
    adz_tensor *m = adz_cummax(adz_detach(x), d, NULL);
    m = adz_where(adz_isfinite(m), m, adz_zeros_like(m));
    adz_tensor *terms = m != NULL ? adz_exp(adz_sub(x, m)) : NULL;
    adz_tensor *a = terms != NULL ? factors(m, d, n) : NULL;
    adz_tensor *s = a != NULL ? adzi_linear_recurrence(a, terms, ADZ_NONE, d, false) : NULL;
    return adz_add(m, adz_log(s));
}
