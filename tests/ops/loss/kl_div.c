#include "ops/facts.h"

/* p[0] = reduction, p[1] = log_target */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_kl_div(a->in[0], a->in[1], (adz_reduction)a->p[0], a->p[1] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_flag(config, "log_target", false);
    return true;
}

FACT(a_target_of_zero_contributes_nothing)
{
    adz_tensor *x = LEAF(-1, -2), *t = VALUES(ADZ_F64, 0, 1);
    adz_tensor *l = adz_kl_div(x, t, ADZ_REDUCE_NONE, false);
    ASSERT_VALUES(l, ADZ_F64, 0, 2);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 0, -1);
}

FACT(batchmean_divides_by_the_first_size)
{
    adz_tensor *x = adz_full(ADZ_SHAPE(4, 3), -1, ADZ_F64), *t = adz_ones(ADZ_SHAPE(4, 3), ADZ_F64);
    assert_float_equal(adz_item(adz_kl_div(x, t, ADZ_REDUCE_BATCHMEAN, false)), 3, 0);
    assert_float_equal(adz_item(adz_kl_div(x, t, ADZ_REDUCE_MEAN, false)), 1, 0);
}

/* A scalar is promoted as in arithmetic, because PyTorch does not expand the inputs of this loss.
 */
FACT(a_scalar_yields_to_the_dtype_of_the_other)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 3), *t = adz_scalar(1, ADZ_F64);
    ASSERT_VALUES(adz_kl_div(x, t, ADZ_REDUCE_NONE, false), ADZ_F32, -1, -3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_scalar_yields_to_the_dtype_of_the_other),
    cmocka_unit_test(a_target_of_zero_contributes_nothing),
    cmocka_unit_test(batchmean_divides_by_the_first_size),
};

#define POSITIVE(...) IN_OF(FILL_POSITIVE, __VA_ARGS__)

const op_case kl_div_case = {
    .name = "kl_div",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), POSITIVE(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0 } },
        { .in = { IN_T(3, 4), POSITIVE(3, 4) }, .p = { ADZ_REDUCE_SUM, 0 } },
        { .in = { IN(3, 4), IN_T_OF(FILL_POSITIVE, 3, 4) }, .p = { ADZ_REDUCE_NONE, 0 } },
        { .in = { IN(3, 4), IN(4) }, .p = { ADZ_REDUCE_BATCHMEAN, 1 } },
        { .in = { IN(2, 3, 4), IN_T(2, 3, 4) }, .p = { ADZ_REDUCE_NONE, 1 } },
        { .in = { IN(1), POSITIVE(1) }, .p = { ADZ_REDUCE_BATCHMEAN, 0 } },
        { .in = { IN(0, 3), POSITIVE(0, 3) }, .p = { ADZ_REDUCE_SUM, 0 } },
        { .in = { IN(37), IN_CONST(37) }, .p = { ADZ_REDUCE_MEAN, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN, 0 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { 7, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_0, IN_0 }, .p = { ADZ_REDUCE_BATCHMEAN, 0 }, .status = ADZ_ERR_SHAPE, .says = "batch" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "kl_div" },
    .inputs = { "x", "target" },
    .config = config,
    FACTS(facts),
};
