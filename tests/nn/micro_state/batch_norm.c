/* Running statistics: what micro-batches hand out, applied in order, gives the bits of ordinary
 * calls. */
#include "base/threads/parallel.h"
#include "tests.h"

enum { FEATURES = 5, NUMBERS = 1 + 2 * FEATURES, MOST = 4, LARGE = 5000 };

static adz_module *norm_new(int64_t features, double momentum, adz_dtype dtype)
{
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = momentum;
    o.dtype = dtype;
    return adz_batch_norm1d_new(features, &o);
}

/* x[N, D], or x[N, D, 3] if `rank` is 3, with another mean and deviation for each `number`. */
static adz_tensor *input(int64_t rows, int64_t features, int rank, adz_dtype dtype, int number)
{
    adz_manual_seed((uint64_t)number + 10);
    adz_tensor *x = rank == 2 ? adz_randn(ADZ_SHAPE(rows, features), dtype)
                              : adz_randn(ADZ_SHAPE(rows, features, 3), dtype);
    return adz_add_number(adz_mul_number(x, 1 + 0.7 * number), 3 - number);
}

/* Calls the module and lets y^3 be the loss. Returns y and stores the gradient of x. */
static adz_tensor *train(adz_module *m, adz_tensor *x, adz_tensor **dx)
{
    x = adz_requires_grad_(adz_clone(x), true);
    adz_tensor *y = adz_module_forward(m, x);
    adz_tensor *cube = adz_mul(y, adz_square(y));
    assert_int_equal(adz_autograd_backward(&cube, &y, 1, NULL), ADZ_OK);
    *dx = adz_clone(adz_tensor_grad(x));
    return y;
}

/* Trains copies of `m`: one by ordinary calls with M inputs in order, the other by micro-batches
 * that are computed in another order. All results and the buffers have to be equal. `moves` says
 * whether the running statistics change. */
static void compare_steps(
    adz_module *m, adz_tensor **x, const int *order, int micro_batches, bool moves)
{
    adz_module *plain = adz_module_copy(m);
    adzi_micro_state *state = adzi_micro_state_new(OP, m, micro_batches, 0, micro_batches);
    const size_t n = adzi_micro_state_numbers(state);
    double *numbers = malloc(n * (size_t)micro_batches * sizeof *numbers);
    for (int step = 0; step < 3; ++step) {
        adz_tensor *y[MOST], *dx[MOST], *dx_plain;
        adz_module *before = adz_module_copy(m);
        for (int k = 0; k < micro_batches; ++k) {
            const int micro = order[k];
            enter(state, micro);
            y[micro] = train(m, x[micro], &dx[micro]);
            adzi_micro_state_leave(state, numbers + (size_t)micro * n);
        }
        assert_true(same_buffers(m, before));
        adzi_micro_state_apply(state, numbers);
        for (int k = 0; k < micro_batches; ++k) {
            assert_true(same_bits(y[k], train(plain, x[k], &dx_plain)));
            assert_true(same_bits(dx[k], dx_plain));
        }
        assert_true(same_buffers(m, plain));
        adz_named_list now = adz_module_named_buffers(m), then = adz_module_named_buffers(before);
        const bool moved = !same_bits(now.items[1].tensor, then.items[1].tensor);
        assert_true(moved == moves || step > 0);
        adz_module_release(&before);
    }
    free(numbers);
    adzi_micro_state_free(&state);
    adz_module_release(&plain);
}

static const double momenta[] = { 0.1, 1, ADZ_CUMULATIVE_MOMENTUM, 0 };
static const adz_dtype dtypes[] = { ADZ_F32, ADZ_F64 };

static void one_micro_batch_gives_the_bits_of_an_ordinary_call(void **state)
{
    (void)state;
    for (int i = 0; i < 16; ++i) {
        const adz_dtype dtype = dtypes[i % 2];
        const int rank = 2 + i / 2 % 2;
        adz_module *m = norm_new(FEATURES, momenta[i / 4], dtype);
        compare_steps(m, (adz_tensor *[]){ input(7, FEATURES, rank, dtype, 1) }, (int[]){ 0 }, 1,
            momenta[i / 4] != 0);
        adz_module_release(&m);
    }
}

static void micro_batches_in_any_order_give_the_bits_of_ordinary_calls_in_order(void **state)
{
    (void)state;
    static const int orders[][MOST] = { { 0, 1, 2, 3 }, { 2, 0, 3, 1 }, { 3, 2, 1, 0 } };
    for (int i = 0; i < 16; ++i) {
        const adz_dtype dtype = dtypes[i % 2];
        const int rank = 2 + i / 2 % 2;
        adz_module *m = norm_new(FEATURES, momenta[i / 4], dtype);
        adz_tensor *x[MOST];
        for (int k = 0; k < MOST; ++k) {
            x[k] = input(4 + k, FEATURES, rank, dtype, k);
        }
        compare_steps(m, x, orders[i % 3], MOST, momenta[i / 4] != 0);
        adz_module_release(&m);
    }
}

/* So many channels that a launch is cut for threads. */
static void many_channels(void **state)
{
    (void)state;
    adz_module *m = norm_new(LARGE, ADZ_CUMULATIVE_MOMENTUM, ADZ_F32);
    adz_tensor *x[] = { input(3, LARGE, 2, ADZ_F32, 0), input(4, LARGE, 2, ADZ_F32, 1) };
    compare_steps(m, x, (int[]){ 1, 0 }, 2, true);
    adz_module_release(&m);
}

/* Computes the units of a launch in several parts, from the last to the first. */
static void backwards(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    (void)grain;
    for (int64_t end = units, begin; end > 0; end = begin) {
        begin = end / 3;
        kernel(args, begin, end);
    }
}

/* The numbers and the running statistics do not depend on how launches are cut. */
static void any_cut_gives_the_same_bits(void **state)
{
    (void)state;
    adz_module *m = norm_new(FEATURES, 0.1, ADZ_F32), *plain = adz_module_copy(m);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    adz_tensor *x = input(4, FEATURES, 3, ADZ_F32, 1);
    double numbers[NUMBERS];
    atomic_store(&adzi_launch_observer, backwards);
    enter(micro, 0);
    adz_module_forward(m, x);
    adzi_micro_state_leave(micro, numbers);
    adzi_micro_state_apply(micro, numbers);
    atomic_store(&adzi_launch_observer, NULL);
    adz_module_forward(plain, x);
    assert_true(same_buffers(m, plain));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&plain);
}

/* Each batch norm of a network has its own numbers. */
static void several_batch_norms(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(norm_new(FEATURES, 0.2, ADZ_F32),
        adz_linear_new(FEATURES, 2, NULL), norm_new(2, ADZ_CUMULATIVE_MOMENTUM, ADZ_F32),
        adz_linear_new(2, 3, NULL), norm_new(3, 0.3, ADZ_F32));
    adz_tensor *x[] = { input(3, FEATURES, 2, ADZ_F32, 0), input(4, FEATURES, 2, ADZ_F32, 1),
        input(5, FEATURES, 2, ADZ_F32, 2) };
    compare_steps(m, x, (int[]){ 1, 2, 0 }, 3, true);
    adz_module_release(&m);
}

/* Two ranks have two micro-batches each, and exchange their numbers. */
static void two_ranks_get_the_same_statistics(void **state)
{
    (void)state;
    adz_module *m[3];
    adzi_micro_state *states[3];
    double one[MOST][NUMBERS], two[MOST][NUMBERS];
    for (int r = 0; r < 3; ++r) {
        m[r] = norm_new(FEATURES, 0.3, ADZ_F32);
        states[r] = adzi_micro_state_new(OP, m[r], MOST, r == 2 ? 2 : 0, r == 0 ? 4 : 2);
        assert_int_equal(adzi_micro_state_numbers(states[r]), NUMBERS);
    }
    for (int k = 0; k < MOST; ++k) {
        const int r = k < 2 ? 1 : 2;
        enter(states[0], k);
        adz_module_forward(m[0], input(5, FEATURES, 2, ADZ_F32, k));
        adzi_micro_state_leave(states[0], one[k]);
        enter(states[r], k);
        adz_module_forward(m[r], input(5, FEATURES, 2, ADZ_F32, k));
        adzi_micro_state_leave(states[r], two[k]);
    }
    assert_memory_equal(one, two, sizeof one);
    for (int r = 0; r < 3; ++r) {
        adzi_micro_state_apply(states[r], one[0]);
        assert_true(same_buffers(m[r], m[0]));
        adzi_micro_state_free(&states[r]);
    }
    assert_true(adz_item(adz_module_get_buffer(m[0], "num_batches_tracked")) == MOST);
    for (int r = 0; r < 3; ++r) {
        adz_module_release(&m[r]);
    }
}

/* By hand: the mean and the unbiased variance of 1 2 6 and of 0 0 3. */
static void what_is_handed_out(void **state)
{
    (void)state;
    adz_module *m = norm_new(2, 0.5, ADZ_F32);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double numbers[5];
    enter(micro, 0);
    adz_module_forward(m, adz_tensor_from((float[]){ 1, 0, 2, 0, 6, 3 }, ADZ_SHAPE(3, 2), ADZ_F32));
    adzi_micro_state_leave(micro, numbers);
    const double expected[] = { 3, 3, 1, 7, 3 };
    for (int i = 0; i < 5; ++i) {
        assert_true(fabs(numbers[i] - expected[i]) < 1e-12);
    }
    adzi_micro_state_apply(micro, numbers);
    assert_true(HOLDS(adz_module_get_buffer(m, "running_mean"), 0, 1.5, 0.5));
    assert_true(HOLDS(adz_module_get_buffer(m, "running_var"), 1e-6, 4, 2));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

static bool all_nan(const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (!isnan(numbers[i])) {
            return false;
        }
    }
    return true;
}

/* Two batch norms of which a micro-batch calls one in training, one in evaluation, or none. */
static void a_batch_norm_that_does_not_train_hands_out_nothing(void **state)
{
    (void)state;
    adz_module *m = adz_module_list_new(NULL, 0);
    adz_module *a = adz_module_list_append(m, norm_new(FEATURES, 0.1, ADZ_F32));
    adz_module *b = adz_module_list_append(m, norm_new(FEATURES, 0.1, ADZ_F32));
    adz_module *plain = adz_module_copy(m);
    adz_tensor *x = input(4, FEATURES, 2, ADZ_F32, 1);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    assert_int_equal(adzi_micro_state_numbers(micro), 2 * NUMBERS);
    double numbers[2][2 * NUMBERS];
    enter(micro, 0);
    adz_module_forward(a, x);
    adz_module_eval(b);
    adz_tensor *y = adz_module_forward(b, x);
    assert_true(same_bits(y, x) || alike(y, x, 1e-4)); /* mean 0 and variance 1, as at the start */
    adz_module_train(b, true);
    adzi_micro_state_leave(micro, numbers[0]);
    assert_true(numbers[0][0] == 4 && all_nan(numbers[0] + NUMBERS, NUMBERS));
    enter(micro, 1); /* forgets the numbers of the first one */
    adzi_micro_state_leave(micro, numbers[1]);
    assert_true(all_nan(numbers[1], 2 * NUMBERS));
    adzi_micro_state_apply(micro, numbers[0]);
    adz_module_forward(adz_module_child_at(plain, 0), x);
    assert_true(same_buffers(m, plain));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&plain);
}

/* A module in two positions hands out once, and the last call counts. */
static void the_last_of_several_calls_counts(void **state)
{
    (void)state;
    adz_module *norm = norm_new(FEATURES, 0.1, ADZ_F32), *plain = norm_new(FEATURES, 0.1, ADZ_F32);
    adz_module *m = ADZ_SEQUENTIAL(adz_module_keep(norm), adz_module_keep(norm));
    adz_tensor *x = input(4, FEATURES, 2, ADZ_F32, 2);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    assert_int_equal(adzi_micro_state_numbers(micro), NUMBERS);
    double numbers[NUMBERS];
    enter(micro, 0);
    adz_module_forward(m, x);
    adzi_micro_state_leave(micro, numbers);
    adzi_micro_state_apply(micro, numbers);
    adz_module_eval(plain);
    adz_module_train(plain, true);
    adz_tensor *unit = adz_batch_norm(x, ADZ_NONE, ADZ_NONE, ADZ_NONE, ADZ_NONE, true, 0, 1e-5);
    adz_module_forward(plain, unit);
    assert_true(same_buffers(norm, plain));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&norm);
    adz_module_release(&plain);
}

/* An empty batch counts and moves nothing. NaNs in a batch make the running statistics NaN. A
 * statistic that is infinite or NaN leaves no trace in the next micro-batch. */
static void empty_batches_and_numbers_that_are_not_finite(void **state)
{
    (void)state;
    adz_module *m = norm_new(FEATURES, 0.1, ADZ_F32), *plain = adz_module_copy(m);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    adz_tensor *x = input(4, FEATURES, 2, ADZ_F32, 1);
    adz_tensor *inputs[] = { adz_zeros(ADZ_SHAPE(0, FEATURES), ADZ_F32), x,
        adz_mul_number(x, INFINITY), adz_mul_number(x, NAN), x };
    for (int i = 0; i < 5; ++i) {
        double numbers[NUMBERS];
        enter(micro, 0);
        assert_true(
            same_bits(adz_module_forward(m, inputs[i]), adz_module_forward(plain, inputs[i])));
        adzi_micro_state_leave(micro, numbers);
        assert_true(numbers[0] == (i == 0 ? 0 : 4));
        assert_true(isfinite(numbers[1]) == (i < 2 || i == 4));
        adzi_micro_state_apply(micro, numbers);
        assert_true(same_buffers(m, plain));
    }
    assert_true(isnan(adz_item(adz_max(adz_module_get_buffer(m, "running_mean")))));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&plain);
}

/* The versions rise, so that a graph that has saved a running tensor notices the change. */
static void moving_is_a_change_in_position(void **state)
{
    (void)state;
    adz_module *m = norm_new(FEATURES, 0.1, ADZ_F32);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    const double numbers[NUMBERS] = { 2 };
    uint32_t versions[3];
    for (size_t i = 0; i < 3; ++i) {
        versions[i] = adz_module_buffer_at(m, i)->storage->version;
    }
    adzi_micro_state_apply(micro, numbers);
    for (size_t i = 0; i < 3; ++i) {
        assert_true(adz_module_buffer_at(m, i)->storage->version > versions[i]);
    }
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

/* A single row has no variance. A failed call hands out nothing. */
static void one_value_per_channel_is_refused(void **state)
{
    (void)state;
    adz_module *m = norm_new(FEATURES, 0.1, ADZ_F32), *plain = adz_module_copy(m);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double numbers[NUMBERS];
    enter(micro, 0);
    assert_null(adz_module_forward(m, input(1, FEATURES, 2, ADZ_F32, 1)));
    expect_error(ADZ_ERR_SHAPE, "x[1, 5] has a single value per channel");
    assert_null(adz_module_forward(m, input(4, FEATURES, 2, ADZ_F64, 1)));
    expect_error(ADZ_ERR_DTYPE, "x is float64, running_mean float32");
    adzi_micro_state_leave(micro, numbers);
    assert_true(all_nan(numbers, NUMBERS));
    adzi_micro_state_apply(micro, numbers);
    assert_true(same_buffers(m, plain));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&plain);
}

int batch_norm_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_micro_batch_gives_the_bits_of_an_ordinary_call),
        TEST(micro_batches_in_any_order_give_the_bits_of_ordinary_calls_in_order),
        TEST(many_channels),
        TEST(any_cut_gives_the_same_bits),
        TEST(several_batch_norms),
        TEST(two_ranks_get_the_same_statistics),
        TEST(what_is_handed_out),
        TEST(a_batch_norm_that_does_not_train_hands_out_nothing),
        TEST(the_last_of_several_calls_counts),
        TEST(empty_batches_and_numbers_that_are_not_finite),
        TEST(moving_is_a_change_in_position),
        TEST(one_value_per_channel_is_refused),
    };
    return cmocka_run_group_tests_name("batch norm", tests, NULL, NULL);
}
