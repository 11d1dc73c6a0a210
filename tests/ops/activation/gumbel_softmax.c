#include "ops/facts.h"

/* p[0] = tau, p[1] = hard, p[2] = dim, p[3] = seed, so that each call draws the same. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[3]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_gumbel_softmax(a->in[0], a->p[0], a->p[1] != 0, (int)a->p[2], generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* Whichever tau, the largest element of a draw is a category with the probability softmax(x). */
FACT(hard_draws_have_the_probabilities_of_the_softmax)
{
    enum { N = 20000 };
    adz_generator *generator = adz_generator_new(3);
    adz_tensor *x = adz_expand(VALUES(ADZ_F64, log(0.5), log(0.3), log(0.2)), ADZ_SHAPE(N, 3));
    adz_tensor *y = adz_gumbel_softmax(x, 2, true, -1, generator);
    adz_tensor *share = adz_mean(y, ADZ_DIMS(0), ADZ_DROPDIM);
    assert_true(adz_equal(adz_sum(y, ADZ_DIMS(1), ADZ_DROPDIM), adz_ones(ADZ_SHAPE(N), ADZ_F64)));
    assert_true(adz_equal(adz_amax(y, ADZ_DIMS(1), ADZ_DROPDIM), adz_ones(ADZ_SHAPE(N), ADZ_F64)));
    assert_true(adz_allclose(share, VALUES(ADZ_F64, 0.5, 0.3, 0.2), 0, 0.015, false));
    adz_generator_free(&generator);
}

FACT(hard_draws_have_the_gradient_of_the_soft_ones)
{
    const double weights[] = { 3, -1, 0.5, 2, 0.25, 7 };
    adz_tensor *w = adz_tensor_from(weights, ADZ_SHAPE(2, 3), ADZ_F64), *y[2], *g[2];
    adz_tensor *x = adz_requires_grad_(adz_neg(adz_square(w)), true);
    for (int hard = 0; hard < 2; ++hard) {
        adz_generator *generator = adz_generator_new(9);
        y[hard] = adz_gumbel_softmax(x, 0.7, hard == 1, 0, generator);
        g[hard] = gradient_of(adz_mul(y[hard], w), x);
        adz_generator_free(&generator);
    }
    assert_true(adz_equal(g[0], g[1]));
    assert_true(adz_equal(
        adz_argmax(y[0], ADZ_DIMS(0), ADZ_DROPDIM), adz_argmax(y[1], ADZ_DIMS(0), ADZ_DROPDIM)));
    assert_false(adz_equal(y[0], y[1]));
}

/* With equal logits, log y is a difference of Gumbel numbers, whose variance is pi^2 / 3. */
FACT(soft_draws_are_those_of_gumbel_numbers)
{
    adz_generator *generator = adz_generator_new(4);
    adz_tensor *y = adz_log(
        adz_gumbel_softmax(adz_zeros(ADZ_SHAPE(40000, 2), ADZ_F32), 1, false, 1, generator));
    adz_tensor *d = adz_sub(adz_select(y, 1, 0), adz_select(y, 1, 1));
    assert_true(fabs(adz_item(adz_mean(d, ADZ_ALL_DIMS, ADZ_DROPDIM))) < 0.03);
    assert_true(fabs(adz_item(adz_mean(adz_square(d), ADZ_ALL_DIMS, ADZ_DROPDIM)) - 3.2899) < 0.12);
    assert_true(adz_item(adz_all(adz_isfinite(d), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1);
    adz_generator_free(&generator);
}

FACT(empty_slices_and_scalars)
{
    assert_int_equal(
        adz_tensor_numel(adz_gumbel_softmax(adz_ones(ADZ_SHAPE(3, 0), ADZ_F32), 1, true, 1, NULL)),
        0);
    assert_true(adz_item(adz_gumbel_softmax(adz_scalar(2, ADZ_F64), 1, true, 0, NULL)) == 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(hard_draws_have_the_probabilities_of_the_softmax),
    cmocka_unit_test(hard_draws_have_the_gradient_of_the_soft_ones),
    cmocka_unit_test(soft_draws_are_those_of_gumbel_numbers),
    cmocka_unit_test(empty_slices_and_scalars),
};

const op_case gumbel_softmax_case = {
    .name = "gumbel_softmax",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1, 0, 1, 1 } },
        { .in = { IN_T(3, 4) }, .p = { 0.5, 0, 0, 2 } },
        { .in = { IN(2, 1, 3) }, .p = { 2, 0, -1, 3 } },
        { .in = { IN(9) }, .p = { 1, 0, 0, 4 } },
        { .in = { IN(0, 3) }, .p = { 1, 0, 1, 1 } },
        { .in = { IN_0 }, .p = { 1, 0, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "tau is 0" },
        { .in = { IN(3) }, .p = { NAN, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "tau" },
        { .in = { IN(3, 4) }, .p = { 1, 0, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
