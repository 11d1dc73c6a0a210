/* Published models: results of transformers, caches, padding, and arguments. */
#include "published.h"

/* The folders that oracle.py has written; GOLDEN is their folder. */
static const char *const cases[] = { CASES };

/* ---- results -------------------------------------------------------------------------------- */

/* Results and loss, and the norm of each gradient. */
static void check_case(const char *name, adz_dtype dtype, double bound)
{
    adz_scope *scope = adz_scope_open();
    adz_module *model = open_as(golden(name, ""), dtype);
    adz_safetensors *in = adz_safetensors_load(golden(name, "inputs.safetensors"), NULL);
    adz_safetensors *expected = adz_safetensors_load(golden(name, "results.safetensors"), NULL);
    adz_safetensors *found = adz_safetensors_new();
    assert_int_equal(run_pretrained(model, in, found), ADZ_OK);
    for (size_t i = 0; i < adz_safetensors_count(expected); ++i) {
        const char *key = adz_safetensors_name_at(expected, i);
        adz_tensor *t = adz_safetensors_get(found, key);
        if (strncmp(key, "grad.", 5) == 0) {
            t = adz_norm(t, 2, ADZ_ALL_DIMS, ADZ_DROPDIM);
        }
        expect_close(key, t, adz_safetensors_at(expected, i), bound);
    }
    adz_safetensors_free(&in);
    adz_safetensors_free(&expected);
    adz_safetensors_free(&found);
    adz_module_release(&model);
    adz_scope_close(scope);
}

static void results_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_case(cases[i], ADZ_F64, 1e-10);
        check_case(cases[i], ADZ_F32, 1e-5);
    }
}

/* ---- caches and padding --------------------------------------------------------------------- */

static adz_tensor *call(adz_module *model, const adz_named_tensor *arguments, size_t count)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    for (size_t i = 0; i < count; ++i) {
        adz_values_add(in, arguments[i].name, arguments[i].tensor);
    }
    adz_module_call(model, in, out);
    adz_tensor *logits = adz_values_count(out) > 0 ? adz_values_at(out, 0) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return logits;
}

static adz_tensor *number(int64_t n)
{
    return adz_full(ADZ_SHAPE_SCALAR, (double)n, ADZ_I64);
}

static void caches_give_what_whole_calls_give(const char *name)
{
    adz_module *model = open_as(golden(name, ""), ADZ_F64);
    adz_safetensors *in = adz_safetensors_load(golden(name, "inputs.safetensors"), NULL);
    adz_tensor *ids = adz_safetensors_get(in, "input_ids");
    const int64_t batch = adz_tensor_size(ids, 0), length = adz_tensor_size(ids, 1);
    ADZ_NO_GRAD
    {
        adz_tensor *whole = call(model, (adz_named_tensor[]){ { "input_ids", ids } }, 1);
        adz_tensor *cache = adz_pretrained_cache_new(model, batch, length + 1);
        const int64_t steps[] = { 3, 1, 1, length - 5 };
        int64_t past = 0;
        for (int i = 0; i < 4; past += steps[i++]) {
            adz_tensor *part = adz_narrow(ids, 1, past, steps[i]);
            const adz_named_tensor arguments[] = { { "input_ids", part }, { "cache", cache },
                { "past", number(past) } };
            expect_close(
                "logits", call(model, arguments, 3), adz_narrow(whole, 1, past, steps[i]), 1e-12);
        }
        /* The cache is full but for one position. */
        const adz_named_tensor more[] = { { "input_ids", adz_narrow(ids, 1, 0, 2) },
            { "cache", cache }, { "past", number(past) } };
        assert_null(call(model, more, 3));
        expect_error(ADZ_ERR_ARGUMENT, "do not fit the capacity of cache");
    }
    adz_safetensors_free(&in);
    adz_module_release(&model);
}

static void caches(void **state)
{
    (void)state;
    caches_give_what_whole_calls_give("llama_tied");
    caches_give_what_whole_calls_give("qwen2_window");
    caches_give_what_whole_calls_give("gpt2");
}

static void check_padding_on_the_left(const char *name)
{
    adz_module *model = open_as(golden(name, ""), ADZ_F64);
    const int64_t ids[] = { 5, 6, 7, 8 }, padded[] = { 0, 0, 5, 6, 7, 8 },
                  mask[] = { 0, 0, 1, 1, 1, 1 }, positions[] = { 0, 0, 0, 1, 2, 3 };
    ADZ_NO_GRAD
    {
        const adz_named_tensor plain[] = { { "input_ids",
            (adz_tensor_from)(ids, ADZ_SHAPE(1, 4), ADZ_I64) } };
        const adz_named_tensor left[] = { { "input_ids",
                                              (adz_tensor_from)(padded, ADZ_SHAPE(1, 6), ADZ_I64) },
            { "attention_mask", (adz_tensor_from)(mask, ADZ_SHAPE(1, 6), ADZ_I64) },
            { "position_ids", (adz_tensor_from)(positions, ADZ_SHAPE(1, 6), ADZ_I64) } };
        adz_tensor *expected = call(model, plain, 1);
        expect_close(name, adz_narrow(call(model, left, 3), 1, 2, 4), expected, 1e-12);
    }
    adz_module_release(&model);
}

/* Tokens before the text, which the mask hides, change nothing if the positions are those of the
 * text. */
static void padding_on_the_left_changes_nothing(void **state)
{
    (void)state;
    check_padding_on_the_left("llama_tied");
    check_padding_on_the_left("gpt2");
}

/* Texts of different lengths go on together as transformers lets them go on. They are padded on the
 * left or on the right, and the model has a cache or none. */
static void padded_batches_of_gpt2_go_on(void **state)
{
    (void)state;
    adz_module *model = open_as(golden("gpt2", ""), ADZ_F64);
    adz_safetensors *file = adz_safetensors_load(golden("gpt2", "generated.safetensors"), NULL);
    adz_tensor *wanted = adz_safetensors_get(file, "tokens");
    const int64_t rows = adz_tensor_size(wanted, 0), n = adz_tensor_size(wanted, 1);
    static const char *const sides[][2] = { { "left.input_ids", "left.attention_mask" },
        { "right.input_ids", "right.attention_mask" } };
    for (int i = 0; i < 4; ++i) {
        adz_tensor *ids = adz_safetensors_get(file, sides[i / 2][0]);
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        o.max_new_tokens = n;
        o.attention_mask = adz_safetensors_get(file, sides[i / 2][1]);
        o.cache =
            i % 2 == 0 ? NULL : adz_pretrained_cache_new(model, rows, adz_tensor_size(ids, 1) + n);
        adz_tensor *found = adz_generate(model, ids, &o);
        assert_non_null(found);
        assert_true(adz_equal(found, wanted));
    }
    adz_safetensors_free(&file);
    adz_module_release(&model);
}

/* A window of attention counts columns, which padding on the right must not fill. */
static void padding_does_not_fill_windows(void **state)
{
    (void)state;
    const int64_t ids[] = { 5, 6, 7, 0, 0, 0, 8, 9, 10, 11, 12, 13 };
    const bool mask[] = { 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1 };
    adz_module *model = open_as(golden("qwen2_window", ""), ADZ_F64);
    for (int cached = 0; cached < 2; ++cached) {
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        o.cache = cached ? adz_pretrained_cache_new(model, 1, 23) : NULL;
        adz_tensor *one = (adz_tensor_from)(ids, ADZ_SHAPE(1, 3), ADZ_I64);
        adz_tensor *alone = adz_generate(model, one, &o);
        o.cache = cached ? adz_pretrained_cache_new(model, 2, 26) : NULL;
        o.attention_mask = (adz_tensor_from)(mask, ADZ_SHAPE(2, 6), ADZ_BOOL);
        adz_tensor *both = (adz_tensor_from)(ids, ADZ_SHAPE(2, 6), ADZ_I64);
        adz_tensor *padded = adz_generate(model, both, &o);
        assert_non_null(padded);
        assert_true(adz_equal(alone, adz_narrow(padded, 0, 0, 1)));
    }
    adz_module_release(&model);
}

/* An opened GPT-2 has no masks of positions. A state of one that had them says what to do, and is
 * loaded without them. */
static void states_with_masks_are_loaded(void **state)
{
    (void)state;
    adz_module *model = open_as(golden("gpt2", ""), ADZ_F32);
    adz_state_dict *saved = adz_module_state_dict(model);
    adz_tensor *mask = adz_tril(adz_ones(ADZ_SHAPE(1, 1, 64, 64), ADZ_F32), 0);
    adz_state_dict_add(saved, "transformer.h.0.attn.bias", mask);
    adz_state_dict_add(saved, "transformer.h.1.attn.bias", mask);
    assert_int_equal(adz_module_load_state_dict(model, saved, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "nothing was loaded. 2 unexpected ones have a place in the module, which works without them: load without `strict`");
    assert_int_equal(adz_module_load_state_dict(model, saved, false), ADZ_OK);
    assert_true(adz_module_get_buffer(
                    adz_module_get_child(model, "transformer.h.0.attn"), "bias") == ADZ_NONE);
    adz_state_dict_add(saved, "transformer.h.1.attn.other", mask);
    assert_int_equal(adz_module_load_state_dict(model, saved, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "3 unexpected, 0 of another shape");
    adz_state_dict_free(&saved);
    adz_module_release(&model);
}

/* Padding takes none of the positions of GPT-2. */
static void padding_takes_no_positions_of_gpt2(void **state)
{
    (void)state;
    enum { PADDING = 60, TEXT = 3, NEW = 6 }; /* n_positions is 64 */
    int64_t ids[PADDING + TEXT] = { 0 }, mask[PADDING + TEXT] = { 0 };
    for (int i = PADDING; i < PADDING + TEXT; ++i) {
        ids[i] = i % 11 + 5;
        mask[i] = 1;
    }
    adz_module *model = open_as(golden("gpt2", ""), ADZ_F64);
    adz_generate_options o = ADZ_GENERATE_OPTIONS;
    o.max_new_tokens = NEW;
    adz_tensor *alone =
        adz_generate(model, (adz_tensor_from)(ids + PADDING, ADZ_SHAPE(1, TEXT), ADZ_I64), &o);
    o.attention_mask = (adz_tensor_from)(mask, ADZ_SHAPE(1, PADDING + TEXT), ADZ_I64);
    adz_tensor *padded = (adz_tensor_from)(ids, ADZ_SHAPE(1, PADDING + TEXT), ADZ_I64);
    assert_true(adz_equal(adz_generate(model, padded, &o), alone));
    o.cache = adz_pretrained_cache_new(model, 1, PADDING + TEXT + NEW);
    assert_true(adz_equal(adz_generate(model, padded, &o), alone));
    adz_module_release(&model);
}

/* A batch goes on when one of its rows ends. */
static void batches_of_gpt2_go_on(void **state)
{
    (void)state;
    const int64_t ids[] = { 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13 };
    adz_module *model = open_as(golden("gpt2", ""), ADZ_F64);
    adz_tensor *both = (adz_tensor_from)(ids, ADZ_SHAPE(2, 6), ADZ_I64);
    for (int cached = 0; cached < 2; ++cached) {
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        o.cache = cached ? adz_pretrained_cache_new(model, 2, 26) : NULL;
        adz_tensor *whole = adz_generate(model, both, &o);
        const int64_t *tokens = adz_tensor_data_constant(whole), end = tokens[1];
        assert_true(tokens[0] != end && tokens[20] != end && tokens[21] != end);
        o.eos_token_ids = &end;
        o.n_eos_token_ids = 1;
        adz_tensor *some = adz_generate(model, both, &o);
        assert_non_null(some);
        const int64_t n = adz_tensor_size(some, 1);
        assert_true(n > 2);
        assert_true(
            adz_equal(adz_narrow(some, 0, 1, 1), adz_narrow(adz_narrow(whole, 0, 1, 1), 1, 0, n)));
    }
    adz_module_release(&model);
}

/* The last positions have the logits that they have beside all others. */
static void logits_of_the_last_positions(void **state)
{
    static const char *const names[] = { "llama_tied", "gpt2" };
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_module *model = open_as(golden(names[i], ""), ADZ_F64);
        ADZ_SCOPE
        {
            adz_tensor *ids = adz_arange(1, 7, 1, ADZ_I64), *keep[] = { number(0), number(2) };
            adz_named_tensor arguments[] = { { "input_ids", adz_reshape(ids, ADZ_SHAPE(2, 3)) },
                { "logits_to_keep", keep[0] } };
            adz_tensor *all = call(model, arguments, 2);
            arguments[1].tensor = keep[1];
            adz_tensor *last = call(model, arguments, 2);
            assert_int_equal(adz_tensor_size(all, 1), 3);
            assert_int_equal(adz_tensor_size(last, 1), 2);
            expect_close(names[i], last, adz_narrow(all, 1, 1, 2), 1e-12);
            arguments[1].tensor = number(4);
            assert_null(call(model, arguments, 2));
            expect_error(ADZ_ERR_ARGUMENT, "logits_to_keep is 4, but there are 3 positions");
            arguments[1].tensor = adz_zeros(ADZ_SHAPE(2), ADZ_I64);
            assert_null(call(model, arguments, 2));
            expect_error(ADZ_ERR_SHAPE, "logits_to_keep[2] must be one int64");
        }
        adz_module_release(&model);
    }
}

static void other_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *model = open_as(golden("llama_tied", ""), ADZ_F32);
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(1, 3), ADZ_I64);
    assert_null(
        call(model, (adz_named_tensor[]){ { "input_ids", adz_zeros(ADZ_SHAPE(3), ADZ_I64) } }, 1));
    expect_error(ADZ_ERR_SHAPE, "input_ids[3] is int64, but must be int64 [B, T]");
    assert_null(call(model,
        (adz_named_tensor[]){
            { "input_ids", ids }, { "attention_mask", ids }, { "past", number(0) } },
        3));
    expect_error(ADZ_ERR_ARGUMENT, "past is given without a cache");
    adz_tensor *mask = adz_ones(ADZ_SHAPE(1, 4), ADZ_I64);
    assert_null(
        call(model, (adz_named_tensor[]){ { "input_ids", ids }, { "attention_mask", mask } }, 2));
    expect_error(ADZ_ERR_SHAPE, "attention_mask[1, 4] must be [1, 3]");
    adz_tensor *cache = adz_pretrained_cache_new(model, 1, 8);
    assert_null(call(model,
        (adz_named_tensor[]){ { "input_ids", ids }, { "cache", cache }, { "past", number(0) } },
        3));
    expect_error(ADZ_ERR_GRAPH, "call the model in an ADZ_NO_GRAD block");
    ADZ_NO_GRAD
    {
        cache = adz_pretrained_cache_new(model, 2, 8);
        assert_null(call(model,
            (adz_named_tensor[]){ { "input_ids", ids }, { "cache", cache }, { "past", number(0) } },
            3));
        expect_error(ADZ_ERR_SHAPE, "must be [2, 2, 1, 1, capacity, 4]");
    }
    adz_generate_options o = ADZ_GENERATE_OPTIONS;
    o.cache = adz_pretrained_cache_new(model, 1, 22);
    assert_null(adz_generate(model, ids, &o));
    expect_error(ADZ_ERR_SHAPE,
        "the cache has 22 positions, but 3 of the prompt and max_new_tokens 20 need 23");
    adz_module *gpt2 = open_as(golden("gpt2", ""), ADZ_F32);
    assert_null(
        call(gpt2, (adz_named_tensor[]){ { "input_ids", ids }, { "attention_mask", mask } }, 2));
    expect_error(ADZ_ERR_SHAPE, "attention_mask[1, 4] does not fit input_ids[1, 3]");
    adz_module_release(&gpt2);
    adz_module *linear = adz_linear_new(2, 2, NULL);
    assert_null(adz_pretrained_cache_new(linear, 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear, which has no cache");
    assert_int_equal(adz_pretrained_save(linear, temporary_path("linear")), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear that adz_pretrained_open has not read");
    adz_module_release(&linear);
    adz_module_release(&model);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_transformers),
        cmocka_unit_test(caches),
        cmocka_unit_test(padding_on_the_left_changes_nothing),
        cmocka_unit_test(logits_of_the_last_positions),
        cmocka_unit_test(other_arguments_are_refused),
        cmocka_unit_test(padding_does_not_fill_windows),
        cmocka_unit_test(batches_of_gpt2_go_on),
        cmocka_unit_test(padded_batches_of_gpt2_go_on),
        cmocka_unit_test(padding_takes_no_positions_of_gpt2),
        cmocka_unit_test(states_with_masks_are_loaded),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
