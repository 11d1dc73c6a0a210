/* Verdicts of a model, and the training with one cycle of the learning rate and early stopping.
 *
 * A training of all epochs keeps its last weights: the learning rate has fallen to almost 0 by
 * then, and few validation images would choose an earlier epoch by chance. A training that ends
 * before keeps the epoch with the smallest validation loss. */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/steps.h"
#include "augment.h"

enum { JUDGED_AT_ONCE = 256 };

/* ---- verdicts -------------------------------------------------------------------------------- */

static void judge_batch(const model *m, adz_tensor *const *batch, bool known, verdict *to)
{
    adz_tensor *classes;
    adz_tensor *p = adz_log_softmax(scores_of(m, scaled(m, batch[PIXELS])), -1);
    const double *all = adz_tensor_data_f64(adz_to(p, ADZ_F64));
    adz_max_dim(p, 1, ADZ_DROPDIM, &classes);
    const int64_t *most = adz_tensor_data_i64(classes);
    const int64_t *numbers = adz_tensor_data_i64(batch[NUMBERS]);
    const int64_t *truth = known ? adz_tensor_data_i64(batch[DIGITS]) : NULL;
    for (int64_t i = 0; i < adz_tensor_size(p, 0); ++i) {
        to[i] = (verdict){ .image = numbers[i],
            .digit = most[i],
            .probability = exp(all[i * CLASSES + most[i]]),
            .truth = known ? truth[i] : -1,
            .loss = known ? -all[i * CLASSES + truth[i]] : NAN };
    }
}

verdict *judge(const model *m, adz_dataset *rows)
{
    verdict *verdicts = allocate((size_t)adz_dataset_row_count(rows) * sizeof *verdicts),
            *to = verdicts;
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = JUDGED_AT_ONCE;
    adz_loader *loader = adz_loader_new(rows, &l);
    adz_module_eval(m->root);
    ADZ_NO_GRAD
    {
        for (bool more = true; more;) {
            adz_tensor *batch[TENSORS];
            adz_scope *scope = adz_scope_open();
            more = adz_loader_next(loader, batch);
            if (more) {
                judge_batch(m, batch, adz_dataset_count(rows) == TENSORS, to);
                to += adz_tensor_size(batch[PIXELS], 0);
            }
            adz_scope_close(scope);
        }
    }
    adz_loader_free(&loader);
    return verdicts;
}

double accuracy_of(const verdict *verdicts, int64_t count)
{
    int64_t hits = 0;
    for (int64_t i = 0; i < count; ++i) {
        hits += verdicts[i].digit == verdicts[i].truth;
    }
    return count > 0 ? (double)hits / (double)count : NAN;
}

double loss_of(const verdict *verdicts, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += verdicts[i].loss;
    }
    return count > 0 ? sum / (double)count : NAN;
}

/* ---- the trainer ----------------------------------------------------------------------------- */

typedef struct trainer {
    const options *o;
    const model *m;
    const problem *p;
    adz_loader *loader;
    adz_generator *changes; /* random numbers of the augmentation */
    adz_optimizer *adam;
    adz_scheduler *cycle;
    steps *each;
    int64_t steps, done; /* all steps, and those that are done */
    progress bar;
    char numbers[128]; /* what the bar shows: the last complete epoch */
    adz_module *best;  /* a copy of the network after the best epoch, or NULL */
    double best_loss;
} trainer;

/* A step on images, whose pixels were changed, and their digits. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const trainer *t = user;
    adz_cross_entropy_options c = ADZ_CROSS_ENTROPY_OPTIONS;
    c.label_smoothing = t->o->smoothing;
    adz_tensor *loss = adz_cross_entropy(scores_of(t->m, batch[0]), batch[1], ADZ_NONE, &c);
    adz_backward(loss);
    adz_optimizer_step(t->adam);
    adz_optimizer_zero_grad(t->adam);
    return loss;
}

static trainer make_trainer(const options *o, const model *m, const problem *p)
{
    trainer t = { .o = o, .m = m, .p = p, .best_loss = INFINITY };
    adz_generator *order = adz_generator_new((uint64_t)o->seed + 1);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = o->batch_size;
    l.shuffle = true;
    l.generator = order;
    t.loader = adz_loader_new(p->train, &l);
    adz_generator_free(&order);
    t.changes = adz_generator_new((uint64_t)o->seed + 2);
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.weight_decay = o->weight_decay;
    t.steps = o->epochs * adz_loader_batch_count(t.loader);
    t.adam = adz_adamw_new(adz_module_parameters(m->root), o->lr, &a);
    t.cycle = adz_one_cycle_lr_new(t.adam, o->lr, t.steps, NULL);
    t.bar = progress_begin("epoch", o->epochs);
    if (t.bar.terminal) { /* a bar moves with each step, and lines come with epochs */
        t.bar.steps = t.steps;
    }
    return t;
}

static void free_trainer(trainer *t)
{
    free_steps(t->each);
    adz_module_release(&t->best);
    adz_scheduler_release(&t->cycle);
    adz_optimizer_release(&t->adam);
    adz_generator_free(&t->changes);
    adz_loader_free(&t->loader);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* Trains on a batch. Returns the sum of the losses of its images. */
static double train_batch(trainer *t, adz_tensor *const *batch)
{
    adz_tensor *x = scaled(t->m, batch[PIXELS]);
    augment(&t->o->augmentation, t->changes, x);
    adz_tensor *loss = make_step(t->each, (adz_tensor *[]){ x, batch[DIGITS] });
    if (++t->done < t->steps) {
        adz_scheduler_step(t->cycle);
    }
    if (t->bar.terminal) {
        progress_step(&t->bar, t->done, t->numbers, false);
    }
    return adz_item(loss) * (double)adz_tensor_size(x, 0);
}

/* Trains an epoch and returns the mean loss, or NaN if Ctrl-C came before the first batch ended. */
static double train_epoch(trainer *t)
{
    double sum = 0;
    int64_t images = 0;
    adz_module_train(t->m->root, true);
    for (bool more = true; more && !is_interrupted();) {
        adz_tensor *batch[TENSORS];
        adz_scope *scope = adz_scope_open();
        more = adz_loader_next(t->loader, batch);
        if (more) {
            sum += train_batch(t, batch);
            images += adz_tensor_size(batch[PIXELS], 0);
        }
        adz_scope_close(scope);
    }
    return images > 0 ? sum / (double)images : NAN;
}

static epoch_record run_epoch(trainer *t, int64_t epoch)
{
    epoch_record record = { .loss = train_epoch(t) };
    if (isinf(record.loss) || (isnan(record.loss) && !is_interrupted())) {
        fail("epoch %lld: the loss is %g; try a smaller --lr than %g", (long long)epoch,
            fabs(record.loss), t->o->lr);
    }
    const int64_t n = adz_dataset_row_count(t->p->validation);
    record.lr = adz_optimizer_get(t->adam, 0, "lr");
    verdict *verdicts = judge(t->m, t->p->validation);
    record.validation_loss = loss_of(verdicts, n);
    record.validation_accuracy = accuracy_of(verdicts, n);
    free(verdicts);
    return record;
}

/* Keeps a copy of the best network. Returns true if none of the last `patience` epochs was better.
 */
static bool lost_patience(trainer *t, history *h)
{
    const double loss = h->epochs[h->count - 1].validation_loss;
    if (loss < t->best_loss) {
        adz_module_release(&t->best);
        t->best = adz_module_copy(t->m->root);
        t->best_loss = loss;
        h->best = h->count;
    }
    return t->o->patience > 0 && h->best > 0 && h->count - h->best >= t->o->patience;
}

static void take_best(trainer *t)
{
    if (t->best != NULL) {
        adz_state_dict *state = adz_module_state_dict(t->best);
        adz_module_load_state_dict(t->m->root, state, true);
        adz_state_dict_free(&state);
    }
}

/* A terminal shows the validation alone, which leaves room for the bar. */
static void show(trainer *t, int64_t epoch, const epoch_record *record, bool last)
{
    const size_t size = sizeof t->numbers;
    int n = 0;
    if (!t->bar.terminal || isnan(record->validation_loss)) {
        n = snprintf(t->numbers, size, "loss %.4f  ", record->loss);
    }
    if (!isnan(record->validation_loss)) {
        n += snprintf(t->numbers + n, size - (size_t)n, "validation loss %.4f  accuracy %.4f  ",
            record->validation_loss, record->validation_accuracy);
    }
    t->numbers[n - 2] = '\0'; /* the last two spaces */
    progress_step(&t->bar, t->bar.terminal ? t->done : epoch, t->numbers, last);
}

history train(const options *o, const model *m, const problem *p)
{
    history h = { .epochs = allocate((size_t)o->epochs * sizeof *h.epochs) };
    trainer t = make_trainer(o, m, p);
    t.each = new_steps(step, &t, 2, !o->no_capture);
    listen_to_interrupts();
    for (bool more = true; more;) {
        epoch_record record = run_epoch(&t, h.count + 1);
        h.interrupted = is_interrupted();
        more = !h.interrupted && h.count + 1 < o->epochs;
        if (!isnan(record.loss)) {
            h.epochs[h.count++] = record;
            more = !lost_patience(&t, &h) && more;
            show(&t, h.count, &record, !more);
        }
    }
    h.seconds = progress_seconds(&t.bar);
    progress_end(&t.bar);
    if (h.count < o->epochs) {
        take_best(&t);
    } else {
        h.best = 0;
    }
    free_trainer(&t);
    return h;
}
