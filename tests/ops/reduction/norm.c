#include <math.h>

#include "ops/case.h"

/* p[0] = keepdim, p[1] = p, p[2 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_norm(a->in[0], a->p[1], case_dims(a, 2), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    a->p[1] = config_number(config, "p", 2);
    config_dims(config, "dim", a, 2);
    return true;
}

static const double powers[] = { 0, 0.5, 1, 2, 3, INFINITY, -INFINITY };

static adz_tensor *vector(const double *values, int64_t n)
{
    return adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), true);
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, &i);
}

static void values_of_every_p(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = vector((double[]){ 3, -4, 0, 1 }, 4);
    double root = sqrt(3) + 2 + 1;
    double expected[] = { 3, root * root, 8, sqrt(26), cbrt(27 + 64 + 1), 4, 0 };
    for (int i = 0; i < 7; ++i) {
        double y = adz_item(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(y - expected[i]) < 1e-13);
    }
    x = vector((double[]){ 3, NAN, -4 }, 3);
    for (int i = 1; i < 7; ++i) {
        assert_true(isnan(adz_item(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM))));
    }
    adz_scope_close(scope);
}

static void zeros_have_no_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < 7; ++i) {
        adz_tensor *x = vector((double[]){ 0, 0 }, 2);
        assert_int_equal(adz_backward(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        adz_tensor *g = adz_tensor_grad(x);
        assert_true(g == NULL || (at(g, 0) == 0 && at(g, 1) == 0));
    }
    adz_scope_close(scope);
}

static void ties_share(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = vector((double[]){ 2, -2, 1, -1 }, 4);
    assert_int_equal(adz_backward(adz_norm(x, INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(adz_backward(adz_norm(x, -INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    for (int64_t i = 0; i < 4; ++i) {
        assert_true(at(adz_tensor_grad(x), i) == (i % 2 == 0 ? 0.5 : -0.5));
    }
    adz_scope_close(scope);
}

static void many_elements(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_full(ADZ_SHAPE(1 << 20), 0.5, ADZ_F32);
    assert_true(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 512);
    assert_true(adz_item(adz_norm(x, 1, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1 << 19);
    assert_true(adz_item(adz_norm(x, 0, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1 << 20);
    adz_tensor_data_f32(x)[700000] = -3;
    assert_true(adz_item(adz_norm(x, INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 3);
    assert_true(adz_item(adz_norm(x, -INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 0.5);
    assert_true(adz_item(adz_norm(adz_zeros(ADZ_SHAPE(0), ADZ_F32), 2, ADZ_ALL_DIMS, false)) == 0);
    adz_scope_close(scope);
}

/* The norm, its gradient and the row sums of its second derivatives, at scale * (3, 4, -1, 0, 2).
 */
typedef struct {
    double y, first[5], second[5];
} slopes;

static slopes slopes_at(double scale, double p, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x =
        adz_mul_number(adz_tensor_from((double[]){ 3, 4, -1, 0, 2 }, ADZ_SHAPE(5), ADZ_F64), scale);
    x = adz_requires_grad_(adz_to(x, dtype), true);
    adz_tensor *y = adz_norm(x, p, ADZ_ALL_DIMS, ADZ_DROPDIM), *g = NULL, *h = NULL;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    adz_tensor *all = adz_sum(g, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_autograd_grad(&all, NULL, 1, &x, 1, NULL, &h), ADZ_OK);
    slopes s = { .y = adz_item(y) };
    for (int64_t i = 0; i < 5; ++i) {
        s.first[i] = at(g, i);
        s.second[i] = at(h, i) * scale;
    }
    adz_scope_close(scope);
    return s;
}

static void expect_near(double got, double wanted, double tolerance, double p, double scale)
{
    if (!(fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted)))) {
        fail_msg("p = %g, scale %g: %.17g instead of %.17g", p, scale, got, wanted);
    }
}

/* The norm of c x is c times the norm of x. Its gradient is equal to that at x, and its second
 * derivative is divided by c. This must hold where powers of c x overflow or become 0. Values that
 * no float can hold are not compared. */
static void the_scale_of_x_costs_no_digits(void **state)
{
    (void)state;
    static const double ps[] = { -30, -2, -0.5, 0.1, 0.5, 1.1, 1.5, 1.9, 2, 2.5, 3, 4, 8, 100,
        1000 };
    static const double small[] = { 1e-35, 1e-24, 1e-16, 1e-8, 1e6, 1e16, 1e22, 1e30 };
    static const double large[] = { 1e-300, 1e-160, 1e-60, 1e60, 1e160, 1e280 };
    for (size_t i = 0; i < sizeof ps / sizeof ps[0]; ++i) {
        double p = ps[i], steep = fmax(1, fmax(fabs(p), 1 / fabs(p)));
        slopes one = slopes_at(1, p, ADZ_F64);
        for (int k = 0; k < 8 + 6; ++k) {
            double scale = k < 8 ? small[k] : large[k - 8];
            slopes s = slopes_at(scale, p, k < 8 ? ADZ_F32 : ADZ_F64);
            double tolerance = steep * (k < 8 ? 1e-5 : 1e-12);
            expect_near(s.y / scale, one.y, tolerance, p, scale);
            for (int e = 0; e < 5; ++e) {
                expect_near(s.first[e], one.first[e], tolerance, p, scale);
                if (fabs(one.second[e] / scale) < (k < 8 ? 1e30 : 1e290)) {
                    expect_near(s.second[e], one.second[e], 10 * tolerance, p, scale);
                }
            }
        }
    }
}

/* The gradient is defined for denormal numbers, because they have a direction. */
static void denormals_have_a_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_mul_number(vector((double[]){ 3, -4 }, 2), 0x1p-1074);
    x = adz_requires_grad_(adz_detach(x), true);
    adz_tensor *y = adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(adz_item(y) == 5 * 0x1p-1074);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_true(at(adz_tensor_grad(x), 0) == 0.6 && at(adz_tensor_grad(x), 1) == -0.8);
    adz_scope_close(scope);
}

/* Blocks of very different magnitude are joined correctly. Each block is summed with its own scale.
 */
static void parts_of_any_size_join(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const int64_t n = 1 << 18;
    adz_tensor *x = adz_full(ADZ_SHAPE(n), 1e-200, ADZ_F64);
    double *v = adz_tensor_data_f64(x), all = (double)n;
    assert_true(fabs(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) / 512e-200 - 1) < 1e-14);
    double cube = 64e-200; /* the cube root of n is 64 */
    assert_true(fabs(adz_item(adz_norm(x, 3, ADZ_ALL_DIMS, ADZ_DROPDIM)) / cube - 1) < 1e-13);
    v[n / 2] = 3;
    v[n - 1] = -4;
    assert_true(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 5);
    v[n / 3] = 6e200;
    v[7] = 8e200;
    assert_true(fabs(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) / 1e201 - 1) < 1e-15);
    for (int64_t i = 0; i < n; ++i) {
        v[i] = i % 5 == 0 ? 1e300 : 1e200;
    }
    v[n / 2] = 1e150;
    assert_true(fabs(adz_item(adz_norm(x, -2, ADZ_ALL_DIMS, ADZ_DROPDIM)) / 1e150 - 1) < 1e-14);
    v[n / 2] = 1e200;
    double most = ceil(all * 4 / 5);
    double y = adz_item(adz_norm(x, -2, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(y * sqrt(most) / 1e200 - 1) < 1e-5);
    v[5] = INFINITY;
    assert_true(isinf(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM))));
    assert_true(fabs(adz_item(adz_norm(x, -2, ADZ_ALL_DIMS, ADZ_DROPDIM)) / y - 1) < 1e-5);
    v[n - 9] = NAN;
    assert_true(isnan(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM))));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_of_every_p),
    cmocka_unit_test(zeros_have_no_gradient), cmocka_unit_test(ties_share),
    cmocka_unit_test(many_elements), cmocka_unit_test(the_scale_of_x_costs_no_digits),
    cmocka_unit_test(denormals_have_a_gradient), cmocka_unit_test(parts_of_any_size_join) };

const op_case norm_case = {
    .name = "norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 4, 2) }, .p = { 0, 2, -1 } },
        { .in = { IN(3, 4, 2) }, .p = { 1, 2, 2, 0, 2 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0, 1, 1, 0 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 1, 3, 1, -1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5) }, .p = { 1, INFINITY, 1, -1 } },
        { .in = { IN_OF(FILL_POSITIVE, 3, 5) }, .p = { 0, -INFINITY, 1, 0 } },
        { .in = { IN_OF(FILL_AWAY, 3, 5) }, .p = { 0, 0.5, 1, 0 } },
        { .in = { IN_OF(FILL_AWAY, 3, 5) }, .p = { 0, 1.5, 1, 1 } },
        { .in = { IN_OF(FILL_AWAY, 4) }, .p = { 0, -2, -1 } },
        { .in = { IN_OF(FILL_AWAY, 4) }, .p = { 0, 0, -1 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 0, 2, 1, 1 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 0, 2, -1 } },
        { .in = { IN(0, 2) }, .p = { 0, 2, 1, 1 } },
        { .in = { IN(5, 70) }, .p = { 0, 2, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 2, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 0) }, .p = { 0, INFINITY, -1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 0]" },
        { .in = { IN(3) }, .p = { 0, NAN, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "NaN" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0, 2, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .needs_distinct = true,
    .vectors = { "norm" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
