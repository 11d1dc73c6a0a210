/* Numbers are read exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>

#include "base/number.h"
#include "../../temporary.h"
#include "tests.h"

/* Every double that is printed with 17 digits is read back with the same bits, in any locale. */
static void printed_numbers_come_back(adzi_number_reader *reader)
{
    /* A locale, if it is installed, whose decimal separator is a comma. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 200000; ++i) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double wanted, got = 0;
        memcpy(&wanted, &bits, sizeof wanted);
        if (i % 2 == 0) { /* short numbers, as tables have them */
            wanted = (double)(int64_t)(bits % 2000000001u) / (i % 4 == 0 ? 1e3 : 1e7) - 100;
        }
        if (!isfinite(wanted)) {
            continue;
        }
        char text[64];
        int n = snprintf(text, sizeof text, "%.17g", wanted);
        char *comma = strchr(text, ',');
        if (comma != NULL) {
            *comma = '.';
        }
        assert_int_equal(adzi_number_read(reader, text, (size_t)n, &got), ADZI_NUMBER_OK);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    setlocale(LC_ALL, "C");
}

/* Numbers are read as strtod() reads them; what is no decimal number is refused. */
static void numbers_are_exact(void **state)
{
    (void)state;
    adzi_number_reader reader;
    assert_true(adzi_number_begin(&reader));
    printed_numbers_come_back(&reader);
    static const char *const texts[] = { "0", "-0", "1", "1.", ".5", "1e5", "1E-5",
        "123456789012345678", "9007199254740993", "9007199254740992e1", "1e22", "1e23", "123e-30",
        "4.9e-324", "1e-400", "2.2250738585072011e-308", "1.7976931348623157e308",
        "0.000000000000000000000000000001", "00000000000000000000000012.5",
        "1234567890.1234567890123456789", "1e-99999999999" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        double got = 7, wanted = strtod(texts[i], NULL);
        assert_int_equal(
            adzi_number_read(&reader, texts[i], strlen(texts[i]), &got), ADZI_NUMBER_OK);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    static const char *const none[] = { "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "1 2",
        "0x10", "1,5", "--1", "1f", "abc", "infinit", "1e5x", "nan" };
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        double got;
        assert_int_equal(
            adzi_number_read(&reader, none[i], strlen(none[i]), &got), ADZI_NUMBER_NONE);
    }
    double got;
    assert_int_equal(adzi_number_read(&reader, "-Inf", 4, &got), ADZI_NUMBER_OK);
    assert_true(isinf(got) && got < 0);
    assert_int_equal(adzi_number_read(&reader, "1e309", 5, &got), ADZI_NUMBER_TOO_LARGE);
    assert_int_equal(
        adzi_number_read(&reader, "1e99999999999999", 16, &got), ADZI_NUMBER_TOO_LARGE);
    assert_int_equal(adzi_number_read(&reader, "12345", 3, &got), ADZI_NUMBER_OK);
    assert_true(got == 123); /* The length ends the text; there is no terminator. */
    adzi_number_end(&reader);
}

/* Numbers that two doubles give exactly are read without a copy of their text. */
static void short_numbers_are_not_copied(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool copied;
    } cases[] = {
        { "0", false },
        { "-12.5e3", false },
        { "9007199254740992", false },
        { "9007199254740993", true },
        { "1e22", false },
        { "1e23", true },
        { "1e-22", false },
        { "1e-23", true },
        { "123456789.0123456", false },
        { "00000000000000000000000000.25", false },
        { "18446744073709551617", true }, /* 2^64 + 1 */
        { "999999999999999999999999", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adzi_number_reader reader;
        double got = 7, wanted = strtod(cases[i].text, NULL);
        assert_true(adzi_number_begin(&reader));
        assert_int_equal(
            adzi_number_read(&reader, cases[i].text, strlen(cases[i].text), &got), ADZI_NUMBER_OK);
        assert_memory_equal(&got, &wanted, sizeof got);
        assert_true((reader.copy != NULL) == cases[i].copied);
        adzi_number_end(&reader);
    }
}

static void words_have_no_case(void **state)
{
    (void)state;
    assert_true(adzi_same_word("AZaz", 4, "azaz"));
    assert_false(adzi_same_word("az", 2, "azaz"));
    assert_false(adzi_same_word("azaza", 5, "azaz"));
    assert_false(adzi_same_word("@[", 2, "`{"));
}

int numbers_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(short_numbers_are_not_copied),
        cmocka_unit_test(words_have_no_case),
    };
    return cmocka_run_group_tests_name("csv: numbers", tests, temporary_begin, temporary_end);
}
