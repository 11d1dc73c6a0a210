#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_float_power;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double as[] = { 1.5, 2, 3 }, bs[] = { 2, -1, 0.5 },
                 ys[] = { 2.25, 0.5, 1.7320508075688772 },
                 das[] = { 3.0, -0.25, 0.28867513459481287 },
                 dbs[] = { 0.9122964932433699, 0.34657359027997264, 1.902852301792692 };
    assert_two(sizeof as / sizeof *as, as, bs, ys, das, dbs);
}

FACT(integers)
{
    ASSERT_VALUES(adz_float_power(VALUES(ADZ_I64, 2, 3), VALUES(ADZ_I64, -1, 40)), ADZ_F64, 0.5,
        12157665459056928801.0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers),
};

const op_case float_power_case = {
    .name = "float_power",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4), IN(3, 4) } },
        { .in = { IN_T_OF(FILL_POSITIVE, 3, 4), IN(4) } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 1, 3), IN(4, 1) } },
        { .in = { IN_0_OF(FILL_POSITIVE), IN(2, 2) } },
        { .in = { IN_OF(FILL_POSITIVE, 3, 0), IN(1, 1) } },
        { .in = { IN_OF(FILL_POSITIVE, 37), IN_CONST(37) } },
    },
    .rejects = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_OF(FILL_POSITIVE, 2, 4), IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "[2, 4]" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
