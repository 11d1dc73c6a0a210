/* Transposition of a small matrix, in tiles of 4 x 4 elements in registers.
 *
 * The header is included once per type elem, inside each_float.h, where INLINE and KERNEL are
 * defined, and has no include guard. Each tile reads four rows and writes four rows, each by one
 * vector of 16 bytes in f32. In f64 that is a vector of 32 bytes with AVX2 and two of 16 bytes
 * without. With AVX2, two tiles of f32 share their shuffles. */

#if defined(__AVX2__) && ELEM_IS_F32
/* to[8, 4] = from[4, 8]^T: each half of a register is a separate tile. */
INLINE void KERNEL(transpose_4x8)(elem *to, int64_t to_ld, const elem *from, int64_t ld)
{
    const __m256 w = _mm256_loadu_ps(from), x = _mm256_loadu_ps(from + ld);
    const __m256 y = _mm256_loadu_ps(from + 2 * ld), z = _mm256_loadu_ps(from + 3 * ld);
    const __m256 wx0 = _mm256_unpacklo_ps(w, x), wx2 = _mm256_unpackhi_ps(w, x);
    const __m256 yz0 = _mm256_unpacklo_ps(y, z), yz2 = _mm256_unpackhi_ps(y, z);
    const __m256 rows[] = { _mm256_shuffle_ps(wx0, yz0, 0x44), _mm256_shuffle_ps(wx0, yz0, 0xEE),
        _mm256_shuffle_ps(wx2, yz2, 0x44), _mm256_shuffle_ps(wx2, yz2, 0xEE) };
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        _mm_storeu_ps(to + i * to_ld, _mm256_castps256_ps128(rows[i]));
        _mm_storeu_ps(to + (i + 4) * to_ld, _mm256_extractf128_ps(rows[i], 1));
    }
}
#endif

#if defined(__AVX2__) && !ELEM_IS_F32
/* to[4, 4] = from[4, 4]^T. */
INLINE void KERNEL(transpose_4x4)(elem *to, int64_t to_ld, const elem *from, int64_t ld)
{
    const __m256d w = _mm256_loadu_pd(from), x = _mm256_loadu_pd(from + ld);
    const __m256d y = _mm256_loadu_pd(from + 2 * ld), z = _mm256_loadu_pd(from + 3 * ld);
    const __m256d wx0 = _mm256_unpacklo_pd(w, x), wx1 = _mm256_unpackhi_pd(w, x);
    const __m256d yz0 = _mm256_unpacklo_pd(y, z), yz1 = _mm256_unpackhi_pd(y, z);
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(wx0, yz0, 0x20));
    _mm256_storeu_pd(to + to_ld, _mm256_permute2f128_pd(wx1, yz1, 0x20));
    _mm256_storeu_pd(to + 2 * to_ld, _mm256_permute2f128_pd(wx0, yz0, 0x31));
    _mm256_storeu_pd(to + 3 * to_ld, _mm256_permute2f128_pd(wx1, yz1, 0x31));
}
#endif

/* to[depth, columns] = from[columns, depth]^T: to[p * to_ld + j] = from[j * ld + p]. */
INLINE void KERNEL(transpose)(
    elem *to, int64_t to_ld, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    int64_t j = 0;
#if defined(ADZI_X86)
    for (; j + 4 <= columns; j += 4) {
        const elem *f = from + j * ld;
        int64_t p = 0;
#if defined(__AVX2__) && ELEM_IS_F32
        for (; p + 8 <= depth; p += 8) {
            KERNEL(transpose_4x8)(to + p * to_ld + j, to_ld, f + p, ld);
        }
#endif
        for (; p + 4 <= depth; p += 4) {
            elem *t = to + p * to_ld + j;
#if ELEM_IS_F32
            __m128 w = _mm_loadu_ps(f + p), x = _mm_loadu_ps(f + ld + p);
            __m128 y = _mm_loadu_ps(f + 2 * ld + p), z = _mm_loadu_ps(f + 3 * ld + p);
            _MM_TRANSPOSE4_PS(w, x, y, z);
            _mm_storeu_ps(t, w);
            _mm_storeu_ps(t + to_ld, x);
            _mm_storeu_ps(t + 2 * to_ld, y);
            _mm_storeu_ps(t + 3 * to_ld, z);
#elif defined(__AVX2__)
            KERNEL(transpose_4x4)(t, to_ld, f + p, ld);
#else
            for (int h = 0; h < 4; h += 2) {
                for (int u = 0; u < 4; u += 2) {
                    __m128d w = _mm_loadu_pd(f + h * ld + p + u);
                    __m128d x = _mm_loadu_pd(f + (h + 1) * ld + p + u);
                    _mm_storeu_pd(t + u * to_ld + h, _mm_unpacklo_pd(w, x));
                    _mm_storeu_pd(t + (u + 1) * to_ld + h, _mm_unpackhi_pd(w, x));
                }
            }
#endif
        }
        for (; p < depth; ++p) {
            for (int h = 0; h < 4; ++h) {
                to[p * to_ld + j + h] = f[h * ld + p];
            }
        }
    }
#endif
    for (; j < columns; ++j) {
        for (int64_t p = 0; p < depth; ++p) {
            to[p * to_ld + j] = from[j * ld + p];
        }
    }
}
