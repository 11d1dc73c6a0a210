/* Dropout for operators that contain one, such as bias_activation. */
#ifndef ADZI_OPS_DROPOUT_DROPOUT_H
#define ADZI_OPS_DROPOUT_DROPOUT_H

#include "ops/op.h"

/**
 * Applies a mask that was drawn before: y = x m / (1 - p). The call is recorded.
 *
 * @param x     any shape, f32 or f64; its elements are counted in row-major order
 * @param p     the probability with which the mask was drawn to drop an element
 * @param kept  kept[ceil(numel / 64)], i64: bit k of kept[g] is 1 where element 64 g + k is kept;
 * not NULL
 * @return      y, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_dropout_again(adz_tensor *x, double p, adz_tensor *kept);

/**
 * adz_alpha_dropout with a mask that was drawn before. A composition.
 *
 * @param x     any shape, f32 or f64
 * @param mask  broadcasts to x, of x's dtype: 1 keeps an element, 0 drops it
 * @param p     the probability with which the mask was drawn to drop an element
 * @return      y, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_alpha_dropout_mask(adz_tensor *x, adz_tensor *mask, double p);

#endif
