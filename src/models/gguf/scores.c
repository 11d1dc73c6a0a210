/* Merges from the scores of a SentencePiece vocabulary.
 *
 * SentencePiece joins any two neighbours whose texts together are a token. So each cut of a token
 * into two tokens is a merge, and all cuts of a token have one rank, that of its score. */
#include <math.h>
#include <stdlib.h>

#include "gguf/tokenizer.h"
#include "models.h"
#include "tokenizers/unicode.h"

/* A cut of a token. */
typedef struct cut {
    double score;
    size_t token, at, characters; /* the cut lies behind `at` bytes; characters before it */
} cut;

/* The best score comes first. Of equal ones the order only matters to other readers of the file,
 * which have no ranks. */
static int compare(const void *left, const void *right)
{
    const cut *a = left, *b = right;
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    if (a->characters != b->characters) {
        return a->characters > b->characters ? -1 : 1;
    }
    return a->token != b->token ? (a->token < b->token ? -1 : 1) : 0;
}

/* Whether all characters of a token are tokens, from which merges begin. False with the error
 * recorded. */
static bool check_characters(const gguf_tokens *tokens, const adzi_tok_map *normal, size_t i)
{
    const gguf_token *t = &tokens->items[i];
    for (size_t at = 0; at < t->size; at += adzi_tok_bytes_of(t->text[at])) {
        const size_t size = adzi_tok_bytes_of(t->text[at]);
        if (adzi_tok_map_find(normal, t->text + at, size) < 0) {
            adz_error_format(tokens->op, ADZ_ERR_UNSUPPORTED,
                "%s: tokenizer.ggml.tokens: \"%.80s\" has the character \"%.*s\", which is no token",
                tokens->path, t->text, (int)size, t->text + at);
            return false;
        }
    }
    return true;
}

/* Adds the cuts of a token. */
static bool add_cuts(const gguf_tokens *tokens, const adzi_tok_map *normal, size_t i, cut **cuts,
    size_t *room, size_t *n)
{
    const gguf_token *t = &tokens->items[i];
    const bool used = t->type == GGUF_TOKEN_NORMAL;
    size_t characters = 0, found = 0;
    for (size_t at = 0; at < t->size; at += adzi_tok_bytes_of(t->text[at]), ++characters) {
        if (at == 0 || adzi_tok_map_find(normal, t->text, at) < 0 ||
            adzi_tok_map_find(normal, t->text + at, t->size - at) < 0) {
            continue;
        }
        found += 1;
        if (!used) {
            adz_error_format(tokens->op, ADZ_ERR_UNSUPPORTED,
                "%s: tokenizer.ggml.tokens: \"%.80s\" is unused, but other tokens make it, which adze cannot undo",
                tokens->path, t->text);
            return false;
        }
        if (!adzi_tok_reserve(cuts, room, *n + 1, sizeof **cuts)) {
            return false;
        }
        (*cuts)[(*n)++] = (cut){ t->score, i, at, characters };
    }
    return found == 0 || check_characters(tokens, normal, i);
}

/* Writes the cuts as merges with ranks. */
static bool write_merges(
    const gguf_tokens *tokens, const cut *cuts, size_t n, json_t *merges, json_t *ranks)
{
    size_t rank = 0;
    for (size_t i = 0; i < n; ++i) {
        const gguf_token *t = &tokens->items[cuts[i].token];
        rank += i > 0 && cuts[i].score != cuts[i - 1].score;
        json_t *pair =
            json_pack("[s%,s%]", t->text, cuts[i].at, t->text + cuts[i].at, t->size - cuts[i].at);
        if (json_array_append_new(merges, pair) != 0 ||
            json_array_append_new(ranks, json_integer((json_int_t)rank)) != 0) {
            adz_error_format(
                tokens->op, ADZ_ERR_MEMORY, "%s: memory for merges was refused", tokens->path);
            return false;
        }
    }
    return true;
}

bool adzi_gguf_score_merges(const gguf_tokens *tokens, json_t *merges, json_t *ranks)
{
    adzi_tok_map normal = { 0 };
    cut *cuts = NULL;
    size_t room = 0, n = 0;
    bool good = true;
    for (size_t i = 0; i < tokens->count && good; ++i) {
        const gguf_token *t = &tokens->items[i];
        good =
            t->type != GGUF_TOKEN_NORMAL || adzi_tok_map_set(&normal, t->text, t->size, (int32_t)i);
    }
    for (size_t i = 0; i < tokens->count && good; ++i) {
        const gguf_token_type type = tokens->items[i].type;
        good = (type != GGUF_TOKEN_NORMAL && type != GGUF_TOKEN_UNUSED) ||
               add_cuts(tokens, &normal, i, &cuts, &room, &n);
    }
    if (good && n > 0) {
        qsort(cuts, n, sizeof *cuts, compare);
        good = write_merges(tokens, cuts, n, merges, ranks);
    }
    adzi_tok_free(cuts);
    adzi_tok_map_free(&normal);
    return good;
}
