/* Pre-tokenizers. Each hands the pieces that it makes on to the next one, and the last one hands
 * words to the model. */
#include "patterns.h"
#include "stages.h"

/* The pieces of a text on their way from one pre-tokenizer to the next. */
typedef struct pieces {
    adzi_tok_run *run;
    size_t next; /* the pre-tokenizer that gets them */
    const adzi_tok_text *text;
    const adzi_tok_splitter *by;
    size_t begin, end; /* a piece that may still grow; empty if there is none */
    bool was_match;    /* of the last piece */
} pieces;

static bool split_from(
    adzi_tok_run *run, size_t k, const adzi_tok_text *text, size_t begin, size_t end);

static bool hand_on(const pieces *p, size_t begin, size_t end)
{
    return begin == end || split_from(p->run, p->next, p->text, begin, end);
}

/* Hands on the piece that may still grow, and begins another one. */
static bool begin_piece(pieces *p, size_t begin, size_t end)
{
    const bool good = hand_on(p, p->begin, p->end);
    p->begin = begin;
    p->end = end;
    return good;
}

/* Takes a match, or what lies between two matches, in the order of the text. */
static bool take(pieces *p, size_t begin, size_t end, bool match)
{
    match = match != p->by->invert;
    const bool was_match = p->was_match;
    p->was_match = match;
    if (begin == end) {
        p->was_match = was_match;
        return true;
    }
    switch (p->by->behavior) {
    case SPLIT_ISOLATED:
        return hand_on(p, begin, end);
    case SPLIT_REMOVED:
        return match || hand_on(p, begin, end);
    case SPLIT_CONTIGUOUS:
        if (match == was_match && p->end > p->begin) {
            p->end = end;
            return true;
        }
        return begin_piece(p, begin, end);
    case SPLIT_MERGED_WITH_PREVIOUS:
        if (match && !was_match && p->end > p->begin) {
            p->end = end;
            return true;
        }
        return begin_piece(p, begin, end);
    default: /* SPLIT_MERGED_WITH_NEXT: a match waits for what follows */
        if (!match && p->end > p->begin && was_match) {
            p->end = end;
            return begin_piece(p, end, end);
        }
        return begin_piece(p, begin, end);
    }
}

/* ---- where a text is split ------------------------------------------------------------------ */

static bool by_pattern(pieces *p, size_t begin, size_t end)
{
    const char *bytes = p->text->bytes;
    size_t from = begin; /* of what lies before the next match */
    bool good = true;
    for (size_t i = begin; i < end && good;) {
        const size_t length = p->by->pattern(bytes + i, bytes + end);
        if (length > 0) {
            good = take(p, from, i, false) && take(p, i, i + length, true);
            i += length;
            from = i;
        } else {
            i += adzi_tok_bytes_of(bytes[i]);
        }
    }
    return good && take(p, from, end, false);
}

static bool by_literal(pieces *p, size_t begin, size_t end)
{
    const char *bytes = p->text->bytes;
    bool good = true;
    for (size_t i = begin; good;) {
        const char *hit = memmem(bytes + i, end - i, p->by->literal.at, p->by->literal.size);
        const size_t at = hit != NULL ? (size_t)(hit - bytes) : end;
        good = take(p, i, at, false);
        if (hit == NULL) {
            break;
        }
        good = good && take(p, at, at + p->by->literal.size, true);
        i = at + p->by->literal.size;
    }
    return good;
}

/* Each character of the classes is a match of its own. */
static bool by_class(pieces *p, size_t begin, size_t end)
{
    const char *bytes = p->text->bytes;
    size_t from = begin, n;
    bool good = true;
    for (size_t i = begin; i < end && good; i += n) {
        if ((adzi_tok_class(adzi_tok_read(bytes + i, &n)) & p->by->classes) != 0) {
            good = take(p, from, i, false) && take(p, i, i + n, true);
            from = i + n;
        }
    }
    return good && take(p, from, end, false);
}

/* ---- texts that change ---------------------------------------------------------------------- */

/* The first character of the text in `what` replaces that of m->of, which is inserted behind it. */
static void put_before(adzi_tok_making *m, const char *what)
{
    size_t bytes, own;
    adzi_tok_put(m, adzi_tok_read(what, &own), 0);
    adzi_tok_put(m, adzi_tok_read(m->of->bytes, &bytes), 1);
    adzi_tok_copy(m, m->of->size - bytes);
}

static bool metaspace(adzi_tok_run *run, size_t k, const adzi_tok_text *part)
{
    const adzi_tok_splitter *by = &run->t->splitters[k];
    const char *sign = by->literal.at;
    size_t n;
    const uint32_t point = adzi_tok_read(sign, &n);
    adzi_tok_making *m = &run->scratch->split[0];
    m->aligned = run->aligned;
    adzi_tok_make(m, part);
    while (m->at < part->size && !m->failed) {
        const char *space = memchr(part->bytes + m->at, ' ', part->size - m->at);
        const size_t to = space != NULL ? (size_t)(space - part->bytes) : part->size;
        adzi_tok_copy(m, to - m->at);
        if (space != NULL) {
            adzi_tok_put(m, point, 0);
        }
    }
    adzi_tok_text text = adzi_tok_made(m);
    const bool begins = text.bytes != NULL && text.size >= n && memcmp(text.bytes, sign, n) == 0;
    const bool first =
        by->scheme == PREPEND_ALWAYS || (by->scheme == PREPEND_FIRST && part->base == 0);
    adzi_tok_text with_sign = text;
    if (text.bytes != NULL && !begins && first) {
        adzi_tok_making *other = &run->scratch->split[1];
        other->aligned = run->aligned;
        adzi_tok_make(other, &text);
        put_before(other, sign);
        with_sign = adzi_tok_made(other);
    }
    if (with_sign.bytes == NULL) {
        return false;
    }
    if (!by->split) {
        return split_from(run, k + 1, &with_sign, 0, with_sign.size);
    }
    pieces p = { .run = run, .next = k + 1, .text = &with_sign, .by = by };
    return by_literal(&p, 0, with_sign.size) && hand_on(&p, p.begin, p.end);
}

static bool byte_level(
    adzi_tok_run *run, size_t k, const adzi_tok_text *text, size_t begin, size_t end)
{
    const adzi_tok_splitter *by = &run->t->splitters[k];
    adzi_tok_text now = *text;
    if (by->prefix_space && text->bytes[begin] != ' ') {
        const adzi_tok_text part = adzi_tok_part(text, begin, end);
        adzi_tok_making *m = &run->scratch->split[1];
        m->aligned = run->aligned;
        adzi_tok_make(m, &part);
        put_before(m, " ");
        now = adzi_tok_made(m);
        begin = 0;
        end = now.size;
    }
    if (now.bytes == NULL || by->pattern == NULL) {
        return now.bytes != NULL && split_from(run, k + 1, &now, begin, end);
    }
    pieces p = { .run = run, .next = k + 1, .text = &now, .by = by };
    return by_pattern(&p, begin, end);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool split_from(
    adzi_tok_run *run, size_t k, const adzi_tok_text *text, size_t begin, size_t end)
{
    if (k == run->t->n_splitters) {
        return adzi_tok_word(run, text, begin, end);
    }
    const adzi_tok_splitter *by = &run->t->splitters[k];
    pieces p = { .run = run, .next = k + 1, .text = text, .by = by };
    switch (by->kind) {
    case SPLIT_PATTERN:
        return by_pattern(&p, begin, end) && hand_on(&p, p.begin, p.end);
    case SPLIT_LITERAL:
        return by_literal(&p, begin, end) && hand_on(&p, p.begin, p.end);
    case SPLIT_CLASS:
        return by_class(&p, begin, end) && hand_on(&p, p.begin, p.end);
    case SPLIT_METASPACE: {
        const adzi_tok_text part = adzi_tok_part(text, begin, end);
        return metaspace(run, k, &part);
    }
    default:
        return byte_level(run, k, text, begin, end);
    }
}

bool adzi_tok_split(adzi_tok_run *run, const adzi_tok_text *text)
{
    return text->size == 0 || split_from(run, 0, text, 0, text->size);
}
