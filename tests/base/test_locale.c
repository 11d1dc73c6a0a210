/* Under `meson test --setup german` every program runs in a locale with a decimal comma. This
 * program checks that the setup works. It is skipped in other setups. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void numbers_have_a_comma(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5");
}

int main(void)
{
    const char *wanted = getenv("LC_ALL");
    if (wanted == NULL || strcmp(wanted, "de_DE.UTF-8") != 0) {
        print_message("LC_ALL is not de_DE.UTF-8: --setup german sets it\n");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_have_a_comma) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
