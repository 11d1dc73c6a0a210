/* Loops over vectors in memory. Included after the element type is known
 * (tensor/kernel/each_float.h).
 *
 * Sums have as many lanes as 64 bytes have elements, whatever registers there are, so that their
 * bits do not depend on the processor. */
typedef elem KERNEL(wide) __attribute__((vector_size(64), aligned(sizeof(elem)), may_alias));

enum { KERNEL(wide_lanes) = (int)(64 / sizeof(elem)) };

#undef WIDE
#define WIDE(p) (*(const KERNEL(wide) *)(p))
#undef TO_WIDE
#define TO_WIDE(p) (*(KERNEL(wide) *)(p))

/* The sum over x y. */
static inline elem KERNEL(dot)(int64_t n, const elem *x, const elem *y)
{
    const int64_t w = KERNEL(wide_lanes);
    KERNEL(wide) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    int64_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w) {
        a += WIDE(x + i) * WIDE(y + i);
        b += WIDE(x + i + w) * WIDE(y + i + w);
        c += WIDE(x + i + 2 * w) * WIDE(y + i + 2 * w);
        d += WIDE(x + i + 3 * w) * WIDE(y + i + 3 * w);
    }
    for (; i + w <= n; i += w) {
        a += WIDE(x + i) * WIDE(y + i);
    }
    a = (a + b) + (c + d);
    elem sum = 0;
    for (int l = 0; l < KERNEL(wide_lanes); ++l) {
        sum += a[l];
    }
    for (; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y += s x. */
static inline void KERNEL(axpy)(int64_t n, elem s, const elem *x, elem *y)
{
    const int64_t w = KERNEL(wide_lanes);
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
    const int64_t w = KERNEL(wide_lanes);
    KERNEL(wide) p = { 0 }, q = { 0 };
    int64_t i = 0;
    for (; i + 2 * w <= n; i += 2 * w) {
        p += WIDE(a + i) * WIDE(x + i);
        q += WIDE(a + i + w) * WIDE(x + i + w);
        TO_WIDE(y + i) = WIDE(y + i) + s * WIDE(a + i);
        TO_WIDE(y + i + w) = WIDE(y + i + w) + s * WIDE(a + i + w);
    }
    p += q;
    elem sum = 0;
    for (int l = 0; l < KERNEL(wide_lanes); ++l) {
        sum += p[l];
    }
    for (; i < n; ++i) {
        sum += a[i] * x[i];
        y[i] += s * a[i];
    }
    return sum;
}

/* y += s[0] x_0 + s[1] x_1 + s[2] x_2 + s[3] x_3 for rows x that are ld elements apart. */
static inline void KERNEL(axpy4)(int64_t n, const elem *s, const elem *x, int64_t ld, elem *y)
{
    const int64_t w = KERNEL(wide_lanes);
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

/* x' = c x + s y, y' = c y - s x. */
static inline void KERNEL(rotate_rows)(int64_t n, elem *x, elem *y, elem c, elem s)
{
    const int64_t w = KERNEL(wide_lanes);
    int64_t i = 0;
    for (; i + w <= n; i += w) {
        const KERNEL(wide) p = WIDE(x + i), q = WIDE(y + i);
        TO_WIDE(x + i) = c * p + s * q;
        TO_WIDE(y + i) = c * q - s * p;
    }
    for (; i < n; ++i) {
        const elem p = x[i], q = y[i];
        x[i] = c * p + s * q;
        y[i] = c * q - s * p;
    }
}
