/* Graphs of steps that are kept for the backward: Note [Kept graphs] in ode_graph.c. */
#include <string.h>

#include "solvers/equations/solvers.h"

/* A function with two arguments, which also uses a leaf and counts its calls. */
typedef struct {
    adz_tensor *weight;
    int calls;
} counted;

static int slope(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    counted *c = user;
    (void)n;
    ++c->calls;
    adz_tensor *y = adz_tanh(adz_matmul(in[1], c->weight));
    out[0] = adz_add(adz_mul(in[2], y), adz_mul(in[3], adz_sin(in[0])));
    return out[0] != NULL;
}

enum { Y0, A, B, WEIGHT, LEAVES, TIMES = 7 };

typedef struct {
    adz_tensor *leaves[LEAVES];
    counted c;
    adz_ode_options o;
} problem;

static problem new_problem(adz_dtype dtype)
{
    problem p = { .o = ADZ_ODE_OPTIONS };
    for (int i = 0; i < LEAVES; ++i) {
        const int64_t rows = i == WEIGHT ? 3 : i == Y0 ? 4 : 1;
        p.leaves[i] = adz_requires_grad_(adz_randn(ADZ_SHAPE(rows, 3), dtype), true);
    }
    p.c.weight = p.leaves[WEIGHT];
    return p;
}

static adz_tensor *solve(problem *p)
{
    const adz_tensor_function f = { slope, &p->c };
    adz_dtype dtype = adz_tensor_dtype(p->leaves[Y0]);
    adz_tensor *times = adz_linspace(0, 1.5, TIMES, dtype);
    adz_tensor *y = adz_odeint_many(&f, p->leaves[Y0], times, p->leaves + A, 2, &p->o, NULL);
    assert_non_null(y);
    return y;
}

/* The sum over all elements, each with another weight. */
static adz_tensor *loss_of(adz_tensor *y)
{
    adz_tensor *w =
        adz_reshape(adz_linspace(1, 2, TIMES * 12, adz_tensor_dtype(y)), ADZ_SHAPE(TIMES, 4, 3));
    return adz_sum(adz_mul(y, w), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static void gradients_of(adz_tensor *loss, problem *p, bool retain, adz_tensor **gradients)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = retain;
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, p->leaves, LEAVES, &o, gradients), ADZ_OK);
}

static void expect_equal(adz_tensor *const *a, adz_tensor *const *b, double tolerance)
{
    for (int i = 0; i < LEAVES; ++i) {
        assert_true(apart(a[i], b[i]) <= tolerance);
    }
}

/* The solution and its gradients do not depend on whether the graph is kept, given up on the way,
 * or never begun. */
static void gradients_are_those_of_the_steps(problem *p, double tolerance)
{
    adz_tensor *y, *without, *expected[LEAVES], *found[LEAVES];
    int kept = 0, given_up = 0;
    ADZ_NO_GRAD
    {
        without = solve(p);
    }
    p->o.graph_bytes = 0;
    gradients_of(loss_of(solve(p)), p, false, expected);
    for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 2) {
        p->o.graph_bytes = bytes;
        y = solve(p);
        assert_true(adz_equal(y, without));
        p->c.calls = 0;
        gradients_of(loss_of(y), p, false, found);
        expect_equal(found, expected, tolerance);
        ++*(p->c.calls == 0 ? &kept : &given_up);
    }
    assert_true(kept > 0 && given_up > 0);
}

static void a_kept_graph_changes_no_result(void **state)
{
    (void)state;
    for (adz_dtype dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        problem p = new_problem(dtype);
        const double tolerance = dtype == ADZ_F64 ? 1e-11 : 1e-3;
        gradients_are_those_of_the_steps(&p, tolerance);
        p.o.steps = 3;
        gradients_are_those_of_the_steps(&p, tolerance);
        p.o.method = ADZ_ODE_RK4;
        gradients_are_those_of_the_steps(&p, tolerance);
    }
}

/* Rejected steps belong to no graph. */
static void rejected_steps_leave_nothing(void **state)
{
    (void)state;
    problem p = new_problem(ADZ_F64);
    p.o.first_step = 1.4;
    p.o.rtol = p.o.atol = 1e-9;
    gradients_are_those_of_the_steps(&p, 1e-10);
}

static size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

/* A retained graph gives the same bits again. Else the graph ends with the backward. */
static void a_kept_graph_ends_with_the_backward(void **state)
{
    (void)state;
    problem p = new_problem(ADZ_F64);
    adz_tensor *loss = loss_of(solve(&p)), *first[LEAVES], *second[LEAVES];
    gradients_of(loss, &p, true, first);
    const size_t before = live_bytes();
    gradients_of(loss, &p, false, second);
    assert_true(live_bytes() + 4096 < before);
    expect_equal(first, second, 0);
    assert_int_equal(adz_backward(loss), ADZ_ERR_GRAPH);
    adz_error_clear();
}

/* A request for some inputs only, and inputs that want no gradient. */
static void parts_of_the_gradient(void **state)
{
    (void)state;
    problem p = new_problem(ADZ_F64);
    adz_tensor *all[LEAVES], *one, *loss = loss_of(solve(&p));
    gradients_of(loss, &p, true, all);
    for (int i = 0; i < LEAVES; ++i) {
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        o.retain_graph = true;
        p.c.calls = 0;
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &p.leaves[i], 1, &o, &one), ADZ_OK);
        assert_true(p.c.calls == 0 && apart(one, all[i]) <= 1e-12);
    }
    for (int i = 0; i < LEAVES; ++i) {
        adz_requires_grad_(p.leaves[i], false);
        adz_tensor *targets[LEAVES], *found[LEAVES];
        int n = 0;
        for (int k = 0; k < LEAVES; ++k) {
            targets[n] = p.leaves[k];
            n += k != i;
        }
        loss = loss_of(solve(&p));
        assert_int_equal(
            adz_autograd_grad(&loss, NULL, 1, targets, (size_t)n, NULL, found), ADZ_OK);
        for (int k = 0; k < n; ++k) {
            assert_true(apart(found[k], all[k + (k >= i)]) <= 1e-12);
        }
        adz_requires_grad_(p.leaves[i], true);
    }
}

static void writes_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < LEAVES; ++i) {
        problem p = new_problem(ADZ_F64);
        adz_tensor *loss = loss_of(solve(&p));
        ADZ_NO_GRAD
        {
            adz_mul_number_(p.leaves[i], 2);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        adz_error_clear();
    }
}

static adz_tensor *planned(void *user)
{
    problem *p = user;
    adz_tensor *found[LEAVES];
    gradients_of(loss_of(solve(p)), p, false, found);
    return adz_cat(found, LEAVES, 0);
}

static void plans_keep_graphs(void **state)
{
    (void)state;
    problem p = new_problem(ADZ_F64);
    p.o.steps = 2;
    adz_plan *plan = adz_plan_new(planned, &p, NULL);
    for (int run = 0; run < 3; ++run) {
        adz_copy_(adz_detach(p.leaves[Y0]), adz_randn(ADZ_SHAPE(4, 3), ADZ_F64));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(adz_equal(adz_plan_output(plan), planned(&p)));
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured);
    adz_plan_free(&plan);
}

const struct CMUnitTest ode_graph[N_ODE_GRAPH] = {
    cmocka_unit_test_setup_teardown(a_kept_graph_changes_no_result, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(rejected_steps_leave_nothing, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        a_kept_graph_ends_with_the_backward, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(parts_of_the_gradient, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(writes_are_refused, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(plans_keep_graphs, solvers_open, solvers_close),
};
