/* Derivatives through loops: by carries, inputs and what the body captures. */
#include "solvers/loops/loops.h"

/* A loss of the last carry and of all results of a scan, or of the unrolled program. */
static adz_tensor *loss_of(const cell *c, adz_tensor *h, adz_tensor *xs, bool reverse, bool scans)
{
    adz_tensor *found[2];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = reverse;
    const adz_status status =
        scans ? adz_scan(cell_step, (void *)(uintptr_t)c, &h, 1, &xs, 1, 1, &o, found)
              : cell_unrolled(c, h, xs, reverse, found);
    return status != ADZ_OK ? NULL
                            : adz_add(adz_sum(adz_square(found[1]), ADZ_ALL_DIMS, ADZ_DROPDIM),
                                  adz_sum(found[0], ADZ_ALL_DIMS, ADZ_DROPDIM));
}

static void gradients_have_the_bits_of_the_unrolled_program(void **state)
{
    (void)state;
    for (int reverse = 0; reverse < 2; ++reverse) {
        for (int64_t n = 1; n <= 64; n = n < 2 ? 2 : n * 8 - 9) {
            cell c = cell_new(3, n == 2 ? ADZ_F64 : ADZ_F32);
            const adz_dtype dtype = adz_tensor_dtype(c.w);
            adz_tensor *leaves[5] = { c.w, c.u, c.b, adz_randn(ADZ_SHAPE(2, WIDTH), dtype),
                adz_randn(ADZ_SHAPE(n, 2, WIDTH), dtype) };
            adz_tensor *found[2][5];
            adz_requires_grad_(leaves[3], true);
            adz_requires_grad_(leaves[4], true);
            for (int scans = 0; scans < 2; ++scans) {
                adz_tensor *loss = loss_of(&c, leaves[3], leaves[4], reverse, scans);
                assert_int_equal(
                    adz_autograd_grad(&loss, NULL, 1, leaves, 5, NULL, found[scans]), ADZ_OK);
            }
            for (int i = 0; i < 5; ++i) {
                assert_true(same_bits(found[0][i], found[1][i]));
                assert_true(
                    adz_item(adz_amax(adz_abs(found[0][i]), ADZ_ALL_DIMS, ADZ_DROPDIM)) > 0);
            }
        }
    }
}

typedef struct {
    cell c;
    bool scans;
} choice;

static int losses(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *user)
{
    const choice *ch = user;
    cell c = { inputs[0], inputs[1], ch->c.b };
    results[0] = loss_of(&c, inputs[2], inputs[3], false, ch->scans);
    return results[0] != NULL && n == 4;
}

static void second_and_forward_derivatives_are_those_of_the_unrolled_program(void **state)
{
    (void)state;
    choice ch = { cell_new(5, ADZ_F64), false };
    const adz_tensor_function f = { losses, &ch };
    adz_tensor *in[4] = { adz_detach(ch.c.w), adz_detach(ch.c.u),
        adz_randn(ADZ_SHAPE(2, WIDTH), ADZ_F64), adz_randn(ADZ_SHAPE(6, 2, WIDTH), ADZ_F64) };
    adz_tensor *v[4], *products[2][4], *forward[2];
    for (int i = 0; i < 4; ++i) {
        v[i] = adz_randn_like(in[i]);
    }
    for (int scans = 0; scans < 2; ++scans) {
        ch.scans = scans;
        assert_int_equal(adz_hvp_many(&f, in, 4, v, NULL, products[scans]), ADZ_OK);
        assert_int_equal(adz_jvp_many(&f, in, 4, v, 1, NULL, &forward[scans]), ADZ_OK);
    }
    assert_true(same_bits(forward[0], forward[1]));
    for (int i = 0; i < 4; ++i) {
        assert_true(same_bits(products[0][i], products[1][i]));
        assert_true(adz_item(adz_amax(adz_abs(products[0][i]), ADZ_ALL_DIMS, ADZ_DROPDIM)) > 0);
    }
}

/* Newton's method for the square root of a captured number. */
static adz_tensor *is_far(adz_tensor *const *carries, void *a)
{
    adz_tensor *residual = adz_sub(adz_square(carries[0]), a);
    return adz_gt_number(adz_abs(residual), 1e-14);
}

static adz_status newton(adz_tensor **results, adz_tensor *const *inputs, void *a)
{
    results[0] = adz_mul_number(adz_add(inputs[0], adz_div(a, inputs[0])), 0.5);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *root_of(adz_tensor *a, void *user)
{
    (void)user;
    adz_tensor *start = adz_ones_like(a), *found;
    return adz_while(is_far, newton, a, &start, 1, 50, &found, NULL, NULL) == ADZ_OK ? found : NULL;
}

static void while_loops_differentiate_in_both_directions(void **state)
{
    (void)state;
    adz_tensor *a = adz_scalar(2, ADZ_F64), *one = adz_scalar(1, ADZ_F64);
    const double wanted = 0.35355339059327379; /* 1 / (2 sqrt(2)) */
    adz_tensor *forward = adz_jvp(root_of, NULL, a, one, NULL);
    adz_tensor *backward = adz_vjp(root_of, NULL, a, ADZ_NONE, NULL);
    assert_true(forward != NULL && fabs(adz_item(forward) - wanted) < 1e-14);
    assert_true(backward != NULL && fabs(adz_item(backward) - wanted) < 1e-14);
}

static adz_status cube(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_pow_number(inputs[0], 3);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status keep(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = inputs[0];
    return ADZ_OK;
}

static adz_tensor *chosen(adz_tensor *x, void *user)
{
    adz_tensor *found;
    return adz_branch(user, cube, keep, NULL, &x, 1, 1, &found) == ADZ_OK ? found : NULL;
}

static void branches_differentiate_the_body_that_was_called(void **state)
{
    (void)state;
    adz_tensor *x = adz_scalar(2, ADZ_F64);
    for (int truth = 0; truth < 2; ++truth) {
        adz_tensor *dx = adz_vjp(chosen, adz_scalar(truth, ADZ_BOOL), x, ADZ_NONE, NULL);
        assert_true(dx != NULL && adz_item(dx) == (truth ? 12 : 1));
    }
}

const struct CMUnitTest loops_gradients[N_LOOPS_GRADIENTS] = {
    TEST(gradients_have_the_bits_of_the_unrolled_program),
    TEST(second_and_forward_derivatives_are_those_of_the_unrolled_program),
    TEST(while_loops_differentiate_in_both_directions),
    TEST(branches_differentiate_the_body_that_was_called),
};
