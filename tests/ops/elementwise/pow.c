#include "ops/facts.h"

/* p[0] = 1: the number p[1] to the power of in[0] */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        a->p[0] == 1 ? adz_number_pow(a->p[1], a->in[0]) : adz_pow(a->in[0], a->in[1]), out);
}

FACT(integers)
{
    adz_tensor *a = VALUES(ADZ_I64, 3, -2, 1, -1, -1, 0, 2);
    adz_tensor *b = VALUES(ADZ_I64, 4, 3, -5, -5, -4, 0, -1);
    ASSERT_VALUES(adz_pow(a, b), ADZ_I64, 81, -8, 1, -1, 1, 1, 0);
    ASSERT_VALUES(adz_pow(VALUES(ADZ_I32, 2), VALUES(ADZ_U8, 40)), ADZ_I32, 0);
    ASSERT_VALUES(adz_number_pow(2, VALUES(ADZ_U8, 3, 0)), ADZ_U8, 8, 1);
    ASSERT_VALUES(adz_number_pow(0.5, VALUES(ADZ_I32, 2, 0)), ADZ_F32, 0.25, 1);
}

FACT(special_values)
{
    adz_tensor *a = VALUES(ADZ_F32, 0, 0, NAN, -8, -2, 1),
               *b = VALUES(ADZ_F32, 0, -1, 0, 0.5, 3, NAN);
    ASSERT_VALUES(adz_pow(a, b), ADZ_F32, 1, INFINITY, 1, NAN, -8, 1);
}

/* All pairs of special numbers, as C11's Annex F has them and as the C library computes them, with
 * as many elements as vectors take. */
FACT(special_values_are_those_of_c)
{
    static const double values[] = { 0, 0.5, 1, 0x1.0000000000001p0, 1.5, 2, 3, 7.5, 0x1p51,
        0x1p52 + 1, 0x1p53 - 1, 0x1p53 + 2, 0x1p-1074, 0x1p1023, INFINITY, NAN };
    enum { N = 2 * sizeof values / sizeof *values };
    adz_tensor *a = adz_empty(ADZ_SHAPE(N, N), ADZ_F64), *b = adz_empty(ADZ_SHAPE(N, N), ADZ_F64);
    double *x = adz_tensor_data(a), *y = adz_tensor_data(b);
    for (int i = 0; i < N * N; ++i) {
        x[i] = (i / N % 2 ? -1 : 1) * values[i / N / 2];
        y[i] = (i % 2 ? -1 : 1) * values[i % N / 2];
    }
    const double *z = adz_tensor_data_constant(adz_pow(a, b));
    for (int i = 0; i < N * N; ++i) {
        const double wanted = pow(x[i], y[i]);
        const bool same =
            isnan(wanted) ? isnan(z[i]) : z[i] == wanted && signbit(z[i]) == signbit(wanted);
        if (!same && !(fabs(z[i] - wanted) <= 0x1p-52 * fabs(wanted) + 0x1p-1074)) {
            fail_msg("pow(%a, %a) = %a, not %a", x[i], y[i], z[i], wanted);
        }
    }
}

/* The gradients at points where the formulas would give 0 times infinity. */
FACT(gradients_at_zero)
{
    adz_tensor *a = LEAF(0, 0, 0, 2), *b = LEAF(0, 1, 2, 0);
    ASSERT_VALUES(gradient_of(adz_pow(a, b), a), ADZ_F64, 0, 1, 0, 0);
    ASSERT_VALUES(gradient_of(adz_pow(a, b), b), ADZ_F64, 0, 0, 0, log(2));
    ASSERT_VALUES(gradient_of(adz_number_pow(0, b), b), ADZ_F64, 0, 0, 0, 0);
}

/* Where a = 0 and b > 2 all second derivatives are 0, as a^b log(a)^2 is, and a gradient of 0 times
 * log(0) would be NaN. Where b = 0 and a does not vanish, the mixed ones are 1 / a. */
FACT(second_derivatives_at_zero)
{
    adz_tensor *a = LEAF(0, 0, 0, 2, 4), *b = LEAF(3, 2, 2.5, 0, 0), *y = adz_pow(a, b);
    adz_tensor *da = gradient_by_expression(y, a), *db = gradient_by_expression(y, b);
    ASSERT_VALUES(gradient_of(da, a), ADZ_F64, 0, 2, 0, 0, 0);
    ASSERT_VALUES(gradient_of(da, b), ADZ_F64, 0, 0, 0, 0.5, 0.25);
    ASSERT_VALUES(gradient_of(db, a), ADZ_F64, 0, 0, 0, 0.5, 0.25);
    ASSERT_VALUES(gradient_of(db, b), ADZ_F64, 0, 0, 0, log(2) * log(2), log(4) * log(4));
    adz_tensor *zero = LEAF(0), *none = LEAF(0);
    da = gradient_by_expression(adz_pow(zero, none), zero);
    ASSERT_VALUES(gradient_of(da, zero), ADZ_F64, 0);
    ASSERT_VALUES(gradient_of(da, none), ADZ_F64, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers),
    cmocka_unit_test(special_values),
    cmocka_unit_test(special_values_are_those_of_c),
    cmocka_unit_test(gradients_at_zero),
    cmocka_unit_test(second_derivatives_at_zero),
};

const op_case pow_case = {
    .name = "pow",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4), IN(3, 4) } },
        { .in = { IN_T_OF(FILL_POSITIVE, 3, 4), IN(4) } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 1, 3), IN(4, 1) } },
        { .in = { IN_0_OF(FILL_POSITIVE), IN(2, 2) } },
        { .in = { IN_OF(FILL_POSITIVE, 3, 0), IN(1, 1) } },
        { .in = { IN_OF(FILL_POSITIVE, 1), IN(1) } },
        { .in = { IN_OF(FILL_POSITIVE, 5), IN_CONST(5) } },
        { .in = { IN(3, 5) }, .p = { 1, 1.7 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_MASK(3), IN_MASK(3) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
    },
    .broadcasts = true,
    FACTS(facts),
};
