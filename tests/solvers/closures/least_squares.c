/* Levenberg-Marquardt: compared with normal equations in plain C, and on other problems. */
#include "tests.h"

/* ---- the method for two parameters, by the normal equations ---------------------------------- */

typedef struct {
    double x[2], damping, growth;
    double scale[2]; /* the largest squared lengths of the columns of J */
} plain;

static double plain_residuals(const double *x, double *r)
{
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = x[0] - 1;
    return (r[0] * r[0] + r[1] * r[1]) / 2;
}

/* Tries one move of lr h. */
static void plain_move(plain *p, double lr)
{
    double r[2], moved[2];
    const double loss = plain_residuals(p->x, r);
    const double j[2][2] = { { -20 * p->x[0], 10 }, { 1, 0 } };
    const double a = j[0][0] * j[0][0] + j[1][0] * j[1][0], b = j[0][0] * j[0][1];
    const double c = j[0][1] * j[0][1];
    const double g[2] = { j[0][0] * r[0] + j[1][0] * r[1], j[0][1] * r[0] };
    p->scale[0] = fmax(p->scale[0], a);
    p->scale[1] = fmax(p->scale[1], c);
    const double da = a + p->damping * p->scale[0], dc = c + p->damping * p->scale[1];
    const double det = da * dc - b * b;
    const double h[2] = { -(dc * g[0] - b * g[1]) / det, -(da * g[1] - b * g[0]) / det };
    const double curve = a * h[0] * h[0] + 2 * b * h[0] * h[1] + c * h[1] * h[1];
    const double promised = -lr * (g[0] * h[0] + g[1] * h[1]) - lr * lr * curve / 2;
    const double next[2] = { p->x[0] + lr * h[0], p->x[1] + lr * h[1] };
    const double gain = (loss - plain_residuals(next, moved)) / promised;
    if (gain > 0) {
        memcpy(p->x, next, sizeof next);
        p->damping *= fmax(1.0 / 3, 1 - pow(2 * gain - 1, 3));
        p->growth = 2;
    } else {
        p->damping *= p->growth;
        p->growth *= 2;
    }
}

static void moves_follow_the_formula(void **state)
{
    (void)state;
    for (int half = 0; half < 2; ++half) {
        const double lr = half ? 0.5 : 1;
        plain want = { { -1.2, 1 }, 1e-3, 2, { 0, 0 } };
        problem p = { .x = leaf(want.x, 2, ADZ_F64), .sign = 1 };
        adz_levenberg_marquardt_options options = ADZ_LEVENBERG_MARQUARDT_OPTIONS;
        options.max_iter = 1;
        lm_of(&p, &options);
        adz_optimizer_set(p.optimizer, 0, "lr", lr);
        for (int i = 0; i < 25; ++i) {
            double loss = NAN, r[2];
            const double before = plain_residuals(want.x, r);
            plain_move(&want, lr);
            assert_int_equal(adz_optimizer_step_closure(p.optimizer, residuals, &p, &loss), ADZ_OK);
            assert_true(fabs(loss - before) <= 1e-7 * before);
            assert_true(holds(p.x, want.x, 1e-7));
        }
        adz_optimizer_release(&p.optimizer);
    }
}

/* ---- fits ------------------------------------------------------------------------------------ */

typedef struct {
    adz_tensor *x, *y, *a, *b, *unused;
    adz_module *model;
} curve;

enum { ROWS = 30 };

static curve curve_of(adz_dtype dtype)
{
    double x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        x[i] = 0.1 * i;
        y[i] = 3 * exp(-1.5 * x[i]);
    }
    return (curve){ .x = adz_to(adz_tensor_from(x, ADZ_SHAPE(ROWS), ADZ_F64), dtype),
        .y = adz_to(adz_tensor_from(y, ADZ_SHAPE(ROWS), ADZ_F64), dtype),
        .a = leaf((const double[]){ 1 }, 1, dtype),
        .b = leaf((const double[]){ 0 }, 1, dtype),
        .unused = leaf((const double[]){ 4, 5 }, 2, dtype) };
}

static adz_tensor *fit(void *user)
{
    curve *c = user;
    adz_tensor *r = adz_sub(adz_mul(c->a, adz_exp(adz_mul(c->b, c->x))), c->y);
    return adz_reshape(r, ADZ_SHAPE(5, 6));
}

/* With 30 residuals the Jacobian of 4 parameters is computed by columns. */
static void a_curve_is_fitted(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; ++f32) {
        curve c = curve_of(f32 ? ADZ_F32 : ADZ_F64);
        adz_tensor *all[] = { c.unused, c.a, c.b };
        adz_optimizer *o = adz_levenberg_marquardt_new(adz_tensor_list_of(all, 3), 1, NULL);
        double loss = NAN;
        assert_int_equal(adz_optimizer_step_closure(o, fit, &c, &loss), ADZ_OK);
        assert_true(loss > 1);
        assert_true(HOLDS(c.a, f32 ? 1e-5 : 1e-8, 3));
        assert_true(HOLDS(c.b, f32 ? 1e-5 : 1e-8, -1.5));
        assert_true(HOLDS(c.unused, 0, 4, 5));
        assert_null(adz_tensor_grad(c.a));
        adz_optimizer_release(&o);
    }
}

static adz_tensor *network(void *user)
{
    curve *c = user;
    return adz_sub(adz_module_forward(c->model, c->x), c->y);
}

/* With more parameters than residuals the Jacobian is computed by rows. */
static void networks_are_fitted(void **state)
{
    (void)state;
    adz_manual_seed(3);
    curve c = curve_of(ADZ_F64);
    c.model =
        ADZ_SEQUENTIAL(adz_linear_new(1, 16, NULL), adz_tanh_new(), adz_linear_new(16, 1, NULL));
    adz_module_to(c.model, ADZ_F64);
    c.x = adz_reshape(c.x, ADZ_SHAPE(ROWS, 1));
    c.y = adz_reshape(c.y, ADZ_SHAPE(ROWS, 1));
    assert_true(adz_module_numel(c.model) > ROWS);
    adz_tensor *frozen = adz_module_get_parameter(c.model, "0.bias"), *before = adz_clone(frozen);
    adz_requires_grad_(frozen, false);
    adz_optimizer *o = adz_levenberg_marquardt_new(adz_module_parameters(c.model), 1, NULL);
    double first = NAN, last = NAN;
    assert_int_equal(adz_optimizer_step_closure(o, network, &c, &first), ADZ_OK);
    assert_int_equal(adz_optimizer_step_closure(o, network, &c, &last), ADZ_OK);
    assert_true(first > 1 && last < 1e-5);
    assert_true(adz_equal(frozen, before));
    adz_optimizer_release(&o);
    adz_module_release(&c.model);
}

/* Units saturate on the way, and the residuals hardly depend on their weights then. */
static void saturated_units_do_not_run_away(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 4; ++seed) {
        adz_manual_seed(seed);
        curve c = { .x = adz_reshape(adz_linspace(-2, 2, 50, ADZ_F64), ADZ_SHAPE(50, 1)) };
        c.y = adz_sin(adz_mul_number(c.x, 2));
        c.model = ADZ_SEQUENTIAL(
            adz_linear_new(1, 12, NULL), adz_tanh_new(), adz_linear_new(12, 1, NULL));
        adz_module_to(c.model, ADZ_F64);
        adz_optimizer *o = adz_levenberg_marquardt_new(adz_module_parameters(c.model), 1, NULL);
        double loss = NAN;
        for (int step = 0; step < 6; ++step) {
            assert_int_equal(adz_optimizer_step_closure(o, network, &c, &loss), ADZ_OK);
        }
        assert_true(loss < 1e-3);
        adz_optimizer_release(&o);
        adz_module_release(&c.model);
    }
}

/* Six losses of two numbers. ctc_loss has no second derivative, which the Jacobian by columns
 * needs, so that it is computed by rows. */
static adz_tensor *alignments(void *user)
{
    curve *c = user;
    const int64_t times[] = { 4, 4, 4, 4, 4, 4 }, letters[] = { 1, 1, 1, 1, 1, 1 };
    adz_ctc_loss_options options = ADZ_CTC_LOSS_OPTIONS;
    options.reduction = ADZ_REDUCE_NONE;
    adz_tensor *scores = adz_add(adz_mul(c->a, c->x), adz_mul(c->b, c->y)); /* [4, 6, 3] */
    return adz_ctc_loss(adz_log_softmax(scores, -1), adz_ones(ADZ_SHAPE(6, 1), ADZ_I64),
        adz_tensor_from(times, ADZ_SHAPE(6), ADZ_I64),
        adz_tensor_from(letters, ADZ_SHAPE(6), ADZ_I64), &options);
}

static void first_derivatives_suffice(void **state)
{
    (void)state;
    adz_manual_seed(4);
    curve c = curve_of(ADZ_F64);
    c.x = adz_randn(ADZ_SHAPE(4, 6, 3), ADZ_F64);
    c.y = adz_randn(ADZ_SHAPE(4, 6, 3), ADZ_F64);
    adz_tensor *both[] = { c.a, c.b };
    adz_optimizer *o = adz_levenberg_marquardt_new(adz_tensor_list_of(both, 2), 1, NULL);
    double first = NAN, last = NAN;
    assert_int_equal(adz_optimizer_step_closure(o, alignments, &c, &first), ADZ_OK);
    assert_int_equal(adz_optimizer_step_closure(o, alignments, &c, &last), ADZ_OK);
    assert_true(last < first);
    adz_optimizer_release(&o);
}

static adz_tensor *root(void *user)
{
    problem *p = user;
    ++p->calls;
    return adz_add_number(adz_sqrt(p->x), -3);
}

/* sqrt(x) = 3 from x = 400: the first moves lead below 0, where the root is NaN. */
static void undefined_points_are_taken_back(void **state)
{
    (void)state;
    problem p = { .x = leaf((const double[]){ 400 }, 1, ADZ_F64) };
    lm_of(&p, NULL);
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, root, &p, NULL), ADZ_OK);
    assert_true(HOLDS(p.x, 1e-6, 9));
    adz_optimizer_release(&p.optimizer);
}

int least_squares_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(moves_follow_the_formula),
        TEST(a_curve_is_fitted),
        TEST(networks_are_fitted),
        TEST(saturated_units_do_not_run_away),
        TEST(first_derivatives_suffice),
        TEST(undefined_points_are_taken_back),
    };
    return cmocka_run_group_tests_name("closures: least squares", tests, NULL, NULL);
}
