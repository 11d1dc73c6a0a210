/* Numbers as operands. */
#ifndef ADZI_OPS_NUMBERS_H
#define ADZI_OPS_NUMBERS_H

#include "adze/tensor.h"

/**
 * Fails with ADZ_ERR_ARGUMENT unless `number`, an argument called `name`, can be an element of
 * `dtype`: an integer dtype takes whole numbers in its range, floats and bool take any.
 */
bool adzi_number_fits(const char *op, const char *name, double number, adz_dtype dtype);

/**
 * A number as a tensor of rank 0 that promotes with `x` as torch.result_type does: a whole number
 * is an integer unless x is a float, any other is f32 at least. Borrowed from the scope; NULL with
 * the error recorded under `op`, also when x is NULL.
 */
adz_tensor *adzi_number(const char *op, const adz_tensor *x, double number);

#endif
