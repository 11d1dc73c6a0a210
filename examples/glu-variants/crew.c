#define _GNU_SOURCE
#include "crew.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fail("%s", message);
}

static void on_warning(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fprintf(stderr, "glu-variants: warning: %s\n", message);
}

void report_errors(void)
{
    adz_on_error(on_error, NULL);
    adz_on_warning(on_warning, NULL);
}

typedef struct crew {
    const options *o;
    const corpus *text;
    training *all;
    size_t count;
    bool terminal;
    double began;
    pthread_mutex_t lock; /* guards the rest */
    size_t next, done;
    int64_t points; /* evaluations of all trainings */
} crew;

/* ---- progress ------------------------------------------------------------------------------- */

/* "0:07", "12:34", "1:02:03" */
static void print_clock(double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600) {
        printf("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        printf("%ld:%02ld", s / 60, s % 60);
    }
}

static void print_point(const crew *c, const training *t)
{
    const curve_point *p = &t->curve[t->points - 1];
    printf("%-8s ", t->variant);
    if (c->o->runs > 1) {
        printf("seed %-4llu ", (unsigned long long)t->seed);
    }
    printf("step %lld/%lld  training loss %.4f  validation loss %.4f", (long long)p->step,
        (long long)c->o->steps, p->train_loss, p->val_loss);
}

/* On a terminal one line that is drawn over, elsewhere a line for each quarter of a training. */
static void show_point(const training *t, void *user)
{
    crew *c = user;
    int64_t n = c->o->evaluations;
    pthread_mutex_lock(&c->lock);
    ++c->points;
    c->done += t->points == n;
    bool quarter = t->points * 4 / n != (t->points - 1) * 4 / n;
    if (c->terminal) {
        double share = (double)c->points / (double)((int64_t)c->count * n);
        printf("\r\033[K%zu/%zu trained  %.0f%%  ", c->done, c->count, 100 * share);
        print_point(c, t);
        printf("  ");
        print_clock((seconds_now() - c->began) * (1 - share) / share);
        printf(" left");
    } else if (quarter) {
        print_point(c, t);
    }
    if (!c->terminal && quarter) {
        putchar('\n');
    }
    fflush(stdout);
    pthread_mutex_unlock(&c->lock);
}

/* ---- the work ------------------------------------------------------------------------------- */

/* Takes one training after the other. The context gives the thread random numbers of its own. */
static void *work(void *user)
{
    crew *c = user;
    adz_context *context = adz_context_new();
    if (context == NULL) {
        fail("out of memory");
    }
    adz_context_use(context);
    report_errors();
    adz_set_num_threads(1); /* trainings run beside each other instead */
    for (;;) {
        pthread_mutex_lock(&c->lock);
        size_t mine = c->next++;
        pthread_mutex_unlock(&c->lock);
        if (mine >= c->count) {
            break;
        }
        train_variant(c->o, c->text, &c->all[mine], show_point, c);
    }
    adz_context_use(NULL);
    adz_context_free(&context);
    return NULL;
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
    crew c = { .o = o,
        .text = text,
        .count = o->n_variants * (size_t)o->runs,
        .terminal = isatty(STDOUT_FILENO) != 0,
        .began = seconds_now(),
        .lock = PTHREAD_MUTEX_INITIALIZER };
    c.all = list_trainings(o, c.count);
    size_t jobs = (size_t)o->jobs < c.count ? (size_t)o->jobs : c.count;
    pthread_t *threads = allocate(jobs * sizeof *threads);
    for (size_t i = 0; i < jobs; ++i) {
        int error = pthread_create(&threads[i], NULL, work, &c);
        if (error != 0) {
            fail("--jobs %lld: thread %zu could not be started: %s", (long long)o->jobs, i + 1,
                strerror(error));
        }
    }
    for (size_t i = 0; i < jobs; ++i) {
        pthread_join(threads[i], NULL);
    }
    if (c.terminal) {
        fputs("\r\033[K", stdout);
    }
    pthread_mutex_destroy(&c.lock);
    free(threads);
    return c.all;
}

void free_trainings(const options *o, training *all)
{
    for (size_t i = 0; i < o->n_variants * (size_t)o->runs; ++i) {
        free(all[i].curve);
    }
    free(all);
}
