/* A whole training step can be captured and replayed (src/plan).
 *
 * Two equal networks are trained, one by a plan and one by ordinary steps, with other inputs in
 * each step and a learning rate that changes. Parameters, buffers and generators must have the same
 * bits after each step.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "adze/zoo.h"

enum { ROWS = 12, FEATURES = 5, CLASSES = 4, STEPS = 7 };

typedef adz_optimizer *(*optimizer_new)(adz_tensor_list parameters);

typedef struct twin {
    adz_generator *generator; /* of the dropout */
    adz_module *model;
    adz_optimizer *optimizer;
    adz_scheduler *scheduler;
    adz_tensor *x, *target;
    bool ends_gradients; /* after the step, which does not clip then */
} twin;

static adz_module *with_dropout(adz_module *first, int64_t features, adz_generator *generator)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = generator;
    return ADZ_SEQUENTIAL(
        first, adz_batch_norm1d_new(features, NULL), adz_relu_new(), adz_dropout_new(0.3, &o));
}

static void begin(twin *t, optimizer_new make, bool ends_gradients)
{
    adz_batch_norm1d_options cumulative = ADZ_BATCH_NORM1D_OPTIONS;
    cumulative.momentum = ADZ_CUMULATIVE_MOMENTUM;
    adz_manual_seed(7);
    t->ends_gradients = ends_gradients;
    t->generator = adz_generator_new(3);
    adz_module *first = with_dropout(adz_linear_new(FEATURES, 16, NULL), 16, t->generator);
    adz_module *second = with_dropout(adz_linear_new(16, 8, NULL), 8, t->generator);
    t->model = ADZ_SEQUENTIAL(first, adz_batch_norm1d_new(16, &cumulative),
        adz_activation_checkpoint_new(second), adz_linear_new(8, CLASSES, NULL));
    t->optimizer = make(adz_module_parameters(t->model));
    t->x = adz_keep(adz_zeros(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    t->target = adz_keep(adz_zeros(ADZ_SHAPE(ROWS), ADZ_I64));
    assert_non_null(t->optimizer);
    t->scheduler = adz_exponential_lr_new(t->optimizer, 0.9);
    assert_non_null(t->scheduler);
    assert_non_null(t->target);
}

static void end(twin *t)
{
    adz_release(&t->x);
    adz_release(&t->target);
    adz_scheduler_release(&t->scheduler);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->model);
    adz_generator_free(&t->generator);
}

/* Writes the inputs of step k. Some targets are ignored, a different number in each step. */
static void write_inputs(const twin *t, int k)
{
    float *x = adz_tensor_data_f32(t->x);
    int64_t *target = adz_tensor_data_i64(t->target);
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        x[i] = (float)sin(1 + i * (k + 1));
    }
    for (int i = 0; i < ROWS; ++i) {
        target[i] = i < k ? -100 : (i + k) % CLASSES;
    }
}

static adz_tensor *train(void *user)
{
    const twin *t = user;
    if (!t->ends_gradients) {
        assert_int_equal(adz_optimizer_zero_grad(t->optimizer), ADZ_OK);
    }
    adz_tensor *y = adz_module_forward(t->model, t->x);
    adz_tensor *loss = adz_cross_entropy(y, t->target, ADZ_NONE, NULL);
    if (adz_backward(loss) != ADZ_OK) {
        return NULL;
    }
    if (!t->ends_gradients) {
        assert_int_equal(adz_clip_grads(adz_module_parameters(t->model), 0.5, 2), ADZ_OK);
    }
    if (adz_optimizer_step(t->optimizer) != ADZ_OK || adz_scheduler_step(t->scheduler) != ADZ_OK) {
        return NULL;
    }
    if (t->ends_gradients) {
        assert_int_equal(adz_optimizer_zero_grad(t->optimizer), ADZ_OK);
    }
    return loss;
}

static void assert_same(const twin *a, const twin *b, int step)
{
    adz_scope *scope = adz_scope_open();
    adz_state_dict *of_a = adz_module_state_dict(a->model), *of_b = adz_module_state_dict(b->model);
    assert_int_equal(adz_state_dict_count(of_a), adz_state_dict_count(of_b));
    for (size_t i = 0; i < adz_state_dict_count(of_a); ++i) {
        adz_tensor *ta = adz_state_dict_at(of_a, i), *tb = adz_state_dict_at(of_b, i);
        size_t bytes = (size_t)adz_tensor_numel(ta) * adz_dtype_size(adz_tensor_dtype(ta));
        if (memcmp(adz_tensor_data(ta), adz_tensor_data(tb), bytes) != 0) {
            fail_msg("step %d: %s differs", step, adz_state_dict_name_at(of_a, i));
        }
    }
    adz_state_dict_free(&of_a);
    adz_state_dict_free(&of_b);
    adz_scope_close(scope);
    assert_int_equal(
        adz_generator_get_state(a->generator).offset, adz_generator_get_state(b->generator).offset);
}

static void replayed_steps_have_the_bits_of_ordinary_ones(optimizer_new make, bool ends_gradients)
{
    twin replayed, ordinary;
    adz_plan *plan = NULL;
    begin(&replayed, make, ends_gradients);
    begin(&ordinary, make, ends_gradients);
    for (int k = 0; k < STEPS; ++k) {
        write_inputs(&replayed, k);
        write_inputs(&ordinary, k);
        if (k == 3) {
            adz_optimizer_set(replayed.optimizer, -1, "lr", 0.003);
            adz_optimizer_set(ordinary.optimizer, -1, "lr", 0.003);
        }
        if (plan == NULL) {
            plan = adz_plan_new(train, &replayed, NULL);
            if (plan == NULL) {
                fail_msg("%s", adz_error_message());
            }
        } else {
            if (adz_plan_run(plan) != ADZ_OK) {
                fail_msg("step %d: %s", k, adz_error_message());
            }
        }
        adz_scope *scope = adz_scope_open();
        adz_tensor *loss = train(&ordinary);
        assert_true(adz_item(loss) == adz_item(adz_plan_output(plan)));
        adz_scope_close(scope);
        assert_same(&replayed, &ordinary, k);
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1 && info.launches > 20);
    assert_true(ends_gradients || adz_plan_grad_norm(plan) > 0);
    adz_plan_free(&plan);
    end(&replayed);
    end(&ordinary);
}

static adz_optimizer *sgd_new(adz_tensor_list parameters)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.dampening = 0.1;
    o.weight_decay = 0.01;
    return adz_sgd_new(parameters, 0.1, &o);
}

static adz_optimizer *adam_new(adz_tensor_list parameters)
{
    return adz_adam_new(parameters, 0.01, NULL);
}

static adz_optimizer *adamw_new(adz_tensor_list parameters)
{
    adz_adamw_options o = ADZ_ADAMW_OPTIONS;
    o.amsgrad = true;
    return adz_adamw_new(parameters, 0.01, &o);
}

static adz_optimizer *radam_new(adz_tensor_list parameters)
{
    return adz_radam_new(parameters, 0.01, NULL);
}

static adz_optimizer *rmsprop_new(adz_tensor_list parameters)
{
    adz_rmsprop_options o = ADZ_RMSPROP_OPTIONS;
    o.momentum = 0.5;
    o.centered = true;
    return adz_rmsprop_new(parameters, 0.01, &o);
}

static adz_optimizer *adagrad_new(adz_tensor_list parameters)
{
    adz_adagrad_options o = ADZ_ADAGRAD_OPTIONS;
    o.lr_decay = 0.1;
    return adz_adagrad_new(parameters, 0.01, &o);
}

static adz_optimizer *noam_new(adz_tensor_list parameters)
{
    return adz_labml_noam_new(parameters, 0.01, 3, 16, NULL);
}

static adz_optimizer *adadelta_new(adz_tensor_list parameters)
{
    return adz_adadelta_new(parameters, 0.5, NULL);
}

static adz_optimizer *adafactor_new(adz_tensor_list parameters)
{
    return adz_adafactor_new(parameters, 0.05, NULL);
}

static adz_optimizer *adamax_new(adz_tensor_list parameters)
{
    return adz_adamax_new(parameters, 0.01, NULL);
}

static adz_optimizer *asgd_new(adz_tensor_list parameters)
{
    adz_asgd_options o = ADZ_ASGD_OPTIONS;
    o.t0 = 2;
    return adz_asgd_new(parameters, 0.05, &o);
}

/* Trains the matrices alone. */
static adz_optimizer *muon_new(adz_tensor_list parameters)
{
    adz_tensor *matrices[8];
    size_t n = 0;
    for (size_t i = 0; i < parameters.count; ++i) {
        if (adz_tensor_rank(parameters.items[i]) == 2) {
            matrices[n++] = parameters.items[i];
        }
    }
    return adz_muon_new(adz_tensor_list_of(matrices, n), 0.05, NULL);
}

static adz_optimizer *nadam_new(adz_tensor_list parameters)
{
    return adz_nadam_new(parameters, 0.01, NULL);
}

static adz_optimizer *rprop_new(adz_tensor_list parameters)
{
    return adz_rprop_new(parameters, 0.01, NULL);
}

#define REPLAYS(name)                                                     \
    static void name##_steps(void **state)                                \
    {                                                                     \
        (void)state;                                                      \
        replayed_steps_have_the_bits_of_ordinary_ones(name##_new, false); \
        replayed_steps_have_the_bits_of_ordinary_ones(name##_new, true);  \
    }
REPLAYS(sgd)
REPLAYS(adam)
REPLAYS(adamw)
REPLAYS(radam)
REPLAYS(rmsprop)
REPLAYS(adagrad)
REPLAYS(noam)
REPLAYS(adadelta)
REPLAYS(adafactor)
REPLAYS(adamax)
REPLAYS(asgd)
REPLAYS(muon)
REPLAYS(nadam)
REPLAYS(rprop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_steps),
        cmocka_unit_test(adam_steps),
        cmocka_unit_test(adamw_steps),
        cmocka_unit_test(radam_steps),
        cmocka_unit_test(rmsprop_steps),
        cmocka_unit_test(adagrad_steps),
        cmocka_unit_test(noam_steps),
        cmocka_unit_test(adadelta_steps),
        cmocka_unit_test(adafactor_steps),
        cmocka_unit_test(adamax_steps),
        cmocka_unit_test(asgd_steps),
        cmocka_unit_test(muon_steps),
        cmocka_unit_test(nadam_steps),
        cmocka_unit_test(rprop_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
