#include "ops/facts.h"

#define ORDER(first, turned)                                                                  \
    (adz_forget_mult_options)                                                                 \
    {                                                                                         \
        .size = sizeof(adz_forget_mult_options), .batch_first = (first), .backward = (turned) \
    }

/* p[0] = batch_first, p[1] = backward */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_forget_mult(a->in[0], a->in[1], a->in[2], &ORDER(a->p[0] != 0, a->p[1] != 0)), out);
}

static adz_tensor *column(adz_tensor *values)
{
    return adz_reshape(values, ADZ_SHAPE(3, 1, 1));
}

static adz_tensor *flat(adz_tensor *values)
{
    return adz_reshape(values, ADZ_SHAPE(3));
}

FACT(each_step_forgets_a_part_of_the_state)
{
    adz_tensor *x = column(VALUES(ADZ_F64, 8, 4, 12)), *f = column(VALUES(ADZ_F64, 0.5, 0.25, 1));
    adz_tensor *h0 = adz_full(ADZ_SHAPE(1, 1), 2, ADZ_F64);
    ASSERT_VALUES(flat(adz_forget_mult(x, f, h0, NULL)), ADZ_F64, 5, 4.75, 12);
    ASSERT_VALUES(flat(adz_forget_mult(x, f, h0, &ORDER(false, true))), ADZ_F64, 9, 10, 12);
    ASSERT_VALUES(flat(adz_forget_mult(x, f, ADZ_NONE, NULL)), ADZ_F64, 4, 4, 12);
}

/* The time may be the first dimension or the second. */
FACT(the_batch_may_come_first)
{
    adz_manual_seed(3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3, 2), ADZ_F64);
    adz_tensor *f = adz_sigmoid(adz_randn(ADZ_SHAPE(4, 3, 2), ADZ_F64));
    adz_tensor *h0 = adz_randn(ADZ_SHAPE(3, 2), ADZ_F64);
    for (int turned = 0; turned < 2; ++turned) {
        adz_tensor *y = adz_forget_mult(x, f, h0, &ORDER(false, turned != 0));
        adz_tensor *same = adz_forget_mult(
            adz_transpose(x, 0, 1), adz_transpose(f, 0, 1), h0, &ORDER(true, turned != 0));
        assert_true(adz_equal(y, adz_transpose(same, 0, 1)));
    }
}

FACT(a_sequence_goes_on_from_its_state)
{
    adz_manual_seed(4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F64);
    adz_tensor *f = adz_sigmoid(adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F64));
    adz_tensor *whole = adz_forget_mult(x, f, ADZ_NONE, NULL);
    adz_tensor *first =
        adz_forget_mult(adz_narrow(x, 0, 0, 2), adz_narrow(f, 0, 0, 2), ADZ_NONE, NULL);
    adz_tensor *rest = adz_forget_mult(
        adz_narrow(x, 0, 2, 3), adz_narrow(f, 0, 2, 3), adz_select(first, 0, -1), NULL);
    assert_true(adz_equal(rest, adz_narrow(whole, 0, 2, 3)));
}

/* More features than the kernel computes at a time. The result is compared with single steps. */
FACT(wide_states_by_single_steps)
{
    const int64_t wide = 700;
    adz_manual_seed(5);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3, wide), ADZ_F64), true);
    adz_tensor *f = adz_requires_grad_(adz_rand(ADZ_SHAPE(2, 3, wide), ADZ_F64), true);
    adz_tensor *h0 = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, wide), ADZ_F64), true);
    adz_tensor *h = h0, *steps[3], *leaves[] = { x, f, h0 };
    for (int t = 2; t >= 0; --t) {
        adz_tensor *gate = adz_select(f, 1, t), *kept = adz_add_number(adz_neg(gate), 1);
        h = steps[t] = adz_add(adz_mul(gate, adz_select(x, 1, t)), adz_mul(kept, h));
    }
    adz_tensor *y = adz_forget_mult(x, f, h0, &ORDER(true, true)), *same = adz_stack(steps, 3, 1);
    assert_true(adz_allclose(y, same, 1e-14, 1e-15, false));
    for (int i = 0; i < 3; ++i) {
        adz_tensor *g = gradient_of(adz_square(same), leaves[i]);
        assert_true(adz_allclose(gradient_of(adz_square(y), leaves[i]), g, 1e-13, 1e-14, false));
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_step_forgets_a_part_of_the_state),
    cmocka_unit_test(the_batch_may_come_first),
    cmocka_unit_test(a_sequence_goes_on_from_its_state),
    cmocka_unit_test(wide_states_by_single_steps),
};

#define IN_GATE(...) IN_OF(FILL_UNIT, __VA_ARGS__)

const op_case forget_mult_case = {
    .name = "forget_mult",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 2), IN_GATE(3, 2, 2), IN(2, 2) }, .p = { 0, 0 } },
        { .in = { IN(2, 3, 2), IN_GATE(2, 3, 2), IN(2, 2) }, .p = { 1, 0 } },
        { .in = { IN(2, 3, 2), IN_GATE(2, 3, 2), IN_T(2, 2) }, .p = { 1, 1 } },
        { .in = { IN_T(3, 1, 2), IN_T_OF(FILL_UNIT, 3, 1, 2), IN(1, 2) }, .p = { 0, 1 } },
        { .in = { IN(3, 2, 2), IN_GATE(3, 2, 2), IN_NONE }, .p = { 0, 0 } },
        { .in = { IN(2, 3, 1), IN_GATE(2, 3, 1), IN_NONE }, .p = { 1, 1 } },
        { .in = { IN(1, 2, 3), IN_GATE(1, 2, 3), IN(2, 3) }, .p = { 0, 0 } },
        { .in = { IN(3, 0, 2), IN_GATE(3, 0, 2), IN(0, 2) }, .p = { 0, 0 } },
        { .in = { IN_CONST(3, 2, 2), IN_GATE(3, 2, 2), IN_CONST(2, 2) }, .p = { 0, 0 } },
        { .in = { IN(3, 2, 2), IN_CONST_OF(FILL_UNIT, 3, 2, 2), IN(2, 2) }, .p = { 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 2, 2), IN(3, 2, 3), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "x[3, 2, 2] and f[3, 2, 3]" },
        { .in = { IN(3, 4, 2), IN(3, 4, 2), IN(3, 2) }, .status = ADZ_ERR_SHAPE, .says = "h0[3, 2] must be" },
        { .in = { IN(3, 4, 2), IN(3, 4, 2), IN(4, 2) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "h0[4, 2] must be" },
        { .in = { IN(0, 2, 2), IN(0, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "no time steps" },
        { .in = { IN(3, 2), IN(3, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "[time, batch, features]" },
        { .in = { IN(3, 2), IN(3, 2), IN_NONE }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "[batch, time, features]" },
        { .in = { IN(3, 2, 2), IN(3, 2, 2), IN_TYPED(ADZ_F32, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "h0 is float32" },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 2), IN(3, 2, 2), IN_NONE }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x", "f", "hidden_init" },
    FACTS(facts),
};
