/**
 * @file real.h
 * Elementary functions of one number.
 *
 * Every processor and every C library gets the same bits from them, which exp, log, pow, sin and
 * cos of math.h do not promise. Use them wherever a number reaches a result: in schedules, in the
 * numbers of an optimizer, in initial values. The special cases are those of C11's Annex F.
 */
#ifndef ADZE_REAL_H
#define ADZE_REAL_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * e^x.
 *
 * @param x  any number
 * @return   within 1.1 units in the last place
 */
ADZ_API double adz_real_exp(double x);

/**
 * The natural logarithm.
 *
 * @param x  any number
 * @return   within 1.1 units in the last place; -infinity for 0, NaN below 0
 */
ADZ_API double adz_real_log(double x);

/**
 * x^y.
 *
 * @param x  the base, any number
 * @param y  the exponent, any number
 * @return   within 1.0 unit in the last place; NaN for x below 0 and y without an integer value
 */
ADZ_API double adz_real_pow(double x, double y);

/**
 * The sine.
 *
 * @param x  an angle in radians, any number
 * @return   within 1.0 unit in the last place; NaN for an infinity
 */
ADZ_API double adz_real_sin(double x);

/**
 * The cosine.
 *
 * @param x  an angle in radians, any number
 * @return   within 1.0 unit in the last place; NaN for an infinity
 */
ADZ_API double adz_real_cos(double x);

#ifdef __cplusplus
}
#endif

#endif
