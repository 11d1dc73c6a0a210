#include "ops/facts.h"

/* p[0] = offset, p[1] = dim1, p[2] = dim2 */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_diag_embed(a->in[0], (int64_t)a->p[0], (int)a->p[1], (int)a->p[2]), out);
}

FACT(vectors_on_diagonals)
{
    adz_tensor *x = VALUES(ADZ_I64, 1, 2);
    adz_tensor *y = adz_diag_embed(x, 0, -2, -1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I64, 1, 0, 0, 2);
    y = adz_diag_embed(x, 1, -2, -1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_I64, 0, 1, 0, 0, 0, 2, 0, 0, 0);
    y = adz_diag_embed(x, -1, 0, 1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_I64, 0, 0, 0, 1, 0, 0, 0, 2, 0);
    y = adz_diag_embed(x, -1, 1, 0);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_I64, 0, 1, 0, 0, 0, 2, 0, 0, 0);
    adz_tensor *wide = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    y = adz_diagonal(adz_diag_embed(wide, -2, 0, 2), -2, 0, 2);
    assert_true(adz_item(adz_all(adz_eq(y, wide), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(vectors_on_diagonals),
};

const op_case diag_embed_case = {
    .name = "diag_embed",
    .call = call,
    .samples = {
        { .in = { IN(3) }, .p = { 0, -2, -1 } },
        { .in = { IN_T(2, 3) }, .p = { 1, 0, -1 } },
        { .in = { IN(2, 2, 3) }, .p = { -2, 3, 1 } },
        { .in = { IN(1) }, .p = { 0, 0, 1 } },
        { .in = { IN(0) }, .p = { 2, 0, 1 } },
        { .in = { IN(0, 2) }, .p = { 0, 0, 1 } },
    },
    .rejects = {
        { .in = { IN_0 }, .p = { 0, 0, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3) }, .p = { 0, 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3) }, .p = { 0, 2, 1 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
