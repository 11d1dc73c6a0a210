#include "narrowed.h"
#include "ops/facts.h"

/* p[0] = causal, p[1] = scale, p[2] = dropout_p, p[3] = seed; in[3] = attn_mask, in[4] =
 * dropout_mask. Every call gets the seed, so that it draws an equal mask. */
static adz_tensor *attend(const op_args *a, adz_generator *generator)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = a->p[0] != 0;
    o.scale = a->p[1];
    o.dropout_p = a->p[2];
    o.training = true;
    o.generator = generator;
    o.attn_mask = a->n > 3 ? a->in[3] : NULL;
    o.dropout_mask = a->n > 4 ? a->in[4] : NULL;
    return adz_scaled_dot_product_attention(a->in[0], a->in[1], a->in[2], &o);
}

static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new((uint64_t)a->p[3]);
    if (generator == NULL) {
        return 0;
    }
    adz_tensor *y = attend(a, generator);
    adz_generator_free(&generator);
    return case_one(y, out);
}

FACT(causal_counts_from_the_end)
{
    adz_tensor *q = drawn(1, ADZ_SHAPE(5, 4)), *k = drawn(2, ADZ_SHAPE(5, 4)),
               *v = drawn(3, ADZ_SHAPE(5, 3));
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    adz_tensor *all = adz_scaled_dot_product_attention(q, k, v, &o);
    adz_tensor *last = adz_scaled_dot_product_attention(adz_narrow(q, 0, 3, 2), k, v, &o);
    assert_true(close_to(adz_narrow(all, 0, 3, 2), last));
    assert_true(close_to(adz_narrow(all, 0, 0, 1), adz_narrow(v, 0, 0, 1)));
    o.is_causal = false;
    o.attn_mask = adz_tril(adz_ones(ADZ_SHAPE(5, 5), ADZ_BOOL), 0);
    assert_true(close_to(all, adz_scaled_dot_product_attention(q, k, v, &o)));
}

FACT(a_scale_of_one_is_no_scale)
{
    adz_tensor *q = drawn(1, ADZ_SHAPE(3, 4)), *k = drawn(2, ADZ_SHAPE(6, 4)),
               *v = drawn(3, ADZ_SHAPE(6, 2));
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.scale = 1;
    adz_tensor *p = adz_softmax(adz_matmul(q, adz_transpose(k, 0, 1)), -1);
    assert_true(close_to(adz_scaled_dot_product_attention(q, k, v, &o), adz_matmul(p, v)));
    assert_true(close_to(adz_scaled_dot_product_attention(q, k, v, NULL),
        adz_scaled_dot_product_attention(adz_div_number(q, 2), k, v, &o)));
}

static void check_blind_row(adz_attention_options *o)
{
    adz_tensor *in[3] = { drawn(1, ADZ_SHAPE(4, 3)), drawn(2, ADZ_SHAPE(2, 3)),
        drawn(3, ADZ_SHAPE(2, 3)) };
    for (int i = 0; i < 3; ++i) {
        adz_requires_grad_(in[i], true);
    }
    adz_tensor *y = adz_scaled_dot_product_attention(in[0], in[1], in[2], o);
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F64);
    assert_true(adz_equal(adz_narrow(y, 0, 0, 2), zeros));
    assert_false(adz_equal(adz_narrow(y, 0, 2, 2), zeros));
    for (int expression = 0; expression < 2; ++expression) {
        adz_tensor *g = gradient_by(adz_mul(y, y), in[0], expression != 0);
        assert_true(adz_equal(adz_narrow(g, 0, 0, 2), zeros));
        for (int i = 1; i < 3; ++i) {
            g = gradient_by(y, in[i], expression != 0);
            assert_true(isfinite(adz_item(adz_sum(g, ADZ_ALL_DIMS, ADZ_DROPDIM))));
        }
    }
}

FACT(rows_that_see_nothing_are_zeros)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true; /* of four queries and two keys, the first two queries see no key */
    check_blind_row(&o);
    o.is_causal = false;
    o.attn_mask =
        adz_reshape(adz_to(VALUES(ADZ_F64, 0, 0, 0, 0, 1, 0, 1, 1), ADZ_BOOL), ADZ_SHAPE(4, 2));
    check_blind_row(&o);
    const double no = -INFINITY;
    o.attn_mask = adz_reshape(VALUES(ADZ_F64, no, no, no, no, 1, no, 2, 3), ADZ_SHAPE(4, 2));
    check_blind_row(&o);
    o.attn_mask = adz_requires_grad_(o.attn_mask, true);
    check_blind_row(&o);
}

FACT(no_keys_give_zeros)
{
    adz_tensor *y = adz_scaled_dot_product_attention(drawn(1, ADZ_SHAPE(2, 3)),
        adz_zeros(ADZ_SHAPE(0, 3), ADZ_F64), adz_zeros(ADZ_SHAPE(0, 4), ADZ_F64), NULL);
    assert_true(adz_equal(y, adz_zeros(ADZ_SHAPE(2, 4), ADZ_F64)));
}

FACT(dropout_draws_once_and_the_same_for_the_same_state)
{
    adz_tensor *q = drawn(1, ADZ_SHAPE(2, 70, 4)), *k = drawn(2, ADZ_SHAPE(2, 130, 4));
    adz_tensor *v = drawn(3, ADZ_SHAPE(2, 130, 4));
    adz_generator *generator = adz_generator_new(5);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.dropout_p = 0.5;
    o.generator = generator;
    adz_tensor *plain = adz_scaled_dot_product_attention(q, k, v, &o); /* without dropout */
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    assert_true(adz_equal(plain, adz_scaled_dot_product_attention(q, k, v, NULL)));
    o.training = true;
    adz_tensor *first = adz_scaled_dot_product_attention(q, k, v, &o);
    assert_true(adz_generator_get_state(generator).offset > 0);
    assert_false(adz_equal(first, adz_scaled_dot_product_attention(q, k, v, &o)));
    adz_generator_set_state(generator, (adz_generator_state){ 5, 0 });
    assert_true(adz_equal(first, adz_scaled_dot_product_attention(q, k, v, &o)));
    assert_false(adz_allclose(first, plain, 1e-3, 1e-3, false));
    adz_generator_free(&generator);
}

/* If all values are 1, a result is the kept share of the probabilities divided by 1 - dropout_p.
 * Its mean must be 1. */
FACT(the_share_kept_is_as_asked)
{
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(500, 1), ADZ_F32);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.training = true;
    adz_manual_seed(3);
    for (int i = 0; i < 2; ++i) {
        o.dropout_p = i == 0 ? 0.3 : 1;
        adz_tensor *y = adz_scaled_dot_product_attention(
            zeros, zeros, adz_ones(ADZ_SHAPE(500, 1), ADZ_F32), &o);
        double mean = adz_item(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(i == 0 ? fabs(mean - 1) < 5 * sqrt(0.3 / 0.7 / 250000) : mean == 0);
    }
}

FACT(a_failed_call_draws_nothing)
{
    adz_generator *generator = adz_generator_new(1);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.training = true;
    o.dropout_p = 0.5;
    o.generator = generator;
    adz_tensor *q = drawn(1, ADZ_SHAPE(3, 4));
    assert_null(adz_scaled_dot_product_attention(q, q, drawn(1, ADZ_SHAPE(4, 4)), &o));
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_error_clear();
    adz_generator_free(&generator);
}

/* A NULL mask comes from a call that failed, so it is an error. ADZ_NONE is a mask that is left
 * out. */
FACT(a_failed_mask_fails_the_call)
{
    adz_tensor *q = drawn(1, ADZ_SHAPE(3, 4));
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.attn_mask = adz_add(q, drawn(1, ADZ_SHAPE(5, 5)));
    assert_null(adz_scaled_dot_product_attention(q, q, q, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_non_null(adz_scaled_dot_product_attention(q, q, q, &o));
}

/* Both lengths take more than one block and more than one unit, and none is a multiple of a block.
 */
enum { QUERIES = 300, KEYS = 341 };

static adz_tensor *of_heads(uint64_t seed, int64_t times, int64_t width)
{
    adz_tensor *rows = drawn(seed, ADZ_SHAPE(2, times, 2 * width)); /* [B, T, H * D] */
    adz_tensor *heads = adz_reshape(rows, ADZ_SHAPE(2, times, 2, width));
    return adz_requires_grad_(adz_detach(adz_permute(heads, ADZ_DIMS(0, 2, 1, 3))), true);
}

/* Compares the gradients of the fused backward with those of the expression, a composition of plain
 * operators. */
static void check_long(adz_attention_options *o, adz_tensor *mask)
{
    adz_generator *generator = adz_generator_new(11);
    adz_tensor *in[] = { of_heads(1, QUERIES, 20), of_heads(2, KEYS, 20), of_heads(3, KEYS, 9),
        mask };
    o->attn_mask = mask;
    o->generator = generator;
    adz_tensor *y = adz_scaled_dot_product_attention(in[0], in[1], in[2], o);
    adz_tensor *up = drawn(4, ADZ_SHAPE(2, 2, QUERIES, 9)), *weighted = adz_mul(y, up);
    for (int i = 0; i < 4; ++i) {
        if (i < 3 || (mask != NULL && adz_tensor_requires_grad(mask))) {
            adz_tensor *g = gradient_of(weighted, in[i]);
            assert_true(close_to(g, gradient_by_expression(weighted, in[i])));
        }
    }
    adz_generator_free(&generator);
}

FACT(many_blocks_give_what_the_composition_gives)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    check_long(&o, NULL);
    o.is_causal = true;
    check_long(&o, NULL);
    check_long(&o, adz_requires_grad_(drawn(5, ADZ_SHAPE(2, 1, QUERIES, KEYS)), true));
    o.training = true;
    o.dropout_p = 0.3;
    check_long(&o, adz_gt_number(drawn(6, ADZ_SHAPE(QUERIES, KEYS)), -0.5));
    o.dropout_mask = adz_gt_number(drawn(7, ADZ_SHAPE(2, QUERIES, KEYS)), 0);
    check_long(&o, adz_gt_number(drawn(6, ADZ_SHAPE(2, 1, 1, KEYS)), 0));
}

/* Compares the forward with a composition that the test writes out. */
FACT(many_blocks_sum_as_one)
{
    adz_tensor *q = of_heads(1, QUERIES, 8), *k = of_heads(2, KEYS, 8), *v = of_heads(3, KEYS, 8);
    adz_tensor *hidden = adz_triu(adz_ones(ADZ_SHAPE(QUERIES, KEYS), ADZ_BOOL), KEYS - QUERIES + 1);
    adz_tensor *scores = adz_div_number(adz_matmul(q, adz_transpose(k, -2, -1)), sqrt(8));
    adz_tensor *p = adz_softmax(adz_masked_fill(scores, hidden, -INFINITY), -1);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    assert_true(close_to(adz_scaled_dot_product_attention(q, k, v, &o), adz_matmul(p, v)));
}

/* If the heads of q are a view of [B, T, H * D], merging the heads of the result needs no copy. */
FACT(heads_are_joined_without_a_copy)
{
    adz_tensor *q = of_heads(1, 5, 8), *k = of_heads(2, 7, 8), *v = of_heads(3, 7, 8), *g[2];
    adz_tensor *y = adz_scaled_dot_product_attention(q, k, v, NULL);
    assert_true(adz_tensor_is_contiguous(adz_permute(y, ADZ_DIMS(0, 2, 1, 3))));
    g[0] = gradient_of(y, q);
    g[1] = gradient_of(y, k);
    assert_true(adz_tensor_is_contiguous(adz_permute(g[0], ADZ_DIMS(0, 2, 1, 3))));
    assert_true(adz_tensor_is_contiguous(adz_permute(g[1], ADZ_DIMS(0, 2, 1, 3))));
    adz_tensor *plain = adz_scaled_dot_product_attention(
        adz_contiguous(q), adz_contiguous(k), adz_contiguous(v), NULL);
    assert_true(adz_tensor_is_contiguous(plain));
    assert_true(adz_equal(y, plain));
}

/* A call with the mask that the generator draws, given as dropout_mask, gives equal bits. */
FACT(a_given_mask_stands_for_a_drawn_one)
{
    const int64_t keys[] = { 1, 7, 63, 64, 65, 128 };
    for (int i = 0; i < 6; ++i) {
        int64_t n = keys[i], words = n <= 64 ? 64 : 128; /* a row of the mask fills whole groups */
        adz_tensor *q = drawn(1, ADZ_SHAPE(2, 5, 4)), *k = drawn(2, ADZ_SHAPE(2, n, 4));
        adz_generator *generator = adz_generator_new(3);
        adz_attention_options o = ADZ_ATTENTION_OPTIONS;
        o.training = true;
        o.dropout_p = 0.25;
        o.generator = generator;
        adz_tensor *y = adz_scaled_dot_product_attention(q, k, k, &o);
        adz_generator_set_state(generator, (adz_generator_state){ 3, 0 });
        adz_shape shape = ADZ_SHAPE(2, 5, words);
        adz_tensor *mask = adz_generator_bernoulli(generator, 0.75, shape, ADZ_F64);
        adz_generator_state after = adz_generator_get_state(generator);
        o.dropout_mask = adz_narrow(mask, -1, 0, n);
        assert_true(adz_equal(y, adz_scaled_dot_product_attention(q, k, k, &o)));
        assert_int_equal(adz_generator_get_state(generator).offset, after.offset);
        adz_generator_free(&generator);
    }
}

/* Runs forward and backward with this number of threads and joins the results in one tensor. */
static adz_tensor *by_threads(int threads)
{
    int before = adz_get_num_threads();
    adz_set_num_threads(threads);
    adz_manual_seed(8);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    o.training = true;
    o.dropout_p = 0.1;
    adz_tensor *in[] = { of_heads(1, QUERIES, 16), of_heads(2, KEYS, 16), of_heads(3, KEYS, 16) };
    adz_tensor *y = adz_scaled_dot_product_attention(in[0], in[1], in[2], &o), *all[4] = { y };
    for (int i = 0; i < 3; ++i) {
        all[i + 1] = gradient_of(adz_mul(y, y), in[i]);
    }
    adz_set_num_threads(before);
    return adz_cat(all, 4, 2);
}

FACT(bits_do_not_depend_on_the_number_of_threads)
{
    adz_tensor *one = by_threads(1);
    assert_true(adz_equal(one, by_threads(2)));
    assert_true(adz_equal(one, by_threads(5)));
}

static size_t peak_at(int64_t length)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *q = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, length, 16), ADZ_F32), true);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    adz_memory_info before, after;
    o.training = true;
    o.dropout_p = 0.5;
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    adz_tensor *y = adz_scaled_dot_product_attention(q, q, q, &o);
    assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
    adz_get_memory_info(&after, sizeof after);
    adz_scope_close(scope);
    return after.peak_bytes - before.live_bytes;
}

/* For ten times the length, a matrix of probabilities would take 100 times the memory. */
FACT(memory_grows_with_the_length_alone)
{
    int threads = adz_get_num_threads();
    adz_set_num_threads(1);
    size_t some = peak_at(400), more = peak_at(4000);
    adz_set_num_threads(threads);
    assert_true(more < 10 * some);
}

/* A matrix of one row may have any strides. */
FACT(single_rows_may_lie_apart)
{
    for (int i = 0; i < 3; ++i) {
        adz_tensor *in[3], *compact[3];
        for (int k = 0; k < 3; ++k) {
            adz_tensor *wide = drawn((uint64_t)k + 1, ADZ_SHAPE(2, k == i ? 1 : 3, 8));
            wide = i == 0 || k == 0 ? wide : drawn((uint64_t)k + 1, ADZ_SHAPE(2, 1, 8));
            in[k] = adz_slice(wide, 2, 0, 8, 2);
            compact[k] = adz_clone(in[k]);
        }
        adz_tensor *y = adz_scaled_dot_product_attention(in[0], in[1], in[2], NULL);
        assert_true(close_to(
            y, adz_scaled_dot_product_attention(compact[0], compact[1], compact[2], NULL)));
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(single_rows_may_lie_apart),
    cmocka_unit_test(causal_counts_from_the_end),
    cmocka_unit_test(a_scale_of_one_is_no_scale),
    cmocka_unit_test(rows_that_see_nothing_are_zeros),
    cmocka_unit_test(no_keys_give_zeros),
    cmocka_unit_test(dropout_draws_once_and_the_same_for_the_same_state),
    cmocka_unit_test(the_share_kept_is_as_asked),
    cmocka_unit_test(a_failed_call_draws_nothing),
    cmocka_unit_test(a_failed_mask_fails_the_call),
    cmocka_unit_test(many_blocks_give_what_the_composition_gives),
    cmocka_unit_test(many_blocks_sum_as_one),
    cmocka_unit_test(heads_are_joined_without_a_copy),
    cmocka_unit_test(a_given_mask_stands_for_a_drawn_one),
    cmocka_unit_test(bits_do_not_depend_on_the_number_of_threads),
    cmocka_unit_test(memory_grows_with_the_length_alone),
    cmocka_unit_test(groups_of_heads_share_keys),
    cmocka_unit_test(single_queries_of_heads_that_share_keys_keep_their_bits),
    cmocka_unit_test(other_heads_are_no_groups),
    cmocka_unit_test(windows_hide_what_lies_before_them),
};

const op_case scaled_dot_product_attention_case = {
    .name = "scaled_dot_product_attention",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 3) } },
        { .in = { IN(2, 2, 3, 4), IN_T(2, 2, 3, 4), IN(2, 2, 3, 4) }, .p = { 1 } },
        { .in = { IN(2, 1, 4, 2), IN(3, 6, 2), IN(6, 1) }, .p = { 1, 1 } },
        { .in = { IN_T(3, 4), IN(5, 4), IN_T(5, 4), IN_MASK(3, 5) }, .p = { 0, 0.7 } },
        { .in = { IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), IN(2, 3, 5) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), IN(3, 1) }, .p = { 0 } },
        { .in = { IN(2, 2, 3, 4), IN(2, 2, 5, 4), IN(2, 2, 5, 4), IN_T(2, 1, 1, 5), IN_NONE }, .p = { 0, 0, 0.3, 1 } },
        { .in = { IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), IN_NONE, IN_MASK(2, 1, 5) }, .p = { 0, 0, 0.25 } },
        { .in = { IN(1, 70, 3), IN(1, 70, 3), IN(1, 70, 2), IN_NONE, IN_NONE }, .p = { 1, 0, 0.5, 2 } },
        { .in = { IN(0, 3, 4), IN(0, 5, 4), IN(0, 5, 4) } },
        { .in = { IN(2, 3, 4), IN(2, 0, 4), IN(2, 0, 4) } },
        { .in = { IN(2, 3, 0), IN(2, 5, 0), IN(2, 5, 2) } },
        { .in = { IN(5, 3), IN(2, 3), IN(2, 3) }, .p = { 1 } },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_T_OF(FILL_MASK, 3, 5), IN_T_OF(FILL_MASK, 3, 5) }, .p = { 0, 0, 0.25 } },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_MASK(3, 1), IN_NONE }, .p = { 0, 0, 1 } },
        /* Around the widths of vectors, tiles and blocks, at every level. */
        { .in = { IN(1, 7, 40), IN(1, 41, 40), IN(1, 41, 33) }, .large = true },
        { .in = { IN(1, 60, 70), IN(1, 50, 70), IN(1, 50, 100) }, .p = { 1 }, .large = true },
        { .in = { IN(2, 65, 15), IN(2, 129, 15), IN(2, 129, 49), IN_T(65, 129), IN_NONE }, .p = { 1, 0, 0.3, 3 }, .large = true },
        { .in = { IN(1, 258, 16), IN(1, 63, 16), IN(1, 63, 32) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(5, 3), IN(5, 4) }, .status = ADZ_ERR_SHAPE, .says = "[..., S, E]" },
        { .in = { IN(3, 4), IN(5, 4), IN(4, 4) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(2, 3, 4), IN(3, 5, 4), IN(5, 4) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN(4), IN(5, 4), IN(5, 4) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_MASK(5, 3) }, .status = ADZ_ERR_SHAPE, .says = "attn_mask" },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_MASK(2, 3, 5) }, .status = ADZ_ERR_SHAPE, .says = "[3, 5]" },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_NONE, IN_MASK(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "dropout_mask" },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4), IN_TYPED(ADZ_F32, 3, 5) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
        { .in = { IN(3, 4), IN_TYPED(ADZ_F32, 5, 4), IN(5, 4) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(5, 4), IN(5, 4) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4) }, .p = { 0, NAN }, .status = ADZ_ERR_ARGUMENT, .says = "scale" },
        { .in = { IN(3, 4), IN(5, 4), IN(5, 4) }, .p = { 0, 0, 1.5 }, .status = ADZ_ERR_ARGUMENT, .says = "dropout_p" },
    },
    .broadcasts = true,
    .f32_tolerance = 1e-4,
    .inputs = { "query", "key", "value", "attn_mask", "dropout_mask" },
    FACTS(facts),
};
