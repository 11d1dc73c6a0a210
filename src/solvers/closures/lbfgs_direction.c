/* The direction of L-BFGS, and the units in which it is computed. */
#include <float.h>
#include <math.h>

#include "adze/ops.h"
#include "adze/scope.h"
#include "base/error.h"
#include "solvers/closures/lbfgs.h"

double adzi_lbfgs_dot(adz_tensor *a, adz_tensor *b)
{
    double value = NAN;
    ADZ_SCOPE
    {
        adz_tensor *sum = adz_sum(adz_mul(a, b), ADZ_ALL_DIMS, ADZ_DROPDIM);
        value = sum != NULL ? adz_item(sum) : NAN;
    }
    return value;
}

double adzi_lbfgs_largest(adz_tensor *x)
{
    double value = NAN;
    ADZ_SCOPE
    {
        adz_tensor *largest = adz_amax(adz_abs(x), ADZ_ALL_DIMS, ADZ_DROPDIM);
        value = largest != NULL ? adz_item(largest) : NAN;
    }
    return value;
}

double adzi_lbfgs_rounding(adz_dtype dtype)
{
    return dtype == ADZ_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

double adzi_lbfgs_unit(adz_dtype dtype, double loss, double largest)
{
    const int usual = dtype == ADZ_F32 ? 30 : 100, least = dtype == ADZ_F32 ? -126 : -1000;
    int exponent = 0;
    /* The loss stays finite in the unit, however small the gradient is. */
    frexp(fmax(largest, ldexp(fabs(loss), -200)), &exponent);
    const bool is_usual = exponent > -usual && exponent < usual;
    return largest == 0 || is_usual ? 1 : ldexp(1, exponent < least ? least : exponent - 1);
}

adz_tensor *adzi_lbfgs_times(adz_tensor *x, adz_tensor *scale)
{
    return scale != NULL ? adz_mul(x, scale) : x;
}

adz_tensor *adzi_lbfgs_over(adz_tensor *x, adz_tensor *scale)
{
    return scale != NULL ? adz_div(x, scale) : x;
}

/* -H g, where H approximates the inverse Hessian from the pairs: the two-loop recursion. The
 * factors of the first loop are kept in `factors`. */
static adz_tensor *two_loops(
    const adzi_lbfgs_memory *m, adz_tensor *g, adz_tensor *scale, double *factors)
{
    adz_tensor *q = adz_neg(g);
    for (size_t i = m->n; i-- > 0 && q != NULL;) {
        const adzi_lbfgs_pair *p = &m->pairs[i];
        factors[i] = adzi_lbfgs_dot(p->s, q) * p->ro;
        q = adz_add_scaled_(q, p->y, -factors[i]);
    }
    q = q != NULL ? adz_mul_number_(q, m->h_diag) : NULL;
    q = adzi_lbfgs_times(adzi_lbfgs_times(q, scale), scale);
    for (size_t i = 0; i < m->n && q != NULL; ++i) {
        const adzi_lbfgs_pair *p = &m->pairs[i];
        q = adz_add_scaled_(q, p->s, factors[i] - adzi_lbfgs_dot(p->y, q) * p->ro);
    }
    return q;
}

/* Remembers the last move if the loss curves upwards along it by more than rounding errors. */
static bool learn(const adzi_search_run *run, adzi_lbfgs_memory *m, adz_tensor *scale, size_t most)
{
    adz_tensor *y = adz_sub(m->g, m->prev_grad), *s = adz_mul_number(m->d, m->t);
    adz_tensor *change = adzi_lbfgs_times(y, scale), *move = adzi_lbfgs_over(s, scale);
    const double ys = adzi_lbfgs_dot(y, s), yy = adzi_lbfgs_dot(change, change);
    const double least =
        adzi_lbfgs_rounding(run->dtype) * sqrt(yy) * sqrt(adzi_lbfgs_dot(move, move));
    adzi_lbfgs_forget(m, most);
    if (!(ys > least && yy > 0)) {
        return adzi_pending() == ADZ_OK;
    }
    m->h_diag = ys / yy;
    return adzi_lbfgs_remember(run->op, m, (adzi_lbfgs_pair){ y, s, 1 / ys }, most);
}

bool adzi_lbfgs_turn(
    const adzi_search_run *run, adzi_lbfgs_memory *m, adz_tensor *scale, size_t most)
{
    if (m->n_iter == 1) {
        adz_tensor *d = adz_neg(m->g);
        d = adzi_lbfgs_times(adzi_lbfgs_times(d, scale), scale);
        m->h_diag = 1;
        if (d != NULL) {
            adzi_lbfgs_keep(&m->d, d);
        }
        return d != NULL;
    }
    if (!learn(run, m, scale, most)) {
        return false;
    }
    double *factors = adzi_alloc((m->n + 1) * sizeof *factors);
    if (factors == NULL) {
        adzi_fail_memory(run->op, (m->n + 1) * sizeof *factors);
        return false;
    }
    adz_tensor *d = adzi_pending() == ADZ_OK ? two_loops(m, m->g, scale, factors) : NULL;
    adzi_free(factors, (m->n + 1) * sizeof *factors);
    if (d != NULL) {
        adzi_lbfgs_keep(&m->d, d);
    }
    return d != NULL;
}
