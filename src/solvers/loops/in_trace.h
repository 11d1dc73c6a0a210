/* Loops and branches while the thread is traced: each body is called once, and its calls become a
 * region of the trace (autograd/regions.h). The arguments were checked. */
#ifndef ADZI_SOLVERS_LOOPS_IN_TRACE_H
#define ADZI_SOLVERS_LOOPS_IN_TRACE_H

#include "autograd/op.h"
#include "autograd/regions.h"
#include "solvers/loops/loops.h"

/** adz_scan over `length` steps. `loop` has the body and the numbers of tensors. */
adz_status adzi_scan_in_trace(adzi_loop *loop, adz_tensor *const *carries,
    adz_tensor *const *inputs, int64_t length, bool reverse, adz_tensor **results);

/** adz_while. `count` and `ended` may be NULL. */
adz_status adzi_while_in_trace(adzi_loop *loop, adz_loop_condition condition,
    adz_tensor *const *carries, int64_t most, adz_tensor **results, adz_tensor **count,
    adz_tensor **ended);

/** adz_branch. `bodies` are that for a predicate that is not 0, and the other one. */
adz_status adzi_branch_in_trace(const char *op, adz_tensor *predicate,
    const adz_loop_body bodies[2], void *user, adz_tensor *const *inputs, size_t n_results,
    adz_tensor **results);

/* ---- what they share ------------------------------------------------------------------------- */

/** A new tensor shaped like t: without its first `from` dimensions, and with another one of `front`
 * elements before them unless that is negative. */
adz_tensor *adzi_traced_like(const char *op, const adz_tensor *t, int from, int64_t front);

/** New tensors shaped like those of a list. False with the error recorded. */
bool adzi_traced_make_like(const char *op, adz_tensor **to, adz_tensor *const *like, size_t n);

void adzi_traced_copy_all(adz_tensor *const *to, adz_tensor *const *from, size_t n);

/** Element t of the first dimension, as a header on the caller's stack. */
adz_tensor adzi_traced_element(const adz_tensor *all, int64_t t);

/** adzi_region_report. */
bool adzi_traced_report(const adzi_op *op, adz_tensor *const *in, size_t n_in,
    adz_tensor *const *results, size_t n_results, const adzi_region_attr *attr);

static inline bool adzi_traced_is_float(const adz_tensor *t)
{
    return adzi_is_float((adz_dtype)t->dtype);
}

/** The backward of loops and branches in a function whose file has none: in ONNX. */
adz_status adzi_traced_refuse_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** Whether some tensor wants a gradient. */
bool adzi_traced_any_wants(adz_tensor *const *tensors, size_t n);

/* ---- steps: scans and while loops ------------------------------------------------------------ */

/** A loop whose body is traced. */
typedef struct adzi_traced_steps {
    const adzi_op *op; /* of its node: adzi_scan_node or adzi_while_node */
    adzi_region_attr attr;
    size_t n_carries, n_inputs, n_results;
    adz_tensor **outer; /* the carries, and behind them the inputs of all steps */
    adz_tensor **in;    /* the same as one step sees them; NULL for those that are to be made */
    adz_tensor **out;   /* the new carries, the results of the step, and the carries before it */
    adz_tensor **found; /* the last carries, the stacked results, and all carries, stacked */
    adz_tensor *count;  /* the number of steps, if that is known in each run only; else NULL */
    bool records;       /* the carries are kept, and the loop gets a node */
    size_t begin;       /* the call that has begun the body */
} adzi_traced_steps;

extern const adzi_op adzi_scan_node, adzi_while_node;

/** Begins the region of a scan. False with the error recorded. */
bool adzi_steps_begin(adzi_traced_steps *s);

/** Ends it. */
bool adzi_steps_end(adzi_traced_steps *s);

/** Gives the results a node if a carry, an input or something captured wants a gradient. */
bool adzi_steps_record(const adzi_traced_steps *s);

/** What the node of a loop knows. */
typedef struct adzi_recorded_steps {
    uint64_t trace; /* its number */
    uint64_t begin;
    int64_t steps;
    int n_carries, n_inputs, n_results, n_captured;
    bool reverse, counted; /* counted: the node has the number of steps */
} adzi_recorded_steps;

/** The slot of the node in which the number of steps is saved. */
static inline int adzi_recorded_count(const adzi_recorded_steps *r)
{
    return 3 * r->n_carries + r->n_inputs + r->n_results;
}

/** The backward of such a node. */
adz_status adzi_steps_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** Whether the trace `number` runs. Records an error that names `op` if not. */
bool adzi_traced_runs(const char *op, uint64_t number);

#endif
