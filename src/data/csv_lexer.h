/* Reads the fields of a CSV text, one after another. A field may be quoted. Lines end with LF, CRLF
 * or CR. */
#ifndef ADZI_DATA_CSV_LEXER_H
#define ADZI_DATA_CSV_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adzi_csv_lexer {
    const char *at, *end; /* the rest of the text */
    char delimiter;
    char comment;    /* begins a comment, which ends with the line; or 0 */
    int64_t line;    /* the number of the line at `at`, from 1 */
    char *unquoted;  /* a buffer for fields with doubled quotes */
    size_t capacity; /* bytes of `unquoted` */
} adzi_csv_lexer;

/** A field. It is valid until the next one is read. */
typedef struct adzi_csv_field {
    const char *text; /* without its quotes; without spaces around it if it was not quoted */
    size_t length;
    int64_t line; /* the number of the line in which it begins */
    bool last;    /* the field is the last one of its line */
} adzi_csv_field;

/** What was found instead of, or as, the next field. */
typedef enum adzi_csv_found {
    ADZI_CSV_FIELD,       /* a field */
    ADZI_CSV_END,         /* the end of the text; no further line begins */
    ADZI_CSV_OPEN_QUOTE,  /* a quoted field without a closing quote */
    ADZI_CSV_AFTER_QUOTE, /* a character between a closing quote and the delimiter */
    ADZI_CSV_NO_MEMORY    /* memory was refused */
} adzi_csv_found;

/** Begins at the start of a text, after a byte order mark if there is one. A first line "sep=;"
 * chooses the delimiter and is passed. It cannot fail. The text stays valid until
 * adzi_csv_lexer_end. */
void adzi_csv_lexer_begin(
    adzi_csv_lexer *lexer, const char *text, size_t size, char delimiter, char comment);
void adzi_csv_lexer_end(adzi_csv_lexer *lexer);

/** Reads the first field of the next line that is not blank. */
adzi_csv_found adzi_csv_next_line(adzi_csv_lexer *lexer, adzi_csv_field *field);

/** Reads the next field of the current line. Call it only if the field before was not the last one.
 */
adzi_csv_found adzi_csv_next_field(adzi_csv_lexer *lexer, adzi_csv_field *field);

#endif
