#include "ops/facts.h"

/* p[0] = value, p[1] = how many numbers, p[2] .. = pads */
static int call(const op_args *a, adz_tensor **out)
{
    int64_t pads[CASE_PARAMS];
    size_t n = (size_t)a->p[1];
    for (size_t i = 0; i < n; ++i) {
        pads[i] = (int64_t)a->p[2 + i];
    }
    return case_one(adz_pad(a->in[0], pads, n, a->p[0]), out);
}

FACT(the_first_pair_is_the_last_dimension)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I32, 1, 2), ADZ_SHAPE(1, 2));
    adz_tensor *y = adz_pad(x, (int64_t[]){ 1, 0, 0, 1 }, 4, 9);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I32, 9, 1, 2, 9, 9, 9);
    assert_int_equal(adz_tensor_size(y, 0), 2);
}

FACT(negative_padding_crops)
{
    adz_tensor *x = LEAF(1, 2, 3, 4), *y = adz_pad(x, (int64_t[]){ -1, 2 }, 2, NAN);
    ASSERT_VALUES(y, ADZ_F64, 2, 3, 4, NAN, NAN);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 1, 1, 1);
    ASSERT_VALUES(adz_pad(x, (int64_t[]){ -4, 1 }, 2, 7), ADZ_F64, 7);
}

FACT(values_must_fit_the_dtype)
{
    adz_tensor *x = VALUES(ADZ_I64, 1);
    ASSERT_REFUSED(adz_pad(x, (int64_t[]){ 1, 1 }, 2, 0.5), ADZ_ERR_ARGUMENT, "value");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_first_pair_is_the_last_dimension),
    cmocka_unit_test(negative_padding_crops),
    cmocka_unit_test(values_must_fit_the_dtype),
};

const op_case pad_case = {
    .name = "pad",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, 2, 1, 2 } },
        { .in = { IN_T(3, 4) }, .p = { 1.5, 4, 0, 1, 2, -1 } },
        { .in = { IN(2, 3, 2) }, .p = { -1, 6, 1, 0, 0, 1, -1, 2 } },
        { .in = { IN(5) }, .p = { 2, 2, -2, -1 } },
        { .in = { IN_0 }, .p = { 2, 0 } },
        { .in = { IN(1, 1) }, .p = { 0, 4, 1, 1, 1, 1 } },
        { .in = { IN(0, 2) }, .p = { 3, 4, 0, 0, 1, 1 } },
        { .in = { IN(3, 2) }, .p = { 3, 2, -1, -1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 3, 1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "pairs" },
        { .in = { IN(3) }, .p = { 0, 4, 1, 1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "4 numbers" },
        { .in = { IN(3) }, .p = { 0, 2, -2, -2 }, .status = ADZ_ERR_SHAPE, .says = "crops" },
        { .in = { IN(3) }, .p = { 0, 2, -4, 4 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3) }, .p = { 0, 2, 4e18, 4e18 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    FACTS(facts),
};
