/* Encoding of one text: bytes that are not UTF-8 are replaced, added tokens are looked for, and
 * what lies between them is normalized and split. */
#include "normalize.h"
#include "stages.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

/* The bytes at the beginning that are ASCII, eight at a time. */
static size_t ascii_run(const char *bytes, size_t size)
{
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        if ((word & 0x8080808080808080u) != 0) {
            break;
        }
    }
    return i;
}

/* How many bytes at `at` are a character, or the longest beginning of one that is cut, which one
 * U+FFFD replaces. `*sound` says which. */
static size_t take_character(const unsigned char *at, size_t left, bool *sound)
{
    const unsigned char first = at[0];
    *sound = first < 0x80;
    if (first < 0xc2 || first > 0xf4) {
        return 1;
    }
    const size_t need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t n = 1;
    while (
        n < need && n < left && at[n] >= (n == 1 ? low : 0x80) && at[n] <= (n == 1 ? high : 0xbf)) {
        ++n;
    }
    *sound = n == need;
    return n;
}

static size_t valid_prefix(const char *bytes, size_t size)
{
    size_t i = 0;
    while (i < size) {
        bool sound;
        i += ascii_run(bytes + i, size - i);
        if (i == size) {
            break;
        }
        const size_t n = take_character((const unsigned char *)bytes + i, size - i, &sound);
        if (!sound) {
            break;
        }
        i += n;
    }
    return i;
}

/* Replaces what is not UTF-8. The text's `bytes` are NULL with the error recorded. */
static adzi_tok_text repair(adzi_tok_run *run, const char *bytes, size_t size)
{
    adzi_tok_scratch *s = run->scratch;
    const adzi_tok_text none = { NULL, 0, NULL, 0 };
    s->repaired.size = 0;
    for (size_t i = 0; i < size;) {
        bool sound;
        const size_t n = take_character((const unsigned char *)bytes + i, size - i, &sound);
        const size_t begin = s->repaired.size;
        if (!adzi_tok_append(&s->repaired, sound ? bytes + i : "\xef\xbf\xbd", sound ? n : 3) ||
            (run->aligned && !adzi_tok_reserve(&s->repaired_spans, &s->repaired_room,
                                 s->repaired.size, sizeof *s->repaired_spans))) {
            return none;
        }
        for (size_t k = begin; run->aligned && k < s->repaired.size; ++k) {
            s->repaired_spans[k] = (adzi_tok_span){ (uint32_t)i, (uint32_t)(i + n) };
        }
        i += n;
    }
    return (adzi_tok_text){ s->repaired.at, s->repaired.size,
        run->aligned ? s->repaired_spans : NULL, 0 };
}

/* ---- added tokens --------------------------------------------------------------------------- */

/* A match of an added token. */
typedef struct match {
    size_t begin, end;
    const adzi_tok_added *token;
} match;

static bool is_class_before(const adzi_tok_text *text, size_t at, uint32_t class)
{
    size_t bytes;
    if (at == 0) {
        return false;
    }
    do {
        --at;
    } while (adzi_tok_continues(text->bytes[at]));
    return (adzi_tok_class(adzi_tok_read(text->bytes + at, &bytes)) & class) != 0;
}

static bool is_class_at(const adzi_tok_text *text, size_t at, uint32_t class, size_t *bytes)
{
    return at < text->size && (adzi_tok_class(adzi_tok_read(text->bytes + at, bytes)) & class) != 0;
}

/* The longest token that begins at `at`, or NULL. */
static const adzi_tok_added *token_at(const adzi_tok *t, const adzi_tok_matcher *matcher,
    const adzi_tok_text *text, size_t at, size_t *end)
{
    const adzi_tok_added *found = NULL;
    uint32_t node = 0;
    for (size_t i = at; i < text->size; ++i) {
        node = adzi_tok_trie_next(&matcher->trie, node, text->bytes[i]);
        if (node == 0) {
            break;
        }
        if (matcher->trie.values[node] >= 0) {
            found = &t->added[matcher->trie.values[node]];
            *end = i + 1;
        }
    }
    return found;
}

/* The next match from `*from` on; its spaces do not reach before `last`. A token that takes spaces
 * on its left begins at `last` or later, so none is left of it if the one before has taken all. */
static bool next_match(const adzi_tok *t, const adzi_tok_matcher *matcher,
    const adzi_tok_text *text, size_t *from, size_t last, match *m)
{
    size_t bytes;
    while (*from < text->size) {
        size_t i = *from;
        while (i < text->size && !matcher->begins[(unsigned char)text->bytes[i]]) {
            ++i;
        }
        size_t end = 0;
        const adzi_tok_added *token = i < text->size ? token_at(t, matcher, text, i, &end) : NULL;
        if (token == NULL) {
            *from = i + 1;
            continue;
        }
        *from = end;
        if (token->single_word &&
            (is_class_before(text, i, CLASS_WORD) || is_class_at(text, end, CLASS_WORD, &bytes))) {
            continue;
        }
        while (token->left && i > last && is_class_before(text, i, CLASS_SPACE)) {
            do {
                --i;
            } while (adzi_tok_continues(text->bytes[i]));
        }
        while (token->right && is_class_at(text, end, CLASS_SPACE, &bytes)) {
            end += bytes;
        }
        const size_t begin = token->left && i < last ? last : i;
        if (begin < end) {
            *m = (match){ begin, end, token };
            return true;
        }
    }
    return false;
}

/* Takes what lies between two added tokens. */
typedef bool (*between)(adzi_tok_run *run, const adzi_tok_text *part);

static bool emit_added(adzi_tok_run *run, const adzi_tok_text *text, const match *m)
{
    const adzi_tok_span none = { 0, 0 };
    return adzi_tok_emit(
        run, m->token->id, run->aligned ? adzi_tok_span_of(text, m->begin, m->end) : none);
}

/* Emits the added tokens of a text, and hands on what lies between them. A match whose spaces the
 * one before has taken may begin before that one ends. */
static bool extract(
    adzi_tok_run *run, const adzi_tok_matcher *matcher, const adzi_tok_text *text, between take)
{
    size_t from = 0, last = 0;
    match m;
    bool good = true;
    while (matcher->n > 0 && good && next_match(run->t, matcher, text, &from, last, &m)) {
        if (m.begin > last) {
            const adzi_tok_text part = adzi_tok_part(text, last, m.begin);
            good = take(run, &part);
        }
        good = good && emit_added(run, text, &m);
        last = m.end;
    }
    if (good && last < text->size) {
        const adzi_tok_text part = adzi_tok_part(text, last, text->size);
        good = take(run, &part);
    }
    return good;
}

static bool normalize_part(adzi_tok_run *run, const adzi_tok_text *part)
{
    adzi_tok_scratch *s = run->scratch;
    s->normal[0].aligned = s->normal[1].aligned = run->aligned;
    const adzi_tok_text text = adzi_tok_normalize(run->t, *part, s->normal);
    return text.bytes != NULL && extract(run, &run->t->normalized, &text, adzi_tok_split);
}

bool adzi_tok_run_text(adzi_tok_run *run, const char *bytes, size_t size)
{
    if (size == 0) {
        return true;
    }
    const bool valid = valid_prefix(bytes, size) == size;
    const adzi_tok_text text =
        valid ? (adzi_tok_text){ bytes, size, NULL, 0 } : repair(run, bytes, size);
    return text.bytes != NULL && extract(run, &run->t->raw, &text, normalize_part);
}
