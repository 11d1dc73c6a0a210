/* Epochs in one call (src/plan/batches.c): they have the bits of separate runs of the plan. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"

enum { ROWS = 4, FEATURES = 3, CLASSES = 5, BATCHES = 6 };

/* A network with dropout, Adam, a schedule that moves on in each step, and a number of the batch.
 */
typedef struct training {
    adz_module *net;
    adz_optimizer *optimizer;
    adz_scheduler *scheduler;
    adz_generator *generator;
    adz_tensor *x, *ids, *weight;
} training;

static adz_status step(adz_tensor **results, void *user)
{
    training *t = user;
    adz_tensor *logits = adz_module_forward(t->net, t->x);
    adz_tensor *loss = adz_mul(adz_cross_entropy(logits, t->ids, ADZ_NONE, NULL), t->weight);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(t->optimizer) != ADZ_OK ||
        adz_scheduler_step(t->scheduler) != ADZ_OK ||
        adz_optimizer_zero_grad(t->optimizer) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = loss;
    results[1] = logits;
    return ADZ_OK;
}

static training training_new(void)
{
    training t = { .generator = adz_generator_new(9) };
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = t.generator;
    adz_manual_seed(2);
    t.net = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 8, NULL), adz_tanh_new(),
        adz_dropout_new(0.25, &dropout), adz_linear_new(8, CLASSES, NULL));
    t.optimizer = adz_adam_new(adz_module_parameters(t.net), 0.05, NULL);
    t.scheduler = adz_exponential_lr_new(t.optimizer, 0.9);
    t.x = adz_zeros(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32);
    t.ids = adz_zeros(ADZ_SHAPE(ROWS), ADZ_I64);
    t.weight = adz_scalar(0, ADZ_F32);
    assert_non_null(t.scheduler);
    return t;
}

static void training_free(training *t)
{
    adz_scheduler_release(&t->scheduler);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->net);
    adz_generator_free(&t->generator);
}

static adz_plan *plan_of(training *t)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    adz_tensor *inputs[] = { t->x, t->ids, t->weight };
    o.inputs = adz_tensor_list_of(inputs, 3);
    o.restore = false;
    adz_plan *plan = adz_plan_new_many(step, t, 2, &o);
    assert_non_null(plan);
    return plan;
}

typedef struct data {
    adz_tensor *all[3]; /* x, ids and weight of all batches */
    adz_tensor *order;
} data;

static data data_new(int64_t rows)
{
    adz_manual_seed(4);
    return (data){ { adz_randn(ADZ_SHAPE(rows, FEATURES), ADZ_F32),
                       adz_randint(0, CLASSES, ADZ_SHAPE(rows), ADZ_I64),
                       adz_rand(ADZ_SHAPE(rows / ROWS), ADZ_F32) },
        adz_randperm(rows) };
}

/* The epoch as separate runs. */
static void separate(training *t, adz_plan *plan, const data *d, bool ordered,
    adz_tensor *losses[BATCHES], adz_tensor *logits[BATCHES])
{
    adz_tensor *x = ordered ? adz_index_select(d->all[0], 0, d->order) : d->all[0];
    adz_tensor *ids = ordered ? adz_index_select(d->all[1], 0, d->order) : d->all[1];
    for (int i = 0; i < BATCHES; ++i) {
        adz_copy_(t->x, adz_narrow(x, 0, i * ROWS, ROWS));
        adz_copy_(t->ids, adz_narrow(ids, 0, i * ROWS, ROWS));
        adz_copy_(t->weight, adz_select(d->all[2], 0, i)); /* the order is one of rows */
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        losses[i] = adz_clone(adz_plan_result_at(plan, 0));
        logits[i] = adz_clone(adz_plan_result_at(plan, 1));
    }
}

static void epochs_have_the_bits_of_separate_runs(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ++ordered) {
        adz_scope *scope = adz_scope_open();
        training one = training_new(), other = training_new();
        adz_plan *plans[2] = { plan_of(&one), plan_of(&other) };
        const data d = data_new(BATCHES * ROWS);
        adz_plan_batches_options o = ADZ_PLAN_BATCHES_OPTIONS;
        o.order = ordered ? d.order : NULL;
        adz_tensor *const given[3] = { d.all[0], d.all[1], d.all[2] };
        for (int epoch = 0; epoch < 3; ++epoch) {
            adz_tensor *losses[BATCHES], *logits[BATCHES], *results[2];
            separate(&one, plans[0], &d, ordered, losses, logits);
            assert_int_equal(
                adz_plan_run_batches(plans[1], given, 3, &o, epoch == 1 ? NULL : results), ADZ_OK);
            if (epoch != 1) {
                assert_true(adz_equal(results[0], adz_stack(losses, BATCHES, 0)));
                assert_true(adz_equal(results[1], adz_stack(logits, BATCHES, 0)));
                assert_false(adz_tensor_requires_grad(results[0]));
            }
        }
        adz_plan_info info;
        adz_plan_get_info(plans[1], &info, sizeof info);
        assert_true(info.captured);
        for (size_t i = 0; i < 4; ++i) {
            assert_true(adz_equal(adz_module_parameters(one.net).items[i],
                adz_module_parameters(other.net).items[i]));
        }
        assert_true(adz_optimizer_get(one.optimizer, 0, "lr") ==
                    adz_optimizer_get(other.optimizer, 0, "lr"));
        assert_true(
            fabs(adz_optimizer_get(one.optimizer, 0, "lr") / (0.05 * pow(0.9, 19)) - 1) < 1e-12);
        assert_true(adz_equal(other.x, one.x)); /* the last batch stays */
        for (int i = 0; i < 2; ++i) {
            adz_plan_free(&plans[i]);
        }
        training_free(&one);
        training_free(&other);
        adz_scope_close(scope);
    }
}

static void incomplete_batches_are_left_out_or_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = training_new();
    adz_plan *plan = plan_of(&t);
    const data d = data_new(3 * ROWS + 2);
    adz_tensor *given[3] = { d.all[0], d.all[1], ADZ_NONE }, *results[2] = { NULL, NULL };
    adz_plan_batches_options o = ADZ_PLAN_BATCHES_OPTIONS;
    assert_int_equal(adz_plan_run_batches(plan, given, 3, &o, results), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "the 14 rows for input 0 make no whole batches of 4");
    assert_null(results[0]);
    o.drop_last = true;
    assert_int_equal(adz_plan_run_batches(plan, given, 3, &o, results), ADZ_OK);
    assert_int_equal(adz_tensor_size(results[0], 0), 3);
    assert_true(adz_equal(t.x, adz_narrow(d.all[0], 0, 8, 4)));
    given[0] = adz_narrow(d.all[0], 0, 0, 3); /* no batch at all */
    given[1] = adz_narrow(d.all[1], 0, 0, 3);
    assert_int_equal(adz_plan_run_batches(plan, given, 3, &o, results), ADZ_OK);
    assert_int_equal(adz_tensor_size(results[0], 0), 0);
    adz_plan_free(&plan);
    training_free(&t);
    adz_scope_close(scope);
}

static void wrong_data_are_refused_before_the_first_batch(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = training_new();
    adz_plan *plan = plan_of(&t);
    const data d = data_new(BATCHES * ROWS);
    adz_tensor *good[3] = { d.all[0], d.all[1], d.all[2] };
    adz_tensor *w = adz_clone(adz_module_parameters(t.net).items[0]);
    const struct {
        int at;
        adz_tensor *given;
        adz_status code;
        const char *says;
    } wrong[] = {
        { 0, adz_zeros(ADZ_SHAPE(24, 4), ADZ_F32), ADZ_ERR_SHAPE, "data[0][24, 4]" },
        { 0, adz_zeros(ADZ_SHAPE(24, 3), ADZ_F64), ADZ_ERR_DTYPE, "data[0] is float64" },
        { 1, adz_zeros(ADZ_SHAPE(20), ADZ_I64), ADZ_ERR_SHAPE, "data[1][20] has 5 batches" },
        { 2, adz_zeros(ADZ_SHAPE(6, 1), ADZ_F32), ADZ_ERR_SHAPE, "an element for each batch" },
        { 0, t.x, ADZ_ERR_ARGUMENT, "share memory" },
        { 0, NULL, ADZ_ERR_NULL, "data is NULL" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        adz_tensor *given[3] = { good[0], good[1], good[2] };
        given[wrong[i].at] = wrong[i].given;
        assert_int_equal(adz_plan_run_batches(plan, given, 3, NULL, NULL), wrong[i].code);
        expect_error(wrong[i].code, wrong[i].says);
    }
    adz_plan_batches_options o = ADZ_PLAN_BATCHES_OPTIONS;
    o.order = adz_tensor_from(((int64_t[]){ 0, 1, 2, 24 }), ADZ_SHAPE(4), ADZ_I64);
    assert_int_equal(
        adz_plan_run_batches(plan, (adz_tensor *[]){ good[0], ADZ_NONE, ADZ_NONE }, 3, &o, NULL),
        ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "order[3] is 24");
    assert_int_equal(adz_plan_run_batches(plan, good, 2, NULL, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "2 data are given, and the plan has 3 inputs");
    adz_tensor *none[3] = { ADZ_NONE, ADZ_NONE, ADZ_NONE };
    assert_int_equal(adz_plan_run_batches(plan, none, 3, NULL, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "no number of batches");
    assert_true(adz_equal(w, adz_module_parameters(t.net).items[0]));
    adz_plan_free(&plan);
    training_free(&t);
    adz_scope_close(scope);
}

/* A batch would overwrite rows that later batches take, or their order. */
static void memory_of_any_input_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = training_new();
    const data d = data_new(BATCHES * ROWS);
    adz_plan_batches_options o = ADZ_PLAN_BATCHES_OPTIONS;
    o.order = adz_zeros(ADZ_SHAPE(BATCHES * ROWS), ADZ_I64);
    t.ids = adz_narrow(o.order, 0, ROWS, ROWS);
    t.weight = adz_select(adz_select(d.all[0], 0, ROWS), 0, 1);
    adz_plan *plan = plan_of(&t);
    adz_tensor *given[3] = { d.all[0], ADZ_NONE, d.all[2] };
    assert_int_equal(adz_plan_run_batches(plan, given, 3, NULL, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "data[0] and input 2 of the plan share memory");
    given[2] = ADZ_NONE; /* an input that stays overwrites nothing */
    assert_int_equal(adz_plan_run_batches(plan, given, 3, &o, NULL), ADZ_OK);
    given[1] = d.all[1];
    assert_int_equal(adz_plan_run_batches(plan, given, 3, &o, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the order and input 1 of the plan share memory");
    adz_plan_free(&plan);
    training_free(&t);
    adz_scope_close(scope);
}

/* The batches before the one that fails are done, and the error names it. */
static void an_error_names_the_batch(void **state)
{
    (void)state;
    for (int replays = 0; replays < 2; ++replays) {
        adz_scope *scope = adz_scope_open();
        training t = training_new();
        adz_plan *plan = plan_of(&t);
        const data d = data_new(BATCHES * ROWS);
        adz_tensor *given[3] = { d.all[0], d.all[1], d.all[2] }, *results[2] = { NULL, NULL };
        if (replays) {
            assert_int_equal(adz_plan_run_batches(plan, given, 3, NULL, NULL), ADZ_OK);
        }
        const double rate = adz_optimizer_get(t.optimizer, 0, "lr");
        adz_fill_(adz_narrow(d.all[1], 0, 2 * ROWS + 1, 1), CLASSES);
        assert_int_equal(adz_plan_run_batches(plan, given, 3, NULL, results), ADZ_ERR_INDEX);
        expect_error(ADZ_ERR_INDEX, "batch 2 of adz_plan_run_batches");
        assert_null(results[0]);
        assert_true(fabs(adz_optimizer_get(t.optimizer, 0, "lr") / (rate * 0.81) - 1) < 1e-12);
        adz_plan_free(&plan);
        training_free(&t);
        adz_scope_close(scope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_have_the_bits_of_separate_runs),
        cmocka_unit_test(incomplete_batches_are_left_out_or_refused),
        cmocka_unit_test(wrong_data_are_refused_before_the_first_batch),
        cmocka_unit_test(memory_of_any_input_is_refused),
        cmocka_unit_test(an_error_names_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
