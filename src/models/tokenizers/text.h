/* Text while it is normalized: its bytes, and the range of the caller's text that each stands for.
 */
#ifndef ADZI_MODELS_TOKENIZERS_TEXT_H
#define ADZI_MODELS_TOKENIZERS_TEXT_H

#include "memory.h"
#include "unicode.h"

/** A range of bytes. */
typedef struct adzi_tok_span {
    uint32_t begin, end;
} adzi_tok_span;

/** A piece of text. The text of `spans` NULL is that of the caller from `base` on, and each of its
 * bytes stands for the character that it belongs to. */
typedef struct adzi_tok_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    const adzi_tok_span *spans; /* one for each byte; or NULL */
    uint32_t base;              /* where the piece begins in the caller's text */
} adzi_tok_text;

/** What a byte of the text stands for in the caller's text. */
static inline adzi_tok_span adzi_tok_span_at(const adzi_tok_text *text, size_t at)
{
    if (text->spans != NULL) {
        return text->spans[at];
    }
    while (adzi_tok_continues(text->bytes[at])) {
        --at;
    }
    const uint32_t begin = text->base + (uint32_t)at;
    return (adzi_tok_span){ begin, begin + (uint32_t)adzi_tok_bytes_of(text->bytes[at]) };
}

/** What the bytes begin .. end-1 stand for, of which there is one or more. */
static inline adzi_tok_span adzi_tok_span_of(const adzi_tok_text *text, size_t begin, size_t end)
{
    return (
        adzi_tok_span){ adzi_tok_span_at(text, begin).begin, adzi_tok_span_at(text, end - 1).end };
}

/** A part of a text, which begins and ends between characters and is not empty. */
static inline adzi_tok_text adzi_tok_part(const adzi_tok_text *text, size_t begin, size_t end)
{
    return (adzi_tok_text){ text->bytes + begin, end - begin,
        text->spans != NULL ? text->spans + begin : NULL,
        text->spans != NULL ? text->spans[begin].begin : text->base + (uint32_t)begin };
}

/** A text that is being made from another one. Its memory is used again for the next text. */
typedef struct adzi_tok_making {
    adzi_tok_bytes bytes;
    adzi_tok_span *spans;
    size_t room;             /* spans */
    bool aligned;            /* whether spans are asked for */
    bool failed;             /* memory was refused, and the error is recorded */
    const adzi_tok_text *of; /* the old text */
    size_t at;               /* the next byte of the old text to be replaced */
} adzi_tok_making;

/** Begins a text from an old one. */
void adzi_tok_make(adzi_tok_making *m, const adzi_tok_text *of);

/** Leaves the next n characters of the old text out. */
void adzi_tok_skip(adzi_tok_making *m, size_t n);

/** Appends a character. A change of 0 replaces the next character of the old text, -n replaces it
 * and leaves n more out, and 1 inserts: the character stands for what the last byte before the
 * next character does. */
void adzi_tok_put(adzi_tok_making *m, uint32_t point, int change);

/** Appends bytes that replace equal ones of the old text. */
void adzi_tok_copy(adzi_tok_making *m, size_t n);

/** The new text; its `bytes` are NULL if memory was refused. */
adzi_tok_text adzi_tok_made(const adzi_tok_making *m);

void adzi_tok_making_free(adzi_tok_making *m);

#endif
