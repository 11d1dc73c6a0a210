/* Runs all trainings in several threads and shows their progress. */
#define _GNU_SOURCE
#include "trainings.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../shared/crew.h"
#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "resume.h"

typedef struct trainings {
    const options *o;
    const corpus *text;
    training *all;
    size_t count;
    bool terminal;
    double began;
    pthread_mutex_t lock; /* guards the members after it */
    size_t done;
    int64_t points, first; /* evaluations of all trainings; those of --load */
} trainings;

/* ---- progress ------------------------------------------------------------------------------- */

/* Prints a time as "0:07", "12:34" or "1:02:03". */
static void print_clock(double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600) {
        printf("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        printf("%ld:%02ld", s / 60, s % 60);
    }
}

static void print_point(const trainings *c, const training *t)
{
    const curve_point *p = &t->curve[t->points - 1];
    printf("%-8s ", t->variant);
    if (c->o->runs > 1) {
        printf("seed %-4llu ", (unsigned long long)t->seed);
    }
    printf("step %lld/%lld  training loss %.4f  validation loss %.4f", (long long)p->step,
        (long long)c->o->steps, p->train_loss, p->val_loss);
}

/* Shows an evaluation: on a terminal in one line that is overwritten, elsewhere in a line of its
 * own.
 */
static void show_point(const training *t, void *user)
{
    trainings *c = user;
    int64_t n = c->o->evaluations;
    pthread_mutex_lock(&c->lock);
    ++c->points;
    c->done += t->points == n;
    if (c->terminal) {
        const double all = (double)((int64_t)c->count * n), share = (double)c->points / all;
        const double rest = (all - (double)c->points) / (double)(c->points - c->first);
        printf("\r\033[K%zu/%zu trained  %.0f%%  ", c->done, c->count, 100 * share);
        print_point(c, t);
        printf("  ");
        print_clock((seconds_now() - c->began) * rest);
        printf(" left");
    } else {
        print_point(c, t);
        putchar('\n');
    }
    fflush(stdout);
    pthread_mutex_unlock(&c->lock);
}

/* ---- the work ------------------------------------------------------------------------------- */

static void run_one(size_t piece, void *user)
{
    trainings *c = user;
    if (is_finished(c->o, &c->all[piece]) || is_interrupted()) {
        return;
    }
    train_variant(c->o, c->text, &c->all[piece], show_point, c);
}

static training *list_trainings(const options *o, size_t count)
{
    training *all = allocate(count * sizeof *all);
    for (size_t i = 0; i < count; ++i) {
        all[i].variant = o->variants[i % o->n_variants];
        all[i].seed = (uint64_t)o->seed + i / o->n_variants;
        all[i].curve = allocate((size_t)o->evaluations * sizeof *all[i].curve);
    }
    return all;
}

/* Takes up the trainings of --load. */
static void take_up(trainings *c)
{
    load_trainings(c->o, c->text, c->all, c->count);
    for (size_t i = 0; i < c->count; ++i) {
        c->done += is_finished(c->o, &c->all[i]);
        c->points += c->all[i].points;
    }
    c->first = c->points;
    print_text("%s: its experiment goes on; %zu of %zu trainings are finished", c->o->load, c->done,
        c->count);
}

training *run_trainings(const options *o, const corpus *text, size_t *finished)
{
    trainings c = { .o = o,
        .text = text,
        .count = o->n_variants * (size_t)o->runs,
        .terminal = isatty(STDOUT_FILENO) != 0,
        .began = seconds_now(),
        .lock = PTHREAD_MUTEX_INITIALIZER };
    c.all = list_trainings(o, c.count);
    if (o->load != NULL) {
        take_up(&c);
    }
    listen_to_interrupts();
    run_crew(o->jobs, c.count, run_one, &c);
    save_trainings(o, text, c.all, c.count);
    stop_listening();
    if (c.terminal) {
        fputs("\r\033[K", stdout);
    }
    if (c.done < c.count) {
        print_text("stopped by %s; %zu of %zu trainings are finished; --load %s goes on",
            interrupt_name(), c.done, c.count, o->save);
    }
    *finished = c.done;
    pthread_mutex_destroy(&c.lock);
    return c.all;
}

void free_trainings(const options *o, training *all)
{
    for (size_t i = 0; i < o->n_variants * (size_t)o->runs; ++i) {
        free(all[i].curve);
        free(all[i].state);
    }
    free(all);
}
