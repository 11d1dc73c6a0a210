/* Elementary functions of one double, for code that is compiled once, and for kernels that compute
 * one value at a time. Use them wherever a number reaches a result: schedules, corrections, initial
 * values, positions, norms.
 *
 * They are computed without fused multiply-adds and without libm, so that every processor gets the
 * same bits. The special cases are those of C11's Annex F.
 *
 * Largest error, in units of the last place of the result (tests/tensor/test_real.c asserts them):
 * 1.1 for exp and log, 1.0 for pow, sin and cos, 1.5 for hypot, 4 for erfc above its denormals.
 */
#ifndef ADZI_TENSOR_KERNEL_REAL_H
#define ADZI_TENSOR_KERNEL_REAL_H

#include <stdint.h>

#define ADZI_PI 3.14159265358979323846

double adzi_real_exp(double x);
double adzi_real_log(double x);
double adzi_real_pow(double x, double y);
double adzi_real_sin(double x);
double adzi_real_cos(double x);
double adzi_real_erfc(double x);

/** sqrt(x^2 + y^2), without overflow between */
double adzi_real_hypot(double x, double y);

/** The table of the logarithm in pow, which real.c describes. */
extern const double adzi_log_table[3][64];

/** sin(x + quarters pi/2) for |x| > 2^20, infinities and NaN. */
double adzi_sin_far(double x, uint64_t quarters);

#endif
