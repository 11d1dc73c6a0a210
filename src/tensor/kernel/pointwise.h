/* Launches of elementwise kernels, for the kernels and for their callers. */
#ifndef ADZI_TENSOR_KERNEL_POINTWISE_H
#define ADZI_TENSOR_KERNEL_POINTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/tensor.h"
#include "base/threads/addresses.h"
#include "base/isa.h"

enum {
    ADZI_POINTWISE_INPUTS = 4,
    ADZI_POINTWISE_PARAMS = 4,
    ADZI_POINTWISE_GRAIN = 16384, /* a thread is used for at least so many elements */
    ADZI_CHUNK = 512 /* the most elements in a buffer for operands that are not contiguous */
};

/**
 * The arguments of every elementwise kernel. A unit is an element of the output in row-major order.
 * If `flat` is true, all operands are contiguous and have one shape. Only the fields before n_in
 * are set then.
 */
typedef struct adzi_pointwise_args {
    bool flat;
    char *out;
    const char *in[ADZI_POINTWISE_INPUTS];
    double p[ADZI_POINTWISE_PARAMS]; /* the operator's numbers */
    const void *factor;              /* a number in memory, for adzi_pointwise_factor; or NULL */

    int n_in, rank;
    int64_t sizes[ADZ_MAX_RANK];
    int64_t out_strides[ADZ_MAX_RANK]; /* strides in elements */
    int64_t in_strides[ADZI_POINTWISE_INPUTS][ADZ_MAX_RANK];
} adzi_pointwise_args;

ADZI_ADDRESSES(adzi_pointwise_args, out, in, factor);

/** The bytes of the fields before n_in, the only ones that a flat call sets. */
enum { ADZI_POINTWISE_FLAT_SIZE = offsetof(adzi_pointwise_args, n_in) };

/** Computes n contiguous elements: y[i] = f(in[0][i], in[1][i], ..., p). */
typedef void adzi_pointwise_loop(void *y, const void *const *in, int64_t n, const double *p);

/** The begin and the end of a range that asks an elementwise kernel for its loop. The kernel writes
 * the address of the loop to `out` and computes nothing. */
enum { ADZI_POINTWISE_ASKS = -1 };

/**
 * The loop of an elementwise kernel whose `factor` is NULL, which computes flat calls without the
 * kernel's frame. NULL for a kernel that is no loop, such as a copy.
 */
adzi_pointwise_loop *adzi_pointwise_loop_of(adzi_kernel kernel);

/** The arguments of the kernel fill. A unit is an element of the output in row-major order. */
typedef struct adzi_fill_args {
    char *out;
    int64_t size;  /* bytes of an element */
    uint64_t item; /* the bits of the value, in the first `size` bytes */
    int rank;      /* 0 if the output is contiguous */
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
} adzi_fill_args;

ADZI_ADDRESSES(adzi_fill_args, out);

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

/** Runs an elementwise kernel that reads a number from memory when it runs. `factor` points to that
 * number, which has the dtype of the inputs. */
void adzi_pointwise_factor(adzi_kernel kernel, adz_tensor *y, int n_in, adz_tensor *const *in,
    const double *p, const void *factor);

#endif
