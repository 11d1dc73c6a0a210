/* Groups of heads and sliding windows. */
#ifndef ADZE_TESTS_OPS_ATTENTION_NARROWED_H
#define ADZE_TESTS_OPS_ATTENTION_NARROWED_H

#include "errors.h"
#include "ops/facts.h"

static adz_tensor *drawn(uint64_t seed, adz_shape shape)
{
    adz_generator *generator = adz_generator_new(seed);
    adz_tensor *t = adz_generator_randn(generator, shape, ADZ_F64);
    adz_generator_free(&generator);
    return t;
}

static bool close_to(adz_tensor *a, adz_tensor *b)
{
    return adz_allclose(a, b, 1e-12, 1e-12, false);
}

/* Query heads h use the heads h / (H / Hk) of key and value, as if these were repeated. */
static void check_groups(adz_attention_options *o, int64_t groups)
{
    adz_tensor *q = adz_requires_grad_(drawn(1, ADZ_SHAPE(2, 6, 5, 4)), true);
    adz_tensor *k = adz_requires_grad_(drawn(2, ADZ_SHAPE(2, groups, 7, 4)), true);
    adz_tensor *v = adz_requires_grad_(drawn(3, ADZ_SHAPE(2, groups, 7, 3)), true);
    o->enable_gqa = true;
    adz_tensor *y = adz_scaled_dot_product_attention(q, k, v, o), *in[] = { q, k, v };
    o->enable_gqa = false;
    adz_tensor *expected = adz_scaled_dot_product_attention(
        q, adz_repeat_interleave(k, 6 / groups, 1), adz_repeat_interleave(v, 6 / groups, 1), o);
    assert_true(close_to(y, expected));
    adz_tensor *up = drawn(4, ADZ_SHAPE(2, 6, 5, 3));
    for (int i = 0; i < 3; ++i) {
        assert_true(close_to(
            gradient_of(adz_mul(y, up), in[i]), gradient_of(adz_mul(expected, up), in[i])));
    }
}

FACT(groups_of_heads_share_keys)
{
    for (int64_t groups = 1; groups <= 6; groups *= groups == 1 ? 3 : 2) {
        adz_attention_options o = ADZ_ATTENTION_OPTIONS;
        check_groups(&o, groups);
        o.is_causal = true;
        check_groups(&o, groups);
        o.attn_mask = drawn(5, ADZ_SHAPE(2, 6, 5, 7));
        check_groups(&o, groups);
        o.attn_mask = adz_gt_number(drawn(6, ADZ_SHAPE(2, 1, 5, 7)), -0.5);
        o.sliding_window = 3;
        check_groups(&o, groups);
        o.attn_mask = adz_gt_number(drawn(6, ADZ_SHAPE(5, 7)), -0.5);
        check_groups(&o, groups);
    }
}

/* One query of `heads` heads that share keys has the bits of heads with keys of their own, recorded
 * or not, and the same gradient. */
static void check_single_query(
    int64_t heads, int64_t groups, int64_t keys, adz_dtype dtype, adz_attention_options *o)
{
    adz_tensor *q = adz_to(drawn(1, ADZ_SHAPE(2, heads, 1, 5)), dtype);
    adz_tensor *k = adz_to(drawn(2, ADZ_SHAPE(2, groups, keys, 5)), dtype);
    adz_tensor *v = adz_to(drawn(3, ADZ_SHAPE(2, groups, keys, 3)), dtype);
    adz_tensor *leaf = adz_requires_grad_(adz_clone(q), true);
    o->enable_gqa = true;
    adz_tensor *y = adz_scaled_dot_product_attention(q, k, v, o);
    adz_tensor *recorded = adz_scaled_dot_product_attention(leaf, k, v, o);
    o->enable_gqa = false;
    adz_tensor *expected =
        adz_scaled_dot_product_attention(leaf, adz_repeat_interleave(k, heads / groups, 1),
            adz_repeat_interleave(v, heads / groups, 1), o);
    const size_t bytes = (size_t)adz_tensor_numel(y) * adz_dtype_size(dtype);
    assert_memory_equal(adz_tensor_data(adz_contiguous(y)), adz_tensor_data(expected), bytes);
    assert_memory_equal(
        adz_tensor_data(adz_contiguous(recorded)), adz_tensor_data(expected), bytes);
    adz_tensor *up = adz_to(drawn(4, ADZ_SHAPE(2, heads, 1, 3)), dtype);
    assert_true(adz_equal(
        gradient_of(adz_mul(recorded, up), leaf), gradient_of(adz_mul(expected, up), leaf)));
}

FACT(single_queries_of_heads_that_share_keys_keep_their_bits)
{
    static const int64_t heads[][2] = { { 6, 1 }, { 6, 3 }, { 300, 1 }, { 4, 4 } };
    static const int64_t keys[] = { 1, 63, 65, 200 };
    for (int i = 0; i < 4 * 4 * 2; ++i) {
        const int64_t *h = heads[i / 8], n = keys[i / 2 % 4];
        const adz_dtype dtype = i % 2 == 0 ? ADZ_F32 : ADZ_F64;
        adz_scope *scope = adz_scope_open();
        adz_attention_options o = ADZ_ATTENTION_OPTIONS;
        check_single_query(h[0], h[1], n, dtype, &o);
        o.is_causal = true;
        o.attn_mask = adz_to(drawn(5, ADZ_SHAPE(2, h[0], 1, n)), dtype);
        check_single_query(h[0], h[1], n, dtype, &o);
        o.attn_mask = adz_gt_number(drawn(6, ADZ_SHAPE(2, 1, 1, n)), 0);
        check_single_query(h[0], h[1], n, dtype, &o);
        o.attn_mask = adz_gt_number(drawn(7, ADZ_SHAPE(2, h[0], 1, n)), 1); /* hides all of some */
        check_single_query(h[0], h[1], n, dtype, &o);
        adz_scope_close(scope);
    }
}

FACT(other_heads_are_no_groups)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    adz_tensor *q = drawn(1, ADZ_SHAPE(2, 6, 5, 4)), *k = drawn(2, ADZ_SHAPE(2, 4, 7, 4));
    o.enable_gqa = true;
    assert_null(adz_scaled_dot_product_attention(q, k, k, &o));
    expect_error(ADZ_ERR_SHAPE, "must have heads, at dimension -3, that divide H");
    k = adz_narrow(k, 1, 0, 3);
    assert_null(adz_scaled_dot_product_attention(q, k, adz_narrow(k, 1, 0, 2), &o));
    expect_error(ADZ_ERR_SHAPE, "key[2, 3, 7, 4] and value[2, 2, 7, 4] must have heads");
    o.attn_mask = drawn(3, ADZ_SHAPE(3, 5, 7));
    assert_null(adz_scaled_dot_product_attention(q, k, k, &o));
    expect_error(ADZ_ERR_SHAPE, "attn_mask[3, 5, 7] must have 1 or 6 heads at dimension -3");
}

/* A window of W shows the query itself and the W - 1 keys before it. */
static void check_window(int64_t queries, int64_t keys, int64_t window, adz_tensor *mask)
{
    adz_tensor *q = drawn(1, ADZ_SHAPE(2, queries, 4)), *k = drawn(2, ADZ_SHAPE(2, keys, 4));
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    o.attn_mask = mask;
    o.sliding_window = window;
    adz_tensor *y = adz_scaled_dot_product_attention(q, k, k, &o);
    o.sliding_window = 0;
    adz_tensor *shown =
        adz_triu(adz_ones(ADZ_SHAPE(queries, keys), ADZ_BOOL), keys - queries - window + 1);
    o.attn_mask = mask == NULL ? shown
                  : adz_tensor_dtype(mask) == ADZ_BOOL
                      ? adz_logical_and(mask, shown)
                      : adz_masked_fill(mask, adz_logical_not(shown), -INFINITY);
    assert_true(close_to(y, adz_scaled_dot_product_attention(q, k, k, &o)));
}

FACT(windows_hide_what_lies_before_them)
{
    const int64_t windows[] = { 1, 2, 5, 9, 100 };
    for (int i = 0; i < 5; ++i) {
        check_window(9, 9, windows[i], NULL);
        check_window(1, 9, windows[i], NULL);
        check_window(4, 9, windows[i], NULL);
        check_window(9, 4, windows[i], NULL);
        check_window(4, 9, windows[i], drawn(5, ADZ_SHAPE(2, 4, 9)));
        check_window(4, 9, windows[i], drawn(5, ADZ_SHAPE(4, 1)));
        check_window(4, 9, windows[i], adz_gt_number(drawn(5, ADZ_SHAPE(9)), -0.5));
    }
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.sliding_window = -1;
    adz_tensor *q = drawn(1, ADZ_SHAPE(2, 4));
    assert_null(adz_scaled_dot_product_attention(q, q, q, &o));
    expect_error(ADZ_ERR_ARGUMENT, "sliding_window is -1");
}

#endif
