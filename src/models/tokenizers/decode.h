/* Decoders, and the alphabet of byte-level tokenizers. */
#ifndef ADZI_MODELS_TOKENIZERS_DECODE_H
#define ADZI_MODELS_TOKENIZERS_DECODE_H

#include "parts.h"

/** Appends the bytes that a token of a byte-level vocabulary stands for: its own if a character is
 * not of the alphabet. `*mapped` says which. False with the error recorded. */
bool adzi_tok_to_bytes(const char *token, size_t size, adzi_tok_bytes *to, bool *mapped);

/** The `decode` of the type of pretrained tokenizers. */
bool adzi_tok_decode(const adz_tokenizer *self, void *notes, const int64_t *ids, size_t n,
    bool last, adz_token_put put, void *to);

#endif
