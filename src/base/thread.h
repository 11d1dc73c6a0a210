/* The state of a thread: error record, scopes, modes, free lists. One thread-local pointer leads to
 * it. */
#ifndef ADZI_BASE_THREAD_H
#define ADZI_BASE_THREAD_H

#include "adze/base.h"
#include "base/alloc.h"

enum {
    ADZI_MESSAGE_SIZE = 4096,
    ADZI_TEXT_SIZE = 160, /* bytes of one formatted shape or number */
    ADZI_TEXTS = 8        /* the most of these texts in one message */
};

struct adzi_run;
struct adzi_draws;

/**
 * A running call that runs the user's code, with the modes of the thread when it began. See
 * Note [Calls that are left by a jump].
 */
typedef struct adzi_frame {
    uintptr_t floor;      /* functions that this call calls have their stack frames below */
    const void *owner;    /* the module that is called, a step of the path in messages, or NULL */
    char *text;           /* a step of the path that is no module, owned, or NULL */
    struct adzi_run *run; /* the backward that runs in this call, or NULL */
    struct adzi_draws *draws;
    bool grad_enabled, anomaly;
} adzi_frame;

enum { ADZI_FIRST_FRAMES = 16 };

typedef struct adzi_error_record {
    adz_status code;
    const char *op;
    char text[ADZI_MESSAGE_SIZE];
    bool sited; /* a source line has been appended */
} adzi_error_record;

struct adz_scope {
    struct adzi_thread *thread;
    adz_scope *outer; /* the scope it was opened in; NULL for the root */
    adz_scope *inner; /* allocated at the next depth before, and used again; or NULL */
    size_t start;     /* index of its first temporary */
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
    bool draining;    /* a loop that frees a graph is running */
    bool warned_root; /* the warning that the root scope holds many tensors was given */
    struct adzi_node *dead_nodes;
    uint64_t sequence;        /* of the newest node */
    struct adzi_draws *draws; /* the watchers of generators, innermost first */
    adzi_frame *frames;       /* running calls, outermost first; `first_frames` or allocated */
    size_t n_frames, frames_capacity;
    adzi_frame first_frames[ADZI_FIRST_FRAMES];
    adzi_error_record error;
    char texts[ADZI_TEXTS][ADZI_TEXT_SIZE];
    unsigned next_text;
    struct adzi_thread *next, *previous; /* all threads, for exact counts */
} adzi_thread;

extern __thread adzi_thread *adzi_thread_current __attribute__((tls_model("initial-exec")));

adzi_thread *adzi_thread_begin(void);

/** This thread's state, made on first use. Never NULL. */
static inline adzi_thread *adzi_self(void)
{
    adzi_thread *thread = adzi_thread_current;
    return thread != NULL ? thread : adzi_thread_begin();
}

/** Calls `visit` for every thread's state, under the lock that guards the list. */
void adzi_threads_each(void (*visit)(adzi_thread *thread, void *user), void *user);

/* ---- calls that run code of the user's ------------------------------------------------------ */

/* Note [Calls that are left by a jump]
 *
 * A callback may be left by longjmp or by a C++ exception, and then the functions of the library
 * between it and the place jumped to never end. What they would have put right is written down in a
 * frame that lies in the thread's state, not on the stack: the path of modules, the modes, a
 * running backward. Such a call is known to be over once the library is called from a place that is
 * no deeper in the stack than the call was. So calls of the kind that follows a jump (clearing the
 * error, opening or closing a scope, calling a module, a backward, modes, recording an error) begin
 * with adzi_settle, which ends what is over.
 *
 * The comparison must never take a call that still runs for one that is over. The floor of a frame
 * is therefore the address of the stack frame of the function that runs the user's code, and
 * whatever is called from there lies strictly below it. The other way round, a call directly from
 * the function that was jumped to should be recognised although its own stack frame is a little
 * lower; ADZI_STEP_DOWN puts two kilobytes between the caller and the floor.
 */

/** Ends the frames of calls that are over. */
void adzi_settle(adzi_thread *thread);

/** The floor of a frame that the calling function begins; that one must not be inlined. */
#define ADZI_FLOOR() ((uintptr_t)__builtin_frame_address(0))

/**
 * Ends the frames of calls that are over, then makes the functions that are called after it lie two
 * kilobytes lower on the stack. The size is hidden from the compiler, since AddressSanitizer would
 * move an array of known size elsewhere.
 */
#define ADZI_STEP_DOWN()                                     \
    do {                                                     \
        adzi_settle(adzi_self());                            \
        size_t adzi_step = 2048;                             \
        __asm__ volatile("" : "+r"(adzi_step));              \
        void *adzi_below = __builtin_alloca(adzi_step);      \
        __asm__ volatile("" : : "r"(adzi_below) : "memory"); \
    } while (0)

/** Makes room for more frames. False if memory was refused. */
bool adzi_frames_grow(adzi_thread *thread);

/**
 * Begins a frame for a call, after adzi_settle or ADZI_STEP_DOWN. Returns the index that
 * adzi_frame_end takes, or SIZE_MAX if memory was refused; the caller then records the error.
 */
static inline size_t adzi_frame_begin(adzi_thread *thread, uintptr_t floor, const void *owner)
{
    const size_t i = thread->n_frames;
    if (i == thread->frames_capacity && !adzi_frames_grow(thread)) {
        return SIZE_MAX;
    }
    adzi_frame *f = &thread->frames[i];
    f->floor = floor;
    f->owner = owner;
    f->text = NULL;
    f->run = NULL;
    f->draws = thread->draws;
    f->grad_enabled = thread->grad_enabled;
    f->anomaly = thread->anomaly;
    thread->n_frames = i + 1;
    return i;
}

/** Ends the frames from `first` on, innermost first. Their calls were left by a jump. */
void adzi_frames_leave(adzi_thread *thread, size_t first);

/**
 * Begins a frame in which nothing is recorded; adzi_frames_leave(thread, index) ends it and
 * restores the mode. SIZE_MAX with the error recorded under `op` if memory was refused.
 */
size_t adzi_frame_begin_no_grad(adzi_thread *thread, uintptr_t floor, const char *op);

/** Ends the frame of a call that returns. Frames above it belong to calls that were left by a jump.
 */
static inline void adzi_frame_end(adzi_thread *thread, size_t index)
{
    if (thread->n_frames > index + 1) {
        adzi_frames_leave(thread, index + 1);
    }
    if (thread->n_frames > index) {
        thread->n_frames = index;
    }
}

/** adzi_frame_begin for a step of the path that is no module. SIZE_MAX with the error recorded if
 * memory was refused. */
size_t adzi_frame_begin_text(
    adzi_thread *thread, uintptr_t floor, const char *op, const char *text);
void adzi_frame_end_text(adzi_thread *thread, size_t index);

/** Removes a module that ends from the paths of running calls. */
void adzi_frames_forget(adzi_thread *thread, const void *owner);

/* ---- scopes --------------------------------------------------------------------------------- */

/** Grows the stack of temporaries to hold `n` more. False if memory was refused. */
bool adzi_scope_grow(adzi_thread *thread, size_t n);

/** Makes room so that the next `n` adzi_borrow calls cannot fail. False if memory was refused. */
static inline bool adzi_scope_reserve(adzi_thread *thread, size_t n)
{
    return thread->n_temporaries + n <= thread->temporaries_capacity || adzi_scope_grow(thread, n);
}

/** Gives one reference of `t` to the innermost scope; room must have been reserved. */
static inline adz_tensor *adzi_borrow(adzi_thread *thread, adz_tensor *t)
{
    thread->temporaries[thread->n_temporaries++] = t;
    return t;
}

/** Tensors that the thread's root scope holds. */
static inline size_t adzi_scope_root_count(const adzi_thread *thread)
{
    const adz_scope *first = thread->scope != &thread->root ? thread->root.inner : NULL;
    return first != NULL ? first->start : thread->n_temporaries;
}

/* What to do about that many of them. */
#define ADZI_ROOT_ADVICE                                                                          \
    "this thread's root scope holds %zu tensors, which end with the thread: open a scope around " \
    "each step (adz_scope_open, adz_scope_close)"

/** Releases the temporaries from `mark` (an earlier n_temporaries) on. */
void adzi_scope_unwind(adzi_thread *thread, size_t mark);

/** Gives back what the thread keeps for later scopes, unless one is open. */
void adzi_thread_trim(adzi_thread *thread);

#endif
