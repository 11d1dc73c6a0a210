#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_atan2(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    adz_tensor *a = LEAF(0, 0, -0.0, 1, 1, -1, (double)INFINITY, (double)INFINITY,
                   -(double)INFINITY, (double)NAN, 1),
               *b = LEAF(0, -0.0, -0.0, (double)INFINITY, -(double)INFINITY, -(double)INFINITY,
                   (double)INFINITY, -(double)INFINITY, (double)INFINITY, (double)INFINITY,
                   (double)NAN);
    adz_tensor *y = adz_atan2(a, b);
    ASSERT_VALUES(y, ADZ_F64, 0, 0x1.921fb54442d18p1, -0x1.921fb54442d18p1, 0, 0x1.921fb54442d18p1,
        -0x1.921fb54442d18p1, 0x1.921fb54442d18p-1, 0x1.2d97c7f3321d2p1, -0x1.921fb54442d18p-1,
        (double)NAN, (double)NAN);
    ASSERT_VALUES(adz_atan2(adz_to(adz_detach(a), ADZ_F32), adz_to(adz_detach(b), ADZ_F32)),
        ADZ_F32, 0, 0x1.921fb54442d18p1, -0x1.921fb54442d18p1, 0, 0x1.921fb54442d18p1,
        -0x1.921fb54442d18p1, 0x1.921fb54442d18p-1, 0x1.2d97c7f3321d2p1, -0x1.921fb54442d18p-1,
        (double)NAN, (double)NAN);
}

FACT(the_origin_has_no_gradient)
{
    adz_tensor *a = LEAF(0, 3), *b = LEAF(0, 4), *y = adz_atan2(a, b);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, 1.0 / 25 * 4);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, 0, -(1.0 / 25 * 3));
}

/* At (3 s, 4 s) the gradients are 4 / (25 s) and -3 / (25 s), also where s^2 overflows or is 0.
 * They are 0 where an input is infinite, and PyTorch's are NaN. */
FACT(gradients_of_all_sizes)
{
    const double sizes[] = { 0x1p-1000, 0x1p-600, 1, 0x1p600, 0x1p1000 };
    for (int i = 0; i < 5; ++i) {
        const double s = sizes[i];
        adz_tensor *a = LEAF(3 * s), *b = LEAF(4 * s), *y = adz_atan2(a, b);
        ASSERT_VALUES(adz_mul_number(gradient_of(y, a), s), ADZ_F64, 4.0 / 5 / 5);
        ASSERT_VALUES(adz_mul_number(gradient_by_expression(y, b), s), ADZ_F64, -3.0 / 5 / 5);
    }
    adz_tensor *a = LEAF((double)INFINITY, 1, (double)INFINITY),
               *b = LEAF(1, -(double)INFINITY, (double)INFINITY), *y = adz_atan2(a, b);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, 0, 0);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, 0, 0, 0);
    adz_tensor *origin = LEAF(0, 3),
               *db = gradient_by_expression(adz_atan2(origin, LEAF(0, 4)), origin);
    ASSERT_VALUES(adz_sign(gradient_of(db, origin)), ADZ_F64, 0, -1);
}

FACT(extreme_sizes)
{
    adz_tensor *none = adz_atan2(VALUES(ADZ_F64, -0.0), VALUES(ADZ_F64, 1));
    assert_true(signbit(adz_item(none)));
    adz_tensor *y = adz_atan2(
        VALUES(ADZ_F64, 0x1p-1074, 0x1p1023, 0x1p-1074), VALUES(ADZ_F64, 0x1p-1073, 0x1p1023, 1));
    const double wanted[] = { 0.46364760900080612, 0.78539816339744831, 0x1p-1074 };
    for (int64_t i = 0; i < 3; ++i) {
        assert_true(fabs(adz_tensor_at(y, &i) - wanted[i]) <= 4e-16 * wanted[i]);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(the_origin_has_no_gradient),
    cmocka_unit_test(gradients_of_all_sizes),
    cmocka_unit_test(extreme_sizes),
};

const op_case atan2_case = {
    .name = "atan2",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4), IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4), IN_OF(FILL_AWAY, 4) } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3), IN_OF(FILL_AWAY, 4, 1) } },
        { .in = { IN_0_OF(FILL_AWAY), IN_OF(FILL_AWAY, 2, 2) } },
        { .in = { IN_OF(FILL_AWAY, 3, 0), IN_OF(FILL_AWAY, 1, 1) } },
        { .in = { IN_OF(FILL_AWAY, 1), IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 37), IN_CONST_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
