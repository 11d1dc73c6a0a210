#include <string.h>

#include "adze/models.h"

#include "check.h"

enum { ALL = 1 << 16 };

/* Ids, batches, decoded text and streams agree with each other. */
static void must_encode(const adz_tokenizer *t, adz_text text)
{
    static char back[ALL], streamed[ALL];
    adz_encoding e;
    adz_tensor *ids = adz_tokenizer_encode(t, text.bytes, text.size);
    const adz_status status = adz_pretrained_encode(t, &text, NULL, 1, NULL, &e);
    if (ids == NULL) { /* a word needs the unknown token, which the vocabulary lacks */
        must_have_failed();
        MUST(status != ADZ_OK);
        return;
    }
    if (status != ADZ_OK) { /* the file cuts rows to fewer tokens than are added */
        must_have_failed();
    }
    const int64_t n = adz_tensor_numel(ids);
    const int64_t *numbers = n > 0 ? adz_tensor_data_i64(ids) : NULL;
    for (int64_t i = 0; status == ADZ_OK && i < adz_tensor_numel(e.offsets); i += 2) {
        const int64_t *span = adz_tensor_data_i64(e.offsets) + i;
        MUST(span[0] >= 0 && span[0] <= span[1] && span[1] <= (int64_t)text.size);
    }
    MUST(adz_tokenizer_decode(t, ids, back, sizeof back) < ALL || n > 64);
    adz_token_stream *stream = adz_token_stream_new(t);
    size_t size = 0;
    for (int64_t i = 0; i <= n; ++i) {
        const adz_text part =
            i < n ? adz_token_stream_next(stream, numbers[i]) : adz_token_stream_end(stream);
        MUST(part.bytes != NULL);
        if (size + part.size < sizeof streamed) {
            memcpy(streamed + size, part.bytes, part.size);
        }
        size += part.size;
    }
    adz_token_stream_free(&stream);
}

/* A text to encode, a byte 0, and tokenizer.json. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const int64_t tensors = adzi_live_tensors();
    const uint8_t *zero = size > 0 ? memchr(bytes, 0, size) : NULL;
    if (zero == NULL) {
        return 0;
    }
    adz_on_error(adz_quiet, NULL);
    const adz_text text = { (const char *)bytes, (size_t)(zero - bytes) };
    adz_scope *scope = adz_scope_open();
    adz_tokenizer *t = adz_pretrained_tokenizer_from_memory(zero + 1, size - text.size - 1, NULL);
    if (t == NULL) {
        must_have_failed();
    } else {
        must_encode(t, text);
        adz_tokenizer_free(&t);
    }
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
