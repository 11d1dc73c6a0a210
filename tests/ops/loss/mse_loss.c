#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_mse_loss(a->in[0], a->in[1], (adz_reduction)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    return true;
}

static void keep_warning(adz_status status, const char *message, void *user)
{
    (void)status;
    snprintf(user, 256, "%s", message);
}

FACT(broadcasting_gives_a_warning)
{
    char warning[256] = "";
    adz_on_warning(keep_warning, warning);
    adz_tensor *x = LEAF(3, 4);
    adz_backward(adz_mse_loss(x, VALUES(ADZ_F64, 1, 2), ADZ_REDUCE_MEAN));
    assert_string_equal(warning, "");
    adz_mse_loss(adz_reshape(x, ADZ_SHAPE(2, 1)), VALUES(ADZ_F64, 1, 2), ADZ_REDUCE_MEAN);
    adz_on_warning(NULL, NULL);
    assert_string_equal(warning,
        "mse_loss: x[2, 1] and target[2] differ in shape and are broadcast, which is seldom what is meant; adz_reshape one of them");
}

/* x and target are expanded to their common shape first, so the dtype of a scalar counts like that
 * of any tensor. */
FACT(a_scalar_target_promotes_as_any_other)
{
    adz_tensor *x = adz_requires_grad_(VALUES(ADZ_F32, 1, 3), true);
    adz_tensor *t = adz_requires_grad_(adz_scalar(0.5, ADZ_F64), true);
    adz_tensor *l = adz_mse_loss(x, t, ADZ_REDUCE_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0.25, 6.25);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F32, 1, 5);
    assert_int_equal(adz_tensor_dtype(gradient_of(l, t)), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(adz_mse_loss(x, t, ADZ_REDUCE_MEAN)), ADZ_F64);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_scalar_target_promotes_as_any_other),
    cmocka_unit_test(broadcasting_gives_a_warning),
};

const op_case mse_loss_case = {
    .name = "mse_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(3, 4), IN_T(3, 4) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(3, 1), IN(4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(1), IN(1) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(5, 7), IN_CONST(5, 7) }, .p = { ADZ_REDUCE_MEAN } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { 7 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "mse_loss" },
    .inputs = { "x", "target" },
    .config = config,
    FACTS(facts),
};
