/* Tokenizers of a type of the program's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../errors.h"
#include "adze/data/tokenizer_type.h"
#include "built.h"
#include "tests.h"

/* What a pair tokenizer has in its state: every two bytes are a token, whose number is that of the
 * first byte. */
typedef struct pairs {
    int ended; /* where `end` is counted */
} pairs;

static int ended;

static bool pairs_encode(const char *op, const adz_tokenizer *self, const adz_text *fields,
    size_t n, adz_ids_put put, void *to)
{
    (void)self;
    for (size_t i = 0; i < n; ++i) {
        if (fields[i].size % 2 != 0) {
            adz_error_set(op, ADZ_ERR_ARGUMENT, "a byte has no partner");
            return false;
        }
        for (size_t k = 0; k < fields[i].size; k += 2) {
            const int64_t id = fields[i].bytes[k] - 'a';
            if (id == 25) {
                return false; /* without an error */
            }
            if (!put(to, &id, 1)) {
                return false;
            }
        }
    }
    return true;
}

static int64_t pairs_count(const adz_tokenizer *self)
{
    (void)self;
    return 26;
}

static adz_text pairs_token(const adz_tokenizer *self, int64_t id)
{
    (void)self;
    static const char halves[] = "\xc3\xa4\xc3\xb6\xc3\xbc"; /* a-umlaut and so on, in halves */
    return (adz_text){ halves + id % 6, 1 };
}

static int64_t pairs_id(const adz_tokenizer *self, adz_text token)
{
    (void)self;
    return token.size == 1 ? 0 : -1;
}

static void pairs_end(adz_tokenizer *self)
{
    ended += ((pairs *)adz_tokenizer_data(self))->ended;
}

static bool pairs_write(const char *op, const adz_tokenizer *self, adz_token_put put, void *to)
{
    (void)op;
    (void)self;
    return put(to, text_of("pa")) && put(to, text_of("irs"));
}

static adz_tokenizer_type type_of_ours(void)
{
    return (adz_tokenizer_type){ .size = sizeof(adz_tokenizer_type),
        .name = "pairs",
        .encode = pairs_encode,
        .count = pairs_count,
        .token = pairs_token,
        .id = pairs_id,
        .end = pairs_end };
}

static void calls_go_to_the_type(void **state)
{
    (void)state;
    adz_tokenizer_type type = type_of_ours();
    adz_tokenizer *t = adz_tokenizer_new(&type, sizeof(pairs));
    assert_non_null(t);
    ((pairs *)adz_tokenizer_data(t))->ended = 3;
    assert_ptr_equal(adz_tokenizer_type_of(t), &type);
    assert_int_equal(adz_tokenizer_kind(t), ADZ_TOKENS_OTHER);
    assert_int_equal(adz_tokenizer_count(t), 26);
    assert_false(adz_tokenizer_has_special(t));
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(t, "axbx", 4);
    assert_int_equal(adz_tensor_numel(ids), 2);
    assert_int_equal(adz_tensor_data_i64(ids)[1], 1);
    char back[8];
    assert_int_equal(adz_tokenizer_decode(t, ids, back, sizeof back), 2);
    assert_string_equal(back, "\xc3\xa4");
    assert_null(adz_tokenizer_encode(t, "abc", 3));
    expect_error(ADZ_ERR_ARGUMENT, "a byte has no partner");
    assert_null(adz_tokenizer_encode(t, "zb", 2));
    expect_error(ADZ_ERR_ARGUMENT, "the tokenizer \"pairs\" failed on a text");
    assert_null(adz_tokenizer_to_memory(t));
    expect_error(ADZ_ERR_UNSUPPORTED, "tokenizers of the type \"pairs\" cannot be written");
    type.write = pairs_write;
    adz_tensor *file = adz_tokenizer_to_memory(t);
    assert_int_equal(adz_tensor_numel(file), 5);
    assert_memory_equal(adz_tensor_data(file), "pairs", 5);
    adz_scope_close(scope);
    ended = 0;
    adz_tokenizer_free(&t);
    assert_int_equal(ended, 3);
}

/* A stream joins the halves of a character; a whole text that is to be UTF-8 is repaired. */
static void halves_are_joined(void **state)
{
    (void)state;
    adz_tokenizer_type type = type_of_ours();
    adz_tokenizer *t = adz_tokenizer_new(&type, sizeof(pairs));
    adz_token_stream *stream = adz_token_stream_new(t);
    assert_int_equal(adz_token_stream_next(stream, 0).size, 0);
    assert_string_equal(adz_token_stream_next(stream, 1).bytes, "\xc3\xa4");
    assert_int_equal(adz_token_stream_next(stream, 2).size, 0);
    assert_string_equal(adz_token_stream_end(stream).bytes, "\xef\xbf\xbd");
    assert_null(adz_token_stream_next(stream, 26).bytes);
    expect_error(ADZ_ERR_INDEX, "id 26 is outside the vocabulary's 26 tokens");
    adz_token_stream_free(&stream);
    adz_scope *scope = adz_scope_open();
    static const int64_t numbers[] = { 1, 0, 1, 2 };
    adz_tensor *ids = adz_tensor_from(numbers, ADZ_SHAPE(4), ADZ_I64);
    char back[16];
    assert_int_equal(adz_tokenizer_decode(t, ids, back, sizeof back), 4);
    assert_string_equal(back, "\xa4\xc3\xa4\xc3");
    type.replace_invalid = true;
    assert_int_equal(adz_tokenizer_decode(t, ids, back, sizeof back), 8);
    assert_string_equal(back, "\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd");
    adz_scope_close(scope);
    adz_tokenizer_free(&t);
}

static void incomplete_types_are_refused(void **state)
{
    (void)state;
    adz_tokenizer_type type = type_of_ours();
    type.token = NULL;
    assert_null(adz_tokenizer_new(&type, 0));
    expect_error(ADZ_ERR_ARGUMENT, "the type has no token");
    type = type_of_ours();
    type.size = 8;
    assert_null(adz_tokenizer_new(&type, 0));
    expect_error(ADZ_ERR_ARGUMENT, "set it to sizeof(adz_tokenizer_type)");
    assert_null(adz_tokenizer_new(NULL, 0));
    expect_error(ADZ_ERR_NULL, "type");
    assert_null(adz_tokenizer_data(NULL));
    expect_error(ADZ_ERR_NULL, "tokenizer");
    type = type_of_ours();
    type.end = NULL;
    adz_tokenizer *t = adz_tokenizer_new(&type, 0);
    assert_null(adz_tokenizer_data(t));
    adz_tokenizer_free(&t);
}

int types_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_to_the_type),
        cmocka_unit_test(halves_are_joined),
        cmocka_unit_test(incomplete_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
