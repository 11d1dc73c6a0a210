/* What a thread reports while a function is traced: each call of an operator, and what the program
 * does to tensors without operators. The room export makes the trace (export/trace.h); the rooms
 * below it report to these functions. */
#ifndef ADZI_BASE_TRACER_H
#define ADZI_BASE_TRACER_H

#include "base/threads/thread.h"

struct adz_operator;
struct adz_optimizer;
struct adzi_gradient;

typedef struct adzi_tracer adzi_tracer;

/** One call of an operator: its inputs have been checked and converted and its results made, but
 * their elements have not been computed. Nothing here outlives the report. */
typedef struct adzi_report {
    const struct adz_operator *op;
    adz_tensor *const *in; /* ADZ_NONE for an input that was left out */
    int n_in;
    adz_tensor *const *results;
    int n_results;
    const void *attr; /* the operator's attributes, NULL if it has none */
    size_t attr_size;
    bool inplace; /* results[0] is in[0], whose old elements will be overwritten */
    bool records; /* the call will have a node, unless a trace gives the results another one */
} adzi_report;

/** The position of a parameter in an optimizer: parameter `i` of a group. */
typedef struct adzi_parameter_position {
    struct adz_optimizer *optimizer;
    size_t group, i;
} adzi_parameter_position;

/**
 * The functions of a trace. Each of them records an error and fails if what is reported cannot be
 * part of a trace.
 *
 * Note [Nothing outside the trace]
 * What a traced function computes reaches the trace through reports of calls only. Elements that
 * are computed in another way would become constants of the exported file. Two checks exclude
 * this, whatever the code between the calls does:
 *
 * - A launch is allowed in an operator, from its adzi_enter to its adzi_leave or to the report of
 *   a view (`open`), and in code that says that it depends on no tensor of the function
 *   (adzi_trace_open). Any other launch is an error.
 * - A tensor that was made while the trace ran, and that a call then uses, must be a result of a
 *   reported call, or a constant that its maker declares (adzi_trace_constant). So loops of the
 *   host are found as well, and tensors that an operator computes in addition to its results.
 */
struct adzi_tracer {
    /** A call of an operator that calls no further operator. */
    bool (*call)(adzi_tracer *tracer, const adzi_report *report);
    /** The program reads or writes elements of `t` by the public function `function`. */
    bool (*host)(adzi_tracer *tracer, const adz_tensor *t, const char *function);
    /** `op` is about to change `t`, although `t` is not its first input. */
    bool (*change)(adzi_tracer *tracer, adz_tensor *t, const char *op);
    /** An operator begins with `n` tensors, some of which may be ADZ_NONE. */
    void (*entered)(adzi_tracer *tracer, adz_tensor *const *in, int n);
    /** Traced calls are about to move running statistics by those of a batch. */
    void (*moves_statistics)(adzi_tracer *tracer);
    /** A function whose result would differ in each run, such as a draw of random numbers. */
    bool (*unrepeatable)(adzi_tracer *tracer, const char *function);
    /** adz_backward or adz_autograd_backward begins. After ADZ_OK it goes on, by reported calls. */
    adz_status (*backward)(adzi_tracer *tracer);
    /** adz_optimizer_step begins. After ADZ_OK it goes on, by reported calls. */
    adz_status (*step)(adzi_tracer *tracer, struct adz_optimizer *optimizer);
    /** A launch that belongs to no reported call. */
    void (*launched)(adzi_tracer *tracer);
    /** `op` has made a tensor with its own storage, whose elements are not written yet. */
    void (*made)(adzi_tracer *tracer, const adz_tensor *t, const char *op);
    /** The elements of `t` follow from numbers and data of the program alone. */
    void (*constant)(adzi_tracer *tracer, const adz_tensor *t);
    bool open;             /* launches belong to a reported call, or compute constants */
    const char *last;      /* the operator that was called last, or NULL */
    const char *backwards; /* the operator whose backward runs, or NULL */
    /** The gradient of a leaf is about to be read or changed. `replaced`: its elements, or whether
     * there is one, do not matter any more. */
    void (*gradient)(adzi_tracer *tracer, struct adzi_gradient *gradient, bool replaced);
    /** `t` is state k of an optimizer's parameter, for k >= 0, or its number -1 - k. */
    bool (*updates)(
        adzi_tracer *tracer, adz_tensor *t, const adzi_parameter_position *position, int k);
    /** `function` changes what no trace can hold; `why` is a clause. ADZ_OK lets it go on. */
    adz_status (*refuse)(adzi_tracer *tracer, const char *function, const char *why);
    /** The traced function was left by a jump. The trace has ended, and has to be undone. */
    void (*abandoned)(adzi_tracer *tracer);
    /** The call that has begun the body of a region which runs (autograd/regions.h). */
    size_t (*begun)(const adzi_tracer *tracer);
    /** Repeats the calls of the body that the call `begin` has begun, in the region that is open.
     * This one has given again what the region of the body has given to it. These tensors, and
     * those that the body has made, hold the values of the repeated calls then. */
    bool (*repeat)(adzi_tracer *tracer, size_t begin);
    /** The tensors from outside that the calls from a body's begin to the last one use and that
     * want a gradient, each once. Returns how many there are; `found` gets what it has room for. */
    size_t (*captured)(const adzi_tracer *tracer, size_t begin, adz_tensor **found, size_t room);
    uint64_t number; /* of the trace, counted from 1 */
    bool of_step; /* a whole training step is traced: what a call changes except its first input has
                  to be changed by calls, too */
};

/** Makes a tracer that of the calling thread, which has none. */
void adzi_tracer_begin(adzi_tracer *tracer);

/** Ends the trace of the calling thread. Does nothing if there is none. */
void adzi_tracer_end(void);

/** An operator begins. */
static inline void adzi_trace_enter(
    adzi_tracer *tracer, const char *op, adz_tensor *const *in, int n)
{
    if (tracer != NULL) {
        tracer->open = true;
        tracer->last = op;
        if (tracer->entered != NULL) {
            tracer->entered(tracer, in, n);
        }
    }
}

/** An operator ends. */
static inline void adzi_trace_leave(adzi_tracer *tracer)
{
    if (tracer != NULL) {
        tracer->open = false;
    }
}

/** The backward of an operator begins, or that of `op` goes on. Returns the operator whose backward
 * ran before; NULL for none. */
static inline const char *adzi_trace_backward(adzi_tracer *tracer, const char *op)
{
    const char *before = NULL;
    if (tracer != NULL) {
        before = tracer->backwards;
        tracer->backwards = op;
        tracer->open = false;
    }
    return before;
}

/** Allows or forbids launches from here on, and returns what was allowed before. Allow them for
 * what depends on no tensor of the traced function, or is read only in order to fail. */
static inline bool adzi_trace_open(bool open)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    const bool before = tracer != NULL && tracer->open;
    if (tracer != NULL) {
        tracer->open = open;
    }
    return before;
}

/** Whether a whole training step is traced. */
static inline bool adzi_trace_is_step(void)
{
    const adzi_tracer *tracer = adzi_self()->tracer;
    return tracer != NULL && tracer->of_step;
}

/** Declares that the elements of `t` depend on no tensor of the traced function. */
static inline void adzi_trace_constant(const adz_tensor *t)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer != NULL && tracer->constant != NULL && t != NULL) {
        tracer->constant(tracer, t);
    }
}

/** The gradient of a leaf is about to be read or changed; see adzi_tracer. */
static inline void adzi_trace_gradient(struct adzi_gradient *gradient, bool replaced)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer != NULL && tracer->gradient != NULL && gradient != NULL) {
        tracer->gradient(tracer, gradient, replaced);
    }
}

/** ADZ_OK unless a trace runs; the error is recorded then, and names the function. `why` is a
 * clause: "the rate would be a constant". */
static inline adz_status adzi_trace_refuse(const char *function, const char *why)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    return tracer == NULL || tracer->refuse == NULL ? ADZ_OK
                                                    : tracer->refuse(tracer, function, why);
}

/** True unless a trace runs that refuses the access; the error is recorded then. */
static inline bool adzi_host_may(const adz_tensor *t, const char *function)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    return tracer == NULL || tracer->host(tracer, t, function);
}

/** True unless a trace runs; the error is recorded then. */
static inline bool adzi_may_draw(const char *function)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    return tracer == NULL || tracer->unrepeatable(tracer, function);
}

/** Writes the path of the modules whose calls are running, outermost first ("encoder.2.ffn").
 * Returns its length, which is less than `size`. */
size_t adzi_calls_path(char *buffer, size_t size);

#endif
