#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_categorical_entropy(a->in[0]), out);
}

/* A class of probability 0 counts 0 and gets no gradient. */
FACT(impossible_classes_count_0)
{
    adz_tensor *x = LEAF(0, 0, -(double)INFINITY), *y = adz_categorical_entropy(x);
    assert_true(fabs(adz_item(y) - log(2)) < 1e-15);
    adz_tensor *g = gradient_of(y, x);
    assert_true(adz_allclose(g, VALUES(ADZ_F64, 0, 0, 0), 0, 1e-15, false));
    assert_true(adz_item(adz_categorical_entropy(VALUES(ADZ_F64, 3, -(double)INFINITY))) == 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(impossible_classes_count_0) };

const op_case categorical_entropy_case = {
    .name = "categorical_entropy",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(5) } },
        { .in = { IN(2, 3, 2) } },
        { .in = { IN(0, 3) } },
        { .in = { IN(1, 4) } },
    },
    .rejects = {
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE, .says = "[..., C]" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "logits" },
    FACTS(facts),
};
