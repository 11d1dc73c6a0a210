/* The equation of an einsum, parsed and checked against the shapes of its operands. */
#ifndef ADZI_OPS_LINALG_EINSUM_H
#define ADZI_OPS_LINALG_EINSUM_H

#include "ops/op.h"

/* Labels: a .. z, A .. Z, then the dimensions of an ellipsis, counted from its last. */
enum { ADZI_EINSUM_LETTERS = 52, ADZI_EINSUM_LABELS = ADZI_EINSUM_LETTERS + ADZ_MAX_RANK };

typedef struct adzi_einsum {
    const char *equation;
    int n_operands;
    int rank[2], labels[2][ADZ_MAX_RANK]; /* the label of each dimension of each operand */
    int n_out, out[ADZ_MAX_RANK];         /* the label of each dimension of the result */
    int64_t sizes[ADZI_EINSUM_LABELS];    /* of each label; -1 where no operand has it */
} adzi_einsum;

/** Reads the equation for these operands (b NULL: one); fails with an error that names it. */
bool adzi_einsum_plan(
    adzi_einsum *plan, const char *equation, const adz_tensor *a, const adz_tensor *b);

#endif
