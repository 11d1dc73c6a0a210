/* Working memory of one call, and what a call passes from one stage to the next. */
#ifndef ADZI_MODELS_TOKENIZERS_SCRATCH_H
#define ADZI_MODELS_TOKENIZERS_SCRATCH_H

#include "parts.h"

/** The tokens of a text, before special tokens are added. */
typedef struct adzi_tok_output {
    int32_t *ids;
    adzi_tok_span *spans; /* if aligned */
    size_t n, room, spans_room;
} adzi_tok_output;

/** A word whose tokens are known: where they lie in `known`. */
typedef struct adzi_tok_entry {
    uint64_t hash;
    uint32_t word, size;    /* its bytes in `words`; a size of 0 is an empty entry */
    uint32_t pieces, count; /* in `known` */
} adzi_tok_entry;

typedef struct adzi_tok_symbol {
    int32_t id;
    uint32_t size;      /* bytes of the word */
    int32_t prev, next; /* -1 at the ends */
} adzi_tok_symbol;

/** A merge that may be done: its rank, and the position of its first symbol. */
typedef struct adzi_tok_candidate {
    uint32_t rank, at;
    int32_t id;
} adzi_tok_candidate;

/** Working memory. A cache of words makes repeated ones fast; it changes no result. */
typedef struct adzi_tok_scratch {
    adzi_tok_bytes repaired; /* the caller's text with U+FFFD for what is not UTF-8 */
    adzi_tok_span *repaired_spans;
    size_t repaired_room;
    adzi_tok_making normal[2]; /* normalizers */
    adzi_tok_making split[2];  /* pre-tokenizers that change the text */
    adzi_tok_symbol *symbols;
    size_t symbols_room;
    uint32_t *ranks; /* of pairs in a short word */
    size_t ranks_room;
    adzi_tok_candidate *heap;
    size_t heap_n, heap_room;
    adzi_tok_bytes spelled; /* a symbol with its prefix and suffix */
    adzi_tok_piece *pieces; /* of the last word that was not in the cache */
    size_t n_pieces, pieces_room;
    adzi_tok_entry *entries; /* the cache */
    size_t n_entries;
    adzi_tok_bytes words;
    adzi_tok_piece *known;
    size_t n_known, known_room;
    adzi_tok_output output;
} adzi_tok_scratch;

/** Takes working memory that no other call has; NULL with the error recorded. */
adzi_tok_scratch *adzi_tok_borrow(adzi_tok *t);

/** Gives it back. */
void adzi_tok_return(adzi_tok *t, adzi_tok_scratch *scratch);

void adzi_tok_scratch_free(adzi_tok_scratch *scratch);

/** A call. */
typedef struct adzi_tok_run {
    const adzi_tok *t;
    adzi_tok_scratch *scratch;
    bool aligned; /* offsets are asked for */
    adzi_tok_output *output;
} adzi_tok_run;

/** Appends a token. False with the error recorded. */
static inline bool adzi_tok_emit(const adzi_tok_run *run, int32_t id, adzi_tok_span span)
{
    adzi_tok_output *to = run->output;
    if (!adzi_tok_reserve(&to->ids, &to->room, to->n + 1, sizeof *to->ids) ||
        (run->aligned &&
            !adzi_tok_reserve(&to->spans, &to->spans_room, to->n + 1, sizeof *to->spans))) {
        return false;
    }
    if (run->aligned) {
        to->spans[to->n] = span;
    }
    to->ids[to->n++] = id;
    return true;
}

#endif
