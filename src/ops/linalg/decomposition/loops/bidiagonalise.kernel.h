/* Matrices become upper bidiagonal by Householder reflections from both sides, in blocks. Included
 * after the element type is known (tensor/kernel/each_float.h).
 *
 * A[m, n] with m >= n. A block of columns collects its reflections u and v, and the vectors y and x
 * with which the rest of the matrix becomes A - u y^T - x v^T; one product does that for the whole
 * block. All of them are rows. */

typedef struct KERNEL(bidiagonaliser) {
    elem *a; /* [m, n]; destroyed */
    int64_t m, n;
    double *d, *e;       /* [n] and [n]: the diagonal, and the elements on the right of it */
    elem *u, *v;         /* [n, m] and [n, n]: the reflections; u_j begins at j, v_j at j + 1 */
    elem *tau_u, *tau_v; /* [n] each */
    elem *left, *right;  /* 2 [block, m] and 2 [block, n]: u and x, and y and v */
} KERNEL(bidiagonaliser);

/* Takes from x[n] the parts of rows q < count of `rows`, times factors that are `step` apart. */
static inline void KERNEL(take_rows)(int64_t count, int64_t n, const elem *factors, int64_t step,
    const elem *rows, int64_t ld, elem *x)
{
    for (int64_t q = 0; q < count; ++q) {
        KERNEL(axpy)(n, -factors[q * step], rows + q * ld, x);
    }
}

/* The left reflection of column j, which is number p of the block, and its y. */
static void KERNEL(reflect_left)(const KERNEL(bidiagonaliser) * b, int64_t j, int64_t p)
{
    const int64_t m = b->m, n = b->n, rest = n - j - 1, block = ADZI_REFLECTORS;
    elem *u = b->left + p * m, *x = b->left + block * m;
    elem *y = b->right + p * n, *v = b->right + block * n;
    elem factors[2 * ADZI_REFLECTORS];
    memset(u, 0, (size_t)j * sizeof *u);
    for (int64_t i = j; i < m; ++i) {
        u[i] = b->a[i * n + j];
    }
    KERNEL(take_rows)(p, m - j, b->right + j, n, b->left + j, m, u + j);
    KERNEL(take_rows)(p, m - j, v + j, n, x + j, m, u + j);
    const elem tau = b->tau_u[j] = KERNEL(reflection_of)(m - j, u + j, b->d + j);
    memcpy(b->u + j * m + j, u + j, (size_t)(m - j) * sizeof *u);
    memset(y, 0, (size_t)n * sizeof *y);
    KERNEL(gemv)(true, m - j, rest, b->a + j * n + j + 1, n, u + j, y + j + 1);
    for (int64_t q = 0; q < p; ++q) {
        factors[q] = KERNEL(dot)(m - j, b->left + q * m + j, u + j);
        factors[block + q] = KERNEL(dot)(m - j, x + q * m + j, u + j);
    }
    KERNEL(take_rows)(p, rest, factors, 1, b->right + j + 1, n, y + j + 1);
    KERNEL(take_rows)(p, rest, factors + block, 1, v + j + 1, n, y + j + 1);
    for (int64_t c = j + 1; c < n; ++c) {
        y[c] *= tau;
    }
}

/* The right reflection of row j, and its x. */
static void KERNEL(reflect_right)(const KERNEL(bidiagonaliser) * b, int64_t j, int64_t p)
{
    const int64_t m = b->m, n = b->n, rest = n - j - 1, below = m - j - 1, block = ADZI_REFLECTORS;
    elem *x = b->left + (block + p) * m, *xs = b->left + block * m;
    elem *v = b->right + (block + p) * n, *vs = b->right + block * n;
    elem factors[2 * ADZI_REFLECTORS];
    memset(v, 0, (size_t)n * sizeof *v);
    memset(x, 0, (size_t)m * sizeof *x);
    if (rest == 0) {
        b->tau_v[j] = 0;
        b->e[j] = 0;
        return;
    }
    memcpy(v + j + 1, b->a + j * n + j + 1, (size_t)rest * sizeof *v);
    KERNEL(take_rows)(p + 1, rest, b->left + j, m, b->right + j + 1, n, v + j + 1);
    KERNEL(take_rows)(p, rest, xs + j, m, vs + j + 1, n, v + j + 1);
    const elem tau = b->tau_v[j] = KERNEL(reflection_of)(rest, v + j + 1, b->e + j);
    memcpy(b->v + j * n + j + 1, v + j + 1, (size_t)rest * sizeof *v);
    KERNEL(gemv)(false, below, rest, b->a + (j + 1) * n + j + 1, n, v + j + 1, x + j + 1);
    for (int64_t q = 0; q <= p; ++q) {
        factors[q] = KERNEL(dot)(rest, b->right + q * n + j + 1, v + j + 1);
        factors[block + q] = q < p ? KERNEL(dot)(rest, vs + q * n + j + 1, v + j + 1) : 0;
    }
    KERNEL(take_rows)(p + 1, below, factors, 1, b->left + j + 1, m, x + j + 1);
    KERNEL(take_rows)(p, below, factors + block, 1, xs + j + 1, m, x + j + 1);
    for (int64_t i = j + 1; i < m; ++i) {
        x[i] *= tau;
    }
}

static void KERNEL(bidiagonalise)(const KERNEL(bidiagonaliser) * b)
{
    const int64_t m = b->m, n = b->n, block = ADZI_REFLECTORS;
    for (int64_t first = 0, count; first < n; first += count) {
        count = n - first < block ? n - first : block;
        for (int64_t p = 0; p < count; ++p) {
            KERNEL(reflect_left)(b, first + p, p);
            KERNEL(reflect_right)(b, first + p, p);
        }
        const int64_t next = first + count;
        if (next < n) { /* the block is full */
            KERNEL(product)
            (true, false, m - next, n - next, 2 * block, -1, b->left + next, m, b->right + next, n,
                1, b->a + next * n + next, n);
        }
    }
}
