/* Folders of published models: other configurations, shards, dtypes and saving. */
#include "changed_folder.h"

/* A text of the config.json of a Llama, what stands there instead, and the error that it gives. */
static const struct {
    const char *text, *other;
    adz_status status;
    const char *says;
} changes[] = {
    { "\"hidden_size\": 16", "\"hidden_size\": 20", ADZ_ERR_FORMAT,
        "tensor model.embed_tokens.weight is [37, 16], but the configuration makes it [37, 20]" },
    { "\"hidden_size\": 16", "\"hidden_size\": \"16\"", ADZ_ERR_FORMAT,
        "model/config.json: hidden_size is a text" },
    { "\"hidden_size\": 16", "\"hidden_size\": -16", ADZ_ERR_ARGUMENT,
        "config.json: adz_pretrained_open: hidden_size is -16" },
    { "\"hidden_size\": 16", "\"hidden_size\": null", ADZ_ERR_ARGUMENT, "hidden_size is 0" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 10000", ADZ_ERR_ARGUMENT,
        "num_hidden_layers is 10000, but must be" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 9999", ADZ_ERR_FORMAT,
        "there is no tensor model.layers.2.self_attn.q_proj.weight, which the configuration asks for" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", ADZ_ERR_UNSUPPORTED,
        "tensor model.layers.1." },
    { "\"vocab_size\": 37", "\"vocab_size\": 2000000000", ADZ_ERR_FORMAT,
        "but the configuration makes it [2000000000, 16]" },
    { "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3", ADZ_ERR_FORMAT,
        "heads must divide" },
    { "\"vocab_size\": 37", "\"vocab_size\": 37, \"logit_softcap\": 3", ADZ_ERR_UNSUPPORTED,
        "config.json: logit_softcap is an entry that adze does not know" },
    { "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"", ADZ_ERR_UNSUPPORTED,
        "hidden_act is \"mish\"" },
    { "\"rope_type\": \"llama3\"", "\"rope_type\": \"dynamic\"", ADZ_ERR_UNSUPPORTED,
        "has the type \"dynamic\", but adze knows default, linear, llama3 and yarn only" },
    { "\"rope_type\": \"llama3\"", "\"rope_type\": \"yarn\"", ADZ_ERR_UNSUPPORTED,
        "rope_parameters.high_freq_factor is an entry that adze does not know" },
    { "{", "{ \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2},", ADZ_ERR_UNSUPPORTED,
        "rope_scaling is another one than that of rope_parameters" },
    { "{", "{ \"rope_interleaved\": true,", ADZ_ERR_UNSUPPORTED, "rope_interleaved is true" },
    { "{", "{ \"use_mrope\": true,", ADZ_ERR_UNSUPPORTED, "use_mrope is true" },
    { "\"factor\": 8.0", "\"factor\": 0", ADZ_ERR_FORMAT,
        "rope_parameters.factor must be above 0" },
    { "\"LlamaForCausalLM\"", "\"LlamaForTokenClassification\"", ADZ_ERR_UNSUPPORTED,
        "architectures[0] is \"LlamaForTokenClassification\" of the model_type \"llama\", which adze does not have" },
    { "\"model_type\": \"llama\"", "\"model_type\": \"mamba\"", ADZ_ERR_UNSUPPORTED,
        "of the model_type \"mamba\"" },
    { "\"model_type\": \"llama\"", "\"model_type\": 3", ADZ_ERR_FORMAT,
        "model_type is 3, but must be a text" },
    { "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", ADZ_ERR_FORMAT,
        "there is no tensor lm_head.weight" },
    { "\"mlp_bias\": true", "\"mlp_bias\": false", ADZ_ERR_UNSUPPORTED,
        "bias belongs to no part of the model" },
    { "{", "[", ADZ_ERR_FORMAT, "config.json: it is not JSON" },
};

static void other_configurations_are_refused(void **state)
{
    (void)state;
    /* The first model that a thread opens makes what the library keeps until the thread ends. */
    make_folder("llama_tied", "{", "{");
    adz_module *model = open_as(folder, ADZ_F32);
    adz_module_release(&model);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        make_folder("llama_tied", changes[i].text, changes[i].other);
        expect_refused(changes[i].status, changes[i].says);
    }
    end_folder();
    assert_null(adz_pretrained_open(folder, NULL));
    expect_error(ADZ_ERR_IO, "model/config.json cannot be opened: there is no such file");
}

static void configurations_of_other_families_are_refused(void **state)
{
    (void)state;
    make_folder("gpt2", "\"n_layer\": 2", "\"n_layer\": 9999");
    expect_refused(ADZ_ERR_FORMAT, "there is no tensor transformer.h.2.ln_1.weight");
    make_folder("gpt2", "\"n_positions\": 64", "\"n_positions\": 1000000");
    expect_refused(ADZ_ERR_FORMAT, "but the configuration makes it [1000000, 12]");
    make_folder("gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false");
    expect_refused(ADZ_ERR_UNSUPPORTED, "scale_attn_weights is false");
    make_folder("gpt2", "\"gelu_new\"", "\"gelu\"");
    expect_refused(ADZ_ERR_UNSUPPORTED, "activation_function must be \"gelu_new\"");
    make_folder("qwen2_window", "\"sliding_window\": 3", "\"sliding_window\": null");
    expect_refused(ADZ_ERR_FORMAT, "has layers with a window, but no sliding_window");
    make_folder("qwen2_window", "\"sliding_attention\"", "\"linear_attention\"");
    expect_refused(ADZ_ERR_UNSUPPORTED, "layer_types[1] is \"linear_attention\"");
    end_folder();
}

/* Opens the golden model with yarn after a change, and returns its frequencies, [8] in f64. */
static adz_tensor *frequencies_with(const char *text, const char *other)
{
    make_folder("llama_yarn", text, other);
    adz_module *model = open_as(folder, ADZ_F64);
    adz_tensor *t = adz_clone(adz_module_get_buffer(model, "model.inv_freq"));
    assert_non_null(t);
    adz_module_release(&model);
    return t;
}

/* Two entries of its config.json, one after the other. */
static const char fast_and_factor[] = "\"beta_fast\": 2.0,\n  \"factor\": 4.0";

static void entries_of_yarn(void **state)
{
    static const char fast[] = "\"beta_fast\": 2.0",
                      old[] = "\"original_max_position_embeddings\": 48";
    static const char factor[] = "\"factor\": 4.0", theta[] = "\"rope_theta\": 30.0";
    (void)state;
    ADZ_SCOPE
    {
        adz_tensor *own = frequencies_with(fast, fast);
        adz_tensor *defaults = frequencies_with(fast, "\"beta_fast\": 32");
        assert_false(adz_equal(own, defaults));
        assert_true(adz_equal(frequencies_with(fast, "\"beta_slow\": 1"), defaults));
        assert_true(adz_equal(frequencies_with(fast, "\"beta_fast\": 0"), defaults));
        assert_true(adz_equal(frequencies_with(fast, "\"beta_fast\": null"), defaults));
        adz_tensor *longer = frequencies_with(old, "\"original_max_position_embeddings\": 64");
        assert_false(adz_equal(own, longer));
        assert_true(adz_equal(frequencies_with(old, "\"truncate\": true"), longer));
        assert_false(adz_equal(frequencies_with(old, "\"truncate\": false"), longer));
    }
    make_folder("llama_yarn", factor, "\"factor\": null");
    expect_refused(ADZ_ERR_FORMAT, "rope_parameters.factor is null");
    make_folder("llama_yarn", fast, "\"beta_fast\": -1");
    expect_refused(ADZ_ERR_FORMAT, "rope_parameters.beta_fast must be above 0");
    make_folder("llama_yarn", fast, "\"attention_factor\": 0");
    expect_refused(ADZ_ERR_FORMAT, "rope_parameters.attention_factor must be above 0");
    make_folder("llama_yarn", fast, "\"mscale\": 1e308, \"mscale_all_dim\": 1e-308");
    expect_refused(
        ADZ_ERR_FORMAT, "rope_parameters makes an attention_factor that float32 does not");
    make_folder("llama_yarn", fast, "\"truncate\": 1");
    expect_refused(ADZ_ERR_FORMAT, "rope_parameters.truncate is 1");
    make_folder("llama_yarn", fast, "\"partial_rotary_factor\": 0.5");
    expect_refused(
        ADZ_ERR_UNSUPPORTED, "partial_rotary_factor is an entry that adze does not know");
    make_folder("llama_yarn", theta, "\"rope_theta\": 1.0");
    expect_refused(ADZ_ERR_FORMAT, "rope_parameters.rope_theta must be above 1");
    end_folder();
}

/* Frequencies that transformers computes in f64, where each entry and each limit of the blend
 * matters: the first pair is below 0, the last one is beyond the features, or both are the same. */
static void frequencies_of_yarn(void **state)
{
    static const struct {
        const char *other; /* for "beta_fast": 2.0 and the entry after it */
        double f[8];
    } rows[] = {
        { "\"beta_fast\": 32, \"beta_slow\": null, \"factor\": 4.0",
            { 1, 0.55562114981458288, 0.29910090447736387, 0.15361803974951602,
                0.073029674334022132, 0.029835905605921996, 0.019502894327672635,
                0.012748494789475026 } },
        { "\"beta_fast\": 2.0, \"beta_slow\": 0.25, \"truncate\": false, \"factor\": 4.0",
            { 1, 0.6536719409583327, 0.42728700639623407, 0.27930552681730186, 0.1588405035432448,
                0.085529389675266507, 0.0439458410625626, 0.020906729575581789 } },
        { "\"beta_fast\": 1.0, \"truncate\": false, \"factor\": 4.0",
            { 1, 0.6536719409583327, 0.42728700639623407, 0.27930552681730186, 0.18257418583505536,
                0.029835905605921996, 0.019502894327672635, 0.012748494789475026 } },
        { "\"beta_fast\": 0.5, \"factor\": 4.0",
            { 0.25, 0.16341798523958317, 0.10682175159905852, 0.069826381704325466,
                0.04564354645876384, 0.029835905605921996, 0.078011577310690541,
                0.050993979157900104 } },
        { "\"beta_fast\": 2.0, \"factor\": 0.5",
            { 1, 0.6536719409583327, 0.42728700639623407, 0.27930552681730186, 0.27386127875258304,
                0.23868724484737597, 0.15602315462138108, 0.10198795831580021 } },
        { "\"beta_fast\": 2.0, \"beta_slow\": 0.00048, \"factor\": 4.0",
            { 1, 0.6536719409583327, 0.42728700639623407, 0.27930552681730186, 0.17116329922036438,
                0.104425669620727, 0.063384406564936074, 0.038245484368425078 } },
    };
    (void)state;
    ADZ_SCOPE
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        adz_tensor *wanted = (adz_tensor_from)(rows[i].f, ADZ_SHAPE(8), ADZ_F64);
        expect_close(
            rows[i].other, frequencies_with(fast_and_factor, rows[i].other), wanted, 1e-14);
    }
    end_folder();
}

/* Logits of the golden model with yarn after a change. */
static adz_tensor *logits_with(const char *other)
{
    make_folder("llama_yarn", fast_and_factor, other);
    adz_module *model = open_as(folder, ADZ_F64);
    adz_tensor *y = adz_clone(
        adz_module_forward(model, (adz_reshape)((adz_arange)(3, 8, 1, ADZ_I64), ADZ_SHAPE(1, 5))));
    assert_non_null(y);
    adz_module_release(&model);
    return y;
}

/* The factor of attention is given, or follows from both of mscale and mscale_all_dim, or from the
 * factor of lengths. The numbers are those of transformers. */
static void factors_of_attention(void **state)
{
    static const char *const rows[][2] = {
        { "", "1.138629436111989" },
        { "\"mscale\": 0.7, \"mscale_all_dim\": 1.5,", "0.9081881819561598" },
        { "\"mscale\": 0.7,", "1.138629436111989" },
        { "\"mscale\": 0.7, \"mscale_all_dim\": 0,", "1.138629436111989" },
        { "\"mscale\": 0.7, \"mscale_all_dim\": 1.5, \"attention_factor\": null,",
            "0.9081881819561598" },
    };
    (void)state;
    ADZ_SCOPE
    {
        adz_tensor *other =
            logits_with("\"attention_factor\": 0.8, \"beta_fast\": 2.0, \"factor\": 4.0");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
            char text[200];
            snprintf(text, sizeof text, "%s \"beta_fast\": 2.0, \"factor\": 4.0", rows[i][0]);
            adz_tensor *found = logits_with(text);
            snprintf(text, sizeof text,
                "\"attention_factor\": %s, \"beta_fast\": 2.0, \"factor\": 4.0", rows[i][1]);
            expect_close(rows[i][0], found, logits_with(text), 1e-14);
            assert_false(adz_allclose(found, other, 1e-3, 1e-3, false));
        }
        adz_tensor *one = logits_with("\"beta_fast\": 2.0, \"factor\": 0.5");
        expect_close("a factor below 1", one,
            logits_with("\"attention_factor\": 1, \"beta_fast\": 2.0, \"factor\": 0.5"), 1e-14);
    }
    end_folder();
}

/* Entries of SmolLM2, Qwen2.5, DistilGPT2 and DistilBERT that change nothing. */
static void entries_without_effect_are_skipped(void **state)
{
    (void)state;
    make_folder("llama_tied", "{",
        "{\"is_llama_config\": true, \"rope_interleaved\": false, \"use_mrope\": false, "
        "\"_num_labels\": 1, \"tie_weights_\": true, ");
    adz_module *model = open_as(folder, ADZ_F32);
    adz_module_release(&model);
    end_folder();
}

/* The gradient of a table of tokens has zeros in the row of pad_token_id alone, as in transformers.
 */
static void check_padding_row(
    const char *from, const char *text, const char *other, const char *table, int64_t padding)
{
    make_folder(from, text, other);
    adz_module *model = open_as(folder, ADZ_F64);
    const int64_t ids[] = { 6, 5, 0, 7 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", (adz_tensor_from)(ids, ADZ_SHAPE(1, 4), ADZ_I64));
    assert_int_equal(adz_module_call(model, in, out), ADZ_OK);
    adz_tensor *h = adz_values_get(out, "last_hidden_state");
    adz_backward(adz_sum(adz_mul(h, h), ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_tensor *g = adz_tensor_grad(adz_module_get_parameter(model, table));
    assert_non_null(g);
    adz_tensor *most = adz_amax(adz_abs(g), ADZ_DIMS(1), ADZ_DROPDIM);
    for (size_t i = 0; i < 4; ++i) {
        const double row = adz_item(adz_select(most, 0, ids[i]));
        assert_true((row == 0) == (ids[i] == padding));
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&model);
}

static void padding_has_no_gradient(void **state)
{
    (void)state;
    static const char pad[] = "\"pad_token_id\": null", table[] = "model.embed_tokens.weight",
                      words[] = "embeddings.word_embeddings.weight";
    check_padding_row("llama_tied", pad, pad, table, -1);
    check_padding_row("llama_tied", pad, "\"pad_token_id\": 5", table, 5);
    check_padding_row("qwen3", pad, "\"pad_token_id\": -30", table, 7);
    check_padding_row("bert", "\"pad_token_id\": 0", "\"pad_token_id\": 0", words, 0);
    check_padding_row("bert", "\"pad_token_id\": 0", "\"pad_token_id\": 7", words, 7);
    check_padding_row("bert", "\"pad_token_id\": 0", pad, words, -1);
    make_folder("llama_tied", pad, "\"pad_token_id\": 37");
    expect_refused(ADZ_ERR_FORMAT, "pad_token_id is 37, but must be a whole number from -37 to 36");
    end_folder();
}

/* Divides the golden weights among two files with an index. `name` and `file` are one more entry of
 * the index, or NULL. */
static void make_shards(const char *name, const char *file)
{
    make_folder("llama_tied", "{", "{");
    adz_safetensors *all = adz_safetensors_load(in_folder("model.safetensors"), NULL);
    adz_safetensors *parts[] = { adz_safetensors_new(), adz_safetensors_new() };
    remove(in_folder("model.safetensors"));
    FILE *index = fopen(in_folder("model.safetensors.index.json"), "w");
    fputs("{\"metadata\": {}, \"weight_map\": {", index);
    for (size_t i = 0; i < adz_safetensors_count(all); ++i) {
        const char *key = adz_safetensors_name_at(all, i);
        adz_safetensors_add(parts[i % 2], key, adz_safetensors_at(all, i));
        fprintf(index, "%s\"%s\": \"%s.safetensors\"", i > 0 ? ", " : "", key, i % 2 ? "b" : "a");
    }
    if (name != NULL) {
        fprintf(index, ", \"%s\": \"%s\"", name, file);
    }
    fputs("}}", index);
    fclose(index);
    adz_safetensors_save(parts[0], in_folder("a.safetensors"));
    adz_safetensors_save(parts[1], in_folder("b.safetensors"));
    adz_safetensors_free(&parts[0]);
    adz_safetensors_free(&parts[1]);
    adz_safetensors_free(&all);
}

static void shards_are_one_model(void **state)
{
    (void)state;
    make_shards(NULL, NULL);
    adz_module *sharded = open_as(folder, ADZ_F32),
               *whole = open_as(golden("llama_tied", ""), ADZ_F32);
    adz_named_list one = adz_module_named_parameters(sharded),
                   other = adz_module_named_parameters(whole);
    assert_int_equal(one.count, other.count);
    for (size_t i = 0; i < one.count; ++i) {
        assert_string_equal(one.items[i].name, other.items[i].name);
        assert_true(adz_equal(one.items[i].tensor, other.items[i].tensor));
    }
    adz_module_release(&sharded);
    adz_module_release(&whole);
    remove(in_folder("b.safetensors"));
    expect_refused(ADZ_ERR_IO, "b.safetensors");
    make_shards("model.more.weight", "a.safetensors");
    expect_refused(ADZ_ERR_FORMAT,
        "weight_map.model.more.weight names a.safetensors, which has no such tensor");
    make_shards("model.more.weight", "../a.safetensors");
    expect_refused(
        ADZ_ERR_FORMAT, "weight_map.model.more.weight must be the name of a file in the folder");
    make_shards(NULL, NULL);
    adz_safetensors *first = adz_safetensors_load(in_folder("a.safetensors"), NULL),
                    *second = adz_safetensors_load(in_folder("b.safetensors"), NULL);
    adz_safetensors_add(first, adz_safetensors_name_at(second, 0), adz_safetensors_at(second, 0));
    adz_safetensors_save(first, in_folder("a.safetensors"));
    adz_safetensors_free(&first);
    adz_safetensors_free(&second);
    expect_refused(ADZ_ERR_FORMAT, "names b.safetensors, but a.safetensors has such a tensor, too");
    write_text(in_folder("model.safetensors.index.json"), "{\"weight_map\": []}");
    expect_refused(ADZ_ERR_FORMAT, "weight_map is a list, but must be an object");
    write_text(in_folder("model.safetensors.index.json"), "{}");
    expect_refused(ADZ_ERR_FORMAT, "weight_map is missing, but must be an object");
    remove(in_folder("model.safetensors.index.json"));
    expect_refused(ADZ_ERR_IO, "has neither model.safetensors nor model.safetensors.index.json");
    end_folder();
}

/* Weights in half precision are converted, and integers are refused. */
static void dtypes_are_converted(void **state)
{
    (void)state;
    for (int half = 0; half < 3; ++half) {
        const adz_dtype dtype = (adz_dtype[]){ ADZ_BF16, ADZ_F16, ADZ_I32 }[half];
        make_folder("llama_tied", "{", "{");
        adz_safetensors *all = adz_safetensors_load(in_folder("model.safetensors"), NULL);
        adz_safetensors *converted = adz_safetensors_new();
        for (size_t i = 0; i < adz_safetensors_count(all); ++i) {
            adz_safetensors_add(converted, adz_safetensors_name_at(all, i),
                adz_to(adz_safetensors_at(all, i), dtype));
        }
        adz_safetensors_save(converted, in_folder("model.safetensors"));
        if (dtype == ADZ_I32) {
            expect_refused(ADZ_ERR_UNSUPPORTED, "is int32, but no float");
        } else {
            adz_module *model = open_as(folder, ADZ_F64);
            adz_named_list all_parameters = adz_module_named_parameters(model);
            for (size_t i = 0; i < all_parameters.count; ++i) {
                adz_tensor *stored = adz_safetensors_get(converted, all_parameters.items[i].name);
                assert_true(adz_equal(all_parameters.items[i].tensor, adz_to(stored, ADZ_F64)));
            }
            adz_module_release(&model);
        }
        adz_safetensors_free(&converted);
        adz_safetensors_free(&all);
    }
    end_folder();
}

/* What is saved is read again as the same model, also from a copy. */
static void saved_models_are_read_again(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/saved", temporary_folder);
    adz_module *model = open_as(golden("llama_tied", ""), ADZ_F32), *copy = adz_module_copy(model);
    assert_int_equal(adz_pretrained_save(copy, folder), ADZ_OK);
    adz_module *again = open_as(folder, ADZ_F32);
    adz_named_list one = adz_module_named_parameters(model),
                   other = adz_module_named_parameters(again);
    assert_int_equal(one.count, other.count);
    for (size_t i = 0; i < one.count; ++i) {
        assert_true(adz_equal(one.items[i].tensor, other.items[i].tensor));
    }
    assert_false(adz_module_is_training(again));
    adz_module_release(&model);
    adz_module_release(&copy);
    /* The table has 16 features, so its weights become blocks by hand. */
    adz_tensor *blocks = adz_zeros(ADZ_SHAPE(37, 1, ADZ_Q8_0_BYTES), ADZ_U8);
    assert_non_null(adz_module_set_parameter(
        adz_module_get_child(again, "model.embed_tokens"), "weight", blocks));
    assert_int_equal(adz_pretrained_save(again, folder), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "has weights in blocks of Q8_0");
    adz_module_release(&again);
    assert_int_equal(adz_pretrained_save(NULL, folder), ADZ_ERR_NULL);
    adz_error_clear();
    end_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(configurations_of_other_families_are_refused),
        cmocka_unit_test(entries_of_yarn),
        cmocka_unit_test(frequencies_of_yarn),
        cmocka_unit_test(factors_of_attention),
        cmocka_unit_test(entries_without_effect_are_skipped),
        cmocka_unit_test(padding_has_no_gradient),
        cmocka_unit_test(shards_are_one_model),
        cmocka_unit_test(dtypes_are_converted),
        cmocka_unit_test(saved_models_are_read_again),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
