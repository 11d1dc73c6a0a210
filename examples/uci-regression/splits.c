/* Trains the splits of a set in several threads and prints them in their order. */
#define _GNU_SOURCE
#include "splits.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/crew.h"
#include "../shared/interrupt.h"
#include "../shared/progress.h"

/* ---- one split ------------------------------------------------------------------------------ */

enum { FINAL, FIFTH, CANDIDATES }; /* the uses of random numbers, each with a stream of its own */

/* Seeds the default generator for one use of random numbers in one split. Results then do not
 * depend on the order in which threads work. */
static void start_stream(const options *o, size_t split, size_t use)
{
    adz_manual_seed((uint64_t)o->seed * 0x9E3779B97F4A7C15u + ((uint64_t)split << 32) + use);
}

static score train_with(
    const options *o, const uci_set *set, const samples *rows, const outcome *choice)
{
    int64_t epochs = o->epochs > 0 ? o->epochs : set->epochs;
    const recipe how = { set->hidden, choice->dropout, choice->tau, epochs, o->passes,
        !o->no_capture };
    return train_and_score(rows, &how);
}

/* Finds the settings of the grid with the best log likelihood on a fifth of the training rows. The
 * score is complete only if the scores of all candidates are. */
static outcome search_grid(const options *o, const uci_set *set, size_t split, const samples *rows)
{
    const double shares[] = { 0.8, 0.2 };
    adz_dataset *parts[2];
    start_stream(o, split, FIFTH);
    adz_dataset_split(rows->train, shares, 2, NULL, parts);
    const samples held_out = { parts[0], parts[1] };
    outcome best = { .dropout = NAN };
    bool complete = true;
    for (size_t i = 0; i < set->dropout.count * set->tau.count && complete; ++i) {
        outcome here = { .dropout = set->dropout.values[i / set->tau.count],
            .tau = set->tau.values[i % set->tau.count] };
        start_stream(o, split, CANDIDATES + i);
        here.score = train_with(o, set, &held_out, &here);
        complete = here.score.complete;
        if (isnan(best.dropout) || here.score.log_likelihood > best.score.log_likelihood) {
            best = here;
        }
    }
    adz_dataset_release(&parts[0]);
    adz_dataset_release(&parts[1]);
    best.score.complete = complete;
    return best;
}

static outcome run_split(const options *o, const uci_set *set, size_t split)
{
    adz_scope *scope = adz_scope_open();
    samples rows = split_samples(set, split);
    outcome choice;
    if (o->grid) {
        choice = search_grid(o, set, split, &rows);
    } else {
        choice = (outcome){ .dropout = set->chosen_dropout.values[split],
            .tau = set->chosen_tau.values[split],
            .score.complete = true };
    }
    if (choice.score.complete) {
        start_stream(o, split, FINAL);
        choice.score = train_with(o, set, &rows, &choice);
    }
    adz_dataset_release(&rows.train);
    adz_dataset_release(&rows.test);
    adz_scope_close(scope);
    return choice;
}

/* ---- all splits ----------------------------------------------------------------------------- */

typedef struct splits {
    const options *o;
    const uci_set *set;
    set_result *result;
    pthread_mutex_t lock; /* guards the members after it */
    size_t printed;       /* the splits before this one are printed or were interrupted */
    bool *done;           /* for each split, whether it is finished or was interrupted */
} splits;

static void print_split(const splits *c, size_t k)
{
    const outcome *s = &c->result->splits[k];
    if (!s->score.complete) {
        return;
    }
    print_text(
        "%s split %zu/%zu: dropout %g, tau %g: RMSE %.3f, log likelihood %.3f, RMSE without dropout %.3f",
        c->set->name, k + 1, c->result->count, s->dropout, s->tau, s->score.rmse,
        s->score.log_likelihood, s->score.rmse_no_dropout);
    fflush(stdout);
}

static void run_one(size_t split, void *user)
{
    splits *c = user;
    outcome o = { .score.complete = false };
    if (!is_interrupted()) {
        o = run_split(c->o, c->set, split);
    }
    pthread_mutex_lock(&c->lock);
    c->result->splits[split] = o;
    for (c->done[split] = true; c->printed < c->result->count && c->done[c->printed];) {
        print_split(c, c->printed++);
    }
    pthread_mutex_unlock(&c->lock);
}

void check_choices(const options *o, const uci_set *set, const char *folder)
{
    if (o->grid && (set->dropout.count == 0 || set->tau.count == 0)) {
        fail("%s/hyper.txt: there is no line '%s', which --grid needs", folder,
            set->dropout.count == 0 ? "dropout" : "tau");
    }
    if (!o->grid && (set->chosen_dropout.count == 0 || set->chosen_tau.count == 0)) {
        fail("%s/hyper.txt: there is no line '%s'; --grid does without", folder,
            set->chosen_dropout.count == 0 ? "chosen_dropout_per_split" : "chosen_tau_per_split");
    }
}

/* Removes unfinished splits from the list. */
static void keep_finished(set_result *r)
{
    size_t finished = 0;
    for (size_t k = 0; k < r->count; ++k) {
        if (r->splits[k].score.complete) {
            r->splits[finished++] = r->splits[k];
        }
    }
    if (finished < r->count) {
        print_text("%s: stopped by %s; %zu of %zu splits are finished", r->name, interrupt_name(),
            finished, r->count);
    }
    r->count = finished;
}

set_result run_set(const options *o, const uci_set *set)
{
    set_result r = { .name = set->name, .count = set->n_splits };
    if ((int64_t)r.count > o->splits) {
        r.count = (size_t)o->splits;
    }
    r.splits = allocate(r.count * sizeof *r.splits);
    splits c = { .o = o,
        .set = set,
        .result = &r,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .done = allocate(r.count * sizeof *c.done) };
    double start = seconds_now();
    run_crew(o->jobs, r.count, run_one, &c);
    r.seconds = seconds_now() - start;
    keep_finished(&r);
    pthread_mutex_destroy(&c.lock);
    free(c.done);
    return r;
}
