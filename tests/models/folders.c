/* Folders of published models: other configurations, shards, dtypes, saving, and the modules of
 * sentence-transformers. */
#include <sys/stat.h>
#include <unistd.h>

#include "published.h"

static char folder[300];

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The text of a file, which the next call overwrites. */
static const char *read_text(const char *path)
{
    static char text[20000];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Makes the folder from the golden one, with one text of config.json replaced. */
static void make_folder(const char *from, const char *text, const char *other)
{
    char config[20000];
    const char *whole = read_text(golden(from, "config.json")), *at = strstr(whole, text);
    assert_non_null(at);
    snprintf(config, sizeof config, "%.*s%s%s", (int)(at - whole), whole, other, at + strlen(text));
    snprintf(folder, sizeof folder, "%s/model", temporary_folder);
    mkdir(folder, 0777);
    write_text(in_folder("config.json"), config);
    remove(in_folder("model.safetensors.index.json"));
    adz_safetensors *weights = adz_safetensors_load(golden(from, "model.safetensors"), NULL);
    assert_int_equal(adz_safetensors_save(weights, in_folder("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&weights);
}

/* Opening the folder fails with this message. */
static void expect_refused(adz_status status, const char *says)
{
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    assert_null(adz_pretrained_open(folder, NULL));
    expect_error(status, says);
    adz_get_memory_info(&after, sizeof after);
    assert_int_equal(before.live_bytes, after.live_bytes);
}

static void end_folder(void)
{
    remove(in_folder("config.json"));
    remove(in_folder("model.safetensors"));
    remove(in_folder("model.safetensors.index.json"));
    remove(in_folder("a.safetensors"));
    remove(in_folder("b.safetensors"));
    rmdir(folder);
}

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
    { "\"rope_type\": \"llama3\"", "\"rope_type\": \"yarn\"", ADZ_ERR_UNSUPPORTED,
        "has the type \"yarn\", but adze knows default, linear and llama3 only" },
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

/* ---- embeddings of sentences ---------------------------------------------------------------- */

static const char modules[] =
    "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},"
    " {\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"},"
    " {\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]";

/* The folder of a BERT with these files of sentence-transformers. */
static void make_sentences(const char *list, const char *pooling)
{
    make_folder("bert", "{", "{");
    mkdir(in_folder("1_Pooling"), 0777);
    write_text(in_folder("modules.json"), list);
    write_text(in_folder("1_Pooling/config.json"), pooling);
}

static void end_sentences(void)
{
    remove(in_folder("1_Pooling/config.json"));
    rmdir(in_folder("1_Pooling"));
    remove(in_folder("modules.json"));
    end_folder();
}

/* The embedding of the first item, whose last two tokens the mask hides, is that of the tokens
 * alone, also after the model was saved and read again. */
static void check_pooling(const char *pooling, adz_tensor *(*expected)(adz_tensor *))
{
    make_sentences(modules, pooling);
    adz_module *first = open_as(folder, ADZ_F64);
    remove(in_folder("modules.json"));
    remove(in_folder("1_Pooling/config.json"));
    assert_int_equal(adz_pretrained_save(first, folder), ADZ_OK);
    adz_module_release(&first);
    adz_module *model = open_as(folder, ADZ_F64);
    const int64_t ids[] = { 5, 6, 7, 8, 9, 3 }, mask[] = { 1, 1, 1, 1, 0, 0 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", (adz_tensor_from)(ids, ADZ_SHAPE(1, 6), ADZ_I64));
    adz_values_add(in, "attention_mask", (adz_tensor_from)(mask, ADZ_SHAPE(1, 6), ADZ_I64));
    assert_int_equal(adz_module_call(model, in, out), ADZ_OK);
    adz_tensor *h = adz_narrow(adz_values_get(out, "last_hidden_state"), 1, 0, 4);
    adz_tensor *e = adz_normalize(expected(h), 2, -1, 1e-12);
    expect_close("sentence_embedding", adz_values_get(out, "sentence_embedding"), e, 1e-12);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&model);
}

static adz_tensor *mean_of(adz_tensor *h)
{
    return adz_mean(h, ADZ_DIMS(1), ADZ_DROPDIM);
}

static adz_tensor *max_of(adz_tensor *h)
{
    return adz_amax(h, ADZ_DIMS(1), ADZ_DROPDIM);
}

static adz_tensor *first_of(adz_tensor *h)
{
    return adz_select(h, 1, 0);
}

static void sentences_are_pooled(void **state)
{
    (void)state;
    check_pooling(
        "{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": false}", mean_of);
    check_pooling("{\"pooling_mode_max_tokens\": true}", max_of);
    check_pooling("{\"pooling_mode_cls_token\": true}", first_of);
    make_sentences(modules, "{\"pooling_mode_lasttoken\": true}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "config.json: pooling_mode_lasttoken is set");
    make_sentences(
        modules, "{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": true}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "adze knows one of cls, mean and max alone");
    make_sentences(
        modules, "{\"pooling_mode_mean_tokens\": true, \"pooling_mode\": \"lasttoken\"}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "says no pooling that adze knows");
    make_sentences(modules, "{\"pooling_mode_mean_tokens\": false}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "says no pooling that adze knows");
    make_sentences(modules, "{\"pooling_weights\": 1, \"pooling_mode_mean_tokens\": true}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "pooling_weights is an entry that adze does not know");
    make_sentences(
        "[{\"path\": \"\", \"type\": \"a.Transformer\"}, {\"path\": \"../1\", \"type\": \"a.Pooling\"}]",
        "{}");
    expect_refused(ADZ_ERR_FORMAT, "modules.json: [1] has a path that leads out of the folder");
    make_sentences(
        "[{\"path\": \"\", \"type\": \"a.Transformer\"}, {\"path\": \"2\", \"type\": \"a.Dense\"}]",
        "{}");
    expect_refused(ADZ_ERR_UNSUPPORTED, "modules.json: [1] is a Dense");
    make_sentences("{}", "{}");
    expect_refused(ADZ_ERR_FORMAT, "modules.json: it is an object, but must be a list");
    make_sentences(modules, "{\"pooling_mode_cls_token\": true}");
    adz_module *plain = open_as(golden("bert", ""), ADZ_F32);
    assert_int_equal(adz_pretrained_save(plain, folder), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "has a modules.json with a pooling");
    adz_module_release(&plain);
    end_sentences();
    make_folder("bert", "\"is_decoder\": false", "\"is_decoder\": true");
    expect_refused(
        ADZ_ERR_UNSUPPORTED, "config.json: is_decoder is true, but adze knows false only");
    make_folder("bert", "{", "{\"position_embedding_type\": \"relative_key\", ");
    expect_refused(ADZ_ERR_UNSUPPORTED, "position_embedding_type is \"relative_key\"");
    end_folder();
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(configurations_of_other_families_are_refused),
        cmocka_unit_test(entries_without_effect_are_skipped),
        cmocka_unit_test(padding_has_no_gradient),
        cmocka_unit_test(shards_are_one_model),
        cmocka_unit_test(dtypes_are_converted),
        cmocka_unit_test(saved_models_are_read_again),
        cmocka_unit_test(sentences_are_pooled),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
