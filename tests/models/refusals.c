/* Files that are no tokenizers, and components that are not known: each is an error that names the
 * entry. */
#include "temporary.h"
#include "tokenizers.h"

/* Files, and what the message about each must contain. */
typedef struct bad_file {
    const char *json;
    adz_status code;
    const char *says;
} bad_file;

static void refuse_all(const bad_file *files, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        assert_null(from_json(files[i].json));
        expect_error(files[i].code, files[i].says);
    }
}
#define REFUSE_ALL(files) refuse_all(files, sizeof(files) / sizeof *(files))

#define UNKNOWN ADZ_ERR_UNSUPPORTED
#define FORMAT  ADZ_ERR_FORMAT

static void unknown_components_are_named(void **state)
{
    (void)state;
    static const bad_file files[] = {
        { "{\"normalizer\":{\"type\":\"Precompiled\"}," MODEL "}", UNKNOWN,
            "normalizer is the normalizer \"Precompiled\", which is not known" },
        { "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},"
          "{\"type\":\"Nmt\"}]}," MODEL "}",
            UNKNOWN, "normalizer.normalizers[1] is the normalizer \"Nmt\"" },
        { "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},\"content\":\"\"}," MODEL
          "}",
            UNKNOWN, "regular expression \"a+\"" },
        { "{\"normalizer\":{\"type\":\"NFC\",\"fast\":true}," MODEL "}", UNKNOWN, "fast" },
        { "{\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":3}," MODEL "}", UNKNOWN,
            "pre_tokenizer is the pre-tokenizer \"FixedLength\"" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[0-9]\"},"
          "\"behavior\":\"Isolated\",\"invert\":false}," MODEL "}",
            UNKNOWN, "pre_tokenizer.pattern.Regex is the regular expression \"[0-9]\"" },
        { "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
          "\"add_prefix_space\":false},{\"type\":\"Whitespace\"}]}," MODEL "}",
            UNKNOWN, "behind a ByteLevel" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}," MODEL "}",
            UNKNOWN, "is a WordPiece behind a ByteLevel" },
        { "{\"post_processor\":{\"type\":\"Other\"}," MODEL "}", UNKNOWN,
            "post_processor is the post-processor \"Other\"" },
        { "{\"decoder\":{\"type\":\"CTC\"}," MODEL "}", UNKNOWN, "decoder is the decoder \"CTC\"" },
        { "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},"
          "{\"type\":\"WordPiece\",\"prefix\":\"\",\"cleanup\":true}]}," MODEL "}",
            UNKNOWN, "behind one that joins tokens" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", UNKNOWN, "is the model \"Unigram\"" },
        { "{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}",
            UNKNOWN, "model has dropout" },
        { "{\"later\":1," MODEL "}", UNKNOWN, "later" },
        { "{\"added_tokens\":[{\"id\":9,\"content\":\"x\",\"single_word\":false,\"lstrip\":false,"
          "\"rstrip\":false,\"normalized\":false,\"special\":true}]," MODEL "}",
            UNKNOWN, "gives \"x\" the id 9, but by vocabulary and order it is 8" },
    };
    REFUSE_ALL(files);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const bad_file files[] = {
        { "", FORMAT, "it is not JSON" },
        { "[]", FORMAT, "object" },
        { "{}", FORMAT, "model" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}", FORMAT, "vocab is empty" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", FORMAT,
            "gives the token \"a\" a number" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":2000000000},\"merges\":[]}}", FORMAT,
            "gives the token \"a\" a number" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", FORMAT,
            "two tokens of the number 0" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]}}", FORMAT,
            "model.merges[0] names the token \"ab\", which the vocabulary lacks" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", FORMAT,
            "is no pair" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}}", FORMAT,
            "merges[0]" },
        { "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0},\"merges\":[]}}",
            FORMAT, "unk_token names the token \"u\"" },
        { "{\"truncation\":{\"max_length\":0,\"strategy\":\"LongestFirst\",\"stride\":0}," MODEL
          "}",
            FORMAT, "truncation.max_length" },
        { "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
          "{\"id\":\"[X]\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{}}," MODEL "}",
            FORMAT, "names \"[X]\", which special_tokens lacks" },
        { "{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"s\",3],\"cls\":[\"c\",8]}," MODEL
          "}",
            FORMAT, "post_processor adds the token 8" },
        { "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"}," MODEL
          "}",
            FORMAT, "normalizer.pattern is empty" },
    };
    REFUSE_ALL(files);
    assert_null(adz_pretrained_tokenizer_from_memory(NULL, 0, NULL));
    expect_error(ADZ_ERR_NULL, "bytes");
}

static void folders_are_looked_into(void **state)
{
    (void)state;
    const char *path = temporary_path("tokenizer.json");
    assert_null(adz_pretrained_tokenizer_open(path, NULL));
    expect_error(ADZ_ERR_IO, "tokenizer.json");
    static const char json[] = "{" BERT MODEL "}";
    write_file(path, json, sizeof json - 1);
    adz_tokenizer *t = adz_pretrained_tokenizer_open(path, NULL);
    assert_non_null(t);
    adz_tokenizer_free(&t);
    t = adz_pretrained_tokenizer_open(temporary_folder, NULL);
    assert_non_null(t);
    adz_tokenizer_free(&t);
    assert_null(adz_pretrained_tokenizer_open("/", NULL));
    expect_error(ADZ_ERR_IO, "tokenizer.json");
}

/* Writes a file of the folder, and returns the folder. */
static const char *with(const char *name, const char *text)
{
    write_file(temporary_path(name), text, strlen(text));
    return temporary_folder;
}

static void vocabulary_files_are_read(void **state)
{
    (void)state;
    temporary_files(true);
    adz_scope *scope = adz_scope_open();
    adz_tokenizer *t = adz_pretrained_tokenizer_open(
        with("vocab.txt", "[PAD]\n[UNK]\n[CLS]\r\n[SEP]\na\n##b\n"), NULL);
    IDS(adz_tokenizer_encode(t, "Ab [SEP] c", 10), 2, 4, 5, 3, 1, 3);
    adz_tokenizer_free(&t);
    with("tokenizer_config.json",
        "{\"do_lower_case\":false,\"tokenizer_class\":\"BertTokenizerFast\"}");
    t = adz_pretrained_tokenizer_open(temporary_folder, NULL);
    IDS(adz_tokenizer_encode(t, "Ab ab", 5), 2, 1, 4, 5, 3);
    adz_tokenizer_free(&t);
    assert_null(adz_pretrained_tokenizer_open(with("vocab.txt", "a\nb\n"), NULL));
    expect_error(ADZ_ERR_FORMAT, "vocab.txt lacks the tokens that begin and end a text");
    remove(temporary_path("vocab.txt"));

    with("vocab.json", "{\"a\":0,\"b\":1,\"\u0120\":2,\"ab\":3,\"<|endoftext|>\":4}");
    with("merges.txt", "#version: 0.2\na b\n");
    assert_null(adz_pretrained_tokenizer_open(temporary_folder, NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "not of \"BertTokenizerFast\"");
    with("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}");
    t = adz_pretrained_tokenizer_open(temporary_folder, NULL);
    IDS(adz_tokenizer_encode(t, "ab b<|endoftext|>a", 18), 3, 2, 1, 4, 0);
    adz_tokenizer_free(&t);
    with("tokenizer_config.json",
        "{\"added_tokens_decoder\":{\"5\":{\"content\":\"b!\",\"single_word\":false,"
        "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":false}}}");
    with("config.json", "{\"model_type\":\"qwen2\"}");
    t = adz_pretrained_tokenizer_open(temporary_folder, NULL);
    IDS(adz_tokenizer_encode(t, "abb!", 4), 3, 5);
    adz_tokenizer_free(&t);
    assert_null(adz_pretrained_tokenizer_open(with("merges.txt", "a c\n"), NULL));
    expect_error(ADZ_ERR_FORMAT, "model.merges[0] names the token \"c\"");
    remove(temporary_path("merges.txt"));
    assert_null(adz_pretrained_tokenizer_open(temporary_folder, NULL));
    expect_error(ADZ_ERR_IO, "merges.txt");
    temporary_files(true);
    adz_scope_close(scope);
}

/* A word that needs the unknown token fails if there is none. */
static void missing_unknown_token_is_an_error(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(
        "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":"
        "\"##\",\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0}}}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    IDS(adz_tokenizer_encode(t, "a", 1), 0);
    assert_null(adz_tokenizer_encode(t, "b", 1));
    expect_error(ADZ_ERR_ARGUMENT, "the unknown token \"[UNK]\", which the vocabulary lacks");
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

int refusals_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_components_are_named),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(folders_are_looked_into),
        cmocka_unit_test(vocabulary_files_are_read),
        cmocka_unit_test(missing_unknown_token_is_an_error),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
