/* GPT-2's attention under any mask, and the past that it refuses. */
#include "zoo/gpt2.h"

/* Attention with two heads, composed of operators. */
static adz_tensor *attention_by_operators(adz_module *m, adz_tensor *x, bool scale)
{
    const int64_t b = adz_tensor_size(x, 0), t = adz_tensor_size(x, 1), d = adz_tensor_size(x, 2);
    adz_tensor *all = adz_module_forward(adz_module_get_child(m, "c_attn"), x), *parts[3];
    for (int i = 0; i < 3; ++i) {
        adz_tensor *heads = adz_reshape(adz_narrow(all, 2, i * d, d), ADZ_SHAPE(b, t, 2, d / 2));
        parts[i] = adz_permute(heads, ADZ_DIMS(0, 2, 1, 3));
    }
    adz_tensor *scores = adz_matmul(parts[0], adz_transpose(parts[1], 2, 3));
    scores = scale ? adz_div_number(scores, sqrt((double)d / 2)) : scores;
    adz_tensor *mask = adz_module_get_buffer(m, "bias");
    mask = adz_narrow(adz_narrow(mask, 2, 0, t), 3, 0, t);
    scores = adz_masked_fill(scores, adz_eq_number(mask, 0), -1e10);
    adz_tensor *y = adz_matmul(adz_softmax(scores, -1), parts[2]);
    y = adz_reshape(adz_permute(y, ADZ_DIMS(0, 2, 1, 3)), ADZ_SHAPE(b, t, d));
    return adz_module_forward(adz_module_get_child(m, "c_proj"), y);
}

/* Tells whether the graph of y, which holds all operators that y was computed with, contains an
 * operator. */
static bool uses(adz_tensor *y, const char *operator_name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_graph_dot(y, stream), ADZ_OK);
    fclose(stream);
    bool found = strstr(text, operator_name) != NULL;
    free(text);
    return found;
}

/* The test changes each element of the mask in turn; i = -1 changes nothing. Elements in rows or
 * columns beyond the text do not count: the mask of the text stays causal, and one operator
 * computes the attention. After a change of any other element several operators compute it. The
 * result always agrees with attention_by_operators, without a past and with one. */
void every_element_of_the_mask_counts(void **state)
{
    (void)state;
    adz_module *both[] = { attention(NULL), unscaled(NULL) };
    for (int which = 0; which < 2; ++which) {
        const adz_dtype dtype = which == 0 ? ADZ_F64 : ADZ_F32;
        const double tolerance = which == 0 ? 1e-13 : 1e-5;
        adz_module *m = both[which];
        adz_module_to(m, dtype);
        /* The first weights are so small that all scores are nearly 0. */
        adz_init_normal_(adz_module_get_parameter(m, "c_attn.weight"), 0, 1, NULL);
        adz_tensor *mask = adz_module_get_buffer(m, "bias");
        const int64_t n = adz_tensor_size(mask, 3), t = n - 1;
        assert_int_equal(adz_tensor_numel(mask), n * n);
        assert_true(adz_tensor_rank(mask) == 4 && adz_tensor_size(mask, 2) == n);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, t, which == 0 ? 4 : 6), dtype);
        for (int64_t i = -1; i < n * n; ++i) {
            adz_tensor *element = adz_narrow(adz_reshape(mask, ADZ_SHAPE(-1)), 0, i < 0 ? 0 : i, 1);
            fill(element, i < 0 ? 1 : 1 - adz_item(element));
            adz_tensor *expected = attention_by_operators(m, x, which == 0);
            adz_tensor *y = adz_module_forward(m, x);
            expect_same(y, expected, tolerance);
            bool causal = i < 0 || i / n >= t || i % n >= t;
            assert_int_equal(uses(y, "scaled_dot_product_attention"), causal);
            adz_tensor *given[] = { adz_narrow(x, 1, 1, t - 1),
                one_result(m, NULL, (adz_tensor *[]){ adz_narrow(x, 1, 0, 1) }, 1, "present") };
            y = one_result(m, NULL, given, 2, NULL);
            expect_same(y, adz_narrow(expected, 1, 1, t - 1), tolerance);
            causal = causal || i / n < 1; /* Row 0 is the past's. */
            assert_int_equal(uses(y, "scaled_dot_product_attention"), causal);
            fill(element, i < 0 ? 1 : 1 - adz_item(element));
        }
        adz_module_release(&m);
    }
}

/* A mask may have another shape than [1, 1, n, n]: in [2, 1, n, n] each text of a batch has its own
 * mask. Attention must not take such a mask for a causal one. */
void masks_have_shapes(void **state)
{
    (void)state;
    adz_module *m = attention(NULL);
    adz_tensor *causal = adz_clone(adz_module_get_buffer(m, "bias")),
               *x = adz_randn(ADZ_SHAPE(2, 4, 4), ADZ_F32);
    adz_tensor *each[] = { causal, adz_ones_like(causal) };
    assert_non_null(adz_module_set_buffer(m, "bias", adz_cat(each, 2, 0)));
    expect_same(adz_module_forward(m, x), attention_by_operators(m, x, true), 1e-5);
    assert_non_null(adz_module_set_buffer(m, "bias", adz_reshape(each[0], ADZ_SHAPE(1, 1, 1, 25))));
    assert_null(adz_module_forward(m, x));
    adz_error_clear();
    adz_module_release(&m);
}

/* One operator computes attention with a causal mask, and several operators with any other mask.
 * Both ways agree in the rows in which the masks agree. */
void another_mask_counts(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = attention(NULL);
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    adz_manual_seed(3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 4), ADZ_F64);
    adz_tensor *before = adz_module_forward(m, x), *mask = adz_module_get_buffer(m, "bias");
    double *values = adz_tensor_data_f64(mask);
    values[4] = 0; /* the last column of row 0, which the causal mask hides already */
    assert_true(adz_equal(adz_module_forward(m, x), before));
    values[3 * 5 + 1] = 0; /* The last query no longer sees key 1. */
    adz_tensor *after = adz_module_forward(m, x);
    expect_same(adz_narrow(after, 1, 0, 3), adz_narrow(before, 1, 0, 3), 1e-14);
    assert_false(
        adz_allclose(adz_narrow(after, 1, 3, 1), adz_narrow(before, 1, 3, 1), 1e-6, 1e-6, false));
    adz_module_release(&m);
    adz_scope_close(scope);
}

/* Dropout scales what it leaves, so the mean of many draws is the result of evaluation, within 4 %
 * of the largest element. The draws come from the generator of the options: equal states of it give
 * equal results. */
void dropout_of_attention_keeps_the_mean(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    adz_gpt2_options o = tiny();
    adz_manual_seed(4);
    o.generator = adz_generator_new(3);
    const adz_generator_state first = adz_generator_get_state(o.generator);
    for (int i = 0; i < 4; ++i) {
        o.attn_pdrop = i < 2 ? 0.25 : 0;
        o.resid_pdrop = i < 2 ? 0 : 0.25;
        adz_module *m = adz_gpt2_attention_new(4, 5, true, &o);
        adz_init_normal_(adz_module_get_parameter(m, "c_attn.weight"), 0, 1, NULL);
        adz_init_normal_(adz_module_get_parameter(m, "c_proj.weight"), 0, 1, NULL);
        if (i % 2 != 0) { /* Other operators compute attention under another mask. */
            fill(adz_module_get_buffer(m, "bias"), 1);
        }
        adz_tensor *x = adz_randn(ADZ_SHAPE(1, 3, 4), ADZ_F32), *y[2];
        adz_tensor *rows = adz_contiguous(adz_expand(x, ADZ_SHAPE(DRAWS, 3, 4)));
        for (int again = 0; again < 2; ++again) {
            adz_generator_set_state(o.generator, first);
            y[again] = adz_module_forward(m, rows);
        }
        assert_true(adz_equal(y[0], y[1]));
        adz_module_eval(m);
        adz_tensor *expected = adz_module_forward(m, x);
        const double most = adz_item(adz_amax(adz_abs(expected), ADZ_ALL_DIMS, ADZ_DROPDIM));
        expect_same(adz_mean(y[0], ADZ_DIMS(0), ADZ_KEEPDIM), expected, 0.04 * most);
        adz_module_release(&m);
    }
    adz_generator_free(&o.generator);
}

/* Each dimension of a past is checked. The layer has 2 heads of 3 features each. */
void a_wrong_past_is_refused(void **state)
{
    (void)state;
    adz_module *m = unscaled(NULL);
    adz_tensor *given[] = { adz_ones(ADZ_SHAPE(1, 2, 6), ADZ_F32), ADZ_NONE };
    static const int64_t right[] = { 2, 1, 2, 1, 3 };
    for (int i = -1; i < 5; ++i) {
        int64_t sizes[5];
        memcpy(sizes, right, sizeof sizes);
        if (i >= 0) {
            sizes[i] += 1;
        }
        given[1] = adz_ones(adz_shape_of(5, sizes), ADZ_F32);
        adz_tensor *y = one_result(m, NULL, given, 2, NULL);
        assert_int_equal(y != NULL, i < 0);
        if (i == 3) {
            expect_error(
                ADZ_ERR_SHAPE, "x[1, 2, 6] after a past of 2 makes 4 positions, but n_ctx is 3");
        } else if (i >= 0) {
            expect_error(ADZ_ERR_SHAPE, "must be [2, 1, 2, P, 3] for x[1, 2, 6]");
        }
    }
    given[1] = adz_ones(ADZ_SHAPE(2, 1, 2, 1), ADZ_F32);
    assert_null(one_result(m, NULL, given, 2, NULL));
    expect_error(ADZ_ERR_SHAPE, "past[2, 1, 2, 1] must be [2, 1, 2, P, 3]");
    adz_module_release(&m);
    m = block(NULL);
    given[0] = ADZ_NONE;
    assert_null(one_result(m, NULL, given, 1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "Block: x is not optional");
    adz_module_release(&m);
}
