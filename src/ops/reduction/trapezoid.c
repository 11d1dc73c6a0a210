#include <math.h>

#include "ops/op.h"

/* The integral by the trapezoidal rule, torch.trapezoid.
 *
 *     result = sum over i of (y_i + y_(i + 1)) / 2 (x_(i + 1) - x_i)
 *
 * A composition. The positions x broadcast with y. Factors of 2 keep sums of two elements and
 * differences of two positions from overflowing. They are exact, so they change no other result. */

/* The distances along dimension d of y, from positions that are like y or a vector. */
static adz_tensor *distances(const adz_tensor *y, adz_tensor *x, int d)
{
    if (x->rank > 1) {
        return adz_diff(x, 1, d - (y->rank - x->rank));
    }
    adz_shape shape = { .rank = y->rank - d };
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = i == 0 && y->sizes[d] > 0 ? y->sizes[d] - 1 : i != 0;
    }
    return adz_reshape(adz_diff(x, 1, 0), shape);
}

static bool check(const adz_tensor *y, const adz_tensor *x, double dx)
{
    static const char op[] = "trapezoid";
    if (!adzi_check_tensor(op, "y", y) || (!adzi_is_none(x) && !adzi_check_tensor(op, "x", x))) {
        return false;
    }
    if (y->dtype != ADZ_F32 && y->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE, "y%s is %s, but must be f32 or f64; convert it with adz_to",
            adzi_text_shape(y), adz_dtype_name((adz_dtype)y->dtype));
        return false;
    }
    if (y->rank == 0) {
        adzi_error(op, ADZ_ERR_SHAPE, "y is a scalar, which has no dimension to integrate over");
        return false;
    }
    if (!adzi_is_none(x) && dx != 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "dx is %g, but must be 1 if x is given; x says how far positions are apart", dx);
        return false;
    }
    return true;
}

/* The positions are x, or multiples of dx where x is ADZ_NONE. */
adz_tensor *adz_trapezoid(adz_tensor *y, adz_tensor *x, double dx, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "trapezoid";
    if (!check(y, x, dx)) {
        return NULL;
    }
    const int d = adzi_dim(op, y, dim);
    if (d < 0) {
        return NULL;
    }
    const int64_t n = y->sizes[d], m = n > 0 ? n - 1 : 0;
    /* dx is factor 2^power. */
    int power = 0;
    const double factor = isfinite(dx) ? frexp(dx, &power) : dx;
    adz_tensor *scaled = adz_mul_number(y, adzi_is_none(x) ? ldexp(0.5, power) : 0.5);
    adz_tensor *sums = adz_add(adz_narrow(scaled, d, 0, m), adz_narrow(scaled, d, n - m, m));
    if (adzi_is_none(x)) {
        return adz_mul_number(adz_sum(sums, ADZ_DIMS(d), ADZ_DROPDIM), factor);
    }
    const int along = d - (y->rank - x->rank);
    if (x->rank == 0 || x->rank > y->rank ||
        (x->rank == 1 ? x->sizes[0] != n : along < 0 || x->sizes[along] != n)) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "x%s must be a vector of %lld positions along dimension %d of y%s, or like y",
            adzi_text_shape(x), (long long)n, d, adzi_text_shape(y));
    }
    const bool halved = adzi_is_float((adz_dtype)x->dtype);
    adz_tensor *at = halved ? adz_mul_number(x, 0.5) : x;
    adz_tensor *parts = at != NULL ? adz_mul(sums, distances(y, at, d)) : NULL;
    return adz_mul_number(adz_sum(parts, ADZ_DIMS(d), ADZ_DROPDIM), halved ? 2 : 1);
}
