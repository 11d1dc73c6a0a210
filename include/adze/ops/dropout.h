/**
 * @file dropout.h
 * Dropout.
 */
#ifndef ADZE_OPS_DROPOUT_H
#define ADZE_OPS_DROPOUT_H

#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sets elements to zero at random and scales the others.
 *
 *     y = x mask / (1 - p), mask = 1 with probability 1 - p
 *
 * @param x          any shape, f32 or f64
 * @param p          probability of zeroing, in [0, 1]
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves the mask, one bit per element
 * @see              torch.nn.functional.dropout
 */
ADZ_API adz_tensor *adz_dropout(adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * Dropout with a mask of the caller's. Use it to apply one mask twice, or to drop whole rows.
 *
 *     y = x mask / keep
 *
 * @param x     any shape, f32 or f64
 * @param mask  broadcasts with x; bool, or numbers that are 0 or 1
 * @param keep  probability with which the mask keeps an element, in (0, 1]
 * @return      y, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad        x, and a float mask that wants a gradient, to any order; saves mask
 */
ADZ_API adz_tensor *adz_dropout_mask(adz_tensor *x, adz_tensor *mask, double keep);

#ifdef __cplusplus
}
#endif

#endif
