/* The random kernels on every instruction set. */
#ifndef ADZE_TESTS_TENSOR_PHILOX_KERNELS_H
#define ADZE_TESTS_TENSOR_PHILOX_KERNELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

KERNEL_TABLE_FLOAT(uniform);
KERNEL_TABLE_FLOAT(normal);
KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);
KERNEL_TABLE_ALL(randint);
KERNEL_TABLE_ALL(bernoulli);

enum { N = 1 << 20, SMALL = 1000, WIDEST = sizeof(double) };

static inline void *zeroed(void)
{
    void *block = calloc(N, WIDEST);
    assert_non_null(block);
    return block;
}

#endif
