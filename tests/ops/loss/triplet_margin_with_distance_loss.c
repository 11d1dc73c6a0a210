#include "ops/facts.h"

/* The sum of absolute differences, times *user. */
static adz_tensor *manhattan(adz_tensor *a, adz_tensor *b, void *user)
{
    adz_tensor *d = adz_sum(adz_abs(adz_sub(a, b)), ADZ_DIMS(-1), ADZ_DROPDIM);
    return adz_mul_number(d, *(const double *)user);
}

/* p[0] = reduction, p[1] = margin, p[2] = swap, p[3] = factor of a distance of the program, or 0 */
static int call(const op_args *a, adz_tensor **out)
{
    adz_triplet_margin_with_distance_loss_options o = ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS;
    double factor = a->p[3];
    o.reduction = (adz_reduction)a->p[0];
    o.margin = a->p[1];
    o.swap = a->p[2] != 0;
    return case_one(adz_triplet_margin_with_distance_loss(
                        a->in[0], a->in[1], a->in[2], factor == 0 ? NULL : manhattan, &factor, &o),
        out);
}

FACT(the_default_distance_is_the_one_of_triplet_margin_loss)
{
    adz_tensor *x[3];
    adz_manual_seed(3);
    for (int i = 0; i < 3; ++i) {
        x[i] = adz_randn(ADZ_SHAPE(5, 4), ADZ_F64);
    }
    assert_true(adz_equal(adz_triplet_margin_with_distance_loss(x[0], x[1], x[2], NULL, NULL, NULL),
        adz_triplet_margin_loss(x[0], x[1], x[2], NULL)));
}

static adz_tensor *failing(adz_tensor *a, adz_tensor *b, void *user)
{
    (void)user;
    return adz_reshape(adz_sub(a, b), ADZ_SHAPE(7));
}

FACT(a_failing_distance_is_an_error)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 4), ADZ_F64);
    ASSERT_REFUSED(adz_triplet_margin_with_distance_loss(x, x, x, failing, NULL, NULL),
        ADZ_ERR_SHAPE, "reshape: ");
}

/* Returns NULL without an error in the call whose number is *user. */
static adz_tensor *silent(adz_tensor *a, adz_tensor *b, void *user)
{
    int *left = user;
    return --*left == 0 ? NULL : adz_pairwise_distance(a, b, 2, 1e-6, ADZ_DROPDIM);
}

FACT(a_distance_without_a_result_is_an_error)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 4), ADZ_F64);
    adz_triplet_margin_with_distance_loss_options o = ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS;
    o.swap = true;
    for (int i = 1; i <= 3; ++i) {
        int left = i;
        ASSERT_REFUSED(adz_triplet_margin_with_distance_loss(x, x, x, silent, &left, &o),
            ADZ_ERR_STATE,
            "triplet_margin_with_distance_loss: the distance function gave no tensor");
    }
}

static adz_tensor *jumping(adz_tensor *a, adz_tensor *b, void *user)
{
    (void)a;
    (void)b;
    adz_set_grad_enabled(false);
    longjmp(*(jmp_buf *)user, 1);
}

/* The thread has its mode again after a distance that was left by a jump. */
FACT(a_distance_may_be_left)
{
    jmp_buf out;
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 4), ADZ_F64);
    if (setjmp(out) == 0) {
        adz_triplet_margin_with_distance_loss(x, x, x, jumping, &out, NULL);
        fail();
    }
    const bool enabled = adz_is_grad_enabled();
    adz_set_grad_enabled(true);
    assert_true(enabled);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_distance_without_a_result_is_an_error),
    cmocka_unit_test(a_distance_may_be_left),
    cmocka_unit_test(the_default_distance_is_the_one_of_triplet_margin_loss),
    cmocka_unit_test(a_failing_distance_is_an_error),
};

const op_case triplet_margin_with_distance_loss_case = {
    .name = "triplet_margin_with_distance_loss",
    .call = call,
    .samples = {
        { .in = { IN(4, 3), IN(4, 3), IN(4, 3) }, .p = { ADZ_REDUCE_MEAN, 9, 0, 0 } },
        { .in = { IN_T(4, 3), IN(4, 3), IN_T(4, 3) }, .p = { ADZ_REDUCE_NONE, 9, 1, 0.5 } },
        { .in = { IN(3), IN(3), IN(3) }, .p = { ADZ_REDUCE_SUM, 30, 0, 2 } },
        { .in = { IN(0, 3), IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM, 1, 1, 0 } },
        { .in = { IN(4, 3), IN(1, 3), IN(4, 3) }, .p = { ADZ_REDUCE_MEAN, 9, 1, 0 } },
        { .in = { IN_CONST(2, 3), IN(2, 3), IN(2, 3) }, .p = { ADZ_REDUCE_SUM, 9, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4), IN(3, 4), IN(4) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "negative[4]" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "margin is 0" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { 7, 1, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3, 4), IN(3, 4), IN_TYPED(ADZ_I64, 3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 1 }, .status = ADZ_ERR_DTYPE, .says = "negative[3, 4] is int64" },
    },
    .needs_distinct = true,
    .broadcasts = true,
    .inputs = { "anchor", "positive", "negative" },
    FACTS(facts),
};
