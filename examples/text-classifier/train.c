/* Verdicts of a model, and the training in cycles of the learning rate. */
#include "train.h"

#include <adze/zoo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/steps.h"
#include "pretrained.h"

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Stores the verdicts of one batch at the indices of its texts. Returns the sum of the losses, 0 if
 * labels are unknown. */
static double judge_batch(
    const model *m, const samples *s, const size_t *order, size_t n, verdict *to)
{
    adz_tensor *labels, *classes;
    adz_tensor *scores = scores_of(m, make_batch(s, order, n, &labels));
    adz_tensor *p = adz_log_softmax(scores, -1), *most = adz_max_dim(p, 1, ADZ_DROPDIM, &classes);
    for (size_t i = 0; i < n; ++i) {
        int64_t at[] = { (int64_t)i };
        to[order[i]].label = (int64_t)adz_tensor_at(classes, at);
        to[order[i]].probability = exp(adz_tensor_at(most, at));
    }
    bool known = s->items[order[0]].label >= 0;
    return known ? adz_item(adz_nll_loss(p, labels, ADZ_NONE, -100, ADZ_REDUCE_SUM)) : 0;
}

verdict *judge(const model *m, const samples *s, int64_t batch_size, double *loss)
{
    verdict *verdicts = allocate(s->count * sizeof *verdicts);
    size_t *order = sorted_order(s), size = (size_t)batch_size;
    double sum = 0;
    adz_module_eval(m->root);
    ADZ_NO_GRAD
    {
        for (size_t i = 0; i < s->count; i += size) {
            adz_scope *scope = adz_scope_open();
            size_t n = s->count - i < size ? s->count - i : size;
            sum += judge_batch(m, s, order + i, n, verdicts);
            adz_scope_close(scope);
        }
    }
    if (loss != NULL) {
        *loss = s->count > 0 ? sum / (double)s->count : NAN;
    }
    free(order);
    return verdicts;
}

double accuracy_of(const samples *s, const verdict *verdicts)
{
    size_t hits = 0;
    for (size_t i = 0; i < s->count; ++i) {
        hits += verdicts[i].label == s->items[i].label;
    }
    return s->count > 0 ? (double)hits / (double)s->count : NAN;
}

/* ---- optimizer and schedule ------------------------------------------------------------------ */

typedef struct trainer {
    const options *o;
    const model *m;
    const problem *p;
    adz_optimizer *adam;
    adz_scheduler *cycle;
    int head; /* the optimizer's group of the head */
    steps *each;
} trainer;

/* The number of batches of an epoch. A last batch of a single text is left out, because batch norm
 * cannot normalise a single row. */
static int64_t batches_of(const trainer *t)
{
    int64_t n = (int64_t)t->p->train.count, size = t->o->batch_size;
    return n / size + (n % size > 1);
}

/* All parameters have one learning rate. */
static void prepare_plainly(trainer *t, int64_t epochs, const adz_adamw_options *a)
{
    t->adam = adz_adamw_new(adz_module_parameters(t->m->root), t->o->lr, a);
    t->cycle = adz_one_cycle_lr_new(t->adam, t->o->lr, epochs * batches_of(t), NULL);
}

/* The groups have rising learning rates. Groups before `first` are frozen. */
static void prepare_groups(trainer *t, int64_t first, int64_t epochs, const adz_adamw_options *a)
{
    adz_fastai_groups *groups = groups_of(t->m);
    size_t n = adz_fastai_groups_count(groups), used = 0;
    double *rates = allocate(n * sizeof *rates);
    adz_fastai_freeze_to(groups, first);
    adz_fastai_lr_range(t->o->lr / t->o->lr_spread, t->o->lr, n, rates);
    for (size_t i = 0; i < n; ++i) {
        adz_tensor_list list = adz_fastai_groups_at(groups, i);
        if (list.count == 0) {
            continue; /* a group is empty if there are fewer than three layers */
        }
        if (t->adam == NULL) {
            t->adam = adz_adamw_new(list, t->o->lr, a);
        } else {
            t->head = adz_optimizer_add_param_group(t->adam, list);
        }
        rates[used++] = rates[i];
    }
    adz_one_cycle_lr_options c = ADZ_ONE_CYCLE_LR_OPTIONS;
    c.max_lrs = rates;
    c.n_max_lrs = used;
    t->cycle = adz_one_cycle_lr_new(t->adam, t->o->lr, epochs * batches_of(t), &c);
    free(rates);
    adz_fastai_groups_free(&groups);
}

/* A published encoder and its head are two groups. */
static void prepare_published(trainer *t, bool frozen, int64_t epochs, const adz_adamw_options *a)
{
    const double lr = t->o->lr, rates[] = { lr / t->o->lr_spread, lr };
    adz_module_requires_grad_(encoder_of(t->m), !frozen);
    t->adam = adz_adamw_new(adz_module_parameters(encoder_of(t->m)), rates[0], a);
    t->head = adz_optimizer_add_param_group(t->adam, adz_module_parameters(head_of(t->m)));
    adz_one_cycle_lr_options c = ADZ_ONE_CYCLE_LR_OPTIONS;
    c.max_lrs = rates;
    c.n_max_lrs = 2;
    t->cycle = adz_one_cycle_lr_new(t->adam, lr, epochs * batches_of(t), &c);
}

static void prepare(trainer *t, int64_t first, int64_t epochs)
{
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.weight_decay = t->o->weight_decay;
    t->head = 0;
    if (t->m->published) {
        prepare_published(t, first < 0, epochs, &a);
    } else if (t->o->lr_spread == 1 && t->o->frozen == 0) {
        prepare_plainly(t, epochs, &a);
    } else {
        prepare_groups(t, first, epochs, &a);
    }
}

static void finish(trainer *t)
{
    free_steps(t->each);
    adz_scheduler_release(&t->cycle);
    adz_optimizer_release(&t->adam);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* A step on texts and their labels. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const trainer *t = user;
    adz_tensor *scores = scores_of(t->m, batch[0]);
    adz_tensor *loss = adz_fastai_label_smoothing_cross_entropy(
        scores, batch[1], t->o->smoothing, ADZ_REDUCE_MEAN);
    adz_backward(loss);
    if (t->o->clip > 0) {
        adz_clip_grads(adz_module_parameters(t->m->root), t->o->clip, 2);
    }
    adz_optimizer_step(t->adam);
    adz_module_zero_grad(t->m->root);
    return loss;
}

/* Plans are made for the transformer. Other encoders of this program forget their state before each
 * batch, which replaces what the plan of another length has made, and ends that plan. A published
 * encoder spends its time in products, and a plan would take a hundred megabytes and more for each
 * length. */
static bool is_captured(const trainer *t)
{
    return !t->o->no_capture && !t->m->published && t->m->network.arch == ARCH_TRANSFORMER;
}

static double train_batch(const trainer *t, const size_t *order, size_t n)
{
    adz_tensor *labels, *ids = make_batch(&t->p->train, order, n, &labels);
    return adz_item(make_step(t->each, (adz_tensor *[]){ ids, labels }));
}

/* Trains an epoch and returns the mean loss, or NaN if Ctrl-C came before the first batch ended. */
static double train_epoch(const trainer *t, int64_t epoch)
{
    size_t size = (size_t)t->o->batch_size, count = t->p->train.count;
    size_t *order = shuffled_order(&t->p->train, t->o->batch_size, (uint64_t)t->o->seed + 1, epoch);
    double sum = 0;
    int64_t batches = 0;
    adz_module_train(t->m->root, true);
    for (; batches < batches_of(t) && !is_interrupted(); ++batches) {
        adz_scope *scope = adz_scope_open();
        size_t from = (size_t)batches * size, n = count - from < size ? count - from : size;
        sum += train_batch(t, order + from, n);
        if (batches + 1 <
            batches_of(t)) { /* the last step's loss arrives after its rate was noted */
            adz_scheduler_step(t->cycle);
        }
        adz_scope_close(scope);
    }
    free(order);
    return batches > 0 ? sum / (double)batches : NAN;
}

static void show(progress *bar, int64_t epoch, const epoch_record *record, bool last)
{
    char text[128];
    int n = snprintf(text, sizeof text, "loss %.4f", record->loss);
    if (!isnan(record->validation_loss)) {
        snprintf(text + n, sizeof text - (size_t)n, "  validation loss %.4f  accuracy %.4f",
            record->validation_loss, record->validation_accuracy);
    }
    progress_step(bar, epoch, text, last);
}

static epoch_record run_epoch(const trainer *t, int64_t epoch)
{
    epoch_record record = { .loss = train_epoch(t, epoch) };
    if (isinf(record.loss) || (isnan(record.loss) && !is_interrupted())) {
        fail("epoch %lld: the loss is %g; try a smaller --lr than %g", (long long)epoch,
            fabs(record.loss), t->o->lr);
    }
    record.lr = adz_optimizer_get(t->adam, t->head, "lr");
    verdict *verdicts = judge(t->m, &t->p->validation, t->o->batch_size, &record.validation_loss);
    record.validation_accuracy = accuracy_of(&t->p->validation, verdicts);
    free(verdicts);
    return record;
}

/* Trains `epochs` more epochs in one cycle of the learning rate. */
static void run_cycle(trainer *t, int64_t first, int64_t epochs, history *h, progress *bar)
{
    prepare(t, first, epochs);
    t->each = new_steps_of_many_shapes(step, t, 2, is_captured(t));
    for (int64_t i = 0; i < epochs && !h->interrupted; ++i) {
        epoch_record record = run_epoch(t, h->count + 1);
        h->interrupted = is_interrupted();
        if (!isnan(record.loss)) {
            h->epochs[h->count++] = record;
            show(bar, h->count, &record, h->interrupted || h->count == t->o->epochs);
        }
        if (i + 1 < epochs && !h->interrupted) {
            adz_scheduler_step(t->cycle);
        }
    }
    finish(t);
}

history train(const options *o, const model *m, const problem *p)
{
    history h = { .epochs = allocate((size_t)o->epochs * sizeof *h.epochs) };
    trainer t = { .o = o, .m = m, .p = p };
    progress bar = progress_begin("epoch", o->epochs);
    int64_t frozen = o->frozen < o->epochs ? o->frozen : o->epochs;
    listen_to_interrupts();
    if (frozen > 0) {
        run_cycle(&t, -1, frozen, &h, &bar);
    }
    if (o->epochs > frozen && !h.interrupted) {
        run_cycle(&t, 0, o->epochs - frozen, &h, &bar);
    }
    h.seconds = progress_seconds(&bar);
    progress_end(&bar);
    return h;
}
