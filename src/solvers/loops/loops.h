/* What scans, while loops and branches share (adze/loops.h).
 *
 * A loop keeps no references of its own: the scope around it has every tensor, and its lists lie in
 * the memory of a tensor. So nothing is left behind if a body is left by a jump. */
#ifndef ADZI_SOLVERS_LOOPS_H
#define ADZI_SOLVERS_LOOPS_H

#include "adze/loops.h"
#include "base/error.h"
#include "tensor/tensor.h"

/** A loop that runs. */
typedef struct adzi_loop {
    const char *op; /* the public function, for messages */
    adz_loop_body body;
    void *user;
    size_t n_carries, n_inputs, n_results; /* of a step */
    adz_tensor **in;                       /* the carries, and behind them the inputs of the step */
    adz_tensor **out;                      /* the next carries, and behind them the results */
    size_t frame;                          /* that of the door, whose path names the step */
    size_t mark;                           /* of the scope: behind it lie the carries */
} adzi_loop;

/** Checks that a list of n tensors has no NULL and no ADZ_NONE. Records an error. */
bool adzi_loop_check_list(
    const char *op, const char *what, adz_tensor *const *tensors, size_t n, size_t least);

/** Room for n pointers, all NULL, that ends with the scope. NULL with the error recorded. */
adz_tensor **adzi_loop_list(const char *op, size_t n);

/** Makes the lists of a loop, and begins with these carries. False with the error recorded. */
bool adzi_loop_begin(adzi_loop *loop, adz_tensor *const *carries);

/** Names the step that begins, for messages; -1 for one that stands for all. The loop runs behind a
 * door with a path. */
void adzi_loop_name_step(const adzi_loop *loop, int64_t step);

/** Calls the body, and checks what it gives. False with the error recorded. */
bool adzi_loop_step(adzi_loop *loop, int64_t step);

/**
 * The next carries become the carries. Releases everything that the steps have made but for these
 * and for `lasting`, n tensors or NULL, which stay until the scope ends. False with the error
 * recorded.
 */
bool adzi_loop_advance(adzi_loop *loop, adz_tensor *const *lasting, size_t n);

/** Releases all that was made after `mark`, an earlier number of the thread's temporaries, but for
 * n tensors, which the scope keeps. False with the error recorded. */
bool adzi_loop_survive(const char *op, size_t mark, adz_tensor *const *tensors, size_t n);

/** Runs a loop behind a door, whose path adzi_loop_name_step writes. */
bool adzi_loop_run(adzi_loop *loop, bool (*body)(void *state), void *state);

/** Whether a tensor has one element. Records an error that calls it `what`. */
bool adzi_loop_check_truth(const char *op, const char *what, const adz_tensor *t);

/** The truth of one element, which the host reads. -1 with the error recorded. */
int adzi_loop_truth(const char *op, const char *what, const adz_tensor *t);

/** Calls a body of a branch, and checks what it gives. False with the error recorded. */
bool adzi_branch_call(adz_loop_body body, void *user, adz_tensor *const *inputs, adz_tensor **found,
    size_t n_results);

#endif
