/* Batches of pretrained tokenizers: truncation, padding, masks and pairs; and texts that are not
 * UTF-8. */
#include "tokenizers.h"

static adz_text text_of(const char *text)
{
    return (adz_text){ text, strlen(text) };
}

static adz_tokenizer *bert(void)
{
    adz_tokenizer *t = from_json("{" BERT MODEL "}");
    assert_non_null(t);
    return t;
}

static void special_tokens_are_options(void **state)
{
    (void)state;
    static const char json[] = "{" BERT MODEL "}";
    adz_pretrained_tokenizer_options o = ADZ_PRETRAINED_TOKENIZER_OPTIONS;
    o.add_special_tokens = false;
    adz_tokenizer *with = bert();
    adz_tokenizer *without = adz_pretrained_tokenizer_from_memory(json, strlen(json), &o);
    adz_scope *scope = adz_scope_open();
    IDS(adz_tokenizer_encode(with, "A bc!", 5), 2, 4, 5, 6, 7, 3);
    IDS(adz_tokenizer_encode(without, "A bc!", 5), 4, 5, 6, 7);
    assert_int_equal(adz_tokenizer_encode(with, NULL, 0) != NULL, true);
    const adz_text pair[] = { text_of("a"), text_of("b") };
    IDS(adz_tokenizer_encode_fields(with, pair, 2), 2, 4, 3, 5, 3);
    assert_null(adz_tokenizer_encode_fields(with, (const adz_text[3]){ { 0 } }, 3));
    expect_error(ADZ_ERR_ARGUMENT, "3 fields were given");
    assert_int_equal(adz_tokenizer_count(with), 8);
    assert_int_equal(adz_tokenizer_kind(with), ADZ_TOKENS_OTHER);
    assert_false(adz_tokenizer_has_special(with));
    assert_int_equal(adz_tokenizer_id(with, text_of("##c")), 6);
    assert_int_equal(adz_tokenizer_id(with, text_of("c")), -1);
    assert_string_equal(adz_tokenizer_type_of(with)->name, "pretrained");
    adz_scope_close(scope);
    adz_tokenizer_free(&with);
    adz_tokenizer_free(&without);
}

static void rows_are_padded(void **state)
{
    (void)state;
    adz_tokenizer *t = bert();
    adz_scope *scope = adz_scope_open();
    const adz_text texts[] = { text_of("a"), text_of("a b!") };
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    adz_encoding e;
    assert_int_equal(adz_pretrained_encode(t, texts, NULL, 2, NULL, &e), ADZ_OK);
    IDS(e.input_ids, 2, 4, 3, 0, 0, 2, 4, 5, 7, 3);
    IDS(e.attention_mask, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1);
    IDS(e.special_tokens_mask, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1);
    IDS(e.token_type_ids, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    IDS(e.offsets, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 4, 0, 0);
    o.padding_side = ADZ_SIDE_LEFT;
    o.padding = ADZ_PADDING_FIXED;
    o.pad_length = 3;
    o.pad_to_multiple_of = 4;
    o.pad_id = 1;
    assert_int_equal(adz_pretrained_encode(t, texts, NULL, 1, &o, &e), ADZ_OK);
    IDS(e.input_ids, 1, 2, 4, 3);
    IDS(e.attention_mask, 0, 1, 1, 1);
    o.add_special_tokens = false;
    o.padding = ADZ_PADDING_LONGEST;
    o.pad_length = 0;
    o.pad_to_multiple_of = 1;
    assert_int_equal(adz_pretrained_encode(t, texts, texts, 2, &o, &e), ADZ_OK);
    IDS(e.input_ids, 1, 1, 1, 1, 4, 4, 4, 5, 7, 4, 5, 7);
    IDS(e.token_type_ids, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

/* The ids of "a b ! b b" and "b a" with at most `most` tokens. */
static adz_tensor *cut(
    const adz_tokenizer *t, adz_truncation how, int64_t most, adz_side side, bool pair)
{
    const adz_text first = text_of("a b ! b b"), second = text_of("b a");
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    o.truncation = how;
    o.max_length = most;
    o.truncation_side = side;
    adz_encoding e;
    adz_pretrained_encode(t, &first, pair ? &second : NULL, 1, &o, &e);
    return e.input_ids;
}

static void rows_are_cut(void **state)
{
    (void)state;
    adz_tokenizer *t = bert();
    adz_scope *scope = adz_scope_open();
    IDS(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 4, ADZ_SIDE_RIGHT, false), 2, 4, 5, 3);
    IDS(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 4, ADZ_SIDE_LEFT, false), 2, 5, 5, 3);
    IDS(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 2, ADZ_SIDE_RIGHT, false), 2, 3);
    IDS(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 8, ADZ_SIDE_RIGHT, true), 2, 4, 5, 7, 3, 5, 4, 3);
    IDS(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 6, ADZ_SIDE_RIGHT, true), 2, 4, 5, 3, 5, 3);
    IDS(cut(t, ADZ_TRUNCATION_ONLY_FIRST, 7, ADZ_SIDE_RIGHT, true), 2, 4, 5, 3, 5, 4, 3);
    IDS(cut(t, ADZ_TRUNCATION_ONLY_SECOND, 9, ADZ_SIDE_LEFT, true), 2, 4, 5, 7, 5, 5, 3, 4, 3);
    assert_null(cut(t, ADZ_TRUNCATION_ONLY_SECOND, 8, ADZ_SIDE_LEFT, true));
    expect_error(ADZ_ERR_ARGUMENT, "the second text has 2 tokens, too few");
    assert_null(cut(t, ADZ_TRUNCATION_ONLY_SECOND, 4, ADZ_SIDE_LEFT, false));
    expect_error(ADZ_ERR_ARGUMENT, "there is no second text");
    assert_null(cut(t, ADZ_TRUNCATION_LONGEST_FIRST, 1, ADZ_SIDE_LEFT, false));
    expect_error(ADZ_ERR_ARGUMENT, "2 special tokens are added");
    assert_null(cut(t, ADZ_TRUNCATION_AS_FILE, 3, ADZ_SIDE_LEFT, false));
    expect_error(ADZ_ERR_ARGUMENT, "has no effect");
    assert_null(cut(t, ADZ_TRUNCATION_ONLY_FIRST, 0, ADZ_SIDE_LEFT, false));
    expect_error(ADZ_ERR_ARGUMENT, "needs a max_length");
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

static void files_say_how(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(
        "{\"truncation\":{\"direction\":\"Left\",\"max_length\":4,\"strategy\":\"LongestFirst\","
        "\"stride\":0},\"padding\":{\"strategy\":{\"Fixed\":5},\"direction\":\"Left\","
        "\"pad_to_multiple_of\":null,\"pad_id\":1,\"pad_type_id\":7,\"pad_token\":\"[UNK]\"}," BERT
            MODEL "}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    const adz_text text = text_of("a b !");
    adz_encoding e;
    assert_int_equal(adz_pretrained_encode(t, &text, NULL, 1, NULL, &e), ADZ_OK);
    IDS(e.input_ids, 1, 2, 5, 7, 3);
    IDS(e.token_type_ids, 7, 0, 0, 0, 0);
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    o.truncation = ADZ_TRUNCATION_NONE;
    o.padding = ADZ_PADDING_LONGEST;
    assert_int_equal(adz_pretrained_encode(t, &text, NULL, 1, &o, &e), ADZ_OK);
    IDS(e.input_ids, 2, 4, 5, 7, 3);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

/* Bytes that are not UTF-8 are read as Python's errors='replace' reads them. */
static void invalid_bytes_are_replaced(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\xef\xbf\xbd\":1,\"b\":2},\"merges\":[]}}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    /* A cut character is one U+FFFD, bytes that begin none are one each. */
    static const char text[] = "a\xf0\x9f\x98"
                               "b\xff\xe0\x80"
                               "a\xed\xa0\x80\xc3";
    const adz_text one = { text, sizeof text - 1 };
    adz_encoding e;
    IDS(adz_tokenizer_encode(t, one.bytes, one.size), 0, 1, 2, 1, 1, 1, 0, 1, 1, 1, 1);
    assert_int_equal(adz_pretrained_encode(t, &one, NULL, 1, NULL, &e), ADZ_OK);
    IDS(e.offsets, 0, 1, 1, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

#define BPE \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"\xe2\x96\x81\":2},\"merges\":[]}"

/* Spaces that an added token has taken on its right leave nothing of the next one. */
static void spaces_are_taken_once(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(
        "{\"added_tokens\":[{\"id\":3,\"content\":\"\\n\",\"single_word\":false,\"lstrip\":true,"
        "\"rstrip\":true,\"normalized\":false,\"special\":false}]," BPE "}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    const adz_text one = text_of("a\n \nb");
    adz_encoding e;
    IDS(adz_tokenizer_encode(t, one.bytes, one.size), 0, 3, 1);
    assert_int_equal(adz_pretrained_encode(t, &one, NULL, 1, NULL, &e), ADZ_OK);
    IDS(e.input_ids, 0, 3, 1);
    IDS(e.offsets, 0, 1, 1, 4, 4, 5);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

/* What a normalizer has removed counts where a Metaspace asks whether a text begins. */
static void both_encoders_agree(void **state)
{
    (void)state;
    adz_tokenizer *t =
        from_json("{\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false},"
                  "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\","
                  "\"prepend_scheme\":\"first\",\"split\":false}," BPE "}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    const adz_text texts[] = { text_of(" a"), text_of("a") };
    adz_encoding e;
    IDS(adz_tokenizer_encode(t, texts[0].bytes, texts[0].size), 0);
    IDS(adz_tokenizer_encode(t, texts[1].bytes, texts[1].size), 2, 0);
    assert_int_equal(adz_pretrained_encode(t, texts, NULL, 1, NULL, &e), ADZ_OK);
    IDS(e.input_ids, 0);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

/* Tokens are joined by spaces without a decoder, but not behind an empty Sequence. */
static void an_empty_decoder_joins(void **state)
{
    (void)state;
    static const char *const files[] = { "{\"decoder\":null," BPE "}",
        "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[]}," BPE "}" };
    static const char *const wanted[] = { "a b", "ab" };
    for (int i = 0; i < 2; ++i) {
        adz_tokenizer *t = from_json(files[i]);
        assert_non_null(t);
        adz_scope *scope = adz_scope_open();
        char back[8];
        adz_tokenizer_decode(t, adz_tokenizer_encode(t, "ab", 2), back, sizeof back);
        assert_string_equal(back, wanted[i]);
        adz_scope_close(scope);
        adz_tokenizer_free(&t);
    }
}

/* A template without pieces gives no tokens. */
static void an_empty_template_is_empty(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(
        "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\","
        "\"type_id\":0}}],\"pair\":[],\"special_tokens\":{}}," BPE "}");
    assert_non_null(t);
    adz_scope *scope = adz_scope_open();
    const adz_text pair[] = { text_of("a"), text_of("b") };
    adz_encoding e;
    IDS(adz_tokenizer_encode(t, "ab", 2), 0, 1);
    assert_int_equal(adz_tensor_numel(adz_tokenizer_encode_fields(t, pair, 2)), 0);
    assert_int_equal(adz_pretrained_encode(t, pair, pair, 2, NULL, &e), ADZ_OK);
    assert_int_equal(adz_tensor_numel(e.input_ids), 0);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

/* A tokenizer comes back from its own bytes. */
static void files_come_back(void **state)
{
    (void)state;
    adz_tokenizer *t = bert();
    adz_scope *scope = adz_scope_open();
    adz_tensor *bytes = adz_tokenizer_to_memory(t);
    adz_tokenizer *again = adz_pretrained_tokenizer_from_memory(
        adz_tensor_data(bytes), (size_t)adz_tensor_numel(bytes), NULL);
    IDS(adz_tokenizer_encode(again, "bc", 2), 2, 5, 6, 3);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    adz_tokenizer_free(&again);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    adz_tokenizer *t = bert(), *other = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    const adz_text text = text_of("a"), missing = { NULL, 3 };
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    adz_encoding e = { .input_ids = adz_none() };
    assert_int_equal(adz_pretrained_encode(other, &text, NULL, 1, NULL, &e), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "not from adz_pretrained_tokenizer_open");
    assert_null(e.input_ids);
    assert_int_equal(adz_pretrained_encode(t, &text, NULL, 0, NULL, &e), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "needs one text or more");
    assert_int_equal(adz_pretrained_encode(t, &text, &missing, 1, NULL, &e), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "a text");
    assert_int_equal(adz_pretrained_encode(t, NULL, NULL, 1, NULL, &e), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "texts");
    o.pad_id = 8;
    assert_int_equal(adz_pretrained_encode(t, &text, NULL, 1, &o, &e), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "pad_id 8 is outside the 8 tokens");
    o.pad_id = -1;
    o.padding = ADZ_PADDING_FIXED;
    assert_int_equal(adz_pretrained_encode(t, &text, NULL, 1, &o, &e), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "pad_length belongs to");
    adz_tokenizer_free(&t);
    adz_tokenizer_free(&other);
}

int encodings_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_tokens_are_options),
        cmocka_unit_test(rows_are_padded),
        cmocka_unit_test(rows_are_cut),
        cmocka_unit_test(files_say_how),
        cmocka_unit_test(invalid_bytes_are_replaced),
        cmocka_unit_test(spaces_are_taken_once),
        cmocka_unit_test(both_encoders_agree),
        cmocka_unit_test(an_empty_decoder_joins),
        cmocka_unit_test(an_empty_template_is_empty),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
