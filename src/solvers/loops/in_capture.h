/* Loops and branches that a plan captures. The arguments were checked. */
#ifndef ADZI_SOLVERS_LOOPS_IN_CAPTURE_H
#define ADZI_SOLVERS_LOOPS_IN_CAPTURE_H

#include "plan/effects.h"
#include "solvers/loops/loops.h"

/** adz_while. `loop` has begun. The results are its carries; *count and *ended are tensors. False
 * with the error recorded. */
bool adzi_while_in_capture(adzi_loop *loop, adz_loop_condition condition, int64_t most,
    adz_tensor **count, adz_tensor **ended);

/** adz_branch. `bodies` are that for a predicate that is not 0, and the other one. False with the
 * error recorded. */
bool adzi_branch_in_capture(adz_tensor *predicate, const adz_loop_body bodies[2], void *user,
    adz_tensor *const *inputs, size_t n_results, adz_tensor **results);

/* ---- what while loops and branches share ----------------------------------------------------- */

/** The launches of a call that is made in order to see its results. */
typedef struct adzi_probe {
    int64_t begin, end;
    bool skipped; /* the calls around it are not computed either */
} adzi_probe;

/** From here on, launches are recorded and left out of the plan. */
adzi_probe adzi_begin_probe(void);

void adzi_end_probe(const adzi_probe *probe);

/** One element of a condition as a bool scalar. NULL with the error recorded. */
adz_tensor *adzi_truth_of(const char *op, const char *what, adz_tensor *t);

/** Whether the element of a tensor of adzi_truth_of is true. Its launches have been computed. */
bool adzi_is_true(const adz_tensor *truth);

/** Whether launches are recorded without being computed: those of a body around this call, which
 * does not run. */
bool adzi_is_skipped(void);

bool adzi_any_requires_grad(adz_tensor *const *tensors, size_t n);

/** Whether nothing older has been changed since a position. Records an error if not. */
bool adzi_is_unseen(const char *op, const char *part, const char *why, adzi_plan_position from);

#endif
