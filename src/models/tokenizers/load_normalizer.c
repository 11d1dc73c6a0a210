/* Reading normalizers. */
#include "loading.h"

typedef bool (*reader)(const models_json *at, adzi_tok_normalizer *n);

static bool read_bert(const models_json *at, adzi_tok_normalizer *n)
{
    static const char *const known[] = { "type", "clean_text", "handle_chinese_chars",
        "strip_accents", "lowercase", NULL };
    n->kind = NORMALIZE_BERT;
    n->clean = n->chinese = n->lowercase = true;
    const models_json accents = adzi_models_json_member(at, "strip_accents");
    bool good = adzi_models_json_only(at, known) &&
                adzi_tok_load_flag(at, "clean_text", &n->clean) &&
                adzi_tok_load_flag(at, "handle_chinese_chars", &n->chinese) &&
                adzi_tok_load_flag(at, "lowercase", &n->lowercase);
    n->accents = n->lowercase;
    return good && (adzi_tok_is_null(&accents) || adzi_models_json_flag_of(&accents, &n->accents));
}

static bool read_strip(const models_json *at, adzi_tok_normalizer *n)
{
    static const char *const known[] = { "type", "strip_left", "strip_right", NULL };
    n->kind = NORMALIZE_STRIP;
    return adzi_models_json_only(at, known) && adzi_models_json_flag(at, "strip_left", &n->left) &&
           adzi_models_json_flag(at, "strip_right", &n->right);
}

static bool read_replace(const models_json *at, adzi_tok_normalizer *n)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    n->kind = NORMALIZE_REPLACE;
    const models_json pattern = adzi_models_json_member(at, "pattern");
    const models_json regex = adzi_models_json_member(&pattern, "Regex");
    if (regex.value != NULL) {
        const char *text = adzi_models_json_text_of(&regex);
        return text != NULL && adzi_tok_unknown(&regex, "regular expression", text);
    }
    if (!adzi_models_json_only(at, known) || !adzi_models_json_is_object(&pattern) ||
        !adzi_tok_load_text(&pattern, "String", &n->pattern) ||
        !adzi_tok_load_text(at, "content", &n->content)) {
        return false;
    }
    if (n->pattern.size == 0) {
        adzi_models_json_fail(&pattern, ADZ_ERR_FORMAT, "is empty");
    }
    return n->pattern.size > 0;
}

static bool read_prepend(const models_json *at, adzi_tok_normalizer *n)
{
    static const char *const known[] = { "type", "prepend", NULL };
    n->kind = NORMALIZE_PREPEND;
    return adzi_models_json_only(at, known) && adzi_tok_load_text(at, "prepend", &n->content);
}

/* Normalizers without settings. */
static bool read_plain(const models_json *at, const char *type, adzi_tok_normalizer *n)
{
    static const char *const only[] = { "type", NULL };
    static const struct {
        const char *type;
        adzi_tok_normalizer normalizer;
    } known[] = {
        { "NFC", { .kind = NORMALIZE_FORM, .compose = true } },
        { "NFD", { .kind = NORMALIZE_FORM } },
        { "NFKC", { .kind = NORMALIZE_FORM, .compose = true, .compatible = true } },
        { "NFKD", { .kind = NORMALIZE_FORM, .compatible = true } },
        { "Lowercase", { .kind = NORMALIZE_LOWERCASE } },
        { "StripAccents", { .kind = NORMALIZE_STRIP_ACCENTS } },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(type, known[i].type) == 0) {
            *n = known[i].normalizer;
            return adzi_models_json_only(at, only);
        }
    }
    return adzi_tok_unknown(at, "normalizer", type);
}

static bool read_one(adzi_tok *t, const models_json *at, const char *type)
{
    static const struct {
        const char *type;
        reader read;
    } readers[] = { { "BertNormalizer", read_bert }, { "Strip", read_strip },
        { "Replace", read_replace }, { "Prepend", read_prepend } };
    if (!adzi_tok_reserve(
            &t->normalizers, &t->normalizers_room, t->n_normalizers + 1, sizeof *t->normalizers)) {
        return false;
    }
    adzi_tok_normalizer *n = &t->normalizers[t->n_normalizers++];
    *n = (adzi_tok_normalizer){ 0 };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i) {
        if (strcmp(type, readers[i].type) == 0) {
            return readers[i].read(at, n);
        }
    }
    return read_plain(at, type, n);
}

bool adzi_tok_load_normalizer(adzi_tok *t, const models_json *normalizer)
{
    return adzi_tok_load_each(t, normalizer, "normalizers", read_one);
}
