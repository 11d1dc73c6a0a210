/* What a generation knows of each row: its tokens, its text, and whether it has ended. */
#ifndef ADZI_MODELS_GENERATE_ROWS_H
#define ADZI_MODELS_GENERATE_ROWS_H

#include "adze/models/generate.h"
#include "models.h"

typedef struct models_row {
    int64_t *ids; /* the tokens that count, of the prompt and new ones, with room for all */
    int64_t count, made;
    bool finished;
    adz_token_stream *stream; /* NULL without a tokenizer */
    char *text;               /* all that the row has given */
    size_t bytes, capacity;
} models_row;

/** Adds a token to the row, says whether it ends the row, and gives the text that it adds.
 * `is_last`: the row has no room for more. False with the error recorded. */
bool adzi_models_row_add(
    models_row *row, const adz_generate_options *o, int64_t id, bool is_last, adz_text *text);

/** Ends what a row has taken. */
void adzi_models_row_free(models_row *row);

#endif
