/* The state of a thread: error record, scopes, modes, free lists. A single thread-local pointer
 * leads to it. */
#ifndef ADZI_BASE_THREAD_H
#define ADZI_BASE_THREAD_H

#include "adze/base.h"
#include "base/threads/cache.h"

/** The context of the process (base/context.h). A thread uses it unless it chose another one. */
extern adz_context adzi_context_default;

/** How many threads a context allows; 0 for the number of processors. */
int adzi_context_threads(const adz_context *context);

enum {
    ADZI_MESSAGE_SIZE = 4096,
    ADZI_TEXT_SIZE = 160, /* bytes of one formatted shape or number */
    ADZI_TEXTS = 8        /* how many of these texts one message may use */
};

struct adzi_run;
struct adzi_draws;
struct adzi_tracer;
struct adzi_capture;
struct adzi_reading;

/**
 * A running call that runs the user's code, with the modes of the thread when it began. See
 * Note [Calls that are left by a jump].
 */
typedef struct adzi_frame {
    uintptr_t floor;      /* functions that this call calls have their stack frames below */
    const void *owner;    /* the module that is called, which messages name in the path, or NULL */
    char *text;           /* another step of that path, such as a file; owned; or NULL */
    struct adzi_run *run; /* the backward that runs in this call, or NULL */
    struct adzi_draws *draws;     /* the innermost list of draws when the call began */
    bool granted;                 /* memory was not refused when the call began */
    struct adzi_tracer *tracer;   /* the running trace when the call began, or NULL */
    struct adzi_capture *capture; /* the thread's when the call began, or NULL */
    struct adzi_reading *reading; /* of the running call when this one began, or NULL */
    struct adzi_node *deriving;   /* the thread's when the call began, or NULL */
    bool grad_enabled, anomaly;
} adzi_frame;

enum { ADZI_FIRST_FRAMES = 16 };

typedef struct adzi_error_record {
    adz_status code;
    const char *op;
    char text[ADZI_MESSAGE_SIZE];
    bool sited;     /* a source line has been appended */
    bool heard;     /* a callback has got it, or the program has read the message */
    bool printed;   /* it was printed, because nobody had heard of it */
    size_t refused; /* calls that it refused; those that only hand a NULL on do not count */
} adzi_error_record;

struct adz_scope {
    struct adzi_thread *thread;
    adz_scope *outer; /* the scope in which it was opened; NULL for the root */
    adz_scope *inner; /* the struct for a scope opened inside, kept for reuse; or NULL */
    size_t start;     /* index of its first temporary in the thread's stack */
    bool open;
};

typedef struct adzi_thread {
    adzi_cache cache;
    adz_context *context;     /* never NULL */
    adz_tensor **temporaries; /* a stack of the tensors that the thread's scopes hold */
    size_t n_temporaries, temporaries_capacity;
    adz_scope root;
    adz_scope *scope; /* the innermost open one */
    bool grad_enabled;
    bool anomaly;
    bool draining;                /* a loop that frees a graph is running */
    bool warned_root;             /* the warning that the root scope holds many tensors was given */
    struct adzi_node *dead_nodes; /* nodes whose last reference is gone, waiting to be freed */
    uint64_t sequence;            /* the sequence number of the newest node */
    void (*after_node)(void *user); /* called after each node of a backward; NULL for none */
    void *after_node_user;
    struct adzi_draws *draws;     /* the running lists of draws, innermost first; or NULL */
    struct adzi_tracer *tracer;   /* gets reports of all calls (base/tracer.h); NULL: no trace */
    struct adzi_capture *capture; /* of the function that a plan captures, or NULL */
    struct adzi_reading *reading; /* of the innermost call that has arguments, or NULL */
    struct adzi_node *deriving;   /* the node whose expression a backward calls, or NULL */
    const char *composed;         /* the running composition (base/composed.h), or NULL */
    bool skips_init;              /* constructors do not draw weights (adz_set_skip_init) */
    const struct adzi_args_layout *layout; /* of the launch that begins: adzi_launch_described */
    adzi_frame *frames; /* running calls, outermost first; `first_frames` or allocated */
    size_t n_frames, frames_capacity;
    adzi_frame first_frames[ADZI_FIRST_FRAMES];
    adzi_error_record error;
    unsigned holds;       /* calls that hold reports back: Note [Reports after cleaning up] */
    adz_status held_code; /* of the report that waits for the end of these calls, or ADZ_OK */
    char held[ADZI_MESSAGE_SIZE]; /* its message */
    uintptr_t reporting;          /* the stack frame that calls the callback, or 0 */
    char texts[ADZI_TEXTS][ADZI_TEXT_SIZE];
    unsigned next_text;                  /* counts the texts; index modulo ADZI_TEXTS */
    char error_name[64];                 /* a copy of a name; see adzi_error_name */
    char build_info[640];                /* what adz_build_info returns */
    struct adzi_thread *next, *previous; /* the list of all threads, by which bytes are counted */
} adzi_thread;

extern __thread adzi_thread *adzi_thread_current __attribute__((tls_model("initial-exec")));

/** Makes the state of the calling thread. Only adzi_self calls it. */
adzi_thread *adzi_thread_begin(void);

/** Ends the state of the calling thread, if it has one. Call it when the process ends. */
void adzi_thread_end(void);

/** The state of the calling thread, made on first use. Never NULL. */
static inline adzi_thread *adzi_self(void)
{
    adzi_thread *thread = adzi_thread_current;
    return thread != NULL ? thread : adzi_thread_begin();
}

/** Calls `visit` with the state of each thread, under the lock that guards the list. */
void adzi_threads_each(void (*visit)(adzi_thread *thread, void *user), void *user);

/* ---- calls that run the user's code --------------------------------------------------------- */

/* Note [Calls that are left by a jump]
 *
 * A callback may be left by longjmp or by a C++ exception. The functions of the library between the
 * callback and the point jumped to then never return. They would have restored the path of
 * modules and the modes, and ended a running backward. What is needed for that is written into a
 * frame in the thread's state, which a jump does not destroy.
 *
 * A call is over if the library is called from a point that is no deeper in the stack than that
 * call was. The calls that usually follow a jump begin with adzi_settle, which ends the frames of
 * calls that are over. These calls clear or record an error, open or close a scope, change a mode,
 * call a module or begin a backward.
 *
 * The comparison must never take a call that still runs for one that is over. The floor of a frame
 * is therefore the address of the stack frame of the function that runs the user's code: everything
 * that is called from there lies below it. On the other hand, a call that comes directly from the
 * function that was jumped to lies a little below that function's stack frame. To recognise it,
 * ADZI_STEP_DOWN puts four kilobytes of stack between the caller and the floor.
 */

/** Ends the frames of calls that are over. */
void adzi_settle(adzi_thread *thread);

/** The floor of the frame that the calling function begins. That function must not be inlined. */
#define ADZI_FLOOR() ((uintptr_t)__builtin_frame_address(0))

/**
 * Ends the frames of calls that are over. The functions that are called after it then lie four
 * kilobytes lower on the stack. The size is hidden from the compiler, because AddressSanitizer
 * would put an array of known size outside the stack frame.
 */
#define ADZI_STEP_DOWN()                                     \
    do {                                                     \
        adzi_settle(adzi_self());                            \
        size_t adzi_step = 4096;                             \
        __asm__ volatile("" : "+r"(adzi_step));              \
        void *adzi_below = __builtin_alloca(adzi_step);      \
        __asm__ volatile("" : : "r"(adzi_below) : "memory"); \
    } while (0)

/** Makes room for more frames. False if memory was refused. */
bool adzi_frames_grow(adzi_thread *thread);

/**
 * Begins a frame for a call, after adzi_settle or ADZI_STEP_DOWN. Only base/door.h calls it.
 * Returns the index that adzi_frame_end takes, or SIZE_MAX if memory was refused; the caller then
 * records the error.
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
    f->granted = thread->cache.granted;
    f->tracer = thread->tracer;
    f->capture = thread->capture;
    f->reading = thread->reading;
    f->deriving = thread->deriving;
    f->grad_enabled = thread->grad_enabled;
    f->anomaly = thread->anomaly;
    thread->n_frames = i + 1;
    return i;
}

/** Ends the frames from `first` on, innermost first. Their calls were left by a jump. */
void adzi_frames_leave(adzi_thread *thread, size_t first);

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

/** Ends a frame and frees its text, if it has one. */
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

/** Gives one reference of `t` to the innermost scope. adzi_scope_reserve must have made room. */
static inline adz_tensor *adzi_borrow(adzi_thread *thread, adz_tensor *t)
{
    thread->temporaries[thread->n_temporaries++] = t;
    return t;
}

/** The number of tensors that the thread's root scope holds. */
static inline size_t adzi_scope_root_count(const adzi_thread *thread)
{
    const adz_scope *first = thread->scope != &thread->root ? thread->root.inner : NULL;
    return first != NULL ? first->start : thread->n_temporaries;
}

/* A format for messages: what to do if the root scope holds many tensors. */
#define ADZI_ROOT_ADVICE                                                                          \
    "this thread's root scope holds %zu tensors, which end with the thread: open a scope around " \
    "each step (adz_scope_open, adz_scope_close)"

/** Releases the temporaries from `mark` (an earlier n_temporaries) on. */
void adzi_scope_unwind(adzi_thread *thread, size_t mark);

/** Frees the memory that the thread keeps for later scopes and frames. Does nothing while a scope
 * is open or the root scope holds tensors. */
void adzi_thread_trim(adzi_thread *thread);

#endif
