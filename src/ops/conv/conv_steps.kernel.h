/* Copies of elements of a row that are some steps apart, for a convolution with a stride.
 *
 * The header is included once per type elem, inside each_float.h and after vector.h, and has no
 * include guard. */

/* gcc 12 and clang. */
#if defined(__has_builtin) && !defined(HAS_SHUFFLES)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLES 1
#endif
#endif

#ifdef HAS_SHUFFLES
/* to[0 .. 7] = elements 0, 2 .. 14 of `from`. Of the sixteen neighbours that are read none may lie
 * behind `end`, so at the end of a row they begin one element earlier. */
INLINE void KERNEL(copy_every_second)(elem *to, const elem *from, const elem *end)
{
    typedef elem eight __attribute__((vector_size(8 * sizeof(elem))));
    const int64_t late = end - from < 16;
    eight a, b;
    memcpy(&a, from - late, sizeof a);
    memcpy(&b, from - late + 8, sizeof b);
    const eight even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    const eight odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    memcpy(to, late ? &odd : &even, sizeof even);
}
#endif

/* to[c] = element first + c step of the row `from`, for c from in.low to in.high - 1. The row has
 * `width` elements, and nothing beside it is read. */
INLINE void KERNEL(copy_part)(elem *restrict to, const elem *from, int64_t width, int64_t first,
    const inside *in, int64_t step)
{
    int64_t c = in->low;
    if (step == 1) {
        memcpy(to + c, from + first + c, (size_t)(in->high - c) * sizeof(elem));
        return;
    }
#ifdef HAS_SHUFFLES
    if (step == 2 && width >= 16 && in->high - c >= 8) {
        for (; c + 8 <= in->high; c += 8) {
            KERNEL(copy_every_second)(to + c, from + first + 2 * c, from + width);
        }
        if (c < in->high) { /* the last eight, of which some have been copied */
            c = in->high - 8;
            KERNEL(copy_every_second)(to + c, from + first + 2 * c, from + width);
        }
        return;
    }
#endif
    for (; c < in->high; ++c) {
        to[c] = from[first + c * step];
    }
}
