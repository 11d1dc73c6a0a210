#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_take(a->in[0], a->in[1]), out);
}

FACT(positions_count_row_by_row)
{
    adz_tensor *x =
        adz_transpose(adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4, 5, 6), ADZ_SHAPE(2, 3)), 0, 1);
    adz_tensor *y = adz_take(x, adz_reshape(VALUES(ADZ_I64, 1, 5, 0, 1), ADZ_SHAPE(2, 2)));
    assert_int_equal(adz_tensor_rank(y), 2);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I64, 4, 6, 1, 4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(positions_count_row_by_row),
};

const op_case take_case = {
    .name = "take",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_INDEX(12, 5) } },
        { .in = { IN_T(3, 4), IN_INDEX(12, 2, 3) } },
        { .in = { IN_0, IN_INDEX(1, 3) } },
        { .in = { IN(7), IN_INDEX_0(7) } },
        { .in = { IN(1, 2), IN_INDEX(2, 0) } },
        { .in = { IN(0), IN_INDEX(2, 0, 3) } },
    },
    .rejects = {
        { .in = { IN(3), IN_INDEX(9, 30) }, .status = ADZ_ERR_INDEX },
        { .in = { IN(3), IN(3) }, .status = ADZ_ERR_DTYPE },
    },
    .first_order_only = true,
    .inputs = { "x", "index" },
    FACTS(facts),
};
