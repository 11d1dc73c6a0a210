/* adz_module_reset and evaluation, between micro-batches and inside of them. */
#include "encoders.h"

enum { MICRO_BATCHES = 3 };

/* An encoder that computes three micro-batches, and one encoder per micro-batch to compare it with.
 * All have made a step. */
typedef struct {
    adz_module *m, *alone[MICRO_BATCHES];
    adzi_micro_state *state;
    int step;
} bench;

static void step(bench *b)
{
    for (int k = 0; k < MICRO_BATCHES; ++k) {
        enter(b->state, k);
        expect_same_call(b->m, b->alone[k], tokens(k, b->step));
        adzi_micro_state_leave(b->state, NULL);
    }
    ++b->step;
}

static bench begin(int kind)
{
    bench b = { .m = encoder_new(kind) };
    b.state = adzi_micro_state_new(OP, b.m, MICRO_BATCHES, 0, MICRO_BATCHES);
    for (int k = 0; k < MICRO_BATCHES; ++k) {
        b.alone[k] = adz_module_copy(b.m);
    }
    step(&b);
    return b;
}

static void end(bench *b)
{
    adzi_micro_state_free(&b->state);
    adz_module_release(&b->m);
    for (int k = 0; k < MICRO_BATCHES; ++k) {
        adz_module_release(&b->alone[k]);
    }
}

static void reset_alone(bench *b, int k)
{
    assert_int_equal(adz_module_reset(b->alone[k]), ADZ_OK);
}

/* Evaluates a text. The batch of an AWD-LSTM may have another number of rows, for which it resets
 * its layers itself. */
static void evaluate(bench *b, int kind)
{
    adz_module_eval(b->m);
    adz_tensor *ids = adz_ones(ADZ_SHAPE(kind == XL ? BATCH : BATCH + 1, 2 * TIME), ADZ_I64);
    assert_non_null(adz_module_forward(b->m, ids));
    adz_module_train(b->m, true);
}

static void a_reset_between_steps_reaches_all_micro_batches(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        bench b = begin(kind);
        step(&b);
        assert_int_equal(adz_module_reset(b.m), ADZ_OK);
        for (int k = 0; k < MICRO_BATCHES; ++k) {
            reset_alone(&b, k);
        }
        evaluate(&b, kind); /* does not undo the reset */
        step(&b);
        step(&b);
        end(&b);
    }
}

static void a_reset_inside_concerns_one_micro_batch(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        for (int which = 0; which < MICRO_BATCHES; ++which) {
            bench b = begin(kind);
            enter(b.state, which);
            assert_int_equal(adz_module_reset(b.m), ADZ_OK);
            adzi_micro_state_leave(b.state, NULL);
            reset_alone(&b, which);
            step(&b);
            end(&b);
        }
    }
}

/* The first micro-batch, whose values the module carries between steps, has none already: a reset
 * changes no buffer of the module, and still reaches the others. */
static void a_reset_that_finds_nothing_reaches_the_others(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENCODERS; ++kind) {
        bench b = begin(kind);
        enter(b.state, 0);
        assert_int_equal(adz_module_reset(b.m), ADZ_OK);
        adzi_micro_state_leave(b.state, NULL);
        assert_int_equal(adz_module_reset(b.m), ADZ_OK);
        for (int k = 0; k < MICRO_BATCHES; ++k) {
            reset_alone(&b, k);
        }
        step(&b);
        end(&b);
    }
}

static void what_happens_between_steps_is_undone(void **state)
{
    (void)state;
    adz_tensor *rows = adz_tensor_from((int64_t[]){ 1, 0 }, ADZ_SHAPE(2), ADZ_I64);
    for (int kind = 0; kind < ENCODERS; ++kind) {
        bench b = begin(kind);
        evaluate(&b, kind);
        step(&b);
        assert_int_equal(adz_module_select_hidden(b.m, rows), ADZ_OK);
        step(&b);
        const char *name = kind == XL ? "mem_0" : kind == QRNN ? "hidden_0_c" : "hidden_0_h";
        assert_non_null(adz_module_set_buffer(b.m, name, ADZ_NONE));
        step(&b);
        end(&b);
    }
}

static void selected_rows_concern_one_micro_batch(void **state)
{
    (void)state;
    adz_tensor *rows = adz_tensor_from((int64_t[]){ 1, 0 }, ADZ_SHAPE(2), ADZ_I64);
    for (int kind = 0; kind < ENCODERS; ++kind) {
        bench b = begin(kind);
        enter(b.state, 1);
        assert_int_equal(adz_module_select_hidden(b.m, rows), ADZ_OK);
        adzi_micro_state_leave(b.state, NULL);
        assert_int_equal(adz_module_select_hidden(b.alone[1], rows), ADZ_OK);
        step(&b);
        end(&b);
    }
}

/* A reset of which a later module refuses its part changes no micro-batch. */
static adz_status refusing_reset(adz_module *self)
{
    (void)self;
    return ADZ_ERR_STATE;
}

static adz_tensor *same_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static const adz_module_type refusing_type = { .size = sizeof(adz_module_type),
    .name = "Refusing",
    .forward = same_forward,
    .reset = refusing_reset };

static void a_reset_that_fails_changes_no_micro_batch(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(encoder_new(LSTM), adz_module_new(&refusing_type, 0));
    adz_module *alone[] = { adz_module_copy(m), adz_module_copy(m) };
    adzi_micro_state *micro = adzi_micro_state_new(OP, m, 2, 0, 2);
    for (int s = 0; s < 2; ++s) {
        for (int k = 0; k < 2; ++k) {
            enter(micro, k);
            expect_same_call(m, alone[k], tokens(k, s));
            adzi_micro_state_leave(micro, NULL);
        }
        assert_int_equal(adz_module_reset(m), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "Refusing");
    }
    adzi_micro_state_free(&micro);
    adz_module_release(&m);
    adz_module_release(&alone[0]);
    adz_module_release(&alone[1]);
}

int carried_reset_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reset_between_steps_reaches_all_micro_batches),
        TEST(a_reset_inside_concerns_one_micro_batch),
        TEST(a_reset_that_finds_nothing_reaches_the_others),
        TEST(what_happens_between_steps_is_undone),
        TEST(selected_rows_concern_one_micro_batch),
        TEST(a_reset_that_fails_changes_no_micro_batch),
    };
    return cmocka_run_group_tests_name("resets of carried values", tests, NULL, NULL);
}
