#include "ops/cumulative/linear_recurrence.h"

#include "ops/facts.h"

/* p[0] = dim, p[1] = reverse */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adzi_linear_recurrence(a->in[0], a->in[1], a->in[2], (int)a->p[0], a->p[1] != 0), out);
}

FACT(each_step_is_added_to_a_part_of_the_one_before)
{
    adz_tensor *a = VALUES(ADZ_F64, 5, 2, -1), *b = VALUES(ADZ_F64, 1, 10, 100);
    adz_tensor *s0 = adz_scalar(3, ADZ_F64);
    ASSERT_VALUES(adzi_linear_recurrence(a, b, s0, 0, false), ADZ_F64, 16, 42, 58);
    ASSERT_VALUES(adzi_linear_recurrence(a, b, s0, 0, true), ADZ_F64, 1021, 204, 97);
    ASSERT_VALUES(adzi_linear_recurrence(a, b, ADZ_NONE, 0, false), ADZ_F64, 1, 12, 88);
}

/* More slices than the kernel computes at a time. No slice may change another one. */
FACT(slices_do_not_meet)
{
    adz_manual_seed(5);
    adz_tensor *a = adz_randn(ADZ_SHAPE(2, 3, 700), ADZ_F64);
    adz_tensor *b = adz_randn(ADZ_SHAPE(2, 3, 700), ADZ_F64);
    adz_tensor *s0 = adz_randn(ADZ_SHAPE(2, 700), ADZ_F64);
    adz_tensor *whole = adzi_linear_recurrence(a, b, s0, 1, false);
    for (int64_t at = 0; at < 700; at += 70) {
        adz_tensor *part = adzi_linear_recurrence(adz_narrow(a, 2, at, 70),
            adz_narrow(b, 2, at, 70), adz_narrow(s0, 1, at, 70), 1, false);
        assert_true(adz_equal(part, adz_narrow(whole, 2, at, 70)));
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_step_is_added_to_a_part_of_the_one_before),
    cmocka_unit_test(slices_do_not_meet),
};

const op_case linear_recurrence_case = {
    .name = "linear_recurrence",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 2), IN(3, 2, 2), IN(2, 2) }, .p = { 0, 0 } },
        { .in = { IN(2, 3, 2), IN(2, 3, 2), IN(2, 2) }, .p = { 1, 1 } },
        { .in = { IN(2, 4), IN_T(2, 4), IN(2) }, .p = { -1, 0 } },
        { .in = { IN_T(3, 2), IN(3, 2), IN_NONE }, .p = { 0, 1 } },
        { .in = { IN(1, 3), IN(1, 3), IN(3) }, .p = { 0, 0 } },
        { .in = { IN(4), IN(4), IN_0 }, .p = { 0, 1 } },
        { .in = { IN(3, 0), IN(3, 0), IN(0) }, .p = { 0, 0 } },
        { .in = { IN_CONST(3, 2), IN(3, 2), IN_NONE }, .p = { 0, 0 } },
        { .in = { IN(3, 2), IN_CONST(3, 2), IN_CONST(2) }, .p = { 0, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 2), IN(3, 3), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "a[3, 2] and b[3, 3]" },
        { .in = { IN(3, 2), IN(3, 2), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "s0[3] must be b[3, 2] without" },
        { .in = { IN(3, 2), IN(3, 2), IN(1, 2) }, .status = ADZ_ERR_SHAPE, .says = "s0[1, 2]" },
        { .in = { IN(0, 2), IN(0, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "no time steps" },
        { .in = { IN(3, 2), IN(3, 2), IN_NONE }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 2), IN_TYPED(ADZ_F32, 3, 2), IN_NONE }, .status = ADZ_ERR_DTYPE, .says = "b is float32" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_TYPED(ADZ_I64, 3), IN_NONE }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
