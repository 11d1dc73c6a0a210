/* Batch norms that are copied, freed, replaced or called again by a checkpoint, while they train
 * with micro-batches. */
#include "tests.h"

enum { FEATURES = 3, NUMBERS = 1 + 2 * FEATURES };

static adz_tensor *input(int number)
{
    adz_manual_seed((uint64_t)number + 20);
    return adz_add_number(adz_randn(ADZ_SHAPE(4, FEATURES), ADZ_F32), number);
}

static adz_module *norm_new(void)
{
    return adz_batch_norm1d_new(FEATURES, NULL);
}

static adz_module *network(void)
{
    return ADZ_SEQUENTIAL(adz_linear_new(FEATURES, FEATURES, NULL), norm_new());
}

static void a_copy_and_a_module_without_state_are_ordinary(void **state)
{
    (void)state;
    adz_module *m = norm_new(), *plain = norm_new();
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double numbers[NUMBERS];
    enter(micro, 0);
    adz_module *copy = adz_module_copy(m);
    adz_module_forward(copy, input(1));
    adz_module_forward(plain, input(1));
    assert_true(same_buffers(copy, plain));
    adzi_micro_state_leave(micro, numbers);
    assert_true(isnan(numbers[0]));
    adz_module_forward(m, input(1)); /* outside of a micro-batch */
    assert_true(same_buffers(m, plain));
    enter(micro, 0);
    adzi_micro_state_free(&micro);
    assert_null(micro);
    adzi_micro_state_free(&micro);
    adz_module_forward(m, input(2));
    adz_module_forward(plain, input(2));
    assert_true(same_buffers(m, plain));
    adz_module_release(&m);
    adz_module_release(&copy);
    adz_module_release(&plain);
}

/* The state keeps what it has collected. */
static void modules_may_be_freed_in_a_micro_batch(void **state)
{
    (void)state;
    adz_module *m = network(), *norm = adz_module_keep(adz_module_child_at(m, 1));
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double numbers[NUMBERS];
    enter(micro, 0);
    adz_module_forward(m, input(1));
    assert_non_null(adz_module_set_child(m, "1", adz_identity_new()));
    adz_module_release(&m);
    adz_module_release(&norm);
    adzi_micro_state_leave(micro, numbers);
    assert_true(numbers[0] == 4);
    adzi_micro_state_apply(micro, numbers);
    adzi_micro_state_free(&micro);
}

/* Trains m for a micro-batch, and calls the backward before or after the end of it. Without a state
 * the calls are ordinary. */
static void train(adzi_micro_state *micro, adz_module *m, double *numbers, bool late)
{
    if (micro != NULL) {
        enter(micro, 0);
    }
    adz_tensor *y = adz_module_forward(m, input(1));
    adz_tensor *loss = adz_sum(adz_mul(y, adz_square(y)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (micro != NULL && late) {
        adzi_micro_state_leave(micro, numbers);
    }
    assert_int_equal(adz_backward(loss), ADZ_OK);
    if (micro != NULL) {
        adzi_micro_state_leave(micro, numbers);
    }
}

/* The second call of a checkpoint, in the backward, changes neither the running statistics nor the
 * numbers. */
static void a_checkpoint_changes_nothing(void **state)
{
    (void)state;
    for (int late = 0; late < 2; ++late) {
        adz_module *m = network(), *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
        adz_module *untouched = adz_module_copy(wrapped);
        adzi_micro_state *a = adzi_micro_state_new(OP, m, 1, 0, 1);
        adzi_micro_state *b = adzi_micro_state_new(OP, wrapped, 1, 0, 1);
        double plain[NUMBERS], numbers[NUMBERS];
        train(a, m, plain, late);
        train(b, wrapped, numbers, late);
        assert_memory_equal(plain, numbers, sizeof plain);
        assert_true(same_buffers(wrapped, untouched));
        adz_named_list p = adz_module_named_parameters(m), q = adz_module_named_parameters(wrapped);
        for (size_t i = 0; i < p.count; ++i) {
            assert_true(
                same_bits(adz_tensor_grad(p.items[i].tensor), adz_tensor_grad(q.items[i].tensor)));
        }
        adzi_micro_state_free(&a);
        adzi_micro_state_free(&b);
        train(NULL, m, NULL, late); /* an ordinary call moves and counts once */
        train(NULL, wrapped, NULL, late);
        assert_true(same_buffers(m, adz_module_child_at(wrapped, 0)));
        assert_true(adz_item(adz_module_get_buffer(m, "1.num_batches_tracked")) == 1);
        adz_module_release(&m);
        adz_module_release(&wrapped);
        adz_module_release(&untouched);
    }
}

/* A batch norm that a checkpoint calls first, and the network once more: the numbers of the last
 * call stay, although the checkpoint repeats the first one. */
static void a_checkpoint_does_not_count_as_the_last_call(void **state)
{
    (void)state;
    adz_module *norm = norm_new(), *plain = norm_new();
    adz_module *m = ADZ_SEQUENTIAL(adz_activation_checkpoint_new(adz_module_keep(norm)),
        adz_tanh_new(), adz_module_keep(norm));
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double numbers[NUMBERS];
    train(micro, m, numbers, false);
    adzi_micro_state_apply(micro, numbers);
    adz_tensor *y = adz_batch_norm(input(1), ADZ_NONE, ADZ_NONE, ADZ_NONE, ADZ_NONE, true, 0, 1e-5);
    adz_module_forward(plain, adz_tanh(y));
    assert_true(same_buffers(norm, plain));
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&norm);
    adz_module_release(&plain);
}

/* The state of a network refuses to go on after `change`, and changes nothing. */
static void expect_changed(void (*change)(adz_module *m), const char *says)
{
    adz_module *m = ADZ_SEQUENTIAL(norm_new(), norm_new());
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    enter(micro, 0);
    adz_module_forward(m, input(1));
    change(m);
    assert_int_equal(adzi_micro_state_enter(OP, micro, 1), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, says);
    double numbers[2 * NUMBERS];
    adzi_micro_state_leave(micro, numbers); /* the first micro-batch is still entered */
    assert_true(numbers[0] == 4);
    adzi_micro_state_free(&micro);
    micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    enter(micro, 0);
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

static void add_norm(adz_module *m)
{
    adz_sequential_append(m, norm_new());
}

static void insert_norm(adz_module *m)
{
    adz_module_set_child(m, "0", norm_new());
}

static void remove_norm(adz_module *m)
{
    adz_module_set_child(m, "1", adz_identity_new());
}

static void replace_mean(adz_module *m)
{
    adz_module_set_buffer(
        adz_module_child_at(m, 1), "running_mean", adz_zeros(ADZ_SHAPE(FEATURES), ADZ_F32));
}

static void replace_var(adz_module *m)
{
    adz_module_set_buffer(
        adz_module_child_at(m, 1), "running_var", adz_zeros(ADZ_SHAPE(FEATURES), ADZ_F32));
}

static void replace_count(adz_module *m)
{
    adz_module_set_buffer(
        adz_module_child_at(m, 1), "num_batches_tracked", adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64));
}

static void a_changed_network_is_refused(void **state)
{
    (void)state;
    expect_changed(add_norm, "a BatchNorm1d was added, removed or given other buffers");
    expect_changed(insert_norm, "a BatchNorm1d was added");
    expect_changed(remove_norm, "a BatchNorm1d was added");
    expect_changed(replace_mean, "a BatchNorm1d was added");
    expect_changed(replace_var, "a BatchNorm1d was added");
    expect_changed(replace_count, "a BatchNorm1d was added");
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    adz_module *m = network();
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 8, 2, 3);
    assert_int_equal(adzi_micro_state_enter(OP, micro, 1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "micro-batch 1 is not one of this rank's, 2 to 4");
    assert_int_equal(adzi_micro_state_enter(OP, micro, 5), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "5");
    adz_module *outer = ADZ_SEQUENTIAL(norm_new(), adz_module_keep(m));
    assert_null(adzi_micro_state_new(OP, outer, 1, 0, 1));
    expect_error(ADZ_ERR_STATE, "BatchNorm1d \"1.1.\" is trained in parallel already");
    enter(micro, 4);
    adzi_micro_state_free(&micro);
    micro = adzi_micro_state_new(OP, outer, 1, 0, 1);
    enter(micro, 0);
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&outer);
}

/* A batch norm that tracks nothing has nothing to hand out. */
static void without_running_statistics_there_is_no_state(void **state)
{
    (void)state;
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.track_running_stats = false;
    adz_module *m = ADZ_SEQUENTIAL(adz_batch_norm1d_new(FEATURES, &o), adz_relu_new());
    adz_module *norm = adz_module_child_at(m, 0);
    adz_module_set_buffer(norm, "running_mean", adz_zeros(ADZ_SHAPE(FEATURES), ADZ_F32));
    adz_module_set_buffer(norm, "running_var", adz_zeros(ADZ_SHAPE(FEATURES), ADZ_F32));
    adz_module_set_buffer(norm, "num_batches_tracked", adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64));
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    assert_int_equal(adzi_micro_state_numbers(micro), 0);
    assert_int_equal(adzi_micro_state_carried(micro), 0);
    enter(micro, 0);
    assert_non_null(adz_module_forward(m, input(1)));
    adzi_micro_state_leave(micro, NULL);
    adzi_micro_state_apply(micro, NULL);
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

/* A user put a buffer of a wrong shape or dtype into a batch norm. The buffer is not written to. */
static void buffers_that_do_not_fit_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = { "running_mean", "running_var", "num_batches_tracked" };
    for (int i = 0; i < 9; ++i) {
        adz_module *m = norm_new();
        adz_tensor *wrong[] = { i < 6 ? adz_zeros(ADZ_SHAPE(FEATURES - 1), ADZ_F32)
                                      : adz_zeros(ADZ_SHAPE(2), ADZ_I64),
            i < 6 ? adz_zeros(ADZ_SHAPE(FEATURES), ADZ_I64) : adz_zeros(ADZ_SHAPE_SCALAR, ADZ_F64),
            ADZ_NONE };
        assert_non_null(adz_module_set_buffer(m, names[i / 3], wrong[i % 3]));
        adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
        assert_int_equal(adzi_micro_state_numbers(micro), 0);
        adzi_micro_state_free(&micro);
        adz_module_release(&m);
    }
}

/* What a BatchNorm1d takes and refuses in ordinary calls. */
static void borders_of_a_batch_norm(void **state)
{
    (void)state;
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.eps = 0;
    adz_module *m = adz_batch_norm1d_new(0, &o);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 0), ADZ_F32)));
    assert_true(adz_item(adz_module_get_buffer(m, "num_batches_tracked")) == 1);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    double number = 0;
    assert_int_equal(adzi_micro_state_numbers(micro), 1);
    enter(micro, 0);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 0), ADZ_F32)));
    adzi_micro_state_leave(micro, &number);
    adzi_micro_state_apply(micro, &number);
    assert_true(number == 3 && adz_item(adz_module_get_buffer(m, "num_batches_tracked")) == 2);
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    m = norm_new();
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(FEATURES), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[3] must be [N, 3] or [N, 3, L]");
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, FEATURES, 2, 2), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[2, 3, 2, 2] must be");
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "x is not optional");
    adz_module_set_buffer(m, "running_var", ADZ_NONE);
    assert_int_not_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_int_not_equal(adz_error_take(NULL, 0), ADZ_OK);
    adz_module_release(&m);
}

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? network() : NULL;
    adzi_micro_state *micro = m != NULL ? adzi_micro_state_new(OP, m, 2, 0, 2) : NULL;
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, FEATURES), ADZ_F32);
    double numbers[2][NUMBERS];
    bool good = micro != NULL;
    for (int k = 0; k < 2 && good; ++k) {
        good = adzi_micro_state_enter(OP, micro, k) == ADZ_OK && adz_module_forward(m, x) != NULL;
        adzi_micro_state_leave(micro, numbers[k]);
    }
    if (good) {
        adzi_micro_state_apply(micro, numbers[0]);
    }
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(exercise) > 10);
}

int batch_norm_change_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_and_a_module_without_state_are_ordinary),
        TEST(modules_may_be_freed_in_a_micro_batch),
        TEST(a_checkpoint_changes_nothing),
        TEST(a_checkpoint_does_not_count_as_the_last_call),
        TEST(a_changed_network_is_refused),
        TEST(wrong_calls_are_refused),
        TEST(without_running_statistics_there_is_no_state),
        TEST(buffers_that_do_not_fit_are_left_alone),
        TEST(borders_of_a_batch_norm),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("batch norm: changes", tests, NULL, NULL);
}
