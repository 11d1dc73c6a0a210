/* The tokenizer "bert" of GGUF files: WordPiece.
 *
 * Files do not say whether text is made lower case. llama.cpp always does that and strips accents;
 * so does this, and vocabularies with capitals, which no text would reach, are refused. As in
 * llama.cpp, values such as add_bos_token do not matter: texts begin and end with their tokens. */
#include <string.h>

#include "gguf/tokenizer.h"
#include "models.h"
#include "tokenizers/bert.h"
#include "tokenizers/unicode.h"

#define KEY(name) "tokenizer.ggml." name
#define WORD      "\xe2\x96\x81" /* U+2581 */

static bool is_bracketed(const gguf_token *t)
{
    return t->size > 1 && t->text[0] == '[' && t->text[t->size - 1] == ']';
}

void adzi_gguf_word_piece(gguf_token *t)
{
    const size_t mark = sizeof WORD - 1;
    if (t->size >= mark && memcmp(t->text, WORD, mark) == 0) {
        t->text += mark;
        t->size -= mark;
    } else if ((t->type == GGUF_TOKEN_NORMAL || t->type == GGUF_TOKEN_BYTE) && !is_bracketed(t)) {
        t->text -= 2;
        t->size += 2;
        memcpy(t->text, "##", 2);
    }
}

/* Whether a word has a capital, which text in lower case does not. */
static bool has_capital(const gguf_token *t)
{
    for (size_t at = 0, n = 0; at < t->size; at += n) {
        size_t points = 0;
        adzi_tok_lowered(adzi_tok_read(t->text + at, &n), &points);
        if (points > 0) {
            return true;
        }
    }
    return false;
}

/* The token that the first of two values names, else that with a text. NULL with the error
 * recorded. */
static const gguf_token *find(
    const gguf_tokens *tokens, adz_gguf *file, const char *const keys[2], const json_t *usual)
{
    for (int i = 0; i < 2; ++i) {
        int64_t id = 0;
        if (keys[i] == NULL || adz_gguf_kind_of(file, keys[i]) == ADZ_GGUF_KIND_NONE) {
            continue;
        }
        if (adz_gguf_integer(file, keys[i], &id) != ADZ_OK) {
            return NULL;
        }
        return id >= 0 && (uint64_t)id < tokens->count
                   ? &tokens->items[id]
                   : models_fail(tokens->op, ADZ_ERR_FORMAT,
                         "%s: %s is %lld, but there are %zu tokens", tokens->path, keys[i],
                         (long long)id, tokens->count);
    }
    return usual != NULL ? &tokens->items[json_integer_value(usual)]
                         : models_fail(tokens->op, ADZ_ERR_FORMAT, "%s: there is no value %s",
                               tokens->path, keys[0]);
}

json_t *adzi_gguf_bert(const gguf_tokens *tokens, adz_gguf *file, json_t *vocab, json_t *added)
{
    static const char *const cls_keys[] = { KEY("cls_token_id"), KEY("bos_token_id") };
    static const char *const sep_keys[] = { KEY("seperator_token_id"), KEY("eos_token_id") };
    static const char *const unknown_keys[] = { KEY("unknown_token_id"), NULL };
    for (size_t i = 0; i < tokens->count; ++i) {
        const gguf_token *t = &tokens->items[i];
        if (t->type == GGUF_TOKEN_NORMAL && !is_bracketed(t) && has_capital(t)) {
            return models_fail(tokens->op, ADZ_ERR_UNSUPPORTED,
                "%s: token %zu, \"%.40s\", has capitals; vocabularies that tell them apart are not known",
                tokens->path, i, t->text);
        }
    }
    const gguf_token *cls = find(tokens, file, cls_keys, json_object_get(vocab, "[CLS]"));
    const gguf_token *sep =
        cls != NULL ? find(tokens, file, sep_keys, json_object_get(vocab, "[SEP]")) : NULL;
    const gguf_token *unknown =
        sep != NULL ? find(tokens, file, unknown_keys, json_object_get(vocab, "[UNK]")) : NULL;
    return unknown == NULL ? NULL
                           : adzi_tok_bert_json(&(adzi_tok_bert){ .vocab = vocab,
                                 .added = added,
                                 .unknown = unknown->text,
                                 .cls = cls->text,
                                 .sep = sep->text,
                                 .cls_id = cls - tokens->items,
                                 .sep_id = sep - tokens->items,
                                 .lowercase = true,
                                 .chinese = true });
}
