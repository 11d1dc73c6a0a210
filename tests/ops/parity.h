/* Reference vectors: the interface of the runners, one for each group of files. */
#ifndef ADZE_TESTS_OPS_PARITY_H
#define ADZE_TESTS_OPS_PARITY_H

#include "ops/vectors.h"

/** The result of one file. */
typedef struct verdict {
    double tolerance, tiny; /* from the file; a runner sets the tolerance of f32 */
    double error;           /* the largest error so far; the tensor that has it follows */
    int compared;           /* the number of compared tensors; 0 is a failure */
    char name[96], note[400];
} verdict;

/** Compares one result or gradient with the expected tensor. Integers and masks must be equal. */
void parity_judge(
    verdict *out, const char *kind, const char *name, adz_tensor *got, adz_tensor *expected);

/**
 * Runs a file's case, in f32 if `f32`, and compares every tensor that the file stores. False if the
 * case could not be run; then there is a note in `out` or an error is recorded.
 */
typedef bool (*parity_runner)(const vector_file *v, bool f32, verdict *out);

bool parity_op(const vector_file *v, bool f32, verdict *out);
bool parity_module(const vector_file *v, bool f32, verdict *out);
bool parity_trainer(const vector_file *v, bool f32, verdict *out);
bool parity_optim(const vector_file *v, bool f32, verdict *out);

#endif
