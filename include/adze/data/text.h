/**
 * @file text.h
 * Pieces of text, reading and writing of UTF-8, and classes of characters by Unicode. Nothing here
 * depends on the locale.
 *
 * A character is a code point of Unicode, 0 to 0x10ffff.
 */
#ifndef ADZE_DATA_TEXT_H
#define ADZE_DATA_TEXT_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A piece of text, borrowed. */
typedef struct adz_text {
    const char *bytes; /**< UTF-8, zeros allowed; may be NULL when size is 0 */
    size_t size;       /**< bytes */
} adz_text;

/** U+FFFD, which stands for bytes that are not UTF-8. */
#define ADZ_UTF8_REPLACEMENT 65533

/**
 * Reads a character of a text.
 *
 * @param text    UTF-8. A byte that begins no character of it is read as U+FFFD
 * @param offset  the byte at which the character begins; moved behind the character
 * @return        the character; 0 at the end of the text, where the offset stays as it is
 */
ADZ_API uint32_t adz_utf8_next(adz_text text, size_t *offset);

/**
 * Writes a character as UTF-8.
 *
 * @param point   a character. Other numbers are written as U+FFFD
 * @param buffer  receives the bytes, or nothing if they do not fit; may be NULL when size is 0
 * @param size    bytes of buffer; 4 are enough for every character
 * @return        how many bytes the character has, 1 to 4
 */
ADZ_API size_t adz_utf8_write(uint32_t point, char *buffer, size_t size);

/**
 * Whether a character is white space.
 *
 * @param point  any number
 * @return       false for what is no character
 * @see          str.isspace of Python
 */
ADZ_API bool adz_character_is_space(uint32_t point);

/**
 * Whether a character is a letter or a digit.
 *
 * @param point  any number
 * @return       false for what is no character
 * @see          str.isalnum of Python
 */
ADZ_API bool adz_character_is_alphanumeric(uint32_t point);

/**
 * Whether a character is a mark on the character before it, such as an accent.
 *
 * @param point  any number
 * @return       false for what is no character
 */
ADZ_API bool adz_character_is_mark(uint32_t point);

/**
 * Whether a character is a capital.
 *
 * @param point  any number
 * @return       false for what is no character
 * @see          str.isupper of Python
 */
ADZ_API bool adz_character_is_upper(uint32_t point);

/**
 * Whether a character is a small letter.
 *
 * @param point  any number
 * @return       false for what is no character
 * @see          str.islower of Python
 */
ADZ_API bool adz_character_is_lower(uint32_t point);

/**
 * The lower case of a character.
 *
 * @param point  any number
 * @return       the character itself if it has no lower case, or one of several characters
 * @see          str.lower of Python
 */
ADZ_API uint32_t adz_character_to_lower(uint32_t point);

#ifdef __cplusplus
}
#endif

#endif
