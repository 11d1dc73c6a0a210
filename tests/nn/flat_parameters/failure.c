/* Backwards that fail, refused memory, and backwards inside backwards. */
#include "tests.h"

#include <setjmp.h>

static adz_tensor *refuse(adz_tensor *grad, void *user)
{
    return *(bool *)user ? NULL : grad;
}

static jmp_buf out;

static adz_tensor *jump(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    longjmp(out, 1);
}

/* The last weight is ready when the hook on h fails. The first weight is not. */
static adz_status fail_late(adz_tensor *a, adz_tensor *b, adz_tensor_hook hook, void *user)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), *h = adz_linear(x, a, ADZ_NONE);
    adz_register_hook(h, hook, user);
    adz_tensor *loss = total(adz_linear(adz_relu(h), b, ADZ_NONE));
    if (setjmp(out) != 0) {
        return ADZ_ERR_CANCELLED;
    }
    return adz_backward(loss);
}

static void a_failing_backward_zeroes_and_blocks(void **state)
{
    (void)state;
    bool fails = false;
    adz_tensor *ab[2];
    for (int k = 0; k < 2; ++k) {
        ab[k] = adz_requires_grad_(adz_ones(ADZ_SHAPE(4, 4), ADZ_F32), true);
    }
    adz_flat_parameters *flat = lay_out(ab, 2);
    adz_optimizer *optimizer = adz_sgd_new(adz_tensor_list_of(ab, 2), 0.1, NULL);
    for (int round = 0; round < 4; ++round) {
        const bool jumps = round % 2 == 1;
        adz_optimizer_zero_grad(optimizer);
        fails = false;
        if (round >= 2) { /* with a gradient from before */
            assert_int_equal(fail_late(ab[0], ab[1], refuse, &fails), ADZ_OK);
        }
        fails = true;
        adz_tensor *before = adz_clone(adz_detach(ab[1]));
        assert_int_equal(fail_late(ab[0], ab[1], jumps ? jump : refuse, &fails), ADZ_ERR_CANCELLED);
        if (!jumps) {
            assert_int_equal(adz_error_take(NULL, 0), ADZ_ERR_CANCELLED);
        }
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "zero_grad");
        assert_true(all_are(adz_tensor_grad(ab[1]), 0)); /* had been committed */
        assert_true((adz_tensor_grad(ab[0]) != NULL) == (round >= 2));
        assert_true(lies_in_its_slice(flat, 0) && lies_in_its_slice(flat, 1));
        assert_true(adz_equal(ab[1], before));
    }
    adz_optimizer_zero_grad(optimizer);
    fails = false;
    assert_int_equal(fail_late(ab[0], ab[1], refuse, &fails), ADZ_OK);
    assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
    adz_optimizer_release(&optimizer);
    adz_flat_parameters_free(&flat);
}

/* A kernel has written to the slice, but the leaf has a second use that fails. */
/* A hook leaves the backward by a jump while a slice has one part of a sum. Afterwards the gradient
 * can be attached at once. */
static void a_jump_frees_the_places(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(4, 4), ADZ_F32), true);
    adz_flat_parameters *flat = lay_out(&w, 1);
    assert_int_equal(fail_late(w, w, jump, NULL), ADZ_ERR_CANCELLED);
    assert_int_equal(adz_flat_parameters_attach_grad(flat, 0), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 0));
    adz_flat_parameters_free(&flat);
}

static void a_partial_sum_is_never_seen(void **state)
{
    (void)state;
    bool fails = true;
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(4, 4), ADZ_F32), true);
    adz_flat_parameters *flat = lay_out(&w, 1);
    adz_optimizer *optimizer = adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
    assert_int_equal(fail_late(w, w, refuse, &fails), ADZ_ERR_CANCELLED);
    adz_error_clear();
    assert_null(adz_tensor_grad(w));
    assert_true(lies_in_its_slice(flat, 0));
    assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK); /* nothing has changed */
    assert_int_equal(fail_late(w, w, jump, NULL), ADZ_ERR_CANCELLED);
    assert_int_equal(adz_optimizer_zero_grad(optimizer), ADZ_OK);
    assert_true(lies_in_its_slice(flat, 0));
    adz_optimizer_release(&optimizer);
    adz_flat_parameters_free(&flat);
}

/* What a hook does in the middle of a backward whose kernels have written to the slice of w. */
static adz_tensor *w_of_hook;
static adz_flat_parameters *flat_of_hook;

static adz_tensor *backward_inside(adz_tensor *grad, void *user)
{
    assert_null(adz_tensor_grad(w_of_hook));
    if (flat_of_hook != NULL) {
        assert_int_equal(adz_flat_parameters_attach_grad(flat_of_hook, 0), ADZ_ERR_STATE);
        adz_error_clear();
    }
    adz_set_grad_enabled(true); /* a backward records nothing of its own */
    assert_int_equal(adz_backward(adz_mul_number(total(adz_square(w_of_hook)), 0.5)), ADZ_OK);
    adz_set_grad_enabled(false);
    return *(bool *)user ? NULL : grad;
}

static void a_backward_inside_a_backward_shares_the_slice(void **state)
{
    (void)state;
    adz_tensor *sums[2];
    for (int flat = 0; flat < 2; ++flat) {
        bool fails = false;
        adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(4, 4), 0.1, ADZ_F32), true);
        w_of_hook = w;
        flat_of_hook = flat ? lay_out(&w, 1) : NULL;
        assert_int_equal(fail_late(w, w, backward_inside, &fails), ADZ_OK);
        sums[flat] = adz_clone(adz_tensor_grad(w));
        assert_true(!flat || lies_in_its_slice(flat_of_hook, 0));
        adz_tensor_set_grad(w, ADZ_NONE);
        fails = true; /* the inner one has succeeded, so its gradient stays */
        assert_int_equal(fail_late(w, w, backward_inside, &fails), ADZ_ERR_CANCELLED);
        adz_error_clear();
        assert_true(adz_equal(adz_tensor_grad(w), adz_detach(w)));
        assert_true(!flat || lies_in_its_slice(flat_of_hook, 0));
        adz_flat_parameters_free(&flat_of_hook);
    }
    assert_true(adz_equal(sums[0], sums[1]));
}

static adz_tensor *end_layout(adz_tensor *grad, void *user)
{
    (void)user;
    adz_flat_parameters_free(&flat_of_hook);
    return grad;
}

static void a_layout_may_end_inside_a_backward(void **state)
{
    (void)state;
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(4, 4), ADZ_F32), true);
    flat_of_hook = lay_out(&w, 1);
    assert_int_equal(fail_late(w, w, end_layout, NULL), ADZ_OK);
    adz_tensor *got = adz_tensor_grad(w),
               *v = adz_requires_grad_(adz_ones(ADZ_SHAPE(4, 4), ADZ_F32), true);
    bool fails = false;
    assert_int_equal(fail_late(v, v, refuse, &fails), ADZ_OK);
    assert_true(adz_equal(got, adz_tensor_grad(v)));
}

/* ---- refused memory ------------------------------------------------------------------------- */

static adz_tensor *parts[3];

static bool lay_out_and_end(void)
{
    double sum = 0;
    void *before[3];
    for (int i = 0; i < 3; ++i) {
        before[i] = adz_tensor_data(parts[i]);
    }
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_tensor_list_of(parts, 3));
    const bool good = flat != NULL;
    for (int i = 0; i < 3; ++i) {
        assert_true(good || adz_tensor_data(parts[i]) == before[i]);
        sum += *adz_tensor_data_f32(parts[i]);
    }
    assert_true(sum == 6);
    adz_flat_parameters_free(&flat);
    return good;
}

static void refused_memory_lays_nothing_out(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        parts[i] = leaf(i + 1, 2000, ADZ_F32);
    }
    assert_true(refuse_each_request(lay_out_and_end) >= 10);
}

static adz_optimizer *optimizer_of_parts;

/* A backward and a step; after a failure the gradients of this backward are gone or spoiled. */
static bool train(void)
{
    adz_scope *scope = adz_scope_open();
    adz_optimizer_zero_grad(optimizer_of_parts);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 4), ADZ_F32);
    adz_tensor *h = adz_relu(adz_linear(x, parts[0], ADZ_NONE));
    adz_tensor *loss = total(adz_linear(h, parts[1], ADZ_NONE));
    const adz_status status = loss != NULL ? adz_backward(loss) : adz_error_code();
    const bool good = status == ADZ_OK && adz_optimizer_step(optimizer_of_parts) == ADZ_OK;
    if (status != ADZ_OK) {
        adz_status code = adz_error_code();
        adzi_alloc_fail_at(0);
        adz_error_clear();
        bool seen = false;
        for (int i = 0; i < 2; ++i) {
            seen = seen || adz_tensor_grad(parts[i]) != NULL;
            assert_true(!seen || adz_tensor_grad(parts[i]) == NULL ||
                        all_are(adz_tensor_grad(parts[i]), 0));
        }
        assert_true((adz_optimizer_step(optimizer_of_parts) == ADZ_OK) == !seen);
        adz_error_clear();
        adz_error_set("train", code, "refused");
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_spoils_or_leaves_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        parts[i] = adz_requires_grad_(adz_full(ADZ_SHAPE(4, 4), 0.5, ADZ_F32), true);
    }
    adz_flat_parameters *flat = lay_out(parts, 2);
    optimizer_of_parts = adz_sgd_new(adz_tensor_list_of(parts, 2), 0.0, NULL);
    assert_true(train());
    int points = 0;
    for (bool good = false; !good; ++points) {
        adzi_alloc_fail_at(points + 1);
        good = train();
        adzi_alloc_fail_at(0);
        assert_true(good || adz_error_take(NULL, 0) == ADZ_ERR_MEMORY);
        assert_true(lies_in_its_slice(flat, 0) && lies_in_its_slice(flat, 1));
    }
    assert_true(points > 10);
    adz_optimizer_release(&optimizer_of_parts);
    adz_flat_parameters_free(&flat);
}

int failure_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failing_backward_zeroes_and_blocks),
        TEST(a_jump_frees_the_places),
        TEST(a_partial_sum_is_never_seen),
        TEST(a_backward_inside_a_backward_shares_the_slice),
        TEST(a_layout_may_end_inside_a_backward),
        TEST(refused_memory_lays_nothing_out),
        TEST(refused_memory_spoils_or_leaves_gradients),
    };
    return cmocka_run_group_tests_name("flat parameters: failures", tests, NULL, NULL);
}
