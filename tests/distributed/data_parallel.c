/* Data-parallel training: its bits compared with those of one process, and its errors. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>

#include "../optim/optimizers/cases.h"
#include "adze/data_parallel.h"
#include "adze/plan.h"
#include "base/alloc.h"
#include "distributed/data_parallel.h"

enum { SAMPLES = 29, WIDTH = 5, ROUNDS = 3 };

/* A network with dropout and parameters of several sizes, with or without batch norm. */
static adz_module *new_network(uint64_t seed, adz_dtype dtype, bool norm)
{
    adz_linear_options l = ADZ_LINEAR_OPTIONS;
    adz_batch_norm1d_options b = ADZ_BATCH_NORM1D_OPTIONS;
    l.dtype = b.dtype = dtype;
    adz_manual_seed(seed);
    if (norm) {
        return ADZ_SEQUENTIAL(adz_linear_new(WIDTH, 33, &l), adz_batch_norm1d_new(33, &b),
            adz_dropout_new(0.25, NULL), adz_linear_new(33, 1, &l));
    }
    return ADZ_SEQUENTIAL(adz_linear_new(WIDTH, 33, &l), adz_activation_new(ADZ_ACTIVATION_TANH),
        adz_dropout_new(0.25, NULL), adz_linear_new(33, 17, &l),
        adz_activation_new(ADZ_ACTIVATION_GELU), adz_linear_new(17, 1, &l));
}

static adz_tensor *loss_of(adz_module *net, adz_tensor *x, adz_tensor *y, adz_micro_batch m)
{
    adz_tensor *out = adz_module_forward(net, adz_narrow(x, 0, m.begin, m.count));
    return adz_mse_loss(out, adz_narrow(y, 0, m.begin, m.count), ADZ_REDUCE_MEAN);
}

/* ---- what a run has computed ---------------------------------------------------------------- */

typedef struct result {
    double losses[ROUNDS];
    size_t bytes;
    char *weights; /* all parameters in a row */
} result;

static size_t tensor_bytes(const adz_tensor *t)
{
    return (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
}

/* Parameters and buffers. */
static void take_result(result *r, adz_module *net)
{
    adz_state_dict *state = adz_module_state_dict(net);
    r->bytes = 0;
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        r->bytes += tensor_bytes(adz_state_dict_at(state, i));
    }
    r->weights = malloc(r->bytes);
    size_t at = 0;
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        adz_tensor *t = adz_state_dict_at(state, i);
        adz_tensor_read(t, r->weights + at, tensor_bytes(t));
        at += tensor_bytes(t);
    }
    adz_state_dict_free(&state);
}

static bool equal(const result *a, const result *b)
{
    return a->bytes == b->bytes && memcmp(a->weights, b->weights, a->bytes) == 0 &&
           memcmp(a->losses, b->losses, sizeof a->losses) == 0;
}

/* ---- training ------------------------------------------------------------------------------- */

typedef struct task {
    int micro_batches;
    size_t bucket_bytes;
    adz_dtype dtype;
    bool fast, norm, shard;
    int whole; /* how many steps come first that a plan makes as a whole */
    adz_optimizer *(*make)(adz_tensor_list list); /* NULL: Adam */
    result expected;
    result mine; /* of rank 0 */
} task;

/* ---- whole steps ---------------------------------------------------------------------------- */

typedef struct whole_step {
    adz_module *net;
    adz_optimizer *optimizer;
    adz_tensor *x, *y;
} whole_step;

static adz_tensor *make_whole(void *user)
{
    const whole_step *w = user;
    adz_tensor *loss = loss_of(w->net, w->x, w->y, (adz_micro_batch){ .count = SAMPLES });
    adz_backward(loss);
    adz_clip_grads(adz_module_parameters(w->net), 0.5, 2);
    adz_optimizer_step(w->optimizer);
    adz_optimizer_zero_grad(w->optimizer);
    return loss;
}

static void train_whole(adz_data_parallel *p, whole_step w, int steps, double *losses)
{
    adz_plan *plan = NULL;
    for (int step = 0; step < steps; ++step) {
        adz_micro_batch m;
        const uint64_t offset = adz_generator_get_state(NULL).offset;
        check(adz_data_parallel_begin(p, step, SAMPLES) == ADZ_OK);
        check(adz_data_parallel_next(p, &m) && m.weight == 1);
        if (plan == NULL) {
            plan = adz_plan_new(make_whole, &w, NULL);
        } else {
            check(adz_plan_run(plan) == ADZ_OK);
        }
        check(adz_data_parallel_leave(p) == ADZ_OK);
        check(adz_generator_get_state(NULL).offset == offset);
        losses[step] = adz_item(adz_plan_output(plan));
    }
    adz_plan_info info = { 0 };
    check(steps == 0 || adz_plan_get_info(plan, &info, sizeof info) == ADZ_OK);
    check(info.captured == (steps >= 2));
    adz_plan_free(&plan);
}

static void train(adz_group *group, const task *t, result *r)
{
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *net = new_network(7 + (uint64_t)adz_group_rank(group), t->dtype, t->norm);
    adz_tensor_list list = adz_module_parameters(net);
    adz_optimizer *optimizer = t->make != NULL ? t->make(list) : adz_adam_new(list, 0.01, NULL);
    check(optimizer != NULL);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.micro_batches = t->micro_batches;
    o.bucket_bytes = t->bucket_bytes;
    o.seed = 99;
    o.fast = t->fast;
    adz_data_parallel *p = adz_data_parallel_new(group, net, &o);
    check(p != NULL);
    if (t->shard) {
        check(adz_data_parallel_shard(p, optimizer) == ADZ_OK);
    }
    adz_tensor *x = numbers_of(1, ADZ_SHAPE(SAMPLES, WIDTH), t->dtype);
    adz_tensor *y = numbers_of(2, ADZ_SHAPE(SAMPLES, 1), t->dtype);
    train_whole(p, (whole_step){ net, optimizer, x, y }, t->whole, r->losses);
    for (int step = t->whole; step < ROUNDS; ++step) {
        adz_micro_batch m;
        check(adz_data_parallel_begin(p, step, SAMPLES) == ADZ_OK);
        while (adz_data_parallel_next(p, &m)) {
            check(adz_data_parallel_backward(p, loss_of(net, x, y, m), m.weight) == ADZ_OK);
        }
        check(adz_data_parallel_end(p, &r->losses[step]) == ADZ_OK);
        adz_clip_grad_norm(adz_module_parameters(net), 0.5, 2);
        check(adz_data_parallel_step(p, optimizer) == ADZ_OK);
    }
    adz_data_parallel_free(&p);
    take_result(r, net);
    adz_optimizer_release(&optimizer);
    adz_module_release(&net);
    adz_context_use(before);
    adz_context_free(&own);
}

static void train_on_rank(adz_group *group, void *user)
{
    task *t = user;
    result r = { 0 };
    train(group, t, &r);
    if (t->expected.weights != NULL) {
        check(equal(&r, &t->expected));
    }
    if (adz_group_rank(group) == 0 && t->mine.weights == NULL) {
        t->mine = r;
    } else {
        free(r.weights);
    }
}

/* Trains on one rank, then on all numbers of ranks with other buckets and networks. */
static void compare_ranks(task t)
{
    static const size_t buckets[] = { 25 << 20, 1, 700 };
    run_ranks(1, NULL, train_on_rank, &t);
    t.expected = t.mine;
    for (int ranks = 1; ranks <= 8 && ranks <= t.micro_batches; ++ranks) {
        network delays = { .delays = (uint64_t)(3 * ranks + 1), .largest = 333 };
        t.bucket_bytes = buckets[ranks % 3];
        t.shard = ranks % 4 >= 2;
        run_ranks(ranks, ranks % 2 ? &delays : NULL, train_on_rank, &t);
    }
    free(t.mine.weights);
}

static void bits_do_not_depend_on_the_ranks(void **state)
{
    static const int micro_batches[] = { 8, 1, 5, 7, 12 };
    (void)state;
    for (size_t k = 0; k < sizeof micro_batches / sizeof *micro_batches; ++k) {
        compare_ranks((task){ .micro_batches = micro_batches[k],
            .bucket_bytes = 25 << 20,
            .dtype = k == 1 ? ADZ_F64 : ADZ_F32 });
    }
}

static void batch_norm_does_not_depend_on_the_ranks(void **state)
{
    (void)state;
    compare_ranks((task){ .micro_batches = 8, .bucket_bytes = 1, .dtype = ADZ_F32, .norm = true });
    compare_ranks((task){ .micro_batches = 6, .bucket_bytes = 1, .dtype = ADZ_F64, .norm = true });
}

static void whole_steps_have_the_same_bits(void **state)
{
    (void)state;
    task t = { .micro_batches = 1, .bucket_bytes = 25 << 20, .dtype = ADZ_F32 };
    run_ranks(1, NULL, train_on_rank, &t);
    t.expected = t.mine;
    for (t.whole = 1; t.whole <= ROUNDS; ++t.whole) {
        run_ranks(1, NULL, train_on_rank, &t);
    }
    free(t.mine.weights);
}

/* A step that is left leaves generators as they were. With several ranks it has to be ended. */
static void leave_on_rank(adz_group *group, void *user)
{
    (void)user;
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_module *net = new_network(7, ADZ_F32, true);
    adz_data_parallel *p = adz_data_parallel_new(group, net, NULL);
    const bool alone = adz_group_size(group) == 1;
    adz_micro_batch m;
    check(adz_data_parallel_leave(NULL) == ADZ_ERR_NULL);
    adz_error_clear();
    for (int step = 0; step < 2; ++step) { /* the second time between two steps */
        check(adz_data_parallel_leave(p) == (alone ? ADZ_OK : ADZ_ERR_STATE));
        adz_error_clear();
        if (step == 0 && alone) {
            const adz_generator_state drawn = adz_generator_get_state(NULL);
            check(adz_data_parallel_begin(p, 5, SAMPLES) == ADZ_OK);
            check(adz_data_parallel_next(p, &m));
            check(adz_generator_get_state(NULL).seed != drawn.seed);
            check(adz_data_parallel_leave(p) == ADZ_OK);
            check(adz_generator_get_state(NULL).seed == drawn.seed);
            check(adz_generator_get_state(NULL).offset == drawn.offset);
            check(!adz_data_parallel_next(p, &m) && adz_error_code() == ADZ_ERR_STATE);
            adz_error_clear();
        }
    }
    adz_data_parallel_free(&p);
    adz_module_release(&net);
    adz_context_use(before);
    adz_context_free(&own);
}

static void a_step_can_be_left(void **state)
{
    (void)state;
    run_ranks(1, NULL, leave_on_rank, NULL);
    run_ranks(2, NULL, leave_on_rank, NULL);
}

static adz_optimizer *muon(adz_tensor_list parameters)
{
    return muon_of_matrices(parameters, 0.02);
}

/* Undivided optimizers, those among them whose updates depend on all elements of a parameter. */
static void every_optimizer_has_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i <= n_cases; ++i) {
        task t = { .micro_batches = 6, .bucket_bytes = 700, .dtype = i % 2 ? ADZ_F64 : ADZ_F32 };
        t.make = i < n_cases ? cases[i].make : muon;
        run_ranks(1, NULL, train_on_rank, &t);
        t.expected = t.mine;
        run_ranks(2, NULL, train_on_rank, &t);
        run_ranks(3, NULL, train_on_rank, &t);
        free(t.mine.weights);
    }
}

/* ---- compared with one process that adds by hand --------------------------------------------- */

enum { MICRO = 8, MOST = 1024 };

static void copy_gradients(adz_module *net, float *to)
{
    adz_tensor_list list = adz_module_parameters(net);
    for (size_t i = 0; i < list.count; ++i) {
        const int64_t n = adz_tensor_numel(list.items[i]);
        memcpy(to, adz_tensor_data_f32(adz_tensor_grad(list.items[i])), (size_t)n * sizeof *to);
        to += n;
    }
}

/* Eight gradients, each computed alone, without any part of data-parallel training. */
static void gradients_apart(float gradients[MICRO][MOST])
{
    adz_module *net = new_network(7, ADZ_F32, false);
    adz_module_eval(net); /* no dropout: its draws belong to data-parallel training */
    adz_tensor *x = numbers_of(1, ADZ_SHAPE(SAMPLES, WIDTH), ADZ_F32);
    adz_tensor *y = numbers_of(2, ADZ_SHAPE(SAMPLES, 1), ADZ_F32);
    for (int m = 0; m < MICRO; ++m) {
        const int64_t begin = SAMPLES * m / MICRO, count = SAMPLES * (m + 1) / MICRO - begin;
        const adz_micro_batch part = { .begin = begin, .count = count };
        adz_module_zero_grad(net);
        adz_backward(adz_mul_number(loss_of(net, x, y, part), (double)count / SAMPLES));
        copy_gradients(net, gradients[m]);
    }
    adz_module_release(&net);
}

static void compare_with_serial(adz_group *group, void *user)
{
    float(*g)[MOST] = user, sum[MOST];
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *net = new_network(7, ADZ_F32, false);
    adz_module_eval(net);
    adz_data_parallel *p = adz_data_parallel_new(group, net, NULL);
    adz_tensor *x = numbers_of(1, ADZ_SHAPE(SAMPLES, WIDTH), ADZ_F32);
    adz_tensor *y = numbers_of(2, ADZ_SHAPE(SAMPLES, 1), ADZ_F32);
    adz_micro_batch m;
    check(adz_data_parallel_begin(p, 0, SAMPLES) == ADZ_OK);
    while (adz_data_parallel_next(p, &m)) {
        check(adz_data_parallel_backward(p, loss_of(net, x, y, m), m.weight) == ADZ_OK);
    }
    check(adz_data_parallel_end(p, NULL) == ADZ_OK);
    copy_gradients(net, sum);
    const int64_t n = adz_module_numel(net);
    check(n <= MOST);
    for (int64_t i = 0; i < n; ++i) {
        const float a = (g[0][i] + g[1][i]) + (g[2][i] + g[3][i]);
        const float b = (g[4][i] + g[5][i]) + (g[6][i] + g[7][i]);
        check(sum[i] == a + b);
    }
    adz_data_parallel_free(&p);
    adz_module_release(&net);
    adz_context_use(before);
    adz_context_free(&own);
}

static void the_sum_is_that_of_gradients_added_by_hand(void **state)
{
    static float gradients[MICRO][MOST];
    (void)state;
    adz_scope *scope = adz_scope_open();
    gradients_apart(gradients);
    adz_scope_close(scope);
    for (int ranks = 1; ranks <= 8; ++ranks) {
        run_ranks(ranks, NULL, compare_with_serial, gradients);
    }
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Adds the leaves of all ranks as text, so that each addition is seen. */
static void trees_have_one_shape(void **state)
{
    (void)state;
    for (int leaves = 1; leaves <= 70; ++leaves) {
        adzi_tree_node whole[ADZI_TREE_NODES];
        assert_int_equal(adzi_tree_run(whole, 0, leaves, leaves), 1);
        assert_int_equal(whole[0].index, 0);
        for (int first = 0; first < leaves; ++first) {
            for (int n = 1; n <= leaves - first; ++n) {
                adzi_tree_node list[ADZI_TREE_NODES];
                const int count = adzi_tree_run(list, first, n, leaves);
                int next = first;
                for (int i = 0; i < count; ++i) {
                    assert_int_equal(list[i].index << list[i].level, next);
                    next = (list[i].index + 1) << list[i].level;
                }
                assert_true(next >= first + n && (next == first + n || first + n == leaves));
                assert_true(count <= 2 * (int)ceil(log2(leaves)) + 1);
            }
        }
    }
}

const struct CMUnitTest data_parallel_tests[] = {
    cmocka_unit_test(trees_have_one_shape),
    cmocka_unit_test(the_sum_is_that_of_gradients_added_by_hand),
    cmocka_unit_test(bits_do_not_depend_on_the_ranks),
    cmocka_unit_test(batch_norm_does_not_depend_on_the_ranks),
    cmocka_unit_test(whole_steps_have_the_same_bits),
    cmocka_unit_test(a_step_can_be_left),
    cmocka_unit_test(every_optimizer_has_the_same_bits),
};
const size_t n_data_parallel_tests = sizeof data_parallel_tests / sizeof *data_parallel_tests;
