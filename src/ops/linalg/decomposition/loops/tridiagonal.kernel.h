/* Symmetric matrices become tridiagonal by Householder reflections, in blocks. Included after the
 * element type is known (tensor/kernel/each_float.h).
 *
 * Only the upper triangle is read and written. A block of rows collects its reflections v and the
 * vectors w with which the rest of the matrix becomes A - v w^T - w v^T; one product does that for
 * the whole block. The reflection of row i stays in row i, right of the diagonal. */

typedef struct KERNEL(tridiagonal) {
    elem *a; /* [n, n] */
    int64_t n;
    double *d, *e; /* [n] and [n]: the diagonal, and the elements beside it */
    elem *tau;     /* [n] */
    elem *x, *y;   /* 2 [block, n] each: v and w, and w and v */
} KERNEL(tridiagonal);

/* The reflection of row j, which is the first one of `p` rows that the block has already. Its v and
 * w go to rows p and count + p of x. */
static void KERNEL(reflect_row)(const KERNEL(tridiagonal) * t, int64_t j, int64_t p, int64_t count)
{
    const int64_t n = t->n, rest = n - j - 1;
    elem *row = t->a + j * n, *v = t->x + p * n, *w = t->x + (count + p) * n;
    for (int64_t q = 0; q < p; ++q) {
        const elem *vq = t->x + q * n, *wq = t->x + (count + q) * n;
        KERNEL(axpy)(n - j, -vq[j], wq + j, row + j);
        KERNEL(axpy)(n - j, -wq[j], vq + j, row + j);
    }
    t->d[j] = (double)row[j];
    t->tau[j] = KERNEL(reflection_of)(rest, row + j + 1, t->e + j);
    memset(v, 0, (size_t)(j + 1) * sizeof *v);
    memset(w, 0, (size_t)n * sizeof *w);
    memcpy(v + j + 1, row + j + 1, (size_t)rest * sizeof *v);
    for (int64_t i = j + 1; i < n; ++i) {
        const elem *from = t->a + i * n;
        w[i] +=
            from[i] * v[i] + KERNEL(dot_axpy)(n - i - 1, from + i + 1, v + i + 1, v[i], w + i + 1);
    }
    for (int64_t q = 0; q < p; ++q) {
        const elem *vq = t->x + q * n + j + 1, *wq = t->x + (count + q) * n + j + 1;
        const elem of_w = KERNEL(dot)(rest, wq, v + j + 1), of_v = KERNEL(dot)(rest, vq, v + j + 1);
        KERNEL(axpy)(rest, -of_w, vq, w + j + 1);
        KERNEL(axpy)(rest, -of_v, wq, w + j + 1);
    }
    const elem tau = t->tau[j];
    const elem half = tau * tau * KERNEL(dot)(rest, w + j + 1, v + j + 1) / 2;
    for (int64_t i = j + 1; i < n; ++i) {
        w[i] = tau * w[i] - half * v[i];
    }
}

static void KERNEL(tridiagonalise)(const KERNEL(tridiagonal) * t)
{
    enum { TILE = 128 };
    const int64_t n = t->n;
    for (int64_t first = 0, count; first < n - 1; first += count) {
        count = n - 1 - first < ADZI_REFLECTORS ? n - 1 - first : ADZI_REFLECTORS;
        for (int64_t p = 0; p < count; ++p) {
            KERNEL(reflect_row)(t, first + p, p, count);
        }
        memcpy(t->y, t->x + count * n, (size_t)(count * n) * sizeof *t->y);
        memcpy(t->y + count * n, t->x, (size_t)(count * n) * sizeof *t->y);
        for (int64_t i = first + count; i < n; i += TILE) {
            const int64_t rows = n - i < TILE ? n - i : TILE;
            KERNEL(product)
            (true, false, rows, n - i, 2 * count, -1, t->x + i, n, t->y + i, n, 1, t->a + i * n + i,
                n);
        }
    }
    t->d[n - 1] = (double)t->a[n * n - 1];
}
