/* Traced training steps: a replay of the traced calls trains as the library does. */
#include <math.h>

#include "../../optim/optimizers/cases.h"
#include "training.h"

#define STEPS_OF_TRAINING 20
#define NEAR              1e-9

static adz_tensor_list parameters(const training *t)
{
    return adz_module_parameters(t->net);
}

static adz_optimizer *momentum(adz_tensor_list list)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.dampening = 0.3;
    return adz_sgd_new(list, 0.05, &o);
}

static void every_loss(void **state)
{
    (void)state;
    for (int loss = 0; loss < N_LOSSES; ++loss) {
        adz_scope *scope = adz_scope_open();
        training t = { .loss = (loss_kind)loss };
        training_begin(&t);
        t.optimizer = momentum(parameters(&t));
        training_compare(&t, STEPS_OF_TRAINING, NEAR);
        training_end(&t);
        adz_scope_close(scope);
    }
}

static void every_clipping(void **state)
{
    (void)state;
    for (int clip = 0; clip < N_CLIPS; ++clip) {
        adz_scope *scope = adz_scope_open();
        training t = { .clip = (clip_kind)clip };
        training_begin(&t);
        t.optimizer = momentum(parameters(&t));
        training_compare(&t, STEPS_OF_TRAINING, NEAR);
        training_end(&t);
        adz_scope_close(scope);
    }
}

static void compare_optimizer(const optimizer_case *c, bool flat, int steps_before)
{
    adz_scope *scope = adz_scope_open();
    training t = { .zero = flat ? FILL_FIRST : DROP_FIRST };
    training_begin(&t);
    t.flat = flat ? adz_flat_parameters_new(parameters(&t)) : NULL;
    t.optimizer = c->make(parameters(&t));
    for (int i = 0; i < steps_before; ++i) {
        training_step(&t);
    }
    training_compare(&t, STEPS_OF_TRAINING, NEAR);
    training_end(&t);
    adz_scope_close(scope);
}

static void every_optimizer(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; ++i) {
        compare_optimizer(&cases[i], false, 0);
        compare_optimizer(&cases[i], true, 2);
    }
}

/* Only what is trained has gradients and states. */
static void a_frozen_body(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = { .loss = CROSS_ENTROPY };
    training_begin(&t);
    adz_requires_grad_(adz_module_get_parameter(t.net, "0.weight"), false);
    adz_requires_grad_(adz_module_get_parameter(t.net, "0.bias"), false);
    t.optimizer = adz_adam_new(parameters(&t), 0.01, NULL);
    adzi_trace *trace = training_trace(&t);
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        const char *name = v->name != NULL ? v->name : "";
        if (strncmp(name, "0.", 2) == 0) {
            assert_int_equal(v->kind, ADZI_VALUE_PARAMETER);
            assert_int_equal(v->becomes, (int)i);
        } else if (v->kind == ADZI_VALUE_PARAMETER) {
            assert_true(v->becomes != (int)i);
        }
    }
    assert_int_equal(count_calls(trace, "copy"), 3 * 4); /* parameters and two states of each */
    adzi_trace_free(&trace);
    training_compare(&t, STEPS_OF_TRAINING, NEAR);
    training_end(&t);
    adz_scope_close(scope);
}

/* Batch norm in training moves its running statistics, which are variables. */
static void running_statistics(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = { .momentum = 0.2, .micro_batches = 2 };
    training_begin(&t);
    t.optimizer = momentum(parameters(&t));
    training_compare(&t, STEPS_OF_TRAINING, NEAR);
    training_end(&t);
    t = (training){ .momentum = ADZ_CUMULATIVE_MOMENTUM };
    training_begin(&t);
    t.optimizer = momentum(parameters(&t));
    assert_null(training_try(&t));
    expect_error(ADZ_ERR_UNSUPPORTED, "batch norm needs a fixed momentum");
    training_end(&t);
    adz_scope_close(scope);
}

/* A step that adds up the gradients of several backwards. */
static void micro_batches(void **state)
{
    static const zero_kind zeros[] = { DROP_FIRST, FILL_FIRST, DROP_LAST };
    (void)state;
    for (int i = 0; i < 6; ++i) {
        adz_scope *scope = adz_scope_open();
        training t = { .micro_batches = 3, .zero = zeros[i % 3], .clip = CLIP_NORM };
        training_begin(&t);
        t.flat = i >= 3 ? adz_flat_parameters_new(parameters(&t)) : NULL;
        t.optimizer = momentum(parameters(&t));
        if (t.zero == FILL_FIRST) {
            training_step(&t);
        }
        training_compare(&t, STEPS_OF_TRAINING, NEAR);
        training_end(&t);
        adz_scope_close(scope);
    }
}

/* A function that adds to the gradients that are there: they are variables. */
static void gradients_are_variables(void **state)
{
    (void)state;
    for (int flat = 0; flat < 2; ++flat) {
        adz_scope *scope = adz_scope_open();
        training t = { .zero = NEVER };
        training_begin(&t);
        t.flat = flat ? adz_flat_parameters_new(parameters(&t)) : NULL;
        training_step(&t);
        adzi_trace *trace = training_trace(&t);
        replay *r = replay_new(trace);
        for (int i = 0; i < 3; ++i) {
            training_draw(&t);
            replay_run(r, (adz_tensor *const[]){ t.x, t.target, t.classes });
            training_step(&t);
        }
        adz_tensor *w = adz_module_get_parameter(t.net, "4.weight");
        assert_true(difference(replay_variable(r, "4.weight.grad"), adz_tensor_grad(w)) < NEAR);
        replay_free(r);
        adzi_trace_free(&trace);
        training_end(&t);
        adz_scope_close(scope);
    }
}

/* The mean and the variance of layer_norm are computed once, although its backward needs them. */
static void nothing_is_computed_twice(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = { .loss = CROSS_ENTROPY };
    training_begin(&t);
    t.optimizer = momentum(parameters(&t));
    adzi_trace *step = training_trace(&t);
    static const char *const once[] = { "rsqrt", "tanh", "logsumexp", "gather" };
    for (size_t i = 0; i < sizeof once / sizeof *once; ++i) {
        assert_int_equal(count_calls(step, once[i]), 1);
    }
    adzi_trace_free(&step);
    t.loss = OWN_OPERATOR;
    step = training_trace(&t);
    assert_int_equal(count_calls(step, "erf"), 1);
    adzi_trace_free(&step);
    training_end(&t);
    adz_scope_close(scope);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void set_rate(void *user)
{
    adz_optimizer_set(((training *)user)->optimizer, -1, "lr", 1);
}

static void move_schedule(void *user)
{
    adz_scheduler *s = adz_step_lr_new(((training *)user)->optimizer, 1, 0.5);
    adz_scheduler_step(s);
    adz_scheduler_release(&s);
}

static void read_norm(void *user)
{
    adz_clip_grad_norm(adz_module_parameters(((training *)user)->net), 1, 2);
}

static void read_weight(void *user)
{
    adz_item(adz_sum(adz_module_get_parameter(((training *)user)->net, "4.bias"), ADZ_ALL_DIMS, 0));
}

static void refusals(void **state)
{
    static const struct {
        void (*last)(void *user);
        zero_kind zero;
        bool gradients; /* there are some before */
        adz_status code;
        const char *says;
    } rows[] = {
        { NULL, NEVER, false, ADZ_ERR_UNSUPPORTED, "leaves a gradient of 4.weight[3, 5]" },
        { NULL, FILL_FIRST, false, ADZ_ERR_UNSUPPORTED, "call adz_optimizer_zero_grad in the" },
        { NULL, DROP_LAST, true, ADZ_ERR_UNSUPPORTED, "the earlier gradient of 4.weight[3, 5]" },
        { set_rate, DROP_FIRST, false, ADZ_ERR_STATE, "adz_optimizer_set: cannot be a part of" },
        { move_schedule, DROP_FIRST, false, ADZ_ERR_STATE, "cannot be a part of an exported" },
        { read_norm, DROP_FIRST, false, ADZ_ERR_STATE, "call adz_clip_grads" },
        { read_weight, DROP_FIRST, false, ADZ_ERR_UNSUPPORTED, "item accesses elements of" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        adz_scope *scope = adz_scope_open();
        training t = { .zero = rows[i].zero, .last = rows[i].last };
        training_begin(&t);
        t.optimizer = momentum(parameters(&t));
        if (rows[i].gradients) {
            t.zero = DROP_FIRST;
            t.last = NULL;
            training_step(&t);
            t.zero = rows[i].zero;
            t.last = rows[i].last;
        }
        assert_null(training_try(&t));
        expect_error(rows[i].code, rows[i].says);
        training_end(&t);
        adz_scope_close(scope);
    }
}

/* The call of an operator that is used, or NULL. */
static const adzi_traced_call *find_call(const adzi_trace *trace, const char *op)
{
    const adzi_traced_call *found = NULL;
    for (size_t i = 0; i < trace->n_calls; ++i) {
        if (trace->calls[i].used && strcmp(trace->calls[i].op->name, op) == 0) {
            found = &trace->calls[i];
        }
    }
    return found;
}

/* The mask that a dropout draws is a result of its call, which the backward uses. */
static void the_mask_of_a_dropout(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = { .dropout = 0.5 };
    training_begin(&t);
    t.optimizer = momentum(parameters(&t));
    const uint64_t offset = adz_generator_get_state(NULL).offset;
    adzi_trace *trace = training_trace(&t);
    const adzi_traced_call *forward = find_call(trace, "dropout");
    const adzi_traced_call *again = find_call(trace, "dropout_again");
    assert_true(forward != NULL && again != NULL);
    assert_int_equal(forward->n_out, 2);
    assert_int_equal(again->in[1], forward->out[1]);
    assert_true(adz_generator_get_state(NULL).offset == offset);
    adzi_trace_free(&trace);
    training_end(&t);
    adz_scope_close(scope);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss),
        cmocka_unit_test(every_clipping),
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(a_frozen_body),
        cmocka_unit_test(running_statistics),
        cmocka_unit_test(micro_batches),
        cmocka_unit_test(gradients_are_variables),
        cmocka_unit_test(nothing_is_computed_twice),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_mask_of_a_dropout),
    };
    int failed = 0;
    if (is_chosen("steps", 1, argc, argv)) {
        failed += run_group("steps", tests, sizeof tests / sizeof *tests);
    }
    return failed + restored_tests(argc, argv);
}
