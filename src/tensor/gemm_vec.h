/* Vectors for the small products of gemm.kernel.c, in the widest registers that this compilation
 * has: included once per element type. Everything is a macro or inline function named V...; the
 * generic form needs only the vector extension that gcc and clang share.
 *
 *     VEC, VW         the vector type and its lanes
 *     VLOAD, VSTORE   any address; VLOAD_PART, VSTORE_PART the first `count` lanes, others 0
 *     VSPLAT          one number in every lane
 *     VFMA(a, b, c)   a * b + c, with one rounding where the instruction set has it
 *     VSUM4           the sums of four vectors' lanes, each in an order fixed by the type
 */
#undef VEC
#undef VBYTES
#undef VW
#undef VSPLAT
#undef VFMA

#if defined(__AVX512F__)
#define VBYTES 64
#elif defined(__AVX2__)
#define VBYTES 32
#else
#define VBYTES 16
#endif
#define VW ((int)(VBYTES / sizeof(T)))

typedef T K(vec) __attribute__((vector_size(VBYTES)));
typedef T K(loose) __attribute__((vector_size(VBYTES), aligned(sizeof(T)), may_alias));
#define VEC K(vec)

#if defined(__AVX512F__) && T_IS_F32
#define VSPLAT(x)     _mm512_set1_ps(x)
#define VFMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#elif defined(__AVX512F__)
#define VSPLAT(x)     _mm512_set1_pd(x)
#define VFMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__) && T_IS_F32
#define VSPLAT(x)     _mm256_set1_ps(x)
#define VFMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#elif defined(__AVX2__)
#define VSPLAT(x)     _mm256_set1_pd(x)
#define VFMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif T_IS_F32
#define VSPLAT(x)     ((VEC){ x, x, x, x })
#define VFMA(a, b, c) ((a) * (b) + (c))
#else
#define VSPLAT(x)     ((VEC){ x, x })
#define VFMA(a, b, c) ((a) * (b) + (c))
#endif

INLINE VEC K(vload)(const T *p)
{
    return *(const K(loose) *)p;
}

INLINE void K(vstore)(T *p, VEC v)
{
    *(K(loose) *)p = v;
}

#if defined(__AVX512F__) && T_IS_F32
INLINE VEC K(vload_part)(const T *p, int count)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), p);
}
INLINE void K(vstore_part)(T *p, VEC v, int count)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1u), v);
}
#elif defined(__AVX512F__)
INLINE VEC K(vload_part)(const T *p, int count)
{
    return _mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1u), p);
}
INLINE void K(vstore_part)(T *p, VEC v, int count)
{
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1u), v);
}
#elif defined(__AVX2__) && T_IS_F32
INLINE __m256i K(lanes)(int count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE VEC K(vload_part)(const T *p, int count)
{
    return _mm256_maskload_ps(p, K(lanes)(count));
}
INLINE void K(vstore_part)(T *p, VEC v, int count)
{
    _mm256_maskstore_ps(p, K(lanes)(count), v);
}
#elif defined(__AVX2__)
INLINE __m256i K(lanes)(int count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE VEC K(vload_part)(const T *p, int count)
{
    return _mm256_maskload_pd(p, K(lanes)(count));
}
INLINE void K(vstore_part)(T *p, VEC v, int count)
{
    _mm256_maskstore_pd(p, K(lanes)(count), v);
}
#else
INLINE VEC K(vload_part)(const T *p, int count)
{
    VEC v = { 0 };
    for (int i = 0; i < count; ++i) {
        v[i] = p[i];
    }
    return v;
}
INLINE void K(vstore_part)(T *p, VEC v, int count)
{
    for (int i = 0; i < count; ++i) {
        p[i] = v[i];
    }
}
#endif

/* Halves are added until 128 bits are left, then four vectors are summed across each other. */
#if defined(__AVX2__) && T_IS_F32
INLINE __m128 K(fold)(VEC v)
{
#if defined(__AVX512F__)
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
#else
    __m256 h = v;
#endif
    return _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}
INLINE void K(vsum4)(VEC a, VEC b, VEC c, VEC d, T *out)
{
    __m128 e = K(fold)(a), f = K(fold)(b), g = K(fold)(c), h = K(fold)(d);
    __m128 s = _mm_add_ps(_mm_unpacklo_ps(e, f), _mm_unpackhi_ps(e, f));
    __m128 t = _mm_add_ps(_mm_unpacklo_ps(g, h), _mm_unpackhi_ps(g, h));
    _mm_storeu_ps(out, _mm_add_ps(_mm_movelh_ps(s, t), _mm_movehl_ps(t, s)));
}
#elif defined(__AVX2__)
INLINE __m128d K(fold)(VEC v)
{
#if defined(__AVX512F__)
    __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
#else
    __m256d h = v;
#endif
    return _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
}
INLINE void K(vsum4)(VEC a, VEC b, VEC c, VEC d, T *out)
{
    __m128d e = K(fold)(a), f = K(fold)(b), g = K(fold)(c), h = K(fold)(d);
    _mm_storeu_pd(out, _mm_add_pd(_mm_unpacklo_pd(e, f), _mm_unpackhi_pd(e, f)));
    _mm_storeu_pd(out + 2, _mm_add_pd(_mm_unpacklo_pd(g, h), _mm_unpackhi_pd(g, h)));
}
#else
INLINE T K(vsum)(VEC v)
{
#if T_IS_F32
    return (v[0] + v[2]) + (v[1] + v[3]);
#else
    return v[0] + v[1];
#endif
}
INLINE void K(vsum4)(VEC a, VEC b, VEC c, VEC d, T *out)
{
    out[0] = K(vsum)(a);
    out[1] = K(vsum)(b);
    out[2] = K(vsum)(c);
    out[3] = K(vsum)(d);
}
#endif

#define VLOAD       K(vload)
#define VSTORE      K(vstore)
#define VLOAD_PART  K(vload_part)
#define VSTORE_PART K(vstore_part)
#define VSUM4       K(vsum4)
