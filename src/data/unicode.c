/* Reading and writing UTF-8, and look-ups in generated/unicode_tables.h. */
#include "data/unicode.h"

#include <string.h>

/* The code points first, first + step, ..., last. */
typedef struct point_run {
    uint32_t first, last, step;
} point_run;

/* Code points whose lower case is `delta` higher. */
typedef struct case_run {
    uint32_t first, last, step;
    int32_t delta;
} case_run;

#include "data/generated/unicode_tables.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

/* Whether the second byte of a character may follow the first. It shows overlong forms, surrogates
 * and code points above U+10FFFF. */
static bool second_fits(unsigned char first, unsigned char second)
{
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

int adzi_utf8_read(const char *at, size_t left, uint32_t *point)
{
    unsigned char first = (unsigned char)at[0];
    if (first < 0x80) {
        *point = first;
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return -1;
    }
    int bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    *point = first & (0xffu >> (bytes + 1));
    for (int i = 1; i < bytes; ++i) {
        if ((size_t)i == left) {
            return 0;
        }
        unsigned char next = (unsigned char)at[i];
        if ((next & 0xc0u) != 0x80u || (i == 1 && !second_fits(first, next))) {
            return -1;
        }
        *point = *point << 6 | (next & 0x3fu);
    }
    return bytes;
}

uint32_t adzi_utf8_next(const char **at, const char *end)
{
    uint32_t point = 0;
    *at += adzi_utf8_read(*at, (size_t)(end - *at), &point);
    return point;
}

uint32_t adzi_utf8_before(const char *begin, const char *at)
{
    const char *start = at - 1;
    while (start > begin && ((unsigned char)*start & 0xc0u) == 0x80u) {
        --start;
    }
    return adzi_utf8_next(&start, at);
}

size_t adzi_utf8_write(uint32_t point, char to[4])
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    size_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i > 1; --i, point >>= 6) {
        to[i - 1] = (char)(unsigned char)(0x80u | (point & 0x3fu));
    }
    to[0] = (char)(unsigned char)((0xf00u >> bytes & 0xffu) | point);
    return bytes;
}

size_t adzi_utf8_valid(const char *text, size_t size)
{
    uint32_t point;
    for (size_t at = 0; at < size;) {
        int bytes = adzi_utf8_read(text + at, size - at, &point);
        if (bytes <= 0) {
            return at;
        }
        at += (size_t)bytes;
    }
    return size;
}

static bool put_replacement(const adzi_utf8_repairing *r)
{
    char bytes[4];
    return r->put(r->to, (adz_text){ bytes, adzi_utf8_write(ADZ_UTF8_REPLACEMENT, bytes) });
}

/* Takes one byte while a character is incomplete, or that begins or breaks one. */
static bool repair_byte(adzi_utf8_repairing *r, char byte)
{
    uint32_t point;
    bool good = true;
    r->held[r->n_held++] = byte;
    int whole = adzi_utf8_read(r->held, r->n_held, &point);
    if (whole < 0 && r->n_held > 1) { /* what was held stays incomplete; this byte begins anew */
        good = put_replacement(r);
        r->held[0] = byte;
        r->n_held = 1;
        whole = adzi_utf8_read(r->held, 1, &point);
    }
    if (whole < 0) {
        good = good && put_replacement(r);
    } else if (whole > 0) {
        good = good && r->put(r->to, (adz_text){ r->held, r->n_held });
    }
    r->n_held = whole == 0 ? r->n_held : 0;
    return good;
}

bool adzi_utf8_repair(adzi_utf8_repairing *r, adz_text piece)
{
    bool good = true;
    for (size_t i = 0; i < piece.size && good;) {
        const size_t whole = r->n_held > 0 ? 0 : adzi_utf8_valid(piece.bytes + i, piece.size - i);
        if (whole > 0) {
            good = r->put(r->to, (adz_text){ piece.bytes + i, whole });
            i += whole;
        } else {
            good = repair_byte(r, piece.bytes[i++]);
        }
    }
    return good;
}

bool adzi_utf8_repair_end(adzi_utf8_repairing *r)
{
    const bool good = r->n_held == 0 || put_replacement(r);
    r->n_held = 0;
    return good;
}

/* ---- classes of characters ------------------------------------------------------------------ */

/* Whether a code point is in one of n runs, which are sorted. */

static bool is_member(const point_run *runs, size_t n, uint32_t point)
{
    size_t low = 0, high = n; /* the first run that ends at the point or after it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (runs[middle].last < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && runs[low].first <= point && (point - runs[low].first) % runs[low].step == 0;
}

#define IS_MEMBER(runs, point) (is_member(runs, sizeof(runs) / sizeof *(runs), point))

bool adzi_is_space(uint32_t point)
{
    return (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x20) || point == 0x85 ||
           point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
           point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f ||
           point == 0x3000;
}

bool adzi_is_alphanumeric(uint32_t point)
{
    if (point < 0x80) {
        return (point >= '0' && point <= '9') || adzi_is_upper(point) || adzi_is_lower(point);
    }
    return IS_MEMBER(alphanumerics, point);
}

bool adzi_is_mark(uint32_t point)
{
    return point >= 0x80 && IS_MEMBER(marks, point);
}

bool adzi_is_upper(uint32_t point)
{
    return point < 0x80 ? point >= 'A' && point <= 'Z' : IS_MEMBER(uppers, point);
}

bool adzi_is_lower(uint32_t point)
{
    return point < 0x80 ? point >= 'a' && point <= 'z' : IS_MEMBER(lowers, point);
}

uint32_t adzi_to_lower(uint32_t point)
{
    if (point < 0x80) {
        return adzi_is_upper(point) ? point + ('a' - 'A') : point;
    }
    for (size_t i = 0; i < sizeof lowered / sizeof *lowered && lowered[i].first <= point; ++i) {
        if (point <= lowered[i].last && (point - lowered[i].first) % lowered[i].step == 0) {
            return (uint32_t)((int32_t)point + lowered[i].delta);
        }
    }
    return point;
}

/* ---- public functions ----------------------------------------------------------------------- */

static bool is_point(uint32_t point)
{
    return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

uint32_t adz_utf8_next(adz_text text, size_t *offset)
{
    if (offset == NULL || text.bytes == NULL || *offset >= text.size) {
        return 0;
    }
    uint32_t point;
    const int bytes = adzi_utf8_read(text.bytes + *offset, text.size - *offset, &point);
    *offset += bytes > 0 ? (size_t)bytes : 1;
    return bytes > 0 ? point : ADZ_UTF8_REPLACEMENT;
}

size_t adz_utf8_write(uint32_t point, char *buffer, size_t size)
{
    char bytes[4];
    const size_t n = adzi_utf8_write(is_point(point) ? point : ADZ_UTF8_REPLACEMENT, bytes);
    if (buffer != NULL && n <= size) {
        memcpy(buffer, bytes, n);
    }
    return n;
}

bool adz_character_is_space(uint32_t point)
{
    return adzi_is_space(point);
}

bool adz_character_is_alphanumeric(uint32_t point)
{
    return adzi_is_alphanumeric(point);
}

bool adz_character_is_mark(uint32_t point)
{
    return adzi_is_mark(point);
}

bool adz_character_is_upper(uint32_t point)
{
    return adzi_is_upper(point);
}

bool adz_character_is_lower(uint32_t point)
{
    return adzi_is_lower(point);
}

uint32_t adz_character_to_lower(uint32_t point)
{
    return adzi_to_lower(point);
}
