/* Systems of linear equations by products alone: GMRES of Saad and Schultz, with restarts.
 *
 * The right-hand side is divided by the power of two at its largest element, and the matrix by that
 * at the largest element of its first product. Such a division is exact. So the digits of a
 * solution do not depend on the scale of either, and no dot product overflows or becomes 0. */
#include <float.h>
#include <math.h>

#include "tensor/kernel/real.h"
#include "solvers/roots/root.h"

enum { MOST = 100, RESTARTS = 200 };

/* Above this part of a residual that a restart leaves, the next cycle gets twice as many vectors.
 */
#define SLOW 0.5
/* Above this part, with as many vectors as possible, the search ends. */
#define USELESS 0.9

/* The matrix, divided by 2^exponent. */
typedef struct matrix {
    adzi_matrix given;
    int exponent;
    bool known;  /* the exponent is chosen */
    double norm; /* the longest product with a vector of length 1 until now */
    double eps;  /* of the dtype */
} matrix;

/* The Hessenberg matrix of one cycle, made triangular by rotations as its columns come. */
typedef struct cycle {
    double h[MOST + 1][MOST]; /* columns of the triangle */
    double c[MOST], s[MOST];  /* rotations */
    double g[MOST + 1];       /* the rotated right-hand side */
    adz_tensor *v[MOST + 1];  /* an orthonormal basis */
    int dimension;            /* of the basis, at most */
    double wanted;            /* the length of a residual that is short enough */
} cycle;

static bool dot(adz_tensor *a, adz_tensor *b, double *value)
{
    adz_tensor *sum = adz_sum(adz_mul(a, b), ADZ_ALL_DIMS, ADZ_DROPDIM);
    *value = sum != NULL ? adz_item(sum) : NAN;
    return sum != NULL;
}

/* The exponent of the power of two above the largest element of t; 0 if that is 0 or not finite. */
static bool exponent_of(adz_tensor *t, int *exponent)
{
    adz_tensor *largest = adz_amax(adz_abs(t), ADZ_ALL_DIMS, ADZ_DROPDIM);
    const double value = largest != NULL ? adz_item(largest) : 0;
    *exponent = 0;
    if (value > 0 && isfinite(value)) {
        (void)frexp(value, exponent);
    }
    return largest != NULL;
}

/* t 2^exponent. Two factors, because one may be beyond the range of the dtype. */
static adz_tensor *scaled(adz_tensor *t, int exponent)
{
    const int half = exponent / 2;
    if (exponent == 0) {
        return t;
    }
    if (exponent >= -100 && exponent <= 100) {
        return adz_mul_number(t, ldexp(1, exponent));
    }
    return adz_mul_number(adz_mul_number(t, ldexp(1, half)), ldexp(1, exponent - half));
}

/* Of a vector whose largest element is not far from 1. */
static bool length_of(adz_tensor *t, double *length)
{
    double square;
    const bool good = dot(t, t, &square);
    *length = sqrt(square);
    return good;
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

/* x + V h^-1 g for the first k columns. A column that is 0 to rounding adds nothing. */
static adz_tensor *add_solution(cycle *y, const matrix *a, adz_tensor *x, int k)
{
    for (int i = k - 1; i >= 0; --i) {
        y->g[i] = y->h[i][i] <= a->eps * a->norm ? 0 : y->g[i] / y->h[i][i];
        for (int j = 0; j < i; ++j) {
            y->g[j] -= y->h[j][i] * y->g[i];
        }
    }
    for (int i = 0; i < k && x != NULL; ++i) {
        x = adz_add_scaled(x, y->v[i], y->g[i]);
    }
    return x;
}

/* The product of the matrix with y->v[k], made orthogonal to the basis. Fills column k, and gives
 * the vector that is left, whose length in the units of the column is *below. */
static adz_tensor *next_vector(cycle *y, matrix *a, int k, double *below, double *length)
{
    int exponent;
    double sum = 0;
    adz_tensor *w = y->v[k] != NULL ? a->given.product(y->v[k], a->given.user) : NULL;
    if (w == NULL || !exponent_of(w, &exponent)) {
        return NULL;
    }
    w = scaled(w, -exponent);
    w = w != NULL ? orthogonal(y, w, k) : NULL;
    if (w == NULL || !length_of(w, length)) {
        return NULL;
    }
    a->exponent = a->known ? a->exponent : exponent;
    a->known = true;
    for (int i = 0; i <= k; ++i) {
        sum += y->h[i][k] * y->h[i][k];
        y->h[i][k] = ldexp(y->h[i][k], exponent - a->exponent);
    }
    a->norm = fmax(a->norm, ldexp(sqrt(sum + *length * *length), exponent - a->exponent));
    *below = ldexp(*length, exponent - a->exponent);
    return w;
}

/* One cycle from the residual `r` of length `size`. Adds to *x. */
static bool run_cycle(cycle *y, matrix *a, adz_tensor *r, double size, adz_tensor **x)
{
    int k = 0;
    y->g[0] = size;
    y->v[0] = adz_mul_number(r, 1 / size);
    for (bool more = true; k < y->dimension && more; ++k) {
        const size_t mark = adzi_self()->n_temporaries;
        double below, length;
        adz_tensor *w = next_vector(y, a, k, &below, &length);
        if (w == NULL) {
            return false;
        }
        rotate(y, k, below);
        more = below > 0 && fabs(y->g[k + 1]) > y->wanted;
        y->v[k + 1] = more ? adz_mul_number(w, 1 / length) : NULL;
        if (!adzi_survive("gmres", mark, &y->v[k + 1], 1)) {
            return false;
        }
    }
    *x = add_solution(y, a, *x, k);
    return *x != NULL;
}

/* b - A x for the divided matrix. */
static adz_tensor *residual_of(const matrix *a, adz_tensor *b, adz_tensor *x)
{
    adz_tensor *product = a->given.product(x, a->given.user);
    return product != NULL ? adz_sub(b, scaled(product, -a->exponent)) : NULL;
}

/* How large the residual is beside |A| |x|. */
static bool measure(const matrix *a, adz_tensor *x, double size, adzi_gmres_report *found)
{
    int exponent;
    double length;
    if (!exponent_of(x, &exponent) || !length_of(scaled(x, -exponent), &length)) {
        return false;
    }
    if (length > 0) {
        found->backward = size / (a->norm * ldexp(length, exponent));
    }
    return true;
}

/* Cycles until the residual of b, whose largest element is about 1, is small. */
static adz_tensor *solve(cycle *y, matrix *a, adz_tensor *b, double rtol, adzi_gmres_report *found)
{
    adz_tensor *x = adz_zeros_like(b), *r = b;
    double first, size, last = INFINITY;
    if (x == NULL || !length_of(b, &first)) {
        return NULL;
    }
    size = first;
    y->wanted = rtol * first;
    const size_t mark = adzi_self()->n_temporaries;
    for (int i = 0; i < RESTARTS && size > y->wanted && isfinite(size); ++i) {
        if (size > USELESS * last && y->dimension == MOST) {
            break;
        }
        if (size > SLOW * last) {
            y->dimension = 2 * y->dimension < MOST ? 2 * y->dimension : MOST;
        }
        last = size;
        if (!run_cycle(y, a, r, size, &x)) {
            return NULL;
        }
        r = residual_of(a, b, x);
        adz_tensor *const kept[] = { x, r };
        if (r == NULL || !length_of(r, &size) || !adzi_survive("gmres", mark, kept, 2)) {
            return NULL;
        }
    }
    found->part = found->backward = size == 0 ? 0 : size / first;
    return found->part <= rtol || measure(a, x, size, found) ? x : NULL;
}

adz_tensor *adzi_gmres(
    adzi_matrix given, adz_tensor *b, int dimension, double rtol, adzi_gmres_report *found)
{
    const int64_t bytes[] = { (int64_t)sizeof(cycle) };
    adz_tensor *memory = b != NULL ? adzi_scratch("gmres", ADZ_U8, 1, bytes) : NULL;
    int exponent;
    if (memory == NULL || !exponent_of(b, &exponent)) {
        return NULL;
    }
    matrix a = { .given = given, .eps = b->dtype == ADZ_F64 ? DBL_EPSILON : (double)FLT_EPSILON };
    cycle *y = (cycle *)(void *)memory->data;
    y->dimension = dimension;
    b = scaled(b, -exponent);
    adz_tensor *x = b != NULL ? solve(y, &a, b, rtol, found) : NULL;
    return x != NULL ? scaled(x, exponent - a.exponent) : NULL;
}
