/* What a plan makes of its launches to replay them, and running them. */
#ifndef ADZI_PLAN_REPLAY_H
#define ADZI_PLAN_REPLAY_H

#include "plan/plan.h"
#include "tensor/kernel/pointwise.h"

/** An address that moves by equal steps while a loop runs. */
typedef struct adzi_plan_move {
    char *word; /* where it is */
    uintptr_t step, first;
} adzi_plan_move;

/** An address that comes again after some steps. */
typedef struct adzi_plan_ring {
    adzi_plan_move move;
    int64_t length, begin; /* the positions, and that of the first step */
    int64_t position;      /* that of the step that runs */
} adzi_plan_ring;

/** How a replay runs a launch. */
typedef enum adzi_plan_way {
    ADZI_PLAN_OTHERWISE, /* by what the launch says: a chain, a mark, several threads */
    ADZI_PLAN_BY_KERNEL, /* by its kernel, on the calling thread */
    ADZI_PLAN_BY_LOOP    /* by the loop of its elementwise kernel, on the calling thread */
} adzi_plan_way;

/** What a replay reads of a launch. It is small, so that many of them fit into the first cache. */
typedef struct adzi_plan_call {
    union {
        adzi_kernel kernel;
        adzi_pointwise_loop *loop;
    } by;
    const char *args;
    int64_t units;
    uint8_t way[2]; /* outside of loops, and in a loop that runs: an adzi_plan_way */
} adzi_plan_call;

/* ---- chains.c ---- */

/** Finds the chains of elementwise launches. All addresses must be final. */
void adzi_plan_find_chains(adzi_captured_call *call);

/** Runs the launches of a chain of 2 or more. */
void adzi_plan_run_chain(const adzi_plan_launch *first);

/* ---- sums.c ---- */

/** Makes launches of products add to the matrices to which other launches would add the products,
 * and leaves these out. All addresses must be final. False if memory was refused. */
bool adzi_plan_join_sums(adzi_captured_call *call);

/* ---- loops.c ---- */

/** Notes where loops begin and where marks lead. False if memory was refused. */
bool adzi_plan_prepare_loops(adzi_captured_call *call);

/* ---- replay.c ---- */

/** Notes how each launch runs and which addresses move. Chains and loops must be known, and all
 * addresses be final. False if memory was refused. */
bool adzi_plan_prepare_replay(adzi_captured_call *call);

/** Frees what adzi_plan_prepare_replay has made. */
void adzi_plan_free_replay(adzi_captured_call *call);

/** Runs all launches. The status of a function of the host that failed, with the error recorded. */
adz_status adzi_plan_run_launches(const adzi_captured_call *call);

#endif
