/* The reflections that bidiagonal.kernel.h declares. Included after the element type is known
 * (tensor/kernel/each_float.h). */

/* Sixteen partial sums have small errors, also where all elements are equal. */
static double KERNEL(sum_of_squares)(int64_t n, const elem *x)
{
    double sums[16] = { 0 };
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int l = 0; l < 16; ++l) {
            sums[l] += (double)x[i + l] * (double)x[i + l];
        }
    }
    for (int l = 0; i + l < n; ++l) {
        sums[l] += (double)x[i + l] * (double)x[i + l];
    }
    for (int half = 8; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            sums[l] += sums[l + half];
        }
    }
    return sums[0];
}

elem KERNEL(reflection_of)(int64_t n, elem *x, double *beta)
{
    const double below = KERNEL(sum_of_squares)(n - 1, x + 1);
    const double alpha = (double)x[0];
    x[0] = 1;
    *beta = alpha;
    if (below < 0x1p-900) {
        for (int64_t i = 1; i < n; ++i) {
            x[i] = 0;
        }
        return 0;
    }
    *beta = -copysign(sqrt(alpha * alpha + below), alpha);
    for (int64_t i = 1; i < n; ++i) {
        x[i] = ELEM((double)x[i] / (alpha - *beta));
    }
    return ELEM((*beta - alpha) / *beta);
}

KERNEL(reflectors) KERNEL(reflectors_of)(char **memory, int64_t n)
{
    const int64_t b = ADZI_REFLECTORS, size = (int64_t)sizeof(elem);
    KERNEL(reflectors) r = { .t = adzi_take(memory, b * b * size) };
    r.inner = adzi_take(memory, b * b * size);
    r.m = adzi_take(memory, 2 * n * b * size);
    r.block = adzi_take(memory, n * b * size);
    return r;
}

/* T of a block of c reflections H_0 H_1 ... = I - V T V^T: an upper triangle, T_jj = tau_j, and
 * above it -tau_j T V^T v_j. */
static void KERNEL(block_t)(const KERNEL(reflectors) * r, const elem *tau, int64_t c, int64_t width)
{
    KERNEL(product)(false, true, c, c, width, 1, r->block, width, r->block, width, 0, r->inner, c);
    for (int64_t j = 0; j < c; ++j) {
        for (int64_t i = 0; i < c; ++i) {
            elem sum = 0;
            for (int64_t k = i; k < j; ++k) {
                sum += r->t[i * c + k] * r->inner[k * c + j];
            }
            r->t[i * c + j] = i < j ? -tau[j] * sum : i == j ? tau[j] : 0;
        }
    }
}

void KERNEL(apply_reflectors)(const KERNEL(reflectors) * r, int64_t rows, elem *z, int64_t ld)
{
    const int64_t b = ADZI_REFLECTORS;
    for (int64_t first = (r->count - 1) / b * b; first >= 0 && r->count > 0; first -= b) {
        const int64_t c = r->count - first < b ? r->count - first : b;
        const int64_t left = first + r->shift, width = r->width - left;
        for (int64_t i = 0; i < c; ++i) {
            memset(r->block + i * width, 0, (size_t)i * sizeof(elem));
            memcpy(r->block + i * width + i, r->v + (first + i) * r->ld + left + i,
                (size_t)(width - i) * sizeof(elem));
        }
        KERNEL(block_t)(r, r->tau + first, c, width);
        elem *one = r->m, *two = r->m + rows * c;
        KERNEL(product)(false, true, rows, c, width, 1, z + left, ld, r->block, width, 0, one, c);
        KERNEL(product)(false, true, rows, c, c, 1, one, c, r->t, c, 0, two, c);
        KERNEL(product)(false, false, rows, width, c, -1, two, c, r->block, width, 1, z + left, ld);
    }
}
