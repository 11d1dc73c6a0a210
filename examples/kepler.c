/* Determines the orbit of a body from noisy observations of its position. The position at a time
 * comes from Kepler's equation, which adz_root solves for all times at once, with gradients. The
 * orbit is then followed by Newton's law with adz_odeint, to its next pericentre. */
#include <math.h>
#include <stdio.h>

#include <adze/adze.h>

#include "shared/about.h"

enum { OBSERVATIONS = 12, ELEMENTS = 4 };
/* Semi-major axis, eccentricity, direction of the pericentre, and mean anomaly at t = 0. The unit
 * of time makes the gravitational parameter 1. */
static const double truth[ELEMENTS] = { 1.3, 0.4, 0.7, 0.3 };
static const double guess[ELEMENTS] = { 1.0, 0.1, 0.5, 0.5 };

/* Kepler's equation E - e sin(E) - M = 0. The arguments are E[N, 1], e[1] and M[N, 1]. */
static int kepler(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub(adz_sub(in[0], adz_mul(in[1], adz_sin(in[0]))), in[2]);
    return out[0] != NULL;
}

/* Positions [N, 2] of an orbit's elements at times[N, 1]. */
static adz_tensor *positions(adz_tensor *elements, void *times)
{
    adz_tensor *a = adz_narrow(elements, 0, 0, 1), *e = adz_narrow(elements, 0, 1, 1);
    adz_tensor *turn = adz_narrow(elements, 0, 2, 1), *start = adz_narrow(elements, 0, 3, 1);
    adz_tensor *mean = adz_add(adz_mul(times, adz_pow_number(a, -1.5)), start);
    const adz_tensor_function f = { kepler, NULL };
    adz_tensor *arguments[] = { e, mean };
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    adz_tensor *anomaly = adz_root_many(&f, mean, arguments, 2, &o, NULL);
    adz_tensor *minor = adz_sqrt(adz_number_sub(1, adz_square(e)));
    adz_tensor *x = adz_mul(a, adz_sub(adz_cos(anomaly), e));
    adz_tensor *y = adz_mul(adz_mul(a, minor), adz_sin(anomaly));
    adz_tensor *c = adz_cos(turn), *s = adz_sin(turn);
    adz_tensor *both[] = { adz_sub(adz_mul(c, x), adz_mul(s, y)),
        adz_add(adz_mul(s, x), adz_mul(c, y)) };
    return adz_cat(both, 2, 1);
}

/* Gauss and Newton's method: each step solves the linearised least squares problem. */
static void fit(adz_tensor *elements, adz_tensor *times, adz_tensor *observed)
{
    for (int step = 0; step < 8; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *predicted;
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        o.results = &predicted;
        adz_tensor *j = adz_jacobian(positions, times, elements, &o); /* [N, 2, ELEMENTS] */
        adz_tensor *rest = adz_sub(observed, predicted);
        adz_tensor *change = adz_lstsq(adz_reshape(j, ADZ_SHAPE(2 * OBSERVATIONS, ELEMENTS)),
            adz_reshape(rest, ADZ_SHAPE(2 * OBSERVATIONS, 1)));
        adz_add_(elements, adz_reshape(change, ADZ_SHAPE(ELEMENTS)));
        printf("step %d  residual %.5f\n", step, adz_item(adz_norm(rest, 2, ADZ_ALL_DIMS, false)));
        adz_scope_close(scope);
    }
}

/* Newton's law for the state (x, y, vx, vy). */
static int gravity(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *r = adz_narrow(in[1], 0, 0, 2), *v = adz_narrow(in[1], 0, 2, 2);
    adz_tensor *square = adz_sum(adz_square(r), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *parts[] = { v, adz_neg(adz_mul(r, adz_pow_number(square, -1.5))) };
    out[0] = adz_cat(parts, 2, 0);
    return out[0] != NULL;
}

/* The product of position and velocity is 0 at the pericentre and at the apocentre. */
static int turning(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *r = adz_narrow(in[1], 0, 0, 2), *v = adz_narrow(in[1], 0, 2, 2);
    out[0] = adz_sum(adz_mul(r, v), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return out[0] != NULL;
}

/* The time from an apocentre to the next pericentre, which is half a period. */
static double half_period(adz_tensor *elements)
{
    const adz_tensor_function law = { gravity, NULL }, event = { turning, NULL };
    const double a = adz_tensor_at(elements, (int64_t[]){ 0 });
    const double e = adz_tensor_at(elements, (int64_t[]){ 1 });
    const double far[] = { -a * (1 + e), 0, 0, -sqrt((1 - e) / (a * (1 + e))) };
    adz_tensor *found[2], *state = adz_tensor_from(far, ADZ_SHAPE(4), ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = o.atol = 1e-10;
    adz_odeint_event(
        &law, state, adz_linspace(0, 100, 2, ADZ_F64), NULL, 0, &event, &o, found, NULL);
    return adz_item(found[0]);
}

static const char help[] =
    "Determines the orbit of a body from noisy observations of its position.\n"
    "\n"
    "usage: kepler\n";

int main(int argc, char **argv)
{
    begin_program("kepler", argc, argv, 0, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(5);
    adz_tensor *times =
        adz_reshape(adz_linspace(0, 6, OBSERVATIONS, ADZ_F64), ADZ_SHAPE(OBSERVATIONS, 1));
    adz_tensor *exact = positions(adz_tensor_from(truth, ADZ_SHAPE(ELEMENTS), ADZ_F64), times);
    adz_tensor *errors = adz_mul_number(adz_randn(ADZ_SHAPE(OBSERVATIONS, 2), ADZ_F64), 0.002);
    adz_tensor *elements = adz_tensor_from(guess, ADZ_SHAPE(ELEMENTS), ADZ_F64);
    fit(elements, times, adz_add(exact, errors));

    static const char *const names[] = { "axis", "eccentricity", "pericentre", "anomaly" };
    double worst = 0;
    for (int i = 0; i < ELEMENTS; ++i) {
        const double found = adz_tensor_at(elements, (int64_t[]){ i });
        printf("%-12s %.4f, in truth %.4f\n", names[i], found, truth[i]);
        worst = fmax(worst, fabs(found - truth[i]));
    }
    const double a = adz_tensor_at(elements, (int64_t[]){ 0 });
    const double half = half_period(elements), law = acos(-1) * pow(a, 1.5);
    printf("half a period %.6f by Newton's law, %.6f by Kepler's\n", half, law);
    return worst < 0.02 && fabs(half - law) < 1e-6 ? 0 : 1;
}
