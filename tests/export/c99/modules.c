/* Every stateless module and the programs' networks, as functions in C. */
#include "../networks.h"

#include "network.h"
#include "tests.h"

static void check(const network *tested)
{
    adz_scope *scope = adz_scope_open();
    c_network n = { .module = network_new(tested, ADZ_F32), .in = { tested->input(3) }, .n_in = 1 };
    assert_int_equal(adz_module_reset(n.module), ADZ_OK);
    if (write_network(&n, "net.c", NULL) != ADZ_OK) {
        fail_msg("%s: %s", tested->name, adz_error_message());
    }
    assert_int_equal(adz_module_reset(n.module), ADZ_OK);
    const compiled c = compile("net", false);
    const double d = difference(&c, &n, 1);
    if (!(d <= 2e-6)) {
        fail_msg("%s: the C function differs by %g", tested->name, d);
    }
    dlclose(c.library);
    adz_module_release(&n.module);
    adz_scope_close(scope);
}

static void modules(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_networks; ++i) {
        check(&networks[i]);
    }
}

int modules_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules),
    };
    return cmocka_run_group_tests_name("c99: modules", tests, temporary_begin, temporary_end);
}
