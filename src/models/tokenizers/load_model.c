/* Reading models: vocabularies and merges. */
#include "decode.h"
#include "loading.h"

/* ---- vocabularies --------------------------------------------------------------------------- */

/* Enters a token under its id. */
static bool enter(adzi_tok *t, const models_json *vocab, const char *text, const json_t *value)
{
    const size_t size = strlen(text);
    const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    /* Holes between ids are allowed, but no more of them than there could be tokens. */
    if (id < 0 || (size_t)id >= 2 * json_object_size(vocab->value) + 65536) {
        adzi_models_json_fail(vocab, ADZ_ERR_FORMAT,
            "gives the token \"%.80s\" a number that is not one of its %zu", text,
            json_object_size(vocab->value));
        return false;
    }
    if (!adzi_tok_map_set(&t->ids, text, size, (int32_t)id)) {
        return false;
    }
    if (t->model.kind == MODEL_WORD_PIECE) {
        const adzi_tok_bytes *prefix = &t->model.prefix;
        const bool continues = size > prefix->size &&
                               (prefix->size == 0 || memcmp(text, prefix->at, prefix->size) == 0);
        return size == 0 ||
               (adzi_tok_trie_add(&t->model.first, text, size, (int32_t)id) &&
                   (!continues || adzi_tok_trie_add(&t->model.next, text + prefix->size,
                                      size - prefix->size, (int32_t)id)));
    }
    if (!t->model.byte_level) {
        return adzi_tok_map_set(&t->model.words, text, size, (int32_t)id);
    }
    adzi_tok_bytes bytes = { 0 };
    bool mapped = false, good = adzi_tok_to_bytes(text, size, &bytes, &mapped);
    if (good && mapped) {
        good = adzi_tok_map_set(&t->model.words, bytes.at, bytes.size, (int32_t)id);
        if (bytes.size == 1) {
            t->model.bytes[(unsigned char)bytes.at[0]] = (int32_t)id;
        }
    }
    adzi_tok_free(bytes.at);
    return good;
}

static bool read_vocab(adzi_tok *t, const models_json *model)
{
    const models_json vocab = adzi_models_json_member(model, "vocab");
    if (!adzi_models_json_is_object(&vocab)) {
        return false;
    }
    bool good = true;
    for (void *i = json_object_iter((json_t *)(uintptr_t)vocab.value); i != NULL && good;
         i = json_object_iter_next((json_t *)(uintptr_t)vocab.value, i)) {
        good = enter(t, &vocab, json_object_iter_key(i), json_object_iter_value(i));
    }
    if (good && t->ids.count == 0) {
        adzi_models_json_fail(&vocab, ADZ_ERR_FORMAT, "is empty");
    }
    return good && t->ids.count > 0;
}

/* The id of a token of the vocabulary; -1 with the error recorded. */
static int32_t id_of(const adzi_tok *t, const models_json *at, const char *text, size_t size)
{
    const int32_t id = adzi_tok_map_find(&t->ids, text, size);
    if (id < 0) {
        adzi_models_json_fail(at, ADZ_ERR_FORMAT,
            "names the token \"%.*s\", which the vocabulary lacks", size < 80 ? (int)size : 80,
            text);
    }
    return id;
}

/* ---- merges --------------------------------------------------------------------------------- */

/* Both texts of a merge, which is "a b" or ["a", "b"]. */
static bool read_merge(const models_json *at, adz_text *left, adz_text *right)
{
    const models_json first = adzi_models_json_at(at, 0), second = adzi_models_json_at(at, 1);
    if (json_is_array(at->value)) {
        const char *a = adzi_models_json_text_of(&first);
        const char *b = a != NULL ? adzi_models_json_text_of(&second) : NULL;
        if (b == NULL || json_array_size(at->value) != 2) {
            if (b != NULL) {
                adzi_models_json_fail(at, ADZ_ERR_FORMAT, "is no pair");
            }
            return false;
        }
        *left = (adz_text){ a, strlen(a) };
        *right = (adz_text){ b, strlen(b) };
        return true;
    }
    const char *text = adzi_models_json_text_of(at);
    const char *space = text != NULL ? strchr(text, ' ') : NULL;
    if (space == NULL || strchr(space + 1, ' ') != NULL) {
        if (text != NULL) {
            adzi_models_json_fail(
                at, ADZ_ERR_FORMAT, "is no pair of tokens with one space between");
        }
        return false;
    }
    *left = (adz_text){ text, (size_t)(space - text) };
    *right = (adz_text){ space + 1, strlen(space + 1) };
    return true;
}

/* Enters a merge; a later one of the same pair replaces it. */
static bool enter_merge(adzi_tok *t, const models_json *at, uint32_t rank, adzi_tok_bytes *joined)
{
    adz_text left, right;
    if (!read_merge(at, &left, &right)) {
        return false;
    }
    const size_t cut = t->model.prefix.size;
    const int32_t a = id_of(t, at, left.bytes, left.size);
    const int32_t b = a >= 0 ? id_of(t, at, right.bytes, right.size) : -1;
    joined->size = 0;
    if (b >= 0 && right.size < cut) {
        adzi_models_json_fail(at, ADZ_ERR_FORMAT, "merges a token shorter than the prefix");
        return false;
    }
    if (b < 0 || !adzi_tok_append(joined, left.bytes, left.size) ||
        !adzi_tok_append(joined, right.bytes + cut, right.size - cut)) {
        return false;
    }
    const int32_t id = id_of(t, at, joined->at, joined->size);
    const uint64_t pair = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    size_t i = adzi_tok_merge_position(&t->model, pair);
    while (t->model.merges[i].id >= 0 && t->model.merges[i].pair != pair) {
        i = (i + 1) & t->model.merge_mask;
    }
    if (id >= 0) {
        t->model.merges[i] = (adzi_tok_merge){ pair, rank, id };
    }
    return id >= 0;
}

/* The rank of a merge: that in a list of ranks, or its position. False with the error recorded. */
static bool rank_of(const models_json *ranks, size_t i, uint32_t *rank)
{
    int64_t number = (int64_t)i;
    if (!adzi_tok_is_null(ranks)) {
        const models_json at = adzi_models_json_at(ranks, i);
        if (!adzi_models_json_whole_of(&at, 0, INT32_MAX, &number)) {
            return false;
        }
    }
    *rank = (uint32_t)number;
    return true;
}

/* Merges, and "merge_ranks", which other libraries do not have: tokenizers of GGUF files have
 * several merges of one rank, of which the leftmost pair is merged first. */
static bool read_merges(adzi_tok *t, const models_json *model)
{
    const models_json merges = adzi_models_json_member(model, "merges");
    const models_json ranks = adzi_models_json_member(model, "merge_ranks");
    size_t n = 0, n_ranks = 0, slots = 64;
    if (!adzi_models_json_count(&merges, &n) ||
        (!adzi_tok_is_null(&ranks) && !adzi_models_json_count(&ranks, &n_ranks))) {
        return false;
    }
    if (!adzi_tok_is_null(&ranks) && n_ranks != n) {
        adzi_models_json_fail(
            &ranks, ADZ_ERR_FORMAT, "has %zu elements for %zu merges", n_ranks, n);
        return false;
    }
    while (slots < 2 * n) {
        slots *= 2;
    }
    t->model.merges = adzi_tok_alloc(slots * sizeof *t->model.merges);
    if (t->model.merges == NULL) {
        return false;
    }
    t->model.merge_mask = slots - 1;
    for (size_t i = 0; i < slots; ++i) {
        t->model.merges[i].id = -1;
    }
    adzi_tok_bytes joined = { 0 };
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        const models_json merge = adzi_models_json_at(&merges, i);
        uint32_t rank = 0;
        good = rank_of(&ranks, i, &rank) && enter_merge(t, &merge, rank, &joined);
    }
    adzi_tok_free(joined.at);
    return good;
}

/* ---- models --------------------------------------------------------------------------------- */

/* A member that is a text or null, which leaves `to` empty. */
static bool read_optional(const models_json *model, const char *name, adzi_tok_bytes *to)
{
    const models_json at = adzi_models_json_member(model, name);
    return adzi_tok_is_null(&at) || adzi_tok_load_text(model, name, to);
}

static void find_fallback(adzi_tok *t)
{
    static const char digits[] = "0123456789ABCDEF";
    for (int i = 0; i < 256; ++i) {
        const char text[] = { '<', '0', 'x', digits[i / 16], digits[i % 16], '>' };
        t->model.fallback[i] = adzi_tok_map_find(&t->ids, text, sizeof text);
    }
}

/* Settings that are not known together from any model. */
static bool check_bpe(const models_json *model, const adzi_tok_model *m, bool dropout)
{
    const char *what = dropout ? "has dropout, which draws numbers while it encodes"
                       : m->byte_level && (m->prefix.size > 0 || m->suffix.size > 0)
                           ? "has a prefix or a suffix of subwords behind a ByteLevel"
                       : m->byte_level && m->byte_fallback ? "has byte_fallback behind a ByteLevel"
                       : m->byte_fallback && (m->prefix.size > 0 || m->suffix.size > 0)
                           ? "has byte_fallback and a prefix or a suffix of subwords"
                           : NULL;
    if (what != NULL) {
        adzi_models_json_fail(model, ADZ_ERR_UNSUPPORTED, "%s", what);
    }
    return what == NULL;
}

static bool read_bpe(adzi_tok *t, const models_json *model)
{
    static const char *const known[] = { "type", "dropout", "unk_token",
        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
        "ignore_merges", "vocab", "merges", "merge_ranks", NULL };
    adzi_tok_model *m = &t->model;
    const models_json dropout = adzi_models_json_member(model, "dropout");
    const models_json unknown = adzi_models_json_member(model, "unk_token");
    double p = 0;
    m->kind = MODEL_BPE;
    if (!adzi_models_json_only(model, known) ||
        !(adzi_tok_is_null(&dropout) || adzi_models_json_number_of(&dropout, &p)) ||
        !read_optional(model, "unk_token", &m->unknown_text) ||
        !read_optional(model, "continuing_subword_prefix", &m->prefix) ||
        !read_optional(model, "end_of_word_suffix", &m->suffix) ||
        !adzi_tok_load_flag(model, "fuse_unk", &m->fuse_unknown) ||
        !adzi_tok_load_flag(model, "byte_fallback", &m->byte_fallback) ||
        !adzi_tok_load_flag(model, "ignore_merges", &m->ignore_merges) ||
        !check_bpe(model, m, p != 0) || !read_vocab(t, model)) {
        return false;
    }
    if (m->unknown_text.size > 0) {
        m->unknown = id_of(t, &unknown, m->unknown_text.at, m->unknown_text.size);
        if (m->unknown < 0) {
            return false;
        }
    }
    find_fallback(t);
    return read_merges(t, model);
}

static bool read_word_piece(adzi_tok *t, const models_json *model)
{
    static const char *const known[] = { "type", "unk_token", "continuing_subword_prefix",
        "max_input_chars_per_word", "vocab", NULL };
    adzi_tok_model *m = &t->model;
    int64_t most = 100;
    m->kind = MODEL_WORD_PIECE;
    if (m->byte_level) {
        adzi_models_json_fail(model, ADZ_ERR_UNSUPPORTED, "is a WordPiece behind a ByteLevel");
        return false;
    }
    if (!adzi_models_json_only(model, known) ||
        !adzi_tok_load_text(model, "unk_token", &m->unknown_text) ||
        !adzi_tok_load_text(model, "continuing_subword_prefix", &m->prefix) ||
        !adzi_models_json_whole(model, "max_input_chars_per_word", 0, INT32_MAX, &most) ||
        !read_vocab(t, model)) {
        return false;
    }
    m->max_characters = (size_t)most;
    m->unknown = adzi_tok_map_find(&t->ids, m->unknown_text.at, m->unknown_text.size);
    return true;
}

bool adzi_tok_load_model(adzi_tok *t, const models_json *model)
{
    adzi_tok_model *m = &t->model;
    m->byte_level = t->n_splitters > 0 && t->splitters[t->n_splitters - 1].kind == SPLIT_BYTE_LEVEL;
    m->unknown = -1;
    for (int i = 0; i < 256; ++i) {
        m->bytes[i] = -1;
    }
    if (!adzi_models_json_is_object(model)) {
        return false;
    }
    /* Old files have no type. */
    const models_json type_at = adzi_models_json_member(model, "type");
    const models_json merges = adzi_models_json_member(model, "merges");
    const char *type = type_at.value == NULL ? (merges.value != NULL ? "BPE" : "WordPiece")
                                             : adzi_models_json_text_of(&type_at);
    if (type == NULL) {
        return false;
    }
    return strcmp(type, "BPE") == 0         ? read_bpe(t, model)
           : strcmp(type, "WordPiece") == 0 ? read_word_piece(t, model)
                                            : adzi_tok_unknown(model, "model", type);
}
