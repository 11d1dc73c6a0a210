/* The training loop of one network, with early stopping and interrupts. */
#define _GNU_SOURCE
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/ranks.h"

/* ---- numbers -------------------------------------------------------------------------------- */

void fit_standardizers(const model *m, const problem *p)
{
    adz_scope *scope = adz_scope_open();
    adz_standardizer_fit(input_standardizer(m), adz_dataset_at(p->train, 0));
    adz_standardizer_fit(target_standardizer(m), adz_dataset_at(p->train, 1));
    adz_scope_close(scope);
}

double rmse_of(const model *m, adz_dataset *rows)
{
    if (adz_dataset_row_count(rows) == 0) {
        return NAN;
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = predict(m, adz_dataset_at(rows, 0));
    double error = adz_item(adz_mse_loss(y, adz_dataset_at(rows, 1), ADZ_REDUCE_MEAN));
    adz_scope_close(scope);
    return sqrt(error);
}

/* The training rows as the network sees them: standardised, in f32. */
static adz_dataset *standardized(const model *m, const problem *p)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_module_forward(input_standardizer(m), adz_dataset_at(p->train, 0));
    adz_tensor *y = adz_module_forward(target_standardizer(m), adz_dataset_at(p->train, 1));
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

/* The loader gives this rank its part of each batch. */
static adz_loader *make_loader(const options *o, const model *m, const problem *p)
{
    adz_dataset *rows = standardized(m, p);
    adz_generator *order = adz_generator_new((uint64_t)o->seed + 1);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = o->batch_size;
    l.shuffle = true;
    l.generator = order;
    l.rank = adz_group_rank(group_of_ranks());
    l.ranks = count_ranks();
    l.micro_batches = (int)o->micro_batches;
    adz_loader *loader = adz_loader_new(rows, &l);
    adz_generator_free(&order);
    adz_dataset_release(&rows);
    return loader;
}

/* Ends the program if the ranks would not train one model on the same rows. */
static void compare_ranks(const options *o, const model *m, const problem *p)
{
    char text[64];
    rows_text(p, text);
    compare_texts("the numbers of rows, and the hash of the rows", text);
    compare_texts("--activation", m->activation);
    compare_file("the file of --load", o->load);
}

static trainer make_trainer(const options *o, const model *m, const problem *p)
{
    trainer t = { .o = o, .m = m, .p = p, .best_rmse = INFINITY };
    int64_t rows = adz_dataset_row_count(p->train);
    values_are_from(o->load);
    check_micro_batches(o->micro_batches, rows < o->batch_size ? rows : o->batch_size);
    values_are_from(NULL);
    compare_ranks(o, m, p);
    t.loader = make_loader(o, m, p);
    adz_sgd_options s = ADZ_SGD_OPTIONS;
    s.momentum = o->momentum;
    s.weight_decay = o->weight_decay;
    t.sgd = adz_sgd_new(adz_module_parameters(network(m)), o->lr, &s);
    t.scheduler = make_scheduler(o, t.sgd);
    t.parallel = new_parallel(network(m), o->micro_batches, o->seed, false);
    t.target_std = adz_item(adz_module_get_buffer(target_standardizer(m), "std"));
    return t;
}

static void free_trainer(trainer *t)
{
    adz_module_release(&t->best);
    free_steps(t->each);
    adz_data_parallel_free(&t->parallel);
    adz_scheduler_release(&t->scheduler);
    adz_optimizer_release(&t->sgd);
    adz_loader_free(&t->loader);
}

/* ---- epochs --------------------------------------------------------------------------------- */

/* Draws this rank's part of the next batch. A batch cannot have fewer rows than micro-batches, so a
 * last batch that has joins the batch before it: no row is left out. Returns the rows that the
 * batch has on all ranks, 0 at the end of the epoch. */
static int64_t take_batch(const trainer *t, adz_tensor **batch)
{
    adz_loader_share share;
    int micro_batches = (int)t->o->micro_batches, ranks = count_ranks();
    int rank = adz_group_rank(group_of_ranks());
    if (!adz_loader_next(t->loader, batch)) {
        return 0;
    }
    adz_loader_get_share(t->loader, &share);
    int64_t left = adz_dataset_row_count(t->p->train) - share.begin - share.rows;
    if (left > 0 && left < micro_batches) {
        int64_t rows = share.rows + left;
        int64_t first =
            adz_loader_cut(rows, micro_batches, adz_loader_cut(micro_batches, ranks, rank));
        int64_t end =
            adz_loader_cut(rows, micro_batches, adz_loader_cut(micro_batches, ranks, rank + 1));
        adz_loader_next(t->loader, batch);
        adz_loader_get_rows(t->loader, share.begin + first, end - first, batch);
        return rows;
    }
    return share.rows;
}

/* The rows of a micro-batch. A rank that has one micro-batch needs no view of them. */
static adz_tensor *rows_of(const adz_micro_batch *m, adz_tensor *batch)
{
    bool whole = m->count == adz_tensor_size(batch, 0);
    return whole ? batch : adz_narrow(batch, 0, m->first, m->count);
}

/* A step on a batch that is not divided. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const trainer *t = user;
    adz_tensor *y = adz_module_forward(network(t->m), batch[0]);
    adz_tensor *loss = adz_mse_loss(y, batch[1], ADZ_REDUCE_MEAN);
    adz_backward(loss);
    adz_optimizer_step(t->sgd);
    adz_optimizer_zero_grad(t->sgd);
    return loss;
}

/* A step on this rank's part of a batch of so many rows. Returns the loss of the whole batch. */
static double make_divided_step(trainer *t, adz_tensor *const *batch, int64_t rows)
{
    adz_micro_batch m;
    double loss;
    adz_data_parallel_begin(t->parallel, t->step, rows);
    while (adz_data_parallel_next(t->parallel, &m)) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *y = adz_module_forward(network(t->m), rows_of(&m, batch[0]));
        adz_tensor *loss = adz_mse_loss(y, rows_of(&m, batch[1]), ADZ_REDUCE_MEAN);
        adz_data_parallel_backward(t->parallel, loss, m.weight);
        adz_scope_close(scope);
    }
    adz_data_parallel_end(t->parallel, &loss);
    adz_data_parallel_step(t->parallel, t->sgd);
    return loss;
}

/* Trains on a batch of so many rows on all ranks. Returns the sum of the losses of the rows. */
static double train_batch(trainer *t, adz_tensor *const *batch, int64_t rows)
{
    double loss = t->each != NULL ? make_whole_step(t->each, t->parallel, t->step, batch)
                                  : make_divided_step(t, batch, rows);
    t->step += 1;
    return loss * (double)rows;
}

/* Trains the rest of the current epoch. Returns false if a signal interrupted it. */
static bool train_epoch(trainer *t)
{
    adz_tensor *batch[2];
    while (!t->interrupted) {
        adz_scope *scope = adz_scope_open();
        int64_t rows = take_batch(t, batch);
        if (rows > 0) {
            t->loss_sum += train_batch(t, batch, rows);
            t->loss_rows += rows;
            t->interrupted = is_any_interrupted();
        }
        adz_scope_close(scope);
        if (rows == 0) {
            return true;
        }
    }
    return false;
}

/* Epochs whose validation RMSE is within this factor of the smallest count as equally good, and the
 * latest of them is kept: it has trained longest, and few rows cannot tell them apart. */
#define CLOSE 1.01

/* Keeps a copy of the network with the smallest validation RMSE; without validation rows there is
 * none. Returns true if --patience is given and none of the last `patience` epochs was better. */
static bool lost_patience(trainer *t, int64_t epoch, double rmse)
{
    if (rmse < CLOSE * t->best_rmse) {
        adz_module_release(&t->best);
        t->best = adz_module_copy(network(t->m));
        t->best_rmse = fmin(rmse, t->best_rmse);
        t->best_epoch = epoch;
    }
    return t->o->patience > 0 && epoch - t->best_epoch >= t->o->patience;
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
    print_text("%s: its training goes on after epoch %lld of %lld", t->o->load, (long long)h->count,
        (long long)t->o->epochs);
}

history train(const options *o, const model *m, const problem *p, adz_safetensors *training)
{
    history h = { .epochs = allocate((size_t)o->epochs * sizeof *h.epochs) };
    trainer t = make_trainer(o, m, p);
    if (training != NULL) {
        take_up(&t, training, &h);
    }
    t.each = new_whole_steps(step, &t, 2, !o->no_capture, o->micro_batches > 1);
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
    if (t.best != NULL) {
        copy_weights(network(m), t.best);
    }
    h.best = t.best_epoch;
    print_traffic(t.parallel, network(m));
    free_trainer(&t);
    return h;
}
