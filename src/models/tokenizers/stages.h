/* The stages of encoding: from a text to words, and from words to tokens. */
#ifndef ADZI_MODELS_TOKENIZERS_STAGES_H
#define ADZI_MODELS_TOKENIZERS_STAGES_H

#include "scratch.h"

/** Splits a normalized text by the pre-tokenizers and emits the tokens of its words. False with the
 * error recorded. */
bool adzi_tok_split(adzi_tok_run *run, const adzi_tok_text *text);

/** Emits the tokens of a word, the bytes begin .. end-1 of a text. False with the error
 * recorded. */
bool adzi_tok_word(adzi_tok_run *run, const adzi_tok_text *text, size_t begin, size_t end);

/** The tokens of a word that is not in the cache, to scratch->pieces. False with the error
 * recorded. */
bool adzi_tok_bpe(const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size);
bool adzi_tok_word_piece(
    const adzi_tok_model *m, adzi_tok_scratch *s, const char *word, size_t size);

/** Appends a token to scratch->pieces. */
static inline bool adzi_tok_add_piece(adzi_tok_scratch *s, int32_t id, size_t size)
{
    if (!adzi_tok_reserve(&s->pieces, &s->pieces_room, s->n_pieces + 1, sizeof *s->pieces)) {
        return false;
    }
    s->pieces[s->n_pieces++] = (adzi_tok_piece){ id, (uint32_t)size };
    return true;
}

/** Emits the tokens of one text: added tokens are looked for, the rest is normalized and split.
 * False with the error recorded. */
bool adzi_tok_run_text(adzi_tok_run *run, const char *bytes, size_t size);

#endif
