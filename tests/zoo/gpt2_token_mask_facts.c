/* GPT-2's masks of tokens, and parts that are made without weights. */
#include "zoo/gpt2.h"

/* Calls a module with ids, a mask of tokens, and positions unless they are NULL. */
static adz_tensor *call_padded(
    adz_module *m, adz_tensor *ids, adz_tensor *mask, adz_tensor *positions)
{
    static const char *const names[] = { "", "attention_mask", "position_ids" };
    adz_tensor *const given[] = { ids, mask, positions };
    return one_result(m, names, given, positions != NULL ? 3 : 2, NULL);
}

static adz_tensor *row_of(const int64_t *values, int64_t n)
{
    return (adz_tensor_from)(values, ADZ_SHAPE(1, n), ADZ_I64);
}

/* Padding on either side changes nothing, under the causal mask, under another mask, which several
 * operators apply, and without a mask of positions. */
static void check_padding(adz_module *m, adz_module *changed)
{
    static const int64_t text[] = { 3, 1, 5 }, left[] = { 0, 0, 3, 1, 5 },
                         right[] = { 3, 1, 5, 0, 0 };
    static const int64_t on_left[] = { 0, 0, 1, 1, 1 }, on_right[] = { 7, 1, -1, 0, 0 };
    static const int64_t positions[] = { 4, 4, 0, 1, 2 };
    for (int i = 0; i < 2; ++i) {
        if (i == 1 &&
            changed != NULL) { /* row 4 is the last query's, which is padding or the end */
            adz_tensor *bias = adz_module_get_buffer(changed, "bias");
            adz_tensor *element = adz_narrow(adz_narrow(bias, 2, 0, 1), 3, 4, 1);
            fill(element, 1);
        }
        adz_tensor *alone = adz_module_forward(m, row_of(text, 3));
        adz_tensor *y = call_padded(m, row_of(right, 5), row_of(on_right, 5), NULL);
        expect_same(adz_narrow(y, 1, 0, 3), alone, 1e-12);
        adz_tensor *mask = adz_ne_number(row_of(on_left, 5), 0);
        y = call_padded(m, row_of(left, 5), mask, row_of(positions, 5));
        expect_same(adz_narrow(y, 1, 2, 3), alone, 1e-12);
        y = call_padded(m, row_of(left, 5), adz_ones_like(mask), row_of(positions, 5));
        assert_false(adz_allclose(adz_narrow(y, 1, 2, 3), alone, 1e-6, 1e-6, false));
    }
}

/* Weights of all parts are normal numbers, so that each key matters. */
static void draw(adz_module *m)
{
    adz_tensor_list parameters = adz_module_parameters(m);
    for (size_t i = 0; i < parameters.count; ++i) {
        adz_init_normal_(parameters.items[i], 0, 0.5, NULL);
    }
}

void masks_hide_tokens(void **state)
{
    (void)state;
    adz_manual_seed(6);
    adz_module *both[] = { model(NULL), lm(NULL) };
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(adz_module_to(both[i], ADZ_F64), ADZ_OK);
        draw(both[i]);
        check_padding(
            both[i], adz_module_get_child(both[i], i == 0 ? "h.0.attn" : "transformer.h.1.attn"));
        adz_module_release(&both[i]);
    }
}

/* With a past the mask has an element for each position of it. */
void masks_cover_the_past(void **state)
{
    (void)state;
    static const int64_t ids[] = { 0, 3, 1, 5 }, counts[] = { 0, 1, 1, 1 };
    adz_module *m = model(NULL);
    draw(m);
    adz_tensor *whole = call_padded(m, row_of(ids, 4), row_of(counts, 4), NULL);
    const char *const names[] = { "input_ids", "attention_mask", "past.0" };
    adz_tensor *given[] = { row_of(ids, 2), row_of(counts, 2), ADZ_NONE };
    given[2] = one_result(m, names, given, 2, "present.0");
    given[0] = row_of(ids + 2, 2);
    given[1] = row_of(counts, 4);
    expect_same(one_result(m, names, given, 3, NULL), adz_narrow(whole, 1, 2, 2), 1e-5);
    given[1] = row_of(counts, 2);
    assert_null(one_result(m, names, given, 3, NULL));
    expect_error(ADZ_ERR_SHAPE,
        "attention_mask[1, 2] does not fit input_ids[1, 2] after a past of 2: it has one element for each of 4 positions");
    given[1] = row_of(counts, 4);
    given[1] = adz_reshape(given[1], ADZ_SHAPE(4));
    assert_null(one_result(m, names, given, 3, NULL));
    expect_error(ADZ_ERR_SHAPE, "attention_mask[4] does not fit input_ids[1, 2]");
    given[1] = NULL;
    assert_null(one_result(m, names, given, 3, NULL));
    expect_error(ADZ_ERR_NULL, "");
    adz_module_release(&m);
    m = block(NULL);
    adz_tensor *x[] = { adz_ones(ADZ_SHAPE(1, 2, 4), ADZ_F32), ADZ_NONE, row_of(counts, 2) };
    assert_null(one_result(m, NULL, x, 3, NULL));
    expect_error(ADZ_ERR_DTYPE, "attention_mask is int64, but must be bool");
    /* A mask of more texts is refused under the causal mask, and under another one. */
    x[2] = adz_ones(ADZ_SHAPE(3, 1, 1, 2), ADZ_BOOL);
    assert_null(one_result(m, NULL, x, 3, NULL));
    expect_error(ADZ_ERR_SHAPE, "attn_mask[3, 1, 1, 2] does not broadcast");
    adz_tensor *bias = adz_module_get_buffer(m, "attn.bias");
    fill(adz_narrow(adz_narrow(bias, 2, 0, 1), 3, 1, 1), 1);
    assert_null(one_result(m, NULL, x, 3, NULL));
    expect_error(ADZ_ERR_SHAPE, "expand: x[3, 1, 1, 2]");
    adz_module_release(&m);
}

/* A model with skip_init draws nothing, has neither weights nor masks, and computes with weights
 * that it gets what the model computes that they come from. */
void skip_init_leaves_weights_out(void **state)
{
    (void)state;
    static const char *const conv1d[] = { "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj" };
    adz_module *whole = model(NULL);
    draw(whole);
    adz_gpt2_options o = tiny();
    o.n_layer = 1;
    o.skip_init = true;
    const adz_generator_state before = adz_generator_get_state(adz_default_generator());
    adz_module *m = adz_gpt2_model_new(&o);
    const adz_generator_state after = adz_generator_get_state(adz_default_generator());
    assert_memory_equal(&before, &after, sizeof before);
    adz_tensor *ids = (adz_arange)(0, 5, 1, ADZ_I64);
    assert_null(adz_module_forward(m, ids));
    adz_error_clear();
    assert_true(adz_module_get_buffer(m, "h.0.attn.bias") == ADZ_NONE);
    static const char *const tables[] = { "wte", "wpe" };
    for (int i = 0; i < 2; ++i) {
        adz_module *from = adz_module_get_child(whole, tables[i]),
                   *to = adz_module_get_child(m, tables[i]);
        assert_int_equal(adz_tensor_numel(adz_module_parameter_at(to, 0)), 0);
        assert_non_null(adz_module_set_parameter(to, "weight", adz_module_parameter_at(from, 0)));
    }
    for (int i = 0; i < 4; ++i) {
        adz_module *from = adz_module_get_child(adz_module_get_child(whole, "h.0"), conv1d[i]);
        adz_module *to = adz_module_get_child(adz_module_get_child(m, "h.0"), conv1d[i]);
        assert_int_equal(adz_tensor_numel(adz_module_parameter_at(to, 0)), 0);
        assert_non_null(adz_module_set_parameter(to, "weight", adz_module_parameter_at(from, 0)));
        assert_non_null(adz_module_set_parameter(to, "bias", adz_module_parameter_at(from, 1)));
    }
    static const char *const norms[] = { "h.0.ln_1", "h.0.ln_2", "ln_f" };
    for (int i = 0; i < 3; ++i) {
        adz_module *from = adz_module_get_child(whole, norms[i]),
                   *to = adz_module_get_child(m, norms[i]);
        assert_non_null(adz_module_set_parameter(to, "weight", adz_module_parameter_at(from, 0)));
        assert_non_null(adz_module_set_parameter(to, "bias", adz_module_parameter_at(from, 1)));
    }
    assert_true(adz_equal(adz_module_forward(m, ids), adz_module_forward(whole, ids)));
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    check_padding(m, NULL);
    adz_module_release(&m);
    adz_module_release(&whole);
}
