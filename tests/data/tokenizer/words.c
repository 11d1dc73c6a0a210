/* Tokenizers of words: fastai's rules and the vocabulary. */
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
        /* As in fastai, the number is replaced before spaces are put around the "&". */
        { "&#39;x", "& ' x" },
        { "caf&eacute; &#233;&#xE9; &#150; &notit; &hearts;",
            "caf\u00e9 \u00e9\u00e9 \u2013 \u00ac it ; \u2665" },
        { "&#0;&#xd800;&#99999999; &unknown;", "\ufffd\ufffd\ufffd & unknown ;" },
        { "&#4294967361;&#x100000041;&#18446744073709551681;", "\ufffd\ufffd\ufffd" },
        /* 1114111, the last code point, is no character; 1114112 is no code point. */
        { "&#1114111;&#1114112;x", "\ufffd x" },
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
        { "&#xdfff;&#128;&#159;", "\ufffd \u20ac \u00ff" },
        { "&#x10ffff0; &#x10ffff;x", "\ufffd x" },
        { "a&#32;b &#xfdd0;&#xfdef;c", "a b c" },
        { "&#xaF; &#xfA;", "\u00af \u00fa" },
        { "x##39;s a##b a//b", "x # ' s a # # b a / / b" },
        { "aaaab 1.1.1.1.5", "xxrep 4 a b xxwrep 2 1 . 5" },
        { "so no  no no no yes yes yes yes ok", "so xxwrep 4 no xxwrep 4 yes ok" },
        { "&", "&" },
        { "&#", "& #" },
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
        { "DON'T can't't don'tx cat't son's", "xxup do xxup n't ca n't 't don 'tx cat 't son 's" },
        { "1's a'1 x_'s a'_b a'! a''s", "1 ' s a ' 1 x_ ' s a ' _b a ' ! a '' s" },
        { "3.9 9.5 9,9 a.9 9.a .9", "3.9 9.5 9,9 a . 9 9 . a . 9" },
        { "3.14, 1,000. 5.", "3.14 , 1,000 . 5 ." },
        { "wait... well-known--yes?!", "wait ... well - known -- yes ? !" },
        { "x_1 e\u0301t\u00e9\t\u2003z", "x_1 e\u0301t\u00e9 z" },
        { "\u6f22\u5b57\u3002", "\u6f22\u5b57 \u3002" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_words(cases[i][0], cases[i][1]);
    }
}

/* A zero byte is a character like others, at the end of a text too. */
static void zero_bytes_are_words(void **state)
{
    (void)state;
    static const char text[] = "a \0 b \0";
    const adz_text whole = { text, sizeof text - 1 };
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_bos = false;
    o.rules = adz_fastai_token_rules();
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, &whole, 1, &o);
    assert_int_equal(adz_tokenizer_count(t), 12);
    size_t length;
    char *words = there_and_back(t, text, sizeof text - 1, &length);
    assert_int_equal(length, sizeof text - 1);
    assert_memory_equal(words, text, length);
    free(words);
    adz_tokenizer_free(&t);
}

static void words_without_rules(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.rules = NULL;
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
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.rules = adz_fastai_token_rules();
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, &o);
    assert_int_equal(adz_tokenizer_count(t), 12); /* a; then c and d, twice each */
    assert_true(adz_tokenizer_has_special(t));
    static const char *const wanted[] = { "xxunk", "xxpad", "xxbos", "xxeos", "xxfld", "xxmaj",
        "xxup", "xxrep", "xxwrep", "a", "c", "d" };
    for (int64_t i = 0; i < 12; ++i) {
        assert_token(t, i, wanted[i]);
        assert_int_equal(adz_tokenizer_id(t, text_of(wanted[i])), i);
    }
    assert_int_equal(adz_tokenizer_id(t, text_of("b")), -1);
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_scope *scope = adz_scope_open();
    adz_tensor *ids = adz_tokenizer_encode(t, "A zz d", 6);
    static const int64_t numbers[] = { ADZ_XXBOS, 9, ADZ_XXUNK, 11 };
    assert_int_equal(adz_tensor_numel(ids), 4);
    assert_memory_equal(adz_tensor_data_i64(ids), numbers, sizeof numbers);
    adz_scope_close(scope);
    adz_tokenizer_free(&t);

    o.max_vocab = 10;
    t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, &o);
    assert_int_equal(adz_tokenizer_count(t), 10);
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

/* The most frequent words come first, and the threshold counts every occurrence. */
static void words_are_counted(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    adz_text text = text_of("d d c c c b b b b");
    o.min_freq = 3;
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, &text, 1, &o);
    assert_int_equal(adz_tokenizer_count(t), 11);
    assert_token(t, 9, "b");
    assert_token(t, 10, "c");
    adz_tokenizer_free(&t);
    /* A special token that the text contains takes no index of another word. */
    text = text_of("xxunk , xxunk , xxunk a b");
    o.min_freq = 1;
    o.max_vocab = 10;
    t = adz_tokenizer_build(ADZ_TOKENS_WORDS, &text, 1, &o);
    assert_int_equal(adz_tokenizer_count(t), 10);
    assert_token(t, 9, ",");
    adz_tokenizer_free(&t);
}

/* The smallest vocabulary holds the special tokens, the largest 2147483647. */
static void vocabularies_have_limits(void **state)
{
    (void)state;
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    adz_text texts[] = { { NULL, 0 }, text_of("a a") };
    static const struct {
        int64_t most, size;
    } limits[] = { { 9, 9 }, { INT32_MAX, 10 } };
    for (int i = 0; i < 2; ++i) {
        o.max_vocab = limits[i].most;
        adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, &o);
        assert_int_equal(adz_tokenizer_count(t), limits[i].size);
        adz_tokenizer_free(&t);
    }
    o.max_vocab = (int64_t)INT32_MAX + 1;
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 2, &o));
    expect_error(ADZ_ERR_ARGUMENT, "max_vocab is 2147483648");
    assert_null(adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the texts are empty");
}

int words_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_fastai_s),
        cmocka_unit_test(splitting_is_documented),
        cmocka_unit_test(zero_bytes_are_words),
        cmocka_unit_test(words_without_rules),
        cmocka_unit_test(vocabulary_of_words),
        cmocka_unit_test(fields_are_marked),
        cmocka_unit_test(words_are_counted),
        cmocka_unit_test(vocabularies_have_limits),
    };
    return cmocka_run_group_tests_name("tokenizer: words", tests, temporary_begin, temporary_end);
}
