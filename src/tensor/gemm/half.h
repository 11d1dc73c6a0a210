/* Operands that are stored in half precision or in blocks: Note [Operands in half precision] in
 * half.c. */
#ifndef ADZI_TENSOR_GEMM_HALF_H
#define ADZI_TENSOR_GEMM_HALF_H

#include <stddef.h>

#include "tensor/gemm/gemm.h"

/** True if an operand of the product is stored in another way than C. */
bool adzi_gemm_has_stored(const adzi_gemm_args *args);

/** How many rows of op(A) and columns of op(B) a thread widens at a time, and the memory for them.
 * Operands that are not widened are not cut. */
typedef struct adzi_gemm_widths {
    bool a, b; /**< this operand is widened */
    int64_t rows, columns;
    size_t for_a, bytes; /**< bytes of the widened rows of A; of both */
} adzi_gemm_widths;

/**
 * Chooses the widths for a product, whose stored operands are widened unless a_stored or
 * b_stored of `args` is 0.
 *
 * @param most     bytes of a widened operand at a time, if a few rows or columns of it fit
 * @param a_whole  all rows of op(A) are widened together
 */
adzi_gemm_widths adzi_gemm_widths_of(const adzi_gemm_args *args, int64_t most, bool a_whole);

/** Computes one product whose operands are in f32. */
typedef void (*adzi_gemm_compute)(const void *opaque, const adzi_gemm_args *part);

/**
 * Computes one product in parts, whose operands it widens first. Each element of C has the bits of
 * the product of widened operands, if `compute` gives them for any part of 16 rows or columns.
 *
 * @param args     one item; its batch and strides are not used
 * @param wide     widths->bytes bytes at a multiple of 64. NULL: memory was refused. Parts of k are
 *                 then added to C, and the last bits differ.
 */
void adzi_gemm_in_widths(const adzi_gemm_args *args, const adzi_gemm_widths *widths, void *wide,
    adzi_gemm_compute compute, const void *opaque);

/** Copies whole operands to memory that lives for the call, in f32, and gives them to `run`: both,
 * rounded to bf16, if `rounds`; else those that are stored in another way. False, with nothing
 * done, if memory is refused. */
bool adzi_gemm_run_copies(
    const adzi_gemm_args *args, bool rounds, bool (*run)(const adzi_gemm_args *args));

#endif
