/* What the tests of pretrained tokenizers share. */
#ifndef ADZE_TESTS_MODELS_TOKENIZERS_H
#define ADZE_TESTS_MODELS_TOKENIZERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "adze/models.h"
#include "errors.h"

int encodings_tests(void);
int refusals_tests(void);
int robust_tests(void);
int gguf_tests(void);

/* A WordPiece of few tokens, with BERT's other parts. `more` stands behind the model. */
#define WORDS "\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"b\":5,\"##c\":6,\"!\":7"
#define MODEL                                                    \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\"," \
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":5,\"vocab\":{" WORDS "}}"
#define BERT                                                                                        \
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"                              \
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},"                     \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"                                            \
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}," \
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"

static inline adz_tokenizer *from_json(const char *json)
{
    return adz_pretrained_tokenizer_from_memory(json, strlen(json), NULL);
}

static inline void assert_ids(adz_tensor *ids, const int64_t *wanted, size_t n)
{
    assert_non_null(ids);
    assert_int_equal(adz_tensor_numel(ids), n);
    assert_memory_equal(adz_tensor_data_i64(ids), wanted, n * sizeof *wanted);
}
#define IDS(ids, ...) \
    assert_ids(ids, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)

#endif
