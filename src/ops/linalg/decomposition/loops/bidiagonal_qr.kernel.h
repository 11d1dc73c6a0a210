/* Singular values of small upper bidiagonal matrices by implicit QR steps. Included after the
 * element type is known (tensor/kernel/each_float.h).
 *
 * Reference: G. H. Golub and W. Kahan, Calculating the singular values and pseudo-inverse of a
 * matrix, SIAM J. Numer. Anal. 2, 1965. */

/* c f + s g = r, c g - s f = 0. */
static inline double KERNEL(givens)(double f, double g, double *c, double *s)
{
    const double square = f * f + g * g;
    const double r = square > 0x1p-900 ? sqrt(square) : adzi_real_hypot(f, g);
    *c = r > 0 ? f / r : 1;
    *s = r > 0 ? g / r : 0;
    return r;
}

/* x' = c x + s y, y' = c y - s x. */
NOINLINE void KERNEL(rotate_rows)(int64_t n, elem *x, elem *y, elem c, elem s)
{
    const int64_t w = KERNEL(register_lanes);
    int64_t i = 0;
    for (; i + w <= n; i += w) {
        const KERNEL(in_register) p = WIDE(x + i), q = WIDE(y + i);
        TO_WIDE(x + i) = c * p + s * q;
        TO_WIDE(y + i) = c * q - s * p;
    }
    for (; i < n; ++i) {
        const elem p = x[i], q = y[i];
        x[i] = c * p + s * q;
        y[i] = c * q - s * p;
    }
}

/* Rotates the vectors i and j, which have n elements from column `first` on; NULL has none. */
static inline void KERNEL(rotate_vectors)(const KERNEL(bidiagonal) * b, elem *vectors,
    int64_t first, int64_t n, int64_t i, int64_t j, double c, double s)
{
    if (vectors != NULL) {
        KERNEL(rotate_rows)
        (n, vectors + i * b->ld + first, vectors + j * b->ld + first, ELEM(c), ELEM(s));
    }
}

/* Takes the last column from a part with one column more than rows: its element f in row
 * first + n - 1 moves up until it is gone. */
static void KERNEL(drop_column)(const KERNEL(bidiagonal) * b, int64_t first, int64_t n)
{
    double f = b->e[first + n - 1], c, s;
    b->e[first + n - 1] = 0;
    for (int64_t i = first + n - 1; i >= first && f != 0; --i) {
        b->d[i] = KERNEL(givens)(b->d[i], f, &c, &s);
        if (i > first) {
            f = -s * b->e[i - 1];
            b->e[i - 1] *= c;
        }
        KERNEL(rotate_vectors)(b, b->vt, first, n + 1, i, first + n, c, s);
    }
}

/* Row i of the rows up to `last` has the diagonal element 0: its other element moves to the right
 * until it is gone. */
static void KERNEL(clear_row)(
    const KERNEL(bidiagonal) * b, int64_t first, int64_t n, int64_t i, int64_t last)
{
    double f = b->e[i], c, s;
    b->e[i] = 0;
    b->d[i] = 0;
    for (int64_t j = i + 1; j <= last && f != 0; ++j) {
        b->d[j] = KERNEL(givens)(b->d[j], f, &c, &s);
        if (j < last) {
            f = -s * b->e[j];
            b->e[j] *= c;
        }
        KERNEL(rotate_vectors)(b, b->ut, first, n, j, i, c, s);
    }
}

/* Row `last` has the diagonal element 0: the other element of its column moves up until it is gone.
 */
static void KERNEL(clear_column)(
    const KERNEL(bidiagonal) * b, int64_t first, int64_t columns, int64_t low, int64_t last)
{
    double f = b->e[last - 1], c, s;
    b->e[last - 1] = 0;
    b->d[last] = 0;
    for (int64_t j = last - 1; j >= low && f != 0; --j) {
        b->d[j] = KERNEL(givens)(b->d[j], f, &c, &s);
        if (j > low) {
            f = -s * b->e[j - 1];
            b->e[j - 1] *= c;
        }
        KERNEL(rotate_vectors)(b, b->vt, first, columns, j, last, c, s);
    }
}

/* One implicit QR step on rows low .. last, of which no element is 0. Right vectors have `columns`
 * elements. The shift is an eigenvalue of
 * the last 2 x 2 block of B^T B. */
static void KERNEL(qr_step)(const KERNEL(bidiagonal) * b, int64_t first, int64_t n, int64_t columns,
    int64_t low, int64_t last)
{
    double *d = b->d, *e = b->e, c, s;
    const double x = d[low], y = d[last - 1], z = d[last], h = e[last - 1];
    const double g = last - 1 > low ? e[last - 2] : 0;
    double f = ((y - z) * (y + z) + (g - h) * (g + h)) / 2 / h / y;
    const double root = adzi_real_hypot(f, 1);
    f = ((x - z) * (x + z) + h * (y / (f + (f < 0 ? -root : root)) - h)) / x;
    double bulge = e[low];
    for (int64_t i = low; i < last; ++i) {
        const double r = KERNEL(givens)(f, bulge, &c, &s);
        if (i > low) {
            e[i - 1] = r;
        }
        f = c * d[i] + s * e[i];
        e[i] = c * e[i] - s * d[i];
        bulge = s * d[i + 1];
        d[i + 1] *= c;
        KERNEL(rotate_vectors)(b, b->vt, first, columns, i, i + 1, c, s);
        d[i] = KERNEL(givens)(f, bulge, &c, &s);
        f = c * e[i] + s * d[i + 1];
        d[i + 1] = c * d[i + 1] - s * e[i];
        if (i + 1 < last) {
            bulge = s * e[i + 1];
            e[i + 1] *= c;
        }
        KERNEL(rotate_vectors)(b, b->ut, first, n, i, i + 1, c, s);
    }
    e[last - 1] = f;
}

/* Makes a part diagonal, with a diagonal that is not negative: n rows, and as many columns, or one
 * more with `wide`. Returns false if the steps do not converge. */
static bool KERNEL(small_bidiagonal)(
    const KERNEL(bidiagonal) * b, int64_t first, int64_t n, bool wide)
{
    double *d = b->d, *e = b->e, most = 0;
    if (wide) {
        KERNEL(drop_column)(b, first, n);
    }
    for (int64_t i = first; i < first + n; ++i) {
        const double other = i + 1 < first + n ? fabs(e[i]) : 0;
        most = fmax(most, fmax(fabs(d[i]), other));
    }
    double small = most * (ELEM_IS_F32 ? 0x1p-26 : 0x1p-52);
    int64_t last = first + n - 1;
    for (int64_t steps = 0; last > first && steps < 60 * n; ++steps) {
        int64_t low = last, zero = -1;
        if (steps % (4 * n) == 4 * n - 1) {
            small *= 2; /* rounding may keep an element of a cluster above it */
        }
        while (low > first && !(fabs(e[low - 1]) <= small)) {
            --low;
        }
        if (low == last) {
            e[--last] = 0;
            continue;
        }
        for (int64_t i = low; i < last; ++i) {
            zero = fabs(d[i]) <= small ? i : zero;
        }
        if (zero >= 0) {
            KERNEL(clear_row)(b, first, n, zero, last);
        } else if (fabs(d[last]) <= small) {
            KERNEL(clear_column)(b, first, n + wide, low, last);
        } else {
            KERNEL(qr_step)(b, first, n, n + wide, low, last);
        }
    }
    for (int64_t i = first; i < first + n; ++i) {
        elem *v = b->vt + i * b->ld + first;
        for (int64_t j = 0; j < n + wide && d[i] < 0; ++j) {
            v[j] = -v[j];
        }
        d[i] = fabs(d[i]);
    }
    return last <= first;
}
