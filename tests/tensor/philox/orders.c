/* Orders that are computed position by position: bijections, equal on every instruction set, and as
 * random as orders that are drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/base.h"
#include "adze/random.h"
#include "tensor/random/shuffle.h"
#include "../../cpu_levels.h"
#include "../../errors.h"
#include "tests.h"

/* The order of all rows. The caller frees it. */
static int64_t *order_of(uint64_t seed, uint64_t epoch, int64_t n)
{
    adzi_shuffle order;
    int64_t *rows = malloc((size_t)(n > 0 ? n : 1) * sizeof *rows);
    adzi_shuffle_prepare(&order, seed, epoch, n);
    adzi_shuffle_rows(&order, 0, n, rows);
    return rows;
}

static void assert_holds_each_once(const int64_t *rows, int64_t n)
{
    unsigned char *seen = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n; ++i) {
        if (rows[i] < 0 || rows[i] >= n || seen[rows[i]]++ != 0) {
            fail_msg("of %lld rows: row %lld at position %lld", (long long)n, (long long)rows[i],
                (long long)i);
        }
    }
    free(seen);
}

static void each_row_comes_once(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 2000; ++n) {
        int64_t *rows = order_of(7, (uint64_t)n % 5, n);
        assert_holds_each_once(rows, n);
        free(rows);
    }
    /* A square, a product a b that is n, one row more and one less. */
    static const int64_t large[] = { 65535, 65536, 65537, 256 * 257, 99999, 1000003 };
    for (size_t i = 0; i < sizeof large / sizeof *large; ++i) {
        int64_t *rows = order_of(UINT64_MAX, UINT64_MAX, large[i]);
        assert_holds_each_once(rows, large[i]);
        free(rows);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Of large orders the first, the last and some positions between give different rows in the range.
 */
static void large_orders_repeat_nothing(void **state)
{
    (void)state;
    enum { POSITIONS = 3000 };
    static const int64_t sizes[] = { INT64_C(2147483647), INT64_C(4294967311),
        INT64_C(1000000000039), (INT64_C(1) << 62) - 1, INT64_C(1) << 62 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        int64_t n = sizes[s], middle = n / 3 - POSITIONS, rows[3 * POSITIONS];
        adzi_shuffle order;
        adzi_shuffle_prepare(&order, 11, s, n);
        adzi_shuffle_rows(&order, 0, POSITIONS, rows);
        adzi_shuffle_rows(&order, middle, POSITIONS, rows + POSITIONS);
        adzi_shuffle_rows(&order, n - POSITIONS, POSITIONS, rows + 2 * POSITIONS);
        assert_int_equal(rows[0], adz_shuffle_index(11, s, n, 0));
        assert_int_equal(rows[POSITIONS + 1], adz_shuffle_index(11, s, n, middle + 1));
        assert_int_equal(rows[3 * POSITIONS - 1], adz_shuffle_index(11, s, n, n - 1));
        qsort(rows, 3 * POSITIONS, sizeof *rows, by_value);
        assert_true(rows[0] >= 0 && rows[3 * POSITIONS - 1] < n);
        for (int i = 1; i < 3 * POSITIONS; ++i) {
            assert_true(rows[i - 1] < rows[i]);
        }
        /* The median of 9000 rows lies within 5 deviations of the middle. */
        assert_true(
            fabs((double)rows[3 * POSITIONS / 2] / (double)n - 0.5) < 5 / (2 * sqrt(9000.0)));
    }
}

static void every_instruction_set_gives_the_order(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 3, 256, 257, 300, 12345, INT64_C(1) << 40, INT64_C(1) << 62 };
    int level = adzi_cpu_level;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        int64_t n = sizes[s], count = n < 300 ? n : 300, rows[300];
        adzi_shuffle order;
        adzi_shuffle_prepare(&order, 3, 4, n);
        for (adzi_cpu_level = 0; adzi_cpu_level < ADZI_CPU_LEVELS; ++adzi_cpu_level) {
            if (!cpu_has_level(adzi_cpu_level)) {
                continue;
            }
            for (int64_t begin = 0; begin < count; begin += 1 + begin / 3) {
                memset(rows, 0xff, sizeof rows);
                adzi_shuffle_rows(&order, begin, count - begin, rows);
                for (int64_t i = begin; i < count; ++i) {
                    assert_int_equal(rows[i - begin], adz_shuffle_index(3, 4, n, i));
                }
            }
        }
        adzi_cpu_level = level;
    }
}

/* Checkpoints rely on these orders: a change of them needs another version of the layout. */
static void orders_stay_as_they_are(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, epoch;
        int64_t n, first[4];
    } known[] = {
        { 0, 0, 4, { 3, 2, 1, 0 } },
        { 1, 2, 256, { 121, 16, 103, 53 } },
        { 1, 2, 257, { 91, 145, 189, 174 } },
        { UINT64_MAX, 5, 12000000, { 7421852, 7569140, 4518621, 9625210 } },
        { 42, UINT64_C(1) << 40, INT64_C(1) << 62,
            { INT64_C(805836350680109270), INT64_C(2892863959744589182),
                INT64_C(982741511808058345), INT64_C(3669229264385203232) } },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        for (int64_t k = 0; k < 4 && k < known[i].n; ++k) {
            assert_int_equal(
                adz_shuffle_index(known[i].seed, known[i].epoch, known[i].n, k), known[i].first[k]);
        }
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* How many deviations a chi-square statistic of equally likely cells is from its mean. */
static double deviations(const int *cells, int64_t n, double freedom)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        total += cells[i];
    }
    double expected = total / (double)n;
    for (int64_t i = 0; i < n; ++i) {
        sum += (cells[i] - expected) * (cells[i] - expected) / expected;
    }
    return (sum - freedom) / sqrt(2 * freedom);
}

/* Positions: each row and each position has as many entries as there are orders, which takes 2 n -
 * 1 degrees of freedom. Neighbours, in a circle: so it is for the first and the second of a pair.
 */
static void rows_come_anywhere(void **state)
{
    (void)state;
    static const struct {
        int n, orders;
    } cases[] = { { 2, 4000 }, { 3, 4000 }, { 10, 4000 }, { 255, 1500 }, { 257, 1500 },
        { 289, 1500 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        int n = cases[c].n;
        int *positions = calloc((size_t)(n * n), sizeof *positions);
        int *pairs = calloc((size_t)(n * n), sizeof *pairs);
        for (int e = 0; e < cases[c].orders; ++e) {
            int64_t *rows = order_of((uint64_t)e, 0, n);
            for (int i = 0; i < n; ++i) {
                ++positions[i * n + rows[i]];
                /* The difference keeps out pairs of a row with itself. */
                int64_t after = (rows[(i + 1) % n] - rows[i] + n) % n;
                ++pairs[rows[i] * (n - 1) + after - 1];
            }
            free(rows);
        }
        double one = deviations(positions, (int64_t)n * n, (n - 1.0) * (n - 1.0));
        double two = n < 10 ? 0 : deviations(pairs, (int64_t)n * (n - 1), n * (n - 3.0) + 1);
        print_message("%d rows: positions %.2f, neighbours %.2f deviations\n", n, one, two);
        assert_true(fabs(one) < 4);
        assert_true(fabs(two) < 4);
        free(positions);
        free(pairs);
    }
}

/* All orders of five rows are equally frequent. */
static void small_orders_are_uniform(void **state)
{
    (void)state;
    enum { N = 5, ORDERS = 120 };
    int cells[ORDERS] = { 0 };
    for (uint64_t e = 0; e < 100 * ORDERS; ++e) {
        int64_t *rows = order_of(1, e, N);
        int number = 0;
        for (int i = 0; i < N; ++i) {
            int smaller = 0;
            for (int k = i + 1; k < N; ++k) {
                smaller += rows[k] < rows[i];
            }
            number = number * (N - i) + smaller;
        }
        ++cells[number];
        free(rows);
    }
    double d = deviations(cells, ORDERS, ORDERS - 1);
    print_message("orders of five: %.2f deviations\n", d);
    assert_true(fabs(d) < 4);
}

static int cycles_of(const int64_t *rows, int64_t n)
{
    unsigned char *seen = calloc((size_t)n, 1);
    int cycles = 0;
    for (int64_t i = 0; i < n; ++i) {
        cycles += !seen[i];
        for (int64_t k = i; !seen[k]; k = rows[k]) {
            seen[k] = 1;
        }
    }
    free(seen);
    return cycles;
}

/* A random order of n rows has H = sum 1/k cycles on average, with variance H - sum 1/k^2. It is
 * even as often as odd. The variance of a variance is that of a normal distribution, nearly. */
static void cycles_are_those_of_random_orders(void **state)
{
    (void)state;
    enum { ORDERS = 2000 };
    static const int64_t sizes[] = { 50, 256, 289, 1024 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        int64_t n = sizes[s];
        double mean = 0, variance = 0, sum = 0, squares = 0;
        int odd = 0;
        for (int64_t k = 1; k <= n; ++k) {
            mean += 1 / (double)k;
            variance += 1 / (double)k - 1 / ((double)k * (double)k);
        }
        for (uint64_t e = 0; e < ORDERS; ++e) {
            int64_t *rows = order_of(99, e, n);
            double cycles = cycles_of(rows, n) - mean;
            odd += (n - cycles_of(rows, n)) % 2 != 0;
            sum += cycles;
            squares += cycles * cycles;
            free(rows);
        }
        double of_mean = sum / sqrt(ORDERS * variance);
        double of_variance = (squares / ORDERS / variance - 1) / sqrt(2.0 / ORDERS);
        double of_sign = (odd - ORDERS / 2) / sqrt(ORDERS / 4.0);
        print_message("%lld rows: cycles %.2f, their variance %.2f, odd orders %.2f deviations\n",
            (long long)n, of_mean, of_variance, of_sign);
        assert_true(fabs(of_mean) < 4 && fabs(of_variance) < 4 && fabs(of_sign) < 4);
    }
}

/* Two orders that have nothing to do with each other agree at one position on average, whatever n.
 */
static void neighbouring_keys_give_unrelated_orders(void **state)
{
    (void)state;
    enum { PAIRS = 2000 };
    static const int64_t sizes[] = { 40, 300, 1001 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        int64_t n = sizes[s];
        int agree[4] = { 0 };
        for (uint64_t e = 0; e < PAIRS; ++e) {
            int64_t *own = order_of(e, e, n);
            int64_t *others[4] = { order_of(e, e + 1, n), order_of(e + 1, e, n),
                order_of(e, e, n + 1), order_of(e ^ UINT64_C(1) << 63, e, n) };
            for (int k = 0; k < 4; ++k) {
                for (int64_t i = 0; i < n; ++i) {
                    agree[k] += own[i] == others[k][i];
                }
                free(others[k]);
            }
            free(own);
        }
        for (int k = 0; k < 4; ++k) {
            assert_true(fabs(agree[k] - (double)PAIRS) < 4 * sqrt((double)PAIRS));
        }
    }
}

/* ---- errors --------------------------------------------------------------------------------- */

static void wrong_places_are_refused(void **state)
{
    (void)state;
    assert_int_equal(adz_shuffle_index(1, 2, 1, 0), 0);
    static const int64_t positions[][2] = { { 0, 0 }, { 1, 1 }, { 2, -1 }, { 300, 300 },
        { 300, INT64_MAX }, { 300, INT64_MIN } };
    for (size_t i = 0; i < sizeof positions / sizeof *positions; ++i) {
        assert_int_equal(adz_shuffle_index(1, 2, positions[i][0], positions[i][1]), -1);
        assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
        adz_error_clear();
    }
    assert_int_equal(adz_shuffle_index(1, 2, 300, 300), -1);
    expect_error(ADZ_ERR_INDEX, "position 300 is outside an order of 300 rows");
    assert_int_equal(adz_shuffle_index(1, 2, -1, 0), -1);
    expect_error(ADZ_ERR_ARGUMENT, "n is -1; an order has 0 to 2^62 rows");
    assert_int_equal(adz_shuffle_index(1, 2, (INT64_C(1) << 62) + 1, 0), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
}

int orders_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_comes_once),
        cmocka_unit_test(large_orders_repeat_nothing),
        cmocka_unit_test(every_instruction_set_gives_the_order),
        cmocka_unit_test(orders_stay_as_they_are),
        cmocka_unit_test(rows_come_anywhere),
        cmocka_unit_test(small_orders_are_uniform),
        cmocka_unit_test(cycles_are_those_of_random_orders),
        cmocka_unit_test(neighbouring_keys_give_unrelated_orders),
        cmocka_unit_test(wrong_places_are_refused),
    };
    return cmocka_run_group_tests_name("philox: orders", tests, NULL, NULL);
}
