/* Reads decimal numbers from text. The decimal point is a dot whatever the locale is. */
#ifndef ADZI_BASE_NUMBER_H
#define ADZI_BASE_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum adzi_number_result {
    ADZI_NUMBER_OK,
    ADZI_NUMBER_NONE,      /* the text is no number */
    ADZI_NUMBER_TOO_LARGE, /* larger than the largest double */
    ADZI_NUMBER_NO_MEMORY
} adzi_number_result;

/** The state of a reader. One reader serves all numbers of a file. */
typedef struct adzi_number_reader {
    locale_t locale; /* the C locale */
    char *copy;      /* a copy of the text with a 0 at its end, which strtod_l needs */
    size_t capacity;
} adzi_number_reader;

/** Begins a reader, which adzi_number_end ends. False if memory was refused. */
bool adzi_number_begin(adzi_number_reader *reader);
void adzi_number_end(adzi_number_reader *reader);

/**
 * Reads a number such as "-1.5e3", ".5", "2." or "inf". Spaces are not skipped.
 *
 * @param text    `length` characters, all of which belong to the number
 * @param value   receives the nearest double; 0 for numbers too small for one
 */
adzi_number_result adzi_number_read(
    adzi_number_reader *reader, const char *text, size_t length, double *value);

/** The text of a number with ten digits, or as many as are needed to read it again. Valid until the
 * thread has asked for 8 more texts. */
const char *adzi_text_python(double x);

/** Whether the text of `length` characters is `word`, which is in lower case. The case of the text
 * does not matter. */
bool adzi_same_word(const char *text, size_t length, const char *word);

#endif
