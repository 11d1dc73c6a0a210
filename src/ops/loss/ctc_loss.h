/* Connectionist temporal classification: arguments of its kernels. */
#ifndef ADZI_OPS_LOSS_CTC_LOSS_H
#define ADZI_OPS_LOSS_CTC_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads/addresses.h"

/**
 * Arguments of ctc_loss and ctc_loss_backward. A unit is one sequence of the batch. Arrays are
 * contiguous.
 *
 * A target of L labels is read as 2 L + 1 states: blank, label 0, blank, label 1, ..., blank.
 * Padded targets have the memory of S labels.
 */
typedef struct adzi_ctc_args {
    const void *x;          /* log-probabilities [T, N, C] */
    const int64_t *targets; /* [N, S], or the labels of all sequences one after another */
    const int64_t *steps;   /* [N]: time steps of each sequence, 0 .. T */
    const int64_t *labels;  /* [N]: labels of each target */
    double *alpha;      /* [T, 2 L + 1] of each sequence: log-probability of all ways to a state at
                           a step, that step included. Written by the forward */
    double *beta;       /* [2, 2 L + 1] of each sequence: working memory of the backward */
    void *losses;       /* [N] */
    const void *dy;     /* [N]: read by the backward */
    void *dx;           /* [T, N, C]: written by the backward */
    int64_t t, n, c, s; /* T, N, C and S */
    int64_t blank;
    int64_t joined,
        zero_infinity; /* 0 or 1: targets are one after another; infinite losses are 0 */
} adzi_ctc_args;

ADZI_ADDRESSES(adzi_ctc_args, x, targets, steps, labels, alpha, beta, losses, dy, dx);

#endif
