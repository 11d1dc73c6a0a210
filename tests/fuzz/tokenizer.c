#include <string.h>

#include "adze/data/tokenizer.h"
#include "adze/zoo/fastai_tokenizer.h"

#include "check.h"

static void must_be_same(const adz_tokenizer *a, const adz_tokenizer *b)
{
    adz_tensor *one = adz_tokenizer_to_memory(a), *other = adz_tokenizer_to_memory(b);
    MUST(one != NULL && other != NULL && adz_equal(one, other));
}

/* What is written is read again. */
static void must_come_back(const adz_tokenizer *t)
{
    adz_tensor *file = adz_tokenizer_to_memory(t);
    MUST(file != NULL);
    adz_tokenizer *again = adz_tokenizer_from_memory(
        adz_tensor_data(file), (size_t)adz_tensor_numel(file), adz_fastai_token_rules());
    MUST(again != NULL);
    must_be_same(t, again);
    adz_tokenizer_free(&again);
}

static void must_decode(const adz_tokenizer *t, const char *text, size_t size)
{
    static char back[1 << 20];
    adz_tensor *ids = adz_tokenizer_encode(t, text, size);
    MUST(ids != NULL);
    size_t length = adz_tokenizer_decode(t, ids, back, sizeof back);
    if (adz_tokenizer_kind(t) != ADZ_TOKENS_WORDS && !adz_tokenizer_has_special(t)) {
        MUST(length == size && (size > sizeof back - 1 || memcmp(back, text, size) == 0));
    }
    adz_token_stream *stream = adz_token_stream_new(t);
    const int64_t *numbers = adz_tensor_data_i64(ids);
    for (int64_t i = 0; i < adz_tensor_numel(ids); ++i) {
        MUST(adz_token_stream_next(stream, numbers[i]).bytes != NULL);
    }
    MUST(adz_token_stream_end(stream).bytes != NULL);
    adz_token_stream_free(&stream);
}

/* The first byte chooses: a file, or a text and what to make of it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int64_t tensors = adzi_live_tensors();
    if (size == 0) {
        return 0;
    }
    adz_text text = { (const char *)bytes + 1, size - 1 };
    adz_scope *scope = adz_scope_open();
    adz_tokenizer *t;
    if (bytes[0] == 'f') {
        t = adz_tokenizer_from_memory(text.bytes, text.size, adz_fastai_token_rules());
    } else {
        adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
        o.min_freq = 1 + bytes[0] / 4 % 2;
        o.special_tokens = bytes[0] / 8 % 2 == 0;
        o.rules = o.special_tokens ? adz_fastai_token_rules() : NULL;
        o.mark_fields = o.include_eos = bytes[0] / 16 % 2 == 1;
        t = adz_tokenizer_build((adz_token_kind)(bytes[0] % 4 % 3), &text, 1, &o);
    }
    if (t == NULL) {
        must_have_failed();
    } else {
        must_come_back(t);
        if (bytes[0] != 'f') {
            must_decode(t, text.bytes, text.size);
        }
        adz_tokenizer_free(&t);
    }
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
