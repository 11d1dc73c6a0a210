/* Reads decimal numbers. Short numbers are converted here; strtod_l converts the rest. */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

bool adzi_number_begin(adzi_number_reader *reader)
{
    *reader = (adzi_number_reader){ newlocale(LC_ALL_MASK, "C", (locale_t)0), NULL, 0 };
    return reader->locale != (locale_t)0;
}

void adzi_number_end(adzi_number_reader *reader)
{
    adzi_free(reader->copy, reader->capacity);
    freelocale(reader->locale);
}

bool adzi_same_word(const char *text, size_t length, const char *word)
{
    for (size_t i = 0; i < length; ++i) {
        char lower = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (word[i] == '\0' || lower != word[i]) {
            return false;
        }
    }
    return word[length] == '\0';
}

/* A decimal number in parts: (-1)^negative * mantissa * 10^exponent. Of a longer number the
 * mantissa has the first 18 digits, and is above 2^53 therefore. */
typedef struct parts {
    bool negative;
    uint64_t mantissa;
    int exponent;
} parts;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits with at most one point. Returns where they end, or NULL if there is no digit. */
static const char *scan_digits(const char *at, const char *end, parts *p)
{
    int digits = 0, significant = 0;
    bool point = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !point)); ++at) {
        if (*at == '.') {
            point = true;
            continue;
        }
        ++digits;
        significant += significant > 0 || *at != '0' ? 1 : 0;
        if (significant <= 18) {
            p->mantissa = p->mantissa * 10 + (uint64_t)(*at - '0');
            p->exponent -= point ? 1 : 0;
        }
    }
    return digits > 0 ? at : NULL;
}

/* Reads an exponent such as "e-5" if there is one. Returns where it ends, or NULL if the text ends
 * after the "e" or the sign. */
static const char *scan_exponent(const char *at, const char *end, parts *p)
{
    if (at == end || (*at != 'e' && *at != 'E')) {
        return at;
    }
    ++at;
    bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+') ? 1 : 0;
    if (at == end) {
        return NULL;
    }
    int exponent = 0;
    for (; at < end && is_digit(*at); ++at) {
        exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    }
    p->exponent += negative ? -exponent : exponent;
    return at;
}

/* Fast path. If a double holds the mantissa exactly, and another the power of ten, one
 * multiplication or division gives the nearest double, because it rounds once. */
static bool quick(const parts *p, double *value)
{
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (p->mantissa > (uint64_t)1 << 53 || p->exponent < -22 || p->exponent > 22) {
        return false;
    }
    double m = (double)p->mantissa;
    m = p->exponent < 0 ? m / powers[-p->exponent] : m * powers[p->exponent];
    *value = p->negative ? -m : m;
    return true;
}

/* Reads "inf" and "infinity" in any case. */
static adzi_number_result infinite(const char *text, size_t length, bool negative, double *value)
{
    if (!adzi_same_word(text, length, "inf") && !adzi_same_word(text, length, "infinity")) {
        return ADZI_NUMBER_NONE;
    }
    *value = negative ? -INFINITY : INFINITY;
    return ADZI_NUMBER_OK;
}

adzi_number_result adzi_number_read(
    adzi_number_reader *reader, const char *text, size_t length, double *value)
{
    const char *at = text, *end = text + length;
    parts p = { .negative = length > 0 && *text == '-' };
    at += length > 0 && (*text == '-' || *text == '+') ? 1 : 0;
    const char *after = scan_digits(at, end, &p);
    if (after == NULL) {
        return infinite(at, (size_t)(end - at), p.negative, value);
    }
    after = scan_exponent(after, end, &p);
    if (after != end) {
        return ADZI_NUMBER_NONE;
    }
    if (quick(&p, value)) {
        return ADZI_NUMBER_OK;
    }
    if (!adzi_grow(&reader->copy, &reader->capacity, length + 1, 1)) {
        return ADZI_NUMBER_NO_MEMORY;
    }
    memcpy(reader->copy, text, length);
    reader->copy[length] = '\0';
    *value = strtod_l(reader->copy, NULL, reader->locale);
    return isinf(*value) ? ADZI_NUMBER_TOO_LARGE : ADZI_NUMBER_OK;
}
