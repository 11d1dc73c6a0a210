/* Data-parallel training of text models: tied weights, values carried from call to call, and the
 * fast mode. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>

#include "adze/data_parallel.h"
#include "adze/zoo.h"
#include "distributed/data_parallel.h"

enum { TOKENS = 11, TIME = 4, ROWS = 9, STEPS = 3, MOST = 20000 };
enum { GPT2, AWD_LSTM, QRNN, TRANSFORMER_XL, KINDS };

static adz_module *new_model(int kind)
{
    adz_manual_seed(17);
    if (kind == GPT2) {
        adz_gpt2_options o = ADZ_GPT2_OPTIONS;
        o.vocab_size = TOKENS;
        o.n_positions = o.n_ctx = TIME;
        o.n_embd = 8;
        o.n_layer = 2;
        o.n_head = 2;
        o.embd_pdrop = 0.2;
        return adz_gpt2_lm_head_model_new(&o); /* the embedding is the output's weight, too */
    }
    if (kind == TRANSFORMER_XL) {
        adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_XL_OPTIONS;
        o.n_layers = 2;
        o.n_heads = 2;
        o.d_model = 8;
        o.d_inner = 6;
        o.mem_len = 4;
        return adz_fastai_transformer_xl_new(TOKENS, &o);
    }
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    o.qrnn = kind == QRNN;
    return adz_fastai_awd_lstm_new(TOKENS, 5, 6, 2, &o);
}

/* Row r of a step: every stream goes on where it was. */
static adz_tensor *tokens(adz_micro_batch m, int step)
{
    int64_t ids[ROWS * TIME];
    for (int64_t i = 0; i < m.count * TIME; ++i) {
        const int64_t row = m.begin + i / TIME, at = step * TIME + i % TIME;
        ids[i] = (row * row + 3 * at + at * at * (row + 1)) % TOKENS;
    }
    return adz_tensor_from(ids, ADZ_SHAPE(m.count, TIME), ADZ_I64);
}

typedef struct task {
    int kind;
    bool fast, holds; /* holds: no_sync in all steps but the last */
    float expected[MOST];
    int64_t n;   /* 0 until the first run */
    float bound; /* of the difference, divided by 1 plus the largest */
} task;

static int64_t copy_parameters(adz_module *model, float *to)
{
    adz_tensor_list list = adz_module_parameters(model);
    int64_t n = 0;
    for (size_t i = 0; i < list.count; ++i) {
        const int64_t count = adz_tensor_numel(list.items[i]);
        check(n + count <= MOST);
        adz_tensor_read(list.items[i], to + n, (size_t)count * sizeof *to);
        n += count;
    }
    return n;
}

static void train(const task *t, adz_data_parallel *p, adz_module *model)
{
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
    for (int step = 0; step < STEPS; ++step) {
        adz_micro_batch m;
        if (t->holds) {
            check(adz_data_parallel_no_sync(p, step + 1 < STEPS) == ADZ_OK);
        }
        check(adz_data_parallel_begin(p, step, ROWS) == ADZ_OK);
        while (adz_data_parallel_next(p, &m)) {
            adz_tensor *y = adz_module_forward(model, tokens(m, step));
            adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
            check(adz_data_parallel_backward(p, loss, m.weight) == ADZ_OK);
        }
        check(adz_data_parallel_end(p, NULL) == ADZ_OK);
        if (!t->holds || step + 1 == STEPS) {
            check(adz_data_parallel_step(p, sgd) == ADZ_OK);
        }
    }
    adz_optimizer_release(&sgd);
}

static void train_on_rank(adz_group *group, void *user)
{
    task *t = user;
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *model = new_model(t->kind);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.bucket_bytes = 500;
    o.fast = t->fast;
    adz_data_parallel *p = adz_data_parallel_new(group, model, &o);
    check(p != NULL);
    train(t, p, model);
    float *mine = malloc(MOST * sizeof *mine);
    const int64_t n = copy_parameters(model, mine);
    for (int64_t i = 0; i < n && t->n > 0; ++i) {
        check(fabsf(mine[i] - t->expected[i]) <= t->bound * (1 + fabsf(t->expected[i])));
    }
    if (t->n == 0) {
        memcpy(t->expected, mine, (size_t)n * sizeof *mine);
        t->n = n;
    }
    free(mine);
    adz_data_parallel_free(&p);
    adz_module_release(&model);
    adz_context_use(before);
    adz_context_free(&own);
}

static void text_models_do_not_depend_on_the_ranks(void **state)
{
    (void)state;
    task *t = malloc(sizeof *t);
    for (int kind = 0; kind < KINDS; ++kind) {
        t->kind = kind;
        t->fast = t->holds = false;
        t->n = 0;
        t->bound = 0;
        for (int ranks = 1; ranks <= 8; ++ranks) {
            run_ranks(ranks, NULL, train_on_rank, t);
        }
    }
    free(t);
}

/* To rounding, the fast mode gives what the default gives. */
static void the_fast_mode_is_equal_to_rounding(void **state)
{
    (void)state;
    task *t = malloc(sizeof *t);
    for (int holds = 0; holds < 2; ++holds) {
        t->kind = GPT2;
        t->n = 0;
        t->bound = 1e-5f;
        for (int ranks = 1; ranks <= 8; ++ranks) {
            t->fast = ranks > 1 || holds;
            t->holds = holds;
            run_ranks(ranks, NULL, train_on_rank, t);
        }
    }
    free(t);
}

/* Gradients that were held back are part of the sum. */
static void hold(adz_group *group, void *user)
{
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *model = adz_linear_new(2, 1, NULL);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    (void)user;
    adz_data_parallel *p = adz_data_parallel_new(group, model, NULL);
    check(adz_data_parallel_no_sync(p, true) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "it needs the option `fast`");
    adz_data_parallel_free(&p);
    o.fast = true;
    p = adz_data_parallel_new(group, model, &o);
    for (int step = 0; step < 4; ++step) {
        adz_micro_batch m;
        check(adz_data_parallel_no_sync(p, step != 2 && step != 3) == ADZ_OK);
        check(adz_data_parallel_begin(p, step, 8) == ADZ_OK);
        check(adz_data_parallel_no_sync(p, false) == ADZ_ERR_STATE);
        check_error(ADZ_ERR_STATE, "a step has begun");
        while (adz_data_parallel_next(p, &m)) {
            adz_tensor *x = adz_full(ADZ_SHAPE(1, 2), 1 << m.index, ADZ_F32);
            adz_data_parallel_backward(
                p, adz_sum(adz_module_forward(model, x), ADZ_ALL_DIMS, ADZ_DROPDIM), 1);
        }
        check(adz_data_parallel_end(p, NULL) == ADZ_OK);
        if (step >= 2) { /* 1 + 2 + 4 + ... + 128 in each of three steps, then in one */
            adz_tensor *grad = adz_tensor_grad(adz_module_get_parameter(model, "weight"));
            check(adz_tensor_at(grad, (int64_t[]){ 0, 1 }) == (step == 2 ? 3 * 255 : 255));
        }
    }
    adz_data_parallel_free(&p);
    adz_module_release(&model);
    adz_context_use(before);
    adz_context_free(&own);
}

static void gradients_are_held_back(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ++ranks) {
        run_ranks(ranks, NULL, hold, NULL);
    }
}

/* A model whose first child is called last: its gradients are complete first. */
static void call_backwards(adz_group *group, void *user)
{
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    adz_set_num_threads(1);
    adz_module *last = adz_linear_new(3, 3, NULL), *first = adz_linear_new(3, 3, NULL);
    adz_module *model = ADZ_SEQUENTIAL(last, first);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    (void)user;
    o.bucket_bytes = 1; /* one for each parameter */
    adz_data_parallel *p = adz_data_parallel_new(group, model, &o);
    check(p->sender.n_buckets == 4 && p->sender.buckets[0].begin > p->sender.buckets[3].begin);
    for (int step = 0; step < 3; ++step) {
        adz_micro_batch m;
        check(adz_data_parallel_begin(p, step, 8) == ADZ_OK);
        while (adz_data_parallel_next(p, &m)) {
            adz_tensor *x = adz_ones(ADZ_SHAPE(1, 3), ADZ_F32);
            adz_tensor *y = adz_module_forward(last, adz_module_forward(first, x));
            adz_data_parallel_backward(p, adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM), m.weight);
        }
        check(adz_data_parallel_end(p, NULL) == ADZ_OK);
        /* The sum of eight equal gradients with weight 1/8 is each of them. */
        check(adz_item(adz_select(adz_tensor_grad(adz_module_get_parameter(last, "bias")), 0, 2)) ==
              1);
        const adz_flat_slice bias = adz_flat_parameters_slice_at(p->flat, 1);
        const adzi_bucket *b = p->sender.buckets;
        check(b[0].begin <= bias.offset && b[1].begin <= bias.offset);
        check(b[2].begin > bias.offset && b[3].begin > bias.offset);
    }
    adz_data_parallel_free(&p);
    adz_module_release(&model);
    adz_context_use(before);
    adz_context_free(&own);
}

static void buckets_follow_the_first_backward(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ++ranks) {
        run_ranks(ranks, NULL, call_backwards, NULL);
    }
}

const struct CMUnitTest parallel_models_tests[] = {
    cmocka_unit_test(text_models_do_not_depend_on_the_ranks),
    cmocka_unit_test(the_fast_mode_is_equal_to_rounding),
    cmocka_unit_test(gradients_are_held_back),
    cmocka_unit_test(buckets_follow_the_first_backward),
};
const size_t n_parallel_models_tests = sizeof parallel_models_tests / sizeof *parallel_models_tests;
