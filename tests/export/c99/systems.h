/* Functions of x[4, 6] that solve systems of linear equations. */
#ifndef ADZE_TESTS_EXPORT_C99_SYSTEMS_H
#define ADZE_TESTS_EXPORT_C99_SYSTEMS_H

#include "adze/adze.h"

/* Columns begin .. end-1 of x. */
static adz_tensor *columns(adz_tensor *x, int64_t begin, int64_t end)
{
    return adz_slice(x, 1, begin, end, 1);
}

/* A regular matrix [4, 4] whose largest elements are not on its diagonal, so that rows change. */
static adz_tensor *regular(adz_tensor *x)
{
    adz_tensor *rows = adz_flip(adz_eye(4, 4, adz_tensor_dtype(x)), ADZ_DIMS(0));
    return adz_add(adz_tanh(columns(x, 0, 4)), adz_mul_number(rows, 4));
}

/* A positive definite matrix [4, 4]. */
static adz_tensor *definite(adz_tensor *x)
{
    adz_tensor *m = adz_tanh(columns(x, 0, 4));
    return adz_add(adz_matmul(m, adz_transpose(m, 0, 1)), adz_eye(4, 4, adz_tensor_dtype(x)));
}

/* Two systems with one right side: a[2, 2, 2], b[2, 4]. */
static adz_tensor *solved_batch(adz_tensor *x)
{
    adz_tensor *a = adz_reshape(adz_tanh(columns(x, 0, 2)), ADZ_SHAPE(2, 2, 2));
    a = adz_add(a, adz_mul_number(adz_eye(2, 2, adz_tensor_dtype(x)), 3));
    return adz_solve(a, adz_slice(columns(x, 2, 6), 0, 0, 2, 1));
}

/* All options of solve_triangular at once, with the right sides on the left of the matrix. */
static adz_tensor *solved_triangles(adz_tensor *x)
{
    adz_tensor *a = definite(x), *b = columns(x, 4, 6), *results[8];
    for (int i = 0; i < 8; ++i) {
        adz_solve_triangular_options o = ADZ_SOLVE_TRIANGULAR_OPTIONS;
        o.left = i % 2 == 0;
        o.unitriangular = i % 4 >= 2;
        adz_tensor *sides = o.left ? b : adz_transpose(b, 0, 1);
        results[i] =
            adz_solve_triangular(o.unitriangular ? adz_mul_number(a, 0.2) : a, sides, i >= 4, &o);
        results[i] = o.left ? results[i] : adz_transpose(results[i], 0, 1);
    }
    return adz_stack(results, 8, 0);
}

/* exp(-(p - q)^2 / 2) for points p[N, 1] and q[M, 1]. */
static adz_tensor *kernel(adz_tensor *p, adz_tensor *q)
{
    return adz_exp(adz_mul_number(adz_square(adz_sub(p, adz_transpose(q, 0, 1))), -0.5));
}

/* The mean and the variance of a Gaussian process at points, given values at others. */
static adz_tensor *gaussian_process(adz_tensor *x)
{
    adz_tensor *known = columns(x, 0, 1), *values = columns(x, 1, 2), *at = columns(x, 2, 3);
    adz_tensor *noise = adz_mul_number(adz_eye(4, 4, adz_tensor_dtype(x)), 0.5);
    adz_tensor *factor = adz_cholesky(adz_add(kernel(known, known), noise), false);
    adz_tensor *between = kernel(known, at);
    adz_tensor *weights = adz_cholesky_solve(values, factor, false);
    adz_tensor *mean = adz_matmul(adz_transpose(between, 0, 1), weights);
    adz_tensor *part = adz_solve_triangular(factor, between, false, NULL);
    adz_tensor *variance = adz_number_sub(1, adz_sum(adz_square(part), ADZ_DIMS(0), ADZ_DROPDIM));
    return adz_cat((adz_tensor *[]){ mean, adz_unsqueeze(variance, 1) }, 2, 1);
}

/* A backward Euler step of y' = a y - y^3 with three iterations of Newton. */
static adz_tensor *implicit_step(adz_tensor *x)
{
    const double h = 0.1;
    adz_tensor *y = columns(x, 0, 1), *a = columns(x, 1, 5), *z = y;
    adz_tensor *one = adz_eye(4, 4, adz_tensor_dtype(x));
    for (int i = 0; i < 3; ++i) {
        adz_tensor *slope = adz_sub(adz_matmul(a, z), adz_pow_number(z, 3));
        adz_tensor *rest = adz_sub(adz_sub(z, y), adz_mul_number(slope, h));
        adz_tensor *bend = adz_mul(one, adz_mul_number(adz_square(z), 3));
        adz_tensor *m = adz_sub(one, adz_mul_number(adz_sub(a, bend), h));
        z = adz_sub(z, adz_solve(m, rest));
    }
    return z;
}

#endif
