/* Reads the fields of a CSV file as numbers, with the decimal mark and the separator of thousands
 * of the file. */
#include "data/csv_field.h"

#include <string.h>

#include "base/alloc.h"

bool adzi_csv_numbers_begin(adzi_csv_numbers *numbers, char decimal, char thousands)
{
    *numbers = (adzi_csv_numbers){ .decimal = decimal, .thousands = thousands };
    return adzi_number_begin(&numbers->reader);
}

void adzi_csv_numbers_end(adzi_csv_numbers *numbers)
{
    adzi_free(numbers->copy, numbers->capacity);
    adzi_number_end(&numbers->reader);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of the thousands separator at `at`, or 0 if there is none. A space may also be one of
 * the spaces that do not break a line, U+00A0 and U+202F. */
static size_t separator_at(const adzi_csv_numbers *numbers, const char *at, const char *end)
{
    static const char *const spaces[] = { "\xc2\xa0", "\xe2\x80\xaf" };
    if (numbers->thousands == '\0' || at == end) {
        return 0;
    }
    if (*at == numbers->thousands) {
        return 1;
    }
    for (size_t i = 0; numbers->thousands == ' ' && i < sizeof spaces / sizeof *spaces; ++i) {
        const size_t n = strlen(spaces[i]);
        if ((size_t)(end - at) >= n && memcmp(at, spaces[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* Copies the digits before the decimal separator without separators of thousands. Returns where
 * they end, or NULL if the groups are not of three digits, except for the first one. */
static const char *copy_groups(
    adzi_csv_numbers *numbers, const char *at, const char *end, size_t *used)
{
    size_t digits = 0, groups = 1;
    for (;;) {
        const size_t n = separator_at(numbers, at, end);
        if (n > 0) {
            if (digits == 0 || digits > 3 || (groups > 1 && digits != 3)) {
                return NULL;
            }
            digits = 0;
            ++groups;
            at += n;
        } else if (at < end && is_digit(*at)) {
            numbers->copy[(*used)++] = *at++;
            ++digits;
        } else {
            return groups > 1 && digits != 3 ? NULL : at;
        }
    }
}

adzi_number_result adzi_csv_number_read(
    adzi_csv_numbers *numbers, const char *text, size_t length, double *value)
{
    if (numbers->decimal == '.' && numbers->thousands == '\0') {
        return adzi_number_read(&numbers->reader, text, length, value);
    }
    if (!adzi_grow(&numbers->copy, &numbers->capacity, length + 1, 1)) {
        return ADZI_NUMBER_NO_MEMORY;
    }
    const char *at = text, *end = text + length;
    size_t used = 0;
    if (at < end && (*at == '-' || *at == '+')) {
        numbers->copy[used++] = *at++;
    }
    at = copy_groups(numbers, at, end, &used);
    if (at == NULL) {
        return ADZI_NUMBER_NONE;
    }
    if (at < end && *at == numbers->decimal) {
        numbers->copy[used++] = '.';
        ++at;
    } else if (at < end && *at == '.') {
        return ADZI_NUMBER_NONE;
    }
    /* What follows has neither separator. A point would be read as one. */
    for (; at < end; ++at) {
        if (*at == '.') {
            return ADZI_NUMBER_NONE;
        }
        numbers->copy[used++] = *at;
    }
    return adzi_number_read(&numbers->reader, numbers->copy, used, value);
}

bool adzi_csv_is_missing(const char *text, size_t length)
{
    static const char *const words[] = { "", "na", "n/a", "nan", "null", "none", "?", "#n/a", "#na",
        "#n/a n/a", "<na>", "nat", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan" };
    for (size_t i = 0; length <= 8 && i < sizeof words / sizeof *words; ++i) {
        if (adzi_same_word(text, length, words[i])) {
            return true;
        }
    }
    return false;
}
