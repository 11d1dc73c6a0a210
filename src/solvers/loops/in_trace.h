/* Loops and branches while the thread is traced: each body is called once, and its calls become a
 * region of the trace (autograd/regions.h). The arguments were checked. */
#ifndef ADZI_SOLVERS_LOOPS_IN_TRACE_H
#define ADZI_SOLVERS_LOOPS_IN_TRACE_H

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

/** A new tensor shaped like t: without its first `from` dimensions, and with another one of `front`
 * elements before them unless that is negative. */
adz_tensor *adzi_traced_like(const char *op, const adz_tensor *t, int from, int64_t front);

/** adzi_region_report. */
bool adzi_traced_report(const adzi_op *op, adz_tensor *const *in, size_t n_in,
    adz_tensor *const *results, size_t n_results, const adzi_region_attr *attr);

#endif
