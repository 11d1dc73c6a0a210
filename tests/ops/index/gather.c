#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_gather(a->in[0], (int)a->p[0], a->in[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

FACT(every_dtype_is_read)
{
    adz_tensor *index = VALUES(ADZ_I32, 2, 0, 2);
    ASSERT_VALUES(adz_gather(VALUES(ADZ_I64, 5, 6, 7), 0, index), ADZ_I64, 7, 5, 7);
    ASSERT_VALUES(adz_gather(VALUES(ADZ_BOOL, 0, 1, 1), 0, index), ADZ_BOOL, 1, 0, 1);
    ASSERT_VALUES(adz_gather(VALUES(ADZ_I32, 0, 1, -8), 0, index), ADZ_I32, -8, 0, -8);
    ASSERT_VALUES(
        adz_to(adz_gather(VALUES(ADZ_F16, 0, 1, -8), 0, index), ADZ_F32), ADZ_F32, -8, 0, -8);
}

FACT(a_bad_index_is_named)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_tensor *index = adz_reshape(VALUES(ADZ_I64, 0, 1, 2, -3), ADZ_SHAPE(2, 2));
    ASSERT_REFUSED(adz_gather(x, 1, index), ADZ_ERR_INDEX, "index -3 at position [1, 1]");
}

FACT(an_empty_index_of_another_rank_gives_nothing)
{
    adz_tensor *x = adz_requires_grad_(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), true);
    adz_tensor *y = adz_gather(x, 1, adz_zeros(ADZ_SHAPE(0), ADZ_I64));
    assert_int_equal(adz_tensor_numel(y), 0);
    assert_true(adz_equal(gradient_of(y, x), adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype_is_read),
    cmocka_unit_test(a_bad_index_is_named),
    cmocka_unit_test(an_empty_index_of_another_rank_gives_nothing),
};

const op_case gather_case = {
    .name = "gather",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3, 4) }, .p = { 0 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5, 2) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 2, 20, 3) }, .p = { -2 } },
        { .in = { IN(6), IN_INDEX(6, 9) }, .p = { 0 } },
        { .in = { IN_0, IN_INDEX_0(1) }, .p = { 0 } },
        { .in = { IN(3, 1), IN_INDEX(1, 3, 2) }, .p = { 1 } },
        { .in = { IN(0, 2), IN_INDEX(2, 0, 1) }, .p = { 1 } },
        { .in = { IN(3, 2), IN_INDEX(2, 3, 0) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 5) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "index[2, 5]" },
        { .in = { IN(3, 4), IN_INDEX(3, 2) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "same rank" },
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(0, 4), IN_INDEX(3, 2, 4) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "none of the 0" },
    },
    .first_order_only = true,
    .vectors = { "gather" },
    .inputs = { "x", "index" },
    .config = config,
    FACTS(facts),
};
