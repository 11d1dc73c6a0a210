/* Unusual shapes in written C: views with offsets, empty tensors, lengths that differ, networks of
 * one element, and long names. */
#include "batch.h"
#include "tests.h"

/* ---- views with offsets ---------------------------------------------------------------------- */

/* Layers of z[12, 9], whose columns are weights and biases: every one is a view with an offset. */
static adz_tensor *lstm_of(adz_tensor *x, adz_tensor *z, int64_t directions, adz_tensor *lengths)
{
    adz_lstm_options o = ADZ_LSTM_OPTIONS;
    o.bidirectional = directions == 2;
    o.lengths = lengths;
    adz_tensor *w[8] = { adz_slice(z, 1, 1, 3, 1), adz_slice(z, 1, 3, 6, 1), adz_select(z, 1, 6),
        adz_select(z, 1, 7) };
    for (int i = 0; i < 4; ++i) {
        w[4 + i] = adz_flip(w[i], ADZ_DIMS(0));
    }
    adz_tensor *states = adz_reshape(adz_slice(z, 0, 2, 6, 1), ADZ_SHAPE(2, 2, 9));
    adz_tensor *h0 = adz_narrow(adz_narrow(states, 0, 0, directions), 2, 1, 3);
    adz_tensor *c0 = adz_narrow(adz_narrow(states, 0, 0, directions), 2, 5, 3), *h, *c;
    adz_tensor *y = adz_lstm(x, h0, c0, w, (size_t)(4 * directions), &o, &h, &c);
    adz_tensor *parts[] = { adz_reshape(y, ADZ_SHAPE(-1)), adz_reshape(h, ADZ_SHAPE(-1)),
        adz_reshape(c, ADZ_SHAPE(-1)) };
    return adz_cat(parts, 3, 0);
}

/* The last two of these steps: a view with an offset. */
static adz_tensor *some_lengths(void)
{
    return adz_slice(
        adz_tensor_from((const int64_t[]){ 9, 9, 1, 3 }, ADZ_SHAPE(4), ADZ_I64), 0, 2, 4, 1);
}

static adz_tensor *inner_steps(adz_tensor *x)
{
    return adz_slice(x, 0, 1, 4, 1);
}

CASE(v_lstm, lstm_of(inner_steps(x), z, 1, NULL))
CASE(v_lstm_both, lstm_of(inner_steps(x), z, 2, NULL))
CASE(v_lstm_lengths, lstm_of(inner_steps(x), z, 2, some_lengths()))
CASE(v_linear, adz_linear(adz_slice(z, 1, 1, 5, 1), adz_slice(adz_slice(z, 0, 2, 8, 1), 1, 4, 8, 1),
                   adz_slice(adz_select(z, 1, 8), 0, 3, 9, 1)))
CASE(v_softmax, adz_softmax(adz_slice(z, 1, 2, 6, 1), 0))
CASE(v_norm, adz_layer_norm(adz_slice(z, 1, 2, 6, 1), ADZ_SHAPE(4),
                 adz_slice(adz_select(z, 0, 1), 0, 3, 7, 1),
                 adz_slice(adz_select(z, 0, 2), 0, 4, 8, 1), 1e-5))
CASE(v_top, adz_topk(adz_slice(z, 1, 2, 7, 1), 2, 1, true, NULL))
CASE(v_taken, adz_index_select(adz_slice(z, 0, 2, 9, 1), 0, some_lengths()))
CASE(v_hot, adz_matmul(adz_to(adz_one_hot(some_lengths(), 5), ADZ_F32), adz_slice(z, 0, 3, 8, 1)))
CASE(v_conv, adz_conv1d(adz_reshape(adz_slice(z, 0, 3, 7, 1), ADZ_SHAPE(1, 4, 9)),
                 adz_reshape(adz_slice(adz_slice(z, 0, 4, 8, 1), 1, 2, 8, 1), ADZ_SHAPE(2, 4, 3)),
                 adz_slice(adz_select(z, 0, 5), 0, 3, 5, 1), NULL))

static void views_with_offsets(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    static const batch_case cases[] = { ROW(v_lstm), ROW(v_lstm_both), ROW(v_lstm_lengths),
        ROW(v_linear), ROW(v_softmax), ROW(v_norm), ROW(v_top), ROW(v_taken), ROW(v_hot),
        ROW(v_conv) };
    CHECK_BATCH(
        cases, adz_randn(ADZ_SHAPE(5, 2, 2), ADZ_F32), adz_randn(ADZ_SHAPE(12, 9), ADZ_F32), 1e-5);
    adz_scope_close(scope);
}

/* ---- lost digits ----------------------------------------------------------------------------- */

static adz_tensor *norm_of_batch(adz_tensor *x, bool training)
{
    adz_tensor *mean = training ? ADZ_NONE : adz_full(ADZ_SHAPE(6), 10000.25, ADZ_F32);
    adz_tensor *var = training ? ADZ_NONE : adz_full(ADZ_SHAPE(6), 2, ADZ_F32);
    return adz_batch_norm(x, mean, var, ADZ_NONE, ADZ_NONE, training, 0.1, 1e-5);
}

static adz_tensor *slope_of_norm(adz_tensor *x)
{
    adz_tensor *leaf = adz_requires_grad_(adz_detach(x), true), *dx = NULL;
    adz_tensor *y = adz_layer_norm(leaf, ADZ_SHAPE(50), ADZ_NONE, ADZ_NONE, 1e-5);
    adz_tensor *sum = adz_sum(adz_mul(adz_square(y), y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_autograd_grad(&sum, NULL, 1, &leaf, 1, NULL, &dx) == ADZ_OK ? dx : NULL;
}

/* The sum with 6 has the digits that the result has beside 1. */
CASE(n_layer, adz_add_number(adz_layer_norm(x, ADZ_SHAPE(50), ADZ_NONE, ADZ_NONE, 1e-5), 6))
CASE(n_layers, adz_add_number(adz_layer_norm(x, ADZ_SHAPE(6, 50), ADZ_NONE, ADZ_NONE, 1e-5), 6))
CASE(n_batch, adz_add_number(norm_of_batch(x, true), 6))
CASE(n_eval, adz_add_number(norm_of_batch(x, false), 6))
CASE(n_group, adz_add_number(adz_group_norm(x, 2, ADZ_NONE, ADZ_NONE, 1e-5), 6))
CASE(n_slope, adz_add_number(slope_of_norm(x), 9))

/* Rows with a mean of 10^4 and a spread of 1, and then rows of equal elements. */
static void norms_of_large_means(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case cases[] = { ROW(n_layer), ROW(n_layers), ROW(n_batch), ROW(n_eval),
        ROW(n_group), ROW(n_slope) };
    adz_manual_seed(5);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 6, 50), ADZ_F32);
    CHECK_BATCH(cases, adz_add_number(x, 10000.25), NULL, 5e-6);
    CHECK_BATCH(cases, adz_full(ADZ_SHAPE(4, 6, 50), 10000.1, ADZ_F32), NULL, 1e-6);
    adz_scope_close(scope);
}

CASE(t_gelu, adz_gelu(x, ADZ_GELU_NONE))
CASE(t_erfc, adz_erfc(x))

/* The values where they are small. The library's gelu has an absolute bound of its error. */
static void tails(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const batch_case gelu[] = { ROW(t_gelu) }, erfc[] = { ROW(t_erfc) };
    CHECK_BATCH(gelu, adz_arange(-6.5, -5.5, 0.0625, ADZ_F32), NULL, 0.25);
    CHECK_BATCH(erfc, adz_arange(-5, 9, 0.0625, ADZ_F32), NULL, 2e-6);
    adz_scope_close(scope);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The first `queries` rows of x attend to the first `keys` rows of z. */
static adz_tensor *attend(
    adz_tensor *x, adz_tensor *z, int64_t queries, int64_t keys, adz_tensor *mask)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    o.attn_mask = mask;
    adz_tensor *k = adz_slice(z, 0, 0, keys, 1);
    return adz_scaled_dot_product_attention(adz_slice(x, 0, 0, queries, 1), k, k, &o);
}

/* Queries that see no key through the mask: all but the first column are hidden. */
static adz_tensor *hiding(adz_tensor *z)
{
    return adz_lt_number(adz_slice(z, 0, 0, 3, 1), 0.5);
}

CASE(a_equal, attend(x, z, 4, 4, NULL))
CASE(a_one_query, attend(x, z, 1, 6, NULL))
CASE(a_fewer_queries, attend(x, z, 3, 5, NULL))
CASE(a_more_queries, attend(x, z, 5, 3, NULL))
CASE(a_one_key, attend(x, z, 6, 1, NULL))
CASE(a_hidden, attend(x, z, 3, 4, hiding(z)))
CASE(a_added, attend(x, z, 3, 4, adz_masked_fill(adz_slice(x, 0, 0, 3, 1), hiding(z), -INFINITY)))

static void attention_of_unequal_lengths(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    static const batch_case cases[] = { ROW(a_equal), ROW(a_one_query), ROW(a_fewer_queries),
        ROW(a_more_queries), ROW(a_one_key), ROW(a_hidden), ROW(a_added) };
    CHECK_BATCH(
        cases, adz_randn(ADZ_SHAPE(6, 4), ADZ_F32), adz_randn(ADZ_SHAPE(6, 4), ADZ_F32), 1e-5);
    adz_scope_close(scope);
}

/* ---- empty tensors --------------------------------------------------------------------------- */

static adz_tensor *none_of(adz_tensor *x)
{
    return adz_slice(x, 1, 2, 2, 1);
}

CASE(e_cat, adz_cat((adz_tensor *[]){ adz_exp(none_of(x)), x }, 2, 1))
CASE(e_sum, adz_sum(adz_exp(none_of(x)), ADZ_DIMS(1), false))
CASE(e_mean, adz_mean(none_of(x), ADZ_DIMS(1), false))
CASE(e_prod, adz_prod(adz_exp(none_of(x)), ADZ_DIMS(1), false))
CASE(e_logsumexp, adz_logsumexp(none_of(x), ADZ_DIMS(1), false))
CASE(e_norm, adz_norm(none_of(x), 2, ADZ_DIMS(1), false))
CASE(e_any, adz_any(adz_exp(none_of(x)), ADZ_DIMS(1), false))
CASE(e_all, adz_all(adz_exp(none_of(x)), ADZ_DIMS(1), false))
CASE(e_matmul, adz_matmul(adz_exp(none_of(x)), adz_transpose(adz_exp(none_of(x)), 0, 1)))
CASE(e_added, adz_add(adz_sum(adz_softmax(none_of(x), 1), ADZ_DIMS(1), true), x))
CASE(e_padded, adz_pad(adz_exp(none_of(x)), (int64_t[]){ 1, 2 }, 2, 7))
CASE(e_constant, adz_add(x, adz_sum(adz_mul(adz_zeros(ADZ_SHAPE(2, 0), ADZ_F32), none_of(x)),
                                ADZ_ALL_DIMS, false)))
CASE(e_selected,
    adz_cat((adz_tensor *[]){ x, adz_index_select(x, 0, adz_zeros(ADZ_SHAPE(0), ADZ_I64)) }, 2, 0))
CASE(e_result, adz_exp(none_of(x)))
CASE(e_attention,
    adz_scaled_dot_product_attention(x, adz_slice(x, 0, 1, 1, 1), adz_slice(x, 0, 1, 1, 1), NULL))

static void empty_tensors(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(5);
    static const batch_case cases[] = { ROW(e_cat), ROW(e_sum), ROW(e_mean), ROW(e_prod),
        ROW(e_logsumexp), ROW(e_norm), ROW(e_any), ROW(e_all), ROW(e_matmul), ROW(e_added),
        ROW(e_padded), ROW(e_constant), ROW(e_selected), ROW(e_result), ROW(e_attention) };
    CHECK_BATCH(cases, adz_randn(ADZ_SHAPE(2, 3), ADZ_F32), NULL, 1e-6);
    adz_scope_close(scope);
}

/* ---- networks of one element ----------------------------------------------------------------- */

/* Layers of one element at batch 1 open no loop, in which their variables would be apart. */
/* A single result may be a difference of larger terms, which loses digits. */
static void check_single(adz_module *module, adz_tensor *x)
{
    c_network n = of(module, x);
    check_network(&n, 1e-5);
    adz_module_release(&module);
}

static void layers_of_one_element(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(6);
    check_single(ADZ_SEQUENTIAL(adz_linear_new(1, 1, NULL), adz_linear_new(1, 1, NULL)),
        adz_randn(ADZ_SHAPE(1, 1), ADZ_F32));
    check_single(ADZ_SEQUENTIAL(adz_linear_new(1, 3, NULL), adz_linear_new(3, 1, NULL),
                     adz_linear_new(1, 2, NULL)),
        adz_randn(ADZ_SHAPE(1), ADZ_F32));
    check_single(adz_gru_new(1, 1, NULL), adz_randn(ADZ_SHAPE(3, 1, 1), ADZ_F32));
    check_single(adz_lstm_new(1, 1, NULL), adz_randn(ADZ_SHAPE(3, 1, 1), ADZ_F32));
    check_single(adz_rnn_new(1, 1, NULL), adz_randn(ADZ_SHAPE(3, 1, 1), ADZ_F32));
    check_single(adz_conv1d_new(1, 1, 1, NULL), adz_randn(ADZ_SHAPE(1, 1, 1), ADZ_F32));
    adz_scope_close(scope);
}

int edge_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_with_offsets),
        cmocka_unit_test(norms_of_large_means),
        cmocka_unit_test(tails),
        cmocka_unit_test(attention_of_unequal_lengths),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(layers_of_one_element),
    };
    return cmocka_run_group_tests_name("c99: edges", tests, temporary_begin, temporary_end);
}
