/* sin and cos, for *.kernel.c files under each_float.h: TRIGONOMETRIC(cos, 1) is the sine a quarter
 * of a turn on. After tensor/kernel/pointwise.kernel.h and tensor/kernel/vmath.h. */

#undef TRIGONOMETRIC
#if T_IS_F32
/* Blocks without an argument that needs libm become vectors. What an element becomes does not
 * depend on its block. */
#define TRIGONOMETRIC(name, quarters)                                                              \
    static void K(name##_loop)(void *out, const void *const *in, int64_t n, const double *numbers) \
    {                                                                                              \
        enum { BLOCK = 64 };                                                                       \
        const T *x = in[0];                                                                        \
        T *y = out;                                                                                \
        (void)numbers;                                                                             \
        for (int64_t m; n > 0; n -= m, x += m, y += m) {                                           \
            m = n < BLOCK ? n : BLOCK;                                                             \
            uint32_t far = 0;                                                                      \
            for (int64_t i = 0; i < m; ++i) {                                                      \
                far |= adzi_is_far_f32(x[i]);                                                      \
            }                                                                                      \
            ADZI_EACH(int64_t i = 0; far == 0 && i < m; ++i)                                       \
            {                                                                                      \
                y[i] = adzi_sin_near_f32(x[i], quarters);                                          \
            }                                                                                      \
            for (int64_t i = 0; far != 0 && i < m; ++i) {                                          \
                y[i] = VM(name)(x[i]);                                                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(T), sizeof(T), 0, 0))
#else
#define TRIGONOMETRIC(name, quarters) POINTWISE1(name, T, T, VM(name)(x))
#endif
