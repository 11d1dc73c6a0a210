/* The training loop of one network, with early stopping and interrupts. */
#define _GNU_SOURCE
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"

/* ---- Ctrl-C --------------------------------------------------------------------------------- */

static bool go_on(int64_t batch, int64_t batches, void *user)
{
    (void)batch;
    (void)batches;
    (void)user;
    return !is_interrupted();
}

/* ---- numbers -------------------------------------------------------------------------------- */

void fit_standardizers(const model *m, const problem *p)
{
    adz_scope *scope = adz_scope_open();
    adz_standardizer_fit(input_standardizer(m), adz_dataset_tensor(p->train, 0));
    adz_standardizer_fit(target_standardizer(m), adz_dataset_tensor(p->train, 1));
    adz_scope_close(scope);
}

double rmse_of(const model *m, adz_dataset *rows)
{
    if (adz_dataset_size(rows) == 0) {
        return NAN;
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = predict(m, adz_dataset_tensor(rows, 0));
    double error = adz_item(adz_mse_loss(y, adz_dataset_tensor(rows, 1), ADZ_REDUCE_MEAN));
    adz_scope_close(scope);
    return sqrt(error);
}

/* The training rows as the network sees them: standardised, in f32. */
static adz_dataset *standardized(const model *m, const problem *p)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_module_forward(input_standardizer(m), adz_dataset_tensor(p->train, 0));
    adz_tensor *y = adz_module_forward(target_standardizer(m), adz_dataset_tensor(p->train, 1));
    adz_tensor *both[] = { adz_to(x, ADZ_F32), adz_to(y, ADZ_F32) };
    adz_dataset *rows = adz_dataset_new(both, 2);
    adz_scope_close(scope);
    return rows;
}

/* ---- optimizer and schedule ----------------------------------------------------------------- */

static adz_scheduler *make_scheduler(const options *o, adz_optimizer *sgd)
{
    switch (o->schedule) {
    case SCHEDULE_COSINE:
        return adz_cosine_annealing_lr_new(sgd, o->epochs, 0);
    case SCHEDULE_STEP: /* the rate is divided by 10 after each third of the epochs */
        return adz_step_lr_new(sgd, o->epochs / 3 + 1, 0.1);
    case SCHEDULE_EXPONENTIAL: /* the rate falls to a hundredth */
        return adz_exponential_lr_new(sgd, pow(0.01, 1 / (double)o->epochs));
    default:
        return NULL;
    }
}

static trainer make_trainer(const options *o, const model *m, const problem *p)
{
    trainer t = { .o = o, .m = m, .p = p, .best_rmse = INFINITY };
    adz_dataset *rows = standardized(m, p);
    adz_generator *order = adz_generator_new((uint64_t)o->seed + 1);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = o->batch_size;
    l.shuffle = true;
    l.generator = order;
    l.progress = go_on;
    t.loader = adz_loader_new(rows, &l);
    adz_generator_free(&order);
    adz_dataset_free(&rows);
    adz_sgd_options s = ADZ_SGD_OPTIONS;
    s.momentum = o->momentum;
    s.weight_decay = o->weight_decay;
    t.sgd = adz_sgd_new(adz_module_parameters(network(m)), o->lr, &s);
    t.scheduler = make_scheduler(o, t.sgd);
    t.target_std = adz_item(adz_module_buffer(target_standardizer(m), "std"));
    return t;
}

static void free_trainer(trainer *t)
{
    adz_module_free(&t->best);
    adz_scheduler_free(&t->scheduler);
    adz_optimizer_free(&t->sgd);
    adz_loader_free(&t->loader);
}

/* ---- epochs --------------------------------------------------------------------------------- */

static double train_batch(const trainer *t, adz_tensor *const *batch)
{
    adz_module *net = network(t->m);
    adz_module_zero_grad(net);
    adz_tensor *loss = adz_mse_loss(adz_module_forward(net, batch[0]), batch[1], ADZ_REDUCE_MEAN);
    adz_backward(loss);
    adz_optimizer_step(t->sgd);
    return adz_item(loss) * (double)adz_tensor_size(batch[0], 0);
}

/* Trains the rest of the current epoch. Returns false if a signal interrupted it. */
static bool train_epoch(trainer *t)
{
    adz_tensor *batch[2];
    for (;;) {
        adz_scope *scope = adz_scope_open();
        bool more = adz_loader_next(t->loader, batch);
        if (more) {
            t->loss_sum += train_batch(t, batch);
            t->loss_rows += adz_tensor_size(batch[0], 0);
        }
        adz_scope_close(scope);
        if (!more) {
            break;
        }
    }
    bool whole = adz_error_code() != ADZ_ERR_CANCELLED;
    adz_error_clear();
    return whole;
}

/* Keeps a copy of the best network. Returns true if none of the last `patience` epochs was better.
 */
static bool lost_patience(trainer *t, int64_t epoch, double rmse)
{
    if (t->o->patience == 0) {
        return false;
    }
    if (rmse < t->best_rmse) {
        adz_module_free(&t->best);
        t->best = adz_module_copy(network(t->m));
        t->best_rmse = rmse;
        t->best_epoch = epoch;
    }
    return epoch - t->best_epoch >= t->o->patience;
}

static epoch_record record_epoch(const trainer *t)
{
    epoch_record record = { .lr = adz_optimizer_get(t->sgd, 0, "lr") };
    record.loss = t->loss_sum / (double)t->loss_rows;
    record.train_rmse = sqrt(record.loss) * t->target_std;
    record.validation_rmse = rmse_of(t->m, t->p->validation);
    return record;
}

/* Does what is due after a complete epoch. Returns false when the training is over. */
static bool end_epoch(trainer *t, const history *h)
{
    t->loss_sum = 0;
    t->loss_rows = 0;
    if (t->scheduler != NULL) {
        adz_scheduler_step(t->scheduler);
    }
    bool over = lost_patience(t, h->count, h->epochs[h->count - 1].validation_rmse) ||
                h->count == t->o->epochs;
    if (!over && t->o->save_every > 0 && h->count % t->o->save_every == 0) {
        save_training(t, h->epochs, h->count);
    }
    return !over;
}

/* Trains one epoch and records it. Returns false when the training is over. An interrupted epoch is
 * recorded too, but only after the training has been saved without that record. */
static bool run_epoch(trainer *t, history *h)
{
    h->interrupted = !train_epoch(t);
    if (h->interrupted) {
        save_training(t, h->epochs, h->count);
    }
    if (h->interrupted && t->loss_rows == 0) {
        return false;
    }
    epoch_record record = record_epoch(t);
    h->epochs[h->count++] = record;
    if (!isfinite(record.loss)) {
        fail("epoch %lld: the loss is %g; try a smaller --lr than %g", (long long)h->count,
            fabs(record.loss), t->o->lr);
    }
    return !h->interrupted && end_epoch(t, h);
}

static void show(progress *bar, int64_t epoch, const epoch_record *record, bool last)
{
    char text[128];
    int n = snprintf(text, sizeof text, "loss %.4f  train %.4g", record->loss, record->train_rmse);
    if (!isnan(record->validation_rmse)) {
        snprintf(
            text + n, sizeof text - (size_t)n, "  validation RMSE %.4g", record->validation_rmse);
    }
    progress_step(bar, epoch, text, last);
}

/* Ends the program if the training in the file is over already. Only a file that was edited can
 * hold such a training. */
static void take_up(trainer *t, adz_safetensors *training, history *h)
{
    h->count = resume_training(t, training, h->epochs);
    if (h->count >= t->o->epochs) {
        fail("%s: its training of %lld epochs is over, though it is marked as interrupted",
            t->o->load, (long long)h->count);
    }
    printf("%s: its training goes on after epoch %lld of %lld\n", t->o->load, (long long)h->count,
        (long long)t->o->epochs);
}

history train(const options *o, const model *m, const problem *p, adz_safetensors *training)
{
    history h = { .epochs = allocate((size_t)o->epochs * sizeof *h.epochs) };
    trainer t = make_trainer(o, m, p);
    if (training != NULL) {
        take_up(&t, training, &h);
    }
    progress bar = progress_begin("epoch", o->epochs);
    bar.first = h.count;
    adz_module_train(m->root, true);
    listen_to_interrupts();
    for (bool more = true; more;) {
        int64_t before = h.count;
        more = run_epoch(&t, &h);
        if (h.count > before) {
            show(&bar, h.count, &h.epochs[h.count - 1], !more);
        }
    }
    h.seconds = progress_seconds(&bar);
    progress_end(&bar);
    stop_listening();
    if (t.best != NULL) {
        copy_weights(network(m), t.best);
    }
    h.best = t.best_epoch;
    free_trainer(&t);
    return h;
}
