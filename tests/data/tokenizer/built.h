/* Tokenizers that are built from one text. */
#ifndef ADZE_TESTS_DATA_TOKENIZER_BUILT_H
#define ADZE_TESTS_DATA_TOKENIZER_BUILT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/data/tokenizer.h"
#include "adze/zoo/fastai_tokenizer.h"
#include "tensor/tensor.h"

static inline adz_text text_of(const char *text)
{
    return (adz_text){ text, strlen(text) };
}

/* Builds a tokenizer from one text. A tokenizer of words has fastai's rules, keeps every word and
 * adds no xxbos. */
static inline adz_tokenizer *built(adz_token_kind kind, const char *text)
{
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.min_freq = 1;
    o.include_bos = false;
    o.rules = adz_fastai_token_rules();
    adz_text one = text_of(text);
    return adz_tokenizer_build(kind, &one, 1, &o);
}

static inline void assert_token(const adz_tokenizer *t, int64_t id, const char *wanted)
{
    adz_text token = adz_tokenizer_token(t, id);
    assert_int_equal(token.size, strlen(wanted));
    assert_memory_equal(token.bytes, wanted, token.size);
}

/* Encodes a text and decodes the tokens. The caller frees the result. */
static inline char *there_and_back(
    const adz_tokenizer *t, const char *text, size_t size, size_t *length)
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

#endif
