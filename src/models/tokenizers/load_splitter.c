/* Reading pre-tokenizers. */
#include "loading.h"
#include "patterns.h"

static bool add(adzi_tok *t, adzi_tok_splitter s)
{
    if (!adzi_tok_reserve(
            &t->splitters, &t->splitters_room, t->n_splitters + 1, sizeof *t->splitters)) {
        return false;
    }
    t->splitters[t->n_splitters++] = s;
    return true;
}

/* The splitter that was added last. */
static adzi_tok_splitter *last(adzi_tok *t)
{
    return &t->splitters[t->n_splitters - 1];
}

static bool read_behavior(const models_json *at, adzi_tok_behavior *behavior)
{
    static const struct {
        const char *name;
        adzi_tok_behavior behavior;
    } known[] = { { "Removed", SPLIT_REMOVED }, { "Isolated", SPLIT_ISOLATED },
        { "MergedWithPrevious", SPLIT_MERGED_WITH_PREVIOUS },
        { "MergedWithNext", SPLIT_MERGED_WITH_NEXT }, { "Contiguous", SPLIT_CONTIGUOUS } };
    const char *name = adzi_models_json_text(at, "behavior");
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; ++i) {
        if (strcmp(name, known[i].name) == 0) {
            *behavior = known[i].behavior;
            return true;
        }
    }
    const models_json member = adzi_models_json_member(at, "behavior");
    return name != NULL && adzi_tok_unknown(&member, "behavior", name);
}

static bool read_split(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "pattern", "behavior", "invert", NULL };
    const models_json pattern = adzi_models_json_member(at, "pattern");
    const models_json regex = adzi_models_json_member(&pattern, "Regex");
    if (!adzi_models_json_only(at, known) || !adzi_models_json_is_object(&pattern) ||
        !add(t, (adzi_tok_splitter){ .kind = SPLIT_PATTERN }) ||
        !read_behavior(at, &last(t)->behavior) ||
        !adzi_models_json_flag(at, "invert", &last(t)->invert)) {
        return false;
    }
    if (regex.value == NULL) {
        last(t)->kind = SPLIT_LITERAL;
        if (!adzi_tok_load_text(&pattern, "String", &last(t)->literal)) {
            return false;
        }
        if (last(t)->literal.size == 0) {
            adzi_models_json_fail(&pattern, ADZ_ERR_FORMAT, "is empty");
        }
        return last(t)->literal.size > 0;
    }
    const char *text = adzi_models_json_text_of(&regex);
    last(t)->pattern = text != NULL ? adzi_tok_pattern_of(text) : NULL;
    return last(t)->pattern != NULL ||
           (text != NULL && adzi_tok_unknown(&regex, "regular expression", text));
}

static bool changes_text(const adzi_tok *t)
{
    bool any = false;
    for (size_t i = 0; i < t->n_splitters; ++i) {
        any = any || t->splitters[i].kind == SPLIT_METASPACE || t->splitters[i].prefix_space;
    }
    return any;
}

/* Two pre-tokenizers that put something before the text are not known from any model. */
static bool refuse_second(const models_json *at, const char *type)
{
    adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED,
        "is a %s behind another pre-tokenizer that changes the text", type);
    return false;
}

static bool read_byte_level(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
        NULL };
    bool prefix = true, trim = true, regex = true;
    if (!adzi_models_json_only(at, known) ||
        !adzi_models_json_flag(at, "add_prefix_space", &prefix) ||
        !adzi_tok_load_flag(at, "trim_offsets", &trim) ||
        !adzi_tok_load_flag(at, "use_regex", &regex)) {
        return false;
    }
    if (prefix && changes_text(t)) {
        return refuse_second(at, "ByteLevel");
    }
    return add(t, (adzi_tok_splitter){ .kind = SPLIT_BYTE_LEVEL,
                      .behavior = SPLIT_ISOLATED,
                      .pattern = regex ? adzi_tok_pattern_gpt2 : NULL,
                      .prefix_space = prefix });
}

static bool read_scheme(const models_json *at, adzi_tok_scheme *scheme)
{
    const models_json name = adzi_models_json_member(at, "prepend_scheme");
    const models_json old = adzi_models_json_member(at, "add_prefix_space");
    static const char *const names[] = { "never", "first", "always" };
    *scheme = PREPEND_ALWAYS;
    if (!adzi_tok_is_null(&name)) {
        const char *text = adzi_models_json_text_of(&name);
        int i = 0;
        while (text != NULL && i < 3 && strcmp(text, names[i]) != 0) {
            ++i;
        }
        if (text == NULL || i == 3) {
            return text != NULL && adzi_tok_unknown(&name, "scheme", text);
        }
        *scheme = (adzi_tok_scheme)i;
    }
    bool prefix = true;
    if (!adzi_tok_is_null(&old) && !adzi_models_json_flag_of(&old, &prefix)) {
        return false;
    }
    if (!prefix && !adzi_tok_is_null(&name) && *scheme != PREPEND_NEVER) {
        adzi_models_json_fail(&old, ADZ_ERR_FORMAT, "does not agree with prepend_scheme");
        return false;
    }
    *scheme = prefix ? *scheme : PREPEND_NEVER;
    return true;
}

bool adzi_tok_load_metaspace(
    const models_json *at, adzi_tok_bytes *sign, adzi_tok_scheme *scheme, bool *split)
{
    static const char *const known[] = { "type", "replacement", "prepend_scheme", "split",
        "add_prefix_space", "str_rep", NULL };
    const models_json replacement = adzi_models_json_member(at, "replacement");
    if (!adzi_models_json_only(at, known) || !adzi_tok_load_text(at, "replacement", sign) ||
        !read_scheme(at, scheme) || !adzi_tok_load_flag(at, "split", split)) {
        return false;
    }
    if (sign->size == 0 || adzi_tok_bytes_of(*sign->at) != sign->size) {
        adzi_models_json_fail(&replacement, ADZ_ERR_FORMAT, "must be one character");
        return false;
    }
    return true;
}

static bool read_metaspace(adzi_tok *t, const models_json *at)
{
    if (changes_text(t)) {
        return refuse_second(at, "Metaspace");
    }
    return add(t,
               (adzi_tok_splitter){
                   .kind = SPLIT_METASPACE, .behavior = SPLIT_MERGED_WITH_NEXT, .split = true }) &&
           adzi_tok_load_metaspace(at, &last(t)->literal, &last(t)->scheme, &last(t)->split);
}

static bool read_digits(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "individual_digits", NULL };
    bool alone = false;
    return adzi_models_json_only(at, known) &&
           adzi_models_json_flag(at, "individual_digits", &alone) &&
           add(t, (adzi_tok_splitter){ .kind = SPLIT_CLASS,
                      .classes = CLASS_DIGIT,
                      .behavior = alone ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS });
}

static bool read_punctuation(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "behavior", NULL };
    const models_json behavior = adzi_models_json_member(at, "behavior");
    return adzi_models_json_only(at, known) &&
           add(t, (adzi_tok_splitter){ .kind = SPLIT_CLASS,
                      .classes = CLASS_PUNCTUATION,
                      .behavior = SPLIT_ISOLATED }) &&
           (adzi_tok_is_null(&behavior) || read_behavior(at, &last(t)->behavior));
}

static bool read_delimiter(adzi_tok *t, const models_json *at)
{
    static const char *const known[] = { "type", "delimiter", NULL };
    if (!adzi_models_json_only(at, known) ||
        !add(t, (adzi_tok_splitter){ .kind = SPLIT_LITERAL, .behavior = SPLIT_REMOVED }) ||
        !adzi_tok_load_text(at, "delimiter", &last(t)->literal)) {
        return false;
    }
    if (last(t)->literal.size == 0) {
        adzi_models_json_fail(at, ADZ_ERR_FORMAT, "has an empty delimiter");
    }
    return last(t)->literal.size > 0;
}

/* Pre-tokenizers without settings. */
static bool read_plain(adzi_tok *t, const models_json *at, const char *type)
{
    static const char *const only[] = { "type", NULL };
    const adzi_tok_splitter spaces = {
        .kind = SPLIT_CLASS, .classes = CLASS_SPACE, .behavior = SPLIT_REMOVED
    };
    if (!adzi_models_json_only(at, only)) {
        return false;
    }
    if (strcmp(type, "WhitespaceSplit") == 0) {
        return add(t, spaces);
    }
    if (strcmp(type, "Whitespace") == 0) {
        return add(t, (adzi_tok_splitter){ .kind = SPLIT_PATTERN,
                          .pattern = adzi_tok_pattern_words,
                          .behavior = SPLIT_REMOVED,
                          .invert = true });
    }
    return add(t, spaces) && add(t, (adzi_tok_splitter){ .kind = SPLIT_CLASS,
                                        .classes = CLASS_PUNCTUATION,
                                        .behavior = SPLIT_ISOLATED });
}

static bool read_one(adzi_tok *t, const models_json *at, const char *type)
{
    static const struct {
        const char *type;
        bool (*read)(adzi_tok *t, const models_json *at);
    } readers[] = { { "Split", read_split }, { "ByteLevel", read_byte_level },
        { "Metaspace", read_metaspace }, { "Digits", read_digits },
        { "Punctuation", read_punctuation }, { "CharDelimiterSplit", read_delimiter } };
    if (t->n_splitters > 0 && last(t)->kind == SPLIT_BYTE_LEVEL) {
        adzi_models_json_fail(at, ADZ_ERR_UNSUPPORTED,
            "is the pre-tokenizer \"%.80s\" behind a ByteLevel, which must be the last one", type);
        return false;
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i) {
        if (strcmp(type, readers[i].type) == 0) {
            return readers[i].read(t, at);
        }
    }
    static const char *const plain[] = { "BertPreTokenizer", "Whitespace", "WhitespaceSplit" };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; ++i) {
        if (strcmp(type, plain[i]) == 0) {
            return read_plain(t, at, type);
        }
    }
    return adzi_tok_unknown(at, "pre-tokenizer", type);
}

bool adzi_tok_load_splitter(adzi_tok *t, const models_json *pre_tokenizer)
{
    return adzi_tok_load_each(t, pre_tokenizer, "pretokenizers", read_one);
}
