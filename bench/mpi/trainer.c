#include "adze/zoo.h"
#include "trainer.h"

#include <stdlib.h>

#include "base/error.h"
#include "distributed/data_parallel.h"

enum { W3_FEATURES = 768, W3_HIDDEN = 3072 };

/* ---- models --------------------------------------------------------------------------------- */

static adz_module *new_gpt2(const settings *s)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = s->vocabulary;
    o.n_positions = o.n_ctx = s->context;
    o.n_embd = s->width;
    o.n_layer = s->layers;
    o.n_head = s->heads;
    return adz_gpt2_lm_head_model_new(&o);
}

/* The network of the step W3 of docs/performance.md. */
static adz_module *new_w3(void)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.activation = ADZ_ACTIVATION_GELU;
    return adz_feed_forward_new(W3_FEATURES, W3_HIDDEN, &o);
}

/* Token numbers, or rows of normal values for W3. */
static adz_tensor *new_data(const settings *s, int64_t rows, int64_t shift)
{
    if (s->model == W3) {
        return adz_keep(adz_randn(ADZ_SHAPE(rows, W3_FEATURES), ADZ_F32));
    }
    adz_tensor *ids = adz_empty(ADZ_SHAPE(rows, s->context), ADZ_I64);
    int64_t *to = adz_tensor_data_i64(ids);
    for (int64_t i = 0; i < rows * s->context; ++i) {
        to[i] = (i + shift) * (i + shift) * 7 % s->vocabulary;
    }
    return adz_keep(ids);
}

static adz_tensor *loss_of(const trainer *t, adz_tensor *x, adz_tensor *y)
{
    if (t->s->model == W3) {
        return adz_mse_loss(adz_module_forward(t->module, x), y, ADZ_REDUCE_MEAN);
    }
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", x);
    adz_values_add(in, "lm_labels", y);
    adz_module_call(t->module, in, out);
    adz_tensor *loss = adz_values_get(out, "loss");
    adz_values_free(&in);
    adz_values_free(&out);
    return loss;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

/* Runs after the library's own hook, which starts a bucket when its last gradient is complete. */
static adz_status note_first_bucket(adz_tensor *leaf, void *user)
{
    trainer *t = user;
    (void)leaf;
    if (t->last && t->first_bucket == 0 && t->parallel->sender.n_started > 0) {
        t->first_bucket = now();
    }
    return ADZ_OK;
}

void trainer_begin(
    trainer *t, const settings *s, adz_group *group, int64_t rows, int64_t micro_batches)
{
    adz_manual_seed(1);
    *t = (trainer){ .s = s, .group = group, .rows = rows, .micro_batches = micro_batches };
    t->module = s->model == W3 ? new_w3() : new_gpt2(s);
    t->x = new_data(s, rows, 0);
    t->y = new_data(s, rows, 1);
    if (group == NULL) {
        return;
    }
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.micro_batches = (int)micro_batches;
    o.bucket_bytes = (size_t)s->bucket;
    o.fast = s->fast;
    t->parallel = adz_data_parallel_new(group, t->module, &o);
    const adz_tensor_list all = adz_module_parameters(t->module);
    for (size_t i = 0; i < all.count; ++i) {
        adz_register_post_accumulate_grad_hook(all.items[i], note_first_bucket, t);
    }
}

void trainer_add_optimizer(trainer *t)
{
    const adz_tensor_list all = adz_module_parameters(t->module);
    t->optimizer =
        t->s->optimizer == SGD ? adz_sgd_new(all, 1e-3, NULL) : adz_adamw_new(all, 1e-4, NULL);
    if (t->s->shard && t->parallel != NULL) {
        adz_data_parallel_shard(t->parallel, t->optimizer);
    }
}

void trainer_end(trainer *t)
{
    adz_data_parallel_free(&t->parallel);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->module);
    adz_release(&t->x);
    adz_release(&t->y);
}

/* ---- a step --------------------------------------------------------------------------------- */

static adz_tensor *loss_of_rows(const trainer *t, int64_t begin, int64_t count)
{
    return loss_of(t, adz_narrow(t->x, 0, begin, count), adz_narrow(t->y, 0, begin, count));
}

/* The loop that a program without data-parallel training has. */
static void add_up_gradients(trainer *t)
{
    adz_module_zero_grad(t->module);
    for (int k = 0; k < t->micro_batches; ++k) {
        adz_scope *scope = adz_scope_open();
        const int64_t begin = adz_loader_cut(t->rows, (int)t->micro_batches, k);
        const int64_t count = adz_loader_cut(t->rows, (int)t->micro_batches, k + 1) - begin;
        adz_tensor *loss = loss_of_rows(t, begin, count);
        adz_backward(adz_mul_number(loss, (double)count / (double)t->rows));
        adz_scope_close(scope);
    }
}

static void sum_over_ranks(trainer *t)
{
    adz_micro_batch m;
    double loss;
    adz_data_parallel_begin(t->parallel, t->steps, t->rows);
    while (adz_data_parallel_next(t->parallel, &m)) {
        adz_scope *scope = adz_scope_open();
        t->last = m.index + 1 == t->parallel->first + t->parallel->count;
        adz_data_parallel_backward(t->parallel, loss_of_rows(t, m.begin, m.count), m.weight);
        adz_scope_close(scope);
    }
    t->last = false;
    adz_data_parallel_end(t->parallel, &loss);
}

times trainer_gradients(trainer *t)
{
    t->first_bucket = 0;
    const double start = now();
    if (t->parallel == NULL) {
        add_up_gradients(t);
    } else {
        sum_over_ranks(t);
    }
    ++t->steps;
    return (times){ .gradients = now() - start,
        .first = t->first_bucket > 0 ? t->first_bucket - start : 0 };
}

times trainer_step(trainer *t)
{
    times all = trainer_gradients(t);
    const double start = now();
    if (t->parallel == NULL) {
        adz_optimizer_step(t->optimizer);
    } else {
        adz_data_parallel_step(t->parallel, t->optimizer);
    }
    all.optimizer = now() - start;
    return all;
}

/* A rank that fails before its first micro-batch owes the others its messages, and sends buckets
 * whose contents have no meaning. That path is all-reduce of the gradients and nothing else. */
double trainer_send(trainer *t)
{
    const double start = now();
    t->parallel->sender.has_begun = false;
    adzi_sender_begin_late(t->parallel);
    adzi_sender_finish("bench-parallel", t->parallel);
    t->parallel->sender.has_begun = false;
    return now() - start;
}

int64_t trainer_gradient_bytes(const trainer *t)
{
    return 4 * adz_module_numel(t->module);
}
