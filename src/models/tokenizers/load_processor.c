/* Reading post-processors: templates, and whether offsets leave spaces out. */
#include "loading.h"

static bool add_piece(adzi_tok_template *to, int sequence, int64_t id, int64_t type_id)
{
    if (!adzi_tok_reserve(&to->pieces, &to->room, to->n + 1, sizeof *to->pieces)) {
        return false;
    }
    to->pieces[to->n++] = (adzi_tok_template_piece){ sequence, (int32_t)id, (uint8_t)type_id };
    return true;
}

/* A list [text, id]. */
static bool read_pair(const models_json *at, const char *name, int64_t *id)
{
    const models_json pair = adzi_models_json_member(at, name);
    const models_json number = adzi_models_json_at(&pair, 1);
    return adzi_models_json_whole_of(&number, 0, INT32_MAX, id);
}

/* Adds the ids of a special token, which "special_tokens" lists. */
static bool add_special(
    adzi_tok_template *to, const models_json *specials, const models_json *piece, int64_t type_id)
{
    const char *name = adzi_models_json_text(piece, "id");
    if (name == NULL) {
        return false;
    }
    const models_json special = adzi_models_json_member(specials, name);
    const models_json ids = adzi_models_json_member(&special, "ids");
    size_t n = 0;
    if (special.value == NULL) {
        adzi_models_json_fail(
            piece, ADZ_ERR_FORMAT, "names \"%.80s\", which special_tokens lacks", name);
        return false;
    }
    bool good = adzi_models_json_count(&ids, &n);
    for (size_t i = 0; i < n && good; ++i) {
        const models_json number = adzi_models_json_at(&ids, i);
        int64_t id = 0;
        good =
            adzi_models_json_whole_of(&number, 0, INT32_MAX, &id) && add_piece(to, -1, id, type_id);
    }
    return good;
}

static bool read_sequence(const models_json *piece, bool pair, int *sequence)
{
    const char *name = adzi_models_json_text(piece, "id");
    *sequence = name != NULL && strcmp(name, "B") == 0;
    if (name == NULL || *sequence > pair || (*sequence == 0 && strcmp(name, "A") != 0)) {
        if (name != NULL) {
            adzi_models_json_fail(piece, ADZ_ERR_FORMAT, "names the sequence \"%.80s\"", name);
        }
        return false;
    }
    return true;
}

static bool read_template(
    adzi_tok_template *to, const models_json *list, const models_json *specials, bool pair)
{
    size_t n = 0;
    bool good = adzi_models_json_count(list, &n);
    for (size_t i = 0; i < n && good; ++i) {
        const models_json one = adzi_models_json_at(list, i);
        const models_json special = adzi_models_json_member(&one, "SpecialToken");
        const models_json sequence = adzi_models_json_member(&one, "Sequence");
        const models_json *piece = special.value != NULL ? &special : &sequence;
        int64_t type_id = 0;
        int which = 0;
        good = adzi_models_json_whole(piece, "type_id", 0, 255, &type_id) &&
               (special.value != NULL
                       ? add_special(to, specials, piece, type_id)
                       : read_sequence(piece, pair, &which) && add_piece(to, which, 0, type_id));
    }
    return good;
}

static bool read_templates(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "single", "pair", "special_tokens", NULL };
    const models_json single = adzi_models_json_member(at, "single");
    const models_json pair = adzi_models_json_member(at, "pair");
    const models_json specials = adzi_models_json_member(at, "special_tokens");
    return adzi_models_json_only(at, known) &&
           read_template(&t->single, &single, &specials, false) &&
           read_template(&t->pair, &pair, &specials, true);
}

/* CLS A SEP, and CLS A SEP B SEP. */
static bool read_bert(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "sep", "cls", NULL };
    int64_t sep = 0, cls = 0;
    return adzi_models_json_only(at, known) && read_pair(at, "sep", &sep) &&
           read_pair(at, "cls", &cls) && add_piece(&t->single, -1, cls, 0) &&
           add_piece(&t->single, 0, 0, 0) && add_piece(&t->single, -1, sep, 0) &&
           add_piece(&t->pair, -1, cls, 0) && add_piece(&t->pair, 0, 0, 0) &&
           add_piece(&t->pair, -1, sep, 0) && add_piece(&t->pair, 1, 0, 1) &&
           add_piece(&t->pair, -1, sep, 1);
}

/* CLS A SEP, and CLS A SEP SEP B SEP, all of type 0. */
static bool read_roberta(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "sep", "cls", "trim_offsets", "add_prefix_space",
        NULL };
    int64_t sep = 0, cls = 0;
    t->trim_offsets = t->prefix_space = true;
    return adzi_models_json_only(at, known) && read_pair(at, "sep", &sep) &&
           read_pair(at, "cls", &cls) &&
           adzi_models_json_flag(at, "trim_offsets", &t->trim_offsets) &&
           adzi_models_json_flag(at, "add_prefix_space", &t->prefix_space) &&
           add_piece(&t->single, -1, cls, 0) && add_piece(&t->single, 0, 0, 0) &&
           add_piece(&t->single, -1, sep, 0) && add_piece(&t->pair, -1, cls, 0) &&
           add_piece(&t->pair, 0, 0, 0) && add_piece(&t->pair, -1, sep, 0) &&
           add_piece(&t->pair, -1, sep, 0) && add_piece(&t->pair, 1, 0, 0) &&
           add_piece(&t->pair, -1, sep, 0);
}

static bool read_byte_level(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
        NULL };
    bool trim = true, prefix = true;
    if (!adzi_models_json_only(at, known) || !adzi_tok_load_flag(at, "trim_offsets", &trim) ||
        !adzi_models_json_flag(at, "add_prefix_space", &prefix)) {
        return false;
    }
    if (trim && t->trim_offsets) {
        adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED, "trims offsets for the second time");
        return false;
    }
    t->trim_offsets = trim;
    t->prefix_space = trim ? prefix : t->prefix_space;
    return true;
}

static bool read_one(adzi_tok *t, const models_json *at, const char *type)
{
    if (strcmp(type, "ByteLevel") == 0) {
        return read_byte_level(t, at);
    }
    static const struct {
        const char *type;
        bool (*read)(adzi_tok *t, const models_json *at);
    } readers[] = { { "TemplateProcessing", read_templates }, { "BertProcessing", read_bert },
        { "RobertaProcessing", read_roberta } };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i) {
        if (strcmp(type, readers[i].type) == 0) {
            if (t->has_template) {
                adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED, "is a second template");
                return false;
            }
            t->has_template = true;
            return readers[i].read(t, at);
        }
    }
    return adzi_tok_unknown(at, "post-processor", type);
}

bool adzi_tok_load_processor(adzi_tok *t, const models_json *post_processor)
{
    if (!adzi_tok_load_each(t, post_processor, "processors", read_one)) {
        return false;
    }
    return t->has_template || (add_piece(&t->single, 0, 0, 0) && add_piece(&t->pair, 0, 0, 0) &&
                                  add_piece(&t->pair, 1, 0, 1));
}
