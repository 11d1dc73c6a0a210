/* Plans and refused memory: a call of the function, its capture or its taking into use may fail at
 * every request. Afterwards a run has the bits of an ordinary call again.
 *
 * The function is a training step with everything that a capture follows: parameters that are
 * updated, running statistics, a hidden state that each call replaces, random numbers, values that
 * the host writes, and values that the host reads.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "errors.h"

enum { ROWS = 6, FEATURES = 5, WIDTH = 8, CLASSES = 3, MOST_TENSORS = 16, MOST_ELEMENTS = 64 };

/* A trained network, and the state that each of its runs starts from. */
typedef struct trainee {
    adz_generator *generator; /* of the dropout */
    adz_module *model;
    adz_optimizer *optimizer;
    adz_tensor *x, *target;
    adz_tensor *divisors;                                    /* never changes */
    char first[MOST_TENSORS][MOST_ELEMENTS * sizeof(float)]; /* of the model's tensors */
    bool ended; /* the last call of `step` came to its end */
} trainee;

/* y = x + sum, and the new sum is y / 2. */
static adz_tensor *memory_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *y = adz_add(x, adz_module_buffer_at(self, 0));
    adz_tensor *sum = adz_mul_number(adz_detach(y), 0.5);
    return adz_module_set_buffer(self, "sum", sum) != NULL ? y : NULL;
}

static const adz_module_type memory_type = {
    .size = sizeof(adz_module_type), .name = "Memory", .forward = memory_forward
};

static adz_module *memory_new(void)
{
    adz_module *self = adz_module_new(&memory_type, 0);
    adz_tensor *sum = adz_zeros(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32);
    if (adz_module_add_buffer(self, "sum", sum, true) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

static size_t bytes_of(const adz_tensor *t)
{
    return (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
}

/* Writes the state that every run starts from, or takes the present one for it. */
static void restore(trainee *t, bool take)
{
    adz_state_dict *state = adz_module_state_dict(t->model);
    assert_true(adz_state_dict_count(state) <= MOST_TENSORS);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        adz_tensor *tensor = adz_state_dict_at(state, i);
        assert_true(bytes_of(tensor) <= sizeof t->first[i]);
        memcpy(take ? (void *)t->first[i] : adz_tensor_data(tensor),
            take ? adz_tensor_data(tensor) : (void *)t->first[i], bytes_of(tensor));
    }
    adz_state_dict_free(&state);
    adz_generator_set_state(t->generator, (adz_generator_state){ .seed = 3 });
    adz_optimizer_zero_grad(t->optimizer); /* a call that failed has left gradients */
}

static trainee begin(void)
{
    trainee t = { .generator = adz_generator_new(3) };
    adz_scope *scope = adz_scope_open();
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    adz_sgd_options sgd = ADZ_SGD_OPTIONS;
    dropout.generator = t.generator;
    sgd.weight_decay = 0.1;
    adz_manual_seed(5);
    t.model = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, WIDTH, NULL),
        adz_batch_norm1d_new(WIDTH, NULL), memory_new(), adz_dropout_new(0.3, &dropout));
    t.optimizer = adz_sgd_new(adz_module_parameters(t.model), 0.1, &sgd);
    t.x = adz_keep(adz_zeros(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    t.target = adz_keep(adz_zeros(ADZ_SHAPE(ROWS), ADZ_I64));
    t.divisors = adz_keep(adz_arange(1, WIDTH + 1, 1, ADZ_F32));
    assert_non_null(t.optimizer);
    assert_non_null(t.divisors);
    adz_scope_close(scope);
    restore(&t, true);
    return t;
}

static void end(trainee *t)
{
    adz_release(&t->x);
    adz_release(&t->target);
    adz_release(&t->divisors);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->model);
    adz_generator_free(&t->generator);
}

/* Factors that the host computes while the function is captured. */
static adz_tensor *factors(const adz_tensor *divisors)
{
    adz_tensor *f = adz_empty(ADZ_SHAPE(WIDTH), ADZ_F32);
    const float *seen = adz_tensor_data_constant(divisors);
    float *data = adz_tensor_data_f32(f);
    for (int i = 0; data != NULL && i < WIDTH; ++i) {
        data[i] = 1 / seen[i];
    }
    return f;
}

static adz_tensor *step(void *user)
{
    trainee *t = user;
    t->ended = false;
    adz_tensor *h = adz_module_forward(t->model, t->x);
    h = adz_mul(h, factors(t->divisors));
    h = adz_adaptive_avg_pool1d(adz_unsqueeze(h, 1), CLASSES); /* windows from a table */
    adz_tensor *loss =
        adz_cross_entropy(adz_reshape(h, ADZ_SHAPE(ROWS, CLASSES)), t->target, ADZ_NONE, NULL);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(t->optimizer) != ADZ_OK ||
        adz_optimizer_zero_grad(t->optimizer) != ADZ_OK) {
        return NULL;
    }
    t->ended = true;
    return loss;
}

/* ---- runs after a refusal -------------------------------------------------------------------- */

static void write_inputs(const trainee *t, int k)
{
    float *x = adz_tensor_data_f32(t->x);
    int64_t *target = adz_tensor_data_i64(t->target);
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        x[i] = (float)sin(1 + i * (k + 1));
    }
    for (int i = 0; i < ROWS; ++i) {
        target[i] = (i + k) % CLASSES;
    }
}

static void prepare(trainee *t, int k)
{
    restore(t, false);
    write_inputs(t, k);
}

/* The loss and the state after run k of a plan have the bits of an ordinary call. */
static void assert_right(trainee *planned, trainee *ordinary, const adz_plan *plan, int k)
{
    adz_scope *scope = adz_scope_open();
    prepare(ordinary, k);
    adz_tensor *loss = step(ordinary);
    assert_non_null(loss);
    assert_true(adz_item(loss) == adz_item(adz_plan_output(plan)));
    adz_state_dict *a = adz_module_state_dict(planned->model);
    adz_state_dict *b = adz_module_state_dict(ordinary->model);
    for (size_t i = 0; i < adz_state_dict_count(b); ++i) {
        adz_tensor *left = adz_state_dict_at(a, i), *right = adz_state_dict_at(b, i);
        if (memcmp(adz_tensor_data(left), adz_tensor_data(right), bytes_of(right)) != 0) {
            fail_msg("run %d: %s differs", k, adz_state_dict_name_at(b, i));
        }
    }
    adz_state_dict_free(&a);
    adz_state_dict_free(&b);
    adz_scope_close(scope);
}

static void run_rightly(trainee *planned, trainee *ordinary, adz_plan *plan, int runs)
{
    for (int k = 0; k < runs; ++k) {
        prepare(planned, k);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_right(planned, ordinary, plan, k);
    }
}

/* Takes the error of a call that was refused memory. */
static void take_refusal(adz_status status)
{
    assert_int_equal(status, ADZ_ERR_MEMORY);
    expect_error(ADZ_ERR_MEMORY, "");
}

static bool is_captured(const adz_plan *plan)
{
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    return info.captured;
}

/* Refuses request n of the first run, which captures the function. Returns whether there was such a
 * request. */
static bool refuse_in_capture(trainee *planned, trainee *ordinary, int n, int *late)
{
    prepare(planned, 0);
    adz_plan *plan = adz_plan_new(step, planned, NULL);
    assert_non_null(plan);
    prepare(planned, 1);
    adzi_alloc_fail_at(n);
    const adz_status status = adz_plan_run(plan);
    const bool reached = adzi_alloc_failed();
    adzi_alloc_fail_at(0);
    if (status == ADZ_OK) {
        assert_right(planned, ordinary, plan, 1);
    } else {
        take_refusal(status);
        *late += planned->ended; /* the capture or its use was refused, not the step */
        assert_false(is_captured(plan));
    }
    run_rightly(planned, ordinary, plan, 4);
    assert_true(is_captured(plan));
    adz_plan_free(&plan);
    return reached;
}

static void a_capture_that_was_refused_is_made_again(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* else the number of requests of this thread varies */
    trainee planned = begin(), ordinary = begin();
    int n = 1, late = 0;
    int64_t live = 0;
    while (refuse_in_capture(&planned, &ordinary, n, &late)) {
        assert_true(n == 1 || adzi_live_bytes() == live);
        live = adzi_live_bytes();
        ++n;
    }
    assert_true(n > 60 && late > 20);
    end(&planned);
    end(&ordinary);
    adz_set_num_threads(0);
}

static void a_plan_that_was_refused_leaves_nothing(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* else the number of requests of this thread varies */
    trainee t = begin();
    const int64_t live = adzi_live_bytes();
    for (int n = 1;; ++n) {
        prepare(&t, 0);
        adzi_alloc_fail_at(n);
        adz_plan *plan = adz_plan_new(step, &t, NULL);
        const bool reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (plan == NULL) {
            take_refusal(adz_error_code());
        }
        adz_plan_free(&plan);
        adz_optimizer_zero_grad(t.optimizer);
        assert_int_equal(adzi_live_bytes(), live);
        if (!reached) {
            assert_true(n > 60);
            break;
        }
    }
    end(&t);
    adz_set_num_threads(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_that_was_refused_is_made_again),
        cmocka_unit_test(a_plan_that_was_refused_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
