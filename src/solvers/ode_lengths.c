/* What chooses the steps of a while loop: the error of a step, and the lengths of the first step
 * and of the next one. */
#include <math.h>

#include "solvers/ode_control.h"
#include "tensor/kernel/real.h"

adz_tensor *adzi_ode_number(const adzi_ode_loop *a, double x)
{
    return adz_scalar(x, a->dtype);
}

adz_tensor *adzi_ode_wide(const adzi_ode_loop *a, adz_tensor *x)
{
    return adz_to(x, a->dtype);
}

/* A vector of numbers, which is a constant of a file. */
adz_tensor *adzi_ode_vector(const adzi_ode_loop *a, const double *x, int64_t n)
{
    if (a->dtype == ADZ_F64) {
        return adz_tensor_from(x, ADZ_SHAPE(n), ADZ_F64);
    }
    adz_tensor *memory = adzi_scratch(a->ode->e.op, ADZ_F32, 1, &n);
    if (memory == NULL) {
        return NULL;
    }
    float *rounded = (float *)(void *)memory->data;
    for (int64_t i = 0; i < n; ++i) {
        rounded[i] = (float)x[i];
    }
    return adz_tensor_from(rounded, ADZ_SHAPE(n), ADZ_F32);
}

/* ---- the error of a step --------------------------------------------------------------------- */

typedef struct power_args {
    const char *x;
    char *y;
    double exponent;
} power_args;

ADZI_ADDRESSES(power_args, x, y);

static void power_kernel(const void *block, int64_t begin, int64_t end)
{
    const power_args *args = block;
    const double *x = (const double *)(const void *)args->x;
    double *y = (double *)(void *)args->y;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = adzi_real_pow(x[i], args->exponent);
    }
}

/* x^exponent of a scalar. adz_pow_number has other bits than the host's controller. */
static adz_tensor *power(const adzi_ode_loop *a, adz_tensor *x, double exponent)
{
    if (adzi_self()->tracer != NULL) {
        return adz_pow_number(x, exponent);
    }
    adz_tensor *y = x != NULL ? adzi_scratch(a->ode->e.op, ADZ_F64, 0, NULL) : NULL;
    if (y == NULL) {
        return NULL;
    }
    const power_args args = { x->data, y->data, exponent };
    adzi_launch(power_kernel, power_args, &args, 1, 1);
    return y;
}

/* The last of the sums of a vector: the terms are added in their order. */
static adz_tensor *total(adz_tensor *x)
{
    return x != NULL ? adz_select(adz_cumsum(x, 0), 0, x->numel - 1) : NULL;
}

static adz_tensor *root_mean(const adzi_ode_loop *a, adz_tensor *sum)
{
    return adz_sqrt(adz_div(sum, adzi_ode_number(a, (double)a->ode->like->numel)));
}

/* Whether a number that is not negative is finite. */
static adz_tensor *is_finite(adz_tensor *x)
{
    return adz_lt_number(x, INFINITY);
}

double adzi_ode_least_atol(const adzi_ode_loop *a)
{
    return a->dtype == ADZ_F64 ? 0 : (double)FLT_MIN;
}

/* The elements of x as parts of atol + rtol max(|y|, |z|), as a vector; NaN where y or z is not
 * finite. */
static adz_tensor *parts_of(const adzi_ode_loop *a, adz_tensor *x, adz_tensor *y, adz_tensor *z)
{
    const adz_ode_options *o = &a->ode->o;
    adz_tensor *from = adz_abs(adzi_ode_wide(a, y));
    adz_tensor *most = y == z ? from : adz_maximum(from, adz_abs(adzi_ode_wide(a, z)));
    adz_tensor *scale = adz_mul_number(most, o->rtol);
    scale = a->atols != NULL ? adz_add(scale, a->atols)
                             : adz_add_number(scale, fmax(o->atol, adzi_ode_least_atol(a)));
    adz_tensor *part = adz_where(is_finite(most), adz_div(adzi_ode_wide(a, x), scale), a->nan);
    return adz_reshape(part, ADZ_SHAPE(-1));
}

/* The root mean square of the parts. If their squares may overflow, it is computed in two ways. */
adz_tensor *adzi_ode_size(
    const adzi_ode_loop *a, adz_tensor *x, adz_tensor *y, adz_tensor *z, bool may_overflow)
{
    if (a->ode->like->numel == 0) {
        return adzi_ode_number(a, 0);
    }
    adz_tensor *parts = parts_of(a, x, y, z), *sum = total(adz_square(parts));
    adz_tensor *size = root_mean(a, sum);
    if (!may_overflow || size == NULL) {
        return size;
    }
    adz_tensor *largest = adz_amax(adz_abs(parts), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *overflows = adz_logical_and(adz_logical_not(is_finite(sum)), is_finite(largest));
    adz_tensor *other = total(adz_square(adz_div(parts, largest)));
    return adz_where(overflows, adz_mul(largest, root_mean(a, other)), size);
}

/* ---- lengths ------------------------------------------------------------------------------- */

/* The shortest step at t. */
adz_tensor *adzi_ode_least(const adzi_ode_loop *a, adz_tensor *t)
{
    const double eps = adzi_ode_eps(a->ode->like);
    return adz_mul_number(adz_clamp(adz_abs(t), DBL_MIN / eps, INFINITY), 4 * eps);
}

/* The step that follows one of a length with an error. */
adz_tensor *adzi_ode_next_step(const adzi_ode_loop *a, adz_tensor *length, adz_tensor *error)
{
    adz_tensor *factor =
        adz_mul_number(power(a, error, -1 / adzi_ode_order(a->ode)), ADZI_ODE_SAFETY);
    factor = adz_where(adz_ge_number(factor, ADZI_ODE_SHRINK), factor,
        adzi_ode_number(a, ADZI_ODE_SHRINK)); /* NaN shrinks */
    return adz_mul(length, adz_clamp(factor, ADZI_ODE_SHRINK, ADZI_ODE_GROWTH));
}

/* The step that is tried first, with the slope f at the first time. */
adz_tensor *adzi_ode_first_step(adzi_ode_loop *a, adz_tensor *t, adz_tensor *y, adz_tensor *f)
{
    const adzi_ode *ode = a->ode;
    adz_tensor *begin = adz_select(a->times, 0, 0);
    adz_tensor *least = adz_mul_number(adzi_ode_least(a, begin), 2);
    adz_tensor *d0 = adzi_ode_size(a, y, y, y, true), *d1 = adzi_ode_size(a, f, y, y, true);
    a->state_finite = is_finite(d0);
    a->slope_finite = is_finite(d1);
    if (ode->o.first_step > 0) {
        return adz_maximum(least, adzi_ode_number(a, ode->o.first_step));
    }
    adz_tensor *tiny = adz_logical_or(adz_lt_number(d0, 1e-5), adz_lt_number(d1, 1e-5));
    adz_tensor *h = adz_where(
        tiny, adzi_ode_number(a, 1e-6), adz_div(adz_mul_number(d0, ADZI_ODE_FIRST_OF), d1));
    h = adz_minimum(adz_maximum(h, least), adz_sub(a->end, begin));
    const adzi_ode_span span = { .t = t, .begin = begin, .measure = h };
    adz_tensor *z = h != NULL ? adzi_ode_advance(&span, y, &f, (double[]){ 1 }, 1) : NULL;
    adz_tensor *g = z != NULL ? adzi_ode_slope(ode, adzi_ode_moment(&span, 1), z) : NULL;
    g = g != NULL ? adz_sub(g, f) : NULL;
    if (g == NULL) {
        return NULL;
    }
    adz_tensor *most = adz_fmax(d1, adz_div(adzi_ode_size(a, g, y, y, true), h));
    adz_tensor *flat = adz_maximum(adz_mul_number(h, 1e-3), adzi_ode_number(a, 1e-6));
    adz_tensor *share = adz_div(adzi_ode_number(a, ADZI_ODE_FIRST_OF), most);
    adz_tensor *other =
        adz_where(adz_le_number(most, 1e-15), flat, power(a, share, 1 / adzi_ode_order(ode)));
    adz_tensor *next = adz_fmin(adz_mul_number(h, 100), other);
    adz_tensor *usable = adz_logical_and(is_finite(next), adz_gt_number(next, 0));
    return adz_maximum(adz_where(usable, next, h), least);
}
