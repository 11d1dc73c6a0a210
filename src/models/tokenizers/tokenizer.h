/* What the files of the pretrained tokenizers' public functions share. */
#ifndef ADZI_MODELS_TOKENIZERS_TOKENIZER_H
#define ADZI_MODELS_TOKENIZERS_TOKENIZER_H

#include "adze/models/tokenizer.h"
#include "parts.h"

/** The type of pretrained tokenizers. */
extern const adz_tokenizer_type adzi_tok_type;

/** Makes a tokenizer from the bytes of tokenizer.json, which messages call `file`. NULL with the
 * error recorded. */
adz_tokenizer *adzi_tok_new(const char *op, const char *file, adz_text json,
    const adz_pretrained_tokenizer_options *options);

/** Whether a text is short enough. False with the error recorded. */
bool adzi_tok_check_size(const char *op, size_t size);

#endif
