/* Clipping gradients. */
#include "optim/clip.h"
#include "parameter.h"
#include "tests.h"

static void norms_are_clipped(void **state)
{
    (void)state;
    adz_tensor *all[] = { parameter(0, 0, ADZ_F64), parameter(0, 0, ADZ_F32),
        parameter(0, 0, ADZ_F64) };
    adz_tensor_list list = adz_tensor_list_of(all, 3); /* The last tensor has no gradient. */
    static const struct {
        double type, norm;
    } cases[] = { { 2, 13 }, { 1, 19 }, { INFINITY, 12 }, { 3, 12.207054953820636 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        set_grad(all[0], 3, -4);
        set_grad(all[1], 0, 12);
        double norm = adz_clip_grad_norm(list, 100, cases[i].type);
        assert_true(fabs(norm - cases[i].norm) < 1e-12);
        assert_true(HOLDS(adz_tensor_grad(all[0]), 0, 3, -4));
        norm = adz_clip_grad_norm(list, 2, cases[i].type);
        double factor = 2 / (norm + 1e-6);
        assert_true(HOLDS(adz_tensor_grad(all[0]), 1e-14, 3 * factor, -4 * factor));
        assert_true(HOLDS(adz_tensor_grad(all[1]), 1e-6, 0, 12 * factor));
    }
    assert_true(adz_clip_grad_norm(adz_tensor_list_of(&all[2], 1), 1, 2) == 0);
    const adz_tensor_list none = { NULL, 0 };
    assert_true(adz_clip_grad_norm(none, 1, 2) == 0);
    assert_int_equal(adz_clip_grad_value(none, 1), ADZ_OK);
    set_grad(all[0], NAN, 1);
    assert_true(isnan(adz_clip_grad_norm(list, 1, 2)));
    assert_true(isnan(adz_clip_grad_norm(list, 1, INFINITY)));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(isnan(adz_clip_grad_norm(list, -1, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "max_norm is -1");
    assert_true(isnan(adz_clip_grad_norm(list, 1, 0)));
    expect_error(ADZ_ERR_ARGUMENT, "norm_type 0");
}

static void long_gradients_are_summed_exactly(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1 << 20), ADZ_F32), true);
    adz_tensor_set_grad(w, adz_full_like(w, 0.1));
    double exact = (double)0.1f * 1024;
    assert_true(fabs(adz_clip_grad_norm(one(&w), 1e9, 2) / exact - 1) < 1e-14);
    assert_true(fabs(adz_clip_grad_norm(one(&w), 1e9, 1) / (exact * 1024) - 1) < 1e-14);
    assert_true(adz_clip_grad_norm(one(&w), 1e9, INFINITY) == (double)0.1f);
}

/* The gradient takes several blocks, the last with one element. Each element counts once. */
static void every_element_counts(void **state)
{
    (void)state;
    enum { N = 2 * ADZI_NORM_BLOCK + 1 };
    for (int f32 = 0; f32 < 2; ++f32) {
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(N), f32 ? ADZ_F32 : ADZ_F64), true);
        adz_tensor *g = adz_arange(1, N + 1, 1, ADZ_F64);
        /* The gradient is the beginning of a longer tensor, whose rest does not count. */
        adz_tensor *longer = adz_full(ADZ_SHAPE(N + ADZI_NORM_BLOCK), NAN, adz_tensor_dtype(w));
        adz_tensor_set_grad(w, adz_copy_(adz_narrow(longer, 0, 0, N), g));
        double n = N;
        assert_true(adz_clip_grad_norm(one(&w), 1e30, INFINITY) == n);
        assert_true(fabs(adz_clip_grad_norm(one(&w), 1e30, 1) / (n * (n + 1) / 2) - 1) < 1e-14);
        double squares = n * (n + 1) * (2 * n + 1) / 6, cubes = n * (n + 1) / 2;
        assert_true(fabs(adz_clip_grad_norm(one(&w), 1e30, 2) / sqrt(squares) - 1) < 1e-14);
        assert_true(
            fabs(adz_clip_grad_norm(one(&w), 1e30, 3) / pow(cubes * cubes, 1.0 / 3) - 1) < 1e-14);
        /* The largest element may be the first of its block, in the first gradient of the list. */
        adz_tensor_set_grad(w, adz_to(adz_neg(g), adz_tensor_dtype(w)));
        adz_tensor *both[] = { w, parameter(0, 0, ADZ_F64) };
        set_grad(both[1], 5, -6);
        assert_true(adz_clip_grad_norm(adz_tensor_list_of(both, 2), 1e30, INFINITY) == n);
        adz_tensor_set_grad(
            w, adz_to(adz_div_number(adz_ones(ADZ_SHAPE(N), ADZ_F64), 4), adz_tensor_dtype(w)));
        assert_true(adz_clip_grad_norm(adz_tensor_list_of(both, 2), 1e30, INFINITY) == 6);
    }
}

/* A limit of 0 makes all gradients 0. */
static void gradients_are_clipped_to_nothing(void **state)
{
    (void)state;
    adz_tensor *w = parameter(0, 0, ADZ_F64);
    set_grad(w, 3, -4);
    assert_true(adz_clip_grad_norm(one(&w), 0, 2) == 5);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0));
    set_grad(w, 3, -4);
    assert_int_equal(adz_clip_grad_value(one(&w), 0), ADZ_OK);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0));
}

/* Clipping changes gradients in place, so a graph that saved one must not run backward. */
static void clipping_is_a_write(void **state)
{
    (void)state;
    for (int by_value = 0; by_value < 2; ++by_value) {
        adz_tensor *w = parameter(0, 0, ADZ_F64), *v = parameter(1, 2, ADZ_F64);
        set_grad(w, 3, -4);
        adz_tensor *loss = adz_sum(adz_mul(v, adz_tensor_grad(w)), ADZ_ALL_DIMS, false);
        if (by_value) {
            adz_clip_grad_value(one(&w), 1);
        } else {
            adz_clip_grad_norm(one(&w), 1, 2);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        adz_error_clear();
    }
}

/* If one element of the list is no tensor, no gradient of the list is clipped. */
static void lists_are_checked_before_clipping(void **state)
{
    (void)state;
    adz_tensor *list[] = { parameter(0, 0, ADZ_F64), NULL };
    set_grad(list[0], 3, -4);
    assert_true(isnan(adz_clip_grad_norm(adz_tensor_list_of(list, 2), 1, 2)));
    expect_error(ADZ_ERR_NULL, "a parameter");
    assert_int_equal(adz_clip_grad_value(adz_tensor_list_of(list, 2), 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "a parameter");
    assert_true(HOLDS(adz_tensor_grad(list[0]), 0, 3, -4));
}

static void values_are_clipped(void **state)
{
    (void)state;
    adz_tensor *w = parameter(0, 0, ADZ_F32);
    set_grad(w, 3, -4);
    assert_int_equal(adz_clip_grad_value(one(&w), 3.5), ADZ_OK);
    assert_true(HOLDS(adz_tensor_grad(w), 0, 3, -3.5));
    set_grad(w, NAN, 4);
    adz_clip_grad_value(one(&w), 1);
    assert_true(isnan(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 0 })));
    assert_true(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 1 }) == 1);
    assert_int_equal(adz_clip_grad_value(one(&w), -1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "clip_value is -1");
}

int clip_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(norms_are_clipped),
        TEST(long_gradients_are_summed_exactly),
        TEST(every_element_counts),
        TEST(gradients_are_clipped_to_nothing),
        TEST(clipping_is_a_write),
        TEST(lists_are_checked_before_clipping),
        TEST(values_are_clipped),
    };
    return cmocka_run_group_tests_name("optim: clip", tests, NULL, NULL);
}
