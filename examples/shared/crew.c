/* Threads that take pieces of work one by one until none is left. */
#define _GNU_SOURCE
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "program.h"

typedef struct crew {
    void (*work)(size_t piece, void *user);
    void *user;
    size_t count;
    pthread_mutex_t lock; /* guards the members after it */
    size_t next;
} crew;

/* The function of one thread. */
static void *work(void *user)
{
    crew *c = user;
    adz_context *context = adz_context_new();
    if (context == NULL) {
        fail("out of memory");
    }
    adz_context_use(context);
    report_errors();
    adz_set_num_threads(1); /* the pieces use the processors already */
    for (;;) {
        pthread_mutex_lock(&c->lock);
        size_t mine = c->next++;
        pthread_mutex_unlock(&c->lock);
        if (mine >= c->count) {
            break;
        }
        c->work(mine, c->user);
    }
    adz_context_use(NULL);
    adz_context_free(&context);
    return NULL;
}

void run_crew(int64_t jobs, size_t count, void (*piece)(size_t piece, void *user), void *user)
{
    crew c = { .work = piece, .user = user, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER };
    size_t n = (size_t)jobs < count ? (size_t)jobs : count;
    pthread_t *threads = allocate(n * sizeof *threads);
    for (size_t i = 0; i < n; ++i) {
        int error = pthread_create(&threads[i], NULL, work, &c);
        if (error != 0) {
            fail("--jobs %lld: thread %zu could not be started: %s", (long long)jobs, i + 1,
                strerror(error));
        }
    }
    for (size_t i = 0; i < n; ++i) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&c.lock);
    free(threads);
}
