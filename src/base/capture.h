/* The seam between a running function and the plan that captures it (src/plan).
 *
 * Note [What a capture sees]
 * While a plan captures a call, the adzi_thread of the calling thread has a capture. It is told of
 * every launch, of every block of memory that is allocated or freed, of the elements of every new
 * tensor, and of every tensor that is written in place. A kernel may itself launch, allocate and
 * free; that belongs to the kernel and is not told.
 *
 * A public function that is no operator belongs to one of three classes.
 *
 * - It is refused (adzi_is_captured). This is the rule. Such a function hands contents of tensors
 *   to the program, takes them from it, does what is seen outside the program, or makes an object
 *   whose memory a launch refers to.
 * - It may be called, and a replay has nothing to do: the function reads or sets what stays as it
 *   is from run to run. A change between two runs is noticed before the next run.
 * - It is repeated. Its work consists of launches, or of host code in adzi_repeat: code that looks
 *   at the result of a launch in order to fail, or that changes numbers between two launches (the
 *   rate of a schedule). A replay runs it again at its position.
 *
 * src/plan/captured.txt lists the functions of the second and the third class. A new function is
 * on no list, so it has to be refused: the sweep of plans (tests/sweep/plans) calls every public
 * function while a plan captures, and accepts an error or the bits of ordinary calls.
 */
#ifndef ADZI_BASE_CAPTURE_H
#define ADZI_BASE_CAPTURE_H

#include "base/isa.h"
#include "base/threads/parallel.h"
#include "base/threads/thread.h"
#include "base/tracer.h"

/** A part of a step that the host computes. The arguments are a plain struct, as those of a kernel
 * are. After a failure the error has been recorded. */
typedef adz_status (*adzi_host_function)(const void *args);

typedef struct adzi_capture adzi_capture;

struct adz_module;
struct adz_optimizer;
struct adzi_gradient;

/** Where a loop is whose steps make the same launches each time. */
typedef enum adzi_loop_mark {
    ADZI_LOOP_BEGINS, /**< its first step comes */
    ADZI_LOOP_STEP,   /**< a step comes, also the first */
    ADZI_LOOP_ENDS    /**< its last step has ended */
} adzi_loop_mark;

/** The output and the inputs of an elementwise launch. */
enum { ADZI_ELEMENTWISE_OPERANDS = 5 };

struct adzi_capture {
    void (*launched)(adzi_capture *capture, adzi_kernel kernel, const void *args,
        const adzi_args_layout *layout, size_t size, int64_t units, int64_t grain);
    /** The launch that follows is elementwise: element i of its output depends on element i of its
     * inputs, which broadcast. `items` are the bytes of an element of the output and of each input,
     * then 0. Its arguments are adzi_pointwise_args, or those of a fill, which has no input. */
    void (*elementwise)(adzi_capture *capture, const uint8_t *items, bool fills);
    void (*repeated)(adzi_capture *capture, adzi_host_function function, const void *args,
        const adzi_args_layout *layout, size_t size);
    /** The launches that follow update a parameter. They use `n` tensors: the parameter, its
     * gradient, states of the optimizer. With 0 the update has ended. */
    void (*updates)(adzi_capture *capture, adz_tensor *const *tensors, int n);
    void (*allocated)(adzi_capture *capture, char *block, size_t bytes);
    void (*freed)(adzi_capture *capture, char *block, size_t bytes);
    /** Kernels use the bytes at `data`, a part of a block that was allocated: the elements of a
     * tensor, or working memory. */
    void (*stored)(adzi_capture *capture, char *data, size_t bytes);
    /** The host has written the elements of a new tensor: they are constants of the captured call.
     */
    void (*constant)(adzi_capture *capture, adz_tensor *t);
    /** An operator has changed a tensor in place. */
    void (*written)(adzi_capture *capture, adz_tensor *t);
    /** Whether the host may read and write the elements: the call has made the tensor, and no
     * kernel has used it yet. It is a constant of the captured call from then on. */
    bool (*host_may_use)(adzi_capture *capture, const adz_tensor *t);
    /** Whether the host may read the elements: the call has not computed them. If they are written
     * in place later, the call is not replayed. */
    bool (*host_may_read)(adzi_capture *capture, const adz_tensor *t);
    /** The call uses a number that the program has computed, or that follows from such numbers. */
    void (*number)(adzi_capture *capture, double value);
    /** The call depends on whether a leaf has a gradient, or on where that is. */
    void (*gradient)(adzi_capture *capture, struct adzi_gradient *gradient);
    /** The source line of the call that has ended last, under ADZ_SITES. */
    void (*sited)(adzi_capture *capture, const char *file, int line);
    /** A buffer of a module was replaced. The name is the module's own copy. `old` is the tensor
     * before, which may end now. */
    void (*replaced)(
        adzi_capture *capture, struct adz_module *module, const char *name, adz_tensor *old);
    /** The call depends on the modes of a module and of all modules below it. */
    void (*uses_modes)(adzi_capture *capture, const struct adz_module *module);
    /** An operator was called with `n` tensors, some of which may be ADZ_NONE. */
    void (*entered)(adzi_capture *capture, const char *op, adz_tensor *const *in, int n);
    /** Whether launches have computed the elements of a tensor that the call has made. */
    bool (*computed)(adzi_capture *capture, const adz_tensor *t);
    /** The elements of `t` are about to be changed, by an operator in place or as statistics. NULL
     * unless the plan puts everything back. */
    void (*changes)(adzi_capture *capture, adz_tensor *t);
    /** An optimizer is about to prepare a step. NULL unless the plan puts everything back. */
    void (*steps)(adzi_capture *capture, struct adz_optimizer *optimizer);
    /** A loop of the public function `op` is at a mark, with this step. */
    void (*loop)(adzi_capture *capture, const char *op, adzi_loop_mark mark, int64_t step);
    /** The captured function was left by a jump, and the capture has ended. May be NULL. */
    void (*abandoned)(adzi_capture *capture);
    const char *op;   /* the operator that runs, for messages */
    double grad_norm; /* what adz_clip_grads has computed in the last run; NaN before */
    bool inside;      /* a captured kernel is running */
    bool attempt;     /* the library has chosen to capture, and the program knows nothing of it */
    bool gave_up;     /* what cannot be captured has ended the attempt: adzi_capture_gives_up */
};

/** The capture of the calling thread, or NULL if no plan captures or a kernel runs. */
static inline adzi_capture *adzi_capture_of(const adzi_thread *thread)
{
    adzi_capture *capture = thread->capture;
    return capture != NULL && !capture->inside ? capture : NULL;
}

/**
 * Lets the thread do something that belongs to no captured call, such as making what lives longer
 * than the call and is made once only. Returns what adzi_capture_resume takes, which may be NULL.
 */
static inline adzi_capture *adzi_capture_pause(void)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->inside = true;
    }
    return capture;
}

static inline void adzi_capture_resume(adzi_capture *paused)
{
    if (paused != NULL) {
        paused->inside = false;
    }
}

/** Names the call that the thread begins, for messages about its launches. */
static inline void adzi_capture_name(const char *op)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->op = op;
    }
}

/** Tells the capture of the thread, if there is one, of a number that a call uses. Launches are
 * compared as bytes if the compiler knows which of them are defined. Numbers are compared in any
 * case. */
static inline void adzi_capture_number(double value)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->number(capture, value);
    }
}

/** Tells the capture of the thread, if there is one, that the call depends on a gradient. */
static inline void adzi_capture_gradient(struct adzi_gradient *gradient)
{
    adzi_capture *capture = gradient != NULL ? adzi_capture_of(adzi_self()) : NULL;
    if (capture != NULL) {
        capture->gradient(capture, gradient);
    }
    adzi_trace_gradient(gradient, false);
}

/** Ends a capture of the thread that is only an attempt, because something comes that it cannot
 * hold. The call goes on as an ordinary one, without an error. False if there is no such capture.
 */
static inline bool adzi_capture_gives_up(void)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture == NULL || !capture->attempt) {
        return false;
    }
    capture->inside = capture->gave_up = true; /* nothing is told any more */
    return true;
}

/** Tells the capture of the thread, if it wants to know, that elements of `t` are about to be
 * changed. Call it before launches that write to a tensor which may be older than the call. */
static inline void adzi_capture_changes(adz_tensor *t)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && capture->changes != NULL) {
        capture->changes(capture, t);
    }
}

/** Tells the capture of the thread, if there is one, where a loop is. Launches that repeat
 * themselves, in it and in its backward, then become loops of the plan. */
static inline void adzi_capture_loop(const char *op, adzi_loop_mark mark, int64_t step)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && capture->loop != NULL) {
        capture->loop(capture, op, mark, step);
    }
}

/** ADZ_OK unless a plan captures that puts everything back, which includes nothing of `what`. The
 * error is recorded then, and names the function `op`. */
adz_status adzi_capture_keeps(const char *op, const char *what);

/** Makes a capture that of the calling thread. */
void adzi_capture_begin(adzi_capture *capture);

/** Ends the capture of the calling thread. Does nothing if there is none. */
void adzi_capture_end(void);

/** Runs a function of the host now, and at this position of every replay. */
adz_status adzi_repeat_sized(
    adzi_host_function function, const void *args, const adzi_args_layout *layout, size_t size);

/** adzi_repeat_sized with a struct of arguments, whose addresses a line beside it names
 * (ADZI_ADDRESSES). */
#define adzi_repeat(function, type, args) \
    ADZI_WITH_LAYOUT(                     \
        type, adzi_repeat_sized((function), ADZI_ARGS_OF(type, args), &adzi_layout, sizeof(type)))

/** adzi_alloc for memory that kernels write and read, and that is no tensor. A plan gives it
 * another position. NULL if memory was refused. */
void *adzi_alloc_for_kernels(size_t bytes);

/** Whether a plan captures on the calling thread. If so, the error says that `op` cannot be
 * captured, and `why`, which is a clause with "because". An attempt gives up instead. */
bool adzi_is_captured(const char *op, const char *why);

/** Begins the body of a public function that is refused while a plan captures: `failure` is what
 * it then returns, which may be empty. */
#define ADZI_NOT_CAPTURED(why, failure)        \
    do {                                       \
        if (adzi_is_captured(__func__, why)) { \
            return failure;                    \
        }                                      \
    } while (0)

#define ADZI_ACTS          "a replay would not do it again"
#define ADZI_MAKES_OBJECT  "a replay would not make the object again"
#define ADZI_READS_SETTING "the program gets a number that may be another one in each run"
#define ADZI_USES_ELEMENTS "it reads or writes elements on the host"

/** Whether the host may read and write the elements of `t` now. It may not if a plan captures and
 * `t` is no constant of the captured call, or if a trace runs and its calls have computed `t`. If
 * not, the error says that `op` cannot be captured, and `why`, which is a clause with "because". */
bool adzi_host_may_touch(const char *op, const adz_tensor *t, const char *why);

/** Counts the changes of settings on which the launches of a function may depend: parameters of
 * modules, precision, hooks, options of optimizers. */
extern _Atomic(uint64_t) adzi_settings_epoch;

/** How many captures have begun in the process, and how many of them run. */
extern _Atomic(uint64_t) adzi_captures_begun;
extern _Atomic(int) adzi_captures_running;

/** What an object notes when it is made: see adzi_is_older_than_a_capture. */
static inline uint64_t adzi_captures_before(void)
{
    return atomic_load(&adzi_captures_running) == 0 ? atomic_load(&adzi_captures_begun) + 1 : 0;
}

/** Whether a captured call may depend on an object: none does if no capture has run since the
 * object was made. A network that is built beside a plan does not end the plan. */
static inline bool adzi_is_older_than_a_capture(uint64_t noted)
{
    return noted == 0 || noted != atomic_load(&adzi_captures_begun) + 1;
}

/** A setting has changed. What a captured function changes itself is part of the function. */
static inline void adzi_settings_changed(void)
{
    if (adzi_self()->capture == NULL) {
        atomic_fetch_add_explicit(&adzi_settings_epoch, 1, memory_order_relaxed);
    }
}

#endif
