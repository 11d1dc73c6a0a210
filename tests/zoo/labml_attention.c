/* MultiHeadAttention of the annotated transformers. */
#include "adze/zoo.h"
#include "nn/case.h"
#include "nn/layers/dropout.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *prepare(adz_generator *g)
{
    (void)g;
    adz_labml_prepare_options o;
    adz_labml_prepare_options_init(&o, sizeof o);
    return adz_labml_prepare_new(4, 2, 3, true, &o);
}

static adz_module *attention(adz_generator *g)
{
    adz_labml_attention_options o;
    adz_labml_attention_options_init(&o, sizeof o);
    o.generator = g;
    return adz_labml_attention_new(2, 4, &o);
}

static adz_module *without_bias(adz_generator *g)
{
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.generator = g;
    o.bias = false;
    o.dropout_prob = 0.4;
    return adz_labml_attention_new(3, 6, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static adz_tensor *call(
    adz_module *m, adz_tensor *query, adz_tensor *key, adz_tensor *value, adz_tensor *mask)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "query", query);
    adz_values_add(in, "key", key);
    adz_values_add(in, "value", value);
    adz_values_add(in, "mask", mask);
    adz_status status = adz_module_call(m, in, out);
    adz_tensor *y = status == ADZ_OK ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

static adz_module *exact(void)
{
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dtype = ADZ_F64;
    o.dropout_prob = 0;
    return adz_labml_attention_new(2, 4, &o);
}

/* A key that is left out is the query, and a value that is left out is the key. */
static void left_out_arguments(void **state)
{
    (void)state;
    adz_module *m = exact();
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F64);
    adz_tensor *other = adz_randn(ADZ_SHAPE(5, 2, 4), ADZ_F64);
    expect_same(adz_module_forward(m, x), call(m, x, x, x, ADZ_NONE), 0);
    expect_same(call(m, x, other, ADZ_NONE, ADZ_NONE), call(m, x, other, other, ADZ_NONE), 0);
    adz_module_release(&m);
}

/* A mask of numbers is true where it is not 0. Sizes of 1 broadcast. */
static void masks_broadcast(void **state)
{
    (void)state;
    adz_module *m = exact();
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F64);
    adz_tensor *bits = adz_ones(ADZ_SHAPE(1, 3, 1), ADZ_F32);
    adz_tensor_data_f32(bits)[1] = 0;
    adz_tensor *whole = adz_ne_number(adz_expand(bits, ADZ_SHAPE(3, 3, 2)), 0);
    expect_same(call(m, x, x, x, bits), call(m, x, x, x, whole), 0);
    adz_tensor *all = adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_BOOL);
    expect_same(call(m, x, x, x, all), call(m, x, x, x, ADZ_NONE), 1e-15);
    /* the value of a key that is masked out does not change the result */
    adz_tensor *changed = adz_clone(x);
    adz_mul_number_(adz_select(changed, 0, 1), 7);
    expect_same(call(m, x, changed, changed, bits), call(m, x, x, x, bits), 0);
    adz_module_release(&m);
}

/* Applies one of the layers query, key and value to x[T, B, D] and returns [B, H, T, D/H]. */
static adz_tensor *heads_of(adz_module *m, const char *name, adz_tensor *x, int64_t h)
{
    const int64_t t = adz_tensor_size(x, 0), b = adz_tensor_size(x, 1), d = adz_tensor_size(x, 2);
    adz_module *layer = adz_module_get_child(m, name);
    adz_tensor *y = adz_module_forward(layer, x);
    assert_int_equal(adz_tensor_rank(y), 4);
    assert_true(adz_tensor_size(y, 2) == h && adz_tensor_size(y, 3) == d / h);
    y = adz_reshape(
        adz_module_forward(adz_module_get_child(layer, "linear"), x), ADZ_SHAPE(t, b, h, d / h));
    return adz_permute(y, ADZ_DIMS(1, 2, 0, 3));
}

/* Attention with three heads of two features each gives the result of its formula, which the test
 * writes with operators. */
static void attention_is_its_operators(void **state)
{
    (void)state;
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dtype = ADZ_F64;
    o.dropout_prob = 0;
    adz_module *m = adz_labml_attention_new(3, 6, &o);
    adz_tensor_list all = adz_module_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F64);
    }
    adz_tensor *query = adz_randn(ADZ_SHAPE(4, 2, 6), ADZ_F64);
    adz_tensor *key = adz_randn(ADZ_SHAPE(5, 2, 6), ADZ_F64), *value = adz_randn_like(key);
    adz_tensor *mask = adz_randint(0, 2, ADZ_SHAPE(4, 5, 2), ADZ_I64);
    /* Every query sees key 0, so no softmax is over nothing. */
    adz_mul_number_(adz_narrow(mask, 1, 0, 1), 0);
    adz_add_number_(adz_narrow(mask, 1, 0, 1), 1);
    adz_tensor *q = heads_of(m, "query", query, 3), *k = heads_of(m, "key", key, 3);
    adz_tensor *scores = adz_div_number(adz_matmul(q, adz_transpose(k, 2, 3)), sqrt(2));
    adz_tensor *hidden = adz_eq_number(adz_permute(mask, ADZ_DIMS(2, 0, 1)), 0);
    scores = adz_masked_fill(scores, adz_unsqueeze(hidden, 1), -INFINITY);
    adz_tensor *y = adz_matmul(adz_softmax(scores, -1), heads_of(m, "value", value, 3));
    y = adz_reshape(adz_permute(y, ADZ_DIMS(2, 0, 1, 3)), ADZ_SHAPE(4, 2, 6));
    y = adz_module_forward(adz_module_get_child(m, "output"), y);
    expect_same(call(m, query, key, value, mask), y, 1e-13);
    adz_values *in = adz_values_new(), *out = adz_values_new(); /* by position */
    adz_tensor *given[] = { query, key, value, mask };
    for (int i = 0; i < 4; ++i) {
        adz_values_add(in, "", given[i]);
    }
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    expect_same(adz_values_at(out, 0), y, 1e-13);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

/* Dropout acts on the attention weights in training mode only. */
static void weights_are_dropped(void **state)
{
    (void)state;
    adz_module *m = without_bias(NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(9, 2, 6), ADZ_F32), *y = adz_module_forward(m, x);
    adz_module_eval(m);
    assert_false(adz_equal(adz_module_forward(m, x), y));
    adz_module_release(&m);
}

/* A mask that is replayed is [T, S, B, H]. One that keeps all weights doubles them at p = 0.5. */
static void masks_are_replayed(void **state)
{
    (void)state;
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dtype = ADZ_F64;
    o.dropout_prob = 0.5;
    adz_module *m = adz_labml_attention_new(2, 4, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F64),
               *key = adz_randn(ADZ_SHAPE(5, 2, 4), ADZ_F64);
    adz_tensor *mask = adz_ones(ADZ_SHAPE(3, 5, 2, 2), ADZ_BOOL);
    adzi_masks masks = { &mask, 1, 0 };
    adzi_module_replay(m, &masks);
    adz_tensor *y = call(m, x, key, key, ADZ_NONE);
    assert_int_equal(masks.next, 1);
    adzi_module_replay(m, NULL);
    adz_module_eval(m);
    adz_tensor *plain = adz_mul_number(call(m, x, key, key, ADZ_NONE), 2);
    expect_same(y, adz_sub(plain, adz_module_get_parameter(m, "output.bias")), 1e-13);
    adz_module_release(&m);
}

/* A query whose keys are all masked out gives the output layer zeros, so its result is the bias.
 * Its gradients are finite. */
static void a_blind_query_gives_zeros(void **state)
{
    (void)state;
    adz_module *m = exact();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 1, 4), ADZ_F64), true);
    adz_tensor *mask = adz_ones(ADZ_SHAPE(2, 2, 1), ADZ_F64);
    adz_tensor_data_f64(mask)[2] = adz_tensor_data_f64(mask)[3] = 0;
    adz_tensor *y = call(m, x, x, x, mask);
    adz_tensor *bias = adz_module_get_parameter(m, "output.bias");
    expect_same(adz_select(adz_select(y, 0, 1), 0, 0), bias, 0);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    adz_tensor *grad = adz_tensor_grad(adz_module_get_parameter(m, "query.linear.weight"));
    assert_true(adz_item(adz_all(adz_isfinite(grad), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1);
    adz_module_release(&m);
}

static void the_subsequent_mask(void **state)
{
    (void)state;
    adz_tensor *mask = adz_labml_subsequent_mask(3);
    assert_int_equal(adz_tensor_rank(mask), 3);
    assert_int_equal(adz_tensor_dtype(mask), ADZ_BOOL);
    assert_true(HOLDS(mask, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1));
    assert_int_equal(adz_tensor_numel(adz_labml_subsequent_mask(0)), 0);
    assert_null(adz_labml_subsequent_mask(-1));
    expect_error(ADZ_ERR_ARGUMENT, "seq_len is -1");
}

static void expect_call_refused(
    adz_module *m, adz_tensor *key, adz_tensor *value, adz_tensor *mask, const char *says)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F64);
    assert_null(call(m, x, key, value, mask));
    expect_error(ADZ_ERR_SHAPE, says);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    expect_no_module(adz_labml_attention_new(3, 4, NULL), "heads is 3, but must divide d_model, 4");
    expect_no_module(adz_labml_attention_new(0, 4, NULL), "heads is 0");
    expect_no_module(adz_labml_attention_new(1, 0, NULL), "labml_attention_new: d_model is 0");
    o.dropout_prob = 2;
    expect_no_module(adz_labml_attention_new(2, 4, &o), "dropout_prob is 2, but must be in [0, 1]");
    expect_no_module(adz_labml_prepare_new(4, 2, 0, true, NULL), "d_k is 0");
    const int64_t many = (int64_t)1 << 58;
    expect_no_module(adz_labml_prepare_new(4, many, 64, true, NULL), "are too many");
    expect_no_module(adz_labml_prepare_new(4, INT64_MAX, 2, true, NULL), "more than fit in memory");
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F64), *none = ADZ_NONE;
    adz_module *m = exact();
    expect_call_refused(m, x, x, adz_ones(ADZ_SHAPE(2, 3, 2), ADZ_BOOL),
        "mask[2, 3, 2] must be [query, key, batch] = [3, 3, 2]");
    expect_call_refused(m, x, x, adz_ones(ADZ_SHAPE(3, 3), ADZ_BOOL), "mask[3, 3] must be");
    expect_call_refused(
        m, adz_ones(ADZ_SHAPE(5, 3, 4), ADZ_F64), none, none, "key[5, 3, 4] must be [S, 2, 4]");
    expect_call_refused(m, x, adz_ones(ADZ_SHAPE(2, 2, 4), ADZ_F64), none,
        "value[2, 2, 4] must have the shape of key[3, 2, 4]");
    expect_refused(m, adz_ones(ADZ_SHAPE(3, 4), ADZ_F64), "query[3, 4] must be [T, B, 4]");
    m = exact();
    assert_non_null(adz_module_set_child(m, "dropout", adz_linear_new(1, 1, NULL)));
    assert_null(call(m, adz_to(x, ADZ_F64), none, none, none));
    expect_error(ADZ_ERR_ARGUMENT, "the child is a Linear, but attention needs a dropout there");
    adz_module_release(&m);
}

/* A key, value or mask is refused if one of its sizes is too large by 1, or if it has one dimension
 * less. */
static void every_size_counts(void **state)
{
    (void)state;
    adz_module *m = exact();
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F64),
               *key = adz_ones(ADZ_SHAPE(5, 2, 4), ADZ_F64);
    adz_tensor *mask = adz_ones(ADZ_SHAPE(3, 5, 2), ADZ_BOOL);
    assert_non_null(call(m, x, key, key, mask));
    for (int i = 0; i < 4; ++i) {
        int64_t of_key[] = { 5, 2, 4 }, of_mask[] = { 3, 5, 2 };
        if (i < 3) {
            of_key[i] += 1;
            of_mask[i] += 1;
        }
        adz_tensor *odd = adz_ones(adz_shape_of(i < 3 ? 3 : 2, of_key), ADZ_F64);
        if (i > 0) { /* i = 0 is skipped: any number of keys is allowed. */
            expect_call_refused(m, odd, ADZ_NONE, ADZ_NONE, "must be [S, 2, 4] for query[3, 2, 4]");
        }
        expect_call_refused(m, key, odd, ADZ_NONE, "must have the shape of key[5, 2, 4]");
        expect_call_refused(m, key, key, adz_ones(adz_shape_of(i < 3 ? 3 : 2, of_mask), ADZ_BOOL),
            "must be [query, key, batch] = [3, 5, 2]");
    }
    adz_tensor *deep = adz_ones(ADZ_SHAPE(5, 2, 4, 1), ADZ_F64);
    expect_call_refused(m, deep, ADZ_NONE, ADZ_NONE, "key[5, 2, 4, 1] must be [S, 2, 4]");
    expect_call_refused(m, key, deep, ADZ_NONE, "value[5, 2, 4, 1] must have the shape of key");
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 2, 5), ADZ_F64)));
    expect_error(ADZ_ERR_SHAPE, "query[3, 2, 5] must be [T, B, 4]");
    assert_null(call(m, ADZ_NONE, key, key, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "MultiHeadAttention: query is not optional");
    adz_module_release(&m);
    m = prepare(NULL);
    int64_t ones[ADZ_MAX_RANK];
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        ones[i] = i == ADZ_MAX_RANK - 1 ? 4 : 1;
    }
    expect_refused(m, adz_ones(adz_shape_of(ADZ_MAX_RANK, ones), ADZ_F32),
        "leaves no dimension for the heads");
    m = prepare(NULL);
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "PrepareForMultiHeadAttention: x is not optional");
    assert_null(adz_module_forward(m, adz_scalar(1, ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "linear: x[]");
    adz_module_release(&m);
}

/* Modules with one feature and one head can be made. */
static void the_smallest_parts_are_made(void **state)
{
    (void)state;
    adz_module *parts[] = { adz_labml_prepare_new(1, 1, 1, false, NULL),
        adz_labml_attention_new(1, 1, NULL) };
    for (int i = 0; i < 2; ++i) {
        assert_non_null(adz_module_forward(parts[i], adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
        adz_module_release(&parts[i]);
    }
    expect_no_module(adz_labml_prepare_new(0, 1, 1, true, NULL), "d_model is 0");
    expect_no_module(adz_labml_prepare_new(1, 0, 1, true, NULL), "heads is 0");
}

/* ---- vectors -------------------------------------------------------------------------------- */

static adz_module *from_config(const char *reference, const json_t *config)
{
    int64_t d_model = (int64_t)config_number(config, "d_model", 0);
    int64_t heads = (int64_t)config_number(config, "heads", 0);
    if (strcmp(reference, "labml PrepareForMultiHeadAttention") == 0) {
        return adz_labml_prepare_new(d_model, heads, (int64_t)config_number(config, "d_k", 0),
            config_flag(config, "bias", true), NULL);
    }
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dropout_prob = config_number(config, "dropout_prob", o.dropout_prob);
    o.bias = config_flag(config, "bias", true);
    return adz_labml_attention_new(heads, d_model, &o);
}

static const struct CMUnitTest facts[] = {
    TEST(left_out_arguments),
    TEST(masks_broadcast),
    TEST(attention_is_its_operators),
    TEST(weights_are_dropped),
    TEST(masks_are_replayed),
    TEST(every_size_counts),
    TEST(the_smallest_parts_are_made),
    TEST(a_blind_query_gives_zeros),
    TEST(the_subsequent_mask),
    TEST(bad_values_are_refused),
};

const module_case labml_attention_module = {
    .name = "labml_attention",
    .references = { "labml PrepareForMultiHeadAttention", "labml MultiHeadAttention" },
    .from_config = from_config,
    .renames = { "x=query" },
    .samples = { { prepare,
                     "PrepareForMultiHeadAttention(\n"
                     "  heads=2, d_k=3\n"
                     "  (linear): Linear(in_features=4, out_features=6, bias=True)\n"
                     ")",
                     "linear.weight linear.bias", { X(3, 2, 4) } },
        { attention,
            "MultiHeadAttention(\n"
            "  (query): PrepareForMultiHeadAttention(\n"
            "    heads=2, d_k=2\n"
            "    (linear): Linear(in_features=4, out_features=4, bias=True)\n"
            "  )\n"
            "  (key): PrepareForMultiHeadAttention(\n"
            "    heads=2, d_k=2\n"
            "    (linear): Linear(in_features=4, out_features=4, bias=True)\n"
            "  )\n"
            "  (value): PrepareForMultiHeadAttention(\n"
            "    heads=2, d_k=2\n"
            "    (linear): Linear(in_features=4, out_features=4, bias=True)\n"
            "  )\n"
            "  (output): Linear(in_features=4, out_features=4, bias=True)\n"
            "  (dropout): Dropout(p=0.1, inplace=False)\n"
            ")",
            "query.linear.weight query.linear.bias key.linear.weight key.linear.bias value.linear.weight value.linear.bias output.weight output.bias",
            { X(3, 2, 4), IDS_NAMED("mask", 2, 3, 3, 2) } },
        { without_bias,
            "MultiHeadAttention(\n"
            "  (query): PrepareForMultiHeadAttention(\n"
            "    heads=3, d_k=2\n"
            "    (linear): Linear(in_features=6, out_features=6, bias=False)\n"
            "  )\n"
            "  (key): PrepareForMultiHeadAttention(\n"
            "    heads=3, d_k=2\n"
            "    (linear): Linear(in_features=6, out_features=6, bias=False)\n"
            "  )\n"
            "  (value): PrepareForMultiHeadAttention(\n"
            "    heads=3, d_k=2\n"
            "    (linear): Linear(in_features=6, out_features=6, bias=True)\n"
            "  )\n"
            "  (output): Linear(in_features=6, out_features=6, bias=True)\n"
            "  (dropout): Dropout(p=0.4, inplace=False)\n"
            ")",
            "query.linear.weight key.linear.weight value.linear.weight value.linear.bias output.weight output.bias",
            { X(2, 2, 6), X(4, 2, 6), X(4, 2, 6), IDS(2, 1, 4, 2) } } },
    FACTS(facts),
};
