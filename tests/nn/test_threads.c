/* Several threads at once: some train a model of their own, others run one shared model. The
 * results have the bits of the work done in one thread. ThreadSanitizer runs this too, with
 * -Dthreads=pool: it checks what docs/threads.md promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "adze/adze.h"

enum {
    TRAINERS = 4,
    READERS = 4,
    ROUNDS = 3,
    STEPS = 24,
    CALLS = 40,
    ROWS = 512,
    FEATURES = 24,
    HIDDEN = 192,
    /* BATCH x HIDDEN numbers are divided among threads, so that the runs compete for the pool. */
    BATCH = 192,
};

/* A training run: its seed and its results. */
typedef struct trainer {
    uint64_t seed;
    float losses[STEPS];
    float weights[HIDDEN * FEATURES + HIDDEN + HIDDEN + 1];
    char error[256]; /* "" if nothing went wrong */
} trainer;

/* A thread that runs the shared model, and what it read. */
typedef struct reader {
    adz_module *model;
    adz_tensor *x;
    bool gradient; /* computes the gradient of x instead of y */
    float y[BATCH];
    float dx[BATCH * FEATURES];
    bool same; /* True if every call gave the same bits. */
    char error[256];
} reader;

static pthread_barrier_t start;

/* Takes the error of this thread, so that the main thread can report it. */
static void take_error(char *error, size_t size)
{
    if (adz_error_code() != ADZ_OK) {
        adz_error_take(error, size);
    }
}

/* ---- training -------------------------------------------------------------------------------- */

/* Draws x, and y as a sum of sines of x with noise. */
static adz_dataset *draw_data(adz_generator *generator)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_generator_randn(generator, ADZ_SHAPE(ROWS, FEATURES), ADZ_F32);
    adz_tensor *noise = adz_generator_randn(generator, ADZ_SHAPE(ROWS, 1), ADZ_F32);
    adz_tensor *y =
        adz_add(adz_sum(adz_sin(x), ADZ_DIMS(1), ADZ_KEEPDIM), adz_mul_number(noise, 0.1));
    adz_dataset *data = adz_dataset_new((adz_tensor *[]){ x, y }, 2);
    adz_scope_close(scope);
    return data;
}

static bool train_step(adz_module *model, adz_optimizer *sgd, adz_loader *loader, float *loss_out)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *batch[2];
    if (!adz_loader_next(loader, batch) && !adz_loader_next(loader, batch)) {
        adz_scope_close(scope);
        return false; /* The loader failed: even a new epoch has no batch. */
    }
    adz_tensor *loss = adz_mse_loss(adz_module_forward(model, batch[0]), batch[1], ADZ_REDUCE_MEAN);
    adz_module_zero_grad(model);
    bool good = adz_backward(loss) == ADZ_OK &&
                adz_clip_grad_norm(adz_module_parameters(model), 10, 2) >= 0 &&
                adz_optimizer_step(sgd) == ADZ_OK;
    *loss_out = good ? (float)adz_item(loss) : 0;
    adz_scope_close(scope);
    return good;
}

static void read_weights(adz_module *model, float *into)
{
    adz_tensor_list list = adz_module_parameters(model);
    for (size_t i = 0; i < list.count; ++i) {
        size_t n = (size_t)adz_tensor_numel(list.items[i]);
        adz_tensor_read(list.items[i], into, n * sizeof *into);
        into += n;
    }
}

/* Runs a training in a context of its own; the default generator of the context draws the
 * weights. */
static void train(trainer *t)
{
    adz_context *context = adz_context_new();
    adz_context *before = adz_context_use(context);
    adz_manual_seed(t->seed);
    adz_set_num_threads(3);
    adz_generator *generator = adz_generator_new(t->seed + 1);
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = generator;
    adz_module *model =
        ADZ_SEQUENTIAL(adz_linear_new(FEATURES, HIDDEN, NULL), adz_gelu_new(ADZ_GELU_NONE),
            adz_dropout_new(0.1, &dropout), adz_linear_new(HIDDEN, 1, NULL));
    adz_sgd_options momentum = ADZ_SGD_OPTIONS;
    momentum.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.01, &momentum);
    adz_scheduler *schedule = adz_exponential_lr_new(sgd, 0.98);
    adz_dataset *data = draw_data(generator);
    adz_loader_options options = ADZ_LOADER_OPTIONS;
    options.batch_size = BATCH;
    options.shuffle = true;
    options.generator = generator;
    adz_loader *loader = adz_loader_new(data, &options);

    for (int i = 0; i < STEPS && train_step(model, sgd, loader, &t->losses[i]); ++i) {
        adz_scheduler_step(schedule);
    }
    read_weights(model, t->weights);
    take_error(t->error, sizeof t->error);

    adz_loader_free(&loader);
    adz_dataset_release(&data);
    adz_scheduler_release(&schedule);
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    adz_generator_free(&generator);
    adz_context_use(before);
    adz_context_free(&context);
}

static void *train_beside_others(void *user)
{
    pthread_barrier_wait(&start);
    train(user);
    return NULL;
}

/* ---- reading one shared model ---------------------------------------------------------------- */

static adz_module *shared_model_new(void)
{
    adz_feed_forward_options options = ADZ_FEED_FORWARD_OPTIONS;
    options.activation = ADZ_ACTIVATION_SILU;
    options.is_gated = true;
    adz_module *model = ADZ_SEQUENTIAL(
        adz_feed_forward_new(FEATURES, HIDDEN, &options), adz_linear_new(FEATURES, 1, NULL));
    adz_module_eval(model);
    return model;
}

/* Calls the model once. The first call fills y and dx; later calls are compared with it. */
static bool read_once(reader *r, bool first)
{
    float y[BATCH], dx[BATCH * FEATURES];
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_keep(r->x); /* All readers change its reference count at once. */
    if (r->gradient) {
        adz_tensor *own = adz_requires_grad_(adz_clone(x), true), *gradient = NULL;
        adz_tensor *out = adz_module_forward(r->model, own);
        adz_tensor *total = adz_sum(out, ADZ_ALL_DIMS, ADZ_DROPDIM);
        adz_autograd_grad(&total, NULL, 1, &own, 1, NULL, &gradient);
        adz_tensor_read(out, y, sizeof y);
        adz_tensor_read(gradient, dx, sizeof dx);
    } else {
        ADZ_NO_GRAD
        {
            adz_tensor_read(adz_module_forward(r->model, x), y, sizeof y);
        }
        memset(dx, 0, sizeof dx);
    }
    adz_release(&x);
    adz_scope_close(scope);
    if (adz_error_code() != ADZ_OK) {
        return false;
    }
    if (first) {
        memcpy(r->y, y, sizeof y);
        memcpy(r->dx, dx, sizeof dx);
    }
    return memcmp(r->y, y, sizeof y) == 0 && memcmp(r->dx, dx, sizeof dx) == 0;
}

static void read_model(reader *r)
{
    r->same = true;
    for (int i = 0; i < CALLS; ++i) {
        adz_memory_info info;
        adz_get_memory_info(&info, sizeof info);
        r->same = read_once(r, i == 0) && info.live_tensors > 0 && r->same;
        if (i % 8 == 7) {
            adz_empty_cache(); /* Other threads take from the cache meanwhile. */
        }
    }
    take_error(r->error, sizeof r->error);
}

static void *read_beside_others(void *user)
{
    pthread_barrier_wait(&start);
    read_model(user);
    return NULL;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static size_t live_tensors(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_tensors;
}

static void expect_same_training(const trainer *alone, const trainer *beside)
{
    assert_string_equal(beside->error, "");
    assert_memory_equal(alone->losses, beside->losses, sizeof alone->losses);
    assert_memory_equal(alone->weights, beside->weights, sizeof alone->weights);
}

static void expect_same_reading(const reader *alone, const reader *beside)
{
    assert_string_equal(beside->error, "");
    assert_true(beside->same);
    assert_memory_equal(alone->y, beside->y, sizeof alone->y);
    assert_memory_equal(alone->dx, beside->dx, sizeof alone->dx);
}

/* What each run gives in a thread of its own, and what it gives while the others run. */
static trainer trained_alone[TRAINERS], trainers[TRAINERS];
static reader read_alone[READERS], readers[READERS];

static void train_and_read_alone(adz_module *model, adz_tensor *x)
{
    for (int i = 0; i < TRAINERS; ++i) {
        trained_alone[i] = (trainer){ .seed = 100 + 10 * (uint64_t)i };
        train(&trained_alone[i]);
        assert_string_equal(trained_alone[i].error, "");
        assert_true(trained_alone[i].losses[STEPS - 1] < trained_alone[i].losses[0]);
        assert_true(i == 0 || trained_alone[i].losses[0] != trained_alone[0].losses[0]);
    }
    for (int i = 0; i < READERS; ++i) { /* The last two compute gradients. */
        read_alone[i] = (reader){ .model = model, .x = x, .gradient = i >= READERS - 2 };
        read_model(&read_alone[i]);
        assert_string_equal(read_alone[i].error, "");
        assert_true(read_alone[i].same);
    }
}

static void train_and_read_side_by_side(adz_module *model, adz_tensor *x)
{
    pthread_t threads[TRAINERS + READERS];
    assert_int_equal(pthread_barrier_init(&start, NULL, TRAINERS + READERS), 0);
    for (int i = 0; i < TRAINERS; ++i) {
        trainers[i] = (trainer){ .seed = trained_alone[i].seed };
        assert_int_equal(pthread_create(&threads[i], NULL, train_beside_others, &trainers[i]), 0);
    }
    for (int i = 0; i < READERS; ++i) {
        readers[i] = (reader){ .model = model, .x = x, .gradient = read_alone[i].gradient };
        assert_int_equal(
            pthread_create(&threads[TRAINERS + i], NULL, read_beside_others, &readers[i]), 0);
    }
    for (int i = 0; i < TRAINERS + READERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pthread_barrier_destroy(&start);
}

static void training_and_inference_side_by_side(void **state)
{
    (void)state;
    size_t live = live_tensors();
    adz_manual_seed(7);
    adz_scope *scope = adz_scope_open();
    adz_module *model = shared_model_new();
    adz_tensor *x = adz_randn(ADZ_SHAPE(BATCH, FEATURES), ADZ_F32);
    train_and_read_alone(model, x);
    for (int round = 0; round < ROUNDS; ++round) {
        train_and_read_side_by_side(model, x);
        for (int i = 0; i < TRAINERS; ++i) {
            expect_same_training(&trained_alone[i], &trainers[i]);
        }
        for (int i = 0; i < READERS; ++i) {
            expect_same_reading(&read_alone[i], &readers[i]);
        }
    }
    adz_module_release(&model);
    adz_scope_close(scope);
    assert_int_equal(live_tensors(), live); /* The root scopes of the threads ended with them. */
}

/* ---- state of each thread -------------------------------------------------------------------- */

typedef struct private_state {
    int number;
    bool right;
} private_state;

static void *own_error_and_modes(void *user)
{
    private_state *p = user;
    char expected[64], message[256];
    snprintf(expected, sizeof expected, "[%d, 3]", p->number);
    p->right = adz_is_grad_enabled() && !adz_is_anomaly_enabled();
    pthread_barrier_wait(&start);
    for (int i = 0; i < 100 && p->right; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_set_grad_enabled(p->number % 2 == 0);
        adz_tensor *a = adz_requires_grad_(adz_ones(ADZ_SHAPE(p->number, 3), ADZ_F32), true);
        adz_tensor *b = adz_mul_number(a, 2);
        p->right = adz_tensor_requires_grad(b) == (p->number % 2 == 0);
        adz_matmul(a, a); /* the shapes do not fit */
        adz_status status = adz_error_take(message, sizeof message);
        p->right = p->right && status == ADZ_ERR_SHAPE && strstr(message, expected) != NULL &&
                   adz_scope_close(scope) == ADZ_OK;
    }
    return NULL;
}

static void errors_and_modes_are_each_threads_own(void **state)
{
    (void)state;
    enum { N = 6 };
    pthread_t threads[N];
    private_state states[N];
    assert_int_equal(pthread_barrier_init(&start, NULL, N), 0);
    for (int i = 0; i < N; ++i) {
        states[i] = (private_state){ .number = 4 + i };
        assert_int_equal(pthread_create(&threads[i], NULL, own_error_and_modes, &states[i]), 0);
    }
    for (int i = 0; i < N; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pthread_barrier_destroy(&start);
    for (int i = 0; i < N; ++i) {
        assert_true(states[i].right);
    }
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(adz_is_grad_enabled());
}

/* ---- a graph of two threads ------------------------------------------------------------------ */

static void *go_on(void *user)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *h = user;
    adz_status status = adz_backward(adz_sum(adz_mul(h, h), ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_scope_close(scope);
    return status == ADZ_OK ? user : NULL;
}

/* Nodes are numbered by each thread. The nodes that the second thread adds must count as newer than
 * those of the first, although it has made none before. */
static void a_graph_may_go_on_in_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *done = NULL;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(4), 3, ADZ_F32), true), *h = x;
    for (int i = 0; i < 20; ++i) {
        h = adz_add_number(h, 1);
    }
    assert_int_equal(pthread_create(&thread, NULL, go_on, h), 0);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    assert_non_null(adz_tensor_grad(x));
    for (int i = 0; i < 4; ++i) {
        assert_float_equal(adz_tensor_data_f32(adz_tensor_grad(x))[i], 46, 0);
    }
    adz_scope_close(scope);
}

/* ---- a tensor that another thread frees ------------------------------------------------------ */

typedef struct hand_over {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    adz_tensor
        *waiting; /* a tensor and a reference for the other thread; NULL after it took them */
    double sum;
} hand_over;

enum { HANDED = 200 };

static void *make_tensors(void *user)
{
    hand_over *h = user;
    for (int i = 0; i < HANDED; ++i) {
        adz_scope *scope = adz_scope_open();
        /* small tensors, and tensors from the shared pool */
        adz_tensor *t = adz_keep(adz_full(ADZ_SHAPE(i % 2 == 0 ? 5 : 5000), i, ADZ_F32));
        adz_scope_close(scope);
        pthread_mutex_lock(&h->lock);
        while (h->waiting != NULL) {
            pthread_cond_wait(&h->changed, &h->lock);
        }
        h->waiting = t;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
    }
    return NULL;
}

static void *end_tensors(void *user)
{
    hand_over *h = user;
    for (int i = 0; i < HANDED; ++i) {
        pthread_mutex_lock(&h->lock);
        while (h->waiting == NULL) {
            pthread_cond_wait(&h->changed, &h->lock);
        }
        adz_tensor *t = h->waiting;
        h->waiting = NULL;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        adz_scope *scope = adz_scope_open();
        h->sum += adz_item(adz_mean(t, ADZ_ALL_DIMS, ADZ_DROPDIM));
        adz_scope_close(scope);
        adz_release(&t);
    }
    return NULL;
}

static void a_tensor_may_end_in_another_thread(void **state)
{
    (void)state;
    size_t live = live_tensors();
    hand_over h = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0 };
    pthread_t maker, ender;
    assert_int_equal(pthread_create(&maker, NULL, make_tensors, &h), 0);
    assert_int_equal(pthread_create(&ender, NULL, end_tensors, &h), 0);
    pthread_join(maker, NULL);
    pthread_join(ender, NULL);
    assert_true(h.sum == HANDED * (HANDED - 1) / 2.0);
    assert_int_equal(live_tensors(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_and_inference_side_by_side),
        cmocka_unit_test(errors_and_modes_are_each_threads_own),
        cmocka_unit_test(a_graph_may_go_on_in_another_thread),
        cmocka_unit_test(a_tensor_may_end_in_another_thread),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
