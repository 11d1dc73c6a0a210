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

typedef struct trainings {
    const options *o;
    const corpus *text;
    training *all;
    size_t count;
    bool terminal;
    double began;
    pthread_mutex_t lock; /* guards the members after it */
    size_t done;
    int64_t points; /* evaluations of all trainings */
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
        double share = (double)c->points / (double)((int64_t)c->count * n);
        printf("\r\033[K%zu/%zu trained  %.0f%%  ", c->done, c->count, 100 * share);
        print_point(c, t);
        printf("  ");
        print_clock((seconds_now() - c->began) * (1 - share) / share);
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

training *run_trainings(const options *o, const corpus *text)
{
    trainings c = { .o = o,
        .text = text,
        .count = o->n_variants * (size_t)o->runs,
        .terminal = isatty(STDOUT_FILENO) != 0,
        .began = seconds_now(),
        .lock = PTHREAD_MUTEX_INITIALIZER };
    c.all = list_trainings(o, c.count);
    listen_to_interrupts();
    run_crew(o->jobs, c.count, run_one, &c);
    stop_listening();
    if (c.terminal) {
        fputs("\r\033[K", stdout);
    }
    if (c.done < c.count) {
        printf("stopped by %s; %zu of %zu trainings are finished\n", interrupt_name(), c.done,
            c.count);
    }
    if (c.done == 0) {
        fail("no training is finished, so there is nothing to report");
    }
    pthread_mutex_destroy(&c.lock);
    return c.all;
}

void free_trainings(const options *o, training *all)
{
    for (size_t i = 0; i < o->n_variants * (size_t)o->runs; ++i) {
        free(all[i].curve);
    }
    free(all);
}
