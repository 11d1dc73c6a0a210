/**
 * @file tokenizer_type.h
 * Tokenizers of your own: the type, and the calls that make a tokenizer of it. Encoding, decoding,
 * streams, files and look-ups of adze/data/tokenizer.h work with them. adze's own kinds are written
 * in this way too.
 *
 * @code
 * // Letters a to z, numbered from 0. Everything else is left out.
 * static bool alphabet_encode(const char *op, const adz_tokenizer *self, const adz_text *fields,
 *     size_t n, adz_ids_put put, void *to)
 * {
 *     (void)op, (void)self;
 *     bool good = true;
 *     for (size_t i = 0; i < n; ++i) {
 *         for (size_t k = 0; k < fields[i].size && good; ++k) {
 *             const int64_t id = fields[i].bytes[k] - 'a';
 *             good = id < 0 || id > 25 || put(to, &id, 1);
 *         }
 *     }
 *     return good;
 * }
 *
 * static int64_t alphabet_count(const adz_tokenizer *self)
 * {
 *     (void)self;
 *     return 26;
 * }
 *
 * static adz_text alphabet_token(const adz_tokenizer *self, int64_t id)
 * {
 *     (void)self;
 *     return (adz_text){ "abcdefghijklmnopqrstuvwxyz" + id, 1 };
 * }
 *
 * static int64_t alphabet_id(const adz_tokenizer *self, adz_text token)
 * {
 *     (void)self;
 *     const char c = token.size == 1 ? *token.bytes : 0;
 *     return c >= 'a' && c <= 'z' ? c - 'a' : -1;
 * }
 *
 * static const adz_tokenizer_type alphabet_type = {
 *     .size = sizeof(adz_tokenizer_type),
 *     .name = "alphabet",
 *     .encode = alphabet_encode,
 *     .count = alphabet_count,
 *     .token = alphabet_token,
 *     .id = alphabet_id
 * };
 *
 * adz_tokenizer *alphabet = adz_tokenizer_new(&alphabet_type, 0);
 * adz_tensor *ids = adz_tokenizer_encode(alphabet, "to be", 5); // 19, 14, 1, 4
 * char back[8];
 * adz_tokenizer_decode(alphabet, ids, back, sizeof back); // "tobe"
 * adz_tokenizer_free(&alphabet);
 * @endcode
 */
#ifndef ADZE_DATA_TOKENIZER_TYPE_H
#define ADZE_DATA_TOKENIZER_TYPE_H

#include "adze/data/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Takes ids over. The `encode` of a type calls it with the ids in their order, any number at once.
 *
 * @param to   as `encode` got it
 * @param ids  n ids, copied
 * @param n    0 or more
 * @return     false if memory was refused; `encode` then returns false at once
 */
typedef bool (*adz_ids_put)(void *to, const int64_t *ids, size_t n);

/** The bytes that a type has for its notes while it decodes. */
#define ADZ_TOKENIZER_NOTES 64

/**
 * Describes a kind of tokenizers. Name the members that you set, as in .name = "alphabet"; the
 * others are zero then. The struct grows at its end.
 *
 * The functions give the same results for the same arguments, at any time and on any thread. They
 * return to their caller; a jump or an exception out of them leaves memory allocated. A function
 * that returns false has recorded an error, or `put` has returned false.
 */
typedef struct adz_tokenizer_type {
    size_t size;      /**< sizeof(adz_tokenizer_type) */
    const char *name; /**< for messages; stays as long as the tokenizers do */

    /** Turns one text into ids; it may be divided into n fields. `op` is the function that was
     * called, for errors. The bytes of a field may be anything, and NULL only if its size is 0. */
    bool (*encode)(const char *op, const adz_tokenizer *self, const adz_text *fields, size_t n,
        adz_ids_put put, void *to);

    /** The number of tokens, V. */
    int64_t (*count)(const adz_tokenizer *self);

    /** The text of the token `id`, 0 .. V-1, which lives as long as the tokenizer. A number that
     * no token has gives { NULL, 0 }. */
    adz_text (*token)(const adz_tokenizer *self, int64_t id);

    /** The number of a token, 0 .. V-1, or -1. */
    int64_t (*id)(const adz_tokenizer *self, adz_text token);

    /** Turns n more ids of a text, each 0 .. V-1, into bytes. `notes` has ADZ_TOKENIZER_NOTES
     * bytes, aligned for any type, which are zeros at the beginning of a text and are kept from
     * call to call. `last` says that no ids follow; then n may be 0. What a call has put stays
     * right whatever follows. NULL: the texts of the tokens, one after the other. */
    bool (*decode)(const adz_tokenizer *self, void *notes, const int64_t *ids, size_t n, bool last,
        adz_token_put put, void *to);

    /** Whether adz_tokenizer_decode writes U+FFFD for decoded bytes that are not UTF-8, as streams
     * do for every type. Otherwise it gives the bytes as they are. */
    bool replace_invalid;

    /** Gives the bytes of a file from which your program makes the tokenizer again. NULL: such
     * tokenizers cannot be written. */
    bool (*write)(const char *op, const adz_tokenizer *self, adz_token_put put, void *to);

    /** Ends what the state holds. NULL if there is nothing to end. */
    void (*end)(adz_tokenizer *self);
} adz_tokenizer_type;

/**
 * Makes a tokenizer of a type.
 *
 * @param type        stays as long as the tokenizer does; encode, count, token and id are needed
 * @param state_size  bytes of the tokenizer's own state, which start as zeros; 0 for none
 * @return            yours, end it with adz_tokenizer_free; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT (the message names what the type lacks), ADZ_ERR_STATE (in a
 *                    function that a plan captures) or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_tokenizer *adz_tokenizer_new(const adz_tokenizer_type *type, size_t state_size);

/**
 * A tokenizer's own state. Fill it before others see the tokenizer, which never changes afterwards.
 *
 * @param tokenizer  any
 * @return           state_size bytes that live as long as the tokenizer; NULL when there are none
 */
ADZ_API void *adz_tokenizer_data(const adz_tokenizer *tokenizer);

/**
 * The type of a tokenizer, adze's own kinds included.
 *
 * @param tokenizer  any
 * @return           as given to adz_tokenizer_new; NULL when tokenizer is NULL
 */
ADZ_API const adz_tokenizer_type *adz_tokenizer_type_of(const adz_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif

#endif
