/* Networks written as C99: what the compiled functions compute, what the files say, and what is
 * refused. */
#include "c99.h"

static network of(adz_module *module, adz_tensor *x)
{
    return (network){ .module = module, .in = { x }, .n_in = 1 };
}

static void check_and_free(adz_module *module, adz_tensor *x)
{
    network n = of(module, x);
    check_network(&n, 1e-6);
    adz_module_free(&module);
}

static void feed_forward_networks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(1);
    check_and_free(ADZ_SEQUENTIAL(adz_linear_new(13, 50, NULL), adz_relu_new(NULL),
                       adz_linear_new(50, 1, NULL)),
        adz_randn(ADZ_SHAPE(1, 13), ADZ_F32));
    check_and_free(ADZ_SEQUENTIAL(adz_linear_new(7, 20, NULL), adz_tanh_new(),
                       adz_linear_new(20, 9, NULL), adz_sigmoid_new(), adz_linear_new(9, 3, NULL)),
        adz_randn(ADZ_SHAPE(5, 7), ADZ_F32));
    adz_scope_close(scope);
}

/* ---- operators --------------------------------------------------------------------------------
 */

/* Rows of elementwise results: y[K, n]. */
static adz_tensor *elementwise(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *x = in[0], *a = adz_add_number(adz_abs(x), 0.25), *z = in[1];
    adz_tensor *const rows[] = { adz_neg(x), adz_abs(x), adz_clamp(x, -0.5, 1),
        adz_clamp(x, -INFINITY, 0.5), adz_erf(x), adz_exp(x), adz_expm1(adz_mul_number(x, 0.1)),
        adz_log(a), adz_log1p(a), adz_logsigmoid(x), adz_maximum(x, z), adz_minimum(x, z),
        adz_pow_number(x, 2), adz_pow_number(x, 3), adz_pow_number(a, -0.5), adz_reciprocal(a),
        adz_rsqrt(a), adz_sqrt(a), adz_square(x), adz_tanh(x), adz_sigmoid(x), adz_relu(x),
        adz_leaky_relu(x, 0.1), adz_elu(x, 1.5), adz_silu(x), adz_softplus(x, 1, 20),
        adz_softplus(x, 2, 1), adz_gelu(x, ADZ_GELU_NONE), adz_gelu(x, ADZ_GELU_TANH),
        adz_add_scaled(x, z, 2.5), adz_sub(x, z), adz_mul(x, z),
        adz_div(x, adz_add_number(adz_abs(z), 1)), adz_addcmul(x, x, z, -0.5),
        adz_where(adz_gt(x, z), x, z), adz_masked_fill(x, adz_lt_number(z, 0), -3),
        adz_to(adz_le(x, z), ADZ_F32),
        adz_to(adz_logical_and(adz_ge_number(x, 0), adz_ne(x, z)), ADZ_F32),
        adz_to(adz_logical_not(adz_isnan(x)), ADZ_F32), adz_number_sub(1, x),
        adz_tanh(adz_mul_number(x, 1e-3)), adz_tanh(adz_mul_number(x, 20)),
        adz_exp(adz_mul_number(x, 20)), adz_erf(adz_mul_number(x, 4)),
        adz_log(adz_mul_number(a, 1e-30)) };
    return adz_stack(rows, sizeof rows / sizeof *rows, 0);
}

static void elementwise_operators(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(2);
    network n = { .in = { adz_randn(ADZ_SHAPE(8, 9), ADZ_F32), adz_randn(ADZ_SHAPE(9), ADZ_F32) },
        .n_in = 2,
        .call = elementwise };
    n.in[1] = adz_randn(ADZ_SHAPE(8, 9), ADZ_F32);
    check_rows(&n, 1e-6, adz_tensor_size(call_network(&n), 0));
    adz_scope_close(scope);
}

/* Appends a result as rows of 24 elements, as many as it has. */
static void append(adz_tensor **rows, size_t *n, adz_tensor *t)
{
    if (t == NULL) {
        fail_msg("%s", adz_error_message());
    }
    rows[(*n)++] = adz_reshape(adz_to(t, ADZ_F32), ADZ_SHAPE(-1));
}

/* Reductions, products and moves of x[2, 3, 4] and z[4, 3]. */
static adz_tensor *structured(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *x = in[0], *z = in[1], *rows[64], *places;
    size_t n = 0;
    append(rows, &n, adz_sum(x, ADZ_DIMS(1), ADZ_DROPDIM));
    append(rows, &n, adz_sum(x, ADZ_DIMS(0, 2), ADZ_KEEPDIM));
    append(rows, &n, adz_mean(x, ADZ_ALL_DIMS, ADZ_DROPDIM));
    append(rows, &n, adz_amax(x, ADZ_DIMS(-1), ADZ_DROPDIM));
    append(rows, &n, adz_amin(x, ADZ_DIMS(0), ADZ_DROPDIM));
    append(rows, &n, adz_prod(x, ADZ_DIMS(2), ADZ_DROPDIM));
    append(rows, &n, adz_logsumexp(x, ADZ_DIMS(1), ADZ_DROPDIM));
    append(rows, &n, adz_argmax(x, ADZ_DIMS(1), ADZ_DROPDIM));
    append(rows, &n, adz_max_dim(x, 2, false, &places));
    append(rows, &n, places);
    append(rows, &n, adz_any(adz_gt_number(x, 1), ADZ_DIMS(2), ADZ_DROPDIM));
    append(rows, &n, adz_all(adz_gt_number(x, -1), ADZ_DIMS(0), ADZ_DROPDIM));
    append(rows, &n, adz_softmax(x, 1));
    append(rows, &n, adz_softmax(x, -1));
    append(rows, &n, adz_log_softmax(x, 0));
    append(rows, &n, adz_matmul(x, z));
    append(rows, &n, adz_matmul(z, x));
    append(rows, &n, adz_matmul(x, adz_transpose(x, 1, 2)));
    append(rows, &n, adz_matmul(x, adz_select(z, 1, 0)));
    append(rows, &n, adz_transpose(x, 0, 2));
    append(rows, &n, adz_reshape(adz_permute(x, ADZ_DIMS(2, 0, 1)), ADZ_SHAPE(4, 6)));
    append(rows, &n, adz_flip(x, ADZ_DIMS(0, 2)));
    append(rows, &n, adz_cat((adz_tensor *[]){ x, adz_slice(x, 1, 0, 2, 1), x }, 3, 1));
    append(rows, &n, adz_pad(x, (const int64_t[]){ 1, 2, 0, 1 }, 4, 0.5));
    append(rows, &n, adz_pad(x, (const int64_t[]){ -1, 2 }, 2, 0));
    append(rows, &n, adz_tril(x, 0));
    append(rows, &n, adz_triu(x, 1));
    append(rows, &n, adz_glu(x, 2));
    append(rows, &n, adz_slice(x, 2, 0, 4, 2));
    append(rows, &n, adz_expand(adz_unsqueeze(z, 0), ADZ_SHAPE(2, 4, 3)));
    append(rows, &n, adz_repeat(z, ADZ_SHAPE(2, 1)));
    append(rows, &n, adz_mul(x, adz_sum(x, ADZ_DIMS(1), ADZ_KEEPDIM)));
    append(rows, &n,
        adz_gather(x, 2,
            adz_tensor_from((const int64_t[]){ 3, 1, 0, 2, 2, 1 }, ADZ_SHAPE(2, 3, 1), ADZ_I64)));
    append(rows, &n,
        adz_index_select(x, 1, adz_tensor_from((const int64_t[]){ 2, 0 }, ADZ_SHAPE(2), ADZ_I64)));
    append(rows, &n, adz_layer_norm(x, ADZ_SHAPE(3, 4), ADZ_NONE, ADZ_NONE, 1e-5));
    append(rows, &n, adz_cumsum(x, 1));
    append(rows, &n, adz_norm(x, 2, ADZ_DIMS(0, 1), ADZ_DROPDIM));
    append(rows, &n, adz_norm(x, INFINITY, ADZ_DIMS(2), ADZ_KEEPDIM));
    append(rows, &n, adz_topk(x, 2, 1, true, true, &places));
    append(rows, &n, places);
    append(rows, &n, adz_topk(adz_tril(x, -1), 3, 2, false, true, &places));
    append(rows, &n, places);
    append(rows, &n,
        adz_scatter_add(x, 1,
            adz_tensor_from((const int64_t[]){ 2, 0, 2, 1 }, ADZ_SHAPE(2, 1, 2), ADZ_I64),
            adz_reshape(z, ADZ_SHAPE(2, 1, 6))));
    append(rows, &n, adz_var(x, ADZ_DIMS(1), 1, ADZ_DROPDIM));
    append(rows, &n,
        adz_add(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32),
            adz_add_(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), adz_select(x, 2, 1))));
    return adz_cat(rows, n, 0);
}

static void reductions_products_and_moves(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    network n = { .in = { adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32),
                      adz_randn(ADZ_SHAPE(4, 3), ADZ_F32) },
        .n_in = 2,
        .call = structured };
    check_network(&n, 1e-6);
    adz_scope_close(scope);
}

/* ---- networks ---------------------------------------------------------------------------------
 */

static void normalised_networks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_batch_norm1d_new(16, NULL),
        adz_relu_new(NULL), adz_linear_new(16, 16, NULL), adz_layer_norm_new(ADZ_SHAPE(16), NULL),
        adz_gelu_new(ADZ_GELU_NONE), adz_dropout_new(0.5, NULL), adz_linear_new(16, 2, NULL));
    for (int i = 0; i < 3; ++i) { /* running statistics that are not the first ones */
        adz_module_forward(net, adz_randn(ADZ_SHAPE(30, 6), ADZ_F32));
    }
    adz_module_eval(net);
    check_and_free(net, adz_randn(ADZ_SHAPE(4, 6), ADZ_F32));
    adz_scope_close(scope);
}

static void dialects_of_feed_forward_networks(void **state)
{
    (void)state;
    static const char *const variants[] = { "ReLU", "GELU", "GLU", "Bilinear", "ReGLU", "GEGLU",
        "SwiGLU" };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(5);
        adz_module *net = adz_feed_forward_variant_new(variants[i], 8, 20, NULL);
        if (net == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_module_eval(net);
        check_and_free(net, adz_randn(ADZ_SHAPE(2, 3, 8), ADZ_F32));
        adz_scope_close(scope);
    }
}

static adz_tensor *ids_of(const int64_t *ids, adz_shape shape)
{
    return adz_tensor_from(ids, shape, ADZ_I64);
}

static void recurrent_network(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(6);
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = true;
    check_and_free(adz_lstm_new(5, 7, &o), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    o.batch_first = true;
    o.bidirectional = false;
    check_and_free(adz_lstm_new(5, 8, &o), adz_randn(ADZ_SHAPE(4, 3, 5), ADZ_F32));
    adz_scope_close(scope);
}

static void transformer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(7);
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 11;
    o.n_positions = o.n_ctx = 9;
    o.n_embd = 16;
    o.n_head = 4;
    o.n_layer = 2;
    adz_module *net = adz_gpt2_lm_head_model_new(&o);
    if (net == NULL) {
        fail_msg("%s", adz_error_message());
    }
    adz_module_eval(net);
    static const int64_t ids[] = { 1, 5, 10, 0, 3, 3, 7, 9, 2, 4, 6, 8, 10, 1 };
    check_and_free(net, ids_of(ids, ADZ_SHAPE(2, 7)));
    adz_scope_close(scope);
}

/* ---- training ---------------------------------------------------------------------------------
 */

typedef struct {
    adz_optimizer *optimizer;
    adz_c_loss loss;
    int steps, batches; /* the step i sees batch i % batches */
    int64_t classes;
} training;

static adz_tensor *loss_of(network *n, const training *t, adz_tensor *target)
{
    adz_tensor *y = call_network(n);
    return t->loss == ADZ_C_CROSS_ENTROPY ? adz_cross_entropy(y, target, ADZ_NONE, NULL)
                                          : adz_mse_loss(y, target, ADZ_REDUCE_MEAN);
}

static adz_tensor *target_like(network *n, const training *t)
{
    adz_tensor *y = call_network(n);
    if (t->loss == ADZ_C_CROSS_ENTROPY) {
        return adz_randint(0, adz_tensor_size(y, 1), ADZ_SHAPE(adz_tensor_size(y, 0)), ADZ_I64);
    }
    return adz_randn(adz_tensor_shape(y), ADZ_F32);
}

/* Trains a network with the library and in C, and compares the losses of all steps. Then compares
 * the predictions. */
static void check_training(network *n, const training *t)
{
    adz_c_options o = ADZ_C_OPTIONS;
    o.optimizer = t->optimizer;
    o.loss = t->loss;
    if (write_network(n, "learner.c", &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("learner", false);
    assert_non_null(c.step);
    assert_non_null(c.learning_rate);
    adz_tensor *x[8], *target[8];
    for (int b = 0; b < t->batches; ++b) {
        refill(n);
        x[b] = adz_clone(n->in[0]);
        target[b] = target_like(n, t);
    }
    for (int i = 0; i < t->steps; ++i) {
        const int b = i % t->batches;
        adz_scope *scope = adz_scope_open();
        adz_copy_(n->in[0], x[b]);
        void *in = as_argument(n->in[0]), *right = as_argument(target[b]);
        const double ours = (double)c.step(in, right);
        adz_optimizer_zero_grad(t->optimizer);
        adz_tensor *loss = loss_of(n, t, target[b]);
        assert_int_equal(adz_backward(loss), ADZ_OK);
        assert_int_equal(adz_optimizer_step(t->optimizer), ADZ_OK);
        const double theirs = adz_item(loss);
        if (!(fabs(ours - theirs) <= 1e-4 * theirs)) {
            fail_msg("step %d: the loss is %.9g in C and %.9g in the library", i, ours, theirs);
        }
        free(in);
        free(right);
        adz_scope_close(scope);
    }
    const double d = difference(&c, n, 1);
    if (!(d <= 2e-3)) {
        fail_msg("after training the predictions differ by %g", d);
    }
    dlclose(c.library);
}

static void training_by_sgd(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(8);
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(6, 12, NULL), adz_tanh_new(), adz_linear_new(12, 2, NULL));
    network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.weight_decay = 1e-3;
    for (int variant = 0; variant < 3; ++variant) {
        o.nesterov = variant == 1;
        o.dampening = variant == 2 ? 0.1 : 0;
        adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.01, &o);
        check_training(&n, &(training){ optimizer, ADZ_C_MSE_LOSS, 1000, 4, 0 });
        adz_optimizer_free(&optimizer);
    }
    adz_module_free(&net);
    adz_scope_close(scope);
}

static void training_by_adam(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(9);
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_relu_new(NULL),
        adz_layer_norm_new(ADZ_SHAPE(16), NULL), adz_linear_new(16, 16, NULL),
        adz_gelu_new(ADZ_GELU_NONE), adz_linear_new(16, 5, NULL));
    network n = of(net, adz_randn(ADZ_SHAPE(10, 6), ADZ_F32));
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
    check_training(&n, &(training){ optimizer, ADZ_C_CROSS_ENTROPY, 1000, 4, 5 });
    /* The optimizer has made steps: the exported one goes on from its state. */
    check_training(&n, &(training){ optimizer, ADZ_C_CROSS_ENTROPY, 50, 2, 5 });
    adz_optimizer_free(&optimizer);
    adz_adamw_options decays = ADZ_ADAMW_OPTIONS;
    decays.weight_decay = 0.1;
    optimizer = adz_adamw_new(adz_module_parameters(net), 1e-3, &decays);
    check_training(&n, &(training){ optimizer, ADZ_C_MSE_LOSS, 100, 4, 0 });
    adz_optimizer_free(&optimizer);
    adz_module_free(&net);
    adz_scope_close(scope);
}

/* Scores of all tokens as rows: [B * T, V]. */
static adz_tensor *token_rows(adz_module *module, adz_tensor **in)
{
    adz_tensor *y = adz_module_forward(module, in[0]);
    return adz_reshape(y, ADZ_SHAPE(-1, y != NULL ? adz_tensor_size(y, -1) : 0));
}

static void training_of_a_transformer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(10);
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 7;
    o.n_positions = o.n_ctx = 5;
    o.n_embd = 8;
    o.n_head = 2;
    o.n_layer = 1;
    adz_module *net = adz_gpt2_lm_head_model_new(&o);
    static const int64_t ids[] = { 1, 5, 2, 0, 3, 3, 6, 1, 2, 4 };
    network n = of(net, ids_of(ids, ADZ_SHAPE(2, 5)));
    n.call = token_rows;
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(net), 1e-3, NULL);
    check_training(&n, &(training){ optimizer, ADZ_C_CROSS_ENTROPY, 50, 1, 7 });
    adz_optimizer_free(&optimizer);
    adz_module_free(&net);
    adz_scope_close(scope);
}

static void training_of_a_recurrent_network(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(11);
    adz_module *net = adz_lstm_new(3, 4, NULL);
    network n = of(net, adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32));
    adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.5, NULL);
    check_training(&n, &(training){ optimizer, ADZ_C_MSE_LOSS, 50, 3, 0 });
    adz_optimizer_free(&optimizer);
    adz_module_free(&net);
    adz_scope_close(scope);
}

/* Every row of the table of expressions, and every other operator, whose gradient has a printer:
 * the second loss shows the weights that the first step has made. */
static adz_tensor *(*trained)(adz_tensor *x);

static adz_tensor *call_trained(adz_module *module, adz_tensor **in)
{
    return trained(adz_module_forward(module, in[0]));
}

static adz_tensor *above_zero(adz_tensor *x)
{
    return adz_add_number(adz_abs(x), 0.25);
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

static void gradients_of_every_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_trained / sizeof *all_trained; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(12);
        adz_module *net = adz_linear_new(3, 6, NULL);
        network n = of(net, adz_randn(ADZ_SHAPE(4, 3), ADZ_F32));
        trained = all_trained[i].function;
        n.call = call_trained;
        adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(net), 0.05, NULL);
        print_message("%s\n", all_trained[i].name);
        check_training(&n, &(training){ optimizer, ADZ_C_MSE_LOSS, 4, 1, 0 });
        adz_optimizer_free(&optimizer);
        adz_module_free(&net);
        adz_scope_close(scope);
    }
}

/* ---- files and errors -------------------------------------------------------------------------
 */

/* The contents of a file of the folder, in memory that the next call overwrites. */
static const char *file_text(const char *name)
{
    static char text[1 << 18];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void announces_its_sizes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(13, 50, NULL), adz_tanh_new(), adz_linear_new(50, 1, NULL));
    network n = of(net, adz_randn(ADZ_SHAPE(1, 13), ADZ_F32));
    assert_int_equal(write_network(&n, "sizes.c", NULL), ADZ_OK);
    assert_non_null(strstr(file_text("sizes.h"), "#define SIZES_WEIGHTS_BYTES 3004\n"));
    assert_non_null(strstr(file_text("sizes.h"), "#define SIZES_BUFFER_BYTES  400\n"));
    assert_non_null(strstr(file_text("sizes.h"), "void sizes_run(const float *x, float *y);"));
    assert_non_null(strstr(file_text("sizes.c"), "/* 0.weight [50, 13] */"));
    assert_non_null(strstr(file_text("sizes.c"), "static float floats[100];"));
    adz_module_free(&net);
    adz_scope_close(scope);
}

/* Weights in a file of their own: the C file has none, and computes the same once they are loaded.
 */
static void weights_in_a_file(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(4, 5, NULL), adz_tanh_new(), adz_linear_new(5, 2, NULL));
    network n = of(net, adz_randn(ADZ_SHAPE(3, 4), ADZ_F32));
    char path[512];
    snprintf(path, sizeof path, "%s", temporary_path("apart.bin"));
    for (int trains = 0; trains < 2; ++trains) {
        adz_c_options o = ADZ_C_OPTIONS;
        o.weights = path;
        o.optimizer = trains ? adz_sgd_new(adz_module_parameters(net), 0.1, NULL) : NULL;
        assert_int_equal(write_network(&n, "apart.c", &o), ADZ_OK);
        assert_null(strstr(file_text("apart.c"), "weight[20] = {"));
        const compiled c = compile("apart", false);
        float weights[64];
        FILE *file = fopen(path, "rb");
        assert_int_equal(fread(weights, sizeof *weights, 64, file), 4 * 5 + 5 + 5 * 2 + 2);
        fclose(file);
        void (*load)(const float *);
        *(void **)(void *)&load = dlsym(c.library, "apart_load");
        assert_non_null(*(void **)(void *)&load);
        load(weights);
        assert_true(difference(&c, &n, 1) <= 1e-6);
        dlclose(c.library);
        adz_optimizer_free(&o.optimizer);
    }
    adz_module_free(&net);
    adz_scope_close(scope);
}

/* Names that come from outside end no comment and make no code. */
static void hostile_names(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const char *const names[] = { "*/ int evil; /*", "a\nb", "\"; #error", "int", "a.b",
        "a_b", "\\", "?\?/" };
    adz_module *net = adz_sequential_new(NULL, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strchr(names[i], '.') == NULL) {
            assert_non_null(adz_module_add_child(net, names[i], adz_linear_new(3, 3, NULL)));
        }
    }
    network n = of(net, adz_randn(ADZ_SHAPE(2, 3), ADZ_F32));
    const char *const inputs[] = { "*/ #error \n" };
    const adzi_export what = { .function = call_network,
        .user = &n,
        .inputs = { n.in, 1 },
        .input_names = inputs,
        .module = net };
    adz_c_options o = ADZ_C_OPTIONS;
    o.name = "9 lives; */";
    assert_int_equal(adzi_write_c(&what, temporary_path("hostile.c"), &o), ADZ_OK);
    assert_null(strstr(file_text("hostile.c"), "evil; /*"));
    assert_null(strstr(file_text("hostile.c"), "#error"));
    assert_non_null(strstr(file_text("hostile.h"), "void __lives____run(") != NULL
                        ? file_text("hostile.h")
                        : strstr(file_text("hostile.h"), "_lives"));
    o.name = NULL;
    check_network(&n, 1e-6);
    adz_module_free(&net);
    adz_scope_close(scope);
}

static adz_tensor *draws(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_to(adz_multinomial(adz_softmax(in[0], -1), 2, true, NULL), ADZ_F32);
}

static adz_tensor *reads(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_mul_number(in[0], adz_item(adz_sum(in[0], ADZ_ALL_DIMS, ADZ_DROPDIM)));
}

static adz_tensor *changes_input(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_mul_number(adz_relu_(in[0]), 2);
}

static adz_tensor *largest(adz_tensor *x)
{
    return adz_amax(x, ADZ_DIMS(1), ADZ_DROPDIM);
}

static adz_tensor *cubic_norm(adz_tensor *x)
{
    return adz_norm(x, 3, ADZ_DIMS(1), ADZ_DROPDIM);
}

/* Nothing is written when something is refused. */
static void expect_refused(
    network *n, const char *name, const adz_c_options *o, adz_status code, const char *part)
{
    temporary_files(true);
    assert_int_equal(write_network(n, name, o), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
}

static void refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = { .in = { adz_randn(ADZ_SHAPE(2, 3), ADZ_F32) }, .n_in = 1, .call = draws };
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "draws random numbers");
    n.call = reads;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "item");
    n.call = changes_input;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "relu changes input");
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(3, 2, NULL), adz_dropout_new(0.5, NULL));
    n.module = net;
    n.call = NULL;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "adz_module_eval");
    adz_module_eval(net);
    expect_refused(&n, "no.cc", NULL, ADZ_ERR_ARGUMENT, "does not end with");
    expect_refused(&n, "n\"o.c", NULL, ADZ_ERR_ARGUMENT, "cannot stand in an #include");
    adz_c_options o = ADZ_C_OPTIONS;
    o.optimizer = adz_rmsprop_new(adz_module_parameters(net), 0.1, NULL);
    expect_refused(&n, "no.c", &o, ADZ_ERR_UNSUPPORTED, "RMSprop cannot be written in C");
    adz_optimizer_free(&o.optimizer);
    trained = largest;
    n.call = call_trained;
    o.optimizer = adz_sgd_new(adz_module_parameters(net), 0.1, NULL);
    expect_refused(
        &n, "no.c", &o, ADZ_ERR_UNSUPPORTED, "amax cannot be part of a training step in C");
    adz_optimizer_free(&o.optimizer);
    trained = cubic_norm;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "norm of order 3.0 cannot be written");
    n.call = NULL;
    adz_tensor *other = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    o.optimizer = adz_sgd_new(adz_tensor_list_of(&other, 1), 0.1, NULL);
    expect_refused(&n, "no.c", &o, ADZ_ERR_ARGUMENT, "none of the optimizer's parameters");
    adz_optimizer_free(&o.optimizer);
    adz_module_to(net, ADZ_F64);
    n.in[0] = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    expect_refused(&n, "no.c", NULL, ADZ_ERR_DTYPE, "float64");
    adz_module_free(&net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feed_forward_networks),
        cmocka_unit_test(elementwise_operators),
        cmocka_unit_test(reductions_products_and_moves),
        cmocka_unit_test(normalised_networks),
        cmocka_unit_test(dialects_of_feed_forward_networks),
        cmocka_unit_test(recurrent_network),
        cmocka_unit_test(transformer),
        cmocka_unit_test(training_by_sgd),
        cmocka_unit_test(training_by_adam),
        cmocka_unit_test(gradients_of_every_operator),
        cmocka_unit_test(training_of_a_transformer),
        cmocka_unit_test(training_of_a_recurrent_network),
        cmocka_unit_test(announces_its_sizes),
        cmocka_unit_test(weights_in_a_file),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
