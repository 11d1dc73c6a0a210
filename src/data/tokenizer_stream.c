/* Streams, which decode one id at a time. A token of bytes may end within a UTF-8 character; its
 * bytes wait in the stream until the character is complete. */
#include <string.h>

#include "base/capture.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"

struct adz_token_stream {
    adzi_handle handle;
    const adz_tokenizer *tokenizer;
    bool begun;    /* an id was decoded, so that a space comes before the next word */
    char held[4];  /* the first bytes of an incomplete character */
    size_t n_held; /* bytes in `held` */
    adzi_text out; /* the text that the last call has returned */
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

static void add_replacement(adzi_text *out)
{
    char bytes[4];
    adzi_text_add_n(out, bytes, adzi_utf8_write(ADZ_UTF8_REPLACEMENT, bytes));
}

/* Adds one byte. Appends the character if the byte completes one, and U+FFFD for bytes that cannot
 * become a character. */
static void add_byte(adz_token_stream *s, char byte)
{
    uint32_t point;
    s->held[s->n_held++] = byte;
    int whole = adzi_utf8_read(s->held, s->n_held, &point);
    if (whole < 0 &&
        s->n_held > 1) { /* the held bytes stay incomplete; this byte begins a new one */
        add_replacement(&s->out);
        s->held[0] = byte;
        s->n_held = 1;
        whole = adzi_utf8_read(s->held, 1, &point);
    }
    if (whole < 0) {
        add_replacement(&s->out);
    } else if (whole > 0) {
        adzi_text_add_n(&s->out, s->held, s->n_held);
    }
    s->n_held = whole == 0 ? s->n_held : 0;
}

/* The text that was added. If memory was refused, the stream becomes what it was `before`, and the
 * error is recorded. */
static adz_text give(const char *op, adz_token_stream *stream, const adz_token_stream *before)
{
    if (stream->out.failed) {
        adzi_fail_memory(op, stream->out.length + 1);
        stream->out.failed = false;
        stream->begun = before->begun;
        stream->n_held = before->n_held;
        memcpy(stream->held, before->held, sizeof stream->held);
        return (adz_text){ NULL, 0 };
    }
    return (adz_text){ adzi_text_get(&stream->out), stream->out.length };
}

adz_text adz_token_stream_next(adz_token_stream *stream, int64_t id)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ((adz_text){ NULL, 0 }));
    static const char op[] = "adz_token_stream_next";
    if (!adzi_check_handle(op, "stream", stream)) {
        return (adz_text){ NULL, 0 };
    }
    const adz_tokenizer *t = stream->tokenizer;
    if (!adzi_tokenizer_check_id(op, t, id)) {
        return (adz_text){ NULL, 0 };
    }
    adz_token_stream before = *stream;
    adz_text token = adzi_vocabulary_get(&t->words, (size_t)id);
    adzi_text_cut(&stream->out, 0);
    if (t->kind == ADZ_TOKENS_BYTES) {
        add_byte(stream, token.bytes[0]);
    } else {
        if (t->kind == ADZ_TOKENS_WORDS && stream->begun) {
            adzi_text_add(&stream->out, " ");
        }
        adzi_text_add_n(&stream->out, token.bytes, token.size);
    }
    stream->begun = true;
    return give(op, stream, &before);
}

adz_text adz_token_stream_end(adz_token_stream *stream)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ((adz_text){ NULL, 0 }));
    static const char op[] = "adz_token_stream_end";
    if (!adzi_check_handle(op, "stream", stream)) {
        return (adz_text){ NULL, 0 };
    }
    adz_token_stream before = *stream;
    adzi_text_cut(&stream->out, 0);
    if (stream->n_held > 0) {
        add_replacement(&stream->out);
    }
    stream->n_held = 0;
    stream->begun = false;
    return give(op, stream, &before);
}
