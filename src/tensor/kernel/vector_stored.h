/* Vectors of f32 from elements that are stored as f16, bf16 or Q8_0.
 *
 * The header is included once per type, inside each_float.h and after tensor/kernel/vector.h, and
 * has no include guard. In f64 no operand is stored in another way. */

/* VW elements from `p`, which are f16 or bf16. */
INLINE VEC KERNEL(vload_half)(const uint16_t *p, const bool f16)
{
#if defined(__AVX512F__) && ELEM_IS_F32
    const __m256i half = _mm256_loadu_si256((const void *)p);
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
    return f16 ? (VEC)_mm512_cvtph_ps(half) : (VEC)_mm512_castsi512_ps(wide);
#elif defined(__AVX2__) && ELEM_IS_F32
    const __m128i half = _mm_loadu_si128((const void *)p);
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
    return f16 ? (VEC)_mm256_cvtph_ps(half) : (VEC)_mm256_castsi256_ps(wide);
#elif defined(ADZI_NEON) && ELEM_IS_F32
    const uint16x4_t half = vld1_u16(p);
    return f16 ? (VEC)vcvt_f32_f16(vreinterpret_f16_u16(half)) : (VEC)vshll_n_u16(half, 16);
#else
    VEC v = { 0 };
    for (int i = 0; i < VW; ++i) {
        v[i] = f16 ? adzi_from_f16(p[i]) : adzi_from_bf16(p[i]);
    }
    return v;
#endif
}

/* The vector from element `at` on, which is whole or has `lanes` valid lanes. `stored` is F16 or
 * BF16 if the elements are stored as such, else 0. */
INLINE VEC KERNEL(load_stored)(
    const void *from, int64_t at, const bool whole, const int lanes, const int stored)
{
    if (stored == 0) {
        return KERNEL(load)((const elem *)from + at, whole, lanes);
    }
    const uint16_t *p = (const uint16_t *)from + at;
    uint16_t part[VW] = { 0 };
    if (!whole) {
        memcpy(part, p, (size_t)lanes * sizeof *p);
        p = part;
    }
    return KERNEL(vload_half)(p, stored == ADZ_F16);
}

#if ELEM_IS_F32
/* VW signed bytes as f32. */
INLINE VEC KERNEL(vload_bytes)(const uint8_t *p)
{
#if defined(__AVX512F__)
    return (VEC)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
#elif defined(__AVX2__)
    return (VEC)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
#else
    int8_t part[VW];
    VEC v = { 0 };
    memcpy(part, p, sizeof part);
    for (int i = 0; i < VW; ++i) {
        v[i] = (float)part[i];
    }
    return v;
#endif
}

/* The scale of a block of Q8_0 in all lanes. */
INLINE VEC KERNEL(vload_scale)(const uint8_t *block)
{
#if defined(__AVX512F__)
    return (VEC)_mm512_cvtph_ps(_mm256_set1_epi16((short)adzi_q8_0_scale(block)));
#elif defined(__AVX2__)
    return (VEC)_mm256_cvtph_ps(_mm_set1_epi16((short)adzi_q8_0_scale(block)));
#else
    return VSPLAT(adzi_from_f16(adzi_q8_0_scale(block)));
#endif
}
#endif

/* The ways in which elements are stored: EACH_STORED applies a macro to the name of each, and
 * STORED_name is the `stored` of KERNEL(load_stored), or ADZI_STORED_Q8_0, whose blocks are read by
 * KERNEL(vload_bytes) and KERNEL(vload_scale). EACH_HALF has those of load_stored alone. */
#define STORED_whole 0
#define STORED_f16   ADZ_F16
#define STORED_bf16  ADZ_BF16
#define STORED_q8_0  ADZI_STORED_Q8_0
#undef EACH_HALF
#undef EACH_STORED
#if ELEM_IS_F32
#define EACH_HALF(X)   X(whole) X(f16) X(bf16)
#define EACH_STORED(X) EACH_HALF(X) X(q8_0)
#else
#define EACH_HALF(X)   X(whole)
#define EACH_STORED(X) X(whole)
#endif

/* The index of a way among them. */
INLINE int KERNEL(way_stored)(int stored)
{
    return stored == ADZ_F16 ? 1 : stored == ADZ_BF16 ? 2 : stored == ADZI_STORED_Q8_0 ? 3 : 0;
}
