#include "adze/precision.h"

#include "ops/facts.h"

/* p[0] = dropout, p[1] = training. Every call draws an equal mask. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new(11);
    adz_tensor *y = generator == NULL ? NULL
                    : a->p[0] == 0    ? adz_linear_relu(a->in[0], a->in[1], a->in[2])
                                   : adz_linear_relu_dropout(a->in[0], a->in[1], a->in[2], a->p[0],
                                         a->p[1] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* ---- facts ---------------------------------------------------------------------------------- */

enum { X, WEIGHT, BIAS, INPUTS };

/* Compares result, state of the generator and gradients with those of the parts, bit for bit. */
static void compare(adz_tensor *const *in, double p, adz_generator *generator)
{
    adz_generator_state before = adz_generator_get_state(generator), after;
    adz_tensor *parts = adz_relu(adz_linear(in[X], in[WEIGHT], in[BIAS]));
    parts = adz_dropout(parts, p, true, generator);
    after = adz_generator_get_state(generator);
    adz_generator_set_state(generator, before);
    adz_tensor *y = adz_linear_relu_dropout(in[X], in[WEIGHT], in[BIAS], p, true, generator);
    assert_int_equal(adz_generator_get_state(generator).offset, after.offset);
    assert_true(adz_equal(y, parts));
    adz_tensor *upstream = adz_randn_like(y);
    for (int i = X; i < INPUTS; ++i) {
        if (in[i] != ADZ_NONE) {
            adz_tensor *g = gradient_of(adz_mul(y, upstream), in[i]);
            assert_true(adz_equal(g, gradient_of(adz_mul(parts, upstream), in[i])));
        }
    }
}

static adz_tensor *leaf(adz_shape shape, adz_dtype dtype)
{
    return adz_requires_grad_(adz_randn(shape, dtype), true);
}

static void compare_sizes(int64_t n, int64_t d, int64_t h, adz_dtype dtype)
{
    const double ps[] = { 0, 0.3, 1 };
    adz_generator *generator = adz_generator_new(3);
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *in[INPUTS] = { leaf(ADZ_SHAPE(n, d), dtype), leaf(ADZ_SHAPE(h, d), dtype),
            leaf(ADZ_SHAPE(h), dtype) };
        compare(in, ps[i], generator);
        in[WEIGHT] = adz_transpose(leaf(ADZ_SHAPE(d, h), dtype), 0, 1);
        in[BIAS] = ADZ_NONE;
        compare(in, ps[i], generator);
        /* a weight whose rows are not contiguous */
        adz_tensor *wide = leaf(ADZ_SHAPE(d, 2 * h + 3), dtype);
        in[WEIGHT] = adz_transpose(adz_slice(wide, 1, 1, h + 1, 1), 0, 1);
        compare(in, ps[i], generator);
        adz_scope_close(scope);
    }
    adz_generator_free(&generator);
}

/* The sizes take every implementation of products: the small ones, several panels deep, and the
 * matrices and vectors of BLAS. */
FACT(bits_are_those_of_the_parts)
{
    static const int64_t sizes[][3] = { { 32, 1, 32 }, { 128, 13, 50 }, { 1, 1, 1 }, { 3, 300, 5 },
        { 6, 300, 7 }, { 33, 300, 7 }, { 9, 2000, 1 }, { 1, 5, 70 }, { 2, 1030, 3 }, { 70, 64, 65 },
        { 100, 90, 110 }, { 300, 500, 1 }, { 1, 500, 300 } };
    adz_manual_seed(5);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        compare_sizes(sizes[i][0], sizes[i][1], sizes[i][2], ADZ_F32);
        compare_sizes(sizes[i][0], sizes[i][1], sizes[i][2], ADZ_F64);
    }
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    compare_sizes(128, 13, 50, ADZ_F32);
    compare_sizes(100, 90, 110, ADZ_F32);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
}

/* As in adz_relu, a NaN stays NaN and its gradient passes. */
FACT(nan_passes)
{
    static const int64_t rows[] = { 1, 5, 40, 200 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(rows[i], 40), NAN, ADZ_F32), true);
        adz_tensor *w = adz_ones(ADZ_SHAPE(40, 40), ADZ_F32);
        adz_tensor *y = adz_linear_relu(x, w, adz_zeros(ADZ_SHAPE(40), ADZ_F32));
        adz_tensor *count = adz_sum(adz_isnan(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_true(adz_tensor_at(count, NULL) == 40.0 * (double)rows[i]);
        adz_tensor *g = gradient_of(y, x);
        assert_true(adz_tensor_at(adz_amin(g, ADZ_ALL_DIMS, ADZ_DROPDIM), NULL) == 40);
    }
}

FACT(a_failed_call_draws_nothing)
{
    adz_generator *generator = adz_generator_new(1);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *w = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32);
    ASSERT_REFUSED(adz_linear_relu_dropout(x, w, ADZ_NONE, 0.5, true, generator), ADZ_ERR_SHAPE,
        "weight[4, 2]");
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
}

FACT(p_is_a_probability)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *w = adz_ones(ADZ_SHAPE(4, 3), ADZ_F32);
    static const double outside[] = { -0.5, 1.5, NAN };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
        ASSERT_REFUSED(adz_linear_relu_dropout(x, w, ADZ_NONE, outside[i], false, NULL),
            ADZ_ERR_ARGUMENT, "but must be in [0, 1]");
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(bits_are_those_of_the_parts),
    cmocka_unit_test(nan_passes),
    cmocka_unit_test(a_failed_call_draws_nothing),
    cmocka_unit_test(p_is_a_probability),
};

const op_case linear_relu_case = {
    .name = "linear_relu",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(2, 4), IN(2) } },
        { .in = { IN(3, 4), IN(5, 4), IN(5) }, .p = { 0.3, 1 } },
        { .in = { IN(3, 4), IN(2, 4), IN(2) }, .p = { 0.3, 0 } },
        { .in = { IN(3, 4), IN(2, 4), IN(2) }, .p = { 1, 1 } },
        { .in = { IN_T(3, 4), IN_T(2, 4), IN_NONE }, .p = { 0.5, 1 } },
        { .in = { IN(4), IN(3, 4), IN(3) } },
        { .in = { IN(2, 3, 4), IN(5, 4), IN(5) } },
        { .in = { IN(2, 1), IN(3, 1), IN(3) } },
        { .in = { IN(7, 4), IN(1, 4), IN(1) } },
        { .in = { IN(0, 4), IN(2, 4), IN(2) } },
        { .in = { IN(3, 0), IN(2, 0), IN(2) } },
        { .in = { IN_CONST(3, 4), IN(2, 4), IN(2) } },
        { .in = { IN_CONST(3, 4), IN_CONST(2, 4), IN(2) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(2, 5), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "[out, in]" },
        { .in = { IN(3, 4), IN(2, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "bias[3]" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(2, 4), IN(2) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3, 4), IN(2, 4), IN(2) }, .p = { 1.5, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
    },
    .inputs = { "x", "weight", "bias" },
    FACTS(facts),
};
