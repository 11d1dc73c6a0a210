/* What a thread reports while a function is traced: each call of an operator, and what the program
 * does to tensors beside the operators. The room export makes the trace (export/trace.h); the rooms
 * below it report to these functions. */
#ifndef ADZI_BASE_TRACER_H
#define ADZI_BASE_TRACER_H

#include "base/threads/thread.h"

struct adz_operator;

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
} adzi_report;

/** The functions of a trace. Each of them records an error and fails if what is reported cannot be
 * part of a trace. */
struct adzi_tracer {
    /** A call of an operator that calls no further operator. */
    bool (*call)(adzi_tracer *tracer, const adzi_report *report);
    /** The program reads or writes elements of `t` by the public function `function`. */
    bool (*host)(adzi_tracer *tracer, const adz_tensor *t, const char *function);
    /** `op` is about to change `t`, although `t` is not its first input. */
    bool (*change)(adzi_tracer *tracer, adz_tensor *t, const char *op);
    /** A function whose result would differ in each run, such as a draw of random numbers. */
    bool (*unrepeatable)(adzi_tracer *tracer, const char *function);
    /** A call of adz_backward or adz_backward_with, in place of computing it. */
    adz_status (*backward)(
        adzi_tracer *tracer, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n);
    /** A call of adz_optimizer_step, in place of computing it. */
    adz_status (*step)(adzi_tracer *tracer, void *optimizer);
};

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
