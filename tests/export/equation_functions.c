/* Differential equations and roots, which exports write as loops. */
#include "loop_functions.h"

static adz_tensor *flat(adz_tensor *x)
{
    return adz_reshape(x, ADZ_SHAPE(-1));
}

/* ---- differential equations ------------------------------------------------------------------ */

static adz_tensor *slope(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)user;
    return adz_sub(adz_mul(adz_tanh(y), adz_cos(t)), adz_mul_number(y, 0.5));
}

/* As many steps between two times as x has rows. */
static adz_tensor *solution(adz_ode_method method, adz_tensor *x, int64_t n_times)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = method;
    o.steps = adz_tensor_size(x, 0);
    adz_tensor *times = adz_linspace(0, 1, n_times, adz_tensor_dtype(x));
    adz_tensor *y0 = adz_mean(x, ADZ_DIMS(0), ADZ_DROPDIM);
    return adz_odeint(slope, NULL, y0, times, &o, NULL);
}

adz_tensor *loop_runge_kutta(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_tensor *y = solution(ADZ_ODE_RK4, in[0], 2);
    return y != NULL ? flat(y) : NULL;
}

adz_tensor *loop_dormand_prince(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_tensor *y = solution(ADZ_ODE_DORMAND_PRINCE, in[0], 4);
    return y != NULL ? flat(y) : NULL;
}

/* Steps with error control: a loop with a condition, in a scan over the times. */
static adz_tensor *adaptive(adz_tensor *x, int64_t n_times)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    const adz_dtype dtype = adz_tensor_dtype(x);
    o.rtol = dtype == ADZ_F64 ? 1e-6 : 1e-4;
    o.atol = 1e-5;
    o.first_step = 0.125;
    adz_tensor *y0 = adz_mean(x, ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *y = adz_odeint(slope, NULL, y0, adz_linspace(0, -1, n_times, dtype), &o, NULL);
    return y != NULL ? flat(y) : NULL;
}

adz_tensor *loop_error_control(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adaptive(in[0], 2);
}

adz_tensor *loop_error_control_between(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adaptive(in[0], 7);
}

static adz_tensor *pulled(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    return adz_mul_number(adz_sub(user, y), 1e12);
}

/* Begins at 0 with a slope whose square, as a part of the tolerance, is no float. */
adz_tensor *loop_error_control_of_short_times(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    const adz_dtype dtype = adz_tensor_dtype(in[0]);
    o.rtol = dtype == ADZ_F64 ? 1e-6 : 1e-4;
    adz_tensor *x = adz_add_number(adz_mean(in[0], ADZ_DIMS(0), ADZ_DROPDIM), 2);
    adz_tensor *times = adz_linspace(0, 1e-12, 3, dtype);
    adz_tensor *y = adz_odeint(pulled, x, adz_mul_number(x, 0), times, &o, NULL);
    return y != NULL ? flat(adz_add(y, x)) : NULL;
}

/* Stays at 0, with a tolerance that is no float. */
adz_tensor *loop_error_control_at_zero(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = 1e-4;
    o.atol = 1e-60;
    adz_tensor *x = adz_mean(in[0], ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *times = adz_linspace(0, 1, 2, adz_tensor_dtype(x));
    adz_tensor *y = adz_odeint(slope, NULL, adz_mul_number(x, 0), times, &o, NULL);
    return y != NULL ? flat(adz_add(y, x)) : NULL;
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* Kepler's equation: e - c sin(e) = m. */
static adz_tensor *anomaly_left(adz_tensor *e, void *anomalies)
{
    return adz_sub(adz_sub(e, adz_mul_number(adz_sin(e), 0.875)), anomalies);
}

adz_tensor *loop_root_of_rows(adz_module *none, adz_tensor **in)
{
    (void)none;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    o.tolerance = adz_tensor_dtype(in[0]) == ADZ_F64 ? 1e-13 : 1e-6;
    adz_tensor *m = adz_reshape(adz_sum(in[0], ADZ_DIMS(0), ADZ_DROPDIM), ADZ_SHAPE(LOOP_WIDTH, 1));
    adz_tensor *x = adz_root(anomaly_left, m, adz_zeros_like(m), &o, NULL);
    return x != NULL ? flat(x) : NULL;
}
