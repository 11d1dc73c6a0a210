/* The printed form of a module. */
#ifndef ADZE_TESTS_NN_MODULES_PRINT_H
#define ADZE_TESTS_NN_MODULES_PRINT_H

#include "../../nn.h"

static inline void expect_print(adz_module *module, const char *expected)
{
    char text[2000];
    assert_non_null(module);
    adz_module_to_string(module, text, sizeof text);
    assert_string_equal(text, expected);
    adz_module_release(&module);
}

#endif
