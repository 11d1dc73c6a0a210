#include "ops/facts.h"

/* p[0] = reduction, p[1] = margin, p[2] = targets are as they are; those of a sample are 0 and 1
 * and become -1 and 1 */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *target = a->in[2];
    if (target != NULL && a->p[2] == 0) {
        target = adz_add_number(adz_mul_number(target, 2), -1);
    }
    return case_one(
        adz_cosine_embedding_loss(a->in[0], a->in[1], target, (adz_reduction)a->p[0], a->p[1]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "margin", 0);
    a->p[2] = 1;
    return true;
}

FACT(angles_decide)
{
    const double left[] = { 3, 0, 1, 1, 1, 0, 1, 0 }, right[] = { 5, 0, -2, -2, 1, 1, 0, 2 };
    adz_tensor *x1 = adz_tensor_from(left, ADZ_SHAPE(4, 2), ADZ_F64);
    adz_tensor *x2 = adz_tensor_from(right, ADZ_SHAPE(4, 2), ADZ_F64);
    adz_tensor *target = VALUES(ADZ_I64, 1, 1, -1, 5);
    adz_tensor *l = adz_cosine_embedding_loss(x1, x2, target, ADZ_REDUCE_NONE, 0.5);
    adz_tensor *wanted = VALUES(ADZ_F64, 0, 2, sqrt(0.5) - 0.5, 0);
    assert_true(adz_allclose(l, wanted, 1e-11, 1e-11, false));
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(2), ADZ_F64);
    l = adz_cosine_embedding_loss(zero, zero, adz_scalar(1, ADZ_I64), ADZ_REDUCE_NONE, 0);
    assert_true(adz_tensor_rank(l) == 0 && adz_item(l) == 1);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(angles_decide) };

const op_case cosine_embedding_loss_case = {
    .name = "cosine_embedding_loss",
    .call = call,
    .samples = {
        { .in = { IN(6, 3), IN(6, 3), IN_INDEX(2, 6) }, .p = { ADZ_REDUCE_MEAN, -0.9 } },
        { .in = { IN_T(5, 3), IN(5, 3), IN_INDEX(2, 5) }, .p = { ADZ_REDUCE_NONE, -1.5 } },
        { .in = { IN(4), IN(4), IN_INDEX_0(2) }, .p = { ADZ_REDUCE_SUM, -1.5 } },
        { .in = { IN(0, 3), IN(0, 3), IN_INDEX(2, 0) }, .p = { ADZ_REDUCE_SUM, 0 } },
        { .in = { IN(1, 3), IN(1, 3), IN_INDEX(1, 1) }, .p = { ADZ_REDUCE_MEAN, -1.5 } },
        { .in = { IN_T(3, 4), IN_T(3, 4), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_SUM, -1.5 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "x2[3, 5]" },
        { .in = { IN(3, 4), IN(3, 4), IN_INDEX(2, 4) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "target[4]" },
        { .in = { IN(3, 4), IN(3, 4), IN_INDEX(2, 3) }, .p = { 7 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3, 4), IN(3, 4), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN, INFINITY }, .status = ADZ_ERR_ARGUMENT, .says = "margin is inf" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(3, 4), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE, .says = "x1[3, 4] is int64" },
    },
    .vectors = { "cosine_embedding_loss" },
    .inputs = { "x1", "x2", "target" },
    .config = config,
    FACTS(facts),
};
