/* Decoding. Each token goes through the decoders up to the one that joins all of them. What a later
 * token may change waits in the notes. */
#include "decode.h"

/* What is known from one call to the next. */
typedef struct notes {
    uint32_t begun;        /* a token has come */
    uint32_t waits;        /* a token waits, because the last one is treated in its own way */
    int64_t waiting;       /* its id */
    unsigned char held[4]; /* the first bytes of a character of ByteFallback */
    uint32_t n_held;
    uint32_t started;  /* a character that Strip leaves alone has come */
    uint64_t stripped; /* characters that Strip has removed from the beginning */
    uint64_t trailing; /* characters at the end that Strip may remove */
} notes;

_Static_assert(sizeof(notes) <= ADZ_TOKENIZER_NOTES, "notes must fit");

/* A call. */
typedef struct decoding {
    const adzi_tok *t;
    notes *n;
    adz_token_put put;
    void *to;
    adzi_tok_bytes text, other; /* a token on its way */
    adzi_tok_bytes out;         /* what the joined stage gets */
} decoding;

/* ---- alphabets ------------------------------------------------------------------------------ */

static bool is_printable(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The byte that a character of the byte-level alphabet stands for, or -1. */
static int alphabet_byte(uint32_t point)
{
    if (point < 0x100) {
        return is_printable(point) ? (int)point : -1;
    }
    /* The other bytes are numbered from U+0100 on: 0 to 0x20, 0x7f to 0xa0, and 0xad. */
    const uint32_t n = point - 0x100;
    return n <= 0x20 ? (int)n : n <= 0x42 ? (int)(n - 0x21 + 0x7f) : n == 0x43 ? 0xad : -1;
}

bool adzi_tok_to_bytes(const char *token, size_t size, adzi_tok_bytes *to, bool *mapped)
{
    const size_t begin = to->size;
    size_t bytes;
    *mapped = true;
    for (size_t i = 0; i < size; i += bytes) {
        const int byte = alphabet_byte(adzi_tok_read(token + i, &bytes));
        const char c = (char)(unsigned char)byte;
        if (byte < 0) {
            to->size = begin;
            *mapped = false;
            return adzi_tok_append(to, token, size);
        }
        if (!adzi_tok_append(to, &c, 1)) {
            return false;
        }
    }
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte of a token such as <0x0A>, or -1. */
static int fallback_byte(const char *token, size_t size)
{
    if (size != 6 || memcmp(token, "<0x", 3) != 0 || token[5] != '>') {
        return -1;
    }
    const int low = digit(token[4]);
    /* Rust reads a sign before digits. */
    const int high = token[3] == '+' ? 0 : digit(token[3]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/* ---- decoders of single tokens -------------------------------------------------------------- */

/* Replaces each occurrence of a text in d->text. */
static bool replace(decoding *d, const char *what, size_t size, const char *by, size_t by_size)
{
    const char *at = d->text.at, *end = at + d->text.size;
    if (d->text.size == 0 || memmem(at, d->text.size, what, size) == NULL) {
        return true;
    }
    d->other.size = 0;
    for (;;) {
        const char *hit = memmem(at, (size_t)(end - at), what, size);
        const char *to = hit != NULL ? hit : end;
        if (!adzi_tok_append(&d->other, at, (size_t)(to - at)) ||
            (hit != NULL && !adzi_tok_append(&d->other, by, by_size))) {
            return false;
        }
        if (hit == NULL) {
            break;
        }
        at = hit + size;
    }
    const adzi_tok_bytes old = d->text;
    d->text = d->other;
    d->other = old;
    return true;
}

static bool clean_up(decoding *d)
{
    static const char *const pairs[][2] = { { " .", "." }, { " ?", "?" }, { " !", "!" },
        { " ,", "," }, { " ' ", "'" }, { " n't", "n't" }, { " 'm", "'m" }, { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" } };
    bool good = true;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && good; ++i) {
        good = replace(d, pairs[i][0], strlen(pairs[i][0]), pairs[i][1], strlen(pairs[i][1]));
    }
    return good;
}

/* Removes the prefix of a token that continues a word, and puts a space before others. */
static bool word_piece(decoding *d, const adzi_tok_decoder *by)
{
    const size_t n = by->pattern.size;
    if (d->n->begun != 0) {
        const bool continues =
            d->text.size >= n && (n == 0 || memcmp(d->text.at, by->pattern.at, n) == 0);
        d->other.size = 0;
        if (!(continues || adzi_tok_append(&d->other, " ", 1)) ||
            !adzi_tok_append(
                &d->other, d->text.at + (continues ? n : 0), d->text.size - (continues ? n : 0))) {
            return false;
        }
        const adzi_tok_bytes old = d->text;
        d->text = d->other;
        d->other = old;
    }
    return !by->cleanup || clean_up(d);
}

/* Removes up to `start` and `stop` of a character from both ends of a token. */
static void strip(decoding *d, const adzi_tok_decoder *by)
{
    const size_t n = by->pattern.size;
    size_t begin = 0, end = d->text.size;
    for (size_t i = 0;
         i < by->start && end - begin >= n && memcmp(d->text.at + begin, by->pattern.at, n) == 0;
         ++i) {
        begin += n;
    }
    for (size_t i = 0;
         i < by->stop && end - begin >= n && memcmp(d->text.at + end - n, by->pattern.at, n) == 0;
         ++i) {
        end -= n;
    }
    if (end > begin) {
        memmove(d->text.at, d->text.at + begin, end - begin);
    }
    d->text.size = end - begin;
}

static bool decode_by(decoding *d, const adzi_tok_decoder *by, bool final)
{
    switch (by->kind) {
    case DECODE_WORD_PIECE:
        return word_piece(d, by);
    case DECODE_METASPACE:
        return replace(d, by->pattern.at, by->pattern.size, " ",
            d->n->begun == 0 && by->scheme != PREPEND_NEVER ? 0 : 1);
    case DECODE_BPE:
        return replace(d, by->pattern.at, by->pattern.size, " ", final ? 0 : 1);
    case DECODE_REPLACE:
        return replace(d, by->pattern.at, by->pattern.size, by->content.at, by->content.size);
    case DECODE_STRIP:
        strip(d, by);
        return true;
    default:
        return true;
    }
}

/* ---- bytes of ByteFallback ------------------------------------------------------------------ */

/* The bytes of a character of UTF-8 at `at`: 0 if it is cut, -1 if there is none. */
static int character(const unsigned char *at, size_t left)
{
    const adz_text text = { (const char *)at, left };
    size_t bytes = 0;
    const uint32_t point = adz_utf8_next(text, &bytes);
    if (point != ADZ_UTF8_REPLACEMENT || (left >= 3 && memcmp(at, "\xef\xbf\xbd", 3) == 0)) {
        return (int)bytes;
    }
    const size_t need = at[0] < 0xc2   ? 0
                        : at[0] < 0xe0 ? 2
                        : at[0] < 0xf0 ? 3
                        : at[0] < 0xf5 ? 4
                                       : 0;
    if (left >= need) {
        return -1;
    }
    /* The shortest and the longest continuation: one of them is a character if any is. */
    unsigned char low[4] = { at[0], 0x80, 0x80, 0x80 }, high[4] = { at[0], 0xbf, 0xbf, 0xbf };
    if (left > 1) {
        memcpy(low, at, left);
        memcpy(high, at, left);
    } else {
        low[1] = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    }
    size_t a = 0, b = 0;
    adz_utf8_next((adz_text){ (const char *)low, need }, &a);
    adz_utf8_next((adz_text){ (const char *)high, need }, &b);
    return a == need || b == need ? 0 : -1;
}

static bool put_replacements(decoding *d, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        good = adzi_tok_append(&d->out, "\xef\xbf\xbd", 3);
    }
    return good;
}

/* Gives out the bytes that are held, one U+FFFD for each. */
static bool drop_held(decoding *d)
{
    const size_t n = d->n->n_held;
    d->n->n_held = 0;
    return put_replacements(d, n);
}

/* A byte that comes alone, in a stream: complete characters are given out at once. */
static bool take_byte(decoding *d, int byte)
{
    notes *n = d->n;
    n->held[n->n_held++] = (unsigned char)byte;
    int whole = character(n->held, n->n_held);
    if (whole < 0 && n->n_held > 1) {
        n->n_held -= 1;
        if (!drop_held(d)) {
            return false;
        }
        n->held[0] = (unsigned char)byte;
        n->n_held = 1;
        whole = character(n->held, 1);
    }
    if (whole < 0) {
        return drop_held(d);
    }
    if (whole > 0) {
        const size_t size = n->n_held;
        n->n_held = 0;
        return adzi_tok_append(&d->out, (const char *)n->held, size);
    }
    return true;
}

static adz_text text_of(const adzi_tok *t, int64_t id)
{
    const adzi_tok_token *token = &t->tokens[id];
    return (adz_text){ t->texts.at + token->begin, token->size };
}

static bool is_left_out(const adzi_tok *t, int64_t id)
{
    return !t->tokens[id].exists || (t->skip_special && t->tokens[id].special);
}

/* The byte of an id after the decoders before ByteFallback, which leave such tokens alone. */
static int byte_of(const adzi_tok *t, int64_t id)
{
    const adz_text text = text_of(t, id);
    return fallback_byte(text.bytes, text.size);
}

/* Bytes that come together: if they are UTF-8 they are the text, else each is a U+FFFD. Returns how
 * many ids were taken; 0 with the error recorded. */
static size_t take_group(decoding *d, const int64_t *ids, size_t n)
{
    adzi_tok_bytes bytes = { 0 };
    bool good = true;
    size_t used = 0;
    for (; used < n && good; ++used) {
        const int byte = is_left_out(d->t, ids[used]) ? 256 : byte_of(d->t, ids[used]);
        const char c = (char)(unsigned char)byte;
        if (byte < 0) {
            break;
        }
        good = byte == 256 || adzi_tok_append(&bytes, &c, 1);
    }
    bool sound = true;
    for (size_t i = 0; i < bytes.size && sound;) {
        const int whole = character((const unsigned char *)bytes.at + i, bytes.size - i);
        sound = whole > 0;
        i += sound ? (size_t)whole : 0;
    }
    good = good && (sound ? adzi_tok_append(&d->out, bytes.at, bytes.size)
                          : put_replacements(d, bytes.size));
    adzi_tok_free(bytes.at);
    return good ? used : 0;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static bool has(const adzi_tok *t, adzi_tok_decoder_kind kind)
{
    bool any = false;
    for (size_t i = 0; i < t->n_decoders; ++i) {
        any = any || t->decoders[i].kind == kind;
    }
    return any;
}

/* Decodes one token, `final` if it is the last one of the text. */
static bool take_token(decoding *d, int64_t id, bool final)
{
    const adz_text text = text_of(d->t, id);
    d->text.size = 0;
    bool good = adzi_tok_append(&d->text, text.bytes, text.size), mapped;
    if (d->t->n_decoders == 0) {
        good = good && (d->n->begun == 0 || adzi_tok_append(&d->out, " ", 1));
    }
    for (size_t i = 0; i < d->t->n_decoders && good; ++i) {
        const adzi_tok_decoder *by = &d->t->decoders[i];
        if (by->kind == DECODE_FUSE) {
            break;
        }
        if (by->kind == DECODE_BYTE_LEVEL) {
            d->n->begun = 1;
            return adzi_tok_to_bytes(d->text.at, d->text.size, &d->out, &mapped);
        }
        good = decode_by(d, by, final);
    }
    d->n->begun = 1;
    return good && adzi_tok_append(&d->out, d->text.at, d->text.size);
}

/* The Strip behind the decoder that joins tokens, or NULL. */
static const adzi_tok_decoder *joined_strip(const adzi_tok *t)
{
    bool joined = false;
    for (size_t i = 0; i < t->n_decoders; ++i) {
        if (joined && t->decoders[i].kind == DECODE_STRIP) {
            return &t->decoders[i];
        }
        joined = joined || t->decoders[i].kind == DECODE_FUSE ||
                 t->decoders[i].kind == DECODE_BYTE_LEVEL;
    }
    return NULL;
}

static bool put_signs(decoding *d, const adzi_tok_decoder *by, uint64_t n)
{
    bool good = true;
    for (uint64_t i = 0; i < n && good; ++i) {
        good = d->put(d->to, (adz_text){ by->pattern.at, by->pattern.size });
    }
    return good;
}

/* Gives out the joined text without what a Strip removes. Characters at the end that it may remove
 * wait until others follow. */
static bool give(decoding *d)
{
    if (d->out.size == 0) {
        return true;
    }
    const adzi_tok_decoder *by = joined_strip(d->t);
    const char *at = d->out.at, *end = at + d->out.size;
    if (by == NULL) {
        return d->put(d->to, (adz_text){ at, d->out.size });
    }
    const size_t n = by->pattern.size;
    while (d->n->started == 0 && d->n->stripped < by->start && (size_t)(end - at) >= n &&
           memcmp(at, by->pattern.at, n) == 0) {
        at += n;
        d->n->stripped += 1;
    }
    const char *stop = end;
    uint64_t signs = 0;
    while (
        signs < by->stop && (size_t)(stop - at) >= n && memcmp(stop - n, by->pattern.at, n) == 0) {
        stop -= n;
        signs += 1;
    }
    d->n->started = d->n->started != 0 || end > at;
    if (stop == at) { /* signs alone */
        const uint64_t all = d->n->trailing + signs;
        const uint64_t over = all > by->stop ? all - by->stop : 0;
        d->n->trailing = all - over;
        return put_signs(d, by, over);
    }
    const bool good =
        put_signs(d, by, d->n->trailing) && d->put(d->to, (adz_text){ at, (size_t)(stop - at) });
    d->n->trailing = signs;
    return good;
}

/* Takes ids 0 .. n-1, of which others follow unless `last`. */
static bool take_all(decoding *d, const int64_t *ids, size_t n, bool last)
{
    const bool bytes = has(d->t, DECODE_BYTE_FALLBACK), lags = has(d->t, DECODE_BPE);
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        if (is_left_out(d->t, ids[i])) {
            continue;
        }
        const int byte = bytes ? byte_of(d->t, ids[i]) : -1;
        if (byte >= 0 && last) { /* no stream: the whole group is known */
            const size_t used = take_group(d, ids + i, n - i);
            good = used > 0;
            i += used > 0 ? used - 1 : 0;
            d->n->begun = 1;
        } else if (byte >= 0) {
            good = take_byte(d, byte);
        } else if (lags) {
            good = d->n->waits == 0 || take_token(d, d->n->waiting, false);
            d->n->waits = 1;
            d->n->waiting = ids[i];
        } else {
            good = drop_held(d) && take_token(d, ids[i], false);
        }
    }
    if (last && good) {
        good = drop_held(d) && (d->n->waits == 0 || take_token(d, d->n->waiting, true));
        d->n->waits = 0;
    }
    return good;
}

bool adzi_tok_decode(const adz_tokenizer *self, void *notes_, const int64_t *ids, size_t n,
    bool last, adz_token_put put, void *to)
{
    decoding d = { .t = adz_tokenizer_data(self), .n = notes_, .put = put, .to = to };
    const bool good = take_all(&d, ids, n, last) && give(&d);
    adzi_tok_free(d.text.at);
    adzi_tok_free(d.other.at);
    adzi_tok_free(d.out.at);
    return good;
}
