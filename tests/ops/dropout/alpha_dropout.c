#include "ops/facts.h"

/* p[0] = p, p[1] = training, p[2] = seed. Every call gets the seed, so that it draws an equal mask.
 */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[2]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_alpha_dropout(a->in[0], a->p[0], a->p[1] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* Of a draw m: y = a (m x + (m - 1) s + p s), by the formula in plain numbers. */
FACT(the_formula_holds_for_the_draw)
{
    adz_generator *generator = adz_generator_new(3);
    const adz_generator_state before = adz_generator_get_state(generator);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 6, 7), ADZ_F64);
    adz_tensor *y = adz_alpha_dropout(x, 0.25, true, generator);
    adz_generator_set_state(generator, before);
    adz_tensor *m = adz_generator_bernoulli(generator, 0.75, ADZ_SHAPE(5, 6, 7), ADZ_F64);
    m = adz_contiguous(adz_expand(m, ADZ_SHAPE(5, 6, 7)));
    const double s = 1.7580993408473766, a = 1 / sqrt(0.75 * (1 + 0.25 * s * s));
    const double *in = adz_tensor_data_f64(x), *out = adz_tensor_data_f64(y);
    const double *kept = adz_tensor_data_f64(m);
    int dropped = 0;
    for (int i = 0; i < 210; ++i) {
        const double expected = a * (kept[i] * in[i] + (kept[i] - 1) * s + 0.25 * s);
        assert_true(fabs(out[i] - expected) < 1e-14);
        dropped += kept[i] == 0;
    }
    assert_true(dropped > 0 && dropped < 210);
    adz_generator_free(&generator);
}

FACT(evaluation_and_p_zero_return_x_itself)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_ptr_equal(adz_alpha_dropout(x, 0.5, false, NULL), x);
    assert_ptr_equal(adz_alpha_dropout(x, 0, true, NULL), x);
    assert_true(adz_equal(adz_alpha_dropout(x, 1, true, NULL), adz_zeros_like(x)));
}

/* The reason of the formula: elements of mean 0 and variance 1 keep both. */
FACT(mean_and_variance_stay)
{
    adz_manual_seed(2);
    adz_tensor *y = adz_alpha_dropout(adz_randn(ADZ_SHAPE(100000), ADZ_F64), 0.3, true, NULL);
    assert_true(fabs(adz_item(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM))) < 0.02);
    assert_true(fabs(adz_item(adz_var(y, ADZ_ALL_DIMS, 0, ADZ_DROPDIM)) - 1) < 0.03);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_formula_holds_for_the_draw),
    cmocka_unit_test(evaluation_and_p_zero_return_x_itself),
    cmocka_unit_test(mean_and_variance_stay),
};

const op_case alpha_dropout_case = {
    .name = "alpha_dropout",
    .call = call,
    .samples = {
        { .in = { IN(10) }, .p = { 0.5, 1, 1 } },
        { .in = { IN_T(4, 7) }, .p = { 0.3, 1, 2 } },
        { .in = { IN(2, 1, 6) }, .p = { 0.25, 1, 3 } },
        { .in = { IN(0, 3) }, .p = { 0.5, 1, 4 } },
        { .in = { IN(3, 2) }, .p = { 1, 1, 5 } },
        { .in = { IN(3, 2) }, .p = { 0.5, 0, 6 } },
        { .in = { IN_0 }, .p = { 0.5, 1, 7 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { -0.1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
