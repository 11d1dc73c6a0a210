/* Networks written as C99: what the compiled functions compute, what the files say, and what is
 * refused. */
#include "c99.h"

static network of(adz_module *module, adz_tensor *x)
{
    return (network){ .module = module, .in = { x }, .n_in = 1 };
}

static void check_and_free(adz_module *module, adz_tensor *x)
{
    network n = of(module, x);
    check_network(&n, 1e-6);
    adz_module_free(&module);
}

static void feed_forward_networks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(1);
    check_and_free(ADZ_SEQUENTIAL(adz_linear_new(13, 50, NULL), adz_relu_new(NULL),
                       adz_linear_new(50, 1, NULL)),
        adz_randn(ADZ_SHAPE(1, 13), ADZ_F32));
    check_and_free(ADZ_SEQUENTIAL(adz_linear_new(7, 20, NULL), adz_tanh_new(),
                       adz_linear_new(20, 9, NULL), adz_sigmoid_new(), adz_linear_new(9, 3, NULL)),
        adz_randn(ADZ_SHAPE(5, 7), ADZ_F32));
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feed_forward_networks),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
