/* Regions: loops and branches in a trace. While the thread is traced, a body is called once, and
 * not once for each step. Its calls stand in the trace as a region: behind a call that begins it
 * and before one that ends it. These calls compute nothing by themselves:
 *
 *     scan         takes the carries, the inputs of all steps, and the number of steps (int64
 *                  []) if that is known in each run only; gives the carries and the inputs as the
 *                  body sees them in one step
 *     scan_end     takes the carries and the results of that step; gives the last carries and the
 *                  results of all steps, stacked
 *     while_loop   takes the carries; gives them as the condition and the body see them
 *     while_test   takes what the condition gives; the calls of the body follow
 *     while_end    takes the new carries, and in addition the old ones if a gradient is wanted;
 *                  gives the last carries, the old ones of all steps, stacked, the number of steps
 *                  (int64 []), and whether the condition does not hold any more (bool [])
 *     branch       takes the predicate; the calls of the first body follow
 *     branch_else  takes the results of the first body; the calls of the second one follow
 *     branch_end   takes the results of the second body; gives those of the one that ran
 *
 * What a body captures are values from before the region. A region may contain others. */
#ifndef ADZI_AUTOGRAD_REGIONS_H
#define ADZI_AUTOGRAD_REGIONS_H

#include "autograd/op.h"

/** The attributes of these calls. */
typedef struct adzi_region_attr {
    int64_t steps; /* of a scan; of a while loop or a scan with a count, the most that it makes */
    int carries;   /* the first tensors of a call; those behind them belong to single steps */
    bool reverse;  /* a scan begins at the last step */
} adzi_region_attr;

extern const adzi_op adzi_op_scan, adzi_op_scan_end;
extern const adzi_op adzi_op_while_loop, adzi_op_while_test, adzi_op_while_end;
extern const adzi_op adzi_op_branch, adzi_op_branch_else, adzi_op_branch_end;

/** The tensors of a call. */
typedef struct adzi_region_tensors {
    adz_tensor *const *items;
    int count;
} adzi_region_tensors;

/**
 * Reports one of these calls to the trace of the thread. Until adzi_region_ready, the results may
 * be given elements: those of one step, which the calls of a body need in order to run.
 *
 * @param results  new tensors with memory of their own
 * @return         false if the trace refused the call, with the error recorded
 */
bool adzi_region_report(const adzi_op *op, adzi_region_tensors in, adzi_region_tensors results,
    const adzi_region_attr *attr);

/** The results have their elements. */
void adzi_region_ready(void);

#endif
