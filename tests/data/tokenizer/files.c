/* Tokenizers in files, arguments that are refused, and refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "built.h"
#include "../../temporary.h"
#include "tests.h"

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
    assert_string_equal(back, "aa"); /* The third token does not fit into the buffer. */
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
    assert_null(adz_tokenizer_encode(NULL, "a", 1));
    assert_int_equal(adz_tokenizer_size(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

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
    assert_int_equal(temporary_files(false), 4); /* The files v, w, bad and m; no temporary file. */
}

int files_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(file_is_legible),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests_name("tokenizer: files", tests, temporary_begin, temporary_end);
}
