/* The training loop: one step, the validation, and the line of progress. */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "checkpoint.h"
#include "validation.h"

typedef struct trainer {
    const options *o;
    const corpus *c;
    adz_module *network;
    adz_optimizer *adamw;
    adz_scheduler *cycle; /* NULL without one */
    int64_t step;         /* number of steps that are done */
    double valid_loss;    /* loss of the last step; NaN before the first */
    int64_t valid_step;   /* step of the last validation */
    double validating;    /* seconds spent on validation */
    double loss_sum;      /* sum of the losses since the last line of progress */
    int64_t loss_count;
} trainer;

/* ---- one step ------------------------------------------------------------------------------- */

/* Weight decay applies to matrices and tables only, which are group 0. */
static adz_optimizer *new_adamw(const options *o, adz_module *network)
{
    adz_tensor_list all = adz_module_parameters(network);
    adz_tensor **sorted = allocate(all.count * sizeof *sorted);
    size_t matrices = 0, others = 0;
    for (size_t i = 0; i < all.count; ++i) {
        if (adz_tensor_rank(all.items[i]) >= 2) {
            sorted[matrices++] = all.items[i];
        } else {
            sorted[all.count - ++others] = all.items[i];
        }
    }
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.beta1 = o->beta1;
    a.beta2 = o->beta2;
    a.weight_decay = o->decay;
    adz_optimizer *adamw = adz_adamw_new(adz_tensor_list_of(sorted, matrices), o->lr, &a);
    int group = adz_optimizer_add_param_group(adamw, adz_tensor_list_of(sorted + matrices, others));
    adz_optimizer_set(adamw, group, "weight_decay", 0);
    free(sorted);
    return adamw;
}

/* The one-cycle schedule, whose first rate is 1/25 of the highest. NULL for the other schedule. */
static adz_scheduler *new_cycle(const options *o, adz_optimizer *adamw)
{
    adz_one_cycle_options c = ADZ_ONE_CYCLE_OPTIONS;
    c.pct_start = (double)o->warmup / (double)o->steps;
    c.final_div_factor = o->min_lr > 0 ? o->lr / c.div_factor / o->min_lr : INFINITY;
    c.base_momentum = o->beta1;
    c.max_momentum = o->max_beta1;
    return o->schedule == SCHEDULE_ONE_CYCLE ? adz_one_cycle_lr_new(adamw, o->lr, o->steps, &c)
                                             : NULL;
}

/* The rate rises in a line and then falls in half a cosine, to the smallest rate at the last step.
 */
static double rate(const options *o, int64_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < o->warmup) {
        return o->lr * (double)(step + 1) / (double)(o->warmup + 1);
    }
    double part = (double)(step - o->warmup) / (double)(o->steps - o->warmup);
    return o->min_lr + 0.5 * (1 + cos(pi * part)) * (o->lr - o->min_lr);
}

static void set_rate(trainer *t)
{
    for (int group = 0; group < 2 && t->cycle == NULL; ++group) {
        adz_optimizer_set(t->adamw, group, "lr", rate(t->o, t->step));
    }
    if (t->cycle != NULL && t->step > 0) { /* a new schedule has the rate of the first step */
        adz_scheduler_step(t->cycle);
    }
}

/* fastai's penalties, on the last layer before and after its dropout. */
static adz_tensor *add_penalties(const options *o, adz_tensor *loss, const adz_values *results)
{
    char name[32];
    if (o->alpha == 0 && o->beta == 0) {
        return loss;
    }
    snprintf(name, sizeof name, "out.%lld", (long long)(o->layers - 1));
    adz_tensor *out = adz_values_find(results, name);
    snprintf(name, sizeof name, "raw.%lld", (long long)(o->layers - 1));
    return adz_fastai_ar_tar(loss, out, adz_values_find(results, name), o->alpha, o->beta);
}

/* Returns the loss to be minimised. *cross_entropy receives the cross entropy of the batch, without
 * penalties. Keys, values and states that the network returns as well end here, because the step
 * does not need them. */
static adz_tensor *forward(trainer *t, double *cross_entropy)
{
    const options *o = t->o;
    adz_scope *scope = adz_scope_open();
    adz_values *results = adz_values_new();
    adz_tensor *x, *y;
    if (take_batch(o, t->c, t->step, &x, &y)) {
        adz_module_reset(t->network);
    }
    adz_tensor *loss = loss_of(run_network(t->network, x, results), y);
    adz_tensor *penalized = add_penalties(o, loss, results);
    *cross_entropy = adz_item(loss);
    adz_values_free(&results);
    return adz_scope_return(scope, penalized);
}

/* Returns the cross entropy of the batch. */
static double train_step(trainer *t)
{
    double cross_entropy;
    adz_scope *scope = adz_scope_open();
    adz_module_zero_grad(t->network);
    adz_tensor *loss = forward(t, &cross_entropy);
    adz_backward(loss);
    adz_clip_grad_norm(adz_module_parameters(t->network), t->o->clip, 2);
    set_rate(t);
    adz_optimizer_step(t->adamw);
    adz_scope_close(scope);
    return cross_entropy;
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
    save_checkpoint(t->o->save, t->o, t->network, t->c->tokenizer, t->adamw, t->cycle, t->step);
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
    return t->step >= t->o->steps || has_stopped(t) || is_interrupted();
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
}

static void finish(trainer *t, const progress *bar)
{
    if (t->step < t->o->steps) {
        printf("stopped after step %lld; --load %s goes on\n", (long long)t->step, t->o->save);
    }
    double tokens_per_second = speed(t, bar), seconds = progress_seconds(bar);
    save(t);
    printf("checkpoint: %s\n", t->o->save);
    fflush(stdout);
    t->valid_loss = validate(t->o, t->network, &t->c->valid);
    printf("result: val_loss=%.4f bpc=%.4f tokens_per_second=%.0f seconds=%.2f\n", t->valid_loss,
        bits_per_character(t, t->valid_loss), tokens_per_second, seconds);
}

void train(const options *o, const corpus *c, adz_module *network)
{
    trainer t = { .o = o, .c = c, .network = network, .valid_loss = NAN, .valid_step = -1 };
    t.adamw = new_adamw(o, network);
    t.cycle = new_cycle(o, t.adamw);
    adz_module_train(network, true);
    if (o->load != NULL) {
        t.step = load_checkpoint(o->load, network, t.adamw, t.cycle);
        check_left(&t);
    }
    progress bar = progress_begin("step", o->steps);
    bar.first = t.step;
    listen_to_interrupts();
    while (!is_over(&t)) {
        advance(&t, &bar);
    }
    progress_end(&bar);
    stop_listening();
    finish(&t, &bar);
    adz_scheduler_free(&t.cycle);
    adz_optimizer_free(&t.adamw);
}
