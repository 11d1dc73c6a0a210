#include "ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_RANKS = 24 };

typedef struct message {
    struct message *next;
    int from, tag;
    size_t bytes;
    char data[];
} message;

typedef struct {
    network behaviour;
    int ranks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    message *boxes[MOST_RANKS]; /* to each rank, in the order of sending */
    bool dead;
    int sent[MOST_RANKS];
    int freed;
} wires;

typedef struct {
    wires *wires;
    int rank;
    uint64_t random;
    rank_function function;
    void *user;
} seat;

/* What a request holds: a receive that waits for its message; zeros for a send. */
typedef struct {
    void *data;
    uint64_t bytes;
    int32_t from, tag, waits;
} waiting;

static atomic_int failures;

void check_at(bool condition, const char *text, const char *file, int line)
{
    if (!condition) {
        fprintf(stderr, "%s:%d: not so: %s (error: %s)\n", file, line, text, adz_error_message());
        atomic_fetch_add(&failures, 1);
    }
}

void check_error_at(adz_status code, const char *part, const char *file, int line)
{
    char text[4096];
    adz_status taken = adz_error_take(text, sizeof text);
    if (taken != code || strstr(text, part) == NULL) {
        fprintf(stderr, "%s:%d: %s \"%s\" instead of %s \"%s\"\n", file, line,
            adz_status_name(taken), text, adz_status_name(code), part);
        atomic_fetch_add(&failures, 1);
    }
}

double element(int rank, int64_t i)
{
    const uint64_t z = ((uint64_t)i * 8 + (uint64_t)rank + 1) * 0x9e3779b97f4a7c15u;
    return (double)(int64_t)(z ^ (z >> 29)) / 0x1p60;
}

adz_tensor *numbers_of(int rank, adz_shape shape, adz_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i) {
        n *= shape.sizes[i];
    }
    double *all = malloc(sizeof(double) * (size_t)(n + 1));
    const bool floats = dtype == ADZ_F32 || dtype == ADZ_F64;
    for (int64_t i = 0; i < n; ++i) {
        const double x = element(rank, i);
        all[i] = floats ? x : dtype == ADZ_BOOL ? x > 6 : (double)(int64_t)((x + 8) * 2);
    }
    adz_tensor *t = adz_to(adz_tensor_from(all, shape, ADZ_F64), dtype);
    free(all);
    return t;
}

/* ---- the transport -------------------------------------------------------------------------- */

static void pause_at_random(seat *s)
{
    if (s->wires->behaviour.delays != 0) {
        s->random = s->random * 6364136223846793005u + 1442695040888963407u;
        usleep((useconds_t)((s->random >> 40) % 200));
    }
}

/* A failure if this rank's connection is dead, or another rank's is. */
static adz_status alive(seat *s)
{
    wires *w = s->wires;
    const network *b = &w->behaviour;
    if (b->dies_at > 0 && s->rank == b->dies && w->sent[s->rank] >= b->dies_at) {
        w->dead = true;
        pthread_cond_broadcast(&w->changed);
    }
    if (!w->dead) {
        return ADZ_OK;
    }
    return b->silent ? ADZ_ERR_IO : adz_error_set("wires", ADZ_ERR_IO, "the cable was cut");
}

static adz_status start_send(
    void *user, const void *data, size_t bytes, int to, int tag, adz_request *request)
{
    seat *s = user;
    wires *w = s->wires;
    (void)request;
    pause_at_random(s);
    message *m = malloc(sizeof *m + bytes);
    *m = (message){ .from = s->rank, .tag = tag, .bytes = bytes };
    memcpy(m->data, data, bytes);
    pthread_mutex_lock(&w->lock);
    adz_status status = alive(s);
    ++w->sent[s->rank];
    message **end = &w->boxes[to];
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = m;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return status;
}

static adz_status start_receive(
    void *user, void *data, size_t bytes, int from, int tag, adz_request *request)
{
    (void)user;
    const waiting w = { data, bytes, from, tag, 1 };
    _Static_assert(sizeof w <= sizeof *request, "a receive fits into a request");
    memcpy(request, &w, sizeof w);
    return ADZ_OK;
}

/* Takes the message from this rank's box if it has come. Called with the lock. */
static bool take(seat *s, adz_request *request)
{
    waiting receive;
    memcpy(&receive, request, sizeof receive);
    for (message **at = &s->wires->boxes[s->rank]; receive.waits && *at != NULL;
         at = &(*at)->next) {
        message *m = *at;
        if (m->from == receive.from && m->tag == receive.tag) {
            check(m->bytes == receive.bytes);
            memcpy(receive.data, m->data, m->bytes);
            *at = m->next;
            free(m);
            return true;
        }
    }
    return !receive.waits;
}

static adz_status test(void *user, adz_request *request, bool *done)
{
    seat *s = user;
    pthread_mutex_lock(&s->wires->lock);
    *done = take(s, request);
    adz_status status = *done ? ADZ_OK : alive(s);
    pthread_mutex_unlock(&s->wires->lock);
    return status;
}

static adz_status wait_for(void *user, adz_request *request)
{
    seat *s = user;
    adz_status status = ADZ_OK;
    pause_at_random(s);
    pthread_mutex_lock(&s->wires->lock);
    while (!take(s, request) && (status = alive(s)) == ADZ_OK) {
        pthread_cond_wait(&s->wires->changed, &s->wires->lock);
    }
    pthread_mutex_unlock(&s->wires->lock);
    return status;
}

static void end_seat(void *user)
{
    seat *s = user;
    pthread_mutex_lock(&s->wires->lock);
    ++s->wires->freed;
    pthread_mutex_unlock(&s->wires->lock);
}

/* ---- running ranks -------------------------------------------------------------------------- */

/* Each rank has a context of its own, so a default generator of its own, as a process has. */
static void *run_rank(void *user)
{
    seat *s = user;
    adz_context *own = adz_context_new(), *before = adz_context_use(own);
    const adz_transport transport = { .size = sizeof transport,
        .name = "threads",
        .rank = s->rank,
        .ranks = s->wires->ranks,
        .largest = s->wires->behaviour.largest,
        .start_send = start_send,
        .start_receive = start_receive,
        .test = test,
        .wait = wait_for,
        .free = end_seat };
    adz_group *group = adz_group_new(&transport, s);
    check(group != NULL);
    adz_set_num_threads(1);
    adz_scope *scope = adz_scope_open();
    s->function(group, s->user);
    adz_scope_close(scope);
    check(adz_error_code() == ADZ_OK);
    adz_group_free(&group);
    check(group == NULL && adz_error_code() == ADZ_OK);
    adz_context_use(before);
    adz_context_free(&own);
    return NULL;
}

void run_ranks(int ranks, const network *behaviour, rank_function function, void *user)
{
    wires w = {
        .ranks = ranks, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER
    };
    seat seats[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    w.behaviour = behaviour != NULL ? *behaviour : (network){ 0 };
    atomic_store(&failures, 0);
    for (int r = 0; r < ranks; ++r) {
        seats[r] = (seat){ &w, r, w.behaviour.delays + (uint64_t)r, function, user };
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &seats[r]), 0);
    }
    for (int r = 0; r < ranks; ++r) {
        pthread_join(threads[r], NULL);
    }
    size_t lost = 0;
    for (int r = 0; r < ranks; ++r) {
        while (w.boxes[r] != NULL) {
            message *m = w.boxes[r];
            w.boxes[r] = m->next;
            free(m);
            ++lost;
        }
    }
    assert_int_equal(atomic_load(&failures), 0);
    assert_int_equal(w.freed, ranks);
    assert_true(lost == 0 || w.dead || w.behaviour.loses);
}
