/* Loops over vectors in memory. Included after the element type is known
 * (tensor/kernel/each_float.h).
 *
 * Sums have as many lanes as 64 bytes have elements, whatever registers there are, so that their
 * bits do not depend on the processor. They lie in registers of this compilation. */
#include "tensor/kernel/registers.h"

typedef elem KERNEL(in_register)
    __attribute__((vector_size(ADZI_REGISTER_BYTES), aligned(sizeof(elem)), may_alias));

enum {
    KERNEL(register_lanes) = (int)(ADZI_REGISTER_BYTES / sizeof(elem)),
    KERNEL(registers) = 64 / ADZI_REGISTER_BYTES, /* of a sum */
    KERNEL(sum_lanes) = (int)(64 / sizeof(elem))
};

/* A sum in lanes. */
typedef struct KERNEL(sum) {
    KERNEL(in_register) part[KERNEL(registers)];
} KERNEL(sum);

#undef WIDE
#define WIDE(p) (*(const KERNEL(in_register) *)(p))
#undef TO_WIDE
#define TO_WIDE(p) (*(KERNEL(in_register) *)(p))

/* Adds the products of 64 bytes of x and y to the lanes of a sum. */
INLINE void KERNEL(add_to_lanes)(KERNEL(sum) * sum, const elem *x, const elem *y)
{
    const int w = KERNEL(register_lanes);
    ADZI_UNROLLED_FOR(int r = 0; r < KERNEL(registers); ++r)
    {
        sum->part[r] += WIDE(x + r * w) * WIDE(y + r * w);
    }
}

/* Adds the lanes of q to those of p. */
INLINE void KERNEL(join_lanes)(KERNEL(sum) * p, const KERNEL(sum) * q)
{
    ADZI_UNROLLED_FOR(int r = 0; r < KERNEL(registers); ++r)
    {
        p->part[r] += q->part[r];
    }
}

/* The lanes of a sum, added in their order. */
INLINE elem KERNEL(total_of_lanes)(const KERNEL(sum) * sum)
{
    elem total = 0;
    ADZI_UNROLLED_FOR(int r = 0; r < KERNEL(registers); ++r)
    {
        const KERNEL(in_register) part = sum->part[r];
        for (int l = 0; l < KERNEL(register_lanes); ++l) {
            total += part[l];
        }
    }
    return total;
}

/* The sum over x y. */
NOINLINE elem KERNEL(dot)(int64_t n, const elem *x, const elem *y)
{
    const int64_t w = KERNEL(sum_lanes);
    KERNEL(sum) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    int64_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w) {
        KERNEL(add_to_lanes)(&a, x + i, y + i);
        KERNEL(add_to_lanes)(&b, x + i + w, y + i + w);
        KERNEL(add_to_lanes)(&c, x + i + 2 * w, y + i + 2 * w);
        KERNEL(add_to_lanes)(&d, x + i + 3 * w, y + i + 3 * w);
    }
    for (; i + w <= n; i += w) {
        KERNEL(add_to_lanes)(&a, x + i, y + i);
    }
    KERNEL(join_lanes)(&a, &b);
    KERNEL(join_lanes)(&c, &d);
    KERNEL(join_lanes)(&a, &c);
    elem sum = KERNEL(total_of_lanes)(&a);
    for (; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y += s x. */
NOINLINE void KERNEL(axpy)(int64_t n, elem s, const elem *x, elem *y)
{
    const int64_t w = KERNEL(register_lanes);
    int64_t i = 0;
    for (; i + w <= n; i += w) {
        TO_WIDE(y + i) = WIDE(y + i) + s * WIDE(x + i);
    }
    for (; i < n; ++i) {
        y[i] += s * x[i];
    }
}

/* y += s a, and returns the sum over a x. */
static inline elem KERNEL(dot_axpy)(int64_t n, const elem *a, const elem *x, elem s, elem *y)
{
    const int64_t w = KERNEL(sum_lanes);
    KERNEL(sum) p = { 0 }, q = { 0 };
    int64_t i = 0;
    for (; i + 2 * w <= n; i += 2 * w) {
        KERNEL(add_to_lanes)(&p, a + i, x + i);
        KERNEL(add_to_lanes)(&q, a + i + w, x + i + w);
        ADZI_UNROLLED_FOR(int r = 0; r < 2 * KERNEL(registers); ++r)
        {
            const int64_t j = i + r * KERNEL(register_lanes);
            TO_WIDE(y + j) = WIDE(y + j) + s * WIDE(a + j);
        }
    }
    KERNEL(join_lanes)(&p, &q);
    elem sum = KERNEL(total_of_lanes)(&p);
    for (; i < n; ++i) {
        sum += a[i] * x[i];
        y[i] += s * a[i];
    }
    return sum;
}

/* y += s[0] x_0 + s[1] x_1 + s[2] x_2 + s[3] x_3 for rows x that are ld elements apart. */
NOINLINE void KERNEL(axpy4)(int64_t n, const elem *s, const elem *x, int64_t ld, elem *y)
{
    const int64_t w = KERNEL(register_lanes);
    const elem *x1 = x + ld, *x2 = x1 + ld, *x3 = x2 + ld;
    int64_t i = 0;
    for (; i + w <= n; i += w) {
        TO_WIDE(y + i) =
            (((WIDE(y + i) + s[0] * WIDE(x + i)) + s[1] * WIDE(x1 + i)) + s[2] * WIDE(x2 + i)) +
            s[3] * WIDE(x3 + i);
    }
    for (; i < n; ++i) {
        y[i] = (((y[i] + s[0] * x[i]) + s[1] * x1[i]) + s[2] * x2[i]) + s[3] * x3[i];
    }
}

/* y = y + op(A) x for A[m, n] with rows that are ld elements apart; op transposes if `transposed`
 * is set. */
static inline void KERNEL(gemv)(
    bool transposed, int64_t m, int64_t n, const elem *a, int64_t ld, const elem *x, elem *y)
{
    int64_t i = 0;
    if (!transposed) {
        for (; i < m; ++i) {
            y[i] += KERNEL(dot)(n, a + i * ld, x);
        }
        return;
    }
    for (; i + 4 <= m; i += 4) {
        KERNEL(axpy4)(n, x + i, a + i * ld, ld, y);
    }
    for (; i < m; ++i) {
        KERNEL(axpy)(n, x[i], a + i * ld, y);
    }
}
