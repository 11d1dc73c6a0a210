/* Scans that compute their steps again in the backward (adz_scan_options.checkpoint). */
#ifndef ADZI_SOLVERS_LOOPS_CHECKPOINT_H
#define ADZI_SOLVERS_LOOPS_CHECKPOINT_H

#include "solvers/loops/loops.h"

/** Steps of a scan that are computed again together. */
typedef struct adzi_loop_chunk {
    int64_t begin, n; /* the first step, and how many there are */
    adz_tensor **x;   /* input i of step k of the chunk is x[i * n + k] */
    adz_tensor **y;   /* receives result j of step k as y[j * n + k], borrowed */
} adzi_loop_chunk;

/** The number of steps of a chunk of a scan: about the square root of its length. */
int64_t adzi_loop_chunk_steps(const adzi_loop *loop, int64_t length);

/**
 * Calls the body for the steps of a chunk without a graph, and makes one node of them. The backward
 * of the node calls the body again. Behind the loop's mark, only the carries and the results are
 * left. The loop runs behind its door. False with the error recorded.
 */
bool adzi_loop_chunk_run(adzi_loop *loop, adzi_loop_chunk *chunk);

#endif
