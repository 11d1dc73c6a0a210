/* WordPiece: the longest subword of the vocabulary that the rest of a word begins with, again and
 * again. A word that has a rest without one is the unknown token. */
#include "adze/checks.h"
#include "stages.h"

/* The bytes of the longest subword, which ends between characters, and its id; 0 for none. */
static size_t longest(const adzi_tok_trie *trie, const char *at, size_t size, int32_t *id)
{
    size_t best = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < size && trie->edges != NULL; ++i) {
        node = adzi_tok_trie_next(trie, node, at[i]);
        if (node == 0) {
            break;
        }
        const bool whole = i + 1 == size || !adzi_tok_continues(at[i + 1]);
        if (trie->values[node] >= 0 && whole) {
            best = i + 1;
            *id = trie->values[node];
        }
    }
    return best;
}

static bool add_unknown(const adzi_tok_model *m, adzi_tok_scratch *s, size_t size)
{
    s->n_pieces = 0;
    if (m->unknown < 0) {
        adz_error_format("tokenizer", ADZ_ERR_ARGUMENT,
            "a word needs the unknown token \"%.*s\", which the vocabulary lacks",
            (int)m->unknown_text.size, m->unknown_text.size > 0 ? m->unknown_text.at : "");
        return false;
    }
    return adzi_tok_add_piece(s, m->unknown, size);
}

bool adzi_tok_word_piece(
    const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size)
{
    size_t characters = 0;
    for (size_t i = 0; i < size; ++i) {
        characters += !adzi_tok_continues(word[i]);
    }
    if (characters > m->max_characters) {
        return add_unknown(m, s, size);
    }
    for (size_t at = 0; at < size;) {
        int32_t id = -1;
        const size_t n = longest(at == 0 ? &m->first : &m->next, word + at, size - at, &id);
        if (n == 0) {
            return add_unknown(m, s, size);
        }
        if (!adzi_tok_add_piece(s, id, n)) {
            return false;
        }
        at += n;
    }
    return true;
}
