/* The version is stated by the build, by the headers and by the library. The three must agree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "adze/base.h"

static void library_and_build_agree(void **state)
{
    (void)state;
    assert_string_equal(adz_version(), PROJECT_VERSION);
}

static void library_and_headers_agree(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d%s", ADZ_VERSION_MAJOR, ADZ_VERSION_MINOR,
        ADZ_VERSION_PATCH, ADZ_VERSION_TAG);
    assert_string_equal(adz_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_and_build_agree),
        cmocka_unit_test(library_and_headers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
