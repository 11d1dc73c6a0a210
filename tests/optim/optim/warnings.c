/* Steps that change nothing, steps for nobody, and losses that are not finite. */
#include "parameter.h"
#include "tests.h"

/* The last warning, and how many there were. */
static char warning[400];
static int warnings;

static void hear(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    ++warnings;
    snprintf(warning, sizeof warning, "%s", message);
}

static int listen(void **state)
{
    warnings = 0;
    adz_on_warning(hear, NULL);
    return set_up(state);
}

static int listen_no_more(void **state)
{
    adz_on_warning(NULL, NULL);
    return tear_down(state);
}

static void a_step_without_gradients_says_so(void **state)
{
    (void)state;
    adz_tensor *w[] = { parameter(1, 2, ADZ_F32), parameter(3, 4, ADZ_F32) };
    adz_optimizer *adam = adz_adam_new(adz_tensor_list_of(w, 2), 0.1, NULL);
    assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
    assert_int_equal(warnings, 1);
    assert_non_null(
        strstr(warning, "adz_optimizer_step: no parameter of this Adam has a gradient"));
    assert_true(HOLDS(w[0], 0, 1, 2));
    set_grad(w[1], 1, 1); /* one gradient is enough: the others may be frozen */
    assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
    adz_optimizer_fill_grad_zero(adam);
    assert_int_equal(adz_optimizer_step(adam), ADZ_OK);
    assert_int_equal(warnings, 1);
    adz_optimizer_release(&adam);
}

static void a_step_after_the_module_was_freed_is_refused(void **state)
{
    (void)state;
    adz_module *net = adz_linear_new(2, 1, NULL);
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(net), 0.1, NULL);
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_module_forward(net, adz_ones(ADZ_SHAPE(3, 2), ADZ_F32));
    adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_scope_close(scope);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    adz_module_release(&net);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_ERR_OWNERSHIP);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_optimizer_step: the module of this SGD was freed");
    adz_optimizer_release(&sgd);
    assert_int_equal(warnings, 0);
}

/* A parameter that the program has kept, or that another module has, is used by somebody. */
static void a_step_for_a_kept_parameter_is_done(void **state)
{
    (void)state;
    adz_module *net = adz_linear_new(2, 1, NULL);
    adz_tensor_list all = adz_module_parameters(net);
    adz_tensor *weight = adz_keep(all.items[0]);
    adz_optimizer *sgd = adz_sgd_new(all, 0.1, NULL);
    adz_backward(adz_sum(weight, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_module_release(&net);
    assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    adz_release(&weight);
    adz_optimizer_release(&sgd);
}

static void a_loss_that_is_not_finite_says_so(void **state)
{
    (void)state;
    static const double values[] = { NAN, INFINITY, -INFINITY };
    static const char *const names[] = { "nan", "inf", "-inf" };
    for (int i = 0; i < 6; ++i) {
        adz_tensor *x =
            adz_requires_grad_(adz_scalar(values[i / 2], i % 2 == 0 ? ADZ_F32 : ADZ_F64), true);
        assert_int_equal(adz_backward(adz_mul_number(x, 2)), ADZ_OK);
        char says[60];
        snprintf(says, sizeof says, "the loss is %s, so gradients may be", names[i / 2]);
        assert_non_null(strstr(warning, says));
        assert_int_equal(warnings, i + 1);
    }
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    assert_int_equal(adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(warnings, 6);
}

#define LISTEN(name) cmocka_unit_test_setup_teardown(name, listen, listen_no_more)

int warning_tests(void)
{
    const struct CMUnitTest tests[] = {
        LISTEN(a_step_without_gradients_says_so),
        LISTEN(a_step_after_the_module_was_freed_is_refused),
        LISTEN(a_step_for_a_kept_parameter_is_done),
        LISTEN(a_loss_that_is_not_finite_says_so),
    };
    return cmocka_run_group_tests_name("optim: warnings", tests, NULL, NULL);
}
