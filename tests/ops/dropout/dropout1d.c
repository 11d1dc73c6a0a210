#include "ops/facts.h"

/* p[0] = p, p[1] = training, p[2] = seed. Every call gets the seed, so that it draws an equal mask.
 */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[2]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = adz_dropout1d(a->in[0], a->p[0], a->p[1] != 0, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* The channels that are kept are those of a draw of one number per channel. */
FACT(the_mask_is_the_bernoulli_draw_of_the_channels)
{
    adz_generator *generator = adz_generator_new(3);
    const adz_generator_state before = adz_generator_get_state(generator);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 6, 7), ADZ_F64);
    adz_tensor *y = adz_dropout1d(x, 0.25, true, generator);
    const adz_generator_state after = adz_generator_get_state(generator);
    adz_generator_set_state(generator, before);
    adz_tensor *mask = adz_generator_bernoulli(generator, 0.75, ADZ_SHAPE(5, 6, 1), ADZ_BOOL);
    assert_int_equal(adz_generator_get_state(generator).offset, after.offset);
    assert_true(adz_item(adz_sum(adz_to(mask, ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM)) < 30);
    assert_true(adz_allclose(y, adz_dropout_mask(x, mask, 0.75), 1e-15, 0, false));
    adz_generator_free(&generator);
}

FACT(evaluation_and_p_zero_return_x_itself)
{
    adz_generator *generator = adz_generator_new(1);
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 6, 7), ADZ_F32);
    assert_ptr_equal(adz_dropout1d(x, 0.5, false, generator), x);
    assert_ptr_equal(adz_dropout1d(x, 0, true, generator), x);
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
}

FACT(p_one_gives_zeros_and_nan_is_not_dropped)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 6, 7), ADZ_F32);
    assert_true(adz_equal(adz_dropout1d(x, 1, true, NULL), adz_zeros_like(x)));
    adz_tensor *y = adz_dropout1d(adz_full(ADZ_SHAPE(5, 6, 7), NAN, ADZ_F64), 0.9, true, NULL);
    assert_true(adz_item(adz_sum(adz_to(adz_isnan(y), ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM)) ==
                (double)adz_tensor_numel(y));
}

/* A sample without a batch gives the result of a batch of one. */
FACT(a_batch_may_be_missing)
{
    adz_generator *generator = adz_generator_new(5);
    const adz_generator_state before = adz_generator_get_state(generator);
    adz_tensor *x = adz_randn(ADZ_SHAPE(8, 3), ADZ_F32);
    adz_tensor *y = adz_dropout1d(x, 0.5, true, generator);
    adz_generator_set_state(generator, before);
    adz_tensor *z = adz_dropout1d(adz_unsqueeze(x, 0), 0.5, true, generator);
    assert_true(adz_equal(y, adz_squeeze(z, 0)));
    adz_generator_free(&generator);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_mask_is_the_bernoulli_draw_of_the_channels),
    cmocka_unit_test(evaluation_and_p_zero_return_x_itself),
    cmocka_unit_test(p_one_gives_zeros_and_nan_is_not_dropped),
    cmocka_unit_test(a_batch_may_be_missing),
};

const op_case dropout1d_case = {
    .name = "dropout1d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4) }, .p = { 0.5, 1, 1 } },
        { .in = { IN_T(3, 2, 5) }, .p = { 0.3, 1, 2 } },
        { .in = { IN(4, 3) }, .p = { 0.5, 1, 3 } },
        { .in = { IN(0, 3, 2) }, .p = { 0.5, 1, 4 } },
        { .in = { IN(2, 1, 3) }, .p = { 0.25, 0, 5 } },
        { .in = { IN(3, 4, 1) }, .p = { 1, 1, 6 } },
    },
    .rejects = {
        { .in = { IN(2, 3, 4) }, .p = { -0.1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
        { .in = { IN(4) }, .p = { 0.5, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "must have from 2 to 3" },
        { .in = { IN(1, 2, 3, 4) }, .p = { 0.5, 1, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_I64, 2, 3) }, .p = { 0.5, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
