/* The contents of CSV fields: missing values, and numbers as they are written in different
 * countries. */
#ifndef ADZI_DATA_CSV_FIELD_H
#define ADZI_DATA_CSV_FIELD_H

#include "base/number.h"

/** Reads the numbers of one table. */
typedef struct adzi_csv_numbers {
    adzi_number_reader reader;
    char decimal;   /* '.' or ',' */
    char thousands; /* between groups of three digits, or 0 */
    char *copy;     /* a field with a point and without groups */
    size_t capacity;
} adzi_csv_numbers;

/** Begins, adzi_csv_numbers_end ends. False if memory was refused. */
bool adzi_csv_numbers_begin(adzi_csv_numbers *numbers, char decimal, char thousands);
void adzi_csv_numbers_end(adzi_csv_numbers *numbers);

/**
 * adzi_number_read with the table's decimal and thousands separators. Separators must stand between
 * groups of exactly three digits before the decimal separator, so that "1.5" is no number and not
 * 15 if the thousands separator is a point.
 */
adzi_number_result adzi_csv_number_read(
    adzi_csv_numbers *numbers, const char *text, size_t length, double *value);

/** Whether a field stands for a missing value. Upper and lower case are equal. */
bool adzi_csv_is_missing(const char *text, size_t length);

#endif
