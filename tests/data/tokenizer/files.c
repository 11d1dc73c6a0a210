/* Tokenizers in files, arguments that are refused, and refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "built.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static void bad_arguments(void **state)
{
    (void)state;
    adz_text empty = { NULL, 0 }, text = text_of("ab");
    adz_tokenizer_options o;
    adz_tokenizer_options_init(&o, sizeof o);
    assert_true(o.max_vocab == 60000 && o.min_freq == 2 && o.rules == NULL && o.include_bos);
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
    assert_string_equal(back, "aa"); /* The third token does not fit into the buffer. */
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    assert_null(adz_tokenizer_encode(NULL, "a", 1));
    assert_int_equal(adz_tokenizer_count(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

static void assert_same(const adz_tokenizer *a, const adz_tokenizer *b)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *one = adz_tokenizer_to_memory(a), *other = adz_tokenizer_to_memory(b);
    assert_true(adz_tensor_numel(one) > 0);
    assert_true(adz_equal(one, other));
    adz_scope_close(scope);
}

static void files_come_back(void **state)
{
    (void)state;
    static const char odd[] = "a\\ \n\r\t\0\x7f\u00e9\u6f22";
    adz_text text = { odd, sizeof odd - 1 };
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_eos = true;
    o.rules = adz_fastai_token_rules();
    for (int i = 0; i < 4; ++i) {
        o.special_tokens = i == 3;
        adz_tokenizer *t = adz_tokenizer_build((adz_token_kind)(i % 3), &text, 1, &o);
        assert_int_equal(adz_tokenizer_save(t, temporary_path("v")), ADZ_OK);
        adz_tokenizer *again = adz_tokenizer_load(temporary_path("v"), adz_fastai_token_rules());
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

/* A file may hold tokens with any bytes, and a vocabulary may have one token alone. */
static void odd_tokens_come_back(void **state)
{
    (void)state;
    static const char special[] =
        "adze tokenizer 1 words special\nxxunk\nxxpad\nxxbos\nxxeos\nxxfld\nxxmaj\nxxup\nxxrep\n"
        "xxwrep\na\\\\b\na\\xc3\n\\xa9\n";
    static const char single[] = "adze tokenizer 1 characters\na\n";
    static const char *const files[] = { special, single };
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tokenizer *t = adz_tokenizer_from_memory(files[i], strlen(files[i]), NULL);
        assert_non_null(t);
        adz_tensor *again = adz_tokenizer_to_memory(t);
        assert_int_equal(adz_tensor_dtype(again), ADZ_U8);
        assert_int_equal(adz_tensor_numel(again), strlen(files[i]));
        assert_memory_equal(adz_tensor_data(again), files[i], strlen(files[i]));
        adz_scope_close(scope);
        if (i == 0) {
            assert_token(t, 9, "a\\b");
        }
        adz_tokenizer_free(&t);
    }
}

/* What stands behind a file in memory does not complete its last token. */
static void the_size_ends_the_file(void **state)
{
    (void)state;
    static const char *const files[] = { "adze tokenizer 1 characters\n\\\\",
        "adze tokenizer 1 characters\n\\x61" };
    for (int i = 0; i < 2; ++i) {
        const size_t size = strlen(files[i]);
        adz_tokenizer *t = adz_tokenizer_from_memory(files[i], size, NULL);
        assert_token(t, 0, i == 0 ? "\\" : "a");
        adz_tokenizer_free(&t);
        assert_null(adz_tokenizer_from_memory(files[i], size - 1, NULL));
        expect_error(ADZ_ERR_FORMAT, "line 2: a backslash");
    }
}

/* A buffer of any size gets as much of the text as fits, a zero byte, and nothing behind it. */
static void buffers_of_any_size(void **state)
{
    (void)state;
    static const char wanted[] = "hello , world";
    adz_tokenizer *t = built(ADZ_TOKENS_WORDS, wanted);
    int64_t tensors = adzi_live_tensors();
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(t, wanted, strlen(wanted));
    int64_t with_ids = adzi_live_tensors();
    for (size_t size = 0; size <= sizeof wanted + 1; ++size) {
        char buffer[32], whole[32];
        memset(buffer, 'x', sizeof buffer);
        memset(whole, 'x', sizeof whole);
        if (size > 0) {
            snprintf(whole + 8, size, "%s", wanted);
        }
        assert_int_equal(adz_tokenizer_decode(t, ids, buffer + 8, size), strlen(wanted));
        assert_memory_equal(buffer, whole, sizeof buffer);
        assert_int_equal(adzi_live_tensors(), with_ids); /* It leaves no tensor behind. */
    }
    expect_null(
        adz_tokenizer_decode(NULL, NULL, NULL, 0) == 0, "adz_tokenizer_decode", "tokenizer");
    adz_scope_close(scope);
    assert_int_equal(adzi_live_tensors(), tensors);
    assert_int_equal(adz_tokenizer_id(NULL, text_of("a")), -1);
    adz_tokenizer_free(&t);
    expect_null(adz_tokenizer_save(NULL, "no") == ADZ_ERR_NULL, "adz_tokenizer_save", "tokenizer");
    expect_null(adz_tokenizer_to_memory(NULL) == NULL, "adz_tokenizer_to_memory", "tokenizer");
}

static void file_is_legible(void **state)
{
    (void)state;
    adz_tokenizer *t = built(ADZ_TOKENS_CHARACTERS, "b\n \\\u00e9");
    adz_tokenizer_save(t, temporary_path("w"));
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("w"), &size);
    bytes[size] = '\0';
    assert_string_equal((char *)bytes, "adze tokenizer 1 characters\n\\x0a\n \n\\\\\nb\n\u00e9\n");
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
        { "adze tokenizer 1 signs\n", "line 1: the kind must be characters, bytes or words" },
        { "adze tokenizer 1 words\na\n", "line 1: the flags do not fit this kind of tokenizer" },
        { "adze tokenizer 1 bytes special\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters rules\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters bos\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters eos\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters fields\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters more\na\n", "line 1: the flags" },
        { "adze tokenizer 1 characters\n", "line 1: tokens are missing" },
        { "adze tokenizer 1 characters\na\n\nb\n", "line 3: the token is empty" },
        { "adze tokenizer 1 characters\na\nb\na\n",
            "line 4: the token occurs for the second time" },
        { "adze tokenizer 1 characters\nab\n", "line 2: the token must be one character" },
        { "adze tokenizer 1 characters\n\\xff\n", "line 2: the token must be one character" },
        { "adze tokenizer 1 characters\n\\n\n", "line 2: a backslash" },
        { "adze tokenizer 1 characters\n\\x0G\n", "line 2: a backslash" },
        { "adze tokenizer 1 characters\n\\x0", "line 2: a backslash" },
        { "adze tokenizer 1 characters\n\\q61\n", "line 2: a backslash" },
        { "adze tokenizer 1 words special\nxxunk\nxxbos\n", "line 3: the special tokens" },
        { "adze tokenizer 1 words special\nxxunk\n", "line 2: tokens are missing" },
        { "adze tokenizer 1 bytes\n\\x00\n\\x02\n", "line 3: the bytes" },
        { "adze tokenizer 1 bytes\n\\x00\n", "line 2: tokens are missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file(temporary_path("bad"), cases[i][0], strlen(cases[i][0]));
        assert_null(adz_tokenizer_load(temporary_path("bad"), adz_fastai_token_rules()));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        if (strstr(adz_error_message(), cases[i][1]) == NULL) {
            fail_msg("%zu: %s", i, adz_error_message());
        }
        adz_error_clear();
    }
    assert_null(adz_tokenizer_load(temporary_path("none"), adz_fastai_token_rules()));
    assert_int_equal(adz_error_code(), ADZ_ERR_IO);
    adz_error_clear();
    assert_null(adz_tokenizer_load(NULL, NULL));
    assert_null(adz_tokenizer_from_memory(NULL, 0, NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

/* ---- refused memory ------------------------------------------------------------------------- */

static const char *const sample = "Some text, some more text; &eacute; SOME aaaa words don't.";

static adz_status build_and_save(void *user)
{
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.rules = adz_fastai_token_rules();
    adz_text text = text_of(sample);
    adz_tokenizer *t = adz_tokenizer_build(*(adz_token_kind *)user, &text, 1, &o);
    adz_status status = t == NULL ? adz_error_code() : adz_tokenizer_save(t, temporary_path("m"));
    adz_tokenizer_free(&t);
    return status;
}

static adz_status load_and_use(void *user)
{
    (void)user;
    adz_tokenizer *t = adz_tokenizer_load(temporary_path("m"), adz_fastai_token_rules());
    adz_scope *scope = t == NULL ? NULL : adz_scope_open();
    if (scope == NULL) {
        adz_tokenizer_free(&t);
        return adz_error_code() != ADZ_OK ? adz_error_code() : ADZ_ERR_MEMORY;
    }
    char back[256];
    adz_tensor *ids = adz_tokenizer_encode(t, sample, strlen(sample));
    adz_token_stream *stream = ids == NULL ? NULL : adz_token_stream_new(t);
    bool good = stream != NULL && adz_tokenizer_decode(t, ids, back, sizeof back) > 0 &&
                adz_tokenizer_to_memory(t) != NULL &&
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
    assert_int_equal(temporary_files(false), 4); /* The files v, w, bad and m; no temporary file. */
}

int files_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(odd_tokens_come_back),
        cmocka_unit_test(the_size_ends_the_file),
        cmocka_unit_test(buffers_of_any_size),
        cmocka_unit_test(file_is_legible),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests_name("tokenizer: files", tests, temporary_begin, temporary_end);
}
