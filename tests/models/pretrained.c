/* Published models: results of transformers, caches, padding, saving, and folders that are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "run_pretrained.h"
#include "temporary.h"

/* The folders that oracle.py has written; GOLDEN is their folder. */
static const char *const cases[] = { CASES };

static const char *golden(const char *name, const char *file)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s%s%s", GOLDEN, name, file[0] != '\0' ? "/" : "", file);
    return path;
}

static adz_module *open_as(const char *folder, adz_dtype dtype)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.dtype = dtype;
    adz_module *model = adz_pretrained_open(folder, &o);
    assert_non_null(model);
    return model;
}

static void expect_close(const char *name, adz_tensor *found, adz_tensor *expected, double bound)
{
    assert_non_null(found);
    expected = adz_to(expected, ADZ_F64);
    adz_tensor *most = adz_amax(adz_abs(expected), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *error =
        adz_amax(adz_abs(adz_sub(adz_to(found, ADZ_F64), expected)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (!(adz_item(error) <= bound * fmax(adz_item(most), 1e-3))) {
        fail_msg("%s differs by %g", name, adz_item(error));
    }
}

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

/* Tokens before the text, which the mask hides, change nothing if the positions are those of the
 * text. */
static void padding_on_the_left_changes_nothing(void **state)
{
    (void)state;
    adz_module *model = open_as(golden("llama_tied", ""), ADZ_F64);
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
        expect_close("logits", adz_narrow(call(model, left, 3), 1, 2, 4), expected, 1e-12);
    }
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

/* GPT-2 has no masks, and a batch goes on when one of its rows ends. */
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
    adz_module *gpt2 = open_as(golden("gpt2", ""), ADZ_F32);
    mask = adz_zeros(ADZ_SHAPE(1, 3), ADZ_BOOL);
    assert_null(
        call(gpt2, (adz_named_tensor[]){ { "input_ids", ids }, { "attention_mask", mask } }, 2));
    expect_error(ADZ_ERR_UNSUPPORTED, "attention_mask hides tokens, which GPT-2 cannot");
    adz_module_release(&gpt2);
    adz_module *linear = adz_linear_new(2, 2, NULL);
    assert_null(adz_pretrained_cache_new(linear, 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear, which has no cache");
    assert_int_equal(adz_pretrained_save(linear, temporary_path("linear")), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear that adz_pretrained_open has not read");
    adz_module_release(&linear);
    adz_module_release(&model);
}

/* ---- folders -------------------------------------------------------------------------------- */

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

static void other_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *other;
        adz_status status;
        const char *says;
    } changes[] = {
        { "\"hidden_size\": 16", "\"hidden_size\": 20", ADZ_ERR_FORMAT,
            "tensor model.embed_tokens.weight is [37, 16], but config.json makes it [37, 20]" },
        { "\"hidden_size\": 16", "\"hidden_size\": \"16\"", ADZ_ERR_FORMAT,
            "model/config.json: hidden_size is a text" },
        { "\"hidden_size\": 16", "\"hidden_size\": -16", ADZ_ERR_ARGUMENT,
            "config.json: adz_pretrained_open: hidden_size is -16" },
        { "\"hidden_size\": 16", "\"hidden_size\": null", ADZ_ERR_ARGUMENT, "hidden_size is 0" },
        { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 10000", ADZ_ERR_ARGUMENT,
            "num_hidden_layers is 10000, but must be" },
        { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 9999", ADZ_ERR_FORMAT,
            "there is no tensor model.layers.2.self_attn.q_proj.weight, which config.json asks for" },
        { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", ADZ_ERR_UNSUPPORTED,
            "tensor model.layers.1." },
        { "\"vocab_size\": 37", "\"vocab_size\": 2000000000", ADZ_ERR_FORMAT,
            "but config.json makes it [2000000000, 16]" },
        { "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3", ADZ_ERR_FORMAT,
            "heads must divide" },
        { "\"vocab_size\": 37", "\"vocab_size\": 37, \"logit_softcap\": 3", ADZ_ERR_UNSUPPORTED,
            "config.json: logit_softcap is an entry that adze does not know" },
        { "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"", ADZ_ERR_UNSUPPORTED,
            "hidden_act is \"mish\"" },
        { "\"rope_type\": \"llama3\"", "\"rope_type\": \"yarn\"", ADZ_ERR_UNSUPPORTED,
            "has the type \"yarn\", but adze knows default, linear and llama3 only" },
        { "{", "{ \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2},",
            ADZ_ERR_UNSUPPORTED, "rope_scaling is another one than that of rope_parameters" },
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
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        make_folder("llama_tied", changes[i].text, changes[i].other);
        expect_refused(changes[i].status, changes[i].says);
    }
    make_folder("gpt2", "\"n_layer\": 2", "\"n_layer\": 9999");
    expect_refused(ADZ_ERR_FORMAT, "there is no tensor transformer.h.2.ln_1.weight");
    make_folder("gpt2", "\"n_positions\": 64", "\"n_positions\": 1000000");
    expect_refused(ADZ_ERR_ARGUMENT, "n_positions is 1000000, but must be");
    make_folder("gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false");
    expect_refused(ADZ_ERR_UNSUPPORTED, "scale_attn_weights is false");
    make_folder("gpt2", "\"gelu_new\"", "\"gelu\"");
    expect_refused(ADZ_ERR_UNSUPPORTED, "activation_function must be \"gelu_new\"");
    make_folder("qwen2_window", "\"sliding_window\": 3", "\"sliding_window\": null");
    expect_refused(ADZ_ERR_FORMAT, "has layers with a window, but no sliding_window");
    make_folder("qwen2_window", "\"sliding_attention\"", "\"linear_attention\"");
    expect_refused(ADZ_ERR_UNSUPPORTED, "layer_types[1] is \"linear_attention\"");
    end_folder();
    assert_null(adz_pretrained_open(folder, NULL));
    expect_error(ADZ_ERR_IO, "model/config.json cannot be opened: there is no such file");
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
 * alone. */
static void check_pooling(const char *pooling, adz_tensor *(*expected)(adz_tensor *))
{
    make_sentences(modules, pooling);
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
        cmocka_unit_test(results_are_those_of_transformers),
        cmocka_unit_test(caches),
        cmocka_unit_test(padding_on_the_left_changes_nothing),
        cmocka_unit_test(other_arguments_are_refused),
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(entries_without_effect_are_skipped),
        cmocka_unit_test(padding_does_not_fill_windows),
        cmocka_unit_test(batches_of_gpt2_go_on),
        cmocka_unit_test(shards_are_one_model),
        cmocka_unit_test(dtypes_are_converted),
        cmocka_unit_test(saved_models_are_read_again),
        cmocka_unit_test(sentences_are_pooled),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
