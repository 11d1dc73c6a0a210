/* Folders of tokenizers without tokenizer.json. */
#ifndef ADZI_MODELS_TOKENIZERS_LEGACY_H
#define ADZI_MODELS_TOKENIZERS_LEGACY_H

#include "tokenizer.h"

/** Makes a tokenizer of a folder with vocab.txt, or with vocab.json and merges.txt. NULL with the
 * error recorded. */
adz_tokenizer *adzi_tok_legacy(
    const char *op, const char *folder, const adz_pretrained_tokenizer_options *options);

/** Reads a whole file. False with the error recorded. */
bool adzi_tok_read_file(const char *path, adzi_tok_bytes *to);

/** The path of a file in a folder, for adzi_tok_free; NULL with the error recorded. */
char *adzi_tok_path_in(const char *folder, const char *name);

/** Whether a folder has a file. */
bool adzi_tok_has(const char *folder, const char *name);

#endif
