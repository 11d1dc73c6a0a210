#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_categorical_log_prob(a->in[0], a->in[1]), out);
}

FACT(draws_are_in_front)
{
    adz_tensor *logits = adz_log(adz_reshape(VALUES(ADZ_F64, 1, 3, 2, 2), ADZ_SHAPE(2, 2)));
    adz_tensor *value = adz_reshape(VALUES(ADZ_I32, 0, 0, 1, 1, 1, 0), ADZ_SHAPE(3, 2));
    adz_tensor *p = adz_exp(adz_categorical_log_prob(logits, value));
    adz_tensor *wanted =
        adz_reshape(VALUES(ADZ_F64, 0.25, 0.5, 0.75, 0.5, 0.75, 0.5), ADZ_SHAPE(3, 2));
    assert_true(adz_allclose(p, wanted, 1e-14, 1e-14, false));
    ASSERT_REFUSED(adz_categorical_log_prob(logits, VALUES(ADZ_I64, 0, 2)), ADZ_ERR_INDEX, "2");
}

FACT(impossible_classes)
{
    adz_tensor *logits = VALUES(ADZ_F32, 0, -(double)INFINITY);
    ASSERT_VALUES(
        adz_categorical_log_prob(logits, VALUES(ADZ_I64, 1, 0)), ADZ_F32, -(double)INFINITY, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(draws_are_in_front),
    cmocka_unit_test(impossible_classes),
};

const op_case categorical_log_prob_case = {
    .name = "categorical_log_prob",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_INDEX(4, 3) } },
        { .in = { IN_T(3, 4), IN_INDEX(4, 5, 3) } },
        { .in = { IN(2, 1, 3), IN_INDEX(3, 4) } },
        { .in = { IN(5), IN_INDEX(5, 2) } },
        { .in = { IN(0, 3), IN_INDEX(3, 0) } },
        { .in = { IN(1, 2), IN_INDEX(2, 1) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "classes are integers" },
        { .in = { IN_0, IN_INDEX(4, 3) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 0), IN_INDEX(1, 3) }, .status = ADZ_ERR_SHAPE, .says = "no classes" },
        { .in = { IN(3, 4), IN_INDEX(4, 2) }, .status = ADZ_ERR_SHAPE },
    },
    .inputs = { "logits", "value" },
    FACTS(facts),
};
