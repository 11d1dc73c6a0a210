/* Matrices for the cases of solvers and factorisations, made of normal numbers. */
#ifndef ADZE_TESTS_OPS_DECOMPOSITION_MATRICES_H
#define ADZE_TESTS_OPS_DECOMPOSITION_MATRICES_H

#include "ops/facts.h"
#include "ops/sweep.h"

static inline adz_tensor *identity_like(adz_tensor *a)
{
    const int64_t n = adz_tensor_size(a, -1);
    return adz_eye(n, n, adz_tensor_dtype(a));
}

static inline bool is_square(adz_tensor *a)
{
    return a != NULL && adz_tensor_rank(a) >= 2 && adz_tensor_size(a, -1) == adz_tensor_size(a, -2);
}

/* Matrices of small condition: the diagonal dominates elements of the size `unit`. */
static inline adz_tensor *regular_of(adz_tensor *a, double unit)
{
    return is_square(a)
               ? adz_add(adz_mul_number(a, 0.5), adz_mul_number(identity_like(a), 4 * unit))
               : a;
}

static inline adz_tensor *regular(adz_tensor *a)
{
    return regular_of(a, 1);
}

/* Symmetric positive definite matrices of the size `unit`, a power of 2, for elements of it. */
static inline adz_tensor *definite_of(adz_tensor *a, double unit)
{
    return is_square(a)
               ? adz_add(adz_mul_number(
                             adz_matmul(adz_div_number(a, unit), adz_transpose(a, -2, -1)), 0.5),
                     adz_mul_number(identity_like(a), unit))
               : a;
}

static inline adz_tensor *definite(adz_tensor *a)
{
    return definite_of(a, 1);
}

/* A matrix of numbers that wants a gradient, n x n, f64. */
#define MATRIX_LEAF(n, ...)                                                  \
    adz_requires_grad_(adz_reshape(VALUES(ADZ_F64, __VA_ARGS__),             \
                           ADZ_SHAPE(VALUES_COUNT(__VA_ARGS__) / (n), (n))), \
        true)
#define MATRIX(n, ...) \
    adz_reshape(VALUES(ADZ_F64, __VA_ARGS__), ADZ_SHAPE(VALUES_COUNT(__VA_ARGS__) / (n), (n)))
#define VALUES_COUNT(...) ((int64_t)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)))

/* The largest absolute difference of two tensors. */
static inline double farthest(adz_tensor *a, adz_tensor *b)
{
    adz_tensor *most = adz_max(adz_abs(adz_sub(adz_detach(a), adz_detach(b))));
    if (most == NULL) {
        fail_msg("%s", adz_error_message());
    }
    return adz_tensor_at(adz_to(most, ADZ_F64), NULL);
}

/* Matrices of normal numbers, f64, the same in every run. */
static inline adz_tensor *normal_matrices(adz_shape shape)
{
    adz_manual_seed(7);
    return adz_randn(shape, ADZ_F64);
}

/* Fails unless a function of 11 matrices gives each the bits that it gives it alone. Half of the
 * matrices have whole numbers, among which are equal pivots and zeros, if `whole` is set. */
static inline void assert_items_do_not_mix(adz_tensor *(*of)(adz_tensor *a), bool whole)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 8, 16, 17 };
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; ++i) {
        const int64_t n = sizes[i / 2];
        adz_tensor *a = normal_matrices(ADZ_SHAPE(11, n, n));
        if (whole) {
            adz_copy_(adz_narrow(a, 0, 0, 5), adz_round(adz_narrow(a, 0, 0, 5)));
        }
        a = adz_to(a, i % 2 == 0 ? ADZ_F64 : ADZ_F32);
        adz_tensor *all = of(a);
        for (int64_t item = 0; item < 11; ++item) {
            adz_tensor *alone = of(adz_narrow(a, 0, item, 1));
            if (alone == NULL || !same_bits(adz_contiguous(adz_narrow(all, 0, item, 1)), alone)) {
                fail_msg("n = %d, item %d: %s", (int)n, (int)item, adz_error_message());
            }
        }
    }
}

/* Fails unless `call` has the same bits with and without a gradient, for batches of several sizes
 * of matrices with singular and with very large and small ones. Without one no factors are kept. */
static inline void assert_same_bits_without_gradient(adz_tensor *(*call)(adz_tensor *))
{
    adz_manual_seed(11);
    for (int64_t n = 0; n <= 18; n += n < 4 ? 1 : 7) {
        for (int64_t items = 1; items <= 41; items += 8) {
            adz_tensor *a = adz_randn(ADZ_SHAPE(items, n, n), ADZ_F64);
            adz_tensor *scale =
                adz_exp(adz_mul_number(adz_randn(ADZ_SHAPE(items, 1, 1), ADZ_F64), 60));
            adz_tensor *zero = adz_gt_number(adz_rand(ADZ_SHAPE(items, n, 1), ADZ_F64), 0.9);
            a = adz_masked_fill(adz_mul(a, scale), zero, 0);
            adz_tensor *plain = call(a), *kept = call(adz_requires_grad_(adz_clone(a), true));
            assert_non_null(plain);
            assert_memory_equal(adz_tensor_data_f64(plain), adz_tensor_data_f64(adz_detach(kept)),
                (size_t)items * sizeof(double));
        }
    }
}

#endif
