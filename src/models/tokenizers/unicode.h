/* Characters as the library `tokenizers` classifies and normalizes them. */
#ifndef ADZI_MODELS_TOKENIZERS_UNICODE_H
#define ADZI_MODELS_TOKENIZERS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code points first, and what they become: n points from `begin` of a list. */
typedef struct point_mapping {
    uint32_t point;
    uint16_t begin, n;
} point_mapping;

typedef struct point_class {
    uint32_t point;
    uint8_t value;
} point_class;

typedef struct point_pair {
    uint32_t first, second, joined;
} point_pair;

#include "generated/tokenizer_classes.h"

extern const uint32_t adzi_tok_class_flags[];
extern const uint8_t adzi_tok_class_index[];
extern const uint8_t adzi_tok_class_blocks[];

/** The classes of a character, CLASS_LETTER and so on, as bits. */
static inline uint32_t adzi_tok_class(uint32_t point)
{
    return adzi_tok_class_flags
        [adzi_tok_class_blocks[(size_t)adzi_tok_class_index[point >> 7] * 128 + (point & 127)]];
}

/** Reads a character of valid UTF-8 at `at`, and its bytes. */
static inline uint32_t adzi_tok_read(const char *text, size_t *bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) {
        *bytes = 1;
        return at[0];
    }
    if (at[0] < 0xe0) {
        *bytes = 2;
        return (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
    }
    if (at[0] < 0xf0) {
        *bytes = 3;
        return (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    }
    *bytes = 4;
    return (at[0] & 0x7u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
}

/** The bytes of the character that begins with this byte of valid UTF-8. */
static inline size_t adzi_tok_bytes_of(char first)
{
    const unsigned char byte = (unsigned char)first;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** Whether a byte of UTF-8 continues a character. */
static inline bool adzi_tok_continues(char byte)
{
    return ((unsigned char)byte & 0xc0u) == 0x80u;
}

/** The lower case of a character, by Rust's char::to_lowercase: n points, 0 if it stays. */
const uint32_t *adzi_tok_lowered(uint32_t point, size_t *n);

/** The full decomposition of a character, which is not Hangul: n points, 0 if it stays. */
const uint32_t *adzi_tok_decomposed(uint32_t point, bool compatible, size_t *n);

/** The canonical combining class. */
int adzi_tok_combining(uint32_t point);

/** The character that two characters compose to; 0 if they do not. */
uint32_t adzi_tok_composed(uint32_t first, uint32_t second);

#endif
