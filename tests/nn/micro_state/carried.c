/* Carried values: each micro-batch continues where it was, whichever rank computes it and in
 * whatever order. */
#include "encoders.h"

enum { MICRO_BATCHES = 4, STEPS = 3 };

/* One encoder computes the micro-batches first .. first+count-1, and is compared with an encoder
 * per micro-batch that computes nothing else. */
static void compare_rank(int kind, int first, int count, bool backwards)
{
    adz_module *m = encoder_new(kind), *alone[MICRO_BATCHES];
    adzi_micro_state *state = adzi_micro_state_new(OP, m, MICRO_BATCHES, first, count);
    assert_true(adzi_micro_state_carried(state) > 1);
    for (int k = 0; k < count; ++k) {
        alone[k] = adz_module_copy(m);
    }
    for (int step = 0; step < STEPS; ++step) {
        for (int i = 0; i < count; ++i) {
            const int k = backwards ? count - 1 - i : i;
            enter(state, first + k);
            expect_same_call(m, alone[k], tokens(first + k, step));
            adzi_micro_state_leave(state, NULL);
            assert_true(step == 0 && backwards && k > 0 ? true : same_buffers(m, alone[0]));
        }
    }
    adzi_micro_state_free(&state);
    assert_true(same_buffers(m, alone[0]));
    assert_true(adz_module_named_buffers(m).count > 0);
    for (int k = 0; k < count; ++k) {
        adz_module_release(&alone[k]);
    }
    adz_module_release(&m);
}

static void each_micro_batch_continues_where_it_was(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        compare_rank(kind, 0, 4, false);
        compare_rank(kind, 0, 4, true);
        compare_rank(kind, 2, 2, false);
        compare_rank(kind, 3, 1, false);
    }
}

/* Tensors of the first step are kept by the tests' scope, so equal pointers are equal tensors. */
static void all_begin_with_what_the_module_carries(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        adz_module *m = encoder_new(kind);
        adz_module_forward(m, tokens(9, 9));
        adz_module *alone[] = { adz_module_copy(m), adz_module_copy(m) };
        adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
        assert_true(same_buffers(m, alone[0]));
        for (int step = 0; step < 2; ++step) {
            for (int k = 0; k < 2; ++k) {
                enter(micro, k);
                expect_same_call(m, alone[k], tokens(k, step));
                adzi_micro_state_leave(micro, NULL);
            }
        }
        adzi_micro_state_free(&micro);
        adz_module_release(&m);
        adz_module_release(&alone[0]);
        adz_module_release(&alone[1]);
    }
}

/* What a checkpoint does: it saves the values of all micro-batches under their names, and another
 * encoder goes on with them. */
static void values_are_saved_and_set(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        adz_module *m = ADZ_SEQUENTIAL(encoder_new(kind)), *other = adz_module_copy(m);
        adzi_micro_state *a = adzi_micro_state_new(OP, m, 3, 1, 2);
        for (int k = 1; k < 3; ++k) {
            enter(a, k);
            adz_module_forward(m, tokens(k, 0));
            adzi_micro_state_leave(a, NULL);
        }
        adzi_micro_state *b = adzi_micro_state_new(OP, other, 3, 1, 2);
        for (size_t i = 0; i < adzi_micro_state_carried(a); ++i) {
            const char *name = adzi_micro_state_name(a, i);
            assert_string_equal(name, adzi_micro_state_name(b, i));
            assert_ptr_equal(adzi_micro_state_get(a, 1, i), adz_module_get_buffer(m, name));
            assert_ptr_equal(adzi_micro_state_get(b, 2, i), ADZ_NONE);
            adzi_micro_state_set(b, 1, i, adzi_micro_state_get(a, 1, i));
            adzi_micro_state_set(b, 2, i, adzi_micro_state_get(a, 2, i));
            assert_ptr_equal(adz_module_get_buffer(other, name), adzi_micro_state_get(a, 1, i));
        }
        for (int k = 1; k < 3; ++k) {
            enter(a, k);
            enter(b, k);
            expect_same_call(m, other, tokens(k, 1));
            adzi_micro_state_leave(a, NULL);
            adzi_micro_state_leave(b, NULL);
        }
        adzi_micro_state_free(&a);
        adzi_micro_state_free(&b);
        adz_module_release(&m);
        adz_module_release(&other);
    }
}

/* Values are read and set inside a micro-batch, too. */
static void values_of_any_micro_batch_are_set_at_any_time(void **state)
{
    (void)state;
    adz_module *m = encoder_new(XL);
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    adz_tensor *a = adz_ones(ADZ_SHAPE(1, 1, 4), ADZ_F32), *b = adz_clone(a), *c = adz_clone(a);
    enter(micro, 1);
    adzi_micro_state_set(micro, 0, 0, a);
    assert_ptr_equal(adz_module_get_buffer(m, "mem_0"), ADZ_NONE);
    adzi_micro_state_set(micro, 1, 0, b);
    assert_ptr_equal(adz_module_get_buffer(m, "mem_0"), b);
    adz_module_set_buffer(m, "mem_0", c);
    assert_ptr_equal(adzi_micro_state_get(micro, 0, 0), a);
    assert_ptr_equal(adzi_micro_state_get(micro, 1, 0), c);
    adzi_micro_state_leave(micro, NULL);
    assert_ptr_equal(adzi_micro_state_get(micro, 0, 0), a);
    assert_ptr_equal(adzi_micro_state_get(micro, 1, 0), c);
    assert_ptr_equal(adz_module_get_buffer(m, "mem_0"), a);
    adz_module_set_buffer(m, "mem_0", b); /* is undone */
    assert_ptr_equal(adzi_micro_state_get(micro, 0, 0), a);
    assert_ptr_equal(adzi_micro_state_get(micro, 1, 0), c);
    adzi_micro_state_free(&micro);
    assert_ptr_equal(adz_module_get_buffer(m, "mem_0"), a);
    adz_module_release(&m);
}

static void names_have_the_path_of_the_module(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_relu_new(), encoder_new(QRNN));
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    static const char *const names[] = { "1.hidden_0_c", "1.hidden_1_c", "1.rnns.0.layers.0.prev_x",
        "1.rnns.1.layers.0.prev_x" };
    assert_int_equal(adzi_micro_state_carried(micro), 4);
    assert_int_equal(adzi_micro_state_numbers(micro), 0);
    for (size_t i = 0; i < 4; ++i) {
        assert_string_equal(adzi_micro_state_name(micro, i), names[i]);
    }
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

/* A step may be given up: the next micro-batch is entered without leaving this one. */
static void entering_leaves_the_micro_batch_before(void **state)
{
    (void)state;
    adz_module *m = encoder_new(XL), *alone[] = { adz_module_copy(m), adz_module_copy(m) };
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    for (int step = 0; step < 3; ++step) {
        for (int k = 0; k < 2; ++k) {
            enter(micro, k);
            expect_same_call(m, alone[k], tokens(k, step));
        }
    }
    enter(micro, 0);
    expect_same_call(m, alone[0], tokens(0, 3));
    adzi_micro_state_free(&micro); /* leaves it */
    assert_true(same_buffers(m, alone[0]));
    adz_module_release(&m);
    adz_module_release(&alone[0]);
    adz_module_release(&alone[1]);
}

/* Trains a module by one call. The backward comes before or after the end of the micro-batch of
 * `state`, which may be NULL. */
static void train(adzi_micro_state *state, adz_module *m, adz_tensor *ids, bool late)
{
    adz_module_zero_grad(m);
    adz_tensor *y = adz_module_forward(m, ids);
    adz_tensor *loss = adz_sum(adz_mul(y, adz_square(y)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (state != NULL && late) {
        adzi_micro_state_leave(state, NULL);
    }
    assert_int_equal(adz_backward(loss), ADZ_OK);
    if (state != NULL) {
        adzi_micro_state_leave(state, NULL);
    }
}

static bool same_gradients(adz_module *a, adz_module *b)
{
    adz_tensor_list p = adz_module_parameters(a), q = adz_module_parameters(b);
    bool good = p.count == q.count && p.count > 0;
    for (size_t i = 0; i < p.count && good; ++i) {
        good = same_bits(adz_tensor_grad(p.items[i]), adz_tensor_grad(q.items[i]));
    }
    return good;
}

/* The second call of a checkpoint, in the backward, begins with the values of the first call and
 * leaves no trace, even if the micro-batch has ended. */
static void a_checkpoint_changes_no_values(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ENCODERS; ++i) {
        adz_module *m = adz_activation_checkpoint_new(encoder_new(i / 2)), *alone[2];
        adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
        alone[0] = adz_module_copy(m);
        alone[1] = adz_module_copy(m);
        for (int step = 0; step < 3; ++step) {
            for (int k = 0; k < 2; ++k) {
                enter(micro, k);
                train(micro, m, tokens(k, step), i % 2);
                train(NULL, alone[k], tokens(k, step), false);
                assert_true(same_gradients(m, alone[k]));
                enter(micro, k);
                assert_true(same_buffers(m, alone[k]));
                adzi_micro_state_leave(micro, NULL);
            }
        }
        adzi_micro_state_free(&micro);
        adz_module_release(&m);
        adz_module_release(&alone[0]);
        adz_module_release(&alone[1]);
    }
}

/* ---- a module that writes to its buffer in place -------------------------------------------- */

static adz_tensor *sum_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *sum = adz_module_buffer_at(self, 0);
    adz_tensor *y = adz_add_(sum, x);
    return y != NULL ? adz_clone(y) : NULL;
}

static adz_status sum_reset(adz_module *self)
{
    return adz_mul_number_(adz_module_buffer_at(self, 0), 0) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type sum_type = {
    .size = sizeof(adz_module_type), .name = "Sum", .forward = sum_forward, .reset = sum_reset
};

static adz_module *sum_new(void)
{
    adz_module *self = adz_module_new(&sum_type, 0);
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(2), ADZ_F32), *one = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    if (adz_module_add_buffer(self, "sum", zeros, false) == NULL ||
        adz_module_add_buffer(self, "persistent", one, true) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

/* A module without `reset` keeps constants in its buffers. With `select_hidden` alone it carries.
 */
static void only_what_is_carried_is_collected(void **state)
{
    (void)state;
    const adz_module_type types[] = {
        { .size = sizeof(adz_module_type), .name = "Table", .forward = sum_forward },
        { .size = sizeof(adz_module_type),
            .name = "Rows",
            .forward = sum_forward,
            .select_hidden = adz_module_select_hidden },
    };
    for (size_t i = 0; i < 2; ++i) {
        adz_module *m = adz_module_new(&types[i], 0);
        adz_module_add_buffer(m, "table", adz_ones(ADZ_SHAPE(2), ADZ_F32), false);
        adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
        assert_int_equal(adzi_micro_state_carried(micro), i);
        adzi_micro_state_free(&micro);
        adz_module_release(&m);
    }
}

static void add(adzi_micro_state *state, adz_module *m, int micro, double value, double expected)
{
    enter(state, micro);
    adz_tensor *y = adz_module_forward(m, adz_full(ADZ_SHAPE(2), value, ADZ_F32));
    assert_true(all_are(y, expected));
    adzi_micro_state_leave(state, NULL);
}

static void values_that_are_written_in_position_are_not_shared(void **state)
{
    (void)state;
    adz_module *m = sum_new();
    adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F32));
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 3, 0, 3);
    assert_int_equal(adzi_micro_state_carried(micro), 1);
    add(micro, m, 0, 1, 2);
    add(micro, m, 1, 10, 11);
    add(micro, m, 2, 100, 101);
    adz_tensor *own[] = { adzi_micro_state_get(micro, 0, 0), adzi_micro_state_get(micro, 1, 0) };
    add(micro, m, 0, 1, 3);
    add(micro, m, 1, 10, 21);
    for (int k = 0; k < 2; ++k) { /* a tensor that is not shared is not copied */
        assert_ptr_equal(adzi_micro_state_get(micro, k, 0), own[k]);
    }
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    add(micro, m, 1, 10, 10);
    add(micro, m, 0, 1, 1);
    add(micro, m, 1, 10, 20);
    add(micro, m, 2, 100, 100);
    enter(micro, 1);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    adzi_micro_state_leave(micro, NULL);
    add(micro, m, 0, 1, 2);
    add(micro, m, 1, 10, 10);
    add(micro, m, 2, 100, 200);
    adzi_micro_state_free(&micro);
    assert_true(all_are(adz_module_get_buffer(m, "sum"), 2));
    adz_module_release(&m);
}

static void a_changed_carrier_is_refused(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(sum_new());
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    adz_module_add_buffer(adz_module_child_at(m, 0), "more", ADZ_NONE, false);
    assert_int_equal(adzi_micro_state_enter(OP, micro, 0), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "a Sum was added, removed or given other buffers");
    adzi_micro_state_free(&micro);
    micro = adzi_micro_state_new(OP, m, 1, 0, 1);
    adz_sequential_append(m, sum_new());
    assert_int_equal(adzi_micro_state_enter(OP, micro, 0), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "a Sum");
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
}

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? sum_new() : NULL;
    adzi_micro_state *micro = m != NULL ? adzi_micro_state_new(OP, m, 2, 0, 2) : NULL;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    bool good = micro != NULL;
    for (int k = 0; k < 4 && good; ++k) {
        good =
            adzi_micro_state_enter(OP, micro, k % 2) == ADZ_OK && adz_module_forward(m, x) != NULL;
        adzi_micro_state_leave(micro, NULL);
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

int carried_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_micro_batch_continues_where_it_was),
        TEST(all_begin_with_what_the_module_carries),
        TEST(values_are_saved_and_set),
        TEST(values_of_any_micro_batch_are_set_at_any_time),
        TEST(names_have_the_path_of_the_module),
        TEST(entering_leaves_the_micro_batch_before),
        TEST(a_checkpoint_changes_no_values),
        TEST(only_what_is_carried_is_collected),
        TEST(values_that_are_written_in_position_are_not_shared),
        TEST(a_changed_carrier_is_refused),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("carried values", tests, NULL, NULL);
}
