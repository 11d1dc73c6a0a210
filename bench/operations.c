#include "operations.h"

static adz_tensor *leaf(adz_tensor *t)
{
    return adz_requires_grad_(adz_keep(t), true);
}

/* n positive definite matrices of so many rows, [n, size, size]. */
static adz_tensor *definite(int64_t n, int64_t size, adz_dtype dtype)
{
    adz_tensor *t = adz_randn(ADZ_SHAPE(n, size, size), dtype);
    adz_tensor *squared = adz_matmul(t, adz_transpose(t, 1, 2));
    return adz_add(squared, adz_eye(size, size, dtype));
}

operands operands_begin(int64_t rows, int64_t columns)
{
    adz_shape shape = ADZ_SHAPE(rows, columns);
    adz_scope *scope = adz_scope_open();
    operands in = { .rows = rows,
        .columns = columns,
        .a = leaf(adz_randn(shape, ADZ_F32)),
        .b = leaf(adz_randn(shape, ADZ_F32)),
        .positive = leaf(adz_add_number(adz_rand(shape, ADZ_F32), 0.1)),
        .share = adz_keep(adz_rand(shape, ADZ_F32)),
        .aim = adz_keep(adz_randn(shape, ADZ_F32)),
        .wide = leaf(adz_randn(shape, ADZ_F64)),
        .weight = leaf(adz_randn(ADZ_SHAPE(columns, columns), ADZ_F32)),
        .row = leaf(adz_randn(ADZ_SHAPE(columns), ADZ_F32)),
        .ids = adz_keep(adz_randint(0, columns, ADZ_SHAPE(rows), ADZ_I64)),
        .chosen = adz_keep(adz_randint(0, columns, shape, ADZ_I64)),
        .integers = adz_keep(adz_randint(0, 100, shape, ADZ_I32)) };
    in.mask = adz_keep(adz_gt_number(in.aim, 0));
    in.halves = adz_keep(adz_to(in.aim, ADZ_BF16));
    in.small = leaf(definite(rows, 8, ADZ_F32));
    in.small64 = leaf(definite(rows, 8, ADZ_F64));
    in.definite = leaf(adz_reshape(definite(1, columns, ADZ_F32), ADZ_SHAPE(columns, columns)));
    in.gates = leaf(adz_mul_number(adz_randn(ADZ_SHAPE(4 * columns, columns), ADZ_F32), 0.1));
    in.kernels = leaf(adz_randn(ADZ_SHAPE(8, 8, 3, 3), ADZ_F32));
    adz_scope_close(scope);
    return in;
}

void operands_end(operands *in)
{
    adz_tensor **all[] = { &in->a, &in->b, &in->positive, &in->share, &in->aim, &in->wide,
        &in->weight, &in->row, &in->ids, &in->chosen, &in->integers, &in->mask, &in->halves,
        &in->small, &in->small64, &in->definite, &in->gates, &in->kernels };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adz_release(all[i]);
    }
}

void operands_forget(operands *in)
{
    adz_tensor *all[] = { in->a, in->b, in->positive, in->wide, in->weight, in->row, in->small,
        in->small64, in->definite, in->gates, in->kernels };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adz_tensor_set_grad(all[i], ADZ_NONE);
    }
}

/* The matrix as four heads of attention: [1, 4, rows, columns / 4]. */
static adz_tensor *heads(const operands *in, adz_tensor *t)
{
    adz_tensor *split = adz_reshape(t, ADZ_SHAPE(in->rows, 4, in->columns / 4));
    return adz_unsqueeze(adz_transpose(split, 0, 1), 0);
}

static adz_tensor *steps_of(const operands *in, adz_tensor *t)
{
    return adz_reshape(t, ADZ_SHAPE(in->rows, 1, in->columns));
}

/* The matrix as images of eight channels: [rows / 16, 8, 8, columns / 4]. */
static adz_tensor *images(const operands *in, adz_tensor *t)
{
    return adz_reshape(t, ADZ_SHAPE(in->rows * in->columns / 1024, 8, 8, 16));
}

static adz_tensor *depthwise(const operands *in)
{
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.padding = ADZ_SHAPE(1, 1);
    options.groups = 8;
    return adz_conv2d(images(in, in->a), adz_slice(in->kernels, 1, 0, 1, 1), ADZ_NONE, &options);
}

static adz_tensor *pooled(const operands *in)
{
    return adz_max_pool2d(images(in, in->a), ADZ_SHAPE(2, 2), NULL, NULL);
}

/* The matrix as a sequence of rows / 16 steps of 16 rows through a recurrent layer whose gates have
 * `blocks` blocks of rows. */
static adz_tensor *recurrent(const operands *in, int blocks)
{
    adz_tensor *x = adz_reshape(in->a, ADZ_SHAPE(in->rows / 16, 16, in->columns));
    adz_tensor *w = adz_slice(in->gates, 0, 0, blocks * in->columns, 1);
    adz_tensor *bias = adz_reshape(adz_slice(w, 1, 0, 1, 1), ADZ_SHAPE(blocks * in->columns));
    adz_tensor *weights[] = { w, w, bias, bias };
    return blocks == 4   ? adz_lstm(x, ADZ_NONE, ADZ_NONE, weights, 4, NULL, NULL, NULL)
           : blocks == 3 ? adz_gru(x, ADZ_NONE, weights, 4, NULL, NULL)
                         : adz_rnn(x, ADZ_NONE, weights, 4, NULL, NULL);
}

static adz_tensor *singular(adz_tensor *t)
{
    adz_tensor *u, *s, *vh;
    adz_svd(t, &u, &s, &vh);
    return s;
}

/* One sequence for each 16 rows, with 4 labels. */
static adz_tensor *ctc(const operands *in)
{
    const int64_t n = in->rows / 16;
    adz_tensor *x = adz_reshape(in->a, ADZ_SHAPE(16, n, in->columns));
    adz_tensor *labels = adz_full(ADZ_SHAPE(n, 4), 1, ADZ_I64);
    adz_tensor *steps = adz_full(ADZ_SHAPE(n), 16, ADZ_I64);
    return adz_ctc_loss(x, labels, steps, adz_full(ADZ_SHAPE(n), 4, ADZ_I64), NULL);
}

/* X(name, what it computes from `in`) */
#define OPERATIONS(X)                                                                             \
    X(add, adz_add(in->a, in->b))                                                                 \
    X(add_row, adz_add(in->a, in->row))                                                           \
    X(add_number, adz_add_number(in->a, 1))                                                       \
    X(add_f64, adz_add(in->wide, in->wide))                                                       \
    X(add_i32, adz_add(in->integers, in->integers))                                               \
    X(sub, adz_sub(in->a, in->b))                                                                 \
    X(mul, adz_mul(in->a, in->b))                                                                 \
    X(mul_row, adz_mul(in->a, in->row))                                                           \
    X(div, adz_div(in->a, in->positive))                                                          \
    X(neg, adz_neg(in->a))                                                                        \
    X(addcmul, adz_addcmul(in->a, in->b, in->positive, 0.5))                                      \
    X(maximum, adz_maximum(in->a, in->b))                                                         \
    X(clamp, adz_clamp(in->a, -1, 1))                                                             \
    X(where, adz_where(in->mask, in->a, in->b))                                                   \
    X(masked_fill, adz_masked_fill(in->a, in->mask, 0))                                           \
    X(eq, adz_eq(in->a, in->b))                                                                   \
    X(gt_number, adz_gt_number(in->a, 0))                                                         \
    X(logical_and, adz_logical_and(in->mask, in->mask))                                           \
    X(isnan, adz_isnan(in->a))                                                                    \
    X(relu, adz_relu(in->a))                                                                      \
    X(leaky_relu, adz_leaky_relu(in->a, 0.01))                                                    \
    X(elu, adz_elu(in->a, 1))                                                                     \
    X(gelu, adz_gelu(in->a, ADZ_GELU_NONE))                                                       \
    X(gelu_tanh, adz_gelu(in->a, ADZ_GELU_TANH))                                                  \
    X(gelu_f64, adz_gelu(in->wide, ADZ_GELU_NONE))                                                \
    X(silu, adz_silu(in->a))                                                                      \
    X(softplus, adz_softplus(in->a, 1, 20))                                                       \
    X(glu, adz_glu(in->a, 1))                                                                     \
    X(bias_activation, adz_bias_activation(in->a, in->row, ADZ_NONE, ADZ_NONE, NULL))             \
    X(tanh, adz_tanh(in->a))                                                                      \
    X(tanh_transposed, adz_tanh(adz_transpose(in->a, 0, 1)))                                      \
    X(tanh_f64, adz_tanh(in->wide))                                                               \
    X(sigmoid, adz_sigmoid(in->a))                                                                \
    X(logsigmoid, adz_logsigmoid(in->a))                                                          \
    X(exp, adz_exp(in->a))                                                                        \
    X(exp_f64, adz_exp(in->wide))                                                                 \
    X(expm1, adz_expm1(in->a))                                                                    \
    X(log, adz_log(in->positive))                                                                 \
    X(log1p, adz_log1p(in->positive))                                                             \
    X(erf, adz_erf(in->a))                                                                        \
    X(sin, adz_sin(in->a))                                                                        \
    X(cos, adz_cos(in->a))                                                                        \
    X(abs, adz_abs(in->a))                                                                        \
    X(square, adz_square(in->a))                                                                  \
    X(sqrt, adz_sqrt(in->positive))                                                               \
    X(rsqrt, adz_rsqrt(in->positive))                                                             \
    X(reciprocal, adz_reciprocal(in->positive))                                                   \
    X(pow, adz_pow(in->positive, in->b))                                                          \
    X(pow_number, adz_pow_number(in->positive, 1.7))                                              \
    X(softmax, adz_softmax(in->a, 1))                                                             \
    X(softmax_columns, adz_softmax(in->a, 0))                                                     \
    X(softmax_f64, adz_softmax(in->wide, 1))                                                      \
    X(log_softmax, adz_log_softmax(in->a, 1))                                                     \
    X(logsumexp, adz_logsumexp(in->a, ADZ_DIMS(1), ADZ_DROPDIM))                                  \
    X(sum, adz_sum(in->a, ADZ_ALL_DIMS, ADZ_DROPDIM))                                             \
    X(sum_rows, adz_sum(in->a, ADZ_DIMS(0), ADZ_DROPDIM))                                         \
    X(sum_columns, adz_sum(in->a, ADZ_DIMS(1), ADZ_DROPDIM))                                      \
    X(sum_i32, adz_sum(in->integers, ADZ_ALL_DIMS, ADZ_DROPDIM))                                  \
    X(mean, adz_mean(in->a, ADZ_DIMS(1), ADZ_DROPDIM))                                            \
    X(var, adz_var(in->a, ADZ_DIMS(1), 1, ADZ_DROPDIM))                                           \
    X(var_rows, adz_var(in->a, ADZ_DIMS(0), 1, ADZ_DROPDIM))                                      \
    X(norm, adz_norm(in->a, 2, ADZ_ALL_DIMS, ADZ_DROPDIM))                                        \
    X(prod, adz_prod(in->positive, ADZ_DIMS(1), ADZ_DROPDIM))                                     \
    X(cumsum, adz_cumsum(in->a, 1))                                                               \
    X(amax, adz_amax(in->a, ADZ_DIMS(1), ADZ_DROPDIM))                                            \
    X(amax_rows, adz_amax(in->a, ADZ_DIMS(0), ADZ_DROPDIM))                                       \
    X(argmax, adz_argmax(in->a, ADZ_DIMS(1), ADZ_DROPDIM))                                        \
    X(max, adz_max(in->a))                                                                        \
    X(any, adz_any(in->mask, ADZ_DIMS(1), ADZ_DROPDIM))                                           \
    X(topk, adz_topk(in->a, 5, 1, true, &(adz_tensor *){ NULL }))                                 \
    X(layer_norm, adz_layer_norm(in->a, ADZ_SHAPE(in->columns), in->row, in->row, 1e-5))          \
    X(batch_norm, adz_batch_norm(in->a, ADZ_NONE, ADZ_NONE, in->row, in->row, true, 0.1, 1e-5))   \
    X(mse_loss, adz_mse_loss(in->a, in->aim, ADZ_REDUCE_MEAN))                                    \
    X(l1_loss, adz_l1_loss(in->a, in->aim, ADZ_REDUCE_MEAN))                                      \
    X(huber_loss, adz_huber_loss(in->a, in->aim, ADZ_REDUCE_MEAN, 1))                             \
    X(cross_entropy, adz_cross_entropy(in->a, in->ids, ADZ_NONE, NULL))                           \
    X(nll_loss, adz_nll_loss(in->a, in->ids, ADZ_NONE, -100, ADZ_REDUCE_MEAN))                    \
    X(bce_with_logits, adz_binary_cross_entropy_with_logits(                                      \
                           in->a, in->share, ADZ_NONE, ADZ_REDUCE_MEAN, ADZ_NONE))                \
    X(kl_div, adz_kl_div(in->a, in->share, ADZ_REDUCE_SUM, false))                                \
    X(linear, adz_linear(in->a, in->weight, in->row))                                             \
    X(linear_relu, adz_linear_relu(in->a, in->weight, in->row))                                   \
    X(matmul, adz_matmul(in->a, in->weight))                                                      \
    X(matmul_f64, adz_matmul(adz_transpose(in->wide, 0, 1), in->wide))                            \
    X(outer, adz_outer(in->row, in->row))                                                         \
    X(attention, adz_scaled_dot_product_attention(                                                \
                     heads(in, in->a), heads(in, in->b), heads(in, in->positive), NULL))          \
    X(forget_mult, adz_forget_mult(steps_of(in, in->a), steps_of(in, in->share), ADZ_NONE, NULL)) \
    X(embedding, adz_embedding(in->ids, in->weight, NULL))                                        \
    X(index_select, adz_index_select(in->weight, 0, in->ids))                                     \
    X(gather, adz_gather(in->a, 1, in->chosen))                                                   \
    X(scatter_add, adz_scatter_add(in->a, 1, in->chosen, in->b))                                  \
    X(one_hot, adz_one_hot(in->ids, in->columns))                                                 \
    X(cat, adz_cat((adz_tensor *[]){ in->a, in->b }, 2, 1))                                       \
    X(pad, adz_pad(in->a, (int64_t[]){ 1, 1 }, 2, 0))                                             \
    X(flip, adz_flip(in->a, ADZ_DIMS(1)))                                                         \
    X(tril, adz_tril(in->a, 0))                                                                   \
    X(repeat, adz_repeat(in->a, ADZ_SHAPE(2, 1)))                                                 \
    X(clone, adz_clone(in->a))                                                                    \
    X(transposed, adz_contiguous(adz_transpose(in->a, 0, 1)))                                     \
    X(every_other, adz_contiguous(adz_slice(in->a, 1, 0, in->columns, 2)))                        \
    X(to_f64, adz_to(in->a, ADZ_F64))                                                             \
    X(to_bf16, adz_to(in->a, ADZ_BF16))                                                           \
    X(to_f16, adz_to(in->a, ADZ_F16))                                                             \
    X(from_bf16, adz_to(in->halves, ADZ_F32))                                                     \
    X(to_i32, adz_to(in->a, ADZ_I32))                                                             \
    X(dropout, adz_dropout(in->a, 0.1, true, NULL))                                               \
    X(dropout_mask, adz_dropout_mask(in->a, in->mask, 0.9))                                       \
    X(rand, adz_rand(ADZ_SHAPE(in->rows, in->columns), ADZ_F32))                                  \
    X(rand_f64, adz_rand(ADZ_SHAPE(in->rows, in->columns), ADZ_F64))                              \
    X(randn, adz_randn(ADZ_SHAPE(in->rows, in->columns), ADZ_F32))                                \
    X(randn_f64, adz_randn(ADZ_SHAPE(in->rows, in->columns), ADZ_F64))                            \
    X(randint, adz_randint(0, 10, ADZ_SHAPE(in->rows, in->columns), ADZ_I64))                     \
    X(bernoulli, adz_bernoulli(0.3, ADZ_SHAPE(in->rows, in->columns), ADZ_U8))                    \
    X(multinomial, adz_multinomial(in->share, 1, true, NULL))                                     \
    X(lerp, adz_lerp(in->a, in->b, in->positive))                                                 \
    X(atan2, adz_atan2(in->a, in->b))                                                             \
    X(lgamma, adz_lgamma(in->positive))                                                           \
    X(sort, adz_sort(in->a, 1, false, NULL))                                                      \
    X(searchsorted, adz_searchsorted(adz_arange(0, 64, 1, ADZ_F32), in->a, false))                \
    X(conv2d, adz_conv2d(images(in, in->a), in->kernels, ADZ_NONE, NULL))                         \
    X(conv_depthwise, depthwise(in))                                                              \
    X(unfold, adz_unfold(images(in, in->a), ADZ_SHAPE(3, 3), NULL))                               \
    X(max_pool2d, pooled(in))                                                                     \
    X(avg_pool2d, adz_avg_pool2d(images(in, in->a), ADZ_SHAPE(2, 2), NULL))                       \
    X(interpolate, adz_interpolate(images(in, in->a), ADZ_SHAPE(16, 32), NULL))                   \
    X(ctc_loss, ctc(in))                                                                          \
    X(lstm, recurrent(in, 4))                                                                     \
    X(gru, recurrent(in, 3))                                                                      \
    X(rnn, recurrent(in, 1))                                                                      \
    X(cholesky, adz_cholesky(in->small, false))                                                   \
    X(cholesky_f64, adz_cholesky(in->small64, false))                                             \
    X(cholesky_64, adz_cholesky(in->definite, false))                                             \
    X(inv, adz_inv(in->small))                                                                    \
    X(inv_f64, adz_inv(in->small64))                                                              \
    X(inv_64, adz_inv(in->definite))                                                              \
    X(det, adz_det(in->small))                                                                    \
    X(solve, adz_solve(in->small, in->small))                                                     \
    X(solve_triangular, adz_solve_triangular(in->small, in->small, false, NULL))                  \
    X(solve_triangular_64, adz_solve_triangular(in->definite, in->weight, false, NULL))           \
    X(qr, adz_qr(in->small, &(adz_tensor *){ NULL }))                                             \
    X(qr_f64, adz_qr(in->small64, &(adz_tensor *){ NULL }))                                       \
    X(qr_64, adz_qr(in->definite, &(adz_tensor *){ NULL }))                                       \
    X(eigh, adz_eigh(in->small, false, &(adz_tensor *){ NULL }))                                  \
    X(eigh_f64, adz_eigh(in->small64, false, &(adz_tensor *){ NULL }))                            \
    X(eigh_64, adz_eigh(in->definite, false, &(adz_tensor *){ NULL }))                            \
    X(svd, singular(in->small))                                                                   \
    X(svd_f64, singular(in->small64))                                                             \
    X(svd_64, singular(in->definite))                                                             \
    X(matrix_exp, adz_matrix_exp(in->small))

#define DEFINE(name, expression)                       \
    static adz_tensor *call_##name(const operands *in) \
    {                                                  \
        return expression;                             \
    }
OPERATIONS(DEFINE)

#define LIST(name, expression) { #name, call_##name },
const operation operations[] = { OPERATIONS(LIST) };
const size_t n_operations = sizeof operations / sizeof *operations;
