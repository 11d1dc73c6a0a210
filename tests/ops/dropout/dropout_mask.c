#include "ops/case.h"

/* p[0] = keep. Without a mask, which is p = 0 in the vector files, nothing is dropped. */
static int call_dropout_mask(const op_args *args, adz_tensor **out)
{
    if (args->in[1] == ADZ_NONE) {
        return case_one(adz_dropout(args->in[0], 0, true, NULL), out);
    }
    return case_one(adz_dropout_mask(args->in[0], args->in[1], args->p[0]), out);
}

static bool config_dropout_mask(const json_t *config, op_args *args)
{
    args->p[0] = config_number(config, "keep", 1);
    return true;
}

static void rows_are_dropped_whole(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const double m[] = { 1, 0, 1 }, expected[] = { 4, 4, 0, 0, 4, 4 };
    adz_tensor *mask = adz_tensor_from(m, ADZ_SHAPE(3, 1), ADZ_F64);
    adz_tensor *y = adz_dropout_mask(adz_ones(ADZ_SHAPE(3, 2), ADZ_F64), mask, 0.25);
    assert_true(adz_equal(y, adz_tensor_from(expected, ADZ_SHAPE(3, 2), ADZ_F64)));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(rows_are_dropped_whole),
};

const op_case dropout_mask_case = {
    .name = "dropout_mask",
    .call = call_dropout_mask,
    .samples = {
        { .in = { IN(4), IN_MASK(4) }, .p = { 0.5 } },
        { .in = { IN(3, 5), IN_MASK(3, 5) }, .p = { 0.8 } },
        { .in = { IN_T(3, 5), IN_MASK(3, 1) }, .p = { 0.8 } },
        { .in = { IN(2, 3, 4), IN_MASK(2, 1, 4) }, .p = { 0.3 } },
        { .in = { IN(2, 3), IN_CONST_OF(FILL_UNIT, 3) }, .p = { 1 } },
        { .in = { IN(0, 3), IN_MASK(1, 3) }, .p = { 0.5 } },
        { .in = { IN(3, 1), IN_MASK(3, 1) }, .p = { 0.5 } },
    },
    .rejects = {
        { .in = { IN(3), IN_MASK(3) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "keep is 0, but must be above 0 and at most 1" },
        { .in = { IN(3), IN_MASK(3) }, .p = { 1.5 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3), IN_MASK(4) }, .p = { 0.5 }, .status = ADZ_ERR_SHAPE },
    },
    .broadcasts = true,
    .vectors = { "dropout" },
    .inputs = { "x", "mask" },
    .config = config_dropout_mask,
    FACTS(facts),
};
