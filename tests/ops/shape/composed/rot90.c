#include "ops/facts.h"

/* p[0] = k, p[1], p[2] = dims */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_dims dims = ADZ_DIMS((int)a->p[1], (int)a->p[2]);
    return case_one(adz_rot90(a->in[0], (int64_t)a->p[0], dims), out);
}

FACT(four_turns)
{
    static const double wanted[4][4] = { { 1, 2, 3, 4 }, { 2, 4, 1, 3 }, { 4, 3, 2, 1 },
        { 3, 1, 4, 2 } };
    adz_tensor *x = adz_reshape(VALUES(ADZ_U8, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    for (int k = -4; k < 9; ++k) {
        const double *w = wanted[(k + 4) % 4];
        adz_tensor *y = adz_rot90(x, k, ADZ_DIMS(0, 1));
        ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_U8, w[0], w[1], w[2], w[3]);
        y = adz_rot90(x, -k, ADZ_DIMS(1, 0));
        ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_U8, w[0], w[1], w[2], w[3]);
    }
    ASSERT_REFUSED(adz_rot90(x, 1, ADZ_DIMS(0)), ADZ_ERR_DIM, "1 were given");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(four_turns),
};

const op_case rot90_case = {
    .name = "rot90",
    .call = call,
    .samples = {
        { .in = { IN(2, 3) }, .p = { 1, 0, 1 } },
        { .in = { IN_T(2, 3) }, .p = { 2, 0, 1 } },
        { .in = { IN(2, 3, 4) }, .p = { 3, -1, 0 } },
        { .in = { IN(1, 3) }, .p = { 0, 0, 1 } },
        { .in = { IN(0, 2) }, .p = { 1, 0, 1 } },
        { .in = { IN(2, 3) }, .p = { -1, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 1, 0, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(2, 3) }, .p = { 1, 1, -1 }, .status = ADZ_ERR_DIM, .says = "no plane" },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
