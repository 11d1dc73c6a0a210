/* PyTorch's MultiheadAttention. */
#include "nn/case.h"

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_multihead_attention_new(4, 2, NULL);
}

static adz_module *appended(adz_generator *g)
{
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.dropout = 0.3;
    o.add_bias_kv = o.add_zero_attn = o.batch_first = true;
    o.average_attn_weights = false;
    o.kdim = 3;
    o.vdim = 5;
    o.generator = g;
    return adz_multihead_attention_new(4, 2, &o);
}

static adz_module *fused(adz_generator *g)
{
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.dropout = 0.4;
    o.bias = o.need_weights = false;
    o.is_causal = true;
    o.generator = g;
    return adz_multihead_attention_new(4, 2, &o);
}

static adz_module *fused_causal(adz_generator *g)
{
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.need_weights = false;
    o.is_causal = o.add_zero_attn = true;
    o.generator = g;
    return adz_multihead_attention_new(4, 2, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* MultiheadAttention of 4 features and 2 heads in f64. Its parameters depend on the options alone,
 * and none is 0. */
static adz_module *made(const adz_multihead_attention_options *options)
{
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o = options != NULL ? *options : o;
    o.dtype = ADZ_F64;
    adz_module *m = adz_multihead_attention_new(4, 2, &o);
    assert_non_null(m);
    adz_tensor_list all = adz_module_parameters(m);
    adz_manual_seed(3);
    for (size_t i = 0; i < all.count; ++i) {
        adz_init_normal_(all.items[i], 0, 0.7, NULL);
    }
    return m;
}

static adz_tensor *draw(adz_shape shape)
{
    return adz_randn(shape, ADZ_F64);
}

static adz_tensor *truths(const bool *values, adz_shape shape)
{
    return adz_tensor_from(values, shape, ADZ_BOOL);
}

#define TRUTHS(shape, ...) truths((const bool[]){ __VA_ARGS__ }, shape)

/* A query without keys has NaN where the weights are asked for. Without, it has the bias of the
 * output projection, as in PyTorch's training. */
static void hidden_queries(void **state)
{
    (void)state;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4));
    adz_tensor *padding = TRUTHS(ADZ_SHAPE(2, 3), true, true, true, false, false, true);
    adz_module *m = made(&o);
    adz_values *out = adz_values_new();
    adz_tensor *y = ADZ_CALL_RESULTS(m, out, { NULL, x }, { "key_padding_mask", padding });
    adz_tensor *nan = adz_isnan(y), *weights = adz_isnan(adz_values_get(out, "weights"));
    assert_true(all_are(adz_select(nan, 1, 0), 1) && all_are(adz_select(nan, 1, 1), 0));
    assert_true(all_are(adz_select(weights, 0, 0), 1) && all_are(adz_select(weights, 0, 1), 0));
    adz_values_free(&out);
    o.need_weights = false;
    adz_module *n = made(&o);
    adz_tensor *z = ADZ_CALL(n, { NULL, x }, { "key_padding_mask", padding });
    adz_tensor *bias = adz_expand(adz_module_get_parameter(n, "out_proj.bias"), ADZ_SHAPE(3, 4));
    expect_same(adz_select(z, 1, 0), bias, 1e-15);
    expect_same(adz_select(z, 1, 1), adz_select(y, 1, 1), 1e-12);
    adz_module_release(&m);
    adz_module_release(&n);
}

/* Every way to give a mask gives the same result: bool, numbers, one for each head, is_causal. */
static void masks_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
        o.need_weights = i == 0;
        adz_module *m = made(&o), *causal;
        o.is_causal = true;
        causal = made(&o);
        const int64_t keys = 3 + i;
        adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *k = draw(ADZ_SHAPE(keys, 2, 4));
        adz_tensor *hidden = adz_triu(adz_ones(ADZ_SHAPE(3, keys), ADZ_BOOL), 1);
        adz_tensor *numbers =
            adz_masked_fill(adz_zeros(ADZ_SHAPE(3, keys), ADZ_F64), hidden, -INFINITY);
        adz_tensor *heads = adz_clone(adz_expand(hidden, ADZ_SHAPE(4, 3, keys)));
        adz_tensor *y = ADZ_CALL(causal, { NULL, x }, { "key", k });
        expect_same(ADZ_CALL(m, { NULL, x }, { "key", k }, { "attn_mask", hidden }), y, 1e-12);
        expect_same(ADZ_CALL(m, { NULL, x }, { "key", k }, { "attn_mask", numbers }), y, 1e-12);
        expect_same(ADZ_CALL(m, { NULL, x }, { "key", k }, { "attn_mask", heads }), y, 1e-12);
        expect_same(ADZ_CALL(causal, { NULL, x }, { "key", k }, { "attn_mask", hidden }), y, 1e-12);
        assert_false(alike(adz_module_forward(m, x), adz_module_forward(causal, x), 1e-3));
        adz_module_release(&m);
        adz_module_release(&causal);
    }
}

/* Dimensions in another order, and no batch, change nothing else. */
static void layouts_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
        o.need_weights = i == 0;
        o.add_bias_kv = true;
        adz_module *m = made(&o), *first;
        o.batch_first = true;
        first = made(&o);
        adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *y = adz_module_forward(m, x);
        adz_tensor *turned = adz_module_forward(first, adz_transpose(x, 0, 1));
        expect_same(adz_transpose(turned, 0, 1), y, 1e-14);
        expect_same(adz_module_forward(m, adz_select(x, 1, 1)), adz_select(y, 1, 1), 1e-14);
        expect_same(adz_module_forward(first, adz_select(x, 1, 1)), adz_select(y, 1, 1), 1e-14);
        adz_tensor *copy = adz_clone(x); /* projected by products of their own */
        expect_same(ADZ_CALL(m, { NULL, x }, { NULL, copy }), y, 1e-14);
        expect_same(ADZ_CALL(m, { NULL, x }, { NULL, copy }, { NULL, x }), y, 1e-14);
        adz_module_release(&m);
        adz_module_release(&first);
    }
}

/* The weights of a query sum to 1. Their mean over the heads is the default. */
static void weights_are_probabilities(void **state)
{
    (void)state;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.add_zero_attn = true;
    adz_module *m = made(&o), *each;
    o.average_attn_weights = false;
    each = made(&o);
    adz_values *out = adz_values_new();
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4));
    adz_tensor *padding = TRUTHS(ADZ_SHAPE(2, 3), false, true, true, true, true, true);
    assert_non_null(ADZ_CALL_RESULTS(m, out, { NULL, x }, { "key_padding_mask", padding }));
    adz_tensor *mean = adz_values_get(out, "weights");
    adz_values_clear(out);
    assert_non_null(ADZ_CALL_RESULTS(each, out, { NULL, x }, { "key_padding_mask", padding }));
    adz_tensor *all = adz_values_get(out, "weights");
    assert_true(adz_tensor_rank(all) == 4 && adz_tensor_size(all, 3) == 4);
    expect_same(mean, adz_mean(all, ADZ_DIMS(1), ADZ_DROPDIM), 1e-15);
    expect_same(
        adz_sum(all, ADZ_DIMS(-1), ADZ_DROPDIM), adz_ones(ADZ_SHAPE(2, 2, 3), ADZ_F64), 1e-14);
    assert_true(all_are(adz_narrow(mean, 2, 1, 2), 0));                /* hidden keys */
    assert_true(all_are(adz_select(adz_select(mean, 0, 1), 1, 3), 1)); /* zeros are all it sees */
    adz_values_free(&out);
    adz_module_release(&m);
    adz_module_release(&each);
}

/* Dropout with probability 1 leaves the bias of the output projection, in training alone. */
static void dropout_acts_in_training(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
        o.need_weights = i == 0;
        o.dropout = 1;
        adz_module *m = made(&o);
        adz_tensor *x = draw(ADZ_SHAPE(3, 4)), *y = adz_module_forward(m, x);
        adz_tensor *bias = adz_module_get_parameter(m, "out_proj.bias");
        expect_same(y, adz_expand(bias, ADZ_SHAPE(3, 4)), 1e-15);
        adz_module_eval(m);
        assert_false(alike(adz_module_forward(m, x), y, 1e-3));
        adz_module_release(&m);
    }
}

static void nothing_to_attend(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
        o.need_weights = i == 0;
        adz_module *m = made(&o);
        adz_tensor *x = adz_requires_grad_(adz_zeros(ADZ_SHAPE(3, 0, 4), ADZ_F64), true);
        adz_tensor *y = adz_module_forward(m, x);
        assert_true(adz_tensor_rank(y) == 3 && adz_tensor_size(y, 0) == 3 &&
                    adz_tensor_size(y, 1) == 0 && adz_tensor_size(y, 2) == 4);
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        y = adz_module_forward(m, adz_zeros(ADZ_SHAPE(0, 2, 4), ADZ_F64));
        assert_true(adz_tensor_size(y, 0) == 0 && adz_tensor_size(y, 1) == 2);
        adz_module_release(&m);
    }
}

static void starts_as_in_pytorch(void **state)
{
    (void)state;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.add_bias_kv = true;
    adz_module *m = adz_multihead_attention_new(24, 4, &o);
    double most = adz_item(adz_max(adz_abs(adz_module_get_parameter(m, "in_proj_weight"))));
    assert_true(most <= 0.25 && most > 0.24); /* sqrt(6 / (3 * 24 + 24)) */
    assert_true(all_are(adz_module_get_parameter(m, "in_proj_bias"), 0));
    assert_true(all_are(adz_module_get_parameter(m, "out_proj.bias"), 0));
    most = adz_item(adz_max(adz_abs(adz_module_get_parameter(m, "out_proj.weight"))));
    assert_true(most <= 1 / sqrt(24) && most > 0.19);
    most = adz_item(adz_max(adz_abs(adz_module_get_parameter(m, "bias_v"))));
    assert_true(most > 0.1 && most < 1); /* 24 numbers of deviation sqrt(2 / 48) */
    fill(adz_module_get_parameter(m, "out_proj.bias"), 5);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_get_parameter(m, "out_proj.bias"), 0));
    adz_module_release(&m);
    o.kdim = 8;
    m = adz_multihead_attention_new(24, 4, &o);
    most = adz_item(adz_max(adz_abs(adz_module_get_parameter(m, "k_proj_weight"))));
    assert_true(most <= sqrt(6.0 / 32) && most > 0.41);
    adz_module_release(&m);
}

static void refuse(adz_module *m, adz_status code, const char *says, adz_tensor *result)
{
    assert_null(result);
    expect_error(code, says);
    assert_non_null(m);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *m = made(NULL);
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *k = draw(ADZ_SHAPE(5, 2, 4));
    refuse(m, ADZ_ERR_SHAPE, "query must be [L, B, 4]",
        adz_module_forward(m, draw(ADZ_SHAPE(3, 2, 5))));
    refuse(m, ADZ_ERR_SHAPE, "query must be [L, B, 4]", adz_module_forward(m, draw(ADZ_SHAPE(4))));
    refuse(m, ADZ_ERR_SHAPE, "key must be [S, B, 4]",
        ADZ_CALL(m, { NULL, x }, { NULL, draw(ADZ_SHAPE(5, 3, 4)) }));
    refuse(m, ADZ_ERR_SHAPE, "key must be [S, B, 4]",
        ADZ_CALL(m, { NULL, x }, { NULL, draw(ADZ_SHAPE(5, 4)) }));
    refuse(m, ADZ_ERR_SHAPE, "value must be [S, B, 4]",
        ADZ_CALL(m, { NULL, x }, { NULL, k }, { NULL, x }));
    refuse(m, ADZ_ERR_SHAPE, "key_padding_mask[2, 5] must be [2, 3]",
        ADZ_CALL(m, { NULL, x }, { "key_padding_mask", adz_ones(ADZ_SHAPE(2, 5), ADZ_BOOL) }));
    refuse(m, ADZ_ERR_SHAPE, "key_padding_mask[5, 1] must be [2, 5]",
        ADZ_CALL(m, { NULL, x }, { NULL, k },
            { "key_padding_mask", adz_ones(ADZ_SHAPE(5, 1), ADZ_BOOL) }));
    refuse(m, ADZ_ERR_SHAPE, "attn_mask[3, 3] must be [3, 5] or [4, 3, 5]",
        ADZ_CALL(
            m, { NULL, x }, { NULL, k }, { "attn_mask", adz_ones(ADZ_SHAPE(3, 3), ADZ_BOOL) }));
    refuse(m, ADZ_ERR_SHAPE, "attn_mask[2, 3, 3] must be [3, 3] or [4, 3, 3]",
        ADZ_CALL(m, { NULL, x }, { "attn_mask", adz_ones(ADZ_SHAPE(2, 3, 3), ADZ_BOOL) }));
    refuse(m, ADZ_ERR_DTYPE, "attn_mask is float32, but must be bool",
        ADZ_CALL(m, { NULL, x }, { "attn_mask", adz_ones(ADZ_SHAPE(3, 3), ADZ_F32) }));
    refuse(m, ADZ_ERR_DTYPE, "key_padding_mask is int64, but must be bool",
        ADZ_CALL(m, { NULL, x }, { "key_padding_mask", adz_ones(ADZ_SHAPE(2, 3), ADZ_I64) }));
    refuse(m, ADZ_ERR_ARGUMENT, "need_weights",
        ADZ_CALL(m, { NULL, x }, { "need_weights", adz_ones(ADZ_SHAPE(1), ADZ_BOOL) }));
    adz_module_release(&m);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    expect_no_module(adz_multihead_attention_new(0, 2, NULL), "embed_dim is 0");
    expect_no_module(adz_multihead_attention_new(4, 0, NULL), "num_heads is 0");
    expect_no_module(
        adz_multihead_attention_new(4, 3, NULL), "num_heads is 3, but must divide embed_dim, 4");
    o.kdim = -1;
    expect_no_module(adz_multihead_attention_new(4, 2, &o), "kdim is -1");
    o.kdim = 0;
    o.dropout = 1.5;
    expect_no_module(adz_multihead_attention_new(4, 2, &o), "dropout is 1.5");
}

static const struct CMUnitTest facts[] = {
    TEST(hidden_queries),
    TEST(masks_agree),
    TEST(layouts_agree),
    TEST(weights_are_probabilities),
    TEST(dropout_acts_in_training),
    TEST(nothing_to_attend),
    TEST(starts_as_in_pytorch),
    TEST(wrong_arguments_are_refused),
    TEST(bad_options_are_refused),
};

static adz_module *from_config(const char *reference, const json_t *config)
{
    (void)reference;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.dropout = config_number(config, "dropout", 0);
    o.bias = config_flag(config, "bias", true);
    o.add_bias_kv = config_flag(config, "add_bias_kv", false);
    o.add_zero_attn = config_flag(config, "add_zero_attn", false);
    o.kdim = (int64_t)config_number(config, "kdim", 0);
    o.vdim = (int64_t)config_number(config, "vdim", 0);
    o.batch_first = config_flag(config, "batch_first", false);
    o.need_weights = config_flag(config, "need_weights", true);
    o.average_attn_weights = config_flag(config, "average_attn_weights", true);
    return adz_multihead_attention_new((int64_t)config_number(config, "embed_dim", 0),
        (int64_t)config_number(config, "num_heads", 0), &o);
}

#define PRINTS(bias)                                                                          \
    "MultiheadAttention(\n"                                                                   \
    "  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=" bias \
    ")\n)"

const module_case attention_module = {
    .name = "attention",
    .references = { "torch nn.MultiheadAttention" },
    .from_config = from_config,
    .samples = { { plain, PRINTS("True"),
                     "in_proj_weight in_proj_bias out_proj.weight out_proj.bias",
                     { X(3, 2, 4), X(2, 2, 4), X(2, 2, 4) } },
        { appended, PRINTS("True"),
            "q_proj_weight k_proj_weight v_proj_weight in_proj_bias bias_k bias_v out_proj.weight out_proj.bias",
            { X(2, 3, 4), X(2, 2, 3), X(2, 2, 5), X_NAMED("attn_mask", 3, 2),
                X_NAMED("key_padding_mask", 2, 2) } },
        { fused, PRINTS("False"), "in_proj_weight out_proj.weight", { X(3, 2, 4) } },
        { fused_causal, PRINTS("True"), "in_proj_weight in_proj_bias out_proj.weight out_proj.bias",
            { X(3, 4), X(2, 4), X_NAMED("attn_mask", 2, 3, 2) } } },
    FACTS(facts),
};
