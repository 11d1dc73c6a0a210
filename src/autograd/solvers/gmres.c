/* Systems of linear equations by products alone: GMRES of Saad and Schultz, with restarts. */
#include <math.h>

#include "tensor/kernel/real.h"
#include "autograd/solvers/root.h"

enum { MOST = 100, RESTARTS = 10 };

/* The Hessenberg matrix of one cycle, made triangular by rotations as its columns come. */
typedef struct cycle {
    double h[MOST + 1][MOST]; /* columns of the triangle */
    double c[MOST], s[MOST];  /* rotations */
    double g[MOST + 1];       /* the rotated right-hand side */
    adz_tensor *v[MOST + 1];  /* an orthonormal basis */
} cycle;

static bool dot(adz_tensor *a, adz_tensor *b, double *value)
{
    adz_tensor *sum = adz_sum(adz_mul(a, b), ADZ_ALL_DIMS, ADZ_DROPDIM);
    *value = sum != NULL ? adz_item(sum) : NAN;
    return sum != NULL;
}

/* Makes w orthogonal to the basis, twice, so that rounding leaves nothing behind. */
static adz_tensor *orthogonal(cycle *y, adz_tensor *w, int k)
{
    const size_t mark = adzi_self()->n_temporaries;
    for (int i = 0; i <= k; ++i) {
        y->h[i][k] = 0;
    }
    for (int round = 0; round < 2 && w != NULL; ++round) {
        for (int i = 0; i <= k && w != NULL; ++i) {
            double part;
            if (!dot(w, y->v[i], &part)) {
                return NULL;
            }
            y->h[i][k] += part;
            w = adz_add_scaled(w, y->v[i], -part);
            if (!adzi_survive("gmres", mark, &w, 1)) {
                return NULL;
            }
        }
    }
    return w;
}

/* Rotates column k and the right-hand side. */
static void rotate(cycle *y, int k, double below)
{
    for (int i = 0; i < k; ++i) {
        const double a = y->h[i][k], b = y->h[i + 1][k];
        y->h[i][k] = y->c[i] * a + y->s[i] * b;
        y->h[i + 1][k] = y->c[i] * b - y->s[i] * a;
    }
    const double r = adzi_real_hypot(y->h[k][k], below);
    y->c[k] = r > 0 ? y->h[k][k] / r : 1;
    y->s[k] = r > 0 ? below / r : 0;
    y->h[k][k] = r;
    y->g[k + 1] = -y->s[k] * y->g[k];
    y->g[k] *= y->c[k];
}

/* x + V h^-1 g for the first k columns. A column that is 0 adds nothing. */
static adz_tensor *add_solution(cycle *y, adz_tensor *x, int k)
{
    for (int i = k - 1; i >= 0; --i) {
        y->g[i] = y->h[i][i] != 0 ? y->g[i] / y->h[i][i] : 0;
        for (int j = 0; j < i; ++j) {
            y->g[j] -= y->h[j][i] * y->g[i];
        }
    }
    for (int i = 0; i < k && x != NULL; ++i) {
        x = adz_add_scaled(x, y->v[i], y->g[i]);
    }
    return x;
}

/* One cycle from the residual `r` of length `size`. Adds to *x, and gives the new residual's. */
static bool run_cycle(cycle *y, adzi_product product, void *user, adz_tensor *r, double size,
    int dimension, double wanted, adz_tensor **x)
{
    int k = 0;
    y->g[0] = size;
    y->v[0] = adz_mul_number(r, 1 / size);
    for (bool more = true; k < dimension && more; ++k) {
        const size_t mark = adzi_self()->n_temporaries;
        adz_tensor *w = y->v[k] != NULL ? product(y->v[k], user) : NULL;
        double square;
        w = w != NULL ? orthogonal(y, w, k) : NULL;
        if (w == NULL || !dot(w, w, &square)) {
            return false;
        }
        const double below = sqrt(square);
        rotate(y, k, below);
        more = below > 0 && fabs(y->g[k + 1]) > wanted;
        y->v[k + 1] = more ? adz_mul_number(w, 1 / below) : NULL;
        if (!adzi_survive("gmres", mark, &y->v[k + 1], 1)) {
            return false;
        }
    }
    *x = add_solution(y, *x, k);
    return *x != NULL;
}

adz_tensor *adzi_gmres(
    adzi_product product, void *user, adz_tensor *b, int dimension, double rtol, double *part)
{
    const int64_t bytes[] = { (int64_t)sizeof(cycle) };
    adz_tensor *memory = b != NULL ? adzi_scratch("gmres", ADZ_U8, 1, bytes) : NULL;
    adz_tensor *x = memory != NULL ? adz_zeros_like(b) : NULL, *r = b;
    double square, first = 0, last = INFINITY;
    *part = 1;
    if (x == NULL || !dot(b, b, &square)) {
        return NULL;
    }
    cycle *y = (cycle *)(void *)memory->data;
    const size_t mark = adzi_self()->n_temporaries;
    for (int i = 0; i < RESTARTS; ++i) {
        const double size = sqrt(square);
        first = i == 0 ? size : first;
        *part = first > 0 ? size / first : 0;
        if (!(size > rtol * first) || !(size < 0.9 * last) || !isfinite(size)) {
            break; /* solved, or no restart helps */
        }
        last = size;
        if (!run_cycle(y, product, user, r, size, dimension, rtol * first, &x)) {
            return NULL;
        }
        r = adz_sub(b, product(x, user));
        adz_tensor *const kept[] = { x, r };
        if (r == NULL || !dot(r, r, &square) || !adzi_survive("gmres", mark, kept, 2)) {
            return NULL;
        }
    }
    *part = first > 0 ? sqrt(square) / first : 0;
    return x;
}
