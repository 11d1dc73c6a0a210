/* Byte pair encoding: the pair of neighbours whose merge has the lowest rank is merged, the
 * leftmost one first, until there is none. */
#include "stages.h"

/* ---- the symbols that a word begins with ---------------------------------------------------- */

static bool add_symbol(adzi_tok_scratch *s, size_t *n, int32_t id, size_t size)
{
    if (*n >= INT32_MAX ||
        !adzi_tok_reserve(&s->symbols, &s->symbols_room, *n + 1, sizeof *s->symbols)) {
        return false;
    }
    s->symbols[(*n)++] = (adzi_tok_symbol){ id, (uint32_t)size, 0, 0 };
    return true;
}

/* The id of a character with the prefix of a continuing subword and the suffix of the last one. */
static int32_t spelled(const adzi_tok_model *m, adzi_tok_scratch *s, const char *at, size_t size,
    bool first, bool last)
{
    const bool prefix = !first && m->prefix.size > 0, suffix = last && m->suffix.size > 0;
    if (!prefix && !suffix) {
        return adzi_tok_map_find(&m->words, at, size);
    }
    s->spelled.size = 0;
    if ((prefix && !adzi_tok_append(&s->spelled, m->prefix.at, m->prefix.size)) ||
        !adzi_tok_append(&s->spelled, at, size) ||
        (suffix && !adzi_tok_append(&s->spelled, m->suffix.at, m->suffix.size))) {
        return -1;
    }
    return adzi_tok_map_find(&m->words, s->spelled.at, s->spelled.size);
}

/* Whether all bytes of a character have tokens of their own. */
static bool falls_back(const adzi_tok_model *m, const char *at, size_t size)
{
    bool all = m->byte_fallback;
    for (size_t i = 0; i < size && all; ++i) {
        all = m->fallback[(unsigned char)at[i]] >= 0;
    }
    return all;
}

/* Splits a word into characters. Those that the vocabulary lacks become bytes, or the unknown
 * token, or are left out. */
static bool begin_characters(
    const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size, size_t *n)
{
    size_t unknown = 0, bytes; /* bytes of unknown characters that are not added yet */
    bool good = true;
    for (size_t i = 0; i < size && good; i += bytes) {
        bytes = adzi_tok_bytes_of(word[i]);
        const int32_t id = spelled(m, s, word + i, bytes, i == 0, i + bytes == size);
        if (id >= 0) {
            good = unknown == 0 || add_symbol(s, n, m->unknown, unknown);
            unknown = 0;
            good = good && add_symbol(s, n, id, bytes);
        } else if (falls_back(m, word + i, bytes)) {
            for (size_t k = 0; k < bytes && good; ++k) {
                good = add_symbol(s, n, m->fallback[(unsigned char)word[i + k]], 1);
            }
        } else if (m->unknown >= 0) {
            if (unknown > 0 && !m->fuse_unknown) {
                good = add_symbol(s, n, m->unknown, unknown);
                unknown = 0;
            }
            unknown += bytes;
        }
    }
    return good && (unknown == 0 || add_symbol(s, n, m->unknown, unknown));
}

/* Splits a word into bytes. */
static bool begin_bytes(
    const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size, size_t *n)
{
    size_t unknown = 0;
    bool good = true;
    for (size_t i = 0; i < size && good; ++i) {
        const int32_t id = m->bytes[(unsigned char)word[i]];
        if (id >= 0) {
            good = unknown == 0 || add_symbol(s, n, m->unknown, unknown);
            unknown = 0;
            good = good && add_symbol(s, n, id, 1);
        } else if (m->unknown >= 0) {
            if (unknown > 0 && !m->fuse_unknown) {
                good = add_symbol(s, n, m->unknown, unknown);
                unknown = 0;
            }
            unknown += 1;
        }
    }
    return good && (unknown == 0 || add_symbol(s, n, m->unknown, unknown));
}

/* ---- merging -------------------------------------------------------------------------------- */

#define NO_RANK UINT32_MAX

static const adzi_tok_merge *merge_of(const adzi_tok_model *m, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    if (m->merges == NULL) {
        return NULL;
    }
    for (size_t i = adzi_tok_merge_position(m, pair);; i = (i + 1) & m->merge_mask) {
        const adzi_tok_merge *merge = &m->merges[i];
        if (merge->id < 0) {
            return NULL;
        }
        if (merge->pair == pair) {
            return merge;
        }
    }
}

/* A short word: the ranks of all pairs are kept, and each step looks through them. */
static bool merge_short(const adzi_tok_model *m, adzi_tok_scratch *s, size_t *count)
{
    size_t n = *count;
    if (!adzi_tok_reserve(&s->ranks, &s->ranks_room, n, sizeof *s->ranks)) {
        return false;
    }
    adzi_tok_symbol *symbols = s->symbols;
    for (size_t i = 0; i + 1 < n; ++i) {
        const adzi_tok_merge *merge = merge_of(m, symbols[i].id, symbols[i + 1].id);
        s->ranks[i] = merge != NULL ? merge->rank : NO_RANK;
    }
    for (;;) {
        size_t best = 0;
        uint32_t rank = NO_RANK;
        for (size_t i = 0; i + 1 < n; ++i) {
            best = s->ranks[i] < rank ? i : best;
            rank = s->ranks[i] < rank ? s->ranks[i] : rank;
        }
        if (rank == NO_RANK) {
            break;
        }
        symbols[best].id = merge_of(m, symbols[best].id, symbols[best + 1].id)->id;
        symbols[best].size += symbols[best + 1].size;
        n -= 1;
        memmove(&symbols[best + 1], &symbols[best + 2], (n - best - 1) * sizeof *symbols);
        if (n > best + 1) {
            memmove(&s->ranks[best], &s->ranks[best + 1], (n - best - 1) * sizeof *s->ranks);
            const adzi_tok_merge *next = merge_of(m, symbols[best].id, symbols[best + 1].id);
            s->ranks[best] = next != NULL ? next->rank : NO_RANK;
        }
        if (best > 0) {
            const adzi_tok_merge *before = merge_of(m, symbols[best - 1].id, symbols[best].id);
            s->ranks[best - 1] = before != NULL ? before->rank : NO_RANK;
        }
    }
    *count = n;
    return true;
}

/* Whether one candidate is merged before another. */
static bool earlier(const adzi_tok_candidate *a, const adzi_tok_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static bool push(const adzi_tok_model *m, adzi_tok_scratch *s, int32_t left)
{
    const adzi_tok_symbol *symbol = &s->symbols[left];
    const adzi_tok_merge *merge =
        symbol->next >= 0 ? merge_of(m, symbol->id, s->symbols[symbol->next].id) : NULL;
    if (merge == NULL) {
        return true;
    }
    if (!adzi_tok_reserve(&s->heap, &s->heap_room, s->heap_n + 1, sizeof *s->heap)) {
        return false;
    }
    const adzi_tok_candidate c = { merge->rank, (uint32_t)left, merge->id };
    size_t i = s->heap_n++;
    for (; i > 0 && earlier(&c, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        s->heap[i] = s->heap[(i - 1) / 2];
    }
    s->heap[i] = c;
    return true;
}

static adzi_tok_candidate pop(adzi_tok_scratch *s)
{
    const adzi_tok_candidate top = s->heap[0], last = s->heap[--s->heap_n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_n) {
            break;
        }
        child += child + 1 < s->heap_n && earlier(&s->heap[child + 1], &s->heap[child]);
        if (!earlier(&s->heap[child], &last)) {
            break;
        }
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* A long word: candidates lie in a heap, and symbols in a list. */
static bool merge_long(const adzi_tok_model *m, adzi_tok_scratch *s, size_t *count)
{
    adzi_tok_symbol *symbols = s->symbols;
    bool good = true;
    s->heap_n = 0;
    for (size_t i = 0; i < *count; ++i) {
        symbols[i].prev = (int32_t)i - 1;
        symbols[i].next = i + 1 < *count ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 0; i < *count && good; ++i) {
        good = push(m, s, (int32_t)i);
    }
    while (s->heap_n > 0 && good) {
        const adzi_tok_candidate c = pop(s);
        adzi_tok_symbol *left = &symbols[c.at];
        if (left->size == 0 || left->next < 0) {
            continue;
        }
        adzi_tok_symbol *right = &symbols[left->next];
        const adzi_tok_merge *merge = merge_of(m, left->id, right->id);
        if (merge == NULL || merge->id != c.id) {
            continue; /* one of both was merged with another neighbour since */
        }
        left->id = c.id;
        left->size += right->size;
        left->next = right->next;
        right->size = 0;
        if (right->next >= 0) {
            symbols[right->next].prev = (int32_t)c.at;
        }
        good = (left->prev < 0 || push(m, s, left->prev)) && push(m, s, (int32_t)c.at);
    }
    size_t n = 0;
    for (size_t i = 0; i < *count; ++i) {
        if (symbols[i].size > 0) {
            symbols[n++] = symbols[i];
        }
    }
    *count = n;
    return good;
}

enum { SHORT = 48 }; /* symbols */

bool adzi_tok_bpe(const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size)
{
    if (m->ignore_merges) {
        const int32_t whole = adzi_tok_map_find(&m->words, word, size);
        if (whole >= 0) {
            return adzi_tok_add_piece(s, whole, size);
        }
    }
    size_t n = 0;
    bool good =
        m->byte_level ? begin_bytes(m, s, word, size, &n) : begin_characters(m, s, word, size, &n);
    good = good && (n <= SHORT ? merge_short(m, s, &n) : merge_long(m, s, &n));
    for (size_t i = 0; i < n && good; ++i) {
        good = adzi_tok_add_piece(s, s->symbols[i].id, s->symbols[i].size);
    }
    return good;
}
