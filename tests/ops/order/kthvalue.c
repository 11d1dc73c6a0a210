#include "ops/facts.h"

/* p[0] = k, p[1] = dim, p[2] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_kthvalue(a->in[0], (int64_t)a->p[0], (int)a->p[1], a->p[2] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(from_the_smallest_to_nan)
{
    static const double sorted[] = { -3, 1, 4, 7, NAN };
    static const double places[] = { 3, 1, 4, 0, 2 };
    for (int k = 1; k <= 5; ++k) {
        adz_tensor *x = LEAF(7, 1, NAN, -3, 4), *at;
        adz_tensor *y = adz_kthvalue(x, k, 0, ADZ_DROPDIM, &at);
        ASSERT_VALUES(adz_unsqueeze(y, 0), ADZ_F64, sorted[k - 1]);
        ASSERT_VALUES(adz_unsqueeze(at, 0), ADZ_I64, places[k - 1]);
        assert_true(adz_item(adz_select(gradient_of(y, x), 0, (int64_t)places[k - 1])) == 1);
    }
    adz_tensor *at, *y = adz_kthvalue(adz_scalar(3, ADZ_I64), 1, 0, ADZ_DROPDIM, &at);
    assert_true(adz_item_i64(y) == 3 && adz_item_i64(at) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(from_the_smallest_to_nan),
};

const op_case kthvalue_case = {
    .name = "kthvalue",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 5) }, .p = { 2, 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) }, .p = { 4, 0, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 6, 2) }, .p = { 5, -2 } },
        { .in = { IN_OF(FILL_DISTINCT, 1) }, .p = { 1, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { 3, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 200) }, .p = { 77, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "k is 0" },
        { .in = { IN(3, 4) }, .p = { 5, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "size 4 of dimension 1" },
        { .in = { IN(3, 4) }, .p = { 1, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_BF16, 3) }, .p = { 1, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
