/* Gradients at all scales: powers of two taken from a matrix or from upstream gradients. */
#ifndef ADZE_TESTS_OPS_DECOMPOSITION_SCALES_H
#define ADZE_TESTS_OPS_DECOMPOSITION_SCALES_H

#include "ops/linalg/decomposition/matrices.h"

/* A function of one matrix. Result i is homogeneous: a factor s of the matrix is a factor of
 * s^(halves[i] / 2) of the result, or of its gradient times s where `halves` says so. */
typedef struct scaled_case {
    int (*call)(adz_tensor *a, adz_tensor **results);
    int n_results;
    int halves[3];
    bool fixed; /* the matrix is not scaled */
} scaled_case;

static inline adz_tensor *times_power(adz_tensor *x, int e)
{
    const int half = e / 2;
    return adz_mul_number(adz_mul_number(x, ldexp(1, half)), ldexp(1, e - half));
}

/* The gradient for a 2^k and upstream gradients that make it 2^j times that of k = j = 0. */
static inline adz_tensor *gradient_at_scale(
    const scaled_case *c, adz_tensor *a, int k, int j, int most)
{
    adz_tensor *leaf = adz_requires_grad_(times_power(a, k), true), *y[3], *g[3], *da = NULL;
    assert_int_equal(c->call(leaf, y), c->n_results);
    adz_manual_seed(3);
    for (int i = 0; i < c->n_results; ++i) {
        const int power = j - (c->halves[i] - 2) * k / 2;
        if (power > most || power < -most) {
            return NULL;
        }
        adz_tensor *upstream = adz_randn(adz_tensor_shape(y[i]), ADZ_F64);
        g[i] = times_power(adz_to(upstream, adz_tensor_dtype(a)), power);
    }
    assert_int_equal(adz_autograd_grad(y, g, (size_t)c->n_results, &leaf, 1, NULL, &da), ADZ_OK);
    return da;
}

static inline void assert_gradient_keeps_scale(const scaled_case *c, adz_tensor *matrix)
{
    static const int parts[] = { -11, -6, -2, 0, 2, 6, 11 };
    for (int type = 0; type < 2; ++type) {
        const int step = type == 0 ? 10 : 88, most = 11 * step;
        adz_tensor *a = adz_to(matrix, type == 0 ? ADZ_F32 : ADZ_F64);
        adz_tensor *right = gradient_at_scale(c, a, 0, 0, most);
        const double size = farthest(right, adz_zeros_like(right));
        for (int i = 0; i < 49; ++i) {
            const int k = c->fixed ? 0 : step * parts[i / 7], j = step * parts[i % 7];
            adz_scope *scope = adz_scope_open();
            adz_tensor *da = gradient_at_scale(c, a, k, j, most);
            const double off = da == NULL ? 0 : farthest(times_power(da, -j), right) / size;
            if (!(off < (type == 0 ? 1e-5 : 1e-14))) {
                fail_msg(
                    "f%d, matrix times 2^%d, gradient times 2^%d: off by %g of the largest element: %s",
                    type == 0 ? 32 : 64, k, j, off, adz_error_message());
            }
            adz_scope_close(scope);
        }
    }
}

/* Makes a function of one result a fact. */
#define SCALE_FACT(name, expression, degree, matrix)                                         \
    static int name##_call(adz_tensor *a, adz_tensor **y)                                    \
    {                                                                                        \
        y[0] = expression;                                                                   \
        return y[0] != NULL;                                                                 \
    }                                                                                        \
    FACT(name)                                                                               \
    {                                                                                        \
        const scaled_case c = { .call = name##_call, .n_results = 1, .halves = { degree } }; \
        assert_gradient_keeps_scale(&c, matrix);                                             \
    }

#endif
