/* The training loop: one step, the validation, and the line of progress. */
#include "train.h"

#include <adze/zoo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/bigram.h"
#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/ranks.h"
#include "checkpoint.h"
#include "optimizer.h"
#include "sample.h"
#include "validation.h"

typedef struct trainer {
    const options *o;
    const corpus *c;
    adz_module *network;
    adz_data_parallel *parallel;
    adz_optimizer *adamw;
    adz_scheduler *cycle; /* NULL without one */
    steps *each;          /* NULL if steps are not captured */
    int64_t *starts;      /* where the rows of the batch begin in the text */
    double *entropies;    /* cross entropy of each micro-batch, times its weight */
    int64_t step;         /* number of steps that are done */
    bool interrupted;     /* by Ctrl-C or SIGTERM, on any rank */
    double valid_loss;    /* loss of the last step; NaN before the first */
    int64_t valid_step;   /* step of the last validation */
    double validating;    /* seconds spent on validation and on samples */
    double next_sample;   /* seconds after which a sample is shown; 0: none */
    double loss_sum;      /* sum of the losses since the last line of progress */
    int64_t loss_count;
} trainer;

/* ---- one step ------------------------------------------------------------------------------- */

static bool has_penalties(const options *o)
{
    return o->alpha != 0 || o->beta != 0;
}

/* fastai's penalties, on the last layer before and after its dropout. */
static adz_tensor *add_penalties(const options *o, adz_tensor *loss, const adz_values *results)
{
    char name[32];
    snprintf(name, sizeof name, "out.%lld", (long long)(o->layers - 1));
    adz_tensor *out = adz_values_get(results, name);
    snprintf(name, sizeof name, "raw.%lld", (long long)(o->layers - 1));
    return adz_fastai_ar_tar(loss, out, adz_values_get(results, name), o->alpha, o->beta);
}

/* Some rows of a batch: x[rows, context], and y, what follows each token. */
typedef struct window {
    adz_tensor *x, *y;
} window;

static window gather_rows(const trainer *t, int64_t first, int64_t rows)
{
    const part *text = &t->c->train, next = { text->ids + 1, text->n - 1 };
    const int64_t *starts = t->starts + first;
    return (window){ gather(text, starts, rows, t->o->context),
        gather(&next, starts, rows, t->o->context) };
}

/* Returns the loss that is to be minimised, and its cross entropy. Keys, values and states that the
 * network returns as well end here, because the step does not need them. */
static adz_tensor *losses(const trainer *t, window w, adz_tensor **entropy)
{
    adz_values *results = adz_values_new();
    *entropy = loss_of(run_network(t->network, w.x, results), w.y);
    adz_tensor *loss = has_penalties(t->o) ? add_penalties(t->o, *entropy, results) : *entropy;
    adz_values_free(&results);
    return loss;
}

/* Returns the loss of a micro-batch. */
static adz_tensor *forward(trainer *t, const adz_micro_batch *m)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *entropy, *loss = losses(t, gather_rows(t, m->begin, m->count), &entropy);
    if (has_penalties(t->o)) {
        t->entropies[m->index] = m->weight * adz_item(entropy);
    }
    return adz_scope_return(scope, loss);
}

/* A step on a batch that is not divided. Returns its cross entropy, without penalties. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const trainer *t = user;
    adz_tensor *entropy, *loss = losses(t, (window){ batch[0], batch[1] }, &entropy);
    adz_backward(loss);
    adz_clip_grads(adz_module_parameters(t->network), t->o->clip, 2);
    adz_optimizer_step(t->adamw);
    adz_optimizer_zero_grad(t->adamw);
    return entropy;
}

/* Adds up what the ranks have in `entropies`, in the order of the micro-batches, and clears it. The
 * entries of other ranks are 0, so that the sum over the ranks is exact. */
static double sum_entropies(trainer *t)
{
    int64_t n = t->o->micro_batches;
    size_t bytes = (size_t)n * sizeof *t->entropies;
    double sum = 0;
    if (count_ranks() > 1) {
        adz_tensor *all = adz_tensor_from(t->entropies, ADZ_SHAPE(n), ADZ_F64);
        adz_group_all_reduce(group_of_ranks(), all, ADZ_GROUP_SUM);
        adz_tensor_read(all, t->entropies, bytes);
    }
    for (int64_t i = 0; i < n; ++i) {
        sum += t->entropies[i];
        t->entropies[i] = 0;
    }
    return sum;
}

/* Returns the cross entropy of this rank's parts of a batch and of the other ranks' parts. */
static double make_divided_step(trainer *t, bool starts_again)
{
    adz_micro_batch m;
    double loss;
    adz_data_parallel_begin(t->parallel, t->step, t->o->batch);
    while (adz_data_parallel_next(t->parallel, &m)) {
        adz_scope *scope = adz_scope_open();
        if (starts_again) {
            adz_module_reset(t->network);
        }
        adz_data_parallel_backward(t->parallel, forward(t, &m), m.weight);
        adz_scope_close(scope);
    }
    adz_data_parallel_end(t->parallel, &loss);
    if (has_penalties(t->o)) {
        loss = sum_entropies(t);
    }
    adz_clip_grad_norm(adz_module_parameters(t->network), t->o->clip, 2);
    set_rate(t->o, t->adamw, t->cycle, t->step);
    adz_data_parallel_step(t->parallel, t->adamw);
    return loss;
}

static double replay_step(trainer *t, bool starts_again)
{
    window w = gather_rows(t, 0, t->o->batch);
    if (starts_again) {
        adz_module_reset(t->network);
    }
    set_rate(t->o, t->adamw, t->cycle, t->step);
    return make_whole_step(t->each, t->parallel, t->step, (adz_tensor *[]){ w.x, w.y });
}

/* Returns the cross entropy of the batch, without penalties. */
static double train_step(trainer *t)
{
    adz_scope *scope = adz_scope_open();
    const bool starts_again = find_starts(t->o, &t->c->train, t->step, t->starts);
    const double loss =
        t->each != NULL ? replay_step(t, starts_again) : make_divided_step(t, starts_again);
    adz_scope_close(scope);
    return loss;
}

/* ---- between steps -------------------------------------------------------------------------- */

static double bits_per_character(const trainer *t, double loss)
{
    return loss / log(2) / t->c->characters;
}

static void look_at_validation(trainer *t, const progress *bar)
{
    double before = progress_seconds(bar);
    t->valid_loss = validate(t->o, t->network, &t->c->valid);
    t->valid_step = t->step;
    t->validating += progress_seconds(bar) - before;
}

static void save(const trainer *t)
{
    save_checkpoint(
        t->o->save, t->o, t->network, t->c->tokenizer, t->parallel, t->adamw, t->cycle, t->step);
}

static double speed(const trainer *t, const progress *bar)
{
    double seconds = progress_seconds(bar) - t->validating;
    int64_t tokens = (t->step - bar->first) * t->o->batch * t->o->context;
    return seconds > 0 ? (double)tokens / seconds : 0;
}

/* On a terminal the line is overwritten, and it always shows the last validation loss with its
 * step. Elsewhere a line shows a validation loss only if it is of this step, and every validation
 * prints a line. */
static void show(trainer *t, progress *bar, bool last)
{
    bool looked = t->valid_step == t->step;
    double loss = t->loss_sum / (double)t->loss_count;
    char text[160];
    int n = snprintf(text, sizeof text, "loss %.4f  %.3f bpc  %.0f tokens/s", loss,
        bits_per_character(t, loss), speed(t, bar));
    if (looked) {
        snprintf(text + n, sizeof text - (size_t)n, "  validation %.4f", t->valid_loss);
    } else if (bar->terminal && !isnan(t->valid_loss)) {
        snprintf(text + n, sizeof text - (size_t)n, "  validation %.4f at %lld", t->valid_loss,
            (long long)t->valid_step);
    }
    progress_step(bar, t->step, text, last || (looked && !bar->terminal));
}

static bool has_stopped(const trainer *t)
{
    return t->o->stop_after > 0 && t->step >= t->o->stop_after;
}

static bool is_over(const trainer *t)
{
    return t->step >= t->o->steps || has_stopped(t) || t->interrupted;
}

/* Ends the program if the checkpoint has all steps of --steps already. */
static void check_left(const trainer *t)
{
    const options *o = t->o;
    if (t->step < 0) {
        fail("%s: its step is %lld: this is no checkpoint of this program", o->load,
            (long long)t->step);
    }
    const char *are = t->step == 1 ? " is" : "s are";
    if (t->step >= o->steps) {
        fail("%s: %lld step%s done, and --steps is %lld; a larger --steps goes on", o->load,
            (long long)t->step, are, (long long)o->steps);
    }
    if (has_stopped(t)) {
        fail("%s: %lld step%s done, and --stop-after is %lld; a larger --stop-after goes on",
            o->load, (long long)t->step, are, (long long)o->stop_after);
    }
}

/* Whether short texts show everyone what the network has learnt. --sample writes one as long as
 * wanted, after the last line of the training. */
static bool shows_samples(const trainer *t)
{
    return t->o->sample == NULL && is_first_rank();
}

static void write_short(const trainer *t, adz_module *network)
{
    options short_one = *t->o;
    short_one.sample = "";
    short_one.length = t->o->tokens == ADZ_TOKENS_WORDS ? 40 : 200;
    write_sample(&short_one, network, t->c->tokenizer);
}

/* Shows a sample when it is due, and decides when the next one is. A copy of the network writes it,
 * so that the training keeps its bits. */
static void look_at_sample(trainer *t, const progress *bar)
{
    const double before = progress_seconds(bar);
    if (!shows_samples(t) || t->next_sample <= 0 || before < t->next_sample) {
        return;
    }
    while (t->next_sample <= before) {
        t->next_sample *= 2;
    }
    adz_module *copy = adz_module_copy(t->network);
    progress_end(bar);
    printf("after step %lld it writes:\n", (long long)t->step);
    write_short(t, copy);
    adz_module_release(&copy);
    t->validating += progress_seconds(bar) - before;
}

/* Does one step, and the validation, saving and printing that are due after it. */
static void advance(trainer *t, progress *bar)
{
    const options *o = t->o;
    double loss = train_step(t);
    if (!isfinite(loss)) {
        fail("step %lld: the loss is %g; try a smaller --lr than %g", (long long)t->step + 1,
            fabs(loss), o->lr);
    }
    t->step += 1;
    t->interrupted = is_any_interrupted();
    bool last = is_over(t);
    if (t->step % o->eval_every == 0 && !last) {
        look_at_validation(t, bar);
    }
    if (o->save_every > 0 && t->step % o->save_every == 0 && !last) {
        save(t);
    }
    int64_t span = (o->steps + 19) / 20; /* number of steps over which the printed loss is a mean */
    if (t->loss_count >= span) {
        t->loss_sum = 0;
        t->loss_count = 0;
    }
    t->loss_sum += loss;
    t->loss_count += 1;
    show(t, bar, last);
    if (!last) {
        look_at_sample(t, bar);
    }
}

static void finish(trainer *t, const progress *bar)
{
    if (t->step < t->o->steps) {
        printf("stopped after step %lld; --load %s goes on\n", (long long)t->step, t->o->save);
    }
    double tokens_per_second = speed(t, bar), seconds = progress_seconds(bar);
    save(t);
    stop_listening();
    printf("checkpoint: %s\n", t->o->save);
    print_traffic(t->parallel, t->network);
    fflush(stdout);
    t->valid_loss = validate(t->o, t->network, &t->c->valid);
    const double simple = bigram_loss(t->c->train.ids, t->c->train.n, t->c->valid.ids,
        t->c->valid.n, adz_tokenizer_count(t->c->tokenizer));
    printf("a bigram model of the same text has a validation loss of %.4f\n", simple);
    if (shows_samples(t) && !is_interrupted()) {
        puts("a sample (--sample TEXT continues a text):");
        write_short(t, t->network);
    }
    printf("result: val_loss=%.4f bpc=%.4f bigram_loss=%.4f tokens_per_second=%.0f seconds=%.2f\n",
        t->valid_loss, bits_per_character(t, t->valid_loss), simple, tokens_per_second, seconds);
}

static trainer make_trainer(const options *o, const corpus *c, adz_module *network)
{
    trainer t = { .o = o,
        .c = c,
        .network = network,
        .valid_loss = NAN,
        .valid_step = -1,
        .next_sample = o->sample_after };
    t.starts = allocate((size_t)o->batch * sizeof *t.starts);
    t.entropies = allocate((size_t)o->micro_batches * sizeof *t.entropies);
    t.adamw = new_adamw(o, network);
    t.cycle = new_cycle(o, t.adamw);
    adz_module_train(network, true);
    t.parallel = new_parallel(network, o->micro_batches, o->seed, o->fast);
    if (o->shard) {
        adz_data_parallel_shard(t.parallel, t.adamw);
    }
    compare_file("the file of --load", o->load);
    if (o->load != NULL) {
        t.step = load_checkpoint(o->load, network, t.parallel, t.adamw, t.cycle);
        check_left(&t);
    }
    return t;
}

static void free_trainer(trainer *t)
{
    free_steps(t->each);
    adz_data_parallel_free(&t->parallel);
    adz_scheduler_release(&t->cycle);
    adz_optimizer_release(&t->adamw);
    free(t->entropies);
    free(t->starts);
}

void train(const options *o, const corpus *c, adz_module *network)
{
    trainer t = make_trainer(o, c, network);
    t.each = new_whole_steps(step, &t, 2, !o->no_capture, o->micro_batches > 1 || o->shard);
    progress bar = progress_begin("step", o->steps);
    bar.first = t.step;
    listen_to_interrupts();
    while (!is_over(&t)) {
        advance(&t, &bar);
    }
    progress_end(&bar);
    finish(&t, &bar);
    free_trainer(&t);
}
