/* Merges from the scores of a SentencePiece vocabulary.
 *
 * SentencePiece joins any two neighbours whose texts together are a token. So each cut of a token
 * into two tokens is a merge, and all cuts of a token have one rank, that of its score. */
#include <stdlib.h>

#include "gguf/tokenizer.h"
#include "models.h"
#include "tokenizers/unicode.h"

/* A token has at most LONGEST bytes, because each prefix of it is looked up. The tokens, each
 * counted once for each of its cuts, have at most CUT_BYTES bytes and CUT_TIMES the bytes of all
 * tokens, so that a file asks for no memory that it has not shown. A vocabulary that sentencepiece
 * trained to 4000 tokens has 1.5 times these bytes. */
enum { LONGEST = 1024, CUT_BYTES = 1 << 20, CUT_TIMES = 16 };

/* A cut of a token. */
typedef struct cut {
    double score;
    size_t token, at, characters; /* the cut lies behind `at` bytes; characters before it */
} cut;

/* The cuts of all tokens. */
typedef struct cut_list {
    cut *items;
    size_t room, count;
    size_t bytes, most_bytes; /* of the tokens that are cut, each counted once for each cut */
} cut_list;

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
static bool check_characters(const gguf_tokens *tokens, const adzi_tok_map *known, size_t i)
{
    const gguf_token *t = &tokens->items[i];
    for (size_t at = 0; at < t->size; at += adzi_tok_bytes_of(t->text[at])) {
        const size_t size = adzi_tok_bytes_of(t->text[at]);
        const int32_t id = adzi_tok_map_find(known, t->text + at, size);
        if (id < 0 || tokens->items[id].type != GGUF_TOKEN_NORMAL) {
            adz_error_format(tokens->op, ADZ_ERR_UNSUPPORTED,
                "%s: tokenizer.ggml.tokens: \"%.80s\" has the character \"%.*s\", which is no token",
                tokens->path, t->text, (int)size, t->text + at);
            return false;
        }
    }
    return true;
}

/* Whether SentencePiece joins this text with a neighbour: it is a normal token, or a character.
 * Control tokens, the unknown token and tokens of the user are taken out of texts before that. */
static bool is_part(
    const gguf_tokens *tokens, const adzi_tok_map *known, const char *text, size_t size)
{
    const int32_t id = adzi_tok_map_find(known, text, size);
    if (size == adzi_tok_bytes_of(*text)) {
        const gguf_token_type type = id < 0 ? GGUF_TOKEN_NORMAL : tokens->items[id].type;
        return type == GGUF_TOKEN_NORMAL || type == GGUF_TOKEN_UNUSED || type == GGUF_TOKEN_BYTE;
    }
    return id >= 0 && tokens->items[id].type == GGUF_TOKEN_NORMAL;
}

/* Whether a token may be cut once more. False with the error recorded. */
static bool check_cut(const gguf_tokens *tokens, const gguf_token *t, cut_list *all)
{
    all->bytes += t->size;
    if (t->type == GGUF_TOKEN_NORMAL && all->bytes <= all->most_bytes) {
        return true;
    }
    adz_error_format(tokens->op, ADZ_ERR_UNSUPPORTED,
        t->type != GGUF_TOKEN_NORMAL
            ? "%s: tokenizer.ggml.tokens: \"%.80s\" is unused, but other tokens make it, which adze cannot undo"
            : "%s: tokenizer.ggml.tokens: \"%.80s\" and tokens before it are made of others in more ways than a vocabulary of SentencePiece has",
        tokens->path, t->text);
    return false;
}

/* Adds the cuts of a token. */
static bool add_cuts(const gguf_tokens *tokens, const adzi_tok_map *known, size_t i, cut_list *all)
{
    const gguf_token *t = &tokens->items[i];
    const size_t before = all->count;
    if (t->size > LONGEST) {
        adz_error_format(tokens->op, ADZ_ERR_UNSUPPORTED,
            "%s: tokenizer.ggml.tokens: token %zu has %zu bytes; at most %d are known",
            tokens->path, i, t->size, (int)LONGEST);
        return false;
    }
    size_t characters = 0;
    for (size_t at = 0; at < t->size; at += adzi_tok_bytes_of(t->text[at]), ++characters) {
        if (at == 0 || !is_part(tokens, known, t->text, at) ||
            !is_part(tokens, known, t->text + at, t->size - at)) {
            continue;
        }
        if (!check_cut(tokens, t, all) ||
            !adzi_tok_reserve(&all->items, &all->room, all->count + 1, sizeof *all->items)) {
            return false;
        }
        all->items[all->count++] = (cut){ t->score, i, at, characters };
    }
    return all->count == before || check_characters(tokens, known, i);
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
    adzi_tok_map known = { 0 };
    cut_list all = { .most_bytes = CUT_BYTES };
    bool good = true;
    for (size_t i = 0; i < tokens->count && good; ++i) {
        const gguf_token *t = &tokens->items[i];
        all.most_bytes += CUT_TIMES * t->size;
        good = adzi_tok_map_set(&known, t->text, t->size, (int32_t)i);
    }
    for (size_t i = 0; i < tokens->count && good; ++i) {
        const gguf_token_type type = tokens->items[i].type;
        good = (type != GGUF_TOKEN_NORMAL && type != GGUF_TOKEN_UNUSED) ||
               add_cuts(tokens, &known, i, &all);
    }
    if (good && all.count > 0) {
        qsort(all.items, all.count, sizeof *all.items, compare);
        good = write_merges(tokens, all.items, all.count, merges, ranks);
    }
    adzi_tok_free(all.items);
    adzi_tok_map_free(&known);
    return good;
}
