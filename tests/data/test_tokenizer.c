/* Tokenizers: fastai's rules, vocabularies, files, and the way there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/data/tokenizer.h"
#include "data/unicode.h"
#include "../errors.h"
#include "../temporary.h"
#include "tensor/tensor.h"

static adz_text text_of(const char *text)
{
    return (adz_text){ text, strlen(text) };
}

/* A tokenizer of one text. Words: everything, without xxbos. */
static adz_tokenizer *built(adz_token_kind kind, const char *text)
{
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_bos = false;
    adz_text one = text_of(text);
    return adz_tokenizer_build(kind, &one, 1, &o);
}

static void assert_token(const adz_tokenizer *t, int64_t id, const char *wanted)
{
    adz_text token = adz_tokenizer_token(t, id);
    assert_int_equal(token.size, strlen(wanted));
    assert_memory_equal(token.bytes, wanted, token.size);
}

/* What a text is decoded to after it was encoded; to be freed. */
static char *there_and_back(const adz_tokenizer *t, const char *text, size_t size, size_t *length)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(t, text, size);
    assert_non_null(ids);
    assert_int_equal(adz_tensor_dtype(ids), ADZ_I64);
    *length = adz_tokenizer_decode(t, ids, NULL, 0);
    char *back = malloc(*length + 1);
    assert_int_equal(adz_tokenizer_decode(t, ids, back, *length + 1), *length);
    assert_int_equal(back[*length], 0);
    adz_scope_close(scope);
    return back;
}

static void assert_words(const char *text, const char *wanted)
{
    size_t length;
    adz_tokenizer *t = built(ADZ_TOKENS_WORDS, text);
    assert_non_null(t);
    char *words = there_and_back(t, text, strlen(text), &length);
    assert_string_equal(words, wanted);
    free(words);
    adz_tokenizer_free(&t);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void rules_are_fastai_s(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "Some &amp;lt; html#39;s", "xxmaj some & < html 's" },
        { "&#39;x", "& ' x" }, /* as there: the number goes before the sign */
        { "caf&eacute; &#233;&#xE9; &#150; &notit; &hearts;",
            "caf\u00e9 \u00e9\u00e9 \u2013 \u00ac it ; \u2665" },
        { "&#0;&#xd800;&#99999999; &unknown;", "\ufffd\ufffd\ufffd & unknown ;" },
        { "&#4294967361;&#x100000041;&#18446744073709551681;", "\ufffd\ufffd\ufffd" },
        { "&#1114111;&#1114112;x", "\ufffd x" }, /* the last number there is means nothing here */
        { "<br />a\\nb", "\n a \n b" },
        { "3 @.@ 5 @,@ well @-@ known", "3.5 , well - known" },
        { "a \\ b <unk>", "a \\ b xxunk" },
        { "soooo!!!!", "s xxrep 4 o xxrep 4 !" },
        { "sooo!!!", "sooo !!!" },
        { "a\t\t\t\t\tb\u00a0\u00a0\u00a0\u00a0c",
            "a b c" }, /* white space does not count as repeated */
        { "a\n\n\n\nb", "a \n \n \n \n b" },
        { "no no no no more", "xxwrep 4 no more" },
        { "no no no more", "no no no more" },
        { "ha-ha-ha-ha-!", "xxwrep 2 ha - !" }, /* white space counts the repetitions */
        { "a/b#c", "a / b # c" },
        { "HELLO Hello hello I A1 McX", "xxup hello xxmaj hello hello i xxup a1 mcx" },
        { "\u00c9t\u00e9 \u00c9T\u00c9 \u0416\u0436",
            "xxmaj \u00e9t\u00e9 xxup \u00e9t\u00e9 xxmaj \u0436\u0436" },
        { "   spaced    out   ", "spaced out" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_words(cases[i][0], cases[i][1]);
    }
}

static void splitting_is_documented(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "it's o'clock 'tis", "it 's o 'clock ' tis" },
        { "don't can't won\u2019t n't", "do n't ca n't wo n\u2019t n 't" },
        { "y'all've it'll", "y 'all 've it 'll" },
        { "3.14, 1,000. 5.", "3.14 , 1,000 . 5 ." },
        { "wait... well-known--yes?!", "wait ... well - known -- yes ? !" },
        { "x_1 e\u0301t\u00e9\t\u2003z", "x_1 e\u0301t\u00e9 z" },
        { "\u6f22\u5b57\u3002", "\u6f22\u5b57 \u3002" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_words(cases[i][0], cases[i][1]);
    }
}

static void words_without_rules(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.rules = false;
    o.include_eos = true;
    o.min_freq = 1;
    adz_text text = text_of("Ab aaaa");
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, &text, 1, &o);
    size_t length;
    char *words = there_and_back(t, text.bytes, text.size, &length);
    assert_string_equal(words, "xxbos Ab aaaa xxeos");
    free(words);
    adz_tokenizer_free(&t);
}

static void vocabulary_of_words(void **state)
{
    (void)state;
    adz_text texts[] = { text_of("b a c a"), text_of("c d d a zz") };
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, NULL);
    assert_int_equal(adz_tokenizer_size(t), 12); /* a; then c and d, twice each */
    assert_true(adz_tokenizer_has_special(t));
    static const char *const wanted[] = { "xxunk", "xxpad", "xxbos", "xxeos", "xxfld", "xxmaj",
        "xxup", "xxrep", "xxwrep", "a", "c", "d" };
    for (int64_t i = 0; i < 12; ++i) {
        assert_token(t, i, wanted[i]);
        assert_int_equal(adz_tokenizer_find(t, text_of(wanted[i])), i);
    }
    assert_int_equal(adz_tokenizer_find(t, text_of("b")), -1);
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(t, "A zz d", 6);
    static const int64_t numbers[] = { ADZ_XXBOS, 9, ADZ_XXUNK, 11 };
    assert_int_equal(adz_tensor_numel(ids), 4);
    assert_memory_equal(adz_tensor_data_i64(ids), numbers, sizeof numbers);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);

    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.max_vocab = 10;
    t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, &o);
    assert_int_equal(adz_tokenizer_size(t), 10);
    assert_token(t, 9, "a");
    adz_tokenizer_free(&t);
}

static void fields_are_marked(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.mark_fields = true;
    o.n_fields = 2;
    adz_text texts[] = { text_of("title"), text_of("body"), text_of("other"), text_of("one") };
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 4, &o);
    adz_scope *scope = adz_scope_open();
    char back[64];
    adz_tokenizer_decode(t, adz_tokenizer_encode_fields(t, texts, 2), back, sizeof back);
    assert_string_equal(back, "xxbos xxfld 1 title xxfld 2 body");
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 3, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
}

/* ---- characters and bytes ------------------------------------------------------------------- */

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
    assert_int_equal(adz_tokenizer_size(t), 4);
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
    assert_int_equal(adz_tokenizer_size(t), 11);
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
}

static void bad_arguments(void **state)
{
    (void)state;
    adz_text empty = { NULL, 0 }, text = text_of("ab");
    adz_tokenizer_options o;
    adz_tokenizer_options_init(&o, sizeof o);
    assert_true(o.max_vocab == 60000 && o.min_freq == 2 && o.rules && o.include_bos);
    assert_null(adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &empty, 1, NULL));
    assert_non_null(strstr(adz_error_message(), "the texts are empty"));
    adz_error_clear();
    o.max_vocab = 8;
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, &text, 1, &o));
    o.max_vocab = 9;
    o.min_freq = 0;
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, &text, 1, &o));
    assert_null(adz_tokenizer_build((adz_token_kind)7, &text, 1, NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, NULL, 1, NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();

    adz_tokenizer *t = built(ADZ_TOKENS_CHARACTERS, "ab");
    adz_scope *scope = adz_scope_open();
    char back[4] = "old";
    static const int64_t outside[] = { 0, 2 };
    assert_int_equal(
        adz_tokenizer_decode(t, adz_tensor_from(outside, ADZ_SHAPE(2), ADZ_I64), back, sizeof back),
        0);
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    assert_non_null(strstr(adz_error_message(), "id 2 is outside the vocabulary's 2 tokens"));
    assert_string_equal(back, "");
    adz_error_clear();
    assert_int_equal(adz_tokenizer_decode(t, adz_zeros(ADZ_SHAPE(2), ADZ_F32), NULL, 0), 0);
    assert_int_equal(adz_error_code(), ADZ_ERR_DTYPE);
    adz_error_clear();
    assert_null(adz_tokenizer_token(t, -1).bytes);
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    assert_int_equal(adz_tokenizer_decode(t, adz_zeros(ADZ_SHAPE(2, 2), ADZ_I32), back, 3), 4);
    assert_string_equal(back, "aa"); /* cut to fit */
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    assert_null(adz_tokenizer_encode(NULL, "a", 1));
    assert_int_equal(adz_tokenizer_size(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

/* ---- streams -------------------------------------------------------------------------------- */

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
    assert_next(s, 0x80, "\ufffd"); /* begins nothing */
    assert_next(s, 0xe6, "");
    assert_next(s, 'b',
        "\ufffd"
        "b"); /* broken off */
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

/* ---- files ---------------------------------------------------------------------------------- */

static void assert_same(const adz_tokenizer *a, const adz_tokenizer *b)
{
    size_t n = adz_tokenizer_to_memory(a, NULL, 0);
    assert_true(n > 0);
    assert_int_equal(adz_tokenizer_to_memory(b, NULL, 0), n);
    char *one = malloc(n), *other = malloc(n);
    adz_tokenizer_to_memory(a, one, n);
    adz_tokenizer_to_memory(b, other, n);
    assert_memory_equal(one, other, n);
    free(one);
    free(other);
}

static void files_come_back(void **state)
{
    (void)state;
    static const char odd[] = "a\\ \n\r\t\0\x7f\u00e9\u6f22";
    adz_text text = { odd, sizeof odd - 1 };
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_eos = true;
    for (int i = 0; i < 4; ++i) {
        o.special_tokens = i == 3;
        adz_tokenizer *t = adz_tokenizer_build((adz_token_kind)(i % 3), &text, 1, &o);
        assert_int_equal(adz_tokenizer_save(t, temporary_path("v")), ADZ_OK);
        adz_tokenizer *again = adz_tokenizer_load(temporary_path("v"));
        assert_non_null(again);
        assert_same(t, again);
        assert_int_equal(adz_tokenizer_kind(again), i % 3);
        size_t length, wanted;
        char *one = there_and_back(t, text.bytes, text.size, &wanted);
        char *back = there_and_back(again, text.bytes, text.size, &length);
        assert_int_equal(length, wanted);
        assert_memory_equal(one, back, length);
        free(one);
        free(back);
        adz_tokenizer_free(&t);
        adz_tokenizer_free(&again);
    }
}

static void file_is_legible(void **state)
{
    (void)state;
    adz_tokenizer *t = built(ADZ_TOKENS_CHARACTERS, "b\n\\\u00e9");
    adz_tokenizer_save(t, temporary_path("w"));
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("w"), &size);
    bytes[size] = '\0';
    assert_string_equal((char *)bytes, "adze tokenizer 1 characters\n\\x0a\n\\\\\nb\n\u00e9\n");
    free(bytes);
    assert_int_equal(adz_tokenizer_save(t, "no/such/folder/w"), ADZ_ERR_IO);
    adz_error_clear();
    adz_tokenizer_free(&t);
}

static void bad_files(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "line 1: this is no tokenizer" },
        { "adze tokenizer 2 words\n", "line 1: this is no tokenizer" },
        { "adze tokenizer 1 signs\n", "line 1: characters, bytes or words" },
        { "adze tokenizer 1 words\na\n", "line 1: these words do not go together" },
        { "adze tokenizer 1 bytes special\na\n", "line 1: these words" },
        { "adze tokenizer 1 characters rules\na\n", "line 1: these words" },
        { "adze tokenizer 1 characters more\na\n", "line 1: these words" },
        { "adze tokenizer 1 characters\n", "line 1: tokens are missing" },
        { "adze tokenizer 1 characters\na\n\nb\n", "line 3: an empty token" },
        { "adze tokenizer 1 characters\na\nb\na\n", "line 4: a token that came before" },
        { "adze tokenizer 1 characters\nab\n", "line 2: this is not one character" },
        { "adze tokenizer 1 characters\n\\xff\n", "line 2: this is not one character" },
        { "adze tokenizer 1 characters\n\\n\n", "line 2: a backslash" },
        { "adze tokenizer 1 characters\n\\x0G\n", "line 2: a backslash" },
        { "adze tokenizer 1 characters\n\\x0", "line 2: a backslash" },
        { "adze tokenizer 1 words special\nxxunk\nxxbos\n", "line 3: the special tokens" },
        { "adze tokenizer 1 words special\nxxunk\n", "line 2: tokens are missing" },
        { "adze tokenizer 1 bytes\n\\x00\n\\x02\n", "line 3: the bytes" },
        { "adze tokenizer 1 bytes\n\\x00\n", "line 2: tokens are missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file(temporary_path("bad"), cases[i][0], strlen(cases[i][0]));
        assert_null(adz_tokenizer_load(temporary_path("bad")));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        if (strstr(adz_error_message(), cases[i][1]) == NULL) {
            fail_msg("%zu: %s", i, adz_error_message());
        }
        adz_error_clear();
    }
    assert_null(adz_tokenizer_load(temporary_path("none")));
    assert_int_equal(adz_error_code(), ADZ_ERR_IO);
    adz_error_clear();
    assert_null(adz_tokenizer_load(NULL));
    assert_null(adz_tokenizer_from_memory(NULL, 0));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

/* ---- refused memory ------------------------------------------------------------------------- */

static const char *const sample = "Some text, some more text; &eacute; SOME aaaa words don't.";

static adz_status build_and_save(void *user)
{
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    adz_text text = text_of(sample);
    adz_tokenizer *t = adz_tokenizer_build(*(adz_token_kind *)user, &text, 1, &o);
    adz_status status = t == NULL ? adz_error_code() : adz_tokenizer_save(t, temporary_path("m"));
    adz_tokenizer_free(&t);
    return status;
}

static adz_status load_and_use(void *user)
{
    (void)user;
    adz_tokenizer *t = adz_tokenizer_load(temporary_path("m"));
    adz_scope *scope = t == NULL ? NULL : adz_scope_open();
    if (scope == NULL) {
        adz_tokenizer_free(&t);
        return adz_error_code() != ADZ_OK ? adz_error_code() : ADZ_ERR_MEMORY;
    }
    char back[256];
    adz_tensor *ids = adz_tokenizer_encode(t, sample, strlen(sample));
    adz_token_stream *stream = ids == NULL ? NULL : adz_token_stream_new(t);
    bool good = stream != NULL && adz_tokenizer_decode(t, ids, back, sizeof back) > 0 &&
                adz_tokenizer_to_memory(t, back, sizeof back) > 0 &&
                adz_token_stream_next(stream, 10).bytes != NULL;
    adz_token_stream_free(&stream);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    return good ? ADZ_OK : adz_error_code();
}

static void refused_memory(void **state)
{
    (void)state;
    for (adz_token_kind kind = ADZ_TOKENS_CHARACTERS; kind <= ADZ_TOKENS_WORDS; ++kind) {
        assert_true(refuse_each(build_and_save, NULL, &kind) > 3);
        assert_int_equal(load_and_use(NULL), ADZ_OK);
        assert_true(refuse_each(load_and_use, NULL, NULL) > 5);
    }
    assert_int_equal(temporary_files(false), 4); /* v, w, bad and m: nothing temporary */
}

/* ---- characters of Unicode ------------------------------------------------------------------ */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_fastai_s),
        cmocka_unit_test(splitting_is_documented),
        cmocka_unit_test(words_without_rules),
        cmocka_unit_test(vocabulary_of_words),
        cmocka_unit_test(fields_are_marked),
        cmocka_unit_test(characters_and_bytes_come_back),
        cmocka_unit_test(characters_in_order),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(streams_give_whole_characters),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(file_is_legible),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(kinds_of_characters),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
