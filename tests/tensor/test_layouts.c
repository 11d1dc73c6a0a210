/* Elementwise operators over operands of every layout: broadcast, transposed, with gaps, with short
 * and long rows, cut for threads. They run at every instruction set that this processor has. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/cpu.h"
#include "base/isa.h"

/* The layout of an operand: contiguous; one number; one row; one column; transposed; every second
 * element of a row; one row for every matrix. */
typedef enum layout { PLAIN, NUMBER, ROW, COLUMN, TRANSPOSED, GAPS, ROWS, LAYOUTS } layout;

static adz_tensor *operand(layout how, int64_t depth, int64_t rows, int64_t columns)
{
    switch (how) {
    case NUMBER:
        return adz_randn(ADZ_SHAPE(1), ADZ_F32);
    case ROW:
        return adz_randn(ADZ_SHAPE(columns), ADZ_F32);
    case COLUMN:
        return adz_randn(ADZ_SHAPE(rows, 1), ADZ_F32);
    case TRANSPOSED:
        return adz_transpose(adz_randn(ADZ_SHAPE(depth, columns, rows), ADZ_F32), 1, 2);
    case GAPS:
        return adz_slice(
            adz_randn(ADZ_SHAPE(depth, rows, 2 * columns), ADZ_F32), 2, 0, 2 * columns, 2);
    case ROWS:
        return adz_randn(ADZ_SHAPE(depth, 1, columns), ADZ_F32);
    default:
        return adz_randn(ADZ_SHAPE(depth, rows, columns), ADZ_F32);
    }
}

/* Element [i, j, k] of t, broadcast to three dimensions. */
static float at(adz_tensor *t, int64_t i, int64_t j, int64_t k)
{
    const int64_t index[3] = { i, j, k };
    const int rank = adz_tensor_rank(t);
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) {
        offset += adz_tensor_size(t, d) > 1 ? index[3 - rank + d] * adz_tensor_stride(t, d) : 0;
    }
    return adz_tensor_data_f32(t)[offset];
}

static const int64_t shapes[][3] = { { 1, 1, 5 }, { 2, 3, 4 }, { 3, 300, 3 }, { 2, 5, 700 },
    { 4, 7, 130 }, { 1, 2, 256 }, { 1, 19, 27 }, { 1, 90, 512 }, { 1, 1, 40000 }, { 300, 2, 60 },
    { 700, 1, 1 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void compare(const int64_t *s, layout la, layout lb, layout lc)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *whole = adz_zeros(ADZ_SHAPE(s[0], s[1], s[2]), ADZ_F32);
    adz_tensor *a = operand(la, s[0], s[1], s[2]), *b = operand(lb, s[0], s[1], s[2]);
    adz_tensor *c = operand(lc, s[0], s[1], s[2]);
    adz_tensor *x = adz_add(whole, a); /* x is contiguous and has the full shape */
    adz_tensor *y2 = adz_sub(x, b), *y3 = adz_addcmul(x, b, c, 2);
    adz_tensor *chosen = adz_where(adz_gt(c, whole), x, b);
    assert_int_equal(adz_error_code(), ADZ_OK);
    for (int64_t i = 0; i < s[0]; ++i) {
        for (int64_t j = 0; j < s[1]; ++j) {
            for (int64_t k = 0; k < s[2]; ++k) {
                float va = at(a, i, j, k), vb = at(b, i, j, k), vc = at(c, i, j, k);
                assert_float_equal(at(x, i, j, k), va, 0);
                assert_float_equal(at(y2, i, j, k), va - vb, 0);
                assert_float_equal(at(y3, i, j, k), va + 2 * vb * vc, 1e-5);
                assert_float_equal(at(chosen, i, j, k), vc > 0 ? va : vb, 0);
            }
        }
    }
    adz_scope_close(scope);
}

static void any_layout_reads_alike(void **state)
{
    (void)state;
    const int level = adzi_cpu_level;
    for (adzi_cpu_level = 0; adzi_cpu_level <= level; ++adzi_cpu_level) {
        for (int i = 0; i < SHAPES; ++i) {
            for (int pair = 0; pair < LAYOUTS * LAYOUTS; ++pair) {
                layout lb = (layout)(pair / LAYOUTS), lc = (layout)(pair % LAYOUTS);
                compare(shapes[i], (layout)((pair + i) % LAYOUTS), lb, lc);
            }
        }
    }
    adzi_cpu_level = level;
}

/* y = y - b and y = b, where y itself is contiguous, is transposed or has gaps. */
static void any_layout_is_written_alike(void **state)
{
    (void)state;
    const layout layouts[] = { PLAIN, TRANSPOSED, GAPS };
    for (int i = 0; i < SHAPES; ++i) {
        for (int pair = 0; pair < 3 * LAYOUTS; ++pair) {
            const int64_t *s = shapes[i];
            adz_scope *scope = adz_scope_open();
            adz_tensor *y = operand(layouts[pair % 3], s[0], s[1], s[2]), *before = adz_clone(y);
            adz_tensor *b = operand((layout)(pair / 3), s[0], s[1], s[2]);
            adz_tensor *copied = operand(layouts[pair % 3], s[0], s[1], s[2]);
            assert_non_null(adz_sub_(y, b));
            assert_non_null(adz_copy_(copied, b));
            for (int64_t j = 0; j < s[0] * s[1] * s[2]; ++j) {
                int64_t p = j / s[2] / s[1], q = j / s[2] % s[1], r = j % s[2];
                assert_float_equal(at(y, p, q, r), at(before, p, q, r) - at(b, p, q, r), 0);
                assert_float_equal(at(copied, p, q, r), at(b, p, q, r), 0);
            }
            adz_scope_close(scope);
        }
    }
}

/* Copies of every size of element, from and to any layout. */
static void every_size_of_element_is_copied(void **state)
{
    (void)state;
    const adz_dtype dtypes[] = { ADZ_U8, ADZ_BF16, ADZ_F32, ADZ_I64 };
    for (int i = 0; i < SHAPES * 4; ++i) {
        const int64_t *s = shapes[i / 4], n = s[0] * s[1] * s[2];
        adz_scope *scope = adz_scope_open();
        adz_tensor *values = adz_randint(0, 100, ADZ_SHAPE(s[0], s[1], s[2]), ADZ_I64);
        adz_tensor *x = adz_to(values, dtypes[i % 4]);
        adz_tensor *transposed = adz_contiguous(adz_transpose(x, 0, 2));
        adz_tensor *back = adz_contiguous(adz_transpose(transposed, 0, 2));
        adz_tensor *wide = adz_repeat(back, ADZ_SHAPE(1, 1, 2));
        adz_tensor *half = adz_to(adz_contiguous(adz_slice(wide, 2, 0, s[2], 1)), ADZ_I64);
        assert_non_null(half);
        assert_memory_equal(adz_tensor_data(half), adz_tensor_data(values), (size_t)n * 8);
        adz_scope_close(scope);
    }
}

/* A number from 0 to n - 1, the same in every run. */
static int64_t some(int64_t n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* A part of x with its dimensions in another order. */
static adz_tensor *any_view(adz_tensor *x)
{
    const int rank = adz_tensor_rank(x);
    for (int d = 0; d < rank; ++d) {
        const int64_t n = adz_tensor_size(x, d), start = some(n);
        x = adz_slice(x, d, start, n - some(n - start), 1 + some(2));
        x = adz_transpose(x, d, (int)some(rank));
    }
    return x;
}

/* Compares y with x, element by element. */
static void assert_same_elements(adz_tensor *y, adz_tensor *x)
{
    const size_t item = adz_dtype_size(adz_tensor_dtype(x));
    const int rank = adz_tensor_rank(x);
    int64_t index[4] = { 0 }, n = adz_tensor_numel(x);
    assert_int_equal(adz_tensor_numel(y), n);
    while (n-- > 0) {
        int64_t from = 0, to = 0;
        for (int d = 0; d < rank; ++d) {
            from += index[d] * adz_tensor_stride(x, d);
            to += index[d] * adz_tensor_stride(y, d);
        }
        assert_memory_equal((const char *)adz_tensor_data(y) + (size_t)to * item,
            (const char *)adz_tensor_data(x) + (size_t)from * item, item);
        for (int d = rank - 1; d >= 0 && ++index[d] == adz_tensor_size(x, d); --d) {
            index[d] = 0;
        }
    }
}

/* Rows of any length, broadcast rows and columns among them, to memory of any layout. */
static void any_view_is_copied(void **state)
{
    (void)state;
    const adz_dtype dtypes[] = { ADZ_U8, ADZ_BF16, ADZ_F32, ADZ_F64 };
    const int level = adzi_cpu_level;
    for (int i = 0; i < 4000; ++i) {
        adzi_cpu_level = i % (level + 1);
        adz_scope *scope = adz_scope_open();
        int64_t kept[4], all[4];
        for (int d = 0; d < 4; ++d) {
            all[d] = 1 + some(some(3) == 0 ? 40 : 6);
            kept[d] = some(3) == 0 ? 1 : all[d];
        }
        adz_tensor *few =
            adz_randint(0, 100, ADZ_SHAPE(kept[0], kept[1], kept[2], kept[3]), ADZ_I64);
        adz_tensor *x = adz_to(few, dtypes[i / 4 % 4]);
        x = any_view(adz_expand(x, ADZ_SHAPE(all[0], all[1], all[2], all[3])));
        assert_same_elements(adz_contiguous(x), x);
        adz_tensor *y = any_view(adz_zeros(ADZ_SHAPE(24, 24, 5, 5), dtypes[i / 4 % 4]));
        for (int d = 0; d < 4; ++d) {
            const int64_t nx = adz_tensor_size(x, d), ny = adz_tensor_size(y, d);
            x = adz_narrow(x, d, 0, nx < ny ? nx : ny);
            y = adz_narrow(y, d, 0, nx < ny ? nx : ny);
        }
        assert_non_null(adz_copy_(y, x));
        assert_same_elements(y, x);
        adz_scope_close(scope);
    }
    adzi_cpu_level = level;
}

int main(void)
{
    adz_set_num_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layout_reads_alike),
        cmocka_unit_test(any_layout_is_written_alike),
        cmocka_unit_test(every_size_of_element_is_copied),
        cmocka_unit_test(any_view_is_copied),
    };
    return cmocka_run_group_tests_name("layouts", tests, NULL, NULL);
}
