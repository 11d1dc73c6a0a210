/* Sums, products and dot products of contiguous f32 or f64 elements in f64.
 *
 *     EIGHT(sum)(x, n, 0)         sum of x_i
 *     EIGHT(distances)(x, n, m)   sum of x_i - m
 *     EIGHT(squares)(x, n, m)     sum of (x_i - m)^2
 *     EIGHT(dot)(x, y, n)         sum of x_i y_i
 *
 * Elements are widened to f64 in the widest registers of this compilation. Bits depend on n alone
 * (Note [Eight lanes]). Products and sums are rounded separately, with and without fused
 * multiply-adds.
 */
#ifndef ADZI_TENSOR_KERNEL_WIDE_KERNEL_H
#define ADZI_TENSOR_KERNEL_WIDE_KERNEL_H

#include <stdint.h>
#include <string.h>

#include "base/isa.h"

/* `wide` is a register of f64. WIDEN_f32 and WIDEN_f64 read as many f32 or f64 and widen them.
 * WIDEN_PART reads the first lanes alone and makes the others 0; LANES_BELOW(n) names the first n
 * lanes. The intrinsics are explicit, because compilers widen a vector in two halves. */
#if defined(__AVX512VL__)
#include <immintrin.h>
typedef __m512d wide;
typedef __mmask8 some_lanes;
#define LANES_BELOW(n)           ((__mmask8)((1u << (n)) - 1))
#define WIDEN_f32(x)             _mm512_cvtps_pd(_mm256_loadu_ps(x))
#define WIDEN_f64(x)             _mm512_loadu_pd(x)
#define WIDEN_PART_f32(lanes, x) _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, x))
#define WIDEN_PART_f64(lanes, x) _mm512_maskz_loadu_pd(lanes, x)
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256d wide;
typedef __m256i some_lanes;
#define LANES_BELOW(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define WIDEN_f32(x)   _mm256_cvtps_pd(_mm_loadu_ps(x))
#define WIDEN_f64(x)   _mm256_loadu_pd(x)
#define NARROWED(lanes)     \
    _mm256_castsi256_si128( \
        _mm256_permutevar8x32_epi32(lanes, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)))
#define WIDEN_PART_f32(lanes, x) _mm256_cvtps_pd(_mm_maskload_ps(x, NARROWED(lanes)))
#define WIDEN_PART_f64(lanes, x) _mm256_maskload_pd(x, lanes)
#else
typedef double wide __attribute__((vector_size(16)));
#define WIDEN_f32(x) ((wide){ (double)(x)[0], (double)(x)[1] })
#define WIDEN_f64(x) ((wide){ (x)[0], (x)[1] })
#endif
enum { LANES = sizeof(wide) / sizeof(double), FOUR_VECTORS = 4 * LANES };

/* Note [Eight lanes]
 *
 * Contiguous elements are summed in eight lanes of f64: element i is added to lane i % 8. At the
 * end the lanes are added in one order, ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). Registers of
 * two, four or eight lanes therefore give the same bits. An addition waits only for the addition of
 * the element eight positions before.
 */
typedef struct eight {
    wide part[8 / LANES];
} eight;

/* EIGHT_JOINED(name, OP) makes name(e, rest, n): the lanes of e, joined with n < 8 more elements in
 * `rest`, and then with each other. If n is 0, lanes are joined in registers (IN_REGISTERS):
 * through memory it takes twice as long where the buffer crosses a cache line. */
#if defined(__AVX512VL__)
#define FOUR_OF(e, OP) \
    (_mm512_castpd512_pd256((e)->part[0]) OP _mm512_extractf64x4_pd((e)->part[0], 1))
#elif defined(__AVX2__)
#define FOUR_OF(e, OP) ((e)->part[0] OP(e)->part[1])
#endif
#ifdef FOUR_OF
#define IN_REGISTERS(e, n, OP)                                                              \
    if ((n) == 0) {                                                                         \
        const __m256d four = FOUR_OF(e, OP);                                                \
        const __m128d two = _mm256_castpd256_pd128(four) OP _mm256_extractf128_pd(four, 1); \
        return two[0] OP two[1];                                                            \
    }
#else
#define IN_REGISTERS(e, n, OP)
#endif
#define EIGHT_JOINED(name, OP)                                           \
    static inline double name(const eight *e, const double *rest, int n) \
    {                                                                    \
        double lane[8];                                                  \
        IN_REGISTERS(e, n, OP)                                           \
        memcpy(lane, e, sizeof lane);                                    \
        for (int j = 0; j < n; ++j) {                                    \
            lane[j] = lane[j] OP rest[j];                                \
        }                                                                \
        return ((lane[0] OP lane[4])OP(lane[2] OP lane[6]))OP(           \
            (lane[1] OP lane[5])OP(lane[3] OP lane[7]));                 \
    }
EIGHT_JOINED(eight_total, +)
EIGHT_JOINED(eight_product, *)

/* EIGHT_SUM makes name(x, n, m): the sum of VALUE over n elements. VALUE is an expression in the
 * number m and in v, which is an element in f64 or a vector of them. */
#define EIGHT_SUM(name, elem_type, WIDEN, VALUE)                             \
    static inline double name(const elem_type *x, int64_t n, const double m) \
    {                                                                        \
        eight sum;                                                           \
        double rest[8];                                                      \
        int64_t i = 0;                                                       \
        (void)m;                                                             \
        memset(&sum, 0, sizeof sum);                                         \
        for (; i + 8 <= n; i += 8) {                                         \
            for (int p = 0; p < 8 / LANES; ++p) {                            \
                const wide v = WIDEN(x + i + p * LANES);                     \
                sum.part[p] += VALUE;                                        \
            }                                                                \
        }                                                                    \
        const int left = (int)(n - i);                                       \
        for (int j = 0; j < left; ++j) {                                     \
            const double v = (double)x[i + j];                               \
            rest[j] = VALUE;                                                 \
        }                                                                    \
        return eight_total(&sum, rest, left);                                \
    }

/* EIGHT(name) is the function for the type elem, inside each_float.h. */
#define EIGHT(name) ADZI_PASTE3(eight, name, ELEM_NAME)
EIGHT_SUM(eight_sum_f32, float, WIDEN_f32, v)
EIGHT_SUM(eight_sum_f64, double, WIDEN_f64, v)
EIGHT_SUM(eight_distances_f32, float, WIDEN_f32, v - m)
EIGHT_SUM(eight_distances_f64, double, WIDEN_f64, v - m)
EIGHT_SUM(eight_squares_f32, float, WIDEN_f32, (v - m) * (v - m))
EIGHT_SUM(eight_squares_f64, double, WIDEN_f64, (v - m) * (v - m))

/* EIGHT_DOT makes name(x, y, n): the sum of x_i y_i over n elements. */
#define EIGHT_DOT(name, elem_type, WIDEN)                                           \
    static inline double name(const elem_type *x, const elem_type *y, int64_t n)    \
    {                                                                               \
        eight sum;                                                                  \
        double rest[8];                                                             \
        int64_t i = 0;                                                              \
        memset(&sum, 0, sizeof sum);                                                \
        for (; i + 8 <= n; i += 8) {                                                \
            for (int p = 0; p < 8 / LANES; ++p) {                                   \
                sum.part[p] += WIDEN(x + i + p * LANES) * WIDEN(y + i + p * LANES); \
            }                                                                       \
        }                                                                           \
        const int left = (int)(n - i);                                              \
        for (int j = 0; j < left; ++j) {                                            \
            rest[j] = (double)x[i + j] * (double)y[i + j];                          \
        }                                                                           \
        return eight_total(&sum, rest, left);                                       \
    }
EIGHT_DOT(eight_dot_f32, float, WIDEN_f32)
EIGHT_DOT(eight_dot_f64, double, WIDEN_f64)

#endif
