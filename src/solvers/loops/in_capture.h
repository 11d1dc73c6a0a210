/* Loops and branches that a plan captures. The arguments were checked. */
#ifndef ADZI_SOLVERS_LOOPS_IN_CAPTURE_H
#define ADZI_SOLVERS_LOOPS_IN_CAPTURE_H

#include "solvers/loops/loops.h"

/** adz_while. `loop` has begun. The results are its carries; *count and *ended are tensors. False
 * with the error recorded. */
bool adzi_while_in_capture(adzi_loop *loop, adz_loop_condition condition, int64_t most,
    adz_tensor **count, adz_tensor **ended);

/** adz_branch. `bodies` are that for a predicate that is not 0, and the other one. False with the
 * error recorded. */
bool adzi_branch_in_capture(adz_tensor *predicate, const adz_loop_body bodies[2], void *user,
    adz_tensor *const *inputs, size_t n_results, adz_tensor **results);

#endif
