/* The operators that adze-bench op times. */
#ifndef ADZE_BENCH_OPERATIONS_H
#define ADZE_BENCH_OPERATIONS_H

#include <stddef.h>

#include "adze/adze.h"

/* The inputs of the operators: matrices of `rows` x `columns`, unless another shape is named.
 * Floats want gradients. */
typedef struct {
    int64_t rows, columns;
    adz_tensor *a, *b;    /* f32, normal */
    adz_tensor *positive; /* f32, uniform in [0.1, 1.1) */
    adz_tensor *share;    /* f32, uniform in [0, 1); no gradient */
    adz_tensor *aim;      /* f32, normal; no gradient */
    adz_tensor *wide;     /* f64, normal */
    adz_tensor *weight;   /* f32[columns, columns] */
    adz_tensor *row;      /* f32[columns] */
    adz_tensor *ids;      /* i64[rows], column numbers */
    adz_tensor *chosen;   /* i64, column numbers */
    adz_tensor *integers; /* i32 */
    adz_tensor *mask;     /* bool */
    adz_tensor *halves;   /* bf16 */
    adz_tensor *small;    /* f32[rows, 8, 8], positive definite */
    adz_tensor *small64;  /* f64[rows, 8, 8], positive definite */
    adz_tensor *definite; /* f32[columns, columns], positive definite */
    adz_tensor *gates;    /* f32[4 columns, columns] */
    adz_tensor *kernels;  /* f32[8, 8, 3, 3] */
} operands;

/* Kept by the caller until operands_end. */
operands operands_begin(int64_t rows, int64_t columns);
void operands_end(operands *in);

/* Forgets the gradients of all. */
void operands_forget(operands *in);

typedef struct {
    const char *name;
    adz_tensor *(*call)(const operands *in);
} operation;

extern const operation operations[];
extern const size_t n_operations;

#endif
