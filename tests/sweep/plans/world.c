/* The trainings and forwards around the calls. Two of them that were begun alike compute the same
 * bits, so one is run by a plan and the other one by ordinary calls. */
#include <math.h>
#include <string.h>

#include "adze/zoo.h"
#include "addresses.h"
#include "plans.h"

const char *const world_names[WORLD_KINDS] = { "training", "forward",
    "training with flat parameters", "training of AWD-LSTM", "forward of AWD-LSTM",
    "training of QRNN", "forward of QRNN" };
const char *const variant_names[VARIANTS] = { "other objects", "computed tensors", "its parameter",
    "its input", "its gradient or buffer" };

enum { ROWS = 3, COLUMNS = 3, TOKENS = 5 };

bool is_training(world_kind which)
{
    return which != MLP_FORWARD && which != AWD_FORWARD && which != QRNN_FORWARD;
}

static bool has_tokens(world_kind which)
{
    return which >= AWD_TRAINING;
}

static adz_module *mlp_new(adz_generator *generator)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = generator;
    return ADZ_SEQUENTIAL(adz_linear_new(COLUMNS, 3, NULL), adz_batch_norm1d_new(3, NULL),
        adz_relu_new(), adz_dropout_new(0.3, &o));
}

static adz_module *awd_new(bool qrnn)
{
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    o.qrnn = qrnn;
    return adz_fastai_awd_lstm_new(TOKENS, 3, 3, 1, &o);
}

void world_begin(world *w, const example *e)
{
    *w = (world){ .e = e };
    adz_manual_seed(5);
    w->scope = adz_scope_open();
    w->generator = adz_generator_new(3);
    w->model = has_tokens(e->kind) ? awd_new(e->kind >= QRNN_TRAINING) : mlp_new(w->generator);
    w->head = adz_linear_new(3, 1, NULL);
    adz_tensor_list parameters = adz_module_parameters(w->model);
    w->flat = e->kind == FLAT_TRAINING ? adz_flat_parameters_new(parameters) : NULL;
    w->optimizer = adz_adam_new(parameters, 0.01, NULL);
    w->scheduler = adz_exponential_lr_new(w->optimizer, 0.9);
    w->x = has_tokens(e->kind) ? adz_zeros(ADZ_SHAPE(ROWS, COLUMNS), ADZ_I64)
                               : adz_zeros(ADZ_SHAPE(ROWS, COLUMNS), ADZ_F32);
    w->y = has_tokens(e->kind) ? adz_ones(ADZ_SHAPE(ROWS, COLUMNS, 1), ADZ_F32)
                               : adz_ones(ADZ_SHAPE(ROWS, 1), ADZ_F32);
    if (!is_fresh(e->f)) { /* making them later would make the plan again */
        arguments_make(w);
    }
}

void world_end(world *w)
{
    arguments_end(w);
    adz_error_clear();
    adz_scheduler_release(&w->scheduler);
    adz_optimizer_release(&w->optimizer);
    adz_flat_parameters_free(&w->flat);
    adz_module_release(&w->model);
    adz_module_release(&w->head);
    adz_scope_close(w->scope);
    adz_generator_free(&w->generator);
    adz_error_clear();
}

void world_inputs(world *w, int k)
{
    int64_t ids[ROWS * COLUMNS];
    float numbers[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        ids[i] = (i * 3 + k * 2) % TOKENS;
        numbers[i] = (float)sin(1 + i * (k + 1));
    }
    const bool tokens = has_tokens(w->e->kind);
    adz_tensor_write(
        w->x, tokens ? (const void *)ids : numbers, tokens ? sizeof ids : sizeof numbers);
    arguments_write(w, k);
    adz_error_clear();
}

static adz_tensor *hidden(world *w)
{
    if (!has_tokens(w->e->kind)) {
        return adz_module_forward(w->model, w->x);
    }
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, NULL, w->x);
    adz_tensor *h = adz_module_call(w->model, in, out) == ADZ_OK ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return h;
}

adz_tensor *world_step(void *user)
{
    world *w = user;
    addresses_look();
    adz_tensor *loss = adz_mse_loss(adz_module_forward(w->head, hidden(w)), w->y, ADZ_REDUCE_MEAN);
    const bool training = is_training(w->e->kind);
    if (loss == NULL || (training && adz_backward(loss) != ADZ_OK)) {
        return NULL;
    }
    adz_tensor *output = adz_detach(loss);
    if (w->e->inside) {
        output = call_inside(w, output);
    }
    if (output == NULL || !training) {
        return output;
    }
    if (adz_optimizer_step(w->optimizer) != ADZ_OK || adz_scheduler_step(w->scheduler) != ADZ_OK ||
        adz_optimizer_zero_grad(w->optimizer) != ADZ_OK) {
        return NULL;
    }
    return output;
}

static uint64_t digest_mode(uint64_t digest)
{
    const int modes[] = { adz_is_grad_enabled(), adz_is_deterministic(), adz_is_recomputing(),
        adz_get_num_threads(), (int)adz_get_matmul_precision(), (int)adz_get_gemm_backend(),
        adz_is_debug(), adz_is_anomaly_enabled() };
    return digest_bytes(digest, modes, sizeof modes);
}

uint64_t world_digest(world *w, adz_tensor *output)
{
    adz_scope *scope = adz_scope_open();
    uint64_t digest = digest_mode(digest_tensor(1, output));
    digest = digest_module(digest_module(digest, w->model), w->head);
    const adz_generator_state states[] = { adz_generator_get_state(w->generator),
        adz_generator_get_state(NULL) };
    digest = digest_bytes(digest, states, sizeof states);
    const double settings[] = { adz_optimizer_get(w->optimizer, 0, "lr"),
        adz_optimizer_get(w->optimizer, 0, "weight_decay"),
        adz_scheduler_last_lr(w->scheduler, 0) };
    digest = digest_bytes(digest, settings, sizeof settings);
    digest = arguments_digest(w, digest);
    adz_scope_close(scope);
    return digest;
}
