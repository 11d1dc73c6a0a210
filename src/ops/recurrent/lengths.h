/* Lengths of padded sequences, int64 [B], which recurrent networks take. */
#ifndef ADZI_OPS_RECURRENT_LENGTHS_H
#define ADZI_OPS_RECURRENT_LENGTHS_H

#include "tensor/tensor.h"

/** Checks the lengths of x[T, B, ...]: int64 [B], each in 1 .. T. Replays of a plan look at the
 * lengths again. False with the error recorded, which begins with `name`. */
bool adzi_lengths_check(const char *name, adz_tensor *lengths, const adz_tensor *x);

/** The padding of x[T, B, ...]: bool [T, B], true from the end of each sequence on. NULL with the
 * error recorded. */
adz_tensor *adzi_lengths_padding(const adz_tensor *x, adz_tensor *lengths);

/** x[T, B, ...] with 0 in the padding. The padding may hold anything, even NaN, which 0 times it
 * would hand to the gradients of weights. NULL with the error recorded, or if `padding` is NULL. */
adz_tensor *adzi_lengths_fill(adz_tensor *x, adz_tensor *padding);

#endif
