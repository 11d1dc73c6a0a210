/* Modes of modules and what is built beside a plan: what ends a plan, and what does not. A
 * validation between two steps puts the modes back, copies the best network, and may make other
 * networks and optimizers. Steps are replayed all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adze/adze.h"

typedef struct {
    adz_module *model, *asked; /* `asked` is not called, only its mode is read */
    adz_optimizer *optimizer;
    adz_tensor *x;
    int calls;
} network;

static adz_tensor *forward(void *user)
{
    network *n = user;
    ++n->calls;
    adz_tensor *y = adz_module_forward(n->model, n->x);
    return n->asked != NULL && adz_module_is_training(n->asked) ? adz_neg(y) : y;
}

static adz_tensor *train(void *user)
{
    network *n = user;
    adz_tensor *loss = adz_mean(adz_square(forward(n)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_backward(loss);
    adz_optimizer_step(n->optimizer);
    adz_optimizer_zero_grad(n->optimizer);
    return loss;
}

/* A linear layer, ReLU and dropout, which a Sequential computes in one operator. */
static network begin(void)
{
    network n = { .model = ADZ_SEQUENTIAL(ADZ_SEQUENTIAL(adz_linear_new(3, 8, NULL), adz_relu_new(),
                                              adz_dropout_new(0.5, NULL)),
                      adz_linear_new(8, 8, NULL)) };
    n.optimizer = adz_adam_new(adz_module_parameters(n.model), 0.01, NULL);
    n.x = adz_keep(adz_randn(ADZ_SHAPE(4, 3), ADZ_F32));
    return n;
}

static void end(network *n)
{
    adz_release(&n->x);
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->model);
}

/* Runs the plan twice and returns how many calls of the function that took. */
static int calls_of(adz_plan *plan, network *n)
{
    const int before = n->calls;
    adz_plan_run(plan);
    adz_plan_run(plan);
    return n->calls - before;
}

static void a_validation_ends_no_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin();
    adz_plan *plan = adz_plan_new(train, &n, NULL);
    adz_plan_run(plan);
    for (int epoch = 0; epoch < 3; ++epoch) {
        adz_module_eval(n.model);
        adz_tensor *valid = adz_module_forward(n.model, n.x);
        assert_true(adz_equal(valid, adz_module_forward(n.model, n.x)));
        adz_module_train(n.model, true);
        adz_module *best = adz_module_copy(n.model), *other = adz_linear_new(3, 3, NULL);
        adz_optimizer *of_other = adz_sgd_new(adz_module_parameters(other), 0.1, NULL);
        assert_int_equal(calls_of(plan, &n), 0);
        adz_optimizer_release(&of_other);
        adz_module_release(&other);
        adz_module_release(&best);
        assert_int_equal(calls_of(plan, &n), 0);
    }
    adz_plan_free(&plan);
    end(&n);
    adz_scope_close(scope);
}

/* The mode of the whole network, of one child, and of a child of a child. */
static void another_mode_ends_a_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin();
    adz_module *first = adz_module_child_at(n.model, 0);
    adz_module *const all[] = { n.model, first, adz_module_child_at(first, 2) };
    adz_plan *plan = adz_plan_new(forward, &n, NULL);
    adz_plan_run(plan);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(calls_of(plan, &n), 0);
        adz_module_eval(all[i]);
        assert_int_equal(calls_of(plan, &n), 2);
        assert_true(adz_equal(adz_plan_output(plan), adz_module_forward(n.model, n.x)));
        adz_module_train(n.model, true);
        assert_int_equal(calls_of(plan, &n), 2);
    }
    adz_plan_free(&plan);
    end(&n);
    adz_scope_close(scope);
}

static void a_mode_that_is_only_asked_for_counts(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin();
    adz_module_eval(n.model);
    n.asked = adz_identity_new();
    adz_plan *plan = adz_plan_new(forward, &n, NULL);
    adz_plan_run(plan);
    assert_int_equal(calls_of(plan, &n), 0);
    adz_tensor *before = adz_clone(adz_plan_output(plan));
    adz_module_eval(n.asked);
    assert_int_equal(calls_of(plan, &n), 2);
    assert_true(adz_equal(adz_plan_output(plan), adz_neg(before)));
    adz_plan_free(&plan);
    adz_module_release(&n.asked);
    end(&n);
    adz_scope_close(scope);
}

static void a_new_child_or_group_ends_a_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin();
    adz_plan *plan = adz_plan_new(train, &n, NULL);
    adz_plan_run(plan);
    assert_int_equal(calls_of(plan, &n), 0);
    adz_sequential_append(n.model, adz_tanh_new());
    assert_int_equal(calls_of(plan, &n), 2);
    adz_module *other = adz_linear_new(3, 3, NULL);
    adz_optimizer_add_param_group(n.optimizer, adz_module_parameters(other));
    assert_int_equal(calls_of(plan, &n), 2);
    adz_plan_free(&plan);
    adz_module_release(&other);
    end(&n);
    adz_scope_close(scope);
}

static adz_tensor *sum_of_parameters(void *user)
{
    network *n = user;
    ++n->calls;
    adz_tensor_list all = adz_module_parameters(n->model);
    adz_tensor *sum = adz_sum(all.items[0], ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (size_t i = 1; i < all.count; ++i) {
        sum = adz_add(sum, adz_sum(all.items[i], ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return adz_detach(sum);
}

/* A module that no plan has called is changed, too, if a plan has seen its parameters. */
static void a_list_that_grows_ends_a_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin();
    adz_plan *plan = adz_plan_new(sum_of_parameters, &n, NULL);
    adz_plan_run(plan);
    assert_int_equal(calls_of(plan, &n), 0);
    adz_sequential_append(n.model, adz_linear_new(2, 2, NULL));
    assert_int_equal(calls_of(plan, &n), 2);
    assert_true(adz_item(adz_plan_output(plan)) == adz_item(sum_of_parameters(&n)));
    adz_plan_free(&plan);
    end(&n);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_validation_ends_no_plan),
        cmocka_unit_test(another_mode_ends_a_plan),
        cmocka_unit_test(a_mode_that_is_only_asked_for_counts),
        cmocka_unit_test(a_new_child_or_group_ends_a_plan),
        cmocka_unit_test(a_list_that_grows_ends_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
