/* Folders without tokenizer.json: vocab.txt of BERT, or vocab.json and merges.txt of GPT-2, RoBERTa
 * or Qwen 2. They become the tokenizer.json that transformers makes of them. */
#include "legacy.h"

#include <stdio.h>
#include <stdlib.h>

#include "bert.h"
#include "json.h"
#include "models.h"

/* A folder that is being read. */
typedef struct folder {
    const char *op, *path;
    json_t *config; /* tokenizer_config.json; empty if there is none */
    json_t *vocab;
    json_t *added;  /* the list of added tokens */
    char class[64]; /* "Bert", "GPT2", "Roberta" or "Qwen2" */
} folder;

static json_t *refuse(const folder *f, const char *file, const char *what)
{
    return models_fail(f->op, ADZ_ERR_FORMAT, "%s/%s %s", f->path, file, what);
}

static json_t *refused_memory(const folder *f)
{
    return models_fail(f->op, ADZ_ERR_MEMORY, "%s: memory for its tokenizer was refused", f->path);
}

/* Reads a file of JSON; NULL with the error recorded. */
static json_t *read_json(const folder *f, const char *name)
{
    char *path = adzi_tok_path_in(f->path, name);
    json_t *json = path != NULL ? adzi_models_json_load(f->op, path, (size_t)1 << 28) : NULL;
    adzi_tok_free(path);
    if (json != NULL && !json_is_object(json)) {
        json_decref(json);
        return refuse(f, name, "is no object");
    }
    return json;
}

/* ---- what the tokenizer is ------------------------------------------------------------------ */

/* Says whose tokenizer it is, by its class, or by the type of the model. */
static bool find_class(folder *f)
{
    static const char *const known[][2] = { { "Bert", "bert" }, { "GPT2", "gpt2" },
        { "Roberta", "roberta" }, { "Qwen2", "qwen2" }, { "Bert", "distilbert" },
        { "DistilBert", "distilbert" } };
    const bool words = adzi_tok_has(f->path, "vocab.txt");
    json_t *model = NULL;
    const char *name = json_string_value(json_object_get(f->config, "tokenizer_class"));
    if (name == NULL && adzi_tok_has(f->path, "config.json")) {
        model = read_json(f, "config.json");
        name = json_string_value(json_object_get(model, "model_type"));
    }
    name = name == NULL && words ? "Bert" : name;
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known && *f->class == '\0'; ++i) {
        const size_t n = strlen(known[i][0]);
        const bool fits = strncmp(name, known[i][0], n) == 0 &&
                          (name[n] == '\0' || strncmp(name + n, "Tokenizer", 9) == 0);
        if (fits || strcmp(name, known[i][1]) == 0) {
            snprintf(f->class, sizeof f->class, "%s", i >= 4 ? "Bert" : known[i][0]);
        }
    }
    const bool good = *f->class != '\0' && (strcmp(f->class, "Bert") == 0) == words;
    if (!good) {
        adz_error_format(f->op, ADZ_ERR_UNSUPPORTED,
            "%s has no tokenizer.json, and of vocabulary files those of BERT, GPT-2, RoBERTa and "
            "Qwen 2 are known, not of \"%.60s\" (tokenizer_class or model_type)",
            f->path, name != NULL ? name : "");
    }
    json_decref(model);
    return good;
}

static bool flag(const folder *f, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(f->config, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* ---- added tokens --------------------------------------------------------------------------- */

/* Adds a special token if the vocabulary has it. False if memory was refused. */
static bool add_token(folder *f, const char *text, bool left)
{
    const json_t *id = json_object_get(f->vocab, text);
    return id == NULL ||
           json_array_append_new(
               f->added, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", json_integer_value(id),
                             "content", text, "single_word", 0, "lstrip", (int)left, "rstrip", 0,
                             "normalized", 0, "special", 1)) == 0;
}

/* The tokens that tokenizer_config.json lists under their ids, in the order of these. */
static bool add_listed(folder *f, const json_t *listed)
{
    const size_t n = json_object_size(listed);
    bool good = true;
    json_int_t last = -1;
    for (size_t k = 0; k < n && good; ++k) {
        const json_t *token = NULL;
        json_int_t least = -1;
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)listed, key, value)
        {
            const long long id = strtoll(key, NULL, 10);
            if (id > last && (least < 0 || id < least)) {
                least = id;
                token = value;
            }
        }
        json_t *copy = token != NULL ? json_copy((json_t *)(uintptr_t)token) : NULL;
        good = copy != NULL && json_object_set_new(copy, "id", json_integer(least)) == 0 &&
               json_array_append(f->added, copy) == 0;
        json_decref(copy);
        last = least;
    }
    return good || (refuse(f, "tokenizer_config.json", "has a bad added_tokens_decoder"), false);
}

/* The text of a special token in tokenizer_config.json, or what the class has. */
static const char *special(const folder *f, const char *name, const char *otherwise)
{
    const json_t *value = json_object_get(f->config, name);
    value = json_is_object(value) ? json_object_get(value, "content") : value;
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

static bool find_added(folder *f)
{
    const json_t *listed = json_object_get(f->config, "added_tokens_decoder");
    if (json_is_object(listed)) {
        enum { MOST_LISTED = 4096 }; /* looked through once for each */
        return json_object_size(listed) <= MOST_LISTED
                   ? add_listed(f, listed)
                   : (refuse(f, "tokenizer_config.json", "lists more than 4096 added tokens"),
                         false);
    }
    static const struct {
        const char *class, *name, *text;
    } usual[] = { { "Bert", "pad_token", "[PAD]" }, { "Bert", "unk_token", "[UNK]" },
        { "Bert", "cls_token", "[CLS]" }, { "Bert", "sep_token", "[SEP]" },
        { "Bert", "mask_token", "[MASK]" }, { "GPT2", "eos_token", "<|endoftext|>" },
        { "Qwen2", "eos_token", "<|endoftext|>" }, { "Roberta", "bos_token", "<s>" },
        { "Roberta", "pad_token", "<pad>" }, { "Roberta", "eos_token", "</s>" },
        { "Roberta", "unk_token", "<unk>" }, { "Roberta", "mask_token", "<mask>" } };
    bool good = true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && good; ++i) {
        if (strcmp(usual[i].class, f->class) == 0) {
            const bool left =
                strcmp(f->class, "Roberta") == 0 && strcmp(usual[i].name, "mask_token") == 0;
            good = add_token(f, special(f, usual[i].name, usual[i].text), left);
        }
    }
    return good || (refused_memory(f), false);
}

/* ---- files of text -------------------------------------------------------------------------- */

/* Calls `take` with each line of a file. NULL with the error recorded. */
static json_t *read_lines(const folder *f, const char *name, json_t *to,
    bool (*take)(json_t *to, const char *line, size_t number))
{
    char *path = adzi_tok_path_in(f->path, name);
    adzi_tok_bytes bytes = { 0 };
    bool good = path != NULL && adzi_tok_read_file(path, &bytes) && adzi_tok_append(&bytes, "", 1);
    const bool read = good;
    bool memory = false;
    char *line = bytes.at;
    for (size_t number = 0; good && line + 1 < bytes.at + bytes.size; ++number) {
        char *end = memchr(line, '\n', (size_t)(bytes.at + bytes.size - line));
        char *next = end != NULL ? end + 1 : bytes.at + bytes.size;
        end = end != NULL ? end : next - 1;
        end -= end > line && end[-1] == '\r';
        *end = '\0';
        good = strlen(line) == (size_t)(end - line) && take(to, line, number);
        memory = !good && adzi_models_is_utf8(line, (size_t)(end - line)) &&
                 strlen(line) == (size_t)(end - line);
        line = next;
    }
    adzi_tok_free(bytes.at);
    adzi_tok_free(path);
    if (memory) {
        return refused_memory(f);
    }
    return good ? to : read ? refuse(f, name, "has a line that is no text") : NULL;
}

static bool take_token(json_t *vocab, const char *line, size_t number)
{
    return json_object_set_new(vocab, line, json_integer((json_int_t)number)) == 0;
}

static bool take_merge(json_t *merges, const char *line, size_t number)
{
    const bool head = number == 0 && strncmp(line, "#version", 8) == 0;
    return head || *line == '\0' || json_array_append_new(merges, json_string(line)) == 0;
}

/* ---- tokenizer.json ------------------------------------------------------------------------- */

static json_t *bert(const folder *f)
{
    const char *cls = special(f, "cls_token", "[CLS]"), *sep = special(f, "sep_token", "[SEP]");
    const json_t *cls_id = json_object_get(f->vocab, cls), *sep_id = json_object_get(f->vocab, sep);
    if (cls_id == NULL || sep_id == NULL) {
        return refuse(f, "vocab.txt", "lacks the tokens that begin and end a text");
    }
    return adzi_tok_bert_json(&(adzi_tok_bert){ .vocab = f->vocab,
        .added = f->added,
        .unknown = special(f, "unk_token", "[UNK]"),
        .cls = cls,
        .sep = sep,
        .cls_id = json_integer_value(cls_id),
        .sep_id = json_integer_value(sep_id),
        .lowercase = flag(f, "do_lower_case", true),
        .chinese = flag(f, "tokenize_chinese_chars", true),
        .strip_accents = json_object_get(f->config, "strip_accents") });
}

#define QWEN2_PATTERN                                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+" \
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static json_t *byte_level(const folder *f, json_t *merges)
{
    const bool qwen = strcmp(f->class, "Qwen2") == 0, roberta = strcmp(f->class, "Roberta") == 0;
    const int prefix = flag(f, "add_prefix_space", false);
    json_t *split =
        qwen ? json_pack("{s:s,s:[{s:s,s:{s:s},s:s,s:b},{s:s,s:b,s:b,s:b}]}", "type", "Sequence",
                   "pretokenizers", "type", "Split", "pattern", "Regex", QWEN2_PATTERN, "behavior",
                   "Isolated", "invert", 0, "type", "ByteLevel", "add_prefix_space", prefix,
                   "trim_offsets", 0, "use_regex", 0)
             : json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", prefix,
                   "trim_offsets", 1, "use_regex", 1);
    json_t *processor = json_pack(
        "{s:s,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 0);
    if (roberta) {
        const char *cls = special(f, "cls_token", "<s>"), *sep = special(f, "sep_token", "</s>");
        json_decref(processor);
        processor = json_pack("{s:s,s:[s,O?],s:[s,O?],s:b,s:b}", "type", "RobertaProcessing", "sep",
            sep, json_object_get(f->vocab, sep), "cls", cls, json_object_get(f->vocab, cls),
            "trim_offsets", 1, "add_prefix_space", prefix);
    }
    return json_pack("{s:O,s:o,s:o,s:o,s:{s:s},s:{s:s,s:O,s:O}}", "added_tokens", f->added,
        "normalizer", qwen ? json_pack("{s:s}", "type", "NFC") : json_null(), "pre_tokenizer",
        split, "post_processor", processor, "decoder", "type", "ByteLevel", "model", "type", "BPE",
        "vocab", f->vocab, "merges", merges);
}

/* The whole tokenizer.json; NULL with the error recorded. */
static json_t *assemble(folder *f)
{
    json_t *whole = NULL;
    if (strcmp(f->class, "Bert") == 0) {
        if (read_lines(f, "vocab.txt", f->vocab, take_token) == NULL || !find_added(f)) {
            return NULL;
        }
        whole = bert(f);
    } else {
        json_decref(f->vocab);
        f->vocab = read_json(f, "vocab.json");
        json_t *merges = f->vocab != NULL ? json_array() : NULL;
        if (merges != NULL && read_lines(f, "merges.txt", merges, take_merge) != NULL &&
            find_added(f)) {
            whole = byte_level(f, merges);
        }
        json_decref(merges);
    }
    return whole == NULL && adz_error_code() == ADZ_OK ? refused_memory(f) : whole;
}

static int take_text(const char *bytes, size_t size, void *to)
{
    return adzi_tok_append(to, bytes, size) ? 0 : -1;
}

adz_tokenizer *adzi_tok_legacy(
    const char *op, const char *path, const adz_pretrained_tokenizer_options *options)
{
    folder f = { .op = op, .path = path, .vocab = json_object(), .added = json_array() };
    f.config = adzi_tok_has(path, "tokenizer_config.json") ? read_json(&f, "tokenizer_config.json")
                                                           : json_object();
    json_t *whole = NULL;
    if (f.vocab == NULL || f.added == NULL) {
        refused_memory(&f);
    } else if (f.config != NULL && find_class(&f)) {
        whole = assemble(&f);
    }
    adzi_tok_bytes text = { 0 };
    adz_tokenizer *t = NULL;
    if (whole != NULL && json_dump_callback(whole, take_text, &text, JSON_COMPACT) == 0) {
        t = adzi_tok_new(op, path, (adz_text){ text.at, text.size }, options);
    } else if (whole != NULL && adz_error_code() == ADZ_OK) {
        refused_memory(&f);
    }
    adzi_tok_free(text.at);
    json_decref(whole);
    json_decref(f.config);
    json_decref(f.vocab);
    json_decref(f.added);
    return t;
}
