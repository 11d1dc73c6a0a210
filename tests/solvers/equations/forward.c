/* Forward derivatives of solutions, by sensitivities beside the states. */
#include "solvers/equations/solvers.h"
#include "temporary.h"

/* What the solutions here have in common. */
typedef struct problem {
    adz_ode_options o;
    adz_tensor *times;
    int calls; /* of the function */
} problem;

static problem problem_of(adz_ode_method method, adz_dtype dtype)
{
    problem p = { .o = ADZ_ODE_OPTIONS };
    p.o.method = method;
    p.o.rtol = p.o.atol = dtype == ADZ_F64 ? 1e-10 : 1e-5;
    p.o.steps = method == ADZ_ODE_RK4 ? 40 : 0;
    p.times = adz_to(adz_tensor_from((double[]){ 0.5, 0.6, 1, 2.5 }, ADZ_SHAPE(4), ADZ_F64), dtype);
    return p;
}

/* Three species in rows of any number, with two rates: y' = (-k0 a + cos t, k0 a - k1 b c, ...). */
static int reaction(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    problem *p = user;
    (void)n;
    ++p->calls;
    adz_tensor *k = in[2], *a = adz_narrow(in[1], -1, 0, 1), *b = adz_narrow(in[1], -1, 1, 1);
    adz_tensor *c = adz_narrow(in[1], -1, 2, 1), *first = adz_mul(adz_narrow(k, 0, 0, 1), a);
    adz_tensor *next = adz_mul(adz_narrow(k, 0, 1, 1), adz_mul(b, c));
    adz_tensor *parts[] = { adz_sub(adz_cos(in[0]), first), adz_sub(first, next),
        adz_sub(next, c) };
    out[0] = adz_cat(parts, 3, -1);
    return out[0] != NULL;
}

static int solution(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    problem *p = user;
    const adz_tensor_function f = { reaction, p };
    (void)n;
    out[0] = adz_odeint_many(&f, in[0], p->times, in + 1, 1, &p->o, NULL);
    return out[0] != NULL;
}

/* Both Jacobians of a solution by y0 and the rates. */
static void jacobians(problem *p, adz_tensor *const *in, adz_jacobian_mode mode, adz_tensor **found)
{
    const adz_tensor_function f = { solution, p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.mode = mode;
    if (adz_jacobian_many(&f, in, 2, 1, &o, found) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
}

static double largest(adz_tensor *t)
{
    return adz_item(adz_max(adz_abs(t)));
}

static const adz_ode_method all_methods[] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_RK4, ADZ_ODE_RODAS4,
    ADZ_ODE_BDF };

/* The derivatives of the computed steps are those of reverse mode, up to `part` of the largest. */
static void expect_both_modes(problem *p, adz_tensor *y0, double part)
{
    adz_tensor *ahead[2], *back[2];
    adz_tensor *in[] = { y0, adz_rand(ADZ_SHAPE(2), adz_tensor_dtype(y0)) };
    jacobians(p, in, ADZ_JACOBIAN_FORWARD, ahead);
    jacobians(p, in, ADZ_JACOBIAN_REVERSE, back);
    for (int i = 0; i < 2; ++i) {
        assert_true(apart(ahead[i], back[i]) < part * largest(back[i]));
    }
}

/* States of many rows have more elements than the Jacobian of the function is formed for. */
static void both_modes_agree(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        for (int rows = 1; rows <= 12; rows += 11) {
            for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
                problem p = problem_of(all_methods[m], (adz_dtype)dtype);
                const double part = all_methods[m] == ADZ_ODE_BDF ? 1e-9 : 1e-12;
                p.o.rtol = p.o.atol = dtype == ADZ_F64 ? 1e-5 : p.o.rtol;
                p.o.rows = rows > 1 && all_methods[m] == ADZ_ODE_RODAS4;
                p.times = rows > 1 ? adz_narrow(p.times, 0, 1, 2) : p.times; /* 0.6 and 1 */
                expect_both_modes(&p, adz_rand(ADZ_SHAPE(rows, 3), (adz_dtype)dtype),
                    dtype == ADZ_F64 ? part : 2e-4);
            }
        }
    }
}

/* A solution by rows, of which a method for stiff equations needs the Jacobians of rows alone. */
static void rows_agree(void **state)
{
    (void)state;
    problem p = problem_of(ADZ_ODE_BDF, ADZ_F64);
    p.o.rows = true;
    expect_both_modes(&p, adz_rand(ADZ_SHAPE(5, 3), ADZ_F64), 1e-9);
}

/* One product, and its derivatives of first and second order under create_graph. */
static int product(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const adz_tensor_function f = { solution, user };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    (void)n;
    o.create_graph = true;
    return adz_jvp_many(&f, in, 2, in + 2, 1, &o, out) == ADZ_OK;
}

static void products_have_derivatives(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        problem p = problem_of(all_methods[m], ADZ_F64);
        const adz_tensor_function f = { solution, &p };
        adz_tensor *in[] = { leaf(1, 3), adz_requires_grad_(adz_rand(ADZ_SHAPE(2), ADZ_F64), true),
            leaf(1, 3), adz_requires_grad_(adz_randn(ADZ_SHAPE(2), ADZ_F64), true) };
        adz_tensor *with, *without;
        p.times = adz_linspace(0, 0.5, 2, ADZ_F64);
        p.o.steps = m < 3 ? 3 : 0; /* so that differences see no other steps */
        p.o.rtol = p.o.atol = 1e-6;
        assert_int_equal(product(in, 4, &with, &p), 1);
        assert_int_equal(adz_jvp_many(&f, in, 2, in + 2, 1, NULL, &without), ADZ_OK);
        assert_false(adz_tensor_requires_grad(without));
        assert_true(apart(with, without) < 1e-5 * largest(with));
        if (m < 3) {
            const adz_gradcheck_function g = { product, &p };
            assert_true(apart(with, without) < 1e-13 * largest(with));
            assert_int_equal(adz_gradcheck(&g, in, 4, NULL, NULL), ADZ_OK);
        }
    }
}

/* ---- what the function uses besides arguments ------------------------------------------------ */

typedef struct decay {
    problem *p;
    adz_tensor *rate;
    bool late;  /* the rate counts only at first */
    bool reads; /* the host reads the time, so the function cannot be captured */
} decay;

static adz_tensor *falls(adz_tensor *t, adz_tensor *y, void *user)
{
    const decay *d = user;
    ++d->p->calls;
    if (d->reads && !(adz_item(t) >= 0)) {
        return NULL;
    }
    return d->late && adz_item(t) > 0.7 ? adz_neg(y) : adz_neg(adz_mul(d->rate, y));
}

static int decay_by(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    decay *d = user;
    (void)n;
    d->rate = in[0];
    out[0] = adz_odeint(falls, d, in[1], d->p->times, &d->p->o, NULL);
    return out[0] != NULL;
}

/* What the solutions are differentiated by. */
static void rate_and_state(adz_tensor **in)
{
    in[0] = adz_full(ADZ_SHAPE(1), 0.8, ADZ_F64);
    in[1] = adz_full(ADZ_SHAPE(2), 3, ADZ_F64);
}

/* y = 3 exp(-k t), whose derivative by k is -t y. */
static void closed_forms_are_met(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        problem p = problem_of(all_methods[m], ADZ_F64);
        decay d = { &p, NULL, false, false };
        const adz_tensor_function f = { decay_by, &d };
        adz_tensor *in[2];
        rate_and_state(in);
        adz_tensor *v[] = { adz_full(ADZ_SHAPE(1), 1, ADZ_F64), ADZ_NONE }, *found;
        adz_tensor *passed = adz_sub_number(p.times, 0.5);
        adz_tensor *y = adz_mul_number(adz_exp(adz_mul_number(passed, -0.8)), 3);
        adz_tensor *wanted = adz_unsqueeze(adz_neg(adz_mul(passed, y)), 1);
        assert_int_equal(adz_jvp_many(&f, in, 2, v, 1, NULL, &found), ADZ_OK);
        assert_true(apart(found, adz_expand(wanted, ADZ_SHAPE(4, 2))) < 2e-7);
        assert_true(largest(adz_select(found, 0, 0)) == 0);
    }
}

/* States of f32, of few elements and of many, with a rate of f64. */
static void the_dtypes_of_inputs_may_differ(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 4; ++i) {
        problem p = problem_of(all_methods[i / 2], ADZ_F32);
        decay d = { &p, NULL, false, false };
        const adz_tensor_function f = { decay_by, &d };
        adz_tensor *in[] = { adz_scalar(0.8, ADZ_F64),
            adz_full(ADZ_SHAPE(i % 2 ? 40 : 1), 3, ADZ_F32) };
        adz_tensor *v[] = { adz_scalar(1, ADZ_F64), ADZ_NONE }, *found;
        assert_int_equal(adz_jvp_many(&f, in, 2, v, 1, NULL, &found), ADZ_OK);
        assert_true(fabs(adz_tensor_at(found, (int64_t[]){ 3, 0 }) + 6 * exp(-1.6)) < 1e-3);
    }
}

/* The rate counts up to 0.7 only. */
static void leaves_of_some_times_have_derivatives(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        problem p = problem_of(all_methods[m], ADZ_F64);
        decay d = { &p, NULL, true, false };
        const adz_tensor_function f = { decay_by, &d };
        adz_tensor *in[2], *found;
        rate_and_state(in);
        adz_tensor *v[] = { adz_full(ADZ_SHAPE(1), 1, ADZ_F64), ADZ_NONE };
        p.o.steps = p.o.method == ADZ_ODE_RK4 ? 1000 : 0;
        assert_int_equal(adz_jvp_many(&f, in, 2, v, 1, NULL, &found), ADZ_OK);
        for (int64_t i = 0; i < 4; ++i) {
            const double t = adz_tensor_at(p.times, &i), until = fmin(t, 0.7);
            const double y = 3 * exp(-0.8 * (until - 0.5) - (t - until));
            assert_true(fabs(adz_tensor_at(found, (int64_t[]){ i, 0 }) + (until - 0.5) * y) < 2e-3);
        }
    }
}

/* A function that a plan can capture is replayed; one that reads on the host is called each time.
 */
static void replays_change_no_bit(void **state)
{
    (void)state;
    for (int m = 0; m < 4; ++m) {
        problem p = problem_of(all_methods[m], ADZ_F64);
        decay d = { &p, NULL, false, false };
        const adz_tensor_function f = { decay_by, &d };
        adz_tensor *in[2];
        rate_and_state(in);
        adz_tensor *found[2][2];
        p.o.max_step = 0.01;
        for (int i = 0; i < 2; ++i) {
            d.reads = i == 1;
            assert_int_equal(adz_jacobian_many(&f, in, 2, 1, NULL, found[i]), ADZ_OK);
        }
        assert_true(adz_equal(found[0][0], found[1][0]) && adz_equal(found[0][1], found[1][1]));
        assert_true(largest(found[0][0]) > 0.1);
    }
}

/* ---- functions that cannot be captured ------------------------------------------------------- */

/* How a function learns that it is late. */
typedef enum reader { BY_ITEM, BY_POINTER, BY_STATE, BY_BRANCH, READERS } reader;

typedef struct reading {
    problem p;
    adz_tensor *rate;
    reader reader;
    double grows; /* changes in each call */
} reading;

static adz_status early(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const reading *r = user;
    results[0] = adz_mul(adz_sqrt(adz_sub(adz_scalar(1, ADZ_F64), in[0])), r->rate);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status late(adz_tensor **results, adz_tensor *const *in, void *user)
{
    (void)in;
    results[0] = adz_mul_number(((const reading *)user)->rate, 1.5);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

/* y' = -k y sqrt(1 - t), and -1.5 k y from 1 on, where the root is NaN. */
static adz_tensor *reads(adz_tensor *t, adz_tensor *y, void *user)
{
    reading *r = user;
    adz_tensor *past = adz_ge(t, adz_scalar(1, ADZ_F64)), *factor;
    r->grows += 1;
    if (r->reader == BY_BRANCH) {
        return adz_branch(past, late, early, r, &t, 1, 1, &factor) == ADZ_OK
                   ? adz_neg(adz_mul(y, factor))
                   : NULL;
    }
    if (r->reader == BY_STATE) {
        return adz_neg(adz_mul(adz_mul_number(y, 1 + 1e-14 * r->grows), r->rate));
    }
    const bool is_past = r->reader == BY_POINTER ? *adz_tensor_data_f64(t) >= 1 : adz_item(t) >= 1;
    return (is_past ? late : early)(&factor, &t, r) == ADZ_OK ? adz_neg(adz_mul(y, factor)) : NULL;
}

static int solution_by_reading(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    reading *r = user;
    (void)n;
    r->rate = in[0];
    out[0] = adz_odeint(reads, r, in[1], r->p.times, &r->p.o, NULL);
    return out[0] != NULL;
}

static void count_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    ++*(int *)user;
}

/* The program has asked for no plan, so it sees no error of one, and its function gets elements. */
static void functions_may_read_elements(void **state)
{
    (void)state;
    int errors = 0;
    adz_on_error(count_error, &errors);
    for (int i = 0; i < 2 * READERS; ++i) {
        reading r = { .p = problem_of(i % 2 ? ADZ_ODE_BDF : ADZ_ODE_RK4, ADZ_F64),
            .reader = (reader)(i / 2) };
        const adz_tensor_function f = { solution_by_reading, &r };
        adz_tensor *in[2];
        rate_and_state(in);
        adz_tensor *found[2][2];
        r.p.o.max_step = i % 2 ? 0.01 : 0;
        for (int mode = ADZ_JACOBIAN_REVERSE; mode <= ADZ_JACOBIAN_FORWARD; ++mode) {
            adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
            o.mode = (adz_jacobian_mode)mode;
            assert_int_equal(
                adz_jacobian_many(&f, in, 2, 1, &o, found[mode - ADZ_JACOBIAN_REVERSE]), ADZ_OK);
        }
        for (int k = 0; k < 2; ++k) {
            assert_true(apart(found[0][k], found[1][k]) < 1e-9 * largest(found[0][k]));
        }
        assert_int_equal(errors, 0);
    }
    adz_on_error(adz_quiet, NULL);
}

/* ---- a fit ----------------------------------------------------------------------------------- */

typedef struct fit {
    problem p;
    adz_tensor *rates, *data;
} fit;

static adz_tensor *residuals(void *user)
{
    fit *job = user;
    adz_tensor *in[] = { adz_ones(ADZ_SHAPE(1, 3), ADZ_F64), adz_exp(job->rates) }, *y;
    return solution(in, 2, &y, &job->p) == 1 ? adz_sub(y, job->data) : NULL;
}

/* Levenberg-Marquardt goes forward, with as few calls as a Jacobian has. */
static void a_fit_finds_the_rates(void **state)
{
    (void)state;
    const double truth[] = { log(0.7), log(2.5) };
    for (int m = 0; m < 4; ++m) {
        fit job = { .p = problem_of(all_methods[m], ADZ_F64) };
        job.p.o.rtol = job.p.o.atol = 1e-6; /* the data have the errors of the same steps */
        adz_tensor *in[] = { adz_ones(ADZ_SHAPE(1, 3), ADZ_F64),
            adz_exp(adz_tensor_from(truth, ADZ_SHAPE(2), ADZ_F64)) };
        assert_int_equal(solution(in, 2, &job.data, &job.p), 1);
        job.data = adz_detach(job.data);
        job.rates = adz_requires_grad_(adz_zeros(ADZ_SHAPE(2), ADZ_F64), true);
        adz_optimizer *lm = adz_levenberg_marquardt_new(adz_tensor_list_of(&job.rates, 1), 1, NULL);
        assert_int_equal(adz_optimizer_step_closure(lm, residuals, &job, NULL), ADZ_OK);
        assert_true(apart(job.rates, adz_tensor_from(truth, ADZ_SHAPE(2), ADZ_F64)) < 1e-7);
        adz_optimizer_release(&lm);
    }
}

/* ---- how the work grows ---------------------------------------------------------------------- */

/* The gradient of a sum by the states is one element, which is repeated. */
static int sum_of_states(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    adz_tensor *y;
    out[0] = solution(in, n, &y, user) == 1 ? adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return out[0] != NULL;
}

/* One integration gives the derivatives by all parameters, and calls the function once more for
 * each step of ADZ_ODE_BDF and for each stage of ADZ_ODE_DORMAND_PRINCE. */
static void one_integration_gives_all(void **state)
{
    (void)state;
    const adz_ode_method methods[] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_BDF };
    for (int m = 0; m < 2; ++m) {
        problem p = problem_of(methods[m], ADZ_F64);
        adz_tensor *in[] = { adz_rand(ADZ_SHAPE(1, 3), ADZ_F64), adz_rand(ADZ_SHAPE(2), ADZ_F64) };
        adz_tensor *y, *found[2];
        p.times = adz_linspace(0, 1, 41, ADZ_F64);
        assert_int_equal(solution(in, 2, &y, &p), 1);
        const int calls = p.calls;
        jacobians(&p, in, ADZ_JACOBIAN_AUTO, found);
        assert_true(p.calls > calls && p.calls <= 3 * calls + 10);
        const adz_tensor_function f = { sum_of_states, &p };
        p.calls = 0;
        assert_int_equal(adz_jvp_many(&f, in, 2, in, 1, NULL, found), ADZ_OK);
        assert_true(p.calls > calls && p.calls <= 2 * calls + 10);
    }
}

/* ---- refused memory -------------------------------------------------------------------------- */

typedef struct request {
    problem p;
    adz_tensor *in[2];
} request;

static adz_status differentiate(void *user)
{
    request *r = user;
    const adz_tensor_function f = { solution, &r->p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_scope *scope = adz_scope_open();
    adz_tensor *found[2];
    o.mode = ADZ_JACOBIAN_FORWARD;
    const adz_status status = adz_jacobian_many(&f, r->in, 2, 1, &o, found);
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    const adz_ode_method methods[] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_BDF, ADZ_ODE_BDF };
    for (int m = 0; m < 3; ++m) {
        request r = { .p = problem_of(methods[m], ADZ_F64) };
        r.in[0] = adz_rand(ADZ_SHAPE(m == 2 ? 2 : 1, 3), ADZ_F64);
        r.in[1] = adz_rand(ADZ_SHAPE(2), ADZ_F64);
        r.p.o.rows = m == 2;
        r.p.o.rtol = r.p.o.atol = 0.3;
        r.p.times = adz_linspace(0, 0.1, 2, ADZ_F64);
        assert_true(refuse_each(differentiate, NULL, &r) >= 10);
    }
    assert_true(adz_is_grad_enabled());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest forward[N_FORWARD] = {
    TEST(both_modes_agree),
    TEST(rows_agree),
    TEST(products_have_derivatives),
    TEST(closed_forms_are_met),
    TEST(the_dtypes_of_inputs_may_differ),
    TEST(leaves_of_some_times_have_derivatives),
    TEST(replays_change_no_bit),
    TEST(functions_may_read_elements),
    TEST(a_fit_finds_the_rates),
    TEST(one_integration_gives_all),
    TEST(refused_memory_harms_nothing),
};
