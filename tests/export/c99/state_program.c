/* A program around the files that state.c writes: net.c and other.c, whose states it holds, and
 * plain.c, whose state is static. Two instances learn different things, also in two threads. It
 * prints the line of the first check that fails. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "other.h"
#include "plain.h"

#define CHECK(condition)     \
    do {                     \
        if (!(condition)) {  \
            return __LINE__; \
        }                    \
    } while (0)

enum { X = 20, Y = 10, STEPS = 40 };

typedef struct {
    net_state *state;
    float seed, losses[STEPS], y[Y];
    int status;
} learner;

static void fill(float *to, int n, float seed)
{
    for (int i = 0; i < n; ++i) {
        seed = seed * 3.7f * (1 - seed);
        to[i] = seed;
    }
}

static void *learn(void *user)
{
    learner *l = (learner *)user;
    float x[X], target[Y];
    fill(x, X, l->seed);
    fill(target, Y, l->seed + 0.1f);
    l->status = 0;
    for (int i = 0; i < STEPS; ++i) {
        l->status |= net_step(l->state, x, target, &l->losses[i]);
    }
    l->status |= net_run(l->state, x, l->y);
    return NULL;
}

static int same(const float *a, const float *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* The first instance computes what the file with a static state computes. */
static int check_plain(const learner *l)
{
    float x[X], target[Y], loss, y[Y];
    fill(x, X, l->seed);
    fill(target, Y, l->seed + 0.1f);
    for (int i = 0; i < STEPS; ++i) {
        plain_step(x, target, &loss);
        CHECK(loss == l->losses[i]);
    }
    plain_run(x, y);
    CHECK(same(y, l->y, Y));
    return 0;
}

/* One after the other, and at the same time. */
static int check_instances(net_state *first, net_state *second)
{
    static learner a, b, c, d;
    pthread_t threads[2];
    a.state = c.state = first;
    b.state = d.state = second;
    a.seed = c.seed = 0.3f;
    b.seed = d.seed = 0.6f;
    CHECK(net_init(first, sizeof *first) == 0 && net_init(second, NET_STATE_BYTES) == 0);
    learn(&a);
    learn(&b);
    CHECK(a.status == 0 && b.status == 0 && !same(a.y, b.y, Y));
    CHECK(check_plain(&a) == 0);
    CHECK(net_init(first, sizeof *first) == 0 && net_init(second, NET_STATE_BYTES) == 0);
    CHECK(pthread_create(&threads[0], NULL, learn, &c) == 0);
    CHECK(pthread_create(&threads[1], NULL, learn, &d) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    CHECK(c.status == 0 && d.status == 0);
    CHECK(same(a.losses, c.losses, STEPS) && same(a.y, c.y, Y));
    CHECK(same(b.losses, d.losses, STEPS) && same(b.y, d.y, Y));
    return 0;
}

/* What one instance has learnt goes to the other one, with the rate. */
static int check_files(net_state *first, net_state *second)
{
    static unsigned char file[NET_WEIGHTS_FILE_BYTES];
    float x[X], y[Y], z[Y];
    fill(x, X, 0.2f);
    first->learning_rate[0] = 0.125f;
    CHECK(net_weights_get(first, file) == 0);
    CHECK(net_weights_set(second, file, sizeof file - 1) == 1);
    CHECK(net_weights_set(second, file, sizeof file) == 0);
    CHECK(second->learning_rate[0] == 0.125f);
    CHECK(net_run(first, x, y) == 0 && net_run(second, x, z) == 0 && same(y, z, Y));
    return 0;
}

static int check_refused(net_state *state)
{
    static unsigned char file[NET_WEIGHTS_FILE_BYTES];
    float x[X], y[Y];
    fill(x, X, 0.2f);
    CHECK(net_state_bytes() == sizeof *state && net_state_bytes() == NET_STATE_BYTES);
    CHECK(net_init(NULL, sizeof *state) == -1 && net_run(NULL, x, y) == -1);
    CHECK(net_weights_get(NULL, file) == -1 && net_weights_set(NULL, file, 9) == -1);
    memset(state, 0, sizeof *state);
    CHECK(net_init(state, sizeof *state - 1) == -2 && net_run(state, x, y) == -2);
    CHECK(NET_STATE_BYTES == OTHER_STATE_BYTES);
    CHECK(other_init((other_state *)(void *)state, sizeof *state) == 0);
    CHECK(net_run(state, x, y) == -2 && net_weights_get(state, file) == -2);
    CHECK(net_init(state, sizeof *state) == 0 && net_run(state, x, y) == 0);
    state->busy = 1; /* as a call in another thread leaves it */
#ifndef NDEBUG
    CHECK(net_run(state, x, y) == -3 && net_weights_set(state, file, 9) == -3);
#else
    CHECK(net_run(state, x, y) == 0);
#endif
    return 0;
}

int main(void)
{
    net_state *first = (net_state *)malloc(sizeof *first);
    net_state *second = (net_state *)malloc(sizeof *second);
    CHECK(first != NULL && second != NULL);
    int line = check_instances(first, second);
    line = line != 0 ? line : check_files(first, second);
    line = line != 0 ? line : check_refused(first);
    free(first);
    free(second);
    if (line != 0) {
        printf("line %d\n", line);
    }
    return line != 0;
}
