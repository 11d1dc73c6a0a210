/* Reference vectors: what the runner of each group gets and gives. */
#ifndef ADZE_TESTS_OPS_PARITY_H
#define ADZE_TESTS_OPS_PARITY_H

#include "ops/vectors.h"

/** What came of one file. */
typedef struct verdict {
    double tolerance, tiny; /* the file's own; a runner sets the tolerance of f32 */
    double error;           /* the largest so far, and the tensor that has it */
    int compared;           /* how many tensors; none is a failure */
    char name[96], note[400];
} verdict;

/** Compares one result or gradient with what it should be; integers and masks exactly. */
void parity_judge(
    verdict *out, const char *kind, const char *name, adz_tensor *got, adz_tensor *expected);

/**
 * Runs a file's case, in f32 if told so, and judges everything that it stores. False when it could
 * not be run: with a note, or with an error recorded.
 */
typedef bool (*parity_runner)(const vector_file *v, bool f32, verdict *out);

bool parity_op(const vector_file *v, bool f32, verdict *out);
bool parity_module(const vector_file *v, bool f32, verdict *out);
bool parity_trainer(const vector_file *v, bool f32, verdict *out);
bool parity_optim(const vector_file *v, bool f32, verdict *out);

#endif
