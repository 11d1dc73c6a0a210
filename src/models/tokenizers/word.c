/* From words to tokens, with a cache of words. */
#include "stages.h"

enum {
    ENTRIES = 1 << 14,          /* of the cache, a power of two */
    MOST_ENTRIES = ENTRIES / 2, /* then the cache is emptied */
    LONGEST = 64,               /* bytes of a word that is worth keeping */
};

/* The entry of a word, or the empty one where it belongs. */
static adzi_tok_entry *entry_of(
    const adzi_tok_scratch *s, uint64_t hash, const char *word, size_t size)
{
    for (size_t i = (size_t)hash & (ENTRIES - 1);; i = (i + 1) & (ENTRIES - 1)) {
        adzi_tok_entry *e = &s->entries[i];
        if (e->size == 0 || (e->hash == hash && e->size == size &&
                                memcmp(s->words.at + e->word, word, size) == 0)) {
            return e;
        }
    }
}

/* Fills an empty entry with the pieces of a word. */
static bool keep(
    adzi_tok_scratch *s, adzi_tok_entry *e, uint64_t hash, const char *word, size_t size)
{
    if (!adzi_tok_reserve(&s->known, &s->known_room, s->n_known + s->n_pieces, sizeof *s->known)) {
        return false;
    }
    const adzi_tok_entry made = { hash, (uint32_t)s->words.size, (uint32_t)size,
        (uint32_t)s->n_known, (uint32_t)s->n_pieces };
    if (!adzi_tok_append(&s->words, word, size)) {
        return false;
    }
    if (s->n_pieces > 0) {
        memcpy(s->known + s->n_known, s->pieces, s->n_pieces * sizeof *s->pieces);
    }
    s->n_known += s->n_pieces;
    s->n_entries += 1;
    *e = made;
    return true;
}

static bool compute(const adzi_tok_run *run, const char *word, size_t size)
{
    run->scratch->n_pieces = 0;
    return run->t->model.kind == MODEL_BPE
               ? adzi_tok_bpe(&run->t->model, run->scratch, word, size)
               : adzi_tok_word_piece(&run->t->model, run->scratch, word, size);
}

/* The pieces of a word, from the cache if it has them. NULL with the error recorded. */
static const adzi_tok_piece *pieces_of(adzi_tok_run *run, const char *word, size_t size, size_t *n)
{
    adzi_tok_scratch *s = run->scratch;
    static const adzi_tok_piece none;
    if (size > LONGEST) {
        const bool good = compute(run, word, size);
        *n = s->n_pieces;
        return !good ? NULL : s->n_pieces > 0 ? s->pieces : &none;
    }
    if (s->entries == NULL) {
        s->entries = adzi_tok_alloc(ENTRIES * sizeof *s->entries);
        if (s->entries == NULL) {
            return NULL;
        }
    }
    const uint64_t hash = adzi_tok_hash(word, size);
    adzi_tok_entry *e = entry_of(s, hash, word, size);
    if (e->size == 0) {
        if (!compute(run, word, size)) {
            return NULL;
        }
        if (s->n_entries >= MOST_ENTRIES) {
            memset(s->entries, 0, ENTRIES * sizeof *s->entries);
            s->n_entries = s->n_known = s->words.size = 0;
            e = entry_of(s, hash, word, size);
        }
        if (!keep(s, e, hash, word, size)) {
            return NULL;
        }
    }
    *n = e->count;
    return e->count > 0 ? s->known + e->pieces : &none;
}

/* Emits pieces with the ranges that they stand for. A piece that lies outside the word, because
 * unknown characters were left out before it, keeps its position in the word. */
static bool emit_aligned(adzi_tok_run *run, const adzi_tok_text *text, size_t begin, size_t end,
    const adzi_tok_piece *pieces, size_t n)
{
    bool good = true;
    size_t at = begin;
    for (size_t i = 0; i < n && good; ++i) {
        const size_t stop = at + pieces[i].size < end ? at + pieces[i].size : end;
        const adzi_tok_span none = { 0, 0 };
        good =
            adzi_tok_emit(run, pieces[i].id, stop > at ? adzi_tok_span_of(text, at, stop) : none);
        at = stop;
    }
    return good;
}

bool adzi_tok_word(adzi_tok_run *run, const adzi_tok_text *text, size_t begin, size_t end)
{
    size_t n = 0;
    const adzi_tok_piece *pieces = pieces_of(run, text->bytes + begin, end - begin, &n);
    if (pieces == NULL) {
        return false;
    }
    if (run->aligned) {
        return emit_aligned(run, text, begin, end, pieces, n);
    }
    adzi_tok_output *to = run->output;
    if (!adzi_tok_reserve(&to->ids, &to->room, to->n + n, sizeof *to->ids)) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        to->ids[to->n + i] = pieces[i].id;
    }
    to->n += n;
    return true;
}
