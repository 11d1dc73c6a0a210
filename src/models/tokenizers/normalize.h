/* Normalizers. */
#ifndef ADZI_MODELS_TOKENIZERS_NORMALIZE_H
#define ADZI_MODELS_TOKENIZERS_NORMALIZE_H

#include "parts.h"

/** Normalizes a text. The result lies in one of the two makings, or is the text itself. Its `bytes`
 * are NULL, with the error recorded, if memory was refused. */
adzi_tok_text adzi_tok_normalize(const adzi_tok *t, adzi_tok_text text, adzi_tok_making makings[2]);

#endif
