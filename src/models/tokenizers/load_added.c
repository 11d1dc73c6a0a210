/* Reading added tokens, and the list of all tokens. */
#include "loading.h"
#include "normalize.h"

/* What the normalizers make of the text of a token. False with the error recorded. */
static bool normalized_text(const adzi_tok *t, adz_text text, adzi_tok_bytes *to)
{
    adzi_tok_making makings[2] = { 0 };
    const adzi_tok_text whole = { text.bytes, text.size, NULL, 0 };
    const adzi_tok_text made = adzi_tok_normalize(t, whole, makings);
    to->size = 0;
    const bool good = made.bytes != NULL && adzi_tok_append(to, made.bytes, made.size);
    adzi_tok_making_free(&makings[0]);
    adzi_tok_making_free(&makings[1]);
    return good;
}

static bool look_for(adzi_tok_matcher *matcher, const char *text, size_t size, size_t position)
{
    if (size == 0) {
        return true;
    }
    matcher->begins[(unsigned char)text[0]] = true;
    matcher->n += 1;
    return adzi_tok_trie_add(&matcher->trie, text, size, (int32_t)position);
}

/* The id of a token that is added: its own in the vocabulary, or the next one. */
static bool check_id(
    adzi_tok *t, const models_json *at, const char *text, int64_t id, int64_t *next)
{
    const int32_t own = adzi_tok_map_find(&t->ids, text, strlen(text));
    const int64_t wanted = own >= 0 ? own : *next;
    if (id != wanted) {
        adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED,
            "gives \"%.80s\" the id %lld, but by vocabulary and order it is %lld", text,
            (long long)id, (long long)wanted);
        return false;
    }
    *next += own < 0;
    return own >= 0 || adzi_tok_map_set(&t->ids, text, strlen(text), (int32_t)id);
}

/* What is known while the tokens are read. */
typedef struct reading {
    int64_t next;        /* the id of the next new token */
    adzi_tok_map seen;   /* their texts */
    adzi_tok_bytes made; /* the normalized text of one */
} reading;

/* Whether a token comes for the first time. */
static bool is_new(const models_json *at, reading *r, const char *text)
{
    if (adzi_tok_map_find(&r->seen, text, strlen(text)) >= 0) {
        adzi_models_json_fail(at, ADZ_ERR_FORMAT, "adds \"%.80s\" for the second time", text);
        return false;
    }
    return adzi_tok_map_set(&r->seen, text, strlen(text), 0);
}

static bool read_token(adzi_tok *t, const models_json *at, reading *r)
{
    static const char *const known[] = { "id", "content", "single_word", "lstrip", "rstrip",
        "normalized", "special", NULL };
    adzi_tok_added token = { .on = true };
    int64_t id = 0;
    const char *text = adzi_models_json_text(at, "content");
    if (text == NULL || !adzi_models_json_only(at, known) ||
        !adzi_models_json_whole(at, "id", 0, INT32_MAX / 2, &id) ||
        !adzi_models_json_flag(at, "single_word", &token.single_word) ||
        !adzi_models_json_flag(at, "lstrip", &token.left) ||
        !adzi_models_json_flag(at, "rstrip", &token.right) ||
        !adzi_models_json_flag(at, "normalized", &token.normalized) ||
        !adzi_models_json_flag(at, "special", &token.special)) {
        return false;
    }
    if (*text == '\0') {
        return true; /* as in tokenizers */
    }
    if (!is_new(at, r, text) || !check_id(t, at, text, id, &r->next) ||
        !adzi_tok_reserve(&t->added, &t->added_room, t->n_added + 1, sizeof *t->added)) {
        return false;
    }
    token.id = (int32_t)id;
    t->added[t->n_added] = token;
    if (token.normalized) {
        return normalized_text(t, (adz_text){ text, strlen(text) }, &r->made) &&
               look_for(&t->normalized, r->made.at, r->made.size, t->n_added++);
    }
    return look_for(&t->raw, text, strlen(text), t->n_added++);
}

bool adzi_tok_load_added(adzi_tok *t, const models_json *added)
{
    if (adzi_tok_is_null(added)) {
        return true;
    }
    size_t n = 0;
    reading r = { .next = (int64_t)t->ids.count };
    bool good = adzi_models_json_count(added, &n);
    for (size_t i = 0; i < n && good; ++i) {
        const models_json one = adzi_models_json_at(added, i);
        good = adzi_models_json_is_object(&one) && read_token(t, &one, &r);
    }
    adzi_tok_map_free(&r.seen);
    adzi_tok_free(r.made.at);
    return good;
}

/* ---- the list of all tokens ----------------------------------------------------------------- */

/* The spaces at the beginning and the end of a token, which trim_offsets leaves out. */
static void count_spaces(adzi_tok_token *token, const char *text)
{
    size_t leading = 0, trailing = 0, bytes;
    bool begun = false;
    for (size_t i = 0; i < token->size; i += bytes) {
        const uint32_t point = adzi_tok_read(text + i, &bytes);
        const bool space = point == 0x120 || (adzi_tok_class(point) & CLASS_SPACE) != 0;
        begun = begun || !space;
        leading += !begun;
        trailing = space ? trailing + 1 : 0;
    }
    token->leading = (uint16_t)(leading < UINT16_MAX ? leading : UINT16_MAX);
    token->trailing = (uint16_t)(trailing < UINT16_MAX ? trailing : UINT16_MAX);
}

/* A token that is looked for in normalized text is decoded to its normalized text. */
static bool list_added(adzi_tok *t, const adzi_tok_added *added, adzi_tok_bytes *text)
{
    adzi_tok_token *token = &t->tokens[added->id];
    token->added = true;
    token->special = added->special;
    if (!added->normalized || t->n_normalizers == 0) {
        return true;
    }
    text->size = 0;
    if (!adzi_tok_append(text, t->texts.at + token->begin, token->size)) {
        return false;
    }
    adzi_tok_bytes made = { 0 };
    bool good = normalized_text(t, (adz_text){ text->at, text->size }, &made);
    if (good && (made.size != text->size || memcmp(made.at, text->at, made.size) != 0)) {
        token->special = false; /* tokenizers compares texts */
        token->begin = (uint32_t)t->texts.size;
        token->size = (uint32_t)made.size;
        good = adzi_tok_append(&t->texts, made.at, made.size);
    }
    adzi_tok_free(made.at);
    return good;
}

/* Whether the special tokens of a template exist. */
static bool check_template(
    const adzi_tok *t, const models_json *root, const adzi_tok_template *template)
{
    const models_json at = adzi_models_json_member(root, "post_processor");
    for (size_t i = 0; i < template->n; ++i) {
        const adzi_tok_template_piece *piece = &template->pieces[i];
        if (piece->sequence < 0 &&
            ((size_t)piece->id >= t->n_tokens || !t->tokens[piece->id].exists)) {
            adzi_models_json_fail(
                &at, ADZ_ERR_FORMAT, "adds the token %d, which does not exist", (int)piece->id);
            return false;
        }
    }
    return true;
}

bool adzi_tok_list(adzi_tok *t, const models_json *root)
{
    for (size_t i = 0; i <= t->ids.mask; ++i) {
        const int32_t id = t->ids.slots[i].value;
        t->n_tokens = id >= 0 && (size_t)id >= t->n_tokens ? (size_t)id + 1 : t->n_tokens;
    }
    t->tokens = adzi_tok_alloc(t->n_tokens * sizeof *t->tokens);
    bool good = t->tokens != NULL && adzi_tok_append(&t->texts, t->ids.texts.at, t->ids.texts.size);
    for (size_t i = 0; i <= t->ids.mask && good; ++i) {
        const adzi_tok_slot *slot = &t->ids.slots[i];
        if (slot->value < 0) {
            continue;
        }
        adzi_tok_token *token = &t->tokens[slot->value];
        if (token->exists) {
            adzi_models_json_fail(
                root, ADZ_ERR_FORMAT, "has two tokens of the number %d", (int)slot->value);
            return false;
        }
        *token = (adzi_tok_token){ .begin = slot->begin, .size = slot->size, .exists = true };
    }
    adzi_tok_bytes made = { 0 };
    for (size_t i = 0; i < t->n_added && good; ++i) {
        good = list_added(t, &t->added[i], &made);
    }
    adzi_tok_free(made.at);
    for (size_t i = 0; i < t->n_tokens && good; ++i) {
        count_spaces(&t->tokens[i], t->texts.at + t->tokens[i].begin);
    }
    return good && check_template(t, root, &t->single) && check_template(t, root, &t->pair);
}
