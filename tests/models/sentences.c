/* The modules of sentence-transformers, and what a model knows of its texts: how long they may be,
 * and which tokens end them. */
#include "changed_folder.h"

/* ---- embeddings --------------------------------------------------------------------------- */

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
    remove(in_folder("sentence_bert_config.json"));
    remove(in_folder("tokenizer_config.json"));
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

/* ---- lengths -------------------------------------------------------------------------------- */

static const char mean[] = "{\"pooling_mode_mean_tokens\": true}";

/* A folder with these files has this length and 64 positions. It is saved with the length and with
 * do_lower_case, which is false unless the first file sets it. */
static void expect_length(const char *sentence, const char *tokenizer, int64_t length)
{
    make_sentences(modules, mean);
    if (sentence != NULL) {
        write_text(in_folder("sentence_bert_config.json"), sentence);
    }
    if (tokenizer != NULL) {
        write_text(in_folder("tokenizer_config.json"), tokenizer);
    }
    for (int again = 0; again < 2; ++again) {
        adz_module *model = open_as(folder, ADZ_F32);
        assert_int_equal(adz_pretrained_max_positions(model), 64);
        assert_int_equal(adz_pretrained_max_seq_length(model), length);
        end_sentences();
        assert_int_equal(adz_pretrained_save(model, folder), ADZ_OK);
        adz_module_release(&model);
    }
    char wanted[100];
    const bool lower = sentence != NULL && strstr(sentence, "\"do_lower_case\": true") != NULL;
    snprintf(wanted, sizeof wanted, "{\n  \"do_lower_case\": %s,\n  \"max_seq_length\": %d\n}\n",
        lower ? "true" : "false", (int)length);
    assert_string_equal(read_text(in_folder("sentence_bert_config.json")), wanted);
    end_sentences();
}

static void expect_bad_length(const char *file, const char *text, const char *says)
{
    make_sentences(modules, mean);
    write_text(in_folder(file), text);
    expect_refused(ADZ_ERR_FORMAT, says);
    end_sentences();
}

static void texts_have_a_length(void **state)
{
    static const char of_sentences[] = "sentence_bert_config.json";
    (void)state;
    expect_length(NULL, NULL, 64);
    expect_length(
        "{\"max_seq_length\": 20, \"do_lower_case\": false}", "{\"model_max_length\": 10}", 20);
    expect_length("{\"max_seq_length\": null}", "{\"model_max_length\": 10}", 10);
    expect_length("{}", "{\"model_max_length\": 1000000000000000019884624838656}", 64);
    expect_length("{\"max_seq_length\": 65}", NULL, 64);
    expect_length("{\"max_seq_length\": 9, \"do_lower_case\": true}", NULL, 9);
    expect_length("{\"do_lower_case\": null}", NULL, 64);
    expect_bad_length(of_sentences, "{\"do_lower_case\": 1}", "do_lower_case is 1");
    expect_bad_length(
        of_sentences, "{\"max_seq_length\": 0}", "sentence_bert_config.json: max_seq_length is 0");
    expect_bad_length(of_sentences, "{\"max_seq_length\": 2.5}", "max_seq_length is 2.5");
    expect_bad_length(of_sentences, "{\"max_seq_length\": \"many\"}", "max_seq_length is a text");
    expect_bad_length(of_sentences, "[]", "sentence_bert_config.json: it is a list");
    expect_length("{\"transformer_task\": \"feature-extraction\", \"modality_config\": {\"text\": "
                  "{\"method\": \"forward\", \"method_output_name\": \"last_hidden_state\"}}, "
                  "\"module_output_name\": \"token_embeddings\"}",
        "{\"model_max_length\": 10}", 10);
    expect_bad_length("tokenizer_config.json", "{\"model_max_length\": -1}",
        "tokenizer_config.json: model_max_length is -1");
    expect_bad_length("tokenizer_config.json", "{\"model_max_length\": 1e400}",
        "tokenizer_config.json: it is not JSON");
}

/* sentence-transformers can pool another result, which would be another embedding. */
static void other_results_are_not_pooled(void **state)
{
    static const char *const rows[][2] = {
        { "{\"transformer_task\": \"fill-mask\"}", "transformer_task is \"fill-mask\"" },
        { "{\"module_output_name\": \"sentence_embedding\"}",
            "module_output_name is \"sentence_embedding\", but adze knows token_embeddings only" },
        { "{\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}}}",
            "modality_config.text.method_output_name is \"pooler_output\"" },
        { "{\"modality_config\": {\"text\": {\"method\": \"get_text_features\"}}}",
            "modality_config.text.method is \"get_text_features\"" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        make_sentences(modules, mean);
        write_text(in_folder("sentence_bert_config.json"), rows[i][0]);
        expect_refused(ADZ_ERR_UNSUPPORTED, rows[i][1]);
        end_sentences();
    }
}

/* ---- ids that end texts --------------------------------------------------------------------- */

static void expect_ends(adz_module *model, const int64_t *ids, int64_t count)
{
    adz_tensor *ends = adz_pretrained_eos_token_ids(model);
    assert_non_null(ends);
    assert_true(
        adz_equal(ends, (adz_tensor_from_sized)(ids, ADZ_SHAPE(count), ADZ_I64, sizeof *ids)));
}

/* The golden config.json of the Llama says 2. The saved folder says what generation_config.json
 * said. */
static void check_ends(
    const char *generation, const char *config, const int64_t *ids, int64_t count)
{
    make_folder("llama_tied", "\"eos_token_id\": 2", config);
    if (generation != NULL) {
        write_text(in_folder("generation_config.json"), generation);
    }
    for (int again = 0; again < 2; ++again) {
        adz_module *model = open_as(folder, ADZ_F32);
        expect_ends(model, ids, count);
        remove(in_folder("generation_config.json"));
        end_folder();
        assert_int_equal(adz_pretrained_save(model, folder), ADZ_OK);
        adz_module_release(&model);
    }
    end_folder();
}

static void texts_have_ends(void **state)
{
    static const char two[] = "\"eos_token_id\": 2";
    const int64_t ids[] = { 2, 30, 7 };
    (void)state;
    check_ends(NULL, two, ids, 1);
    check_ends("{\"eos_token_id\": [30, 7], \"top_p\": 0.9}", two, ids + 1, 2);
    check_ends("{\"eos_token_id\": 30}", two, ids + 1, 1);
    check_ends("{\"eos_token_id\": null}", two, ids, 1);
    check_ends("{}", "\"eos_token_id\": [2, -1, 30]", ids, 2);
    check_ends(NULL, "\"eos_token_id\": null", ids, 0);
    make_folder("llama_tied", two, two);
    write_text(in_folder("generation_config.json"), "{\"eos_token_id\": [1, \"a\"]}");
    expect_refused(ADZ_ERR_FORMAT, "generation_config.json: eos_token_id[1] is a text");
    write_text(in_folder("generation_config.json"), "[]");
    expect_refused(ADZ_ERR_FORMAT, "generation_config.json: it is a list");
    remove(in_folder("generation_config.json"));
    make_folder("llama_tied", two, "\"eos_token_id\": \"end\"");
    expect_refused(ADZ_ERR_FORMAT, "config.json: eos_token_id is a text");
    end_folder();
}

static void other_families_have_lengths(void **state)
{
    static const char *const names[] = { "llama_tied", "gpt2", "bert" };
    (void)state;
    for (int i = 0; i < 3; ++i) {
        adz_module *model = open_as(golden(names[i], ""), ADZ_F32);
        assert_int_equal(adz_pretrained_max_positions(model), 64);
        assert_int_equal(adz_pretrained_max_seq_length(model), 64);
        adz_module_release(&model);
    }
    make_folder(
        "llama_tied", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": null");
    adz_module *model = open_as(folder, ADZ_F32);
    assert_int_equal(adz_pretrained_max_positions(model), 0);
    adz_module_release(&model);
    end_folder();
    adz_module *linear = adz_linear_new(2, 2, NULL);
    assert_int_equal(adz_pretrained_max_positions(linear), -1);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear that adz_pretrained_open has not read");
    assert_int_equal(adz_pretrained_max_seq_length(linear), -1);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear");
    assert_null(adz_pretrained_eos_token_ids(linear));
    expect_error(ADZ_ERR_ARGUMENT, "the module is a Linear");
    adz_module_release(&linear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_pooled),
        cmocka_unit_test(texts_have_a_length),
        cmocka_unit_test(other_results_are_not_pooled),
        cmocka_unit_test(texts_have_ends),
        cmocka_unit_test(other_families_have_lengths),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
