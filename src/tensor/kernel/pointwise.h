/* Launches of elementwise kernels, for the kernels and for their callers. */
#ifndef ADZI_TENSOR_KERNEL_POINTWISE_H
#define ADZI_TENSOR_KERNEL_POINTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/tensor.h"
#include "base/isa.h"

enum {
    ADZI_POINTWISE_INPUTS = 4,
    ADZI_POINTWISE_PARAMS = 4,
    ADZI_POINTWISE_GRAIN = 16384, /* elements worth a thread of their own */
    ADZI_CHUNK = 512 /* the most elements in a buffer for operands that are not contiguous */
};

/**
 * The argument block of every elementwise kernel; units are elements of the output in order. When
 * `flat`, all operands are contiguous and of one shape, and only the first group of fields is set.
 */
typedef struct adzi_pointwise_args {
    bool flat;
    char *out;
    const char *in[ADZI_POINTWISE_INPUTS];
    double p[ADZI_POINTWISE_PARAMS]; /* the operator's numbers */
    const void *factor;              /* a number in memory; only kernels that ask for it read it */

    int n_in, rank;
    int64_t sizes[ADZ_MAX_RANK];
    int64_t out_strides[ADZ_MAX_RANK]; /* strides in elements */
    int64_t in_strides[ADZI_POINTWISE_INPUTS][ADZ_MAX_RANK];
} adzi_pointwise_args;

/** A flat call sets, and its kernel reads, only the fields before n_in. */
enum { ADZI_POINTWISE_FLAT_SIZE = offsetof(adzi_pointwise_args, n_in) };

/** The arguments of the kernel fill. Units are elements of the output in order. */
typedef struct adzi_fill_args {
    char *out;
    int64_t size;  /* bytes of an element */
    uint64_t item; /* the bits of the value, in the first `size` bytes */
    int rank;      /* 0 when the output is contiguous */
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} adzi_fill_args;

/** Whether an operand with these strides is contiguous, with its elements in the output's order. */
static inline bool adzi_operand_is_contiguous(const adzi_pointwise_args *a, const int64_t *strides)
{
    int64_t stride = 1;
    bool contiguous = true;
    for (int d = a->rank - 1; d >= 0; --d) {
        contiguous = contiguous && strides[d] == stride;
        stride *= a->sizes[d];
    }
    return contiguous;
}

/**
 * Runs an elementwise kernel: y[i] = f(in[0][i], ..., p). Inputs broadcast to y. `p` are up to four
 * numbers, or NULL. Allocates nothing and cannot fail.
 */
void adzi_pointwise(
    adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in, const double *p);

/** adzi_pointwise for kernels that read a number from memory: `factor`, of the inputs' dtype. */
void adzi_pointwise_factor(adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in,
    const double *p, const void *factor);

#endif
