/* What a thread carries: error, scopes, modes, free lists. It hangs on one pointer. */
#ifndef ADZI_TENSOR_THREAD_H
#define ADZI_TENSOR_THREAD_H

#include "adze/base.h"
#include "adze/tensor.h"
#include "tensor/alloc.h"

enum {
    ADZI_MESSAGE_SIZE = 4096,
    ADZI_TEXT_SIZE = 160, /* one formatted shape or number */
    ADZI_TEXTS = 8        /* of which this many may stand in one message */
};

/** One step of the module path that error messages start with. */
typedef struct adzi_path {
    const struct adzi_path *outer;
    const char *name;
    const void *owner; /* the module at this step */
} adzi_path;

typedef struct adzi_error_record {
    adz_status code;
    const char *op;
    char text[ADZI_MESSAGE_SIZE];
    bool sited; /* a source line has been appended */
} adzi_error_record;

struct adz_scope {
    struct adzi_thread *thread;
    adz_scope *outer; /* the scope it was opened in; NULL for the root */
    adz_scope *inner; /* kept for reuse at the next depth */
    size_t start;     /* its first temporary */
    bool open;
};

typedef struct adzi_thread {
    adzi_cache cache;
    adz_context *context; /* never NULL */
    adz_tensor **temporaries;
    size_t n_temporaries, temporaries_capacity;
    adz_scope root;
    adz_scope *scope; /* the innermost open one */
    bool grad_enabled;
    bool anomaly;
    bool draining; /* a loop that frees a graph is running */
    struct adzi_node *dead_nodes;
    uint64_t sequence; /* of the newest node */
    const adzi_path *path;
    adzi_error_record error;
    char texts[ADZI_TEXTS][ADZI_TEXT_SIZE];
    unsigned next_text;
    struct adzi_thread *next, *previous; /* all threads, for exact counts */
} adzi_thread;

extern __thread adzi_thread *adzi_thread_current __attribute__((tls_model("initial-exec")));

ADZI_COLD adzi_thread *adzi_thread_begin(void);

/** This thread's state, made on first use. Never NULL. */
static inline adzi_thread *adzi_self(void)
{
    adzi_thread *thread = adzi_thread_current;
    return ADZI_LIKELY(thread != NULL) ? thread : adzi_thread_begin();
}

/** Calls `visit` for every thread's state, under the lock that guards the list. */
void adzi_threads_each(void (*visit)(adzi_thread *thread, void *user), void *user);

/* ---- scopes --------------------------------------------------------------------------------- */

/** Makes room so that the next `n` adzi_borrow calls cannot fail. */
ADZI_COLD bool adzi_scope_reserve_slow(adzi_thread *thread, size_t n);

static inline bool adzi_scope_reserve(adzi_thread *thread, size_t n)
{
    return ADZI_LIKELY(thread->n_temporaries + n <= thread->temporaries_capacity) ||
           adzi_scope_reserve_slow(thread, n);
}

/** Gives one reference of `t` to the innermost scope; room must have been reserved. */
static inline adz_tensor *adzi_borrow(adzi_thread *thread, adz_tensor *t)
{
    thread->temporaries[thread->n_temporaries++] = t;
    return t;
}

/** The next call for a tensor that is not the newest temporary. */
adz_tensor *adzi_scope_take_slow(adzi_thread *thread, size_t mark, adz_tensor *t);

/**
 * Takes a reference back from the innermost scope, if `t` is among its newest temporaries after
 * `mark`; else a new one. Either way the caller owns one reference more.
 */
static inline adz_tensor *adzi_scope_take(adzi_thread *thread, size_t mark, adz_tensor *t)
{
    const size_t n = thread->n_temporaries;
    if (ADZI_LIKELY(n > mark && thread->temporaries[n - 1] == t)) {
        thread->n_temporaries = n - 1;
        return t;
    }
    return adzi_scope_take_slow(thread, mark, t);
}

/** Releases the temporaries from `mark` (an earlier n_temporaries) on. */
void adzi_scope_unwind(adzi_thread *thread, size_t mark);

/** Gives back what the thread keeps for later scopes, unless one is open. */
void adzi_thread_trim(adzi_thread *thread);

#endif
