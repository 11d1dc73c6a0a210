/* Look-ups in the tables that tools/tokenizer_tables.py writes. */
#include "unicode.h"

#include "generated/tokenizer_tables.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The first of n sorted rows of a character, or NULL. */
static const point_mapping *find(const point_mapping *rows, size_t n, uint32_t point)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (rows[middle].point < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && rows[low].point == point ? &rows[low] : NULL;
}

const uint32_t *adzi_tok_lowered(uint32_t point, size_t *n)
{
    const point_mapping *row = find(lowered, COUNT(lowered), point);
    *n = row != NULL ? row->n : 0;
    return row != NULL ? lowered_points + row->begin : NULL;
}

const uint32_t *adzi_tok_decomposed(uint32_t point, bool compatible_too, size_t *n)
{
    const point_mapping *row = compatible_too ? find(compatible, COUNT(compatible), point)
                                              : find(canonical, COUNT(canonical), point);
    *n = row != NULL ? row->n : 0;
    return row == NULL      ? NULL
           : compatible_too ? compatible_points + row->begin
                            : canonical_points + row->begin;
}

int adzi_tok_combining(uint32_t point)
{
    if ((adzi_tok_class(point) & CLASS_REORDERED) == 0) {
        return 0;
    }
    size_t low = 0, high = COUNT(combining_classes);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (combining_classes[middle].point < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return combining_classes[low].value;
}

enum { L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11a7, S_BASE = 0xac00 };
enum { L_COUNT = 19, V_COUNT = 21, T_COUNT = 28, S_COUNT = 11172 };

/* Hangul syllables are composed by arithmetic. */
static uint32_t composed_hangul(uint32_t first, uint32_t second)
{
    if (first >= L_BASE && first < L_BASE + L_COUNT && second >= V_BASE &&
        second < V_BASE + V_COUNT) {
        return S_BASE + ((first - L_BASE) * V_COUNT + second - V_BASE) * T_COUNT;
    }
    if (first >= S_BASE && first < S_BASE + S_COUNT && (first - S_BASE) % T_COUNT == 0 &&
        second > T_BASE && second < T_BASE + T_COUNT) {
        return first + second - T_BASE;
    }
    return 0;
}

uint32_t adzi_tok_composed(uint32_t first, uint32_t second)
{
    if ((adzi_tok_class(second) & CLASS_JOINS) == 0) {
        return 0;
    }
    const uint32_t syllable = composed_hangul(first, second);
    size_t low = 0, high = COUNT(compositions);
    while (syllable == 0 && low < high) {
        const size_t middle = (low + high) / 2;
        const point_pair *row = &compositions[middle];
        if (row->first == first && row->second == second) {
            return row->joined;
        }
        if (row->first < first || (row->first == first && row->second < second)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return syllable;
}
