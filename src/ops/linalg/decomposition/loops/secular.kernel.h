/* The secular equation of divide and conquer. It is computed in f64 for both element types, and
 * included after the element type is known (tensor/kernel/each_float.h).
 *
 * References: J. R. Bunch, C. P. Nielsen, D. C. Sorensen, Numer. Math. 31, 1978 (steps by two
 * poles); M. Gu, S. C. Eisenstat, SIAM J. Matrix Anal. Appl. 16, 1995 (vectors of a nearby matrix
 * whose values are exact). */
typedef double KERNEL(lanes8) __attribute__((vector_size(64), aligned(8), may_alias));

#undef EIGHT
#define EIGHT(p) (*(const KERNEL(lanes8) *)(p))

/* The sums over z_j^2 / (p_j - x) of some poles, of their sizes, and of the derivatives. */
typedef struct KERNEL(terms) {
    double sum, slope;
} KERNEL(terms);

/* `poles` are relative to an origin, as x is. */
static KERNEL(terms)
    KERNEL(terms_of)(const double *poles, const double *squares, int64_t from, int64_t to, double x)
{
    KERNEL(lanes8) sums = { 0 }, slopes = { 0 };
    int64_t j = from;
    for (; j + 8 <= to; j += 8) {
        const KERNEL(lanes8) gap = EIGHT(poles + j) - x, term = EIGHT(squares + j) / gap;
        sums += term;
        slopes += term / gap;
    }
    KERNEL(terms) t = { 0, 0 };
    for (int l = 0; l < 8; ++l) {
        t.sum += sums[l];
        t.slope += slopes[l];
    }
    for (; j < to; ++j) {
        const double gap = poles[j] - x, term = squares[j] / gap;
        t.sum += term;
        t.slope += term / gap;
    }
    return t;
}

/* The change of x by which c + s / (p - x) + S / (P - x) is 0, which has the value and the slopes
 * of f at x. `near` and `far` are p - x and P - x; the last root has one pole. */
static double KERNEL(secular_step)(
    KERNEL(terms) below, KERNEL(terms) above, double near, double far, bool is_last)
{
    const double f = 1 + below.sum + above.sum;
    if (is_last) {
        const double s = near * near * below.slope;
        return near + s / (f - near * below.slope);
    }
    const double c = f - near * below.slope - far * above.slope;
    const double b = near * far * f;
    const double a = (near + far) * f - near * far * (below.slope + above.slope);
    const double under = a * a - 4 * b * c, root = sqrt(under > 0 ? under : 0);
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/* A number between two others: the geometric mean if they have one sign, because they may differ by
 * many powers of two. */
static double KERNEL(middle)(double low, double high)
{
    return low * high > 0 ? copysign(sqrt(low * high), low) : low + (high - low) / 2;
}

/* Finds root i of 1 + sum of z_j^2 / (d_j^2 - x), between d_i^2 and d_(i+1)^2. Writes d_j^2 - x to
 * `gaps` with small relative errors, and returns sqrt(x). d ascends; n poles. */
static double KERNEL(secular_root)(
    const double *d, const double *squares, int64_t n, int64_t i, double *gaps)
{
    const bool is_last = i + 1 == n;
    double low = 0, high = 0;
    for (int64_t j = 0; j < n && is_last; ++j) {
        high += squares[j];
    }
    high = is_last ? high * (1 + 0x1p-40) : (d[i + 1] - d[i]) * (d[i + 1] + d[i]) / 2;
    for (int64_t j = 0; j < n; ++j) {
        gaps[j] = (d[j] - d[i]) * (d[j] + d[i]);
    }
    int64_t origin = i;
    double x = high;
    KERNEL(terms) below = KERNEL(terms_of)(gaps, squares, 0, i + 1, x);
    KERNEL(terms) above = KERNEL(terms_of)(gaps, squares, i + 1, n, x);
    if (!is_last && 1 + below.sum + above.sum < 0) {
        /* the root is closer to the next pole */
        origin = i + 1;
        low = x = -high;
        high = 0;
        for (int64_t j = 0; j < n; ++j) {
            gaps[j] = (d[j] - d[origin]) * (d[j] + d[origin]);
        }
    }
    for (int steps = 0; steps < 100; ++steps) {
        const double f = 1 + below.sum + above.sum;
        if (fabs(f) <= 0x1p-53 * (1 + 8 * (above.sum - below.sum))) {
            break;
        }
        low = f < 0 ? x : low;
        high = f < 0 ? high : x;
        double next = x + KERNEL(secular_step)(
                              below, above, gaps[i] - x, is_last ? 0 : gaps[i + 1] - x, is_last);
        if (!(next > low && next < high) || steps % 8 == 7) {
            next = KERNEL(middle)(low, high);
        }
        if (next == x || !(next > low && next < high)) {
            break;
        }
        x = next;
        below = KERNEL(terms_of)(gaps, squares, 0, i + 1, x);
        above = KERNEL(terms_of)(gaps, squares, i + 1, n, x);
    }
    for (int64_t j = 0; j < n; ++j) {
        gaps[j] -= x;
    }
    return sqrt(d[origin] * d[origin] + x);
}

/* The z for which the computed roots are exact; its signs are those of `z`. Row k of `gaps` belongs
 * to root k. */
static void KERNEL(secular_z)(const double *restrict d, const double *restrict gaps, int64_t n,
    double *z, double *restrict work)
{
    for (int64_t j = 0; j < n; ++j) {
        work[j] = -gaps[(n - 1) * n + j];
    }
    for (int64_t k = 0; k + 1 < n; ++k) {
        const double *row = gaps + k * n;
        int64_t j = 0;
        for (; j <= k; ++j) {
            work[j] *= row[j] / ((d[j] - d[k + 1]) * (d[j] + d[k + 1]));
        }
        for (; j < n; ++j) {
            work[j] *= row[j] / ((d[j] - d[k]) * (d[j] + d[k]));
        }
    }
    for (int64_t j = 0; j < n; ++j) {
        z[j] = copysign(sqrt(work[j] > 0 ? work[j] : 0), z[j]);
    }
}
