/* A backward that is limited to given leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../errors.h"
#include "graph.h"
#include "tests.h"

static adz_status backward_to(adz_tensor *y, adz_tensor *const *inputs, size_t n, bool allow_unused)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.inputs = inputs;
    o.n_inputs = n;
    o.allow_unused = allow_unused;
    o.retain_graph = true;
    return adz_autograd_backward(&y, NULL, 1, &o);
}

static adz_tensor *count_call(adz_tensor *grad, void *user)
{
    ++*(int *)user;
    return grad;
}

static adz_status count_leaf(adz_tensor *t, void *user)
{
    (void)t;
    ++*(int *)user;
    return ADZ_OK;
}

/* The chosen leaves get what an unlimited backward gives them. Others stay as they are. */
static void other_leaves_are_left_alone(void **state)
{
    (void)state;
    int calls[2] = { 0, 0 }, ready[2] = { 0, 0 };
    adz_tensor *x = leaf(3, 2), *w = leaf(5, 2), *b = leaf(7, 2);
    adz_tensor *y = total(adz_add(adz_mul(x, adz_mul(x, w)), b));
    adz_register_hook(x, count_call, &calls[0]);
    adz_register_hook(w, count_call, &calls[1]);
    adz_register_post_accumulate_grad_hook(x, count_leaf, &ready[0]);
    adz_register_post_accumulate_grad_hook(w, count_leaf, &ready[1]);
    assert_int_equal(backward_to(y, &x, 1, false), ADZ_OK);
    assert_true(grad0(x) == 30);
    assert_null(adz_tensor_grad(w));
    assert_null(adz_tensor_grad(b));
    assert_true(calls[0] == 1 && calls[1] == 0 && ready[0] == 1 && ready[1] == 0);
    adz_tensor *both[] = { b, w, b }; /* one of them twice */
    assert_int_equal(backward_to(y, both, 3, false), ADZ_OK);
    assert_true(grad0(x) == 30 && grad0(w) == 9 && grad0(b) == 1);
    assert_int_equal(backward_to(y, &x, 1, false), ADZ_OK); /* gradients add up */
    assert_true(grad0(x) == 60 && grad0(w) == 9);
}

/* A leaf may be the output itself. What does not lead to a chosen leaf is not computed: its
 * backward would fail, because a value that it needs has changed. */
static void unneeded_nodes_are_not_run(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *w = leaf(5, 2), *square = adz_square(w);
    adz_tensor *y = total(adz_add(adz_square(adz_clone(square)), x));
    ADZ_NO_GRAD
    {
        adz_add_number_(w, 1);
    }
    assert_int_equal(backward_to(y, &x, 1, false), ADZ_OK);
    assert_true(grad0(x) == 1);
    assert_int_equal(backward_to(y, &w, 1, false), ADZ_ERR_VERSION);
    adz_error_clear();
    adz_tensor *one = leaf(2, 1);
    assert_int_equal(backward_to(one, &one, 1, false), ADZ_OK);
    assert_true(grad0(one) == 1);
}

static void inputs_are_checked(void **state)
{
    (void)state;
    adz_tensor *x = leaf(3, 2), *unused = leaf(1, 2), *y = total(adz_square(x));
    adz_tensor *both[] = { x, unused };
    assert_int_equal(backward_to(y, both, 2, false), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "the outputs do not depend on input 1[2]");
    assert_null(adz_tensor_grad(x));
    assert_int_equal(backward_to(y, both, 2, true), ADZ_OK);
    assert_true(grad0(x) == 6);
    assert_null(adz_tensor_grad(unused));
    assert_int_equal(backward_to(y, &y, 1, false), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "input 0[] is the result of an operator");
    adz_tensor *plain = adz_ones(ADZ_SHAPE(2), ADZ_F64);
    assert_int_equal(backward_to(y, &plain, 1, false), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "wants no gradient");
    assert_int_equal(backward_to(y, both, 0, false), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "n_inputs is 0");
    adz_tensor *none = NULL, *result = NULL;
    assert_int_equal(backward_to(y, &none, 1, false), ADZ_ERR_NULL);
    adz_error_clear();
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.inputs = both;
    o.n_inputs = 2;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &result), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "are for adz_autograd_backward");
}

/* Leaves in a flat buffer have their gradients written in place. */
static void flat_gradients_are_limited_too(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(3, 2, NULL);
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(m));
    assert_non_null(flat);
    adz_tensor *weight = adz_module_get_parameter(m, "weight"),
               *bias = adz_module_get_parameter(m, "bias");
    adz_tensor *y = total(adz_module_forward(m, adz_ones(ADZ_SHAPE(4, 3), ADZ_F32)));
    assert_int_equal(backward_to(y, &weight, 1, false), ADZ_OK);
    assert_true(adz_item(total(adz_tensor_grad(weight))) == 24);
    assert_null(adz_tensor_grad(bias));
    assert_int_equal(backward_to(y, &bias, 1, false), ADZ_OK);
    assert_true(adz_item(total(adz_tensor_grad(weight))) == 24);
    assert_true(adz_item(total(adz_tensor_grad(bias))) == 8);
    assert_true(adz_item(total(adz_flat_parameters_gradients(flat, 0))) == 32);
    adz_flat_parameters_free(&flat);
    adz_module_release(&m);
}

int inputs_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_leaves_are_left_alone),
        TEST(unneeded_nodes_are_not_run),
        TEST(inputs_are_checked),
        TEST(flat_gradients_are_limited_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
