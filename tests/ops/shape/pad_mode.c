#include "ops/facts.h"

/* p[0] = mode, p[1] = how many numbers, p[2] .. = pads */
static int call(const op_args *a, adz_tensor **out)
{
    int64_t pads[CASE_PARAMS];
    const size_t n = (size_t)a->p[1];
    for (size_t i = 0; i < n; ++i) {
        pads[i] = (int64_t)a->p[2 + i];
    }
    return case_one(adz_pad_mode(a->in[0], pads, n, (adz_padding_mode)(int)a->p[0]), out);
}

static bool config(const json_t *json, op_args *args)
{
    static const char *const modes[] = { "zeros", "reflect", "replicate", "circular" };
    for (int i = 0; i < 4; ++i) {
        if (strcmp(config_text(json, "mode", ""), modes[i]) == 0) {
            args->p[0] = i;
        }
    }
    args->p[1] = config_list(json, "pads", args->p + 2, CASE_PARAMS - 2);
    return args->p[0] > 0;
}

FACT(each_mode_continues_a_row)
{
    adz_tensor *x = VALUES(ADZ_I64, 1, 2, 3);
    const int64_t pads[] = { 2, 1 };
    ASSERT_VALUES(adz_pad_mode(x, pads, 2, ADZ_PADDING_ZEROS), ADZ_I64, 0, 0, 1, 2, 3, 0);
    ASSERT_VALUES(adz_pad_mode(x, pads, 2, ADZ_PADDING_REFLECT), ADZ_I64, 3, 2, 1, 2, 3, 2);
    ASSERT_VALUES(adz_pad_mode(x, pads, 2, ADZ_PADDING_REPLICATE), ADZ_I64, 1, 1, 1, 2, 3, 3);
    ASSERT_VALUES(adz_pad_mode(x, pads, 2, ADZ_PADDING_CIRCULAR), ADZ_I64, 2, 3, 1, 2, 3, 1);
}

FACT(the_first_pair_is_the_last_dimension)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_pad_mode(x, (int64_t[]){ 1, 0, 0, 1 }, 4, ADZ_PADDING_REFLECT);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_I64, 2, 1, 2, 4, 3, 4, 2, 1, 2);
}

FACT(a_new_tensor_is_returned)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2);
    adz_tensor *y = adz_pad_mode(x, (int64_t[]){ 0, 0 }, 2, ADZ_PADDING_CIRCULAR);
    assert_true(adz_equal(x, y));
    assert_ptr_not_equal(adz_tensor_data_f32(x), adz_tensor_data_f32(y));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_mode_continues_a_row),
    cmocka_unit_test(the_first_pair_is_the_last_dimension),
    cmocka_unit_test(a_new_tensor_is_returned),
};

enum { ZEROS, REFLECT, REPLICATE, CIRCULAR };

const op_case pad_mode_case = {
    .name = "pad_mode",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { REFLECT, 2, 3, 2 } },
        { .in = { IN_T(3, 4) }, .p = { REFLECT, 4, 0, 1, 2, 1 } },
        { .in = { IN(2, 3, 2) }, .p = { REPLICATE, 6, 1, 0, 0, 5, 1, 2 } },
        { .in = { IN(5) }, .p = { CIRCULAR, 2, 5, 4 } },
        { .in = { IN(1, 1) }, .p = { REPLICATE, 4, 1, 1, 1, 1 } },
        { .in = { IN(0, 2) }, .p = { CIRCULAR, 4, 1, 1, 0, 0 } },
        { .in = { IN(3, 2) }, .p = { ZEROS, 2, -1, 2 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { REFLECT, 2, 3, 0 }, .status = ADZ_ERR_ARGUMENT,
            .says = "0 to 2 can" },
        { .in = { IN(3) }, .p = { CIRCULAR, 2, 0, 4 }, .status = ADZ_ERR_ARGUMENT,
            .says = "by circular" },
        { .in = { IN(3) }, .p = { REPLICATE, 2, -1, 1 }, .status = ADZ_ERR_ARGUMENT,
            .says = "-1 elements" },
        { .in = { IN(0, 3) }, .p = { REPLICATE, 4, 0, 0, 1, 0 }, .status = ADZ_ERR_ARGUMENT,
            .says = "0 to 0 can" },
        { .in = { IN(3) }, .p = { REPLICATE, 3, 1, 1, 1 }, .status = ADZ_ERR_ARGUMENT,
            .says = "pairs" },
        { .in = { IN(3) }, .p = { 4, 2, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "mode 4" },
        { .in = { IN(3) }, .p = { REPLICATE, 2, 1e18, 1e18 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .vectors = { "pad_mode" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
