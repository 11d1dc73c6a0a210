/* Rules of a program's own on texts and on words, in building, encoding and files. */
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

/* A text in two pieces, the second one an addition. */
static bool with_end(adz_text text, adz_token_put put, void *to)
{
    return put(to, text) && put(to, text_of(" The End"));
}

/* A word becomes its first character and the rest. */
static bool in_two(adz_text word, adz_token_put put, void *to)
{
    size_t first = 0;
    adz_utf8_next(word, &first);
    const adz_text rest = { word.bytes + first, word.size - first };
    return put(to, (adz_text){ word.bytes, first }) && (rest.size == 0 || put(to, rest));
}

static const adz_token_rules ours = { sizeof ours, "ours-1", with_end, in_two };

static adz_tokenizer *made(const adz_token_rules *rules, const char *text)
{
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_bos = false;
    o.rules = rules;
    const adz_text one = text_of(text);
    return adz_tokenizer_build(ADZ_TOKENS_WORDS, &one, 1, &o);
}

static void assert_decoded(const adz_tokenizer *t, const char *text, const char *wanted)
{
    size_t length;
    char *back = there_and_back(t, text, strlen(text), &length);
    assert_string_equal(back, wanted);
    free(back);
}

static void rules_of_ones_own_are_applied(void **state)
{
    (void)state;
    adz_tokenizer *t = made(&ours, "\u00e9t\u00e9 a");
    assert_decoded(t, "a \u00e9t\u00e9", "a \u00e9 t\u00e9 T he E nd");
    adz_tokenizer_free(&t);

    const adz_token_rules text_alone = { sizeof text_alone, "t", with_end, NULL };
    t = made(&text_alone, "ab");
    assert_decoded(t, "ab", "ab The End");
    adz_tokenizer_free(&t);

    const adz_token_rules words_alone = { sizeof words_alone, "w", NULL, in_two };
    t = made(&words_alone, "ab");
    assert_decoded(t, "ab", "a b");
    adz_tokenizer_free(&t);
}

/* Copies the file of a tokenizer as a string, and returns its length. */
static size_t file_of(const adz_tokenizer *t, char *file, size_t most)
{
    adz_tensor *bytes = adz_tokenizer_to_memory(t);
    assert_non_null(bytes);
    const size_t size = (size_t)adz_tensor_numel(bytes);
    assert_true(size < most);
    memcpy(file, adz_tensor_data(bytes), size);
    file[size] = '\0';
    return size;
}

static void files_name_the_rules(void **state)
{
    (void)state;
    static const char wanted[] = "adze tokenizer 1 words special rules=ours-1\nxxunk\n";
    adz_tokenizer *t = made(&ours, "a");
    char file[512];
    const size_t size = file_of(t, file, sizeof file);
    adz_tokenizer_free(&t);
    assert_memory_equal(file, wanted, sizeof wanted - 1);
    t = adz_tokenizer_from_memory(file, size, &ours);
    assert_decoded(t, "a", "a T he E nd");
    adz_tokenizer_free(&t);

    assert_null(adz_tokenizer_from_memory(file, size, NULL));
    expect_error(ADZ_ERR_ARGUMENT,
        "the buffer: the tokenizer has the rules \"ours-1\", but none were given; give the rules of this name");
    assert_null(adz_tokenizer_from_memory(file, size, adz_fastai_token_rules()));
    expect_error(ADZ_ERR_ARGUMENT, "has the rules \"ours-1\", but others were given");
}

/* Version 0.2 wrote "rules" for fastai's rules, which were the only ones. */
static void a_flag_without_a_name_is_fastai_s(void **state)
{
    (void)state;
    static const char old[] =
        "adze tokenizer 1 words special rules bos\nxxunk\nxxpad\nxxbos\nxxeos\n"
        "xxfld\nxxmaj\nxxup\nxxrep\nxxwrep\nab\n";
    adz_tokenizer *t = adz_tokenizer_from_memory(old, strlen(old), adz_fastai_token_rules());
    assert_decoded(t, "Ab", "xxbos xxmaj ab");
    char file[512];
    file_of(t, file, sizeof file);
    assert_non_null(strstr(file, "words special rules=fastai bos\n"));
    adz_tokenizer_free(&t);
    assert_null(adz_tokenizer_from_memory(old, strlen(old), NULL));
    expect_error(ADZ_ERR_ARGUMENT, "which adz_fastai_token_rules of libadze-zoo returns");
    assert_null(adz_tokenizer_from_memory(old, strlen(old), &ours));
    expect_error(ADZ_ERR_ARGUMENT, "has the rules \"fastai\", but others were given");
}

/* ---- rules that are refused ------------------------------------------------------------------ */

static bool no_utf8(adz_text text, adz_token_put put, void *to)
{
    (void)text;
    return put(to, text_of("a\xc3"));
}

static bool nothing(adz_text word, adz_token_put put, void *to)
{
    (void)word;
    return put(to, text_of(""));
}

static bool an_error(adz_text word, adz_token_put put, void *to)
{
    (void)word;
    (void)put;
    (void)to;
    return adz_error_set("our_rules", ADZ_ERR_IO, "the dictionary is gone") == ADZ_OK;
}

static bool a_failure(adz_text word, adz_token_put put, void *to)
{
    (void)word;
    (void)put;
    (void)to;
    return false;
}

static void bad_rules_are_refused(void **state)
{
    (void)state;
    static const struct {
        adz_token_rules rules;
        adz_status status;
        const char *message;
    } cases[] = {
        { { sizeof ours, "r", no_utf8, NULL }, ADZ_ERR_FORMAT,
            "the rules r wrote a text that is not UTF-8 at byte 1" },
        { { sizeof ours, "r", NULL, no_utf8 }, ADZ_ERR_FORMAT, "made a token that is not UTF-8" },
        { { sizeof ours, "r", NULL, nothing }, ADZ_ERR_FORMAT, "made a token that is empty" },
        { { sizeof ours, "r", an_error, NULL }, ADZ_ERR_IO, "our_rules: the dictionary is gone" },
        { { sizeof ours, "r", NULL, an_error }, ADZ_ERR_IO, "our_rules: the dictionary is gone" },
        { { sizeof ours, "r", a_failure, NULL }, ADZ_ERR_ARGUMENT, "the rules r failed on a text" },
        { { sizeof ours, "r", NULL, a_failure }, ADZ_ERR_ARGUMENT, "the rules r failed on a word" },
        { { 0, "r", NULL, NULL }, ADZ_ERR_ARGUMENT, "the rules' size is 0" },
        { { sizeof ours, NULL, NULL, NULL }, ADZ_ERR_ARGUMENT, "the rules are called \"\"" },
        { { sizeof ours, "", NULL, NULL }, ADZ_ERR_ARGUMENT, "the rules are called \"\"" },
        { { sizeof ours, "a b", NULL, NULL }, ADZ_ERR_ARGUMENT, "the rules are called \"a b\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_null(made(&cases[i].rules, "a"));
        expect_error(cases[i].status, cases[i].message);
    }
    static const char longest[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    adz_token_rules named = { sizeof named, longest, NULL, NULL };
    assert_null(made(&named, "a")); /* 64 characters */
    expect_error(ADZ_ERR_ARGUMENT, "1 to 63 letters");
    named.name = longest + 1;
    adz_tokenizer *t = made(&named, "a");
    assert_non_null(t);
    adz_tokenizer_free(&t);
}

/* A tokenizer of characters has no rules, so that it does not look at them. */
static void characters_have_no_rules(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    const adz_token_rules odd = { 0, NULL, an_error, an_error };
    o.rules = &odd;
    const adz_text text = text_of("AB");
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &text, 1, &o);
    assert_decoded(t, "BA", "BA");
    adz_tokenizer_free(&t);
}

/* ---- characters ------------------------------------------------------------------------------ */

static void characters_are_read_and_written(void **state)
{
    (void)state;
    const adz_text text = { "a\u00e9\xff\u6f22\0", 8 };
    static const uint32_t wanted[] = { 'a', 0xe9, ADZ_UTF8_REPLACEMENT, 0x6f22, 0 };
    static const size_t ends[] = { 1, 3, 4, 7, 8 };
    size_t offset = 0;
    for (size_t i = 0; i < 5; ++i) {
        assert_int_equal(adz_utf8_next(text, &offset), wanted[i]);
        assert_int_equal(offset, ends[i]);
    }
    assert_int_equal(adz_utf8_next(text, &offset), 0);
    assert_int_equal(offset, 8);
    assert_int_equal(adz_utf8_next(text, NULL), 0);

    char bytes[5] = "xxxx";
    assert_int_equal(adz_utf8_write(0x6f22, bytes, 2), 3);
    assert_string_equal(bytes, "xxxx"); /* It does not fit. */
    assert_int_equal(adz_utf8_write(0x6f22, bytes, 3), 3);
    assert_string_equal(bytes, "\u6f22x");
    assert_int_equal(adz_utf8_write(0x10ffff, bytes, 4), 4);
    assert_int_equal(adz_utf8_write(0x110000, bytes, 4), 3); /* U+FFFD */
    assert_int_equal(adz_utf8_write(0xd800, bytes, 4), 3);
    assert_memory_equal(bytes, "\ufffd", 3);
    assert_int_equal(adz_utf8_write('a', NULL, 0), 1);

    assert_true(adz_character_is_space(' ') && !adz_character_is_space('a'));
    assert_true(adz_character_is_alphanumeric(0xe9) && !adz_character_is_alphanumeric('-'));
    assert_true(adz_character_is_mark(0x300) && !adz_character_is_mark('a'));
    assert_true(adz_character_is_upper(0xc9) && !adz_character_is_upper(0xe9));
    assert_true(adz_character_is_lower(0xe9) && !adz_character_is_lower(0xc9));
    assert_int_equal(adz_character_to_lower(0xc9), 0xe9);
    assert_int_equal(adz_character_to_lower(UINT32_MAX), UINT32_MAX);
}

int rules_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_of_ones_own_are_applied),
        cmocka_unit_test(files_name_the_rules),
        cmocka_unit_test(a_flag_without_a_name_is_fastai_s),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(characters_have_no_rules),
        cmocka_unit_test(characters_are_read_and_written),
    };
    return cmocka_run_group_tests_name("tokenizer: rules", tests, NULL, NULL);
}
