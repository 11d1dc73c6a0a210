/* Forward derivatives that go through the graph of one step at a time: by times, of hits of events,
 * and by the method for stiff equations that has Jacobians in its steps. */
#include "solvers/equations/solvers.h"
#include "temporary.h"

typedef struct problem {
    adz_ode_options o;
    size_t n_events; /* 0: adz_odeint_many */
} problem;

/* A damped pendulum, y = (angle, speed), which is driven; the argument is the damping. */
static int pendulum(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *angle = adz_narrow(in[1], 0, 0, 1), *speed = adz_narrow(in[1], 0, 1, 1);
    adz_tensor *pull = adz_sub(adz_mul_number(adz_sin(angle), -9.81), adz_mul(in[2], speed));
    out[0] = adz_cat((adz_tensor *[]){ speed, adz_add(pull, adz_sin(in[0])) }, 2, 0);
    return out[0] != NULL;
}

/* angle - damping - t / 10, and the speed */
static int level(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *at = adz_add(adz_mul_number(in[0], 0.1), in[2]);
    out[0] = adz_sub(adz_narrow(in[1], 0, 0, 1), at);
    return out[0] != NULL;
}

static int speed_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_select(in[1], 0, 1);
    return out[0] != NULL;
}

static const adz_ode_event events[] = { { { level, NULL }, 0, 3 }, { { speed_of, NULL }, 1, 0 } };

static int solution(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const adz_tensor_function f = { pendulum, NULL };
    problem *p = user;
    (void)n;
    if (p->n_events == 0) {
        out[0] = adz_odeint_many(&f, in[0], in[1], in + 2, 1, &p->o, NULL);
        return out[0] != NULL;
    }
    return adz_odeint_events(
               &f, in[0], in[1], in + 2, 1, events, p->n_events, &p->o, out, NULL, NULL) == ADZ_OK
               ? 1 + 2 * (int)p->n_events
               : 0;
}

static problem problem_of(adz_ode_method method, size_t n_events)
{
    problem p = { ADZ_ODE_OPTIONS, n_events };
    p.o.method = method;
    p.o.rtol = p.o.atol = 1e-6;
    p.o.steps = method == ADZ_ODE_RK4 ? 20 : 0;
    return p;
}

/* y0, times and the damping. */
static void given(adz_tensor **in, bool back)
{
    const double times[] = { 0.1, back ? -0.6 : 0.9, back ? -1 : 1.4, back ? -3 : 3 };
    in[0] = pair(1, -0.5, ADZ_F64);
    in[1] = adz_tensor_from(times, ADZ_SHAPE(4), ADZ_F64);
    in[2] = adz_full(ADZ_SHAPE(1), 0.2, ADZ_F64);
}

/* The Jacobians of all results by all inputs in both modes, and a product. */
static void expect_both_modes(problem *p, adz_tensor **in)
{
    const adz_tensor_function f = { solution, p };
    const size_t n = 1 + 2 * p->n_events;
    /* Formulas of ADZ_ODE_BDF are solved up to a part of the tolerance, or to rounding errors. */
    const double bound = p->o.method == ADZ_ODE_BDF ? p->o.rtol : 1e-10;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *ahead[15], *back[15], *product[5], *along[5], *v[3];
    o.mode = ADZ_JACOBIAN_FORWARD;
    assert_int_equal(adz_jacobian_many(&f, in, 3, n, &o, ahead), ADZ_OK);
    o.mode = ADZ_JACOBIAN_REVERSE;
    assert_int_equal(adz_jacobian_many(&f, in, 3, n, &o, back), ADZ_OK);
    for (size_t i = 0; i < 3 * n; ++i) {
        const double size = adz_item(adz_max(adz_abs(back[i])));
        assert_true(apart(ahead[i], back[i]) <= bound * (1 + size));
    }
    for (int i = 0; i < 3; ++i) {
        v[i] = adz_randn(adz_tensor_shape(in[i]), ADZ_F64);
    }
    o = (adz_functional_options)ADZ_FUNCTIONAL_OPTIONS;
    assert_int_equal(adz_jvp_many(&f, in, 3, v, n, NULL, product), ADZ_OK);
    o.create_graph = true; /* through the graph of all steps */
    assert_int_equal(adz_jvp_many(&f, in, 3, v, n, &o, along), ADZ_OK);
    for (size_t i = 0; i < n; ++i) {
        const double size = adz_item(adz_max(adz_abs(along[i])));
        assert_true(size > 0);
        assert_true(apart(product[i], along[i]) <= 1e-6 * size);
    }
}

static void both_modes_agree_by_times(void **state)
{
    (void)state;
    const adz_ode_method methods[] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_RK4, ADZ_ODE_RODAS4,
        ADZ_ODE_BDF };
    for (int m = 0; m < 8; ++m) {
        problem p = problem_of(methods[m / 2], 0);
        adz_tensor *in[3];
        given(in, m % 2 == 1);
        expect_both_modes(&p, in);
    }
}

static void both_modes_agree_on_hits(void **state)
{
    (void)state;
    const adz_ode_method methods[] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_RODAS4, ADZ_ODE_BDF,
        ADZ_ODE_RK4 };
    for (int m = 0; m < 8; ++m) {
        problem p = problem_of(methods[m / 2], 2);
        adz_tensor *in[3];
        given(in, m % 2 == 1);
        expect_both_modes(&p, in);
    }
}

/* Only the times of the hits of one event are differentiated, by the damping alone. */
static int first_hits(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    adz_tensor *given_inputs[3], *found[5];
    (void)n;
    given(given_inputs, false);
    given_inputs[2] = in[0];
    out[0] = solution(given_inputs, 3, found, user) == 5 ? found[1] : NULL;
    return out[0] != NULL;
}

static void parts_have_derivatives(void **state)
{
    (void)state;
    problem p = problem_of(ADZ_ODE_DORMAND_PRINCE, 2);
    const adz_tensor_function f = { first_hits, &p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *in = adz_full(ADZ_SHAPE(1), 0.2, ADZ_F64), *modes[2];
    for (int i = 0; i < 2; ++i) {
        o.mode = i == 0 ? ADZ_JACOBIAN_FORWARD : ADZ_JACOBIAN_REVERSE;
        assert_int_equal(adz_jacobian_many(&f, &in, 1, 1, &o, &modes[i]), ADZ_OK);
    }
    assert_int_equal(adz_tensor_size(modes[0], 0), 3);
    assert_true(apart(modes[0], modes[1]) < 1e-11);
}

/* Memory is that of the graph of one step, whatever the number of steps. */
static void memory_does_not_grow_with_steps(void **state)
{
    (void)state;
    size_t most[2];
    for (int i = 0; i < 2; ++i) {
        problem p = problem_of(ADZ_ODE_RODAS4, 0);
        const adz_tensor_function f = { solution, &p };
        adz_tensor *in[3], *found[3];
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        o.mode = ADZ_JACOBIAN_FORWARD;
        given(in, false);
        p.o.max_step = i == 0 ? 0.1 : 0.01;
        p.o.checkpoints = 2;
        adz_reset_peak_memory();
        adz_memory_info before, after;
        adz_get_memory_info(&before, sizeof before);
        assert_int_equal(adz_jacobian_many(&f, in, 3, 1, &o, found), ADZ_OK);
        adz_get_memory_info(&after, sizeof after);
        most[i] = after.peak_bytes - before.live_bytes;
    }
    assert_true(most[1] < most[0] + most[0] / 4);
}

static adz_status differentiate(void *user)
{
    problem p = problem_of(ADZ_ODE_RODAS4, 2);
    const adz_tensor_function f = { solution, &p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_scope *scope = adz_scope_open();
    adz_tensor *found[15];
    o.mode = ADZ_JACOBIAN_FORWARD;
    p.o.rtol = p.o.atol = 0.3;
    const adz_status status = adz_jacobian_many(&f, user, 3, 5, &o, found);
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in, false);
    in[1] = pair(0.1, 0.5, ADZ_F64);
    assert_int_equal(differentiate(in), ADZ_OK);
    assert_true(refuse_each(differentiate, NULL, in) >= 10);
    assert_true(adz_is_grad_enabled());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest forward_hits[N_FORWARD_HITS] = {
    TEST(both_modes_agree_by_times),
    TEST(both_modes_agree_on_hits),
    TEST(parts_have_derivatives),
    TEST(memory_does_not_grow_with_steps),
    TEST(refused_memory_harms_nothing),
};
