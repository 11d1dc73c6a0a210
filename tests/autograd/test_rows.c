/* Operators along rows of every length, compared with plain loops, on every instruction set of this
 * processor. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/cpu.h"
#include "base/isa.h"

enum { ROWS = 19, LONGEST = 200 };

/* Calls `check` for every length on every instruction set. */
static void for_each_length(void (*check)(int64_t n))
{
    const int level = adzi_cpu_level;
    adz_manual_seed(7);
    for (adzi_cpu_level = 0; adzi_cpu_level <= level; ++adzi_cpu_level) {
        for (int64_t n = 1; n <= LONGEST; n += n < 70 ? 1 : 13) {
            adz_scope *scope = adz_scope_open();
            check(n);
            assert_int_equal(adz_error_code(), ADZ_OK);
            adz_scope_close(scope);
        }
    }
    adzi_cpu_level = level;
}

/* ---- maxima ---------------------------------------------------------------------------------- */

static double at(adz_tensor *t, int64_t row)
{
    return adz_tensor_at(t, &row);
}

static void put(adz_tensor *row, int64_t position, double value)
{
    assert_non_null(adz_fill_(adz_slice(row, 0, position, position + 1, 1), value));
}

/* Row r has its largest element at position r (mod n), and in some rows a second time behind it.
 * The first position must be found. */
static void find_largest(int64_t n, adz_dtype dtype, double largest)
{
    adz_tensor *whole = adz_randint(0, 100, ADZ_SHAPE(n, n), ADZ_I64);
    adz_tensor *x = adz_to(whole, dtype), *positions;
    for (int64_t r = 0; r < n; ++r) {
        put(adz_select(x, 0, r), r, largest);
        put(adz_select(x, 0, r), r % 3 == 0 ? n - 1 : r, largest);
    }
    adz_tensor *y = adz_amax(x, ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *at_once = adz_max_dim(x, 1, ADZ_DROPDIM, &positions);
    adz_tensor *found = adz_argmax(x, ADZ_DIMS(1), ADZ_DROPDIM);
    for (int64_t r = 0; r < n; ++r) {
        assert_true(at(y, r) == largest || (isnan(largest) && isnan(at(y, r))));
        assert_true(at(at_once, r) == largest || (isnan(largest) && isnan(at(at_once, r))));
        assert_int_equal(at(found, r), r);
        assert_int_equal(at(positions, r), r);
    }
}

static void find_extremes(int64_t n)
{
    find_largest(n, ADZ_F32, 100);
    find_largest(n, ADZ_F32, NAN);
    find_largest(n, ADZ_F64, 100);
    find_largest(n, ADZ_I32, 100);
    find_largest(n, ADZ_I64, 100);
    find_largest(n, ADZ_U8, 100);
    adz_tensor *x = adz_randn(ADZ_SHAPE(ROWS, n), ADZ_F32);
    adz_tensor *smallest = adz_neg(adz_amax(adz_neg(x), ADZ_DIMS(1), ADZ_DROPDIM));
    assert_true(adz_equal(adz_amin(x, ADZ_DIMS(1), ADZ_DROPDIM), smallest));
    assert_true(adz_equal(
        adz_argmin(x, ADZ_DIMS(1), ADZ_DROPDIM), adz_argmax(adz_neg(x), ADZ_DIMS(1), ADZ_DROPDIM)));
}

static void extremes_are_found_anywhere(void **state)
{
    (void)state;
    for_each_length(find_extremes);
}

/* ---- softmax and log_softmax ----------------------------------------------------------------- */

static void assert_near(adz_tensor *t, int64_t i, double expected, double bound)
{
    const double value = adz_tensor_rank(t) == 0 ? adz_item(t) : at(t, i);
    if (!(fabs(value - expected) <= bound * fmax(1, fabs(expected)))) {
        fail_msg("element %d is %.9g instead of %.9g", (int)i, value, expected);
    }
}

static void compare_softmax(int64_t n, adz_dtype dtype, double bound)
{
    adz_tensor *x = adz_mul_number(adz_randn(ADZ_SHAPE(ROWS, n), dtype), 5);
    adz_tensor *classes = adz_randint(0, n, ADZ_SHAPE(ROWS), ADZ_I64);
    adz_tensor *y = adz_softmax(x, 1), *logs = adz_log_softmax(x, 1);
    adz_tensor *sums = adz_logsumexp(x, ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *loss = adz_cross_entropy(x, classes, ADZ_NONE, NULL);
    double mean = 0;
    for (int64_t r = 0; r < ROWS; ++r) {
        adz_tensor *row = adz_select(x, 0, r);
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) {
            sum += exp(at(row, i));
        }
        assert_near(sums, r, log(sum), bound);
        for (int64_t i = 0; i < n; ++i) {
            assert_near(adz_select(y, 0, r), i, exp(at(row, i)) / sum, bound);
            assert_near(adz_select(logs, 0, r), i, at(row, i) - log(sum), bound);
        }
        mean += (log(sum) - at(row, (int64_t)at(classes, r))) / ROWS;
    }
    assert_near(loss, 0, mean, bound);
}

/* A row with an infinity or a NaN does not change the results of the other rows. */
static void compare_bad_rows(int64_t n)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(ROWS, n), ADZ_F32);
    put(adz_select(x, 0, 1), n / 2, -(double)NAN); /* the sign of a NaN is ignored */
    adz_fill_(adz_select(x, 0, 2), -(double)INFINITY);
    put(adz_select(x, 0, 4), n - 1, (double)INFINITY);
    adz_tensor *sums = adz_logsumexp(x, ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *y = adz_softmax(x, 1), *logs = adz_log_softmax(x, 1);
    for (int64_t r = 0; r < 6; ++r) {
        const bool bad = r == 1 || r == 2 || r == 4;
        assert_true(isnan(at(adz_select(y, 0, r), n - 1)) == bad);
        assert_true(isnan(at(adz_select(logs, 0, r), 0)) == bad);
        assert_true(isnan(at(sums, r)) == (r == 1));
    }
    assert_true(at(sums, 2) == -(double)INFINITY && at(sums, 4) == (double)INFINITY);
}

static void compare_softmaxes(int64_t n)
{
    compare_softmax(n, ADZ_F32, 3e-6);
    compare_softmax(n, ADZ_F64, 1e-14);
    compare_bad_rows(n);
}

static void exponentials_of_rows_add_up(void **state)
{
    (void)state;
    for_each_length(compare_softmaxes);
    compare_softmax(700, ADZ_F32, 3e-6); /* rows of this length are computed one by one */
    compare_softmax(2500, ADZ_F64, 1e-13);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void compare_sum(int64_t n, adz_dtype dtype)
{
    adz_tensor *whole = adz_randint(-50, 50, ADZ_SHAPE(ROWS, n), ADZ_I64);
    adz_tensor *x = adz_to(whole, dtype); /* whole numbers, whose sums are exact */
    adz_tensor *y = adz_sum(x, ADZ_DIMS(1), ADZ_DROPDIM);
    adz_tensor *mean = adz_mean(adz_to(x, ADZ_F64), ADZ_DIMS(1), ADZ_DROPDIM);
    for (int64_t r = 0; r < ROWS; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) {
            sum += at(adz_select(x, 0, r), i);
        }
        assert_true(at(y, r) == sum);
        assert_near(mean, r, sum / (double)n, 1e-15);
    }
}

static void compare_sums(int64_t n)
{
    compare_sum(n, ADZ_F32);
    compare_sum(n, ADZ_F64);
    compare_sum(n, ADZ_I32);
}

static void rows_add_up(void **state)
{
    (void)state;
    for_each_length(compare_sums);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A tensor of elements near 1, some of which are 0. */
static adz_tensor *near_one(int64_t rows, int64_t n, adz_dtype dtype)
{
    adz_tensor *x = adz_add_number(adz_mul_number(adz_randn(ADZ_SHAPE(rows, n), dtype), 0.05), 1);
    put(adz_select(x, 0, 1), n / 2, 0);
    put(adz_select(x, 0, 2), 0, 0);
    put(adz_select(x, 0, 2), n - 1, 0);
    return adz_requires_grad_(x, true);
}

static void check_product(adz_tensor *x, adz_tensor *y, adz_tensor *dx, double bound)
{
    const int64_t n = adz_tensor_size(x, 1);
    for (int64_t r = 0; r < ROWS; ++r) {
        adz_tensor *row = adz_select(adz_detach(x), 0, r), *slopes = adz_select(dx, 0, r);
        double product = 1;
        for (int64_t i = 0; i < n; ++i) {
            product *= at(row, i);
        }
        assert_near(y, r, product, bound);
        for (int64_t i = 0; i < n; i += n < 9 ? 1 : 7) {
            double others = 1;
            for (int64_t j = 0; j < n; ++j) {
                others *= j != i ? at(row, j) : 1;
            }
            assert_near(slopes, i, others, bound);
        }
    }
}

static void compare_product(int64_t n, adz_dtype dtype, double bound)
{
    adz_tensor *x = near_one(ROWS, n, dtype);
    adz_tensor *y = adz_prod(x, ADZ_DIMS(1), ADZ_DROPDIM);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    check_product(x, y, adz_tensor_grad(x), bound);
    adz_tensor *turned = adz_contiguous(adz_transpose(adz_detach(x), 0, 1));
    adz_requires_grad_(turned, true);
    y = adz_prod(turned, ADZ_DIMS(0), ADZ_DROPDIM);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    check_product(x, y, adz_transpose(adz_tensor_grad(turned), 0, 1), bound);
}

static void compare_products(int64_t n)
{
    compare_product(n, ADZ_F32, 2e-6);
    compare_product(n, ADZ_F64, 1e-13);
    adz_tensor *odd =
        adz_add_number(adz_mul_number(adz_randint(0, 9, ADZ_SHAPE(ROWS, n), ADZ_I32), 2), 1);
    adz_tensor *y = adz_prod(odd, ADZ_DIMS(1), ADZ_DROPDIM);
    for (int64_t r = 0; r < ROWS; ++r) {
        uint64_t product = 1;
        for (int64_t i = 0; i < n; ++i) {
            product *= (uint64_t)at(adz_select(odd, 0, r), i);
        }
        assert_true((uint64_t)adz_item_i64(adz_select(y, 0, r)) == product);
    }
}

static void rows_are_multiplied(void **state)
{
    (void)state;
    for_each_length(compare_products);
    compare_product(700, ADZ_F32, 2e-6);   /* longer than a chunk */
    compare_product(1100, ADZ_F64, 1e-12); /* longer than the kernel of the gradients takes */
}

/* ---- gather and scatter_add ------------------------------------------------------------------ */

/* gather and scatter_add on whole numbers, whose sums are exact. x has `positions` elements per
 * slice, of which the index names n. */
static void compare_positions(int64_t n, int64_t positions, adz_dtype dtype, int dim)
{
    const adz_shape shape = dim == 1 ? ADZ_SHAPE(ROWS, positions) : ADZ_SHAPE(positions, ROWS);
    const adz_shape chosen = dim == 1 ? ADZ_SHAPE(ROWS, n) : ADZ_SHAPE(n, ROWS);
    adz_tensor *x = adz_to(adz_randint(-9, 9, shape, ADZ_I64), dtype);
    adz_tensor *b = adz_to(adz_randint(-9, 9, chosen, ADZ_I64), dtype);
    adz_tensor *index = adz_randint(0, positions, chosen, ADZ_I64);
    adz_requires_grad_(x, true);
    adz_requires_grad_(b, true);
    adz_tensor *read = adz_gather(x, dim, index), *sums = adz_scatter_add(x, dim, index, b);
    adz_tensor *loss = adz_add(adz_sum(adz_mul(read, b), ADZ_ALL_DIMS, ADZ_DROPDIM),
        adz_sum(adz_square(sums), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_int_equal(
        adz_backward(loss), ADZ_OK); /* dx = scattered b + 2 sums, db = read + 2 sums there */
    for (int64_t r = 0; r < ROWS; ++r) {
        adz_tensor *row = adz_select(adz_detach(x), 1 - dim, r),
                   *at_row = adz_select(index, 1 - dim, r);
        adz_tensor *added = adz_select(adz_detach(b), 1 - dim, r);
        adz_tensor *dx = adz_select(adz_tensor_grad(x), 1 - dim, r);
        adz_tensor *db = adz_select(adz_tensor_grad(b), 1 - dim, r);
        double expected[1200] = { 0 };
        for (int64_t i = 0; i < n; ++i) {
            const int64_t position = (int64_t)at(at_row, i);
            expected[position] += at(added, i);
            assert_true(at(adz_select(adz_detach(read), 1 - dim, r), i) == at(row, position));
        }
        for (int64_t i = 0; i < positions; ++i) {
            const double sum = at(row, i) + expected[i];
            assert_true(at(adz_select(adz_detach(sums), 1 - dim, r), i) == sum);
            assert_true(at(dx, i) == expected[i] + 2 * sum);
        }
        for (int64_t i = 0; i < n; ++i) {
            const int64_t position = (int64_t)at(at_row, i);
            assert_true(
                at(db, i) == at(row, position) + 2 * (at(row, position) + expected[position]));
        }
    }
}

static void compare_all_positions(int64_t n)
{
    compare_positions(n, 7 + n / 3, ADZ_F32, 1);
    compare_positions(n, 70, ADZ_F64, 1);
    compare_positions(n, 5, ADZ_F32, 0);
}

static void positions_are_read_and_added_to(void **state)
{
    (void)state;
    for_each_length(compare_all_positions);
    compare_positions(40, 1100, ADZ_F32, 1); /* slices too long for a buffer */
    compare_positions(40, 1100, ADZ_F32, 0);
}

/* A bad index is found at every position. */
static void find_bad_index(int64_t n)
{
    const int64_t bad[] = { -1, n, INT64_MIN, INT64_MAX };
    adz_tensor *x = adz_zeros(ADZ_SHAPE(n), ADZ_F32);
    for (int64_t i = 0; i < n; i += 1 + n / 10) {
        adz_tensor *index = adz_randint(0, n, ADZ_SHAPE(n), ADZ_I64);
        assert_non_null(adz_gather(x, 0, index));
        adz_tensor_data_i64(index)[i] = bad[i % 4];
        assert_null(adz_gather(x, 0, index));
        assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
        adz_error_clear();
    }
}

static void bad_indices_are_found(void **state)
{
    (void)state;
    for_each_length(find_bad_index);
}

/* ---- topk ------------------------------------------------------------------------------------ */

static bool comes_before(double a, double b, bool largest)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) != isnan(b) && isnan(a) == largest;
    }
    return largest ? a > b : a < b;
}

/* Of equal elements the first one comes first. Many elements are equal here. */
static void compare_first(int64_t n, int64_t k, adz_dtype dtype, bool largest)
{
    const bool is_float = dtype == ADZ_F32 || dtype == ADZ_F64;
    adz_tensor *x = adz_to(adz_randint(0, n, ADZ_SHAPE(ROWS, n), ADZ_I64), dtype), *positions;
    if (is_float) {
        x = adz_add_number(x, -(double)(n / 2));
        put(adz_select(x, 0, 1), n / 2, -(double)NAN); /* the sign of a NaN is ignored */
        put(adz_select(x, 0, 2), n - 1, -(double)INFINITY);
        put(adz_select(x, 0, 4), 0, (double)NAN);
        put(adz_select(x, 0, 3), n / 3, -0.0);
    }
    if (dtype == ADZ_I32) {
        put(adz_select(x, 0, 1), 0, INT32_MAX);
        put(adz_select(x, 0, 2), n - 1, INT32_MIN);
    }
    adz_tensor *y = adz_topk(x, k, 1, largest, &positions);
    for (int64_t r = 0; r < ROWS; ++r) {
        adz_tensor *row = adz_select(x, 0, r);
        bool taken[LONGEST + 400] = { false };
        for (int64_t j = 0; j < k; ++j) {
            int64_t best = -1;
            for (int64_t i = 0; i < n; ++i) {
                if (!taken[i] && (best < 0 || comes_before(at(row, i), at(row, best), largest))) {
                    best = i;
                }
            }
            taken[best] = true;
            assert_int_equal(at(adz_select(positions, 0, r), j), best);
            const double value = at(adz_select(y, 0, r), j), expected = at(row, best);
            assert_true(value == expected || (isnan(value) && isnan(expected)));
        }
    }
}

static void compare_firsts(int64_t n)
{
    const adz_dtype dtypes[] = { ADZ_F32, ADZ_I32, ADZ_U8, ADZ_I64, ADZ_F64 };
    for (int d = 0; d < 5; ++d) {
        compare_first(n, n < 5 ? n : 5, dtypes[d], n % 2 == 0);
    }
    compare_first(n, n < 16 ? n : 16, ADZ_F32, true);
    compare_first(n, n < 17 ? n : 17, ADZ_F32, false);
}

static void the_first_are_found(void **state)
{
    (void)state;
    for_each_length(compare_firsts);
    compare_first(512, 3, ADZ_F32, true);
    compare_first(513, 3, ADZ_F32, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_found_anywhere),
        cmocka_unit_test(exponentials_of_rows_add_up),
        cmocka_unit_test(rows_add_up),
        cmocka_unit_test(rows_are_multiplied),
        cmocka_unit_test(the_first_are_found),
        cmocka_unit_test(positions_are_read_and_added_to),
        cmocka_unit_test(bad_indices_are_found),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
