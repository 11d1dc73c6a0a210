/* Systems of linear equations and the Cholesky factor, for C files. Nothing here can fail: where
 * the library refuses a matrix, elements become infinite or NaN. */

/* a[n, n], of which one triangle is read, becomes its Cholesky factor. Element i, j is at i r + j
 * s: with r = n and s = 1 the factor is the lower one, with r = 1 and s = n the upper one. */
static void net_cholesky(float *a, int r, int s, int n)
{
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            float sum = a[i * r + j * s];
            for (int k = 0; k < j; ++k) {
                sum -= a[i * r + k * s] * a[j * r + k * s];
            }
            a[i * r + j * s] = i == j ? net_sqrt(sum) : sum / a[j * r + j * s];
        }
        for (int i = 0; i < j; ++i) {
            a[i * r + j * s] = 0;
        }
    }
}

/* x[n, k], which holds b, becomes the solution of a x = b with a triangular a[n, n]. Element i, j
 * of a is at i r + j s. With `unit` its diagonal counts as 1. */
static void net_solve_triangular(
    const float *a, int r, int s, float *x, int n, int k, int upper, int unit)
{
    for (int t = 0; t < n; ++t) {
        const int i = upper ? n - 1 - t : t, last = upper ? n : i;
        for (int j = upper ? i + 1 : 0; j < last; ++j) {
            for (int q = 0; q < k; ++q) {
                x[i * k + q] -= a[i * r + j * s] * x[j * k + q];
            }
        }
        for (int q = 0; q < k && !unit; ++q) {
            x[i * k + q] /= a[i * r + i * s];
        }
    }
}

/* Exchanges rows i and j of a[n, n], which has zeros before column i, and of x[n, k]. */
static void net_exchange_rows(float *a, float *x, int n, int k, int i, int j)
{
    for (int q = i; q < n; ++q) {
        const float kept = a[i * n + q];
        a[i * n + q] = a[j * n + q];
        a[j * n + q] = kept;
    }
    for (int q = 0; q < k; ++q) {
        const float kept = x[i * k + q];
        x[i * k + q] = x[j * k + q];
        x[j * k + q] = kept;
    }
}

/* x[n, k], which holds b, becomes the solution of a x = b. Each step takes the row with the largest
 * element of its column. a[n, n] is overwritten. */
static void net_solve(float *a, float *x, int n, int k)
{
    for (int p = 0; p < n; ++p) {
        int pivot = p;
        for (int i = p + 1; i < n; ++i) {
            const float u = a[i * n + p], v = a[pivot * n + p];
            pivot = (u < 0 ? -u : u) > (v < 0 ? -v : v) ? i : pivot;
        }
        if (pivot != p) {
            net_exchange_rows(a, x, n, k, p, pivot);
        }
        for (int i = p + 1; i < n; ++i) {
            const float factor = a[i * n + p] / a[p * n + p];
            for (int q = p; q < n; ++q) {
                a[i * n + q] -= factor * a[p * n + q];
            }
            for (int q = 0; q < k; ++q) {
                x[i * k + q] -= factor * x[p * k + q];
            }
        }
    }
    net_solve_triangular(a, n, 1, x, n, k, 1, 0);
}
