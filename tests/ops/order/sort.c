#include "ops/facts.h"

/* p[0] = dim, p[1] = descending */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_sort(a->in[0], (int)a->p[0], a->p[1] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", -1);
    a->p[1] = config_flag(config, "descending", false);
    return true;
}

/* Equal elements keep their order in both directions, and NaN is the largest. */
FACT(the_order_is_stable)
{
    adz_tensor *x = VALUES(ADZ_F32, 2, NAN, 1, 2, -INFINITY, 1), *at;
    ASSERT_VALUES(adz_sort(x, 0, false, &at), ADZ_F32, -INFINITY, 1, 1, 2, 2, NAN);
    ASSERT_VALUES(at, ADZ_I64, 4, 2, 5, 0, 3, 1);
    ASSERT_VALUES(adz_sort(x, 0, true, &at), ADZ_F32, NAN, 2, 2, 1, 1, -INFINITY);
    ASSERT_VALUES(at, ADZ_I64, 1, 0, 3, 2, 5, 4);
    ASSERT_VALUES(adz_sort(VALUES(ADZ_I64, 3, 1, 2), -1, false, NULL), ADZ_I64, 1, 2, 3);
}

/* Whether element a at position i comes before element b at position j. */
static bool comes_before(double a, int64_t i, double b, int64_t j, bool descending)
{
    if (isnan(a) != isnan(b)) {
        return isnan(a) == descending;
    }
    if (isnan(a) || a == b) {
        return i < j;
    }
    return descending ? a > b : a < b;
}

/* Checks one sort along the first of two dimensions: neighbours are in order, values stand at their
 * positions, and no position occurs twice. */
static void check_sorted(adz_tensor *x, bool descending)
{
    adz_tensor *at, *y = adz_sort(x, 0, descending, &at);
    assert_non_null(y);
    const int64_t n = adz_tensor_size(x, 0), slices = adz_tensor_size(x, 1);
    for (int64_t slice = 0; slice < slices; ++slice) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *in = adz_select(x, 1, slice), *out = adz_select(y, 1, slice);
        adz_tensor *positions = adz_select(at, 1, slice);
        double sum = 0, last = 0;
        for (int64_t j = 0, before = 0; j < n; ++j) {
            const int64_t position = (int64_t)adz_item(adz_select(positions, 0, j));
            const double value = adz_item(adz_select(out, 0, j));
            const double there = adz_item(adz_select(in, 0, position));
            assert_true(isnan(value) ? isnan(there) : value == there);
            assert_true(signbit(value) == signbit(there));
            assert_true(j == 0 || comes_before(last, before, value, position, descending));
            last = value;
            before = position;
            sum += (double)position;
        }
        assert_true(sum == (double)(n * (n - 1) / 2));
        adz_scope_close(scope);
    }
}

/* Slices on both sides of the length from which bytes are counted, of every dtype, with equal
 * elements, signs, NaN, infinities and both zeros. */
FACT(long_slices_are_sorted_by_their_bytes)
{
    static const double special[] = { -NAN, -0.0, 0.0, INFINITY, -INFINITY, NAN, -1e-30, 3, -0.0 };
    for (int64_t n = 64; n <= 300; n += 118) {
        adz_tensor *x = adz_mul_number(adz_randn(ADZ_SHAPE(n, 3), ADZ_F64), 100);
        for (int i = 0; i < 9; ++i) {
            assert_non_null(adz_fill_(adz_select(adz_select(x, 0, 7 * i), 0, i % 3), special[i]));
        }
        adz_tensor *const all[] = { x, adz_to(x, ADZ_F32),
            adz_randint(-300, 300, ADZ_SHAPE(n, 3), ADZ_I32),
            adz_mul_number(adz_randint(-300, 300, ADZ_SHAPE(n, 3), ADZ_I64), 1e12),
            adz_randint(0, 256, ADZ_SHAPE(n, 3), ADZ_U8), adz_gt_number(x, 0) };
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
            check_sorted(all[i], false);
            check_sorted(all[i], true);
        }
    }
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_order_is_stable),
    cmocka_unit_test(long_slices_are_sorted_by_their_bytes) };

#define D(...)   IN_OF(FILL_DISTINCT, __VA_ARGS__)
#define D_T(...) IN_T_OF(FILL_DISTINCT, __VA_ARGS__)

const op_case sort_case = {
    .name = "sort",
    .call = call,
    .samples = {
        { .in = { D(3, 5) }, .p = { 1, 0 } },
        { .in = { D_T(4, 3) }, .p = { 0, 1 } },
        { .in = { D(2, 6, 2) }, .p = { -2, 0 } },
        { .in = { D(1, 4) }, .p = { 0, 1 } },
        { .in = { IN_0 }, .p = { 0, 0 } },
        { .in = { D(0, 4) }, .p = { 1, 0 } },
        { .in = { D(2, 700) }, .p = { 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { D(3, 4) }, .p = { 2, 0 }, .status = ADZ_ERR_DIM, .says = "sort: " },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "sort" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
