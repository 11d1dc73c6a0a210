/* The option `restore`: making a plan changes nothing (src/plan/restore.c).
 *
 * A checkpoint holds weights, buffers, the states and the counts of an optimizer, and generators.
 * Its file must be the same, byte for byte, before and after a plan was made. Gradients, tensors
 * outside the module, and buffers that are in no checkpoint are compared as well. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"
#include "tensor/tensor.h"
#include "temporary.h"

enum { ROWS = 6, FEATURES = 4 };

typedef struct learner {
    adz_generator *generator;
    adz_module *model;
    adz_optimizer *optimizer;
    adz_scheduler *scheduler;
    adz_tensor *x, *target;
    adz_tensor *average; /* of the losses; no module has it */
    bool adds;           /* the step adds to earlier gradients */
    bool clips, fails, jumps, schedules, seeds;
} learner;

static jmp_buf position;

static adz_tensor *train(void *user)
{
    learner *l = user;
    if (l->seeds) {
        adz_manual_seed(99);
        adz_generator_set_state(l->generator, (adz_generator_state){ 5, 6 });
    }
    if (!l->adds) {
        adz_optimizer_zero_grad(l->optimizer);
    }
    adz_tensor *loss = adz_mse_loss(adz_module_forward(l->model, l->x), l->target, ADZ_REDUCE_MEAN);
    adz_backward(loss);
    if (l->clips) {
        adz_clip_grads(adz_module_parameters(l->model), 0.1, 2);
    }
    adz_optimizer_step(l->optimizer);
    ADZ_NO_GRAD
    {
        adz_add_(adz_mul_(l->average, adz_scalar(0.5, ADZ_F32)), adz_detach(loss));
    }
    if (l->schedules) {
        adz_scheduler_step(l->scheduler);
    }
    if (l->jumps) {
        longjmp(position, 1);
    }
    return l->fails ? adz_matmul(l->x, l->x) : loss;
}

static learner begin(adz_optimizer *(*make)(adz_tensor_list parameters), int earlier_steps)
{
    learner l = { .generator = adz_generator_new(3) };
    adz_batch_norm1d_options cumulative = ADZ_BATCH_NORM1D_OPTIONS;
    cumulative.momentum = ADZ_CUMULATIVE_MOMENTUM;
    adz_dropout_options own = ADZ_DROPOUT_OPTIONS;
    own.generator = l.generator;
    adz_manual_seed(7);
    l.model = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 8, NULL), adz_batch_norm1d_new(8, NULL),
        adz_dropout_new(0.3, &own), adz_relu_new(), adz_batch_norm1d_new(8, &cumulative),
        adz_dropout_new(0.3, NULL), adz_linear_new(8, 1, NULL));
    l.optimizer = make(adz_module_parameters(l.model));
    l.scheduler = adz_exponential_lr_new(l.optimizer, 0.9);
    l.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    l.target = adz_keep(adz_ones(ADZ_SHAPE(ROWS, 1), ADZ_F32));
    l.average = adz_keep(adz_scalar(3, ADZ_F32));
    for (int i = 0; i < earlier_steps; ++i) {
        assert_non_null(train(&l));
    }
    return l;
}

static void end(learner *l)
{
    adz_release(&l->x);
    adz_release(&l->target);
    adz_release(&l->average);
    adz_scheduler_release(&l->scheduler);
    adz_optimizer_release(&l->optimizer);
    adz_module_release(&l->model);
    adz_generator_free(&l->generator);
}

/* What must not change. */
typedef struct snapshot {
    unsigned char *file;
    size_t bytes;
    float gradient[FEATURES * 8]; /* of the first weight; the first is NaN if there is none */
    double average;
} snapshot;

static snapshot take(const learner *l)
{
    snapshot s = { .file = NULL };
    const char *path = temporary_path("restore.checkpoint");
    adz_generator *generators[] = { NULL, l->generator };
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = l->model;
    c.optimizer = l->optimizer;
    c.schedulers = (adz_scheduler *[]){ l->scheduler };
    c.n_schedulers = 1;
    c.generators = generators;
    c.n_generators = 2;
    assert_int_equal(adz_checkpoint_save(&c, path), ADZ_OK);
    s.file = read_file(path, &s.bytes);
    assert_true(s.file != NULL && s.bytes > 1000);
    const adz_tensor *gradient = adz_tensor_grad(adz_module_get_parameter(l->model, "0.weight"));
    s.gradient[0] = NAN;
    if (gradient != NULL) {
        assert_int_equal(adz_tensor_read(gradient, s.gradient, sizeof s.gradient), ADZ_OK);
    }
    s.average = adz_item(l->average);
    return s;
}

static void expect_same(const learner *l, snapshot *before)
{
    snapshot now = take(l);
    assert_int_equal(now.bytes, before->bytes);
    assert_memory_equal(now.file, before->file, now.bytes);
    assert_memory_equal(now.gradient, before->gradient,
        !isnan(before->gradient[0]) ? sizeof now.gradient : sizeof(float));
    assert_true(now.average == before->average);
    free(now.file);
    free(before->file);
}

/* ---- what is put back ------------------------------------------------------------------------ */

static adz_optimizer *sgd(adz_tensor_list parameters)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    return adz_sgd_new(parameters, 0.1, &o);
}

static adz_optimizer *adam(adz_tensor_list parameters)
{
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    o.amsgrad = true;
    return adz_adam_new(parameters, 0.1, &o);
}

static adz_optimizer *radam(adz_tensor_list parameters)
{
    return adz_radam_new(parameters, 0.1, NULL);
}

static adz_plan *plan_of(learner *l, bool with_module)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.module = with_module ? l->model : NULL;
    o.restore = true;
    return adz_plan_new(train, l, &o);
}

/* The caller has set flags of `l`. */
static void expect_restored(learner *l, bool with_module)
{
    adz_scope *scope = adz_scope_open();
    snapshot before = take(l);
    adz_plan *plan = plan_of(l, with_module);
    assert_non_null(plan);
    expect_same(l, &before);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static void everything_is_put_back(void **state)
{
    (void)state;
    adz_optimizer *(*const makes[])(adz_tensor_list) = { sgd, adam, radam };
    for (int i = 0; i < 3 * 2 * 2 * 2 * 2; ++i) {
        adz_scope *scope = adz_scope_open();
        learner l = begin(makes[i % 3], i / 3 % 2 * 2);
        l.adds = i / 6 % 2 == 1;
        l.clips = i / 12 % 2 == 1;
        expect_restored(&l, i / 24 % 2 == 1);
        end(&l);
        adz_scope_close(scope);
    }
}

/* The gradients lie in one buffer, where they have a place each. */
static void flat_gradients_are_put_back(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        adz_scope *scope = adz_scope_open();
        learner l = begin(sgd, 0);
        adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(l.model));
        assert_non_null(flat);
        for (int k = 0; k < i % 2; ++k) {
            assert_non_null(train(&l));
        }
        l.adds = i / 2 == 1;
        expect_restored(&l, false);
        adz_flat_parameters_free(&flat);
        end(&l);
        adz_scope_close(scope);
    }
}

/* A function that seeds its generators leaves them as they were, too. */
static void seeds_are_put_back(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(sgd, 1);
    l.seeds = true;
    expect_restored(&l, false);
    end(&l);
    adz_scope_close(scope);
}

/* A plan that was restored computes what ordinary steps compute, once it replays as well. */
static void a_restored_plan_trains(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(adam, 1);
    adz_plan *plan = plan_of(&l, true);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured);
    snapshot planned = take(&l);
    adz_plan_free(&plan);
    end(&l);
    l = begin(adam, 1);
    for (int i = 0; i < 6; ++i) {
        assert_non_null(train(&l));
    }
    expect_same(&l, &planned);
    end(&l);
    adz_scope_close(scope);
}

/* Without the option the step counts, as for every plan that trains. */
static void the_default_makes_a_step(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(sgd, 0);
    snapshot before = take(&l);
    adz_plan *plan = adz_plan_new(train, &l, NULL);
    snapshot after = take(&l);
    assert_true(before.bytes != after.bytes || memcmp(before.file, after.file, after.bytes) != 0);
    free(before.file);
    free(after.file);
    adz_plan_free(&plan);
    end(&l);
    adz_scope_close(scope);
}

/* ---- buffers that are replaced --------------------------------------------------------------- */

static adz_tensor *count_up(adz_module *self, adz_tensor *x)
{
    adz_tensor *count = adz_module_get_buffer(self, "count");
    return adz_module_set_buffer(self, "count", adz_add_number(count, 1)) != NULL
               ? adz_add(x, adz_module_get_buffer(self, "count"))
               : NULL;
}

static const adz_module_type counter_type = {
    .size = sizeof(adz_module_type), .name = "Counter", .forward = count_up
};

typedef struct counted {
    adz_module *counter;
    adz_tensor *x;
} counted;

static adz_tensor *count_twice(void *user)
{
    counted *c = user;
    return adz_module_forward(c->counter, adz_module_forward(c->counter, c->x));
}

static void replaced_buffers_are_put_back(void **state)
{
    (void)state;
    for (int with_module = 0; with_module < 2; ++with_module) {
        adz_scope *scope = adz_scope_open();
        counted c = { adz_module_new(&counter_type, 0), adz_zeros(ADZ_SHAPE(1), ADZ_F32) };
        adz_tensor *buffer =
            adz_module_add_buffer(c.counter, "count", adz_ones(ADZ_SHAPE(1), ADZ_F32), false);
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.module = with_module ? c.counter : NULL;
        o.restore = true;
        adz_plan *plan = adz_plan_new(count_twice, &c, &o);
        assert_true(adz_item(adz_plan_output(plan)) == 5);
        assert_ptr_equal(adz_module_get_buffer(c.counter, "count"), buffer);
        assert_true(adz_item(buffer) == 1);
        for (int i = 1; i < 5; ++i) {
            adz_plan_info info;
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
            assert_int_equal(info.captured, i >= 2); /* two ordinary calls come first */
            assert_true(adz_item(adz_module_get_buffer(c.counter, "count")) == 1 + 2 * i);
        }
        adz_plan_free(&plan);
        adz_module_release(&c.counter);
        adz_scope_close(scope);
    }
}

/* ---- functions that do not end as they should ------------------------------------------------ */

static void a_failure_is_put_back(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(adam, 1);
    snapshot before = take(&l);
    l.fails = true;
    assert_null(plan_of(&l, false));
    expect_error(ADZ_ERR_SHAPE, "matmul");
    expect_same(&l, &before);
    end(&l);
    adz_scope_close(scope);
}

static void a_jump_is_put_back(void **state)
{
    (void)state;
    static learner l;
    static snapshot before;
    adz_scope *scope = adz_scope_open();
    l = begin(adam, 1);
    before = take(&l);
    adz_scope_close(scope);
    l.jumps = true;
    if (setjmp(position) == 0) {
        plan_of(&l, false);
    }
    l.jumps = false;
    scope = adz_scope_open(); /* this thread captures no more */
    expect_same(&l, &before);
    end(&l);
    adz_scope_close(scope);
}

static void a_schedule_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(sgd, 1);
    snapshot before = take(&l);
    l.schedules = true;
    assert_null(plan_of(&l, true));
    expect_error(ADZ_ERR_STATE, "the schedule, so call it outside of the function");
    expect_same(&l, &before);
    l.schedules = false;
    end(&l);
    adz_scope_close(scope);
}

static adz_tensor *draw_from_many(void *user)
{
    adz_generator *const *all = user;
    adz_tensor *sum = adz_zeros(ADZ_SHAPE(2), ADZ_F32);
    for (int i = 0; i < 17; ++i) {
        sum = adz_add(sum, adz_generator_rand(all[i], ADZ_SHAPE(2), ADZ_F32));
    }
    return sum;
}

static void too_many_generators_are_refused(void **state)
{
    (void)state;
    adz_generator *all[17];
    for (int i = 0; i < 17; ++i) {
        all[i] = adz_generator_new((uint64_t)i);
    }
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.restore = true;
    assert_null(adz_plan_new(draw_from_many, all, &o));
    expect_error(ADZ_ERR_STATE, "draws from more than 16 generators");
    for (int i = 0; i < 17; ++i) {
        adz_generator_free(&all[i]);
    }
}

/* Whatever writes without saying so before is an error. */
static adz_tensor *write_unseen(void *user)
{
    learner *l = user;
    adzi_written(l->average, "a function of the test");
    return adz_neg(l->x);
}

static void an_unseen_write_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = begin(sgd, 0);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.restore = true;
    assert_null(adz_plan_new(write_unseen, &l, &o));
    expect_error(ADZ_ERR_STATE, "a function of the test has changed a tensor");
    end(&l);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_put_back),
        cmocka_unit_test(flat_gradients_are_put_back),
        cmocka_unit_test(seeds_are_put_back),
        cmocka_unit_test(a_restored_plan_trains),
        cmocka_unit_test(the_default_makes_a_step),
        cmocka_unit_test(replaced_buffers_are_put_back),
        cmocka_unit_test(a_failure_is_put_back),
        cmocka_unit_test(a_jump_is_put_back),
        cmocka_unit_test(a_schedule_is_refused),
        cmocka_unit_test(too_many_generators_are_refused),
        cmocka_unit_test(an_unseen_write_is_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
