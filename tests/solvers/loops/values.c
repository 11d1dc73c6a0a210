/* Loops compute what the unrolled program computes. */
#include "solvers/loops/loops.h"

static void scans_have_the_bits_of_the_unrolled_program(void **state)
{
    (void)state;
    for (int reverse = 0; reverse < 2; ++reverse) {
        for (int64_t n = 1; n <= 64; n = n < 3 ? n + 1 : n * 4) {
            cell c = cell_new(7, n % 2 ? ADZ_F32 : ADZ_F64);
            const adz_dtype dtype = adz_tensor_dtype(c.w);
            adz_tensor *h = adz_randn(ADZ_SHAPE(1, WIDTH), dtype), *found[2], *wanted[2];
            adz_tensor *xs = adz_randn(ADZ_SHAPE(n, 1, WIDTH), dtype);
            adz_scan_options o = ADZ_SCAN_OPTIONS;
            o.reverse = reverse;
            assert_int_equal(cell_unrolled(&c, h, xs, reverse, wanted), ADZ_OK);
            for (int recorded = 0; recorded < 2; ++recorded) {
                const bool before = adz_set_grad_enabled(recorded);
                assert_int_equal(adz_scan(cell_step, &c, &h, 1, &xs, 1, 1, &o, found), ADZ_OK);
                adz_set_grad_enabled(before);
                assert_true(same_bits(found[0], wanted[0]) && same_bits(found[1], wanted[1]));
                assert_int_equal(adz_tensor_requires_grad(found[1]), recorded);
            }
        }
    }
}

static void a_scan_without_steps_has_the_carries_and_empty_results(void **state)
{
    (void)state;
    cell c = cell_new(7, ADZ_F32);
    adz_tensor *h = adz_ones(ADZ_SHAPE(1, WIDTH), ADZ_F32), *found[2];
    adz_tensor *xs = adz_ones(ADZ_SHAPE(0, 1, WIDTH), ADZ_F32);
    assert_int_equal(adz_scan(cell_step, &c, &h, 1, &xs, 1, 1, NULL, found), ADZ_OK);
    assert_ptr_equal(found[0], h);
    assert_int_equal(adz_tensor_rank(found[1]), 3);
    assert_int_equal(adz_tensor_size(found[1], 0), 0);
    assert_int_equal(adz_tensor_size(found[1], 2), WIDTH);
    assert_int_equal(adz_tensor_dtype(found[1]), ADZ_F32);
}

/* Fibonacci's numbers, from two carries and no input. */
static adz_status fibonacci(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = inputs[1];
    results[1] = adz_add(inputs[0], inputs[1]);
    results[2] = inputs[0];
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void a_length_may_stand_for_inputs(void **state)
{
    (void)state;
    adz_tensor *start[2] = { adz_scalar(0, ADZ_I64), adz_scalar(1, ADZ_I64) }, *found[3];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = 12;
    assert_int_equal(adz_scan(fibonacci, NULL, start, 2, NULL, 0, 1, &o, found), ADZ_OK);
    assert_int_equal(adz_item_i64(found[0]), 144);
    assert_int_equal(adz_item_i64(found[1]), 233);
    adz_tensor *wanted = adz_tensor_from(
        (int64_t[]){ 0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89 }, ADZ_SHAPE(12), ADZ_I64);
    assert_true(same_bits(found[2], wanted));
}

/* No carries: a map over two inputs. */
static adz_status difference(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_sub(inputs[0], inputs[1]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void a_scan_without_carries_is_a_map(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_tensor *in[2] = { adz_randn(ADZ_SHAPE(9, 3), ADZ_F64),
        adz_randn(ADZ_SHAPE(9, 1), ADZ_F64) };
    adz_tensor *found;
    assert_int_equal(adz_scan(difference, NULL, NULL, 0, in, 2, 1, NULL, &found), ADZ_OK);
    assert_true(same_bits(found, adz_sub(in[0], in[1])));
}

/* The scope gets the results of a call, and nothing of its steps. */
static void loops_release_what_their_steps_make(void **state)
{
    (void)state;
    cell c = cell_new(7, ADZ_F32);
    adz_tensor *h = adz_ones(ADZ_SHAPE(1, WIDTH), ADZ_F32), *found[2];
    adz_tensor *xs = adz_ones(ADZ_SHAPE(500, 1, WIDTH), ADZ_F32);
    const bool before = adz_set_grad_enabled(false);
    const int64_t live = adzi_live_tensors();
    assert_int_equal(adz_scan(cell_step, &c, &h, 1, &xs, 1, 1, NULL, found), ADZ_OK);
    assert_int_equal(adzi_live_tensors(), live + 2);
    adz_set_grad_enabled(before);
}

/* Without a graph, a scan has the tensors of one step in memory. */
static adz_status counts_tensors(adz_tensor **results, adz_tensor *const *inputs, void *most)
{
    results[0] = adz_tanh(adz_tanh(inputs[0]));
    results[1] = adz_exp(results[0]);
    const int64_t live = adzi_live_tensors();
    *(int64_t *)most = live > *(int64_t *)most ? live : *(int64_t *)most;
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static void the_memory_of_a_scan_does_not_grow_with_its_steps(void **state)
{
    (void)state;
    int64_t most[2] = { 0, 0 };
    const bool before = adz_set_grad_enabled(false);
    for (int i = 0; i < 2; ++i) {
        adz_scan_options o = ADZ_SCAN_OPTIONS;
        adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32), *found[2];
        const int64_t live = adzi_live_tensors();
        o.length = i ? 1000 : 10;
        assert_int_equal(adz_scan(counts_tensors, &most[i], &x, 1, NULL, 0, 1, &o, found), ADZ_OK);
        most[i] -= live;
    }
    adz_set_grad_enabled(before);
    assert_int_equal(most[0], most[1]);
}

/* ---- while loops ----------------------------------------------------------------------------- */

static adz_tensor *above_one(adz_tensor *const *carries, void *user)
{
    (void)user;
    return adz_gt_number(carries[0], 1);
}

/* Collatz's sequence, counted. */
static adz_status collatz(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    const int64_t n = adz_item_i64(inputs[0]);
    results[0] = adz_scalar((double)(n % 2 == 0 ? n / 2 : 3 * n + 1), ADZ_I64);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void a_while_loop_ends_by_its_condition_or_its_bound(void **state)
{
    (void)state;
    const struct {
        int64_t start, most, last, count;
        bool ended;
    } all[] = {
        { 27, 1000, 1, 111, true },
        { 27, 111, 1, 111, true },
        { 27, 110, 2, 110, false },
        { 27, 0, 27, 0, false },
        { 1, 0, 1, 0, true },
        { 1, 5, 1, 0, true },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adz_tensor *start = adz_scalar((double)all[i].start, ADZ_I64), *found, *count, *ended;
        assert_int_equal(
            adz_while(above_one, collatz, NULL, &start, 1, all[i].most, &found, &count, &ended),
            ADZ_OK);
        assert_int_equal(adz_item_i64(found), all[i].last);
        assert_int_equal(adz_item_i64(count), all[i].count);
        assert_int_equal(adz_tensor_dtype(count), ADZ_I64);
        assert_int_equal(adz_item_i64(ended), all[i].ended);
        assert_int_equal(adz_tensor_dtype(ended), ADZ_BOOL);
        assert_int_equal(
            adz_while(above_one, collatz, NULL, &start, 1, all[i].most, &found, NULL, NULL),
            ADZ_OK);
    }
}

/* ---- branches -------------------------------------------------------------------------------- */

static adz_status twice(adz_tensor **results, adz_tensor *const *inputs, void *calls)
{
    ++((int *)calls)[0];
    results[0] = adz_mul_number(inputs[0], 2);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status negative(adz_tensor **results, adz_tensor *const *inputs, void *calls)
{
    ++((int *)calls)[1];
    results[0] = adz_neg(inputs[0]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void a_branch_calls_one_body(void **state)
{
    (void)state;
    adz_tensor *x = adz_scalar(3, ADZ_F32), *found;
    for (int truth = 0; truth < 2; ++truth) {
        int calls[2] = { 0, 0 };
        assert_int_equal(adz_branch(adz_scalar(truth, truth ? ADZ_F32 : ADZ_BOOL), twice, negative,
                             calls, &x, 1, 1, &found),
            ADZ_OK);
        assert_true(adz_item(found) == (truth ? 6 : -3));
        assert_int_equal(calls[0], truth);
        assert_int_equal(calls[1], !truth);
    }
}

/* ---- scans within scans ---------------------------------------------------------------------- */

static adz_status inner_scan(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    return adz_scan(fibonacci, NULL, inputs, 2, NULL, 0, 1, user, results);
}

static void a_body_may_scan(void **state)
{
    (void)state;
    adz_tensor *start[2] = { adz_scalar(0, ADZ_I64), adz_scalar(1, ADZ_I64) }, *found[3];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = 4;
    assert_int_equal(adz_scan(inner_scan, &o, start, 2, NULL, 0, 1, &o, found), ADZ_OK);
    assert_int_equal(adz_item_i64(found[0]), 987);
    assert_int_equal(adz_tensor_size(found[2], 1), 4);
    assert_int_equal(adz_item_i64(adz_select(adz_select(found[2], 0, 3), 0, 3)), 610);
}

const struct CMUnitTest loops_values[N_LOOPS_VALUES] = {
    TEST(scans_have_the_bits_of_the_unrolled_program),
    TEST(a_scan_without_steps_has_the_carries_and_empty_results),
    TEST(a_length_may_stand_for_inputs),
    TEST(a_scan_without_carries_is_a_map),
    TEST(loops_release_what_their_steps_make),
    TEST(the_memory_of_a_scan_does_not_grow_with_its_steps),
    TEST(a_while_loop_ends_by_its_condition_or_its_bound),
    TEST(a_branch_calls_one_body),
    TEST(a_body_may_scan),
};
