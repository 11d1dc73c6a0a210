/* Names of dtypes without an order of bytes, and integers that are widened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/io/npy.h"
#include "../../errors.h"
#include "make.h"
#include "tests.h"

/* A dtype without an order of bytes has that of the machine. */
static void names_without_a_byte_order(void **state)
{
    (void)state;
    static const char *const texts[] = { HEADER("f8", "False", "(2,)"),
        HEADER("=f8", "False", "(2,)"), HEADER("float64", "False", "(2,)") };
    static const double numbers[] = { 2.5, -3 };
    unsigned char bytes[512];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *t =
            adz_npy_from_memory(bytes, make(bytes, 1, texts[i], numbers, sizeof numbers));
        assert_non_null(t);
        assert_int_equal(adz_tensor_dtype(t), ADZ_F64);
        assert_memory_equal(adz_tensor_data(t), numbers, sizeof numbers);
        adz_scope_close(scope);
    }
}

/* Integers are widened in the memory of the tensor, in either order of dimensions. */
static void integers_are_widened(void **state)
{
    (void)state;
    static const char *const texts[] = { HEADER("<i2", "False", "(2, 3)"),
        HEADER("<i2", "True", "(2, 3)") };
    static const int32_t expected[2][6] = { { 1, -2, 300, 4, -5, 6 }, { 1, 300, -5, -2, 4, 6 } };
    static const char items[] = "\1\0\xfe\xff\x2c\1\4\0\xfb\xff\6\0";
    unsigned char bytes[512];
    for (int fortran = 0; fortran < 2; ++fortran) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *t = adz_npy_from_memory(bytes, make(bytes, 1, texts[fortran], items, 12));
        assert_non_null(t);
        assert_int_equal(adz_tensor_dtype(t), ADZ_I32);
        assert_memory_equal(adz_tensor_data(t), expected[fortran], sizeof expected[fortran]);
        adz_scope_close(scope);
    }
    static const char most[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80";
    size_t n = make(bytes, 1, HEADER("<u8", "False", "(2,)"), most, 16);
    assert_null(adz_npy_from_memory(bytes, n));
    expect_error(ADZ_ERR_UNSUPPORTED, "element 1 of its uint64 does not fit int64");
}

int dtypes_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_a_byte_order),
        cmocka_unit_test(integers_are_widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
