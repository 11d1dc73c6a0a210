/* Vectors of elem in the widest registers of this compilation: 64 bytes with AVX-512, 32 with AVX2,
 * else 16, as NEON has. Included once per element type, inside each_float.h, where INLINE is
 * defined. Everything is a macro or an inline function named V...; the baseline needs only the
 * vector extension that gcc and clang share.
 *
 *     VEC, VW         the vector type and its lanes
 *     VLOAD, VSTORE   VW elements at any address
 *     VLOAD_PART      the first `count` lanes from memory, 0 in the others
 *     VSTORE_PART     stores the first `count` lanes
 *     VSPLAT          one number in every lane
 *     VFMA(a, b, c)   a * b + c, with one rounding where the instruction set has it
 *     VMAX(floor, v)  the larger in each lane, v where it is NaN
 *     VABOVE0(y, v)   v where y is not 0 or less (NaN is not), else 0
 *     REGS, GW        the registers of a group of lanes, and its lanes; see Note [Groups of lanes]
 *     VSUM4           the sums over the lanes of four groups
 *     VFOUR, VJOIN    VSUM4 in two halves, for VW groups at once (not in the baseline of x86-64)
 *
 * KERNEL(load) and KERNEL(store) access a vector that is whole or has `lanes` valid lanes.
 *
 * Note [Groups of lanes]
 * A sum along contiguous elements has as many partial sums as 64 bytes have elements: 16 in f32, 8
 * in f64. Element p is added to partial sum p % GW. AVX-512 keeps them in one register and AVX2 in
 * two, NEON in four, and all add them up in one order, so the bits do not depend on the registers.
 * A last group that is not full is filled up with zeros in all registers, because -0 + 0 is 0. The
 * baseline of x86-64 has one register per group and other bits.
 */
#include "tensor/kernel/registers.h"

#undef VEC
#undef VW
#undef GW
#undef VSPLAT
#undef VFMA
#undef VMAX
#undef VABOVE0

#define VW ((int)(ADZI_REGISTER_BYTES / sizeof(elem)))

/* EACH_REG applies a macro to the registers of a group. Its indices are literals, because an array
 * that is indexed by a variable is kept in memory. */
#undef REGS
#undef EACH_REG
#if ADZI_REGISTER_BYTES == 32
#define REGS        2
#define EACH_REG(X) X(0) X(1)
#elif defined(ADZI_NEON)
#define REGS        4
#define EACH_REG(X) X(0) X(1) X(2) X(3)
#else
#define REGS        1
#define EACH_REG(X) X(0)
#endif
#define GW (REGS * VW)

typedef elem KERNEL(vec) __attribute__((vector_size(ADZI_REGISTER_BYTES)));
typedef elem KERNEL(loose)
    __attribute__((vector_size(ADZI_REGISTER_BYTES), aligned(sizeof(elem)), may_alias));
#define VEC KERNEL(vec)

/* INTRINSIC(name) is the intrinsic of that name for VEC: _mm512_name_ps and so on. */
#undef INTRINSIC
#undef COMPARE
#undef LANE_MASK
#if defined(__AVX512F__) && ELEM_IS_F32
#define INTRINSIC(name) _mm512_##name##_ps
#define COMPARE         _mm512_cmp_ps_mask
#define LANE_MASK       __mmask16
#elif defined(__AVX512F__)
#define INTRINSIC(name) _mm512_##name##_pd
#define COMPARE         _mm512_cmp_pd_mask
#define LANE_MASK       __mmask8
#elif defined(__AVX2__) && ELEM_IS_F32
#define INTRINSIC(name) _mm256_##name##_ps
#elif defined(__AVX2__)
#define INTRINSIC(name) _mm256_##name##_pd
#elif ELEM_IS_F32
#define INTRINSIC(name) name##_f32
#else
#define INTRINSIC(name) name##_f64
#endif

#if defined(__AVX2__)
#define VSPLAT(x)     INTRINSIC(set1)(x)
#define VFMA(a, b, c) INTRINSIC(fmadd)(a, b, c)
#define VMAX(a, b)    INTRINSIC(max)(a, b)
#elif defined(ADZI_NEON)
#define VSPLAT(x)     INTRINSIC(vdupq_n)(x)
#define VFMA(a, b, c) INTRINSIC(vfmaq)(c, a, b)
#elif ELEM_IS_F32
#define VSPLAT(x)     ((VEC){ x, x, x, x })
#define VFMA(a, b, c) ((a) * (b) + (c))
#else
#define VSPLAT(x)     ((VEC){ x, x })
#define VFMA(a, b, c) ((a) * (b) + (c))
#endif
#if defined(__AVX512F__)
#define VABOVE0(y, v) INTRINSIC(maskz_mov)(COMPARE(y, INTRINSIC(setzero)(), _CMP_NLE_UQ), v)
#elif defined(__AVX2__)
#define VABOVE0(y, v) INTRINSIC(andnot)(INTRINSIC(cmp)(y, INTRINSIC(setzero)(), _CMP_LE_OQ), v)
#else
#define VABOVE0(y, v) KERNEL(vabove0)(y, v)
#define VMAX(a, b)    KERNEL(vmax)(a, b)
#endif

INLINE VEC KERNEL(vload)(const elem *p)
{
    return *(const KERNEL(loose) *)p;
}

INLINE void KERNEL(vstore)(elem *p, VEC v)
{
    *(KERNEL(loose) *)p = v;
}

#if defined(__AVX512F__)
INLINE VEC KERNEL(vload_part)(const elem *p, int count)
{
    return INTRINSIC(maskz_loadu)((LANE_MASK)((1u << count) - 1u), p);
}
INLINE void KERNEL(vstore_part)(elem *p, VEC v, int count)
{
    INTRINSIC(mask_storeu)(p, (LANE_MASK)((1u << count) - 1u), v);
}
#elif defined(__AVX2__)
INLINE __m256i KERNEL(lanes)(int count)
{
#if ELEM_IS_F32
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
#endif
}
INLINE VEC KERNEL(vload_part)(const elem *p, int count)
{
    return INTRINSIC(maskload)(p, KERNEL(lanes)(count));
}
INLINE void KERNEL(vstore_part)(elem *p, VEC v, int count)
{
    INTRINSIC(maskstore)(p, KERNEL(lanes)(count), v);
}
#else
INLINE VEC KERNEL(vload_part)(const elem *p, int count)
{
    VEC v = { 0 };
    for (int i = 0; i < count; ++i) {
        v[i] = p[i];
    }
    return v;
}
INLINE void KERNEL(vstore_part)(elem *p, VEC v, int count)
{
    for (int i = 0; i < count; ++i) {
        p[i] = v[i];
    }
}
#endif

#if !defined(__AVX2__)
INLINE VEC KERNEL(vmax)(VEC floor, VEC v)
{
    const __typeof__(floor > v) below = floor > v;
    return (VEC)((below & (__typeof__(below))floor) | (~below & (__typeof__(below))v));
}

INLINE VEC KERNEL(vabove0)(VEC y, VEC v)
{
    const VEC zero = { 0 };
    const __typeof__(y <= zero) below = y <= zero;
    return (VEC)(~below & (__typeof__(below))v);
}
#endif

/* MERGE(d, a, b) adds lanes l and l ^ d of a and of b. In the result, lanes l with l & d = 0 hold
 * sums of a, and the other lanes hold sums of b. It takes one shuffle and two blends. Four vectors
 * are merged with d = 1 and then with d = 2. Each group of four lanes then holds one partial sum of
 * each of the four vectors. BLEND selects lanes, SWAP1 and SWAP2 exchange lanes l and l ^ d. */
#undef MERGE
#undef BLEND
#undef SWAP1
#undef SWAP2
#undef ALL_LANES
#define ALL_LANES ((1 << VW) - 1)
#if defined(__AVX512F__)
#define BLEND(lanes, a, b) INTRINSIC(mask_blend)((lanes)&ALL_LANES, a, b)
#else
#define BLEND(lanes, a, b) INTRINSIC(blend)(a, b, (lanes)&ALL_LANES)
#endif
#if ELEM_IS_F32
#define SWAP1(v) INTRINSIC(permute)(v, 0xB1)
#define SWAP2(v) INTRINSIC(permute)(v, 0x4E)
#else
#define SWAP1(v) INTRINSIC(permute)(v, 0x55 & ALL_LANES)
#if defined(__AVX512F__)
#define SWAP2(v) _mm512_shuffle_f64x2(v, v, 0xB1)
#else
#define SWAP2(v) _mm256_permute2f128_pd(v, v, 1)
#endif
#endif
#define LANES1         0xAAAA
#define LANES2         0xCCCC
#define MERGE(d, a, b) (BLEND(LANES##d, a, b) + SWAP##d(BLEND(LANES##d, b, a)))

/* VFOUR adds up the lanes of four groups in so far that each 16 bytes (AVX2 and AVX-512 with f64:
 * 32 bytes) of the result hold one partial sum of each group. KERNEL(vsums) adds these partial
 * sums, and VJOIN makes one vector of VW sums from VW / 4 results of VFOUR. The sums of VJOIN have
 * the bits of VSUM4, but stay in registers: loading a vector that several narrower stores have just
 * written would wait for them. */
#undef VFOUR
#undef VJOIN
#if defined(__AVX2__)
#define MERGED(q, a, b, c, d) MERGE(2, MERGE(1, (a)[q], (b)[q]), MERGE(1, (c)[q], (d)[q]))
INLINE VEC KERNEL(vfour)(const VEC a[REGS], const VEC b[REGS], const VEC c[REGS], const VEC d[REGS])
{
    const VEC v = MERGED(0, a, b, c, d);
    return REGS == 1 ? v : v + MERGED(REGS - 1, a, b, c, d);
}
#define VFOUR KERNEL(vfour)

INLINE void KERNEL(vsums)(VEC v, elem *out)
{
#if defined(__AVX512F__) && ELEM_IS_F32
    const __m256 h = _mm512_castps512_ps256(v) + _mm512_extractf32x8_ps(v, 1);
    _mm_storeu_ps(out, _mm256_castps256_ps128(h) + _mm256_extractf128_ps(h, 1));
#elif defined(__AVX512F__)
    _mm256_storeu_pd(out, _mm512_castpd512_pd256(v) + _mm512_extractf64x4_pd(v, 1));
#elif ELEM_IS_F32
    _mm_storeu_ps(out, _mm256_castps256_ps128(v) + _mm256_extractf128_ps(v, 1));
#else
    _mm256_storeu_pd(out, v);
#endif
}
#endif
#if defined(ADZI_NEON) && ELEM_IS_F32
/* VFOUR adds the four registers in the order of the wider ones: (0 + 2) + (1 + 3). */
#define ADDED(q, a, b, c, d) vpaddq_f32(vpaddq_f32((a)[q], (b)[q]), vpaddq_f32((c)[q], (d)[q]))
INLINE VEC KERNEL(vfour)(const VEC a[REGS], const VEC b[REGS], const VEC c[REGS], const VEC d[REGS])
{
    return (ADDED(0, a, b, c, d) + ADDED(2, a, b, c, d)) +
           (ADDED(1, a, b, c, d) + ADDED(3, a, b, c, d));
}
#define VFOUR    KERNEL(vfour)
#define VJOIN(v) ((v)[0])
#elif defined(ADZI_NEON)
/* The sums of two groups: (0 + 1) + (2 + 3), as in the wider registers. */
INLINE VEC KERNEL(vtwo)(const VEC a[REGS], const VEC b[REGS])
{
    return (vpaddq_f64(a[0], b[0]) + vpaddq_f64(a[1], b[1])) +
           (vpaddq_f64(a[2], b[2]) + vpaddq_f64(a[3], b[3]));
}
#endif
#if defined(__AVX512F__) && ELEM_IS_F32
#define HALVES(a, b)                                                                             \
    (_mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xEE)) /* a0+a2 a1+a3 b0+b2.. \
                                                                           */
#define VJOIN(v)                                                          \
    (_mm512_shuffle_f32x4(HALVES(v[0], v[1]), HALVES(v[2], v[3]), 0x88) + \
        _mm512_shuffle_f32x4(HALVES(v[0], v[1]), HALVES(v[2], v[3]), 0xDD))
#elif defined(__AVX512F__)
#define VJOIN(v) (_mm512_shuffle_f64x2(v[0], v[1], 0x44) + _mm512_shuffle_f64x2(v[0], v[1], 0xEE))
#elif defined(__AVX2__) && ELEM_IS_F32
#define VJOIN(v) \
    (_mm256_permute2f128_ps(v[0], v[1], 0x20) + _mm256_permute2f128_ps(v[0], v[1], 0x31))
#elif defined(__AVX2__)
#define VJOIN(v) (v[0])
#endif

/* out[0 .. 3] = the sums over the lanes of the groups a, b, c and d. */
INLINE void KERNEL(vsum4)(
    const VEC a[REGS], const VEC b[REGS], const VEC c[REGS], const VEC d[REGS], elem *out)
{
#if defined(__AVX2__)
    KERNEL(vsums)(VFOUR(a, b, c, d), out);
#elif defined(ADZI_NEON) && ELEM_IS_F32
    vst1q_f32(out, VFOUR(a, b, c, d));
#elif defined(ADZI_NEON)
    vst1q_f64(out, KERNEL(vtwo)(a, b));
    vst1q_f64(out + 2, KERNEL(vtwo)(c, d));
#elif ELEM_IS_F32
    out[0] = (a[0][0] + a[0][2]) + (a[0][1] + a[0][3]);
    out[1] = (b[0][0] + b[0][2]) + (b[0][1] + b[0][3]);
    out[2] = (c[0][0] + c[0][2]) + (c[0][1] + c[0][3]);
    out[3] = (d[0][0] + d[0][2]) + (d[0][1] + d[0][3]);
#else
    out[0] = a[0][0] + a[0][1];
    out[1] = b[0][0] + b[0][1];
    out[2] = c[0][0] + c[0][1];
    out[3] = d[0][0] + d[0][1];
#endif
}

#define VLOAD       KERNEL(vload)
#define VSTORE      KERNEL(vstore)
#define VLOAD_PART  KERNEL(vload_part)
#define VSTORE_PART KERNEL(vstore_part)
#define VSUM4       KERNEL(vsum4)

INLINE VEC KERNEL(load)(const elem *from, bool whole, int lanes)
{
    return whole ? VLOAD(from) : VLOAD_PART(from, lanes);
}

INLINE void KERNEL(store)(elem *to, VEC v, bool whole, int lanes)
{
    if (whole) {
        VSTORE(to, v);
    } else {
        VSTORE_PART(to, v, lanes);
    }
}

/* The valid lanes of register q of a group that has `count` valid lanes. */
INLINE int KERNEL(lanes_of)(int count, const int q)
{
    const int rest = count - q * VW;
    return REGS == 1 || (rest >= 0 && rest < VW) ? rest : rest < 0 ? 0 : VW;
}

/* Adds the products of x[0 .. length - 1] and y to the lanes of a group. */
INLINE void KERNEL(add_products)(VEC sum[REGS], const elem *x, const elem *y, int64_t length)
{
#define ADD_WHOLE(q) sum[q] = VFMA(VLOAD(x + z + (q)*VW), VLOAD(y + z + (q)*VW), sum[q]);
#define ADD_REST(q)                                                      \
    sum[q] = VFMA(VLOAD_PART(x + z + (q)*VW, KERNEL(lanes_of)(rest, q)), \
        VLOAD_PART(y + z + (q)*VW, KERNEL(lanes_of)(rest, q)), sum[q]);
    int64_t z = 0;
    for (; z + GW <= length; z += GW) {
        EACH_REG(ADD_WHOLE)
    }
    if (z < length) {
        const int rest = (int)(length - z);
        EACH_REG(ADD_REST)
    }
#undef ADD_WHOLE
#undef ADD_REST
}
