/* Decimal numbers from text, the same under every locale. */
#ifndef ADZI_BASE_NUMBER_H
#define ADZI_BASE_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum adzi_number_result {
    ADZI_NUMBER_OK,
    ADZI_NUMBER_NONE,      /* the text is no number */
    ADZI_NUMBER_TOO_LARGE, /* beyond the largest double */
    ADZI_NUMBER_NO_MEMORY
} adzi_number_result;

/** What parsing needs beside the text; begun once per table. */
typedef struct adzi_number_reader {
    locale_t locale;
    char *copy; /* strtod_l wants a terminated string */
    size_t capacity;
} adzi_number_reader;

/** False when memory was refused. */
bool adzi_number_begin(adzi_number_reader *reader);
void adzi_number_end(adzi_number_reader *reader);

/**
 * Reads "-1.5e3", ".5", "2.", "inf": the nearest double, underflowing to 0. Nothing may stand
 * around it.
 */
adzi_number_result adzi_number_read(
    adzi_number_reader *reader, const char *text, size_t length, double *value);

/** Whether the text is `word`, case aside. */
bool adzi_same_word(const char *text, size_t length, const char *word);

#endif
