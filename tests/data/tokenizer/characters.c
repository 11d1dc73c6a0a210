/* Tokenizers of characters and bytes, streams of tokens, and the classes of Unicode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/unicode.h"
#include "built.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static void characters_and_bytes_come_back(void **state)
{
    (void)state;
    static const char text[] = "To be, \u00e9\u6f22\U0001f600\0or not\r\n\\x\x7f";
    adz_text one = { text, sizeof text - 1 };
    for (adz_token_kind kind = ADZ_TOKENS_CHARACTERS; kind <= ADZ_TOKENS_BYTES; ++kind) {
        adz_tokenizer *t = adz_tokenizer_build(kind, &one, 1, NULL);
        assert_int_equal(adz_tokenizer_kind(t), kind);
        size_t length;
        char *back = there_and_back(t, one.bytes, one.size, &length);
        assert_int_equal(length, one.size);
        assert_memory_equal(back, one.bytes, length);
        free(back);
        adz_tokenizer_free(&t);
    }
}

static void characters_in_order(void **state)
{
    (void)state;
    adz_tokenizer *t = built(ADZ_TOKENS_CHARACTERS, "\u6f22b\u00e9ab");
    assert_int_equal(adz_tokenizer_count(t), 4);
    static const char *const wanted[] = { "a", "b", "\u00e9", "\u6f22" };
    for (int64_t i = 0; i < 4; ++i) {
        assert_token(t, i, wanted[i]);
    }
    assert_null(adz_tokenizer_encode(t, "ab\u00e9\u00fc", 6));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "'\u00fc' (U+00FC) at byte 4");
    adz_tokenizer_free(&t);

    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.special_tokens = true;
    adz_text text = text_of("zzbbax");
    t = adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &text, 1, &o);
    assert_int_equal(adz_tokenizer_count(t), 11);
    assert_token(t, 9, "b");
    assert_token(t, 10, "z");
    adz_scope *scope = adz_scope_open();
    assert_int_equal(adz_tensor_data_i64(adz_tokenizer_encode(t, "a", 1))[0], ADZ_XXUNK);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *at;
    } cases[] = {
        { "ab\x80", "byte 2 (0x80)" },
        { "a\xc0\x80", "byte 1 (0xc0)" },
        { "\xe0\x80\x80", "byte 0" },
        { "ok\xed\xa0\x80", "byte 2" },
        { "\xf4\x90\x80\x80", "byte 0" },
        { "\xf5", "byte 0" },
        { "abc\xe6\xbc", "byte 3" },
    };
    adz_tokenizer *letters = built(ADZ_TOKENS_CHARACTERS, "abcok");
    adz_tokenizer *words = built(ADZ_TOKENS_WORDS, "abc");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_text text = text_of(cases[i].text);
        assert_null(adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &text, 1, NULL));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        assert_non_null(strstr(adz_error_message(), cases[i].at));
        adz_error_clear();
        assert_null(adz_tokenizer_encode(letters, text.bytes, text.size));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        adz_error_clear();
        assert_null(adz_tokenizer_encode(words, text.bytes, text.size));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        adz_error_clear();
    }
    adz_tokenizer_free(&letters);
    adz_tokenizer_free(&words);
    adz_text both[] = { text_of("ab"), text_of("\x80") };
    assert_null(adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, both, 2, NULL));
    expect_error(ADZ_ERR_FORMAT, "text 1 is not UTF-8 at byte 0 (0x80)");
    assert_null(adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &both[1], 1, NULL));
    expect_error(ADZ_ERR_FORMAT, "the text is not UTF-8 at byte 0 (0x80)");
}

static void assert_next(adz_token_stream *stream, int64_t id, const char *wanted)
{
    adz_text text = adz_token_stream_next(stream, id);
    assert_non_null(text.bytes);
    assert_int_equal(text.size, strlen(wanted));
    assert_string_equal(text.bytes, wanted);
}

static void streams_give_whole_characters(void **state)
{
    (void)state;
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    adz_token_stream *s = adz_token_stream_new(t);
    assert_next(s, 'a', "a");
    assert_next(s, 0xe6, "");
    assert_next(s, 0xbc, "");
    assert_next(s, 0xa2, "\u6f22");
    assert_next(s, 0x80, "\ufffd"); /* A continuation byte cannot begin a character. */
    assert_next(s, 0xe6, "");
    assert_next(s, 'b', "\ufffd" /* for the incomplete character before it */ "b");
    assert_next(s, 0xf0, "");
    assert_next(s, 0xc3, "\ufffd");
    assert_next(s, 0xa9, "\u00e9");
    assert_next(s, 0xf0, "");
    assert_string_equal(adz_token_stream_end(s).bytes, "\ufffd");
    assert_int_equal(adz_token_stream_end(s).size, 0);
    assert_next(s, 'c', "c");
    assert_null(adz_token_stream_next(s, 256).bytes);
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    assert_next(s, 'd', "d");
    adz_token_stream_free(&s);
    adz_tokenizer_free(&t);

    t = built(ADZ_TOKENS_WORDS, "one two");
    s = adz_token_stream_new(t);
    assert_next(s, 9, "one");
    assert_next(s, 10, " two");
    adz_token_stream_end(s);
    assert_next(s, 10, "two");
    adz_token_stream_free(&s);
    adz_tokenizer_free(&t);
}

/* A stream that was refused memory is as it was before the call. */
static void streams_survive_refused_memory(void **state)
{
    (void)state;
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    for (int i = 0; i < 2; ++i) {
        adz_token_stream *s = adz_token_stream_new(t);
        assert_next(s, 0xe6, "");
        if (i == 1) {
            assert_next(s, 0xbc, "");
        }
        adzi_alloc_fail_at(1);
        assert_null(adz_token_stream_next(s, i == 0 ? 'b' : 0xa2).bytes);
        adzi_alloc_fail_at(0);
        expect_error(ADZ_ERR_MEMORY, "adz_token_stream_next: memory was refused");
        if (i == 0) {
            assert_next(s, 0xbc, "");
        }
        assert_next(s, 0xa2, "\u6f22");
        adz_token_stream_free(&s);
    }
    adz_tokenizer_free(&t);
    t = built(ADZ_TOKENS_WORDS, "one two");
    adz_token_stream *s = adz_token_stream_new(t);
    adzi_alloc_fail_at(1);
    assert_null(adz_token_stream_next(s, 9).bytes);
    adzi_alloc_fail_at(0);
    adz_error_clear();
    assert_next(s, 9, "one");
    adz_token_stream_free(&s);
    adz_tokenizer_free(&t);
    expect_null(adz_token_stream_new(NULL) == NULL, "adz_token_stream_new", "tokenizer");
    expect_null(adz_token_stream_next(NULL, 0).bytes == NULL, "adz_token_stream_next", "stream");
    expect_null(adz_token_stream_end(NULL).bytes == NULL, "adz_token_stream_end", "stream");
}

/* White space is what Python's str.isspace says it is. */
static void white_space_is_pythons(void **state)
{
    (void)state;
    static const uint32_t alone[] = { 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 };
    for (uint32_t point = 0; point <= 0x10ffff; ++point) {
        bool space = (point > 0x08 && point < 0x0e) || (point > 0x1b && point < 0x21) ||
                     (point > 0x1fff && point < 0x200b);
        for (size_t i = 0; i < sizeof alone / sizeof *alone; ++i) {
            space = space || point == alone[i];
        }
        assert_int_equal(adzi_is_space(point), space);
    }
}

/* The first and the last characters of ASCII's ranges, and of ranges of the tables. */
static void ranges_have_ends(void **state)
{
    (void)state;
    static const char ends[] = "09AZaz", outside[] = "/:@[`{";
    for (size_t i = 0; i < 6; ++i) {
        uint32_t in = (uint32_t)ends[i], out = (uint32_t)outside[i];
        assert_true(adzi_is_alphanumeric(in) && !adzi_is_alphanumeric(out));
        assert_int_equal(adzi_is_upper(in), i == 2 || i == 3);
        assert_int_equal(adzi_is_lower(in), i > 3);
        assert_false(adzi_is_upper(out) || adzi_is_lower(out) || adzi_is_mark(in));
        assert_int_equal(adzi_to_lower(in), i == 2 ? 'a' : i == 3 ? 'z' : in);
        assert_int_equal(adzi_to_lower(out), out);
    }
    assert_true(adzi_is_upper(0xc0) && adzi_is_upper(0xde) && !adzi_is_upper(0xdf));
    assert_int_equal(adzi_to_lower(0xc0), 0xe0);
    assert_int_equal(adzi_to_lower(0xde), 0xfe);
    assert_true(adzi_is_mark(0x300) && adzi_is_mark(0x36f) && !adzi_is_mark(0x370));
    assert_true(adzi_is_alphanumeric(0xaa) && !adzi_is_alphanumeric(0xab));
    assert_false(adzi_is_alphanumeric(0x10ffff) || adzi_is_mark(0x10ffff));
    assert_false(adzi_is_upper(0x10ffff) || adzi_is_lower(0x10ffff));
}

/* A character that is cut off at the end of a text is not UTF-8, whatever stands behind it. */
static void texts_end_where_they_end(void **state)
{
    (void)state;
    static const char text[] = "a\u00e9b";
    assert_int_equal(adzi_utf8_valid(text, 4), 4);
    assert_int_equal(adzi_utf8_valid(text, 2), 1);
    assert_int_equal(adzi_utf8_before(text, text + 1), 'a');
    assert_int_equal(adzi_utf8_before(text, text + 3), 0xe9);
    assert_int_equal(adzi_utf8_before(text, text + 4), 'b');
}

static void kinds_of_characters(void **state)
{
    (void)state;
    assert_true(adzi_is_upper('Z') && !adzi_is_upper('z') && adzi_is_upper(0x416));
    assert_true(adzi_is_lower(0xdf) && !adzi_is_lower(0xd7) && adzi_is_lower(0x101));
    assert_false(adzi_is_lower(0x100));
    assert_true(adzi_is_alphanumeric(0x6f22) && !adzi_is_alphanumeric(0x3002));
    assert_true(adzi_is_mark(0x301) && adzi_is_space(0x2003) && !adzi_is_space(0x200b));
    assert_int_equal(adzi_to_lower(0x100), 0x101);
    assert_int_equal(adzi_to_lower(0x101), 0x101);
    assert_int_equal(adzi_to_lower(0x10400), 0x10428);
    assert_int_equal(adzi_to_lower(0x10ffff), 0x10ffff);
    for (uint32_t point = 0; point <= 0x10ffff; ++point) {
        char bytes[4];
        uint32_t back = 0;
        if (point == 0xd800) {
            point = 0xe000;
        }
        size_t n = adzi_utf8_write(point, bytes);
        assert_int_equal(adzi_utf8_read(bytes, n, &back), n);
        assert_int_equal(back, point);
        assert_int_equal(n > 1 ? adzi_utf8_read(bytes, n - 1, &back) : 0, 0);
    }
}

int characters_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_and_bytes_come_back),
        cmocka_unit_test(characters_in_order),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(streams_give_whole_characters),
        cmocka_unit_test(streams_survive_refused_memory),
        cmocka_unit_test(white_space_is_pythons),
        cmocka_unit_test(ranges_have_ends),
        cmocka_unit_test(texts_end_where_they_end),
        cmocka_unit_test(kinds_of_characters),
    };
    return cmocka_run_group_tests_name(
        "tokenizer: characters", tests, temporary_begin, temporary_end);
}
