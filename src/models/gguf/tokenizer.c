/* The tokenizers of GGUF files: "gpt2", which merges bytes by a list, "llama", which merges
 * characters by scores, and "bert". They become the tokenizer.json that describes them. */
#include "gguf/tokenizer.h"

#include <math.h>
#include <string.h>

#include "json.h"
#include "models.h"

#define KEY(name) "tokenizer.ggml." name

static const char memory_refused[] = "%s: memory for its tokenizer was refused";

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define GPT2_PATTERN CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define CL100K_PATTERN(digits)                                    \
    "(?i:" CONTRACTIONS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* How a file of "gpt2" splits text: by several expressions, one after the other. */
typedef struct splitting {
    const char *names[12]; /* values of tokenizer.ggml.pre */
    const char *patterns[4];
    bool ignore_merges; /* words that are tokens are not merged */
    bool add_bos;       /* where the file does not say */
    bool nfc;           /* as the tokenizer.json of Qwen does */
} splitting;

static const splitting splittings[] = {
    { .names = { "gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "mellum", "exaone4" },
        .patterns = { GPT2_PATTERN } },
    { .names = { "llama-bpe", "llama3", "llama-v3", "falcon3" },
        .patterns = { CL100K_PATTERN("\\p{N}{1,3}") },
        .ignore_merges = true,
        .add_bos = true },
    { .names = { "dbrx", "smaug-bpe" }, .patterns = { CL100K_PATTERN("\\p{N}{1,3}") } },
    { .names = { "qwen2", "deepseek-r1-qwen" },
        .patterns = { CL100K_PATTERN("\\p{N}") },
        .nfc = true },
    { .names = { "smollm", "starcoder", "refact" }, .patterns = { "\\p{N}", GPT2_PATTERN } },
    { .names = { "default" },
        .patterns = { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2_PATTERN, "\\p{N}+", "[0-9][0-9][0-9]" } },
};

/* A file that is being read. */
typedef struct reading {
    gguf_tokens tokens;
    adz_gguf *file;
    char *texts; /* of the tokens */
    json_t *vocab, *added, *merges, *ranks;
} reading;

static bool has(const reading *r, const char *key)
{
    return adz_gguf_kind_of(r->file, key) != ADZ_GGUF_KIND_NONE;
}

static bool refuse(const reading *r, adz_status status, const char *what)
{
    adz_error_format(r->tokens.op, status, "%s: %s", r->tokens.path, what);
    return false;
}

static bool refuse_memory(const reading *r)
{
    if (adz_error_code() == ADZ_OK) {
        adz_error_format(r->tokens.op, ADZ_ERR_MEMORY, memory_refused, r->tokens.path);
    }
    return false;
}

/* An optional bool. */
static bool flag(const reading *r, const char *key, bool otherwise, bool *value)
{
    *value = otherwise;
    return !has(r, key) || adz_gguf_bool(r->file, key, value) == ADZ_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Copies the texts of all tokens, each with two free bytes before it and a zero byte behind it.
 * False with the error recorded. */
static bool read_texts(reading *r)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < r->tokens.count; ++i) {
        if (adz_gguf_text_at(r->file, KEY("tokens"), i, &r->tokens.items[i].size) == NULL) {
            return false;
        }
        bytes += r->tokens.items[i].size + 3;
    }
    r->texts = adzi_models_alloc(bytes);
    for (size_t i = 0; i < r->tokens.count && r->texts != NULL; ++i) {
        gguf_token *t = &r->tokens.items[i];
        t->text = r->texts + at + 2;
        memcpy(t->text, adz_gguf_text_at(r->file, KEY("tokens"), i, &t->size), t->size);
        at += t->size + 3;
    }
    return r->texts != NULL;
}

/* How the tokens of a kind of tokenizer are read. */
typedef enum token_kind { PLAIN, WITH_SCORES, WORD_PIECES } token_kind;

/* Reads a token and enters it into the vocabulary. False with the error recorded. */
static bool read_token(reading *r, size_t i, token_kind kind)
{
    gguf_token *t = &r->tokens.items[i];
    double type = 0;
    if (adz_gguf_real_at(r->file, KEY("token_type"), i, &type) != ADZ_OK ||
        (kind == WITH_SCORES && adz_gguf_real_at(r->file, KEY("scores"), i, &t->score) != ADZ_OK)) {
        return false;
    }
    if (!(type >= GGUF_TOKEN_NORMAL && type <= GGUF_TOKEN_BYTE) || type != floor(type)) {
        adz_error_format(r->tokens.op, ADZ_ERR_FORMAT,
            "%s: " KEY("token_type") " of token %zu is %g", r->tokens.path, i, type);
        return false;
    }
    t->type = (gguf_token_type)type;
    if (kind == WORD_PIECES) {
        adzi_gguf_word_piece(t);
    }
    const char *what = t->size == 0                             ? "is empty"
                       : memchr(t->text, '\0', t->size) != NULL ? "has a zero byte"
                       : !isfinite(t->score)                    ? "has a score that is not finite"
                       : json_object_get(r->vocab, t->text) != NULL ? "is there twice"
                                                                    : NULL;
    json_t *id = what == NULL ? json_integer((json_int_t)i) : NULL;
    if (what == NULL && json_object_set_new(r->vocab, t->text, id) != 0) {
        if (adzi_models_is_utf8(t->text, t->size)) {
            return refuse_memory(r);
        }
        what = "is no text in UTF-8";
    }
    if (what != NULL) {
        adz_error_format(r->tokens.op, ADZ_ERR_FORMAT, "%s: " KEY("tokens") ": token %zu %s",
            r->tokens.path, i, what);
    }
    return what == NULL;
}

/* Control tokens and the unknown token are special; tokens of the user are not. All of them are
 * looked for in texts. */
static bool add_token(reading *r, size_t i)
{
    const gguf_token *t = &r->tokens.items[i];
    const bool special = t->type == GGUF_TOKEN_CONTROL || t->type == GGUF_TOKEN_UNKNOWN;
    return (!special && t->type != GGUF_TOKEN_USER_DEFINED) ||
           json_array_append_new(
               r->added, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)i, "content",
                             t->text, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                             "special", (int)special)) == 0 ||
           refuse_memory(r);
}

static bool read_tokens(reading *r, token_kind kind)
{
    static const char *const keys[] = { KEY("tokens"), KEY("token_type"), KEY("scores") };
    size_t counts[3] = { 0 };
    for (int i = 0; i < (kind == WITH_SCORES ? 3 : 2); ++i) {
        if (adz_gguf_count(r->file, keys[i], &counts[i]) != ADZ_OK) {
            return false;
        }
        if (counts[i] != counts[0]) {
            adz_error_format(r->tokens.op, ADZ_ERR_FORMAT, "%s: %s has %zu elements for %zu tokens",
                r->tokens.path, keys[i], counts[i], counts[0]);
            return false;
        }
    }
    if (counts[0] == 0 || counts[0] > INT32_MAX / 2) {
        return refuse(
            r, ADZ_ERR_FORMAT, KEY("tokens") " has no number of tokens that there can be");
    }
    r->tokens.items = adzi_models_alloc(counts[0] * sizeof *r->tokens.items);
    r->tokens.count = counts[0];
    bool good = r->tokens.items != NULL && read_texts(r);
    for (size_t i = 0; i < counts[0] && good; ++i) {
        good = read_token(r, i, kind) && add_token(r, i);
    }
    return good;
}

/* The token whose id is a value of the file; NULL with the error recorded. */
static const gguf_token *special(const reading *r, const char *key, int64_t *id)
{
    if (adz_gguf_integer(r->file, key, id) != ADZ_OK) {
        return NULL;
    }
    if (*id < 0 || (uint64_t)*id >= r->tokens.count) {
        return models_fail(r->tokens.op, ADZ_ERR_FORMAT, "%s: %s is %lld, but there are %zu tokens",
            r->tokens.path, key, (long long)*id, r->tokens.count);
    }
    return &r->tokens.items[*id];
}

/* ---- parts of tokenizer.json ---------------------------------------------------------------- */

static json_t *sequence(const char *list)
{
    return json_pack("{s:s,s:[]}", "type", "Sequence", list);
}

static bool append(json_t *to, const char *list, json_t *component)
{
    return json_array_append_new(json_object_get(to, list), component) == 0;
}

/* Adds a special token to both templates of a post-processor. */
static bool add_special(const reading *r, json_t *processor, const char *key, int64_t *id)
{
    const gguf_token *t = special(r, key, id);
    if (t == NULL) {
        return false;
    }
    return json_object_set_new(json_object_get(processor, "special_tokens"), t->text,
               json_pack("{s:s,s:[I],s:[s]}", "id", t->text, "ids", (json_int_t)*id, "tokens",
                   t->text)) == 0 ||
           refuse_memory(r);
}

static json_t *piece(const char *kind, const char *name, int type_id)
{
    return json_pack("{s:{s:s,s:i}}", kind, "id", name, "type_id", type_id);
}

/* Texts with the tokens at their beginning and end; null without any. NULL with the error recorded.
 */
static json_t *processor_of(const reading *r, bool add_bos)
{
    bool add_eos, add_sep;
    if (!flag(r, KEY("add_bos_token"), add_bos, &add_bos) ||
        !flag(r, KEY("add_eos_token"), false, &add_eos) ||
        !flag(r, KEY("add_sep_token"), false, &add_sep)) {
        return NULL;
    }
    if (add_sep) {
        refuse(r, ADZ_ERR_UNSUPPORTED, KEY("add_sep_token") " is true, which is not known");
        return NULL;
    }
    if (!add_bos && !add_eos) {
        return json_null();
    }
    json_t *p = json_pack(
        "{s:s,s:[],s:[],s:{}}", "type", "TemplateProcessing", "single", "pair", "special_tokens");
    int64_t bos = 0, eos = 0;
    bool good = p != NULL && (!add_bos || add_special(r, p, KEY("bos_token_id"), &bos)) &&
                (!add_eos || add_special(r, p, KEY("eos_token_id"), &eos));
    for (int i = 0; i < 3 && good; ++i) { /* one text; the first and the second one of a pair */
        const char *list = i == 0 ? "single" : "pair";
        const int type_id = i == 2;
        good = (!add_bos ||
                   append(p, list, piece("SpecialToken", r->tokens.items[bos].text, type_id))) &&
               append(p, list, piece("Sequence", i == 2 ? "B" : "A", type_id)) &&
               (!add_eos ||
                   append(p, list, piece("SpecialToken", r->tokens.items[eos].text, type_id)));
    }
    if (!good) {
        json_decref(p);
        refuse_memory(r);
        return NULL;
    }
    return p;
}

/* ---- "gpt2" --------------------------------------------------------------------------------- */

static const splitting *splitting_of(const reading *r)
{
    if (!has(r, KEY("pre"))) {
        refuse(r, ADZ_ERR_UNSUPPORTED,
            "there is no value " KEY("pre") ", so it is not known how the tokenizer splits text");
        return NULL;
    }
    const char *name = adz_gguf_text(r->file, KEY("pre"));
    for (size_t i = 0; name != NULL && i < sizeof splittings / sizeof *splittings; ++i) {
        for (size_t k = 0; splittings[i].names[k] != NULL; ++k) {
            if (strcmp(splittings[i].names[k], name) == 0) {
                return &splittings[i];
            }
        }
    }
    return name == NULL
               ? NULL
               : models_fail(r->tokens.op, ADZ_ERR_UNSUPPORTED,
                     "%s: " KEY("pre") " is the pre-tokenizer \"%.80s\", which is not known",
                     r->tokens.path, name);
}

/* Copies the merges, which are texts "a b". */
static bool read_merges(reading *r)
{
    size_t n = 0;
    if (adz_gguf_count(r->file, KEY("merges"), &n) != ADZ_OK) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        size_t size;
        const char *text = adz_gguf_text_at(r->file, KEY("merges"), i, &size);
        if (text == NULL) {
            return false;
        }
        if (json_array_append_new(r->merges, json_stringn(text, size)) != 0) {
            if (adzi_models_is_utf8(text, size)) {
                return refuse_memory(r);
            }
            adz_error_format(r->tokens.op, ADZ_ERR_FORMAT,
                "%s: " KEY("merges") ": merge %zu is no text in UTF-8", r->tokens.path, i);
            return false;
        }
    }
    return true;
}

static json_t *byte_level(reading *r)
{
    const splitting *how = splitting_of(r);
    if (how == NULL || !read_tokens(r, PLAIN) || !read_merges(r)) {
        return NULL;
    }
    json_t *processor = processor_of(r, how->add_bos);
    json_t *split = processor != NULL ? sequence("pretokenizers") : NULL;
    bool good = split != NULL;
    for (size_t i = 0; i < 4 && how->patterns[i] != NULL && good; ++i) {
        good = append(split, "pretokenizers",
            json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex",
                how->patterns[i], "behavior", "Isolated", "invert", 0));
    }
    if (!good || !append(split, "pretokenizers",
                     json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                         "trim_offsets", 0, "use_regex", 0))) {
        json_decref(split);
        json_decref(processor);
        return NULL;
    }
    return json_pack("{s:O,s:o,s:o,s:o,s:{s:s},s:{s:s,s:b,s:O,s:O}}", "added_tokens", r->added,
        "normalizer", how->nfc ? json_pack("{s:s}", "type", "NFC") : json_null(), "pre_tokenizer",
        split, "post_processor", processor, "decoder", "type", "ByteLevel", "model", "type", "BPE",
        "ignore_merges", (int)how->ignore_merges, "vocab", r->vocab, "merges", r->merges);
}

/* ---- "llama" -------------------------------------------------------------------------------- */

#define SPACE_SIGN "\xe2\x96\x81" /* U+2581, which stands for a space */

/* The text of the unknown token, or null; NULL with the error recorded. */
static json_t *unknown_of(const reading *r)
{
    int64_t id = -1;
    if (has(r, KEY("unknown_token_id"))) {
        const gguf_token *t = special(r, KEY("unknown_token_id"), &id);
        return t != NULL ? json_string(t->text) : NULL;
    }
    for (size_t i = 0; i < r->tokens.count; ++i) {
        if (r->tokens.items[i].type == GGUF_TOKEN_UNKNOWN) {
            return json_string(r->tokens.items[i].text);
        }
    }
    return json_null();
}

static json_t *replace(const char *from, const char *to)
{
    return json_pack(
        "{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "String", from, "content", to);
}

/* Settings that change texts, and that no model of the families has. */
static bool check_settings(const reading *r)
{
    bool shortens;
    size_t bytes = 0;
    if (!flag(r, KEY("remove_extra_whitespaces"), false, &shortens) ||
        (has(r, KEY("precompiled_charsmap")) &&
            adz_gguf_count(r->file, KEY("precompiled_charsmap"), &bytes) != ADZ_OK)) {
        return false;
    }
    if (shortens) {
        return refuse(
            r, ADZ_ERR_UNSUPPORTED, KEY("remove_extra_whitespaces") " is true, which is not known");
    }
    return bytes == 0 ||
           refuse(r, ADZ_ERR_UNSUPPORTED,
               KEY("precompiled_charsmap") " is a table of characters, which is not read");
}

static json_t *by_scores(reading *r)
{
    bool prefix;
    if (!check_settings(r) || !flag(r, KEY("add_space_prefix"), true, &prefix) ||
        !read_tokens(r, WITH_SCORES) || !adzi_gguf_score_merges(&r->tokens, r->merges, r->ranks)) {
        return NULL;
    }
    json_t *unknown = unknown_of(r);
    json_t *processor = unknown != NULL ? processor_of(r, true) : NULL;
    if (processor == NULL) {
        json_decref(unknown);
        return NULL;
    }
    json_t *normalizer = sequence("normalizers"), *decoder = sequence("decoders");
    const bool good =
        (!prefix || append(normalizer, "normalizers",
                        json_pack("{s:s,s:s}", "type", "Prepend", "prepend", SPACE_SIGN))) &&
        append(normalizer, "normalizers", replace(" ", SPACE_SIGN)) &&
        append(decoder, "decoders", replace(SPACE_SIGN, " ")) &&
        append(decoder, "decoders", json_pack("{s:s}", "type", "ByteFallback")) &&
        append(decoder, "decoders", json_pack("{s:s}", "type", "Fuse")) &&
        (!prefix || append(decoder, "decoders",
                        json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content", " ", "start", 1,
                            "stop", 0)));
    json_t *model =
        json_pack("{s:s,s:o,s:b,s:b,s:O,s:O,s:O}", "type", "BPE", "unk_token", unknown, "fuse_unk",
            1, "byte_fallback", 1, "vocab", r->vocab, "merges", r->merges, "merge_ranks", r->ranks);
    json_t *whole =
        json_pack("{s:O,s:o,s:n,s:o,s:o,s:o}", "added_tokens", r->added, "normalizer", normalizer,
            "pre_tokenizer", "post_processor", processor, "decoder", decoder, "model", model);
    if (!good) {
        json_decref(whole);
    }
    return good ? whole : NULL;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* The whole tokenizer.json; NULL with the error recorded. */
static json_t *assemble(reading *r)
{
    const char *model = adz_gguf_text(r->file, KEY("model"));
    if (model == NULL) {
        return NULL;
    }
    json_t *whole = NULL;
    if (strcmp(model, "gpt2") == 0) {
        whole = byte_level(r);
    } else if (strcmp(model, "llama") == 0) {
        whole = by_scores(r);
    } else if (strcmp(model, "bert") == 0) {
        whole = read_tokens(r, WORD_PIECES)
                    ? adzi_gguf_bert(&r->tokens, r->file, r->vocab, r->added)
                    : NULL;
    } else {
        return models_fail(r->tokens.op, ADZ_ERR_UNSUPPORTED,
            "%s: " KEY("model") " is \"%.80s\", but gpt2, llama and bert are known", r->tokens.path,
            model);
    }
    if (whole == NULL) {
        refuse_memory(r);
    }
    return whole;
}

static int take_text(const char *bytes, size_t size, void *to)
{
    return adzi_tok_append(to, bytes, size) ? 0 : -1;
}

adz_tokenizer *adzi_gguf_tokenizer(
    const char *op, const char *path, const adz_pretrained_tokenizer_options *options)
{
    reading r = { .tokens = { .op = op, .path = path },
        .file = adz_gguf_open(path),
        .vocab = json_object(),
        .added = json_array(),
        .merges = json_array(),
        .ranks = json_array() };
    json_t *whole = r.file != NULL ? assemble(&r) : NULL;
    adzi_models_free(r.tokens.items);
    adzi_models_free(r.texts);
    adz_gguf_close(&r.file);
    json_decref(r.vocab);
    json_decref(r.added);
    json_decref(r.merges);
    json_decref(r.ranks);
    adzi_tok_bytes text = { 0 };
    adz_tokenizer *t = NULL;
    if (whole != NULL && json_dump_callback(whole, take_text, &text, JSON_COMPACT) == 0) {
        json_decref(whole);
        whole = NULL;
        t = adzi_tok_new(op, path, (adz_text){ text.at, text.size }, options);
    } else if (whole != NULL) {
        refuse_memory(&r);
    }
    adzi_tok_free(text.at);
    json_decref(whole);
    return t;
}
