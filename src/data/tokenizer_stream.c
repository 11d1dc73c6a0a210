/* Streams, which decode one id at a time. A token of bytes may end within a UTF-8 character; its
 * bytes wait in the stream until the character is complete. */
#include <string.h>

#include "base/capture.h"
#include "base/door.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"

struct adz_token_stream {
    adzi_handle handle;
    const adz_tokenizer *tokenizer;
    adzi_utf8_repairing repairing; /* bytes of an incomplete character wait here */
    adzi_text out;                 /* the text that the last call has returned */
    alignas(max_align_t) char notes[ADZ_TOKENIZER_NOTES]; /* of the tokenizer's type */
};

adz_token_stream *adz_token_stream_new(const adz_tokenizer *tokenizer)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_token_stream_new";
    if (tokenizer == NULL) {
        return adzi_fail_null(op, "tokenizer");
    }
    adz_token_stream *stream = adzi_handle_new(sizeof *stream);
    if (stream == NULL) {
        return adzi_fail_memory(op, sizeof *stream);
    }
    stream->tokenizer = tokenizer;
    stream->repairing.put = adzi_put_piece;
    stream->repairing.to = &stream->out;
    return stream;
}

void adz_token_stream_free(adz_token_stream **address)
{
    adz_token_stream *gone = adzi_handle_take("adz_token_stream_free", "stream", address);
    if (gone != NULL) {
        adzi_text_free(&gone->out);
        adzi_handle_end(gone, sizeof *gone);
    }
}

static bool put_token(void *repairing, adz_text piece)
{
    return adzi_utf8_repair(repairing, piece);
}

/* Decodes n more ids into `out`. After a failure the stream is what it was before, and the error is
 * recorded. */
static adz_text decode(
    const char *op, adz_token_stream *stream, const int64_t *ids, size_t n, bool last)
{
    const adz_token_stream before = *stream;
    adzi_text_cut(&stream->out, 0);
    bool good = adzi_tokenizer_decode(
        stream->tokenizer, stream->notes, ids, n, last, put_token, &stream->repairing);
    good = good && (!last || adzi_utf8_repair_end(&stream->repairing));
    if (!good) {
        if (stream->out.failed) {
            adzi_fail_memory(op, stream->out.length + 1);
        } else {
            adzi_callback_failed(op, ADZ_ERR_ARGUMENT, "the tokenizer \"%s\" failed on an id",
                stream->tokenizer->type->name);
        }
        stream->out.failed = false;
        stream->repairing = before.repairing;
        memcpy(stream->notes, before.notes, sizeof stream->notes);
        return (adz_text){ NULL, 0 };
    }
    return (adz_text){ adzi_text_get(&stream->out), stream->out.length };
}

adz_text adz_token_stream_next(adz_token_stream *stream, int64_t id)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ((adz_text){ NULL, 0 }));
    static const char op[] = "adz_token_stream_next";
    if (!adzi_check_handle(op, "stream", stream) ||
        !adzi_tokenizer_check_id(op, stream->tokenizer, id)) {
        return (adz_text){ NULL, 0 };
    }
    return decode(op, stream, &id, 1, false);
}

adz_text adz_token_stream_end(adz_token_stream *stream)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ((adz_text){ NULL, 0 }));
    static const char op[] = "adz_token_stream_end";
    if (!adzi_check_handle(op, "stream", stream)) {
        return (adz_text){ NULL, 0 };
    }
    const adz_text text = decode(op, stream, NULL, 0, true);
    if (text.bytes != NULL) {
        memset(stream->notes, 0, sizeof stream->notes);
    }
    return text;
}
