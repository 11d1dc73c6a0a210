/* What the compiled functions compute, operator by operator. */
#include "network.h"
#include "tests.h"

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
    c_network n = { .in = { adz_randn(ADZ_SHAPE(8, 9), ADZ_F32), adz_randn(ADZ_SHAPE(9), ADZ_F32) },
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

/* Reductions and products of x[2, 3, 4] and z[4, 3]. */
static size_t append_reductions(adz_tensor **rows, adz_tensor *x, adz_tensor *z)
{
    adz_tensor *places;
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
    return n;
}

/* Reductions, products and moves of x[2, 3, 4] and z[4, 3]. */
static adz_tensor *structured(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *x = in[0], *z = in[1], *rows[64], *places;
    size_t n = append_reductions(rows, x, z);
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
    c_network n = { .in = { adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32),
                        adz_randn(ADZ_SHAPE(4, 3), ADZ_F32) },
        .n_in = 2,
        .call = structured };
    check_network(&n, 1e-6);
    adz_scope_close(scope);
}

/* A network of floats between standardisers that compute with double, as ffn-regression has it. */
static adz_tensor *between_standardisers(adz_module *module, adz_tensor **in)
{
    const double mean[] = { 1000.5, -3, 1e-3 }, scale[] = { 0.1, 7, 1e4 };
    adz_tensor *m = adz_tensor_from(mean, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *s = adz_tensor_from(scale, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *x = adz_div(adz_sub(adz_to(in[0], ADZ_F64), m), s);
    adz_tensor *y = adz_to(adz_module_forward(module, adz_to(x, ADZ_F32)), ADZ_F64);
    return adz_to(adz_add_number(adz_mul_number(y, 12.3456789), 0.1), ADZ_F32);
}

static void doubles_around_floats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(13);
    c_network n = of(adz_linear_new(3, 2, NULL), adz_randn(ADZ_SHAPE(2, 3), ADZ_F32));
    n.call = between_standardisers;
    check_network(&n, 1e-6);
    adz_module_free(&n.module);
    adz_scope_close(scope);
}

/* Moves, and arithmetic on elements: the operators of which docs/export.md says that bits agree. */
static adz_tensor *exact(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *x = in[0], *z = in[1];
    adz_tensor *const rows[] = { adz_add(x, z), adz_sub(x, z), adz_mul(x, z), adz_div(x, z),
        adz_relu(x), adz_abs(x), adz_clamp(x, -0.5, 0.5), adz_maximum(x, z), adz_minimum(x, z),
        adz_neg(x), adz_where(adz_gt(x, z), x, z), adz_flip(x, ADZ_DIMS(0)), adz_square(x),
        adz_reshape(adz_transpose(x, 0, 1), ADZ_SHAPE(8, 9)), adz_tril(x, 1),
        adz_index_select(x, 0,
            adz_tensor_from((const int64_t[]){ 7, 0, 0, 3, 2, 1, 6, 6 }, ADZ_SHAPE(8), ADZ_I64)),
        adz_cat((adz_tensor *[]){ adz_slice(z, 1, 3, 9, 1), adz_slice(x, 1, 0, 3, 1) }, 2, 1) };
    return adz_stack(rows, sizeof rows / sizeof *rows, 0);
}

static void bits_of_moves_and_arithmetic(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(14);
    c_network n = { .in = { adz_randn(ADZ_SHAPE(8, 9), ADZ_F32),
                        adz_randn(ADZ_SHAPE(8, 9), ADZ_F32) },
        .n_in = 2,
        .call = exact };
    check_network(&n, 0);
    adz_scope_close(scope);
}

int operators_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_operators),
        cmocka_unit_test(bits_of_moves_and_arithmetic),
        cmocka_unit_test(doubles_around_floats),
        cmocka_unit_test(reductions_products_and_moves),
    };
    return cmocka_run_group_tests_name("c99: operators", tests, temporary_begin, temporary_end);
}
