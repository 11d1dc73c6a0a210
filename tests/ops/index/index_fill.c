#include "ops/facts.h"

/* p[0] = dim, p[1] = value */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_index_fill(a->in[0], (int)a->p[0], a->in[1], a->p[1] * case_units[0]), out);
}

FACT(rows_and_columns)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I32, 1, 2, 3, 4, 5, 6), ADZ_SHAPE(2, 3));
    adz_tensor *y = adz_index_fill(x, 1, VALUES(ADZ_I64, 2, 0), 9);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I32, 9, 2, 9, 9, 5, 9);
    adz_tensor *leaf = LEAF(1, 2, 3);
    y = adz_index_fill(leaf, 0, adz_scalar(1, ADZ_I64), NAN);
    ASSERT_VALUES(y, ADZ_F64, 1, NAN, 3);
    ASSERT_VALUES(gradient_of(y, leaf), ADZ_F64, 1, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(rows_and_columns),
};

const op_case index_fill_case = {
    .name = "index_fill",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3) }, .p = { 0, 2 } },
        { .in = { IN_T(3, 4), IN_INDEX(4, 6) }, .p = { 1, -1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 2) }, .p = { -2, 0 } },
        { .in = { IN(6), IN_INDEX_0(6) }, .p = { 0, 1 } },
        { .in = { IN(3, 2), IN_INDEX(3, 0) }, .p = { 0, 1 } },
        { .in = { IN(1, 0), IN_INDEX(1, 2) }, .p = { 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0, IN_INDEX(1, 1) }, .status = ADZ_ERR_SHAPE, .says = "needs a dimension" },
        { .in = { IN(2), IN_INDEX(9, 30) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "index" },
    },
    .first_order_only = true,
    .inputs = { "x", "index" },
    FACTS(facts),
};
