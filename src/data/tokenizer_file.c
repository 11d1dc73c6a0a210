/* Tokenizers in files. The first line has the kind and the flags of the tokenizer. Each further
 * line has one token, in the order of ids. Control characters, backslashes and bytes that are not
 * UTF-8 are written with a backslash.
 *
 *     adze tokenizer 1 words special rules=fastai bos
 *     xxunk
 *     ...
 *
 * A file of version 0.2 has the flag `rules` without a name, which stands for fastai's.
 */
#include <string.h>

#include "base/capture.h"
#include "base/door.h"
#include "base/sink.h"
#include "base/source.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "base/alloc.h"
#include "base/error.h"
#include "tensor/tensor.h"

static const char magic[] = "adze tokenizer 1";
enum { N_FLAGS = 3 }; /* behind "special" and the rules */
static const char *const flags[N_FLAGS] = { "bos", "eos", "fields" };
static const char unnamed[] = "fastai"; /* the rules of a flag without a name */

/* The field of a tokenizer for the flag with this index. */
static bool *flag_of(adzi_lexicon *t, size_t i)
{
    bool *const positions[N_FLAGS] = { &t->bos, &t->eos, &t->fields };
    return positions[i];
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Appends the line of a token. */
static void add_escaped(adzi_text *file, adz_text token)
{
    for (size_t i = 0; i < token.size;) {
        uint32_t point;
        int bytes = adzi_utf8_read(token.bytes + i, token.size - i, &point);
        unsigned char byte = (unsigned char)token.bytes[i];
        if (byte == '\\') {
            adzi_text_add(file, "\\\\");
        } else if (bytes <= 0 || byte < 0x20 || byte == 0x7f) {
            adzi_text_format(file, "\\x%02x", (unsigned)byte);
        } else {
            adzi_text_add_n(file, token.bytes + i, (size_t)bytes);
        }
        i += bytes > 0 ? (size_t)bytes : 1;
    }
    adzi_text_add(file, "\n");
}

bool adzi_lexicon_write(const char *op, const adz_tokenizer *self, adz_token_put put, void *to)
{
    adzi_lexicon l = *adzi_lexicon_of(self);
    adzi_text file = { 0 };
    adzi_text_format(&file, "%s %s%s", magic, self->type->name, l.special ? " special" : "");
    if (l.rules != NULL) {
        adzi_text_format(&file, " rules=%s", l.rules->name);
    }
    for (size_t i = 0; i < N_FLAGS; ++i) {
        if (*flag_of(&l, i)) {
            adzi_text_format(&file, " %s", flags[i]);
        }
    }
    adzi_text_add(&file, "\n");
    for (size_t i = 0; i < l.words.count; ++i) {
        add_escaped(&file, adzi_vocabulary_get(&l.words, i));
    }
    if (file.failed) {
        adzi_fail_memory(op, file.length + 1);
    }
    const bool good = !file.failed && put(to, (adz_text){ file.data, file.length });
    adzi_text_free(&file);
    return good;
}

/* The text of the whole file, which the caller frees. If it fails, `failed` is set and the error is
 * recorded. */
static adzi_text make_file(const char *op, const adz_tokenizer *t)
{
    adzi_text file = { 0 };
    if (!adzi_check_handle(op, "tokenizer", t)) {
        file.failed = true;
        return file;
    }
    if (t->type->write == NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED, "tokenizers of the type \"%s\" cannot be written",
            t->type->name);
        file.failed = true;
    } else if (!t->type->write(op, t, adzi_put_piece, &file)) {
        if (file.failed) {
            adzi_fail_memory(op, file.length + 1);
        }
        adzi_callback_failed(
            op, ADZ_ERR_ARGUMENT, "the tokenizer \"%s\" failed to be written", t->type->name);
        file.failed = true;
    }
    return file;
}

adz_tensor *adz_tokenizer_to_memory(const adz_tokenizer *tokenizer)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    adzi_text file = make_file("adz_tokenizer_to_memory", tokenizer);
    adz_tensor *bytes = file.failed ? NULL : adz_empty(ADZ_SHAPE((int64_t)file.length), ADZ_U8);
    if (bytes != NULL) {
        memcpy(bytes->data, file.data, file.length);
    }
    adzi_text_free(&file);
    return bytes;
}

adz_status adz_tokenizer_save(const adz_tokenizer *tokenizer, const char *path)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_tokenizer_save";
    adzi_text file = make_file(op, tokenizer);
    adzi_sink *sink = file.failed ? NULL : adzi_alloc(sizeof *sink);
    adz_status status = ADZ_OK;
    if (sink == NULL) {
        status = file.failed ? adz_error_code() : adzi_status(adzi_fail_memory(op, sizeof *sink));
    } else {
        status = adzi_sink_open(sink, op, path);
        if (status == ADZ_OK) {
            status = adzi_sink_end(sink, adzi_sink_write(sink, file.data, file.length));
        }
    }
    adzi_free(sink, sizeof *sink);
    adzi_text_free(&file);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A file that is being read. */
typedef struct reading {
    const char *op, *name;        /* for messages: the function and the file */
    const char *at, *end;         /* the part that is not read yet */
    size_t line;                  /* the number of the current line, from 1 */
    adzi_text token;              /* the token of the current line */
    const adz_token_rules *rules; /* the caller's, or NULL */
} reading;

/* Records ADZ_ERR_FORMAT with the number of the line. Always returns false. */
static bool refuse(const reading *r, const char *what)
{
    adzi_shown shown;
    adzi_error(
        r->op, ADZ_ERR_FORMAT, "%s: line %zu: %s", adzi_show(&shown, r->name), r->line, what);
    return false;
}

/* Reads a line without its line break; false at the end of the file. */
static bool next_line(reading *r, adz_text *line)
{
    if (r->at == r->end) {
        return false;
    }
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *line = (adz_text){ r->at, (size_t)((stop != NULL ? stop : r->end) - r->at) };
    r->at = stop != NULL ? stop + 1 : r->end;
    r->line += 1;
    return true;
}

/* Reads a word and the space after it. False if the line does not continue with this word. */
static bool take(adz_text *line, const char *word)
{
    size_t n = strlen(word);
    bool fits = line->size >= n && memcmp(line->bytes, word, n) == 0 &&
                (line->size == n || line->bytes[n] == ' ');
    if (fits) {
        n += line->size > n ? 1 : 0;
        line->bytes += n;
        line->size -= n;
    }
    return fits;
}

/* Reads "rules=NAME" or "rules" if the line continues so, and takes the caller's rules if they have
 * this name. */
static bool read_rules(reading *r, adzi_lexicon *t, adz_text *line)
{
    static const char word[] = "rules=";
    adz_text name = { unnamed, sizeof unnamed - 1 };
    if (!take(line, "rules")) {
        const size_t n = sizeof word - 1;
        if (line->size < n || memcmp(line->bytes, word, n) != 0) {
            return true;
        }
        const char *space = memchr(line->bytes, ' ', line->size);
        const size_t whole = space != NULL ? (size_t)(space - line->bytes) : line->size;
        name = (adz_text){ line->bytes + n, whole - n };
        line->bytes += whole + (space != NULL ? 1 : 0);
        line->size -= whole + (space != NULL ? 1 : 0);
    }
    const char *given = r->rules != NULL ? r->rules->name : NULL;
    if (given != NULL && strlen(given) == name.size && memcmp(given, name.bytes, name.size) == 0) {
        t->rules = r->rules;
        return true;
    }
    const bool known = name.size == strlen(unnamed) && memcmp(name.bytes, unnamed, name.size) == 0;
    adzi_shown shown, own;
    adzi_error(r->op, ADZ_ERR_ARGUMENT,
        "%s: the tokenizer has the rules \"%s\", but %s; give the rules of this name%s",
        adzi_show(&shown, r->name), adzi_show_bytes(&own, name.bytes, name.size),
        given != NULL ? "others were given" : "none were given",
        known ? ", which adz_fastai_token_rules of libadze-zoo returns" : "");
    return false;
}

/* Reads the first line: the magic words, the kind, the rules and the flags. */
static bool read_header(reading *r, adz_tokenizer *self)
{
    adz_text line = { NULL, 0 };
    if (!next_line(r, &line) || !take(&line, magic)) {
        r->line = 1;
        return refuse(r, "this is no tokenizer; its file begins with 'adze tokenizer 1'");
    }
    size_t kind = 0;
    while (kind < ADZI_TOKEN_KINDS && !take(&line, adzi_token_kinds[kind]->name)) {
        ++kind;
    }
    if (kind == ADZI_TOKEN_KINDS) {
        return refuse(r, "the kind must be characters, bytes or words");
    }
    adzi_lexicon *t = adzi_lexicon_of(self);
    self->type = adzi_token_kinds[kind];
    t->special = take(&line, "special");
    if (!read_rules(r, t, &line)) {
        return false;
    }
    for (size_t i = 0; i < N_FLAGS; ++i) {
        *flag_of(t, i) = take(&line, flags[i]);
    }
    bool words = kind == ADZ_TOKENS_WORDS;
    bool odd = line.size > 0 || (!words && (t->rules != NULL || t->bos || t->eos || t->fields)) ||
               (t->special ? kind == ADZ_TOKENS_BYTES : words);
    return odd ? refuse(r, "the flags do not fit this kind of tokenizer") : true;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes the token of a line to r->token, with its escapes replaced. */
static bool unescape(reading *r, adz_text line)
{
    adzi_text_cut(&r->token, 0);
    for (size_t i = 0; i < line.size; ++i) {
        char c = line.bytes[i];
        if (c == '\\' && i + 1 < line.size && line.bytes[i + 1] == '\\') {
            i += 1;
        } else if (c == '\\') {
            bool whole = i + 3 < line.size && line.bytes[i + 1] == 'x';
            int high = whole ? hex(line.bytes[i + 2]) : -1;
            int low = whole ? hex(line.bytes[i + 3]) : -1;
            if (high < 0 || low < 0) {
                return refuse(r, "a backslash must be followed by a backslash or by xhh");
            }
            c = (char)(unsigned char)(16 * high + low);
            i += 3;
        }
        adzi_text_add_n(&r->token, &c, 1);
    }
    return true;
}

static bool is_character(adz_text token)
{
    uint32_t point;
    return token.size > 0 && adzi_utf8_read(token.bytes, token.size, &point) == (int)token.size;
}

/* Whether a token may have the next id. */
static bool check_token(
    const reading *r, const adzi_lexicon *t, adz_token_kind kind, adz_text token)
{
    size_t number = t->words.count;
    if (token.size == 0) {
        return refuse(r, "the token is empty");
    }
    if (adzi_vocabulary_find(&t->words, token) >= 0) {
        return refuse(r, "the token occurs for the second time");
    }
    if (kind == ADZ_TOKENS_BYTES) {
        bool right = token.size == 1 && (unsigned char)token.bytes[0] == number;
        return right ? true : refuse(r, "the bytes must be in order, from 0 to 255");
    }
    if (t->special && number < ADZI_SPECIAL_TOKENS) {
        const char *wanted = adzi_special_tokens[number];
        bool right = strlen(wanted) == token.size && memcmp(wanted, token.bytes, token.size) == 0;
        return right ? true : refuse(r, "the special tokens must be in order, from xxunk on");
    }
    if (kind == ADZ_TOKENS_CHARACTERS && !is_character(token)) {
        return refuse(r, "the token must be one character");
    }
    return true;
}

static bool read_tokens(reading *r, adzi_lexicon *t, adz_token_kind kind)
{
    adz_text line;
    while (next_line(r, &line)) {
        if (!unescape(r, line)) {
            return false;
        }
        adz_text token = { adzi_text_get(&r->token), r->token.length };
        if (!r->token.failed && !check_token(r, t, kind, token)) {
            return false;
        }
        if (r->token.failed || !adzi_vocabulary_add(&t->words, token)) {
            adzi_fail_memory(r->op, token.size + 1);
            return false;
        }
    }
    size_t least = kind == ADZ_TOKENS_BYTES ? 256 : t->special ? ADZI_SPECIAL_TOKENS : 1;
    return t->words.count >= least ? true : refuse(r, "tokens are missing after this line");
}

static adz_tokenizer *read_file(
    const char *op, const char *name, adz_text file, const adz_token_rules *rules)
{
    if (rules != NULL && !adzi_check_rules(op, rules)) {
        return NULL;
    }
    reading r = {
        .op = op, .name = name, .at = file.bytes, .end = file.bytes + file.size, .rules = rules
    };
    adz_tokenizer *t = adzi_tokenizer_new(op, ADZ_TOKENS_CHARACTERS);
    if (t != NULL &&
        !(read_header(&r, t) && read_tokens(&r, adzi_lexicon_of(t), adz_tokenizer_kind(t)))) {
        adz_tokenizer_free(&t);
    }
    adzi_text_free(&r.token);
    return t;
}

adz_tokenizer *adz_tokenizer_from_memory(
    const void *bytes, size_t size, const adz_token_rules *rules)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_tokenizer_from_memory";
    if (bytes == NULL) {
        return adzi_fail_null(op, "bytes");
    }
    return read_file(op, "the buffer", (adz_text){ bytes, size }, rules);
}

adz_tokenizer *adz_tokenizer_load(const char *path, const adz_token_rules *rules)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_tokenizer_load";
    adzi_source source;
    adz_tokenizer *t = NULL;
    if (adzi_source_open(op, path, &source) == ADZ_OK) {
        if (adzi_source_fill(op, &source) == ADZ_OK) {
            const char *bytes = source.size > 0 ? (const char *)source.bytes : "";
            t = read_file(op, path, (adz_text){ bytes, (size_t)source.size }, rules);
        }
        adzi_source_close(&source);
    }
    return t;
}
