/* Normalizers. Each makes a new text from the text that the one before has made. */
#include "normalize.h"

#include "normal_forms.h"

/* ---- characters that are removed or replaced ------------------------------------------------ */

/* Puts the lower case of a character, which replaces it. */
static void put_lowered(adzi_tok_making *m, uint32_t point)
{
    size_t n = 0;
    const uint32_t *points = NULL;
    if (point < 0x80) {
        point |= point >= 'A' && point <= 'Z' ? 0x20u : 0u;
    } else if ((adzi_tok_class(point) & CLASS_LOWERED) != 0) {
        points = adzi_tok_lowered(point, &n);
    }
    if (n == 0) {
        adzi_tok_put(m, point, 0);
    }
    for (size_t i = 0; i < n; ++i) {
        adzi_tok_put(m, points[i], i > 0);
    }
}

/* Calls `put` with each character of the old text. */
static void each(adzi_tok_making *m, void (*put)(adzi_tok_making *m, uint32_t point))
{
    size_t bytes;
    for (size_t i = 0; i < m->of->size && !m->failed; i += bytes) {
        put(m, adzi_tok_read(m->of->bytes + i, &bytes));
    }
}

static void put_without_marks(adzi_tok_making *m, uint32_t point)
{
    if (point >= 0x80 && (adzi_tok_class(point) & CLASS_COMBINING) != 0) {
        adzi_tok_skip(m, 1);
    } else {
        adzi_tok_put(m, point, 0);
    }
}

static void put_without_nonspacing(adzi_tok_making *m, uint32_t point)
{
    if (point >= 0x80 && (adzi_tok_class(point) & CLASS_NONSPACING) != 0) {
        adzi_tok_skip(m, 1);
    } else {
        adzi_tok_put(m, point, 0);
    }
}

static void strip(adzi_tok_making *m, const adzi_tok_normalizer *n)
{
    const adzi_tok_text *text = m->of;
    size_t begin = 0, end = text->size, bytes;
    while (n->left && begin < end &&
           (adzi_tok_class(adzi_tok_read(text->bytes + begin, &bytes)) & CLASS_SPACE) != 0) {
        begin += bytes;
    }
    while (n->right && end > begin) {
        size_t last = end - 1;
        while (adzi_tok_continues(text->bytes[last])) {
            --last;
        }
        if ((adzi_tok_class(adzi_tok_read(text->bytes + last, &bytes)) & CLASS_SPACE) == 0) {
            break;
        }
        end = last;
    }
    m->at = begin;
    adzi_tok_copy(m, end - begin);
}

/* ---- texts that are inserted ---------------------------------------------------------------- */

static void put_text(adzi_tok_making *m, const adzi_tok_bytes *text, int first)
{
    size_t bytes;
    for (size_t i = 0; i < text->size; i += bytes) {
        adzi_tok_put(m, adzi_tok_read(text->at + i, &bytes), i == 0 ? first : 1);
    }
}

static void replace(adzi_tok_making *m, const adzi_tok_normalizer *n)
{
    const char *begin = m->of->bytes, *end = begin + m->of->size;
    const size_t size = n->pattern.size;
    for (;;) {
        const char *from = begin + m->at;
        const char *hit = memmem(from, (size_t)(end - from), n->pattern.at, size);
        adzi_tok_copy(m, (size_t)((hit != NULL ? hit : end) - from));
        if (hit == NULL || m->failed) {
            return;
        }
        m->at += size;
        put_text(m, &n->content, 1);
    }
}

/* The first character of the content replaces that of the text, which is inserted behind it. */
static void prepend(adzi_tok_making *m, const adzi_tok_bytes *content)
{
    size_t bytes;
    const uint32_t next = adzi_tok_read(m->of->bytes, &bytes);
    put_text(m, content, 0);
    adzi_tok_put(m, next, 1);
    adzi_tok_copy(m, m->of->size - bytes);
}

/* ---- BertNormalizer ------------------------------------------------------------------------- */

enum { REMOVED = -1 };

/* What an ASCII character becomes; REMOVED for control characters. */
static signed char bert_ascii(const adzi_tok_normalizer *n, unsigned char c)
{
    if (n->clean && (c < 0x20 || c == 0x7f)) {
        return (adzi_tok_class(c) & CLASS_CONTROL) != 0 ? REMOVED : ' ';
    }
    return (signed char)(n->lowercase && c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Appends the run of ASCII characters that begins at m->at, and returns whether there was one. */
static bool put_ascii(adzi_tok_making *m, const signed char *table)
{
    const size_t begin = m->at;
    const char *from = m->of->bytes;
    size_t end = begin;
    while (end < m->of->size && (unsigned char)from[end] < 0x80) {
        ++end;
    }
    const size_t need = m->bytes.size + (end - begin);
    m->failed = m->failed || !adzi_tok_reserve(&m->bytes.at, &m->bytes.capacity, need, 1) ||
                (m->aligned && !adzi_tok_reserve(&m->spans, &m->room, need, sizeof *m->spans));
    if (m->failed || end == begin) {
        return false;
    }
    size_t to = m->bytes.size;
    for (size_t i = begin; i < end; ++i) {
        const signed char c = table[(unsigned char)from[i]];
        m->bytes.at[to] = (char)c;
        if (m->aligned) {
            m->spans[to] = adzi_tok_span_at(m->of, i);
        }
        to += c != REMOVED;
    }
    m->bytes.size = to;
    m->at = end;
    return true;
}

/* One pass of BertNormalizer over a text with other characters than ASCII. */
typedef enum bert_pass { CLEAN, ACCENTS, LOWER } bert_pass;

static void put_cleaned(adzi_tok_making *m, const adzi_tok_normalizer *n, uint32_t point)
{
    const uint32_t class = adzi_tok_class(point);
    if (n->clean && ((class & CLASS_CONTROL) != 0 || point == 0xfffd)) {
        adzi_tok_skip(m, 1);
    } else if (n->clean && (class & CLASS_SPACE) != 0) {
        adzi_tok_put(m, ' ', 0);
    } else if (n->chinese && (class & CLASS_CHINESE) != 0) {
        adzi_tok_put(m, ' ', 0);
        adzi_tok_put(m, point, 1);
        adzi_tok_put(m, ' ', 1);
    } else {
        adzi_tok_put(m, point, 0);
    }
}

static void bert_run(adzi_tok_making *m, const adzi_tok_normalizer *n, bert_pass pass)
{
    signed char table[128];
    const adzi_tok_normalizer part = { .clean = pass == CLEAN && n->clean,
        .lowercase = pass == LOWER };
    for (int c = 0; c < 128; ++c) {
        table[c] = bert_ascii(&part, (unsigned char)c);
    }
    while (m->at < m->of->size && !m->failed) {
        if (put_ascii(m, table) || m->failed) {
            continue;
        }
        size_t bytes;
        const uint32_t point = adzi_tok_read(m->of->bytes + m->at, &bytes);
        if (pass == CLEAN) {
            put_cleaned(m, n, point);
        } else if (pass == ACCENTS) {
            put_without_nonspacing(m, point);
        } else {
            put_lowered(m, point);
        }
    }
}

static bool is_ascii(const adzi_tok_text *text)
{
    size_t i = 0;
    for (; i + 8 <= text->size; i += 8) {
        uint64_t word;
        memcpy(&word, text->bytes + i, 8);
        if ((word & 0x8080808080808080u) != 0) {
            return false;
        }
    }
    while (i < text->size && (unsigned char)text->bytes[i] < 0x80) {
        ++i;
    }
    return i == text->size;
}

static bool bert(const adzi_tok_normalizer *n, adzi_tok_text *text, adzi_tok_making makings[2])
{
    int to = text->bytes == makings[0].bytes.at;
    if (is_ascii(text)) {
        signed char table[128];
        for (int c = 0; c < 128; ++c) {
            table[c] = bert_ascii(n, (unsigned char)c);
        }
        adzi_tok_make(&makings[to], text);
        put_ascii(&makings[to], table);
        *text = adzi_tok_made(&makings[to]);
        return text->bytes != NULL;
    }
    adzi_tok_text now = *text;
    const bool passes[] = { n->clean || n->chinese, n->accents, n->accents, n->lowercase };
    for (int pass = 0; pass < 4 && now.bytes != NULL; ++pass) {
        if (!passes[pass] || (pass == 1 && !adzi_tok_form_changes(&now, false, false))) {
            continue;
        }
        const adzi_tok_text old = now;
        adzi_tok_make(&makings[to], &old);
        if (pass == 1) {
            adzi_tok_form(&makings[to], false, false);
        } else {
            bert_run(&makings[to], n, pass == 0 ? CLEAN : pass == 2 ? ACCENTS : LOWER);
        }
        now = adzi_tok_made(&makings[to]);
        to = !to;
    }
    *text = now;
    return now.bytes != NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Whether a normalizer may change a text, which is looked at where that is cheap. */
static bool changes(const adzi_tok_normalizer *n, const adzi_tok_text *text)
{
    switch (n->kind) {
    case NORMALIZE_FORM:
        return adzi_tok_form_changes(text, n->compose, n->compatible);
    case NORMALIZE_STRIP_ACCENTS:
        return !is_ascii(text);
    case NORMALIZE_REPLACE:
        return memmem(text->bytes, text->size, n->pattern.at, n->pattern.size) != NULL;
    case NORMALIZE_PREPEND:
        return n->content.size > 0;
    default:
        return true;
    }
}

adzi_tok_text adzi_tok_normalize(const adzi_tok *t, adzi_tok_text text, adzi_tok_making makings[2])
{
    for (size_t i = 0; i < t->n_normalizers && text.bytes != NULL && text.size > 0; ++i) {
        const adzi_tok_normalizer *n = &t->normalizers[i];
        if (n->kind == NORMALIZE_BERT) {
            bert(n, &text, makings);
            continue;
        }
        if (!changes(n, &text)) {
            continue;
        }
        adzi_tok_making *m = &makings[text.bytes == makings[0].bytes.at];
        const adzi_tok_text old = text;
        adzi_tok_make(m, &old);
        switch (n->kind) {
        case NORMALIZE_FORM:
            adzi_tok_form(m, n->compose, n->compatible);
            break;
        case NORMALIZE_LOWERCASE:
            each(m, put_lowered);
            break;
        case NORMALIZE_STRIP:
            strip(m, n);
            break;
        case NORMALIZE_STRIP_ACCENTS:
            each(m, put_without_marks);
            break;
        case NORMALIZE_REPLACE:
            replace(m, n);
            break;
        default:
            prepend(m, &n->content);
            break;
        }
        text = adzi_tok_made(m);
    }
    return text;
}
