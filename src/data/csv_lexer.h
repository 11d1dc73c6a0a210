/* Fields of a CSV text, one after another. */
#ifndef ADZI_DATA_CSV_LEXER_H
#define ADZI_DATA_CSV_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adzi_csv_lexer {
    const char *at, *end;
    char delimiter;
    int64_t line;   /* of `at`, from 1 */
    char *unquoted; /* a field whose quotes were doubled */
    size_t capacity;
} adzi_csv_lexer;

typedef struct adzi_csv_field {
    const char *text; /* without quotes and, when there were none, without spaces around it */
    size_t length;
    int64_t line; /* where it begins */
    bool last;    /* of its line */
} adzi_csv_field;

typedef enum adzi_csv_found {
    ADZI_CSV_FIELD,
    ADZI_CSV_END, /* of the text, where a line could have begun */
    ADZI_CSV_OPEN_QUOTE,
    ADZI_CSV_AFTER_QUOTE, /* something stands between a closing quote and the delimiter */
    ADZI_CSV_NO_MEMORY
} adzi_csv_found;

/** Skips a byte order mark; nothing can fail. End with adzi_csv_lexer_end. */
void adzi_csv_lexer_begin(adzi_csv_lexer *lexer, const char *text, size_t size, char delimiter);
void adzi_csv_lexer_end(adzi_csv_lexer *lexer);

/** The first field of the next line that is not blank. */
adzi_csv_found adzi_csv_next_line(adzi_csv_lexer *lexer, adzi_csv_field *field);

/** The next field of the current line. Call it only if the field before was not the last one. */
adzi_csv_found adzi_csv_next_field(adzi_csv_lexer *lexer, adzi_csv_field *field);

#endif
