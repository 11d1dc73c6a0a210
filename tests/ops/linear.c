#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_linear(a->in[0], a->in[1], a->in[2]), out);
}

/* On either side of where the sum of few rows ends, of rows and of elements. */
FACT(the_gradient_of_a_bias_is_the_sum_of_rows)
{
    static const int64_t rows[] = { 1, 2, 511, 512, 513, 700 }, columns[] = { 1, 3, 64, 70 };
    for (int i = 0; i < 6 * 4; ++i) {
        const int64_t n = rows[i / 4], h = columns[i % 4];
        adz_tensor *x = adz_randn(ADZ_SHAPE(n, 2), ADZ_F32),
                   *w = adz_randn(ADZ_SHAPE(h, 2), ADZ_F32);
        adz_tensor *b = adz_requires_grad_(adz_zeros(ADZ_SHAPE(h), ADZ_F32), true);
        adz_tensor *g = adz_randn(ADZ_SHAPE(n, h), ADZ_F32);
        adz_tensor *db = gradient_of(adz_mul(adz_linear(x, w, b), g), b);
        assert_true(adz_equal(db, adz_sum(g, ADZ_DIMS(0), ADZ_DROPDIM)));
    }
}

/* The sizes that are not 0 must fit, too: strides are made of them. */
FACT(results_too_large_are_refused)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(0, (int64_t)1 << 45, 2), ADZ_F32);
    adz_tensor *w = adz_expand(adz_zeros(ADZ_SHAPE(1, 2), ADZ_F32), ADZ_SHAPE(1 << 20, 2));
    ASSERT_REFUSED(adz_linear(x, w, ADZ_NONE), ADZ_ERR_SHAPE, "more elements than fit");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(results_too_large_are_refused),
    cmocka_unit_test(the_gradient_of_a_bias_is_the_sum_of_rows),
};

const op_case linear_case = {
    .name = "linear",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(2, 4), IN(2) } },
        { .in = { IN_T(3, 4), IN_T(2, 4), IN_NONE } },
        { .in = { IN(4), IN(2, 4), IN(2) } },
        { .in = { IN(2, 3, 4), IN(5, 4), IN(5) } },
        { .in = { IN(1, 1), IN(1, 1), IN(1) } },
        { .in = { IN(0, 4), IN(2, 4), IN(2) } },
        { .in = { IN(3, 0), IN(2, 0), IN(2) } },
        { .in = { IN_CONST(3, 4), IN(2, 4), IN(2) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(2, 5), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "[out, in]" },
        { .in = { IN(3, 4), IN(2, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "bias[3]" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(2, 4), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "linear" },
    .inputs = { "x", "weight", "bias" },
    FACTS(facts),
};
