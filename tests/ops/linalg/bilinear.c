#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_bilinear(a->in[0], a->in[1], a->in[2], a->in[3]), out);
}

FACT(each_output_has_its_own_form)
{
    adz_tensor *x1 = VALUES(ADZ_F64, 1, 2), *x2 = VALUES(ADZ_F64, 3, 5, 7);
    adz_tensor *w =
        adz_reshape(VALUES(ADZ_F64, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0), ADZ_SHAPE(2, 2, 3));
    ASSERT_VALUES(adz_bilinear(x1, x2, w, VALUES(ADZ_F64, 0, 100)), ADZ_F64, 17, 105);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_output_has_its_own_form),
};

const op_case bilinear_case = {
    .name = "bilinear",
    .call = call,
    .samples = {
        { .in = { IN(5, 3), IN(5, 4), IN(2, 3, 4), IN(2) } },
        { .in = { IN_T(5, 3), IN(5, 4), IN_T(2, 3, 4), IN_NONE } },
        { .in = { IN(3), IN(4), IN(2, 3, 4), IN(2) } },
        { .in = { IN(2, 3, 2), IN(2, 3, 1), IN(1, 2, 1), IN(1) } },
        { .in = { IN(0, 3), IN(0, 4), IN(2, 3, 4), IN(2) } },
        { .in = { IN(2, 0), IN(2, 3), IN(2, 0, 3), IN(2) } },
    },
    .rejects = {
        { .in = { IN(5, 3), IN(4, 4), IN(2, 3, 4), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "x2[4, 4]" },
        { .in = { IN(5, 3), IN(5, 4), IN(2, 3, 5), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "weight[2, 3, 5]" },
        { .in = { IN(5, 3), IN(5, 4), IN(3, 4), IN_NONE }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_0, IN_0, IN(2, 3, 4), IN_NONE }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(5, 3), IN(5, 4), IN(2, 3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "bias" },
    },
    .inputs = { "x1", "x2", "weight", "bias" },
    FACTS(facts),
};
