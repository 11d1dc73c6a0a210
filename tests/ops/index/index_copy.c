#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_index_copy(a->in[0], (int)a->p[0], a->in[1], a->in[2]), out);
}

FACT(the_last_subtensor_stays)
{
    adz_tensor *x = LEAF(1, 2, 3), *source = LEAF(10, 20);
    adz_tensor *y = adz_index_copy(x, 0, VALUES(ADZ_I64, 1, 1), source);
    ASSERT_VALUES(y, ADZ_F64, 1, 20, 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 0, 1);
    ASSERT_VALUES(gradient_of(y, source), ADZ_F64, 0, 1);
    ASSERT_REFUSED(adz_index_copy(x, 0, VALUES(ADZ_I64, 1), NULL), ADZ_ERR_NULL, "source");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_last_subtensor_stays),
};

const op_case index_copy_case = {
    .name = "index_copy",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3), IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4), IN_INDEX(4, 6), IN_T(3, 6) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 2), IN(2, 2, 4) }, .p = { -2 } },
        { .in = { IN(6), IN_INDEX_0(6), IN(1) }, .p = { 0 } },
        { .in = { IN(3, 2), IN_INDEX(3, 0), IN(0, 2) }, .p = { 0 } },
        { .in = { IN(1, 0), IN_INDEX(1, 2), IN(2, 0) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2), IN(2, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2), IN(2, 3) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "it must be [2, 4]" },
        { .in = { IN(3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "source int64" },
        { .in = { IN(2), IN_INDEX(9, 30), IN(30) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "index" },
    },
    .first_order_only = true,
    .inputs = { "x", "index", "source" },
    FACTS(facts),
};
