/* The gradient of every operator that a training step in C can contain. */
#include "side_by_side.h"
#include "tests.h"
#include "trained.h"

/* Every row of the table of expressions, and every other operator, whose gradient has a printer:
 * the second loss shows the weights that the first step has made. */
static adz_tensor *(*trained)(adz_tensor *x);

static adz_tensor *call_trained(adz_module *module, adz_tensor **in)
{
    return trained(adz_module_forward(module, in[0]));
}

static void gradients_of_every_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_TRAINED; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(12);
        adz_module *net = adz_linear_new(3, 6, NULL);
        c_network n = of(net, adz_randn(ADZ_SHAPE(4, 3), ADZ_F32));
        trained = all_trained[i].function;
        n.call = call_trained;
        adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.05, NULL);

        check_training(
            &n, &(training){ .optimizer = optimizer, .loss = MSE, .steps = 4, .batches = 1 });
        adz_optimizer_release(&optimizer);
        adz_module_release(&net);
        adz_scope_close(scope);
    }
}

int gradients_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_every_operator),
    };
    return cmocka_run_group_tests_name("c99: gradients", tests, temporary_begin, temporary_end);
}
