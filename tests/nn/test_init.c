/* Initialisers: moments and bounds of the draws, reproducibility, rejected arguments. */
#include "../nn.h"
#include "nn/orthogonal.h"

typedef struct {
    double mean, std, low, high;
} moments;

static moments moments_of(adz_tensor *t)
{
    adz_tensor *plain = adz_contiguous(adz_to(t, ADZ_F64));
    const double *x = adz_tensor_data_f64(plain);
    int64_t n = adz_tensor_numel(t);
    moments m = { 0, 0, x[0], x[0] };
    for (int64_t i = 0; i < n; ++i) {
        m.mean += x[i] / (double)n;
        m.low = x[i] < m.low ? x[i] : m.low;
        m.high = x[i] > m.high ? x[i] : m.high;
    }
    for (int64_t i = 0; i < n; ++i) {
        m.std += (x[i] - m.mean) * (x[i] - m.mean) / (double)n;
    }
    m.std = sqrt(m.std);
    return m;
}

static void expect_uniform(adz_tensor *t, double bound)
{
    assert_non_null(t);
    moments m = moments_of(t);
    assert_true(m.low >= -bound && m.high <= bound);
    assert_true(m.low < -0.99 * bound && m.high > 0.99 * bound);
    assert_true(fabs(m.mean) < 0.03 * bound);
    assert_true(fabs(m.std / bound - 1 / sqrt(3)) < 0.02);
}

static void expect_normal(adz_tensor *t, double mean, double std)
{
    assert_non_null(t);
    moments m = moments_of(t);
    assert_true(fabs(m.mean - mean) < 0.04 * std);
    assert_true(fabs(m.std / std - 1) < 0.03);
    assert_true(m.high > mean + 3 * std && m.low < mean - 3 * std);
}

static void simple_draws(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(7);
    adz_dtype dtypes[] = { ADZ_F32, ADZ_F64 };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *t = adz_empty(ADZ_SHAPE(100, 100), dtypes[i]);
        expect_uniform(adz_init_uniform_(t, -2, 2, g), 2);
        expect_normal(adz_init_normal_(t, 3, 0.5, g), 3, 0.5);
        assert_ptr_equal(adz_init_constant_(t, 7), t);
        assert_true(all_are(t, 7));
        assert_true(all_are(adz_init_zeros_(t), 0));
        assert_true(all_are(adz_init_ones_(t), 1));
    }
    assert_true(all_are(adz_init_constant_(adz_empty(ADZ_SHAPE(3), ADZ_I64), 7), 7));
    adz_generator_free(&g);
}

static void fans_set_the_spread(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(8);
    adz_tensor *t = adz_empty(ADZ_SHAPE(100, 50, 3), ADZ_F32); /* fan-in 150, fan-out 300 */
    expect_uniform(adz_init_xavier_uniform_(t, 2, g), 2 * sqrt(6.0 / 450));
    expect_normal(adz_init_xavier_normal_(t, 0.5, g), 0, 0.5 * sqrt(2.0 / 450));
    expect_uniform(
        adz_init_kaiming_uniform_(t, 0, ADZ_FAN_OUT, ADZ_NONLINEARITY_RELU, g), sqrt(6.0 / 300));
    expect_uniform(
        adz_init_kaiming_uniform_(t, sqrt(5), ADZ_FAN_IN, ADZ_NONLINEARITY_LEAKY_RELU, g),
        1 / sqrt(150));
    expect_normal(adz_init_kaiming_normal_(t, 0, ADZ_FAN_IN, ADZ_NONLINEARITY_TANH, g), 0,
        5.0 / 3 / sqrt(150));
    adz_generator_free(&g);
}

static void gains(void **state)
{
    (void)state;
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_LINEAR, 0) == 1);
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_SIGMOID, 0) == 1);
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_TANH, 0) == 5.0 / 3);
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_RELU, 9) == sqrt(2));
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_LEAKY_RELU, 3) == sqrt(0.2));
    assert_true(adz_calculate_gain(ADZ_NONLINEARITY_SELU, 0) == 0.75);
    assert_true(isnan(adz_calculate_gain((adz_nonlinearity)99, 0)));
    expect_error(ADZ_ERR_ARGUMENT, "99");
}

static void truncated_normals_keep_their_shape(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(9);
    adz_tensor *t = adz_empty(ADZ_SHAPE(200, 100), ADZ_F64);
    /* mean and deviation of the truncated normal distribution, computed from its density */
    static const struct {
        double mean, std, a, b, cut_mean, cut_std;
    } cases[] = {
        { 0, 1, -2, 2, 0, 0.8796256610342398 },
        { 1, 2, 0, 10, 2.018279639552275, 1.3944047536053459 },
        { 0, 1, 5, 6, 5.183147090479768, 0.17161710511444195 },
        { 0, 1, -6, -5, -5.183147090479768, 0.17161710511444195 },
        { 5, 2, 4, 6, 5.0, 0.5677645800886548 },
        { 0, 1, 8, 9, 8.121188992996423, 0.11894764722628946 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_non_null(
            adz_init_trunc_normal_(t, cases[i].mean, cases[i].std, cases[i].a, cases[i].b, g));
        moments m = moments_of(t);
        assert_true(m.low >= cases[i].a && m.high <= cases[i].b);
        assert_true(fabs(m.mean - cases[i].cut_mean) < 0.02 * cases[i].cut_std + 2e-4);
        assert_true(fabs(m.std - cases[i].cut_std) < 0.02 * cases[i].cut_std);
    }
    /* Where no double holds the probability, all numbers are at the border that is likelier. */
    assert_true(all_are(adz_init_trunc_normal_(t, 0, 1, -41, -40, g), -40));
    assert_true(all_are(adz_init_trunc_normal_(t, 0, 1, 40, 41, g), 40));
    adz_tensor *f = adz_init_trunc_normal_(adz_empty(ADZ_SHAPE(9999), ADZ_F32), 0, 1, -2, 2, g);
    assert_true(fabs(moments_of(f).std - 0.8796) < 0.02);
    adz_generator_free(&g);
}

/* The draws are the quantiles of uniform draws, nearly to the last digit. */
static void truncated_normals_are_quantiles(void **state)
{
    (void)state;
    static const double bounds[][2] = { { -9, 9 }, { -2, 2 }, { -20, -5 }, { 0, 1 }, { -0.1, 8 },
        { -37.4, -37 }, { -0.01, 0.01 } };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; ++i) {
        adz_generator *g = adz_generator_new(i + 5), *same = adz_generator_new(i + 5);
        const double low = bounds[i][0], high = bounds[i][1];
        adz_tensor *u = adz_init_uniform_(adz_empty(ADZ_SHAPE(4000), ADZ_F64), 0, 1, same);
        adz_tensor *z =
            adz_init_trunc_normal_(adz_empty(ADZ_SHAPE(4000), ADZ_F64), 0, 1, low, high, g);
        const double sign = low + high > 0 ? -1 : 1; /* The upper tail is the mirrored lower one. */
        double p0 = 0.5 * erfc(-(sign > 0 ? low : -high) / sqrt(2));
        double p1 = 0.5 * erfc(-(sign > 0 ? high : -low) / sqrt(2));
        for (int k = 0; k < 4000; ++k) {
            double wanted = p0 + (p1 - p0) * adz_tensor_data_f64(u)[k];
            double got = 0.5 * erfc(-sign * adz_tensor_data_f64(z)[k] / sqrt(2));
            assert_true(fabs(got - wanted) <= 1e-12 * wanted);
        }
        adz_generator_free(&same);
        adz_generator_free(&g);
    }
}

/* A draw begins behind the numbers of the draw before it. */
static void draws_do_not_overlap(void **state)
{
    (void)state;
    enum { DRAWN = 64 };
    adz_generator *g = adz_generator_new(7);
    for (int kind = 0; kind < 3; ++kind) {
        adz_tensor *t[2];
        for (int i = 0; i < 2; ++i) {
            t[i] = adz_empty(ADZ_SHAPE(DRAWN), ADZ_F64);
            assert_non_null(kind == 0   ? adz_init_uniform_(t[i], 0, 1, g)
                            : kind == 1 ? adz_init_normal_(t[i], 0, 1, g)
                                        : adz_init_trunc_normal_(t[i], 0, 1, -2, 2, g));
        }
        for (int i = 0; i < DRAWN * DRAWN; ++i) {
            assert_true(
                adz_tensor_data_f64(t[0])[i % DRAWN] != adz_tensor_data_f64(t[1])[i / DRAWN]);
        }
    }
    adz_generator_free(&g);
}

static void expect_orthogonal(adz_tensor *t, int64_t rows, int64_t columns, double square)
{
    assert_non_null(t);
    adz_tensor *m = adz_reshape(adz_to(t, ADZ_F64), ADZ_SHAPE(rows, columns));
    adz_tensor *mt = adz_transpose(m, 0, 1);
    adz_tensor *product = rows < columns ? adz_matmul(m, mt) : adz_matmul(mt, m);
    int64_t n = rows < columns ? rows : columns;
    adz_tensor *expected = adz_mul_number(adz_eye(n, n, ADZ_F64), square);
    assert_true(alike(product, expected, 2e-6 * square));
}

static void orthogonal_matrices(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(10);
    expect_orthogonal(adz_init_orthogonal_(adz_empty(ADZ_SHAPE(70, 90), ADZ_F32), 2, g), 70, 90, 4);
    expect_orthogonal(
        adz_init_orthogonal_(adz_empty(ADZ_SHAPE(90, 5, 14), ADZ_F64), 1, g), 90, 70, 1);
    expect_orthogonal(adz_init_orthogonal_(adz_empty(ADZ_SHAPE(64, 64), ADZ_F64), 3, g), 64, 64, 9);
    adz_tensor *t = adz_transpose(adz_empty(ADZ_SHAPE(9, 40), ADZ_F64), 0, 1);
    expect_orthogonal(adz_init_orthogonal_(t, 1, g), 40, 9, 1);
    /* the method does not fix the sign: the element of a 1 x 1 matrix is 1 or -1 */
    int positive = 0;
    for (int i = 0; i < 40; ++i) {
        adz_tensor *one = adz_init_orthogonal_(adz_empty(ADZ_SHAPE(1, 1), ADZ_F64), 1, g);
        assert_true(fabs(fabs(adz_item(one)) - 1) < 1e-15);
        positive += adz_item(one) > 0;
    }
    assert_true(positive > 8 && positive < 32);
    adz_generator_free(&g);
}

/* A vector that depends on the ones before it becomes 0, and no NaN. */
static void dependent_vectors_become_zero(void **state)
{
    (void)state;
    double v[] = { 0, 2, 0, 0, 5, 0, 3, 0, 0 }, products[3 * ADZI_ORTHOGONAL_BLOCK];
    adzi_orthonormalise(v, 3, 3, products);
    const double expected[] = { 0, 1, 0, 0, 0, 0, 1, 0, 0 };
    assert_memory_equal(v, expected, sizeof v);
}

static void draws_repeat_and_heed_the_layout(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(11);
    adz_tensor *a = adz_init_normal_(adz_empty(ADZ_SHAPE(6, 4), ADZ_F32), 0, 1, g);
    adz_tensor *next = adz_init_normal_(adz_empty(ADZ_SHAPE(6, 4), ADZ_F32), 0, 1, g);
    assert_false(adz_equal(a, next));
    adz_generator *same = adz_generator_new(11);
    adz_tensor *t = adz_transpose(adz_empty(ADZ_SHAPE(4, 6), ADZ_F32), 0, 1);
    assert_true(adz_equal(adz_init_normal_(t, 0, 1, same), a));
    adz_manual_seed(11);
    assert_true(adz_equal(adz_init_normal_(adz_empty_like(a), 0, 1, NULL), a));
    adz_generator_free(&same);
    adz_generator_free(&g);
}

static void parameters_can_be_drawn_and_that_counts_as_a_change(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *loss = adz_sum(adz_mul(w, w), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_ptr_equal(adz_init_uniform_(w, 0, 1, NULL), w);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "init_uniform_");
}

static void wrong_arguments(void **state)
{
    (void)state;
    adz_tensor *t = adz_empty(ADZ_SHAPE(3), ADZ_F32), *ids = adz_empty(ADZ_SHAPE(3, 3), ADZ_I64);
    adz_tensor *m = adz_zeros(ADZ_SHAPE(3, 3), ADZ_F32);
    assert_null(adz_init_uniform_(t, 1, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "[1, 0)");
    assert_null(adz_init_normal_(t, 0, -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "std is -1");
    assert_null(adz_init_trunc_normal_(t, 0, 1, 2, -2, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "a 2, b -2");
    assert_null(adz_init_xavier_uniform_(t, 1, NULL));
    expect_error(ADZ_ERR_SHAPE, "t[3] has no fan-in");
    assert_null(adz_init_kaiming_normal_(m, 0, (adz_fan)7, ADZ_NONLINEARITY_RELU, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "7 is no adz_fan");
    assert_null(adz_init_kaiming_uniform_(m, 0, ADZ_FAN_IN, (adz_nonlinearity)7, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "7 is no adz_nonlinearity");
    assert_null(adz_init_orthogonal_(ids, 1, NULL));
    expect_error(ADZ_ERR_DTYPE, "int64");
    assert_null(adz_init_zeros_(NULL));
    expect_error(ADZ_ERR_NULL, "t is NULL");
    assert_true(all_are(m, 0));
    adz_tensor *empty = adz_empty(ADZ_SHAPE(0, 3), ADZ_F32);
    assert_ptr_equal(adz_init_orthogonal_(empty, 1, NULL), empty);
    assert_ptr_equal(adz_init_xavier_normal_(empty, 1, NULL), empty);
    assert_ptr_equal(adz_init_kaiming_uniform_(adz_transpose(empty, 0, 1), 0, ADZ_FAN_IN,
                         ADZ_NONLINEARITY_RELU, NULL) != NULL
                         ? empty
                         : NULL,
        empty);
}

/* Each function with a tensor and arguments that are right but for the tensor. */
static adz_tensor *call_by_number(int k, adz_tensor *t)
{
    switch (k) {
    case 0:
        return adz_init_uniform_(t, 0, 1, NULL);
    case 1:
        return adz_init_normal_(t, 0, 1, NULL);
    case 2:
        return adz_init_trunc_normal_(t, 0, 1, -2, 2, NULL);
    case 3:
        return adz_init_xavier_uniform_(t, 1, NULL);
    case 4:
        return adz_init_xavier_normal_(t, 1, NULL);
    case 5:
        return adz_init_kaiming_uniform_(t, 0, ADZ_FAN_IN, ADZ_NONLINEARITY_RELU, NULL);
    case 6:
        return adz_init_kaiming_normal_(t, 0, ADZ_FAN_OUT, ADZ_NONLINEARITY_RELU, NULL);
    default:
        return adz_init_orthogonal_(t, 1, NULL);
    }
}

static void each_function_names_itself(void **state)
{
    (void)state;
    static const char *const names[] = { "init_uniform_", "init_normal_", "init_trunc_normal_",
        "init_xavier_uniform_", "init_xavier_normal_", "init_kaiming_uniform_",
        "init_kaiming_normal_", "init_orthogonal_" };
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(3, 3), ADZ_I64), *row = adz_zeros(ADZ_SHAPE(3), ADZ_F32);
    for (int k = 0; k < 8; ++k) {
        char says[100];
        expect_null(call_by_number(k, NULL) == NULL, names[k], "t");
        assert_null(call_by_number(k, ids));
        snprintf(says, sizeof says, "%s: t[3, 3] is int64; float32 or float64 is needed", names[k]);
        expect_error(ADZ_ERR_DTYPE, says);
        if (k >= 3) {
            assert_null(call_by_number(k, row));
            snprintf(says, sizeof says, "%s: t[3] has no fan-in and fan-out", names[k]);
            expect_error(ADZ_ERR_SHAPE, says);
        }
    }
    expect_null(adz_init_constant_(NULL, 1) == NULL, "init_constant_", "t");
}

static void borders_of_arguments(void **state)
{
    (void)state;
    adz_tensor *t = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_true(all_are(adz_init_uniform_(t, 2, 2, NULL), 2));
    assert_null(adz_init_uniform_(t, 0, INFINITY, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the range [0, inf) is empty or not finite");
    assert_null(adz_init_uniform_(t, -1.5e308, 1.5e308, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "is empty or not finite");
    assert_null(adz_init_uniform_(t, NAN, 1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "is empty or not finite");
    assert_true(all_are(adz_init_normal_(t, 3, 0, NULL), 3));
    assert_null(adz_init_normal_(t, 0, NAN, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "std is nan");
    assert_true(all_are(adz_init_trunc_normal_(t, 0, 1, 0.5, 0.5, NULL), 0.5));
    const double bad[][4] = { { 0, 0, -1, 1 }, { NAN, 1, -1, 1 }, { INFINITY, 1, -1, 1 },
        { 0, NAN, -1, 1 }, { 0, 1, NAN, 1 }, { 0, 1, 1, 0.5 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const double *b = bad[i];
        assert_null(adz_init_trunc_normal_(t, b[0], b[1], b[2], b[3], NULL));
        expect_error(ADZ_ERR_ARGUMENT, "std must be above 0, and a at most b");
    }
    assert_null(adz_init_kaiming_uniform_(t, NAN, ADZ_FAN_IN, ADZ_NONLINEARITY_LEAKY_RELU, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "a, the slope below 0, is NaN");
    assert_null(adz_init_kaiming_normal_(t, NAN, ADZ_FAN_IN, ADZ_NONLINEARITY_LEAKY_RELU, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "a, the slope below 0, is NaN");
    assert_true(all_are(t, 0.5));
}

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_generator *g = scope != NULL ? adz_generator_new(3) : NULL;
    adz_tensor *t = g != NULL ? adz_zeros(ADZ_SHAPE(5, 4), ADZ_F32) : NULL;
    adz_tensor *view = t != NULL ? adz_transpose(t, 0, 1) : NULL;
    bool good = view != NULL && adz_init_orthogonal_(view, 1, g) != NULL &&
                adz_init_trunc_normal_(view, 0, 1, -1, 1, g) != NULL &&
                adz_init_xavier_uniform_(view, 1, g) != NULL;
    adz_generator_free(&g);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(exercise) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(simple_draws),
        TEST(fans_set_the_spread),
        TEST(gains),
        TEST(truncated_normals_keep_their_shape),
        TEST(truncated_normals_are_quantiles),
        TEST(draws_do_not_overlap),
        TEST(orthogonal_matrices),
        TEST(dependent_vectors_become_zero),
        TEST(draws_repeat_and_heed_the_layout),
        TEST(parameters_can_be_drawn_and_that_counts_as_a_change),
        TEST(wrong_arguments),
        TEST(each_function_names_itself),
        TEST(borders_of_arguments),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
