/* What the collectives compute, for every number of ranks, dtype and layout. */
#include "ranks.h"

#include <math.h>

static const adz_dtype all_dtypes[] = { ADZ_F32, ADZ_F64, ADZ_I32, ADZ_I64, ADZ_U8, ADZ_BOOL };
enum { DTYPES = 6, LONG = 70001 };

/* The sum along the tree, as it is defined: neighbours first, then pairs, in the dtype. */
static double tree_sum(int ranks, int64_t i, bool f32)
{
    double x[8];
    for (int r = 0; r < ranks; ++r) {
        x[r] = f32 ? (double)(float)element(r, i) : element(r, i);
    }
    for (int n = ranks; n > 1; n = (n + 1) / 2) {
        for (int k = 0; k < n / 2; ++k) {
            x[k] = f32 ? (double)((float)x[2 * k] + (float)x[2 * k + 1]) : x[2 * k] + x[2 * k + 1];
        }
        x[n / 2] = n % 2 != 0 ? x[n - 1] : x[n / 2];
    }
    return x[0];
}

typedef struct {
    adz_shape shape;
} sums;

static void sum_floats(adz_group *group, void *user)
{
    const sums *s = user;
    const int ranks = adz_group_size(group);
    for (int f64 = 0; f64 < 2; ++f64) {
        const adz_dtype dtype = f64 ? ADZ_F64 : ADZ_F32;
        adz_tensor *t = numbers_of(adz_group_rank(group), s->shape, dtype);
        adz_tensor *mean = adz_clone(t);
        check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
        check(adz_group_all_reduce(group, mean, ADZ_GROUP_MEAN) == ADZ_OK);
        int64_t wrong = 0;
        for (int64_t i = 0; i < adz_tensor_numel(t); ++i) {
            const double sum = tree_sum(ranks, i, !f64);
            if (f64) {
                wrong +=
                    adz_tensor_data_f64(t)[i] != sum || adz_tensor_data_f64(mean)[i] != sum / ranks;
            } else {
                wrong += adz_tensor_data_f32(t)[i] != (float)sum ||
                         adz_tensor_data_f32(mean)[i] != (float)sum / (float)ranks;
            }
        }
        check(wrong == 0);
    }
}

static void sums_follow_the_tree(void **state)
{
    (void)state;
    const adz_shape shapes[] = { ADZ_SHAPE(7, 3), ADZ_SHAPE(LONG), ADZ_SHAPE(1), ADZ_SHAPE(0, 4) };
    for (int ranks = 1; ranks <= 8; ++ranks) {
        for (int i = 0; i < 4; ++i) {
            sums s = { shapes[i] };
            run_ranks(ranks, NULL, sum_floats, &s);
        }
    }
}

static void timing_changes_no_bit(void **state)
{
    (void)state;
    sums s = { ADZ_SHAPE(5000) };
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        run_ranks(7, &(network){ .delays = seed, .largest = seed % 2 * 1000 }, sum_floats, &s);
    }
}

/* A tensor longer than one block of slices: 4 MB over all ranks. */
static void tensors_longer_than_a_block(void **state)
{
    (void)state;
    sums s = { ADZ_SHAPE((5 << 20) / 4 + 3) };
    run_ranks(3, NULL, sum_floats, &s);
}

/* Integers and bools: values by elements of all ranks. */
static void reduce_any(adz_group *group, void *user)
{
    const int ranks = adz_group_size(group), me = adz_group_rank(group);
    const adz_shape shape = ADZ_SHAPE(3, 401);
    (void)user;
    for (int d = 0; d < DTYPES; ++d) {
        const adz_dtype dtype = all_dtypes[d];
        adz_tensor *sum = adz_zeros(shape, ADZ_F64), *max = numbers_of(0, shape, dtype);
        for (int r = 0; r < ranks; ++r) {
            adz_tensor *one = numbers_of(r, shape, dtype);
            sum = adz_add(sum, one);
            max = dtype == ADZ_BOOL ? adz_logical_or(max, one) : adz_maximum(max, one);
        }
        adz_tensor *t = numbers_of(me, shape, dtype), *u = adz_clone(t);
        check(adz_group_all_reduce(group, t, ADZ_GROUP_MAX) == ADZ_OK);
        check(adz_equal(t, max) && adz_tensor_dtype(t) == dtype);
        check(adz_group_all_reduce(group, u, ADZ_GROUP_SUM) == ADZ_OK);
        check(dtype == ADZ_BOOL ? adz_equal(u, max) : adz_allclose(u, sum, 1e-5, 1e-5, false));
    }
}

static void every_dtype_is_reduced(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ++ranks) {
        run_ranks(ranks, NULL, reduce_any, NULL);
    }
}

static void special_values(adz_group *group, void *user)
{
    const int me = adz_group_rank(group);
    (void)user;
    adz_tensor *nan = adz_full(ADZ_SHAPE(2), me == 1 ? NAN : (double)me, ADZ_F32);
    adz_tensor *also = adz_clone(nan);
    check(adz_group_all_reduce(group, nan, ADZ_GROUP_MAX) == ADZ_OK);
    check(isnan(adz_tensor_data_f32(nan)[0]) && isnan(adz_tensor_data_f32(nan)[1]));
    check(adz_group_all_reduce(group, also, ADZ_GROUP_SUM) == ADZ_OK);
    check(isnan(adz_tensor_data_f32(also)[1]));
    adz_tensor *wide = adz_tensor_from(&(int64_t){ INT64_MAX }, ADZ_SHAPE(1), ADZ_I64);
    check(adz_group_all_reduce(group, wide, ADZ_GROUP_SUM) == ADZ_OK);
    check(adz_item_i64(wide) == INT64_MAX - 2); /* three times, modulo 2^64 */
}

static void nan_spreads_and_integers_wrap(void **state)
{
    (void)state;
    run_ranks(3, NULL, special_values, NULL);
}

static void other_layouts(adz_group *group, void *user)
{
    const int ranks = adz_group_size(group), me = adz_group_rank(group);
    (void)user;
    adz_tensor *base = numbers_of(me, ADZ_SHAPE(60, 50), ADZ_F64);
    adz_tensor *plain = adz_clone(adz_slice(adz_transpose(base, 0, 1), 0, 1, 40, 3));
    adz_tensor *view = adz_slice(adz_transpose(base, 0, 1), 0, 1, 40, 3);
    adz_tensor *before = adz_clone(base);
    check(!adz_tensor_is_contiguous(view));
    check(adz_equal(adz_group_all_gather(group, view), adz_group_all_gather(group, plain)));
    check(adz_group_all_reduce(group, plain, ADZ_GROUP_SUM) == ADZ_OK);
    check(adz_group_all_reduce(group, view, ADZ_GROUP_SUM) == ADZ_OK);
    check(adz_equal(view, plain));
    check(adz_equal(
        adz_select(base, 1, 0), adz_select(before, 1, 0))); /* the elements outside the view */
    check(ranks == 1 || !adz_equal(base, before));
    check(adz_group_broadcast(group, view, ranks - 1) == ADZ_OK);
    check(adz_equal(view, plain));
}

static void layouts_need_not_be_contiguous(void **state)
{
    (void)state;
    run_ranks(1, NULL, other_layouts, NULL);
    run_ranks(4, NULL, other_layouts, NULL);
}

static void move_any(adz_group *group, void *user)
{
    const int ranks = adz_group_size(group), me = adz_group_rank(group);
    const adz_shape shape = ADZ_SHAPE(2, 129);
    (void)user;
    for (int d = 0; d < DTYPES + 2; ++d) {
        const adz_dtype dtype = d < DTYPES ? all_dtypes[d] : d == DTYPES ? ADZ_F16 : ADZ_BF16;
        adz_tensor *mine = numbers_of(me, shape, dtype);
        adz_tensor *all = adz_group_all_gather(group, mine);
        check(all != NULL && adz_tensor_size(all, 0) == ranks && adz_tensor_dtype(all) == dtype);
        for (int r = 0; r < ranks; ++r) {
            check(adz_equal(adz_select(all, 0, r), numbers_of(r, shape, dtype)));
            adz_tensor *t = adz_clone(mine);
            check(adz_group_broadcast(group, t, r) == ADZ_OK);
            check(adz_equal(t, numbers_of(r, shape, dtype)));
        }
    }
    adz_tensor *scalars = adz_group_all_gather(group, adz_scalar(me, ADZ_I64));
    check(adz_equal(scalars, adz_arange(0, ranks, 1, ADZ_I64)));
}

static void every_dtype_is_moved(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 8; ++ranks) {
        run_ranks(ranks, &(network){ .largest = 100 }, move_any, NULL);
    }
}

static void scatter(adz_group *group, void *user)
{
    const int ranks = adz_group_size(group), me = adz_group_rank(group);
    const int64_t rows = *(const int64_t *)user;
    static const adz_group_op ops[] = { ADZ_GROUP_SUM, ADZ_GROUP_MEAN, ADZ_GROUP_MAX };
    for (int d = 0; d < DTYPES; ++d) {
        for (int k = 0; k < 3; ++k) {
            adz_tensor *t = numbers_of(me, ADZ_SHAPE(ranks, rows, 3), all_dtypes[d]);
            if (ops[k] == ADZ_GROUP_MEAN && d > 1) {
                continue;
            }
            adz_tensor *mine = adz_group_reduce_scatter(group, t, ops[k]);
            check(adz_equal(t, numbers_of(me, ADZ_SHAPE(ranks, rows, 3), all_dtypes[d])));
            check(adz_group_all_reduce(group, t, ops[k]) == ADZ_OK);
            check(mine != NULL && adz_tensor_dtype(mine) == all_dtypes[d]);
            check(adz_equal(mine, adz_select(t, 0, me)));
        }
    }
}

static void slices_are_those_of_all_reduce(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 8; ++ranks) {
        run_ranks(ranks, NULL, scatter, &(int64_t){ 5 });
        run_ranks(ranks, NULL, scatter, &(int64_t){ 0 });
    }
    run_ranks(2, NULL, scatter, &(int64_t){ 180000 }); /* longer than a block */
}

/* A large tensor costs 2 (n-1)/n of its bytes; the rest is what the ranks agree on. */
static void count_bytes(adz_group *group, void *user)
{
    const int64_t n = (1 << 20) / 4;
    const uint64_t ranks = (uint64_t)adz_group_size(group);
    (void)user;
    adz_tensor *t = adz_ones(ADZ_SHAPE(n), ADZ_F32);
    const uint64_t before = adz_group_bytes_sent(group);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
    const uint64_t sent = adz_group_bytes_sent(group) - before, least = 2 * (ranks - 1) << 20;
    check(sent * ranks >= least && (double)sent * (double)ranks <= 1.05 * (double)least);
}

static void large_sums_send_little(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ++ranks) {
        run_ranks(ranks, NULL, count_bytes, NULL);
    }
}

const struct CMUnitTest collectives_tests[] = {
    cmocka_unit_test(sums_follow_the_tree),
    cmocka_unit_test(timing_changes_no_bit),
    cmocka_unit_test(tensors_longer_than_a_block),
    cmocka_unit_test(every_dtype_is_reduced),
    cmocka_unit_test(nan_spreads_and_integers_wrap),
    cmocka_unit_test(layouts_need_not_be_contiguous),
    cmocka_unit_test(every_dtype_is_moved),
    cmocka_unit_test(slices_are_those_of_all_reduce),
    cmocka_unit_test(large_sums_send_little),
};
const size_t n_collectives_tests = sizeof collectives_tests / sizeof *collectives_tests;
