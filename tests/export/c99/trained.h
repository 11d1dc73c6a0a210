/* Functions of x[4, 6], with one for every operator whose gradient C files can have. */
#ifndef ADZE_TESTS_EXPORT_C99_TRAINED_H
#define ADZE_TESTS_EXPORT_C99_TRAINED_H

#include <math.h>

#include "adze/adze.h"
#include "systems.h"

static adz_tensor *above_zero(adz_tensor *x)
{
    return adz_add_number(adz_abs(x), 0.25);
}

static adz_tensor *pooled(adz_tensor *x)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    return adz_max_pool1d(x, 3, &o, NULL);
}

/* Windows of equal elements, and an x that is not contiguous. */
static adz_tensor *pooled_apart(adz_tensor *x)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(1);
    o.dilation = ADZ_SHAPE(2, 1);
    adz_tensor *rows = adz_transpose(adz_clamp(x, -0.1, 0.2), 0, 1);
    return adz_max_pool2d(adz_unsqueeze(rows, 0), ADZ_SHAPE(2), &o, NULL);
}

/* Dilated windows, of which those at the ends have padding only and the result -infinity. */
static adz_tensor *pooled_beside(adz_tensor *x)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(1);
    o.padding = ADZ_SHAPE(4);
    o.dilation = ADZ_SHAPE(7);
    return adz_relu(adz_max_pool1d(x, 2, &o, NULL));
}

/* x[4, 6] as an image and as a kernel at once, with a bias: all gradients of a convolution. The
 * kernel is [2, 2, 3] or [2, 1, 2, 3], and the image [4, 6] or [2, 3, 4]. */
static adz_tensor *convolved(adz_tensor *x, bool transposed)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    adz_tensor *parts[2], *bias = adz_select(adz_slice(x, 0, 0, 2, 1), 1, 3);
    adz_split(x, 2, 0, parts, 2, NULL);
    adz_tensor *kernel = adz_reshape(parts[1], ADZ_SHAPE(2, 2, 3));
    return transposed ? adz_conv_transpose1d(parts[0], kernel, bias, &o)
                      : adz_conv1d(parts[0], kernel, bias, &o);
}

static adz_tensor *convolved_by_groups(adz_tensor *x, bool transposed)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.groups = 2;
    o.dilation = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1, 0);
    adz_tensor *image = adz_transpose(adz_reshape(x, ADZ_SHAPE(1, 4, 2, 3)), 2, 3);
    adz_tensor *kernel = adz_reshape(x, ADZ_SHAPE(4, 2, 3, 1));
    o.output_padding = transposed ? ADZ_SHAPE(1, 0) : o.output_padding;
    return transposed ? adz_conv_transpose2d(image, kernel, ADZ_NONE, &o)
                      : adz_conv2d(image, kernel, ADZ_NONE, &o);
}

/* A kernel of one element on padded images: the loop over its only tap leaves the padding out. */
static adz_tensor *convolved_by_one(adz_tensor *x)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding = ADZ_SHAPE(1);
    adz_tensor *kernel = adz_reshape(adz_slice(x, 1, 0, 1, 1), ADZ_SHAPE(4, 1, 1));
    return adz_conv1d(adz_reshape(x, ADZ_SHAPE(4, 1, 6)), kernel, ADZ_NONE, &o);
}

/* The gradient of a kernel [2, 1, 2, 2] as a value, from two images that both depend on x. */
static adz_tensor *kernel_of_images(adz_tensor *x)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.groups = 2;
    adz_tensor *image = adz_reshape(x, ADZ_SHAPE(2, 3, 4));
    adz_tensor *result = adz_slice(adz_slice(image, 1, 0, 2, 1), 2, 0, 3, 1);
    return adz_conv_weight(image, result, ADZ_SHAPE(2, 1, 2, 2), &o);
}

static adz_tensor *folded(adz_tensor *x, bool back)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1, 0);
    adz_tensor *image = adz_transpose(adz_reshape(x, ADZ_SHAPE(2, 1, 4, 3)), 2, 3);
    adz_tensor *columns = adz_tanh(adz_unfold(image, ADZ_SHAPE(2), &o));
    return back ? adz_fold(columns, ADZ_SHAPE(3, 4), ADZ_SHAPE(2), &o) : columns;
}

/* ROW(name, a function of x[4, 6]). */
#define TRAINED(ROW)                                                                             \
    ROW(add, adz_add_scaled(x, adz_mean(x, ADZ_DIMS(0), ADZ_KEEPDIM), 2))                        \
    ROW(sub, adz_sub(adz_select(x, 0, 1), x))                                                    \
    ROW(mul, adz_mul(x, adz_sum(x, ADZ_DIMS(0), ADZ_KEEPDIM)))                                   \
    ROW(div, adz_div(x, above_zero(adz_slice(x, 1, 0, 1, 1))))                                   \
    ROW(addcmul, adz_addcmul(x, x, adz_tanh(x), -0.5))                                           \
    ROW(neg, adz_neg(x))                                                                         \
    ROW(abs, adz_abs(x))                                                                         \
    ROW(clamp, adz_clamp(x, -0.5, 0.3))                                                          \
    ROW(erf, adz_erf(x))                                                                         \
    ROW(exp, adz_exp(x))                                                                         \
    ROW(expm1, adz_expm1(x))                                                                     \
    ROW(log, adz_log(above_zero(x)))                                                             \
    ROW(log1p, adz_log1p(above_zero(x)))                                                         \
    ROW(logsigmoid, adz_logsigmoid(x))                                                           \
    ROW(maximum, adz_maximum(x, adz_select(x, 0, 0)))                                            \
    ROW(minimum, adz_minimum(x, adz_select(x, 0, 0)))                                            \
    ROW(square, adz_square(x))                                                                   \
    ROW(cube, adz_pow_number(x, 3))                                                              \
    ROW(root, adz_pow_number(above_zero(x), 0.5))                                                \
    ROW(power, adz_pow_number(above_zero(x), -0.5))                                              \
    ROW(reciprocal, adz_reciprocal(above_zero(x)))                                               \
    ROW(rsqrt, adz_rsqrt(above_zero(x)))                                                         \
    ROW(sqrt, adz_sqrt(above_zero(x)))                                                           \
    ROW(tanh, adz_tanh(x))                                                                       \
    ROW(sigmoid, adz_sigmoid(x))                                                                 \
    ROW(leaky_relu, adz_leaky_relu(x, 0.1))                                                      \
    ROW(elu, adz_elu(x, 1.5))                                                                    \
    ROW(silu, adz_silu(x))                                                                       \
    ROW(softplus, adz_softplus(x, 2, 1))                                                         \
    ROW(gelu_tanh, adz_gelu(x, ADZ_GELU_TANH))                                                   \
    ROW(where, adz_where(adz_gt_number(x, 0), x, adz_mul_number(x, 3)))                          \
    ROW(masked_fill, adz_masked_fill(x, adz_gt_number(x, 0.5), 2))                               \
    ROW(softmax, adz_softmax(x, 0))                                                              \
    ROW(log_softmax, adz_log_softmax(x, 1))                                                      \
    ROW(mean, adz_mean(x, ADZ_DIMS(1), ADZ_DROPDIM))                                             \
    ROW(matmul, adz_matmul(x, adz_transpose(x, 0, 1)))                                           \
    ROW(cat, adz_cat((adz_tensor *[]){ adz_tanh(x), x }, 2, 0))                                  \
    ROW(reshape, adz_tanh(adz_reshape(adz_transpose(x, 0, 1), ADZ_SHAPE(8, 3))))                 \
    ROW(expand, adz_mul_number(adz_expand(adz_slice(x, 0, 0, 1, 1), ADZ_SHAPE(4, 6)), 2))        \
    ROW(tril, adz_tril(x, 1))                                                                    \
    ROW(triu, adz_triu(x, 0))                                                                    \
    ROW(layer_norm, adz_layer_norm(x, ADZ_SHAPE(6), ADZ_NONE, ADZ_NONE, 1e-5))                   \
    ROW(glu, adz_glu(x, 1))                                                                      \
    ROW(index_select, adz_index_select(x, 0,                                                     \
                          adz_tensor_from((const int64_t[]){ 2, 2, 0 }, ADZ_SHAPE(3), ADZ_I64))) \
    ROW(gather, adz_gather(x, 1,                                                                 \
                    adz_tensor_from((const int64_t[]){ 5, 1, 1, 0 }, ADZ_SHAPE(2, 2), ADZ_I64))) \
    ROW(amax, adz_amax(x, ADZ_DIMS(0), ADZ_DROPDIM))                                             \
    ROW(amin_ties, adz_amin(adz_clamp(x, -0.1, 2), ADZ_DIMS(1), ADZ_KEEPDIM))                    \
    ROW(max_of_all, adz_mul(x, adz_max(x)))                                                      \
    ROW(max_dim, adz_max_dim(x, 1, ADZ_DROPDIM, NULL))                                           \
    ROW(prod, adz_prod(x, ADZ_DIMS(1), ADZ_DROPDIM))                                             \
    ROW(prod_zeros, adz_prod(adz_relu(adz_slice(x, 1, 0, 2, 1)), ADZ_DIMS(1), ADZ_DROPDIM))      \
    ROW(solve, adz_solve(regular(x), columns(x, 4, 6)))                                          \
    ROW(solve_vector, adz_solve(regular(x), adz_select(x, 1, 5)))                                \
    ROW(solve_batch, solved_batch(x))                                                            \
    ROW(solve_triangular, solved_triangles(x))                                                   \
    ROW(cholesky, adz_cholesky(definite(x), false))                                              \
    ROW(cholesky_upper, adz_cholesky(definite(x), true))                                         \
    ROW(inv, adz_inv(regular(x)))                                                                \
    ROW(gaussian_process, gaussian_process(x))                                                   \
    ROW(implicit_step, implicit_step(x))                                                         \
    ROW(norm, adz_norm(x, 2, ADZ_DIMS(1), ADZ_KEEPDIM))                                          \
    ROW(norm_1, adz_norm(x, 1, ADZ_ALL_DIMS, ADZ_DROPDIM))                                       \
    ROW(norm_3, adz_norm(x, 3, ADZ_DIMS(0), ADZ_DROPDIM))                                        \
    ROW(norm_half, adz_norm(x, 0.5, ADZ_DIMS(0), ADZ_DROPDIM))                                   \
    ROW(norm_below, adz_norm(x, -1, ADZ_DIMS(1), ADZ_DROPDIM))                                   \
    ROW(norm_most, adz_norm(x, (double)INFINITY, ADZ_DIMS(1), ADZ_DROPDIM))                      \
    ROW(norm_least, adz_norm(x, -(double)INFINITY, ADZ_DIMS(0), ADZ_DROPDIM))                    \
    ROW(norm_zero, adz_mul(x, adz_norm(x, 0, ADZ_DIMS(0), ADZ_DROPDIM)))                         \
    ROW(cumsum, adz_cumsum(x, 1))                                                                \
    ROW(cumsum_rows, adz_cumsum(x, 0))                                                           \
    ROW(topk, adz_topk(x, 3, 1, true, NULL))                                                     \
    ROW(topk_rows, adz_topk(x, 2, 0, false, NULL))                                               \
    ROW(pad, adz_pad(x, (const int64_t[]){ 1, 2, 0, 1 }, 4, 0.5))                                \
    ROW(pad_cut, adz_pad(x, (const int64_t[]){ -2, 1 }, 2, 0))                                   \
    ROW(flip, adz_flip(x, ADZ_DIMS(0, 1)))                                                       \
    ROW(scatter_add,                                                                             \
        adz_scatter_add(adz_tanh(x), 1,                                                          \
            adz_tensor_from((const int64_t[]){ 5, 1, 1, 0 }, ADZ_SHAPE(2, 2), ADZ_I64), x))      \
    ROW(max_pool, pooled(x))                                                                     \
    ROW(max_pool_dilated, pooled_apart(x))                                                       \
    ROW(max_pool_of_padding, pooled_beside(x))                                                   \
    ROW(adaptive_max_pool,                                                                       \
        adz_adaptive_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 1, 4, 6)), ADZ_SHAPE(3, 4), NULL))   \
    ROW(conv1d, convolved(x, false))                                                             \
    ROW(conv2d, convolved_by_groups(x, false))                                                   \
    ROW(conv_of_one_tap, convolved_by_one(x))                                                    \
    ROW(conv_transpose1d, convolved(x, true))                                                    \
    ROW(conv_transpose2d, convolved_by_groups(x, true))                                          \
    ROW(conv_weight, kernel_of_images(x))                                                        \
    ROW(unfold, folded(x, false))                                                                \
    ROW(fold, folded(x, true))                                                                   \
    ROW(logsumexp, adz_logsumexp(x, ADZ_DIMS(0), ADZ_DROPDIM))

#define FUNCTION(name, expression)                   \
    static adz_tensor *trained_##name(adz_tensor *x) \
    {                                                \
        return expression;                           \
    }
TRAINED(FUNCTION)

#define NAMED(name, expression) { #name, trained_##name },
static const struct {
    const char *name;
    adz_tensor *(*function)(adz_tensor *x);
} all_trained[] = { TRAINED(NAMED) };

enum { N_TRAINED = sizeof all_trained / sizeof *all_trained };

#endif
