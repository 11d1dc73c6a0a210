/* Reading decoders. */
#include "loading.h"

static adzi_tok_decoder *add(adzi_tok *t, adzi_tok_decoder_kind kind)
{
    if (!adzi_tok_reserve(
            &t->decoders, &t->decoders_room, t->n_decoders + 1, sizeof *t->decoders)) {
        return NULL;
    }
    adzi_tok_decoder *d = &t->decoders[t->n_decoders++];
    *d = (adzi_tok_decoder){ .kind = kind };
    return d;
}

static bool read_word_piece(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "prefix", "cleanup", NULL };
    adzi_tok_decoder *d = add(t, DECODE_WORD_PIECE);
    return d != NULL && adzi_models_json_only(at, known) &&
           adzi_tok_load_text(at, "prefix", &d->pattern) &&
           adzi_models_json_flag(at, "cleanup", &d->cleanup);
}

static bool read_metaspace(adzi_tok *t, const models_json *at)
{
    bool split;
    adzi_tok_decoder *d = add(t, DECODE_METASPACE);
    return d != NULL && adzi_tok_load_metaspace(at, &d->pattern, &d->scheme, &split);
}

static bool read_bpe(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "suffix", NULL };
    adzi_tok_decoder *d = add(t, DECODE_BPE);
    if (d == NULL || !adzi_models_json_only(at, known) ||
        !adzi_tok_load_text(at, "suffix", &d->pattern)) {
        return false;
    }
    if (d->pattern.size == 0) {
        adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED, "has an empty suffix");
    }
    return d->pattern.size > 0;
}

static bool read_replace(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    adzi_tok_decoder *d = add(t, DECODE_REPLACE);
    const models_json pattern = adzi_models_json_member(at, "pattern");
    const models_json regex = adzi_models_json_member(&pattern, "Regex");
    if (regex.value != NULL) {
        const char *text = adzi_models_json_text_of(&regex);
        return text != NULL && adzi_tok_unknown(&regex, "regular expression", text);
    }
    if (d == NULL || !adzi_models_json_only(at, known) || !adzi_models_json_is_object(&pattern) ||
        !adzi_tok_load_text(&pattern, "String", &d->pattern) ||
        !adzi_tok_load_text(at, "content", &d->content)) {
        return false;
    }
    if (d->pattern.size == 0) {
        adzi_models_json_fail(&pattern, ADZ_ERR_FORMAT, "is empty");
    }
    return d->pattern.size > 0;
}

static bool read_strip(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "content", "start", "stop", NULL };
    adzi_tok_decoder *d = add(t, DECODE_STRIP);
    int64_t start = 0, stop = 0;
    if (d == NULL || !adzi_models_json_only(at, known) ||
        !adzi_tok_load_text(at, "content", &d->pattern) ||
        !adzi_models_json_whole(at, "start", 0, INT32_MAX, &start) ||
        !adzi_models_json_whole(at, "stop", 0, INT32_MAX, &stop)) {
        return false;
    }
    if (d->pattern.size == 0 || adzi_tok_bytes_of(*d->pattern.at) != d->pattern.size) {
        adzi_models_json_fail(at, ADZ_ERR_FORMAT, "must have one character as content");
        return false;
    }
    d->start = (size_t)start;
    d->stop = (size_t)stop;
    return true;
}

static bool read_byte_level(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
        NULL };
    return add(t, DECODE_BYTE_LEVEL) != NULL && adzi_models_json_only(at, known);
}

static bool read_fallback(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", NULL };
    return add(t, DECODE_BYTE_FALLBACK) != NULL && adzi_models_json_only(at, known);
}

static bool read_fuse(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", NULL };
    return add(t, DECODE_FUSE) != NULL && adzi_models_json_only(at, known);
}

/* Behind a Fuse or a ByteLevel, all tokens are one text, of which a Strip alone is known. Behind a
 * ByteFallback, several tokens may have become one, so only a Fuse can follow. */
static bool check_order(const adzi_tok *t, const models_json *at, const char *type)
{
    const size_t last = t->n_decoders - 1;
    const adzi_tok_decoder_kind kind = t->decoders[last].kind;
    bool joined = false;
    for (size_t i = 0; i < last; ++i) {
        joined = joined || t->decoders[i].kind == DECODE_FUSE ||
                 t->decoders[i].kind == DECODE_BYTE_LEVEL;
    }
    const adzi_tok_decoder_kind before = last > 0 ? t->decoders[last - 1].kind : DECODE_REPLACE;
    const bool known = joined
                           ? kind == DECODE_FUSE || (kind == DECODE_STRIP && before != DECODE_STRIP)
                           : before != DECODE_BYTE_FALLBACK || kind == DECODE_FUSE;
    if (!known) {
        adzi_models_json_fail(
            at, ADZ_ERR_UNSUPPORTED, "is the decoder \"%.80s\" behind one that joins tokens", type);
    }
    return known;
}

static bool read_one(adzi_tok *t, const models_json *at, const char *type)
{
    static const struct {
        const char *type;
        bool (*read)(adzi_tok *t, const models_json *at);
    } readers[] = { { "WordPiece", read_word_piece }, { "ByteLevel", read_byte_level },
        { "Metaspace", read_metaspace }, { "BPEDecoder", read_bpe }, { "Replace", read_replace },
        { "ByteFallback", read_fallback }, { "Fuse", read_fuse }, { "Strip", read_strip } };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i) {
        if (strcmp(type, readers[i].type) == 0) {
            return readers[i].read(t, at) && check_order(t, at, type);
        }
    }
    return adzi_tok_unknown(at, "decoder", type);
}

bool adzi_tok_load_decoder(adzi_tok *t, const models_json *decoder)
{
    if (!adzi_tok_load_each(t, decoder, "decoders", read_one)) {
        return false;
    }
    /* Without a decoder, spaces stand between tokens; behind an empty Sequence, nothing does. */
    return adzi_tok_is_null(decoder) || t->n_decoders > 0 || add(t, DECODE_FUSE) != NULL;
}
