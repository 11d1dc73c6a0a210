/**
 * @file tokenizer.h
 * Tokenizers: they turn text into numbers and back, by characters, bytes or words, or as a type of
 * your own says (adze/data/tokenizer_type.h).
 *
 * @code
 * const adz_text texts[] = { { "to be or not to be", 18 } };
 * adz_tokenizer *letters = adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, texts, 1, NULL);
 * adz_tensor *ids = adz_tokenizer_encode(letters, "bet", 3); // ids[3], i64
 * char back[8];
 * adz_tokenizer_decode(letters, ids, back, sizeof back); // "bet"
 * adz_tokenizer_free(&letters);
 * @endcode
 */
#ifndef ADZE_DATA_TOKENIZER_H
#define ADZE_DATA_TOKENIZER_H

#include "adze/data/text.h"
#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Cuts text into tokens and numbers them. It never changes, so several threads may use it. */
typedef struct adz_tokenizer adz_tokenizer;

/** The kind of a vocabulary's tokens. */
typedef enum adz_token_kind {
    ADZ_TOKENS_CHARACTERS = 0, /**< a code point of UTF-8 */
    ADZ_TOKENS_BYTES = 1,      /**< a byte; its value is its number */
    ADZ_TOKENS_WORDS = 2,      /**< a word or a sign */
    ADZ_TOKENS_OTHER = 3       /**< tokens of another type (adze/data/tokenizer_type.h) */
} adz_token_kind;

/** The numbers of the special tokens in a vocabulary that has them. */
typedef enum adz_special_token {
    ADZ_XXUNK = 0, /**< stands for a token outside the vocabulary */
    ADZ_XXPAD = 1, /**< fills short rows of a batch */
    ADZ_XXBOS = 2, /**< a text begins */
    ADZ_XXEOS = 3, /**< a text ends */
    ADZ_XXFLD = 4, /**< a field begins; its number follows */
    ADZ_XXMAJ = 5, /**< the next word begins with a capital */
    ADZ_XXUP = 6,  /**< the next word is all capitals */
    ADZ_XXREP = 7, /**< the next word is a count, and the word after it a repeated character */
    ADZ_XXWREP = 8 /**< the next word is a count, and the word after it a repeated word */
} adz_special_token;

/**
 * Takes a piece of text over. Rules call it with what they have written.
 *
 * @param to    as the rules got it
 * @param text  copied
 * @return      false if memory was refused; the rules then return false at once
 */
typedef bool (*adz_token_put)(void *to, adz_text text);

/**
 * Rules for tokenizers of words, such as adz_fastai_token_rules of libadze-zoo. Encoding a text
 * gives the tokens of the training only if both use the same rules, so the file of a tokenizer has
 * the name of its rules.
 *
 * Both functions give the same result for the same text, at any time and on any thread. They
 * return true, or false after `put` returned false or after a failure, for which they may record an
 * error. They return to their caller; a jump or an exception out of them leaves memory allocated.
 */
typedef struct adz_token_rules {
    size_t size;      /**< sizeof(adz_token_rules) */
    const char *name; /**< in files: 1 to 63 letters, digits, '-', '_' and '.' */

    /** Rewrites a text before it is split into words: `put` gets the new text, in one or several
     * pieces that together are UTF-8. NULL: texts stay as they are. */
    bool (*on_text)(adz_text text, adz_token_put put, void *to);

    /** Rewrites a word: `put` gets the tokens that stand for it, each of them UTF-8 and not empty.
     * Tokens such as "xxmaj" stand for special tokens. NULL: words stay as they are. */
    bool (*on_word)(adz_text word, adz_token_put put, void *to);
} adz_token_rules;

/** Options of adz_tokenizer_build. Start from ADZ_TOKENIZER_OPTIONS. */
typedef struct adz_tokenizer_options {
    size_t size;         /**< sizeof(adz_tokenizer_options) */
    int64_t max_vocab;   /**< the most tokens, special ones included, 9 or more; 60000. It has an
                            effect only in a vocabulary with xxunk */
    int64_t min_freq;    /**< how often a token must occur, 1 or more; 2. It has an effect only in
                            a vocabulary with xxunk */
    bool special_tokens; /**< characters: whether the vocabulary begins with the special tokens, so
                            that unknown characters become xxunk and are no error; false. Words
                            always have special tokens, bytes never */
    const adz_token_rules *rules; /**< words: rules that stay as long as the tokenizer does; NULL
                                     for none */
    bool include_bos;             /**< words: whether each text begins with xxbos; true */
    bool include_eos;             /**< words: whether each text ends with xxeos; false */
    bool mark_fields; /**< words: whether each field begins with xxfld and its number; false */
    size_t n_fields;  /**< how many consecutive texts are the fields of one text; 1 */
} adz_tokenizer_options;

/** The defaults. */
#define ADZ_TOKENIZER_OPTIONS                                                                    \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_tokenizer_options)), ADZ_MEMBER(max_vocab, 60000),           \
            ADZ_MEMBER(min_freq, 2), ADZ_MEMBER(special_tokens, false), ADZ_MEMBER(rules, NULL), \
            ADZ_MEMBER(include_bos, true), ADZ_MEMBER(include_eos, false),                       \
            ADZ_MEMBER(mark_fields, false), ADZ_MEMBER(n_fields, 1)                              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_tokenizer_options) as the caller knows it
 */
ADZ_API void adz_tokenizer_options_init(adz_tokenizer_options *options, size_t size);

/* ---- making and keeping ------------------------------------------------------------------- */

/**
 * Builds a vocabulary.
 *
 * Characters are numbered in the order of their code points. Bytes are their own numbers. Words
 * come after the special tokens, the most frequent word first. Equally frequent words stand in the
 * order of their first occurrence.
 *
 * White space separates words, but the end of a line is a token. Letters, digits, marks and _ form
 * words. A . or , between two digits belongs to the number. An apostrophe between letters begins a
 * token. If only t follows it, the n before it belongs to that token ("it's" is it 's, "don't" is
 * do n't). A run of one other character is a token. With `rules`, a text is rewritten before it is
 * split, and each word after that.
 *
 * @param kind     the kind of the tokens
 * @param texts    n texts; not needed for bytes
 * @param n        0 or more, a multiple of n_fields
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_tokenizer_free; or NULL
 * @errors         ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (an option; texts without a character);
 *                 ADZ_ERR_FORMAT (invalid UTF-8; the message gives the offset of the byte; or rules
 *                 that wrote no UTF-8 or an empty token); ADZ_ERR_MEMORY; errors of the rules
 * @see            Vocab.create of fastai
 */
ADZ_API adz_tokenizer *adz_tokenizer_build(
    adz_token_kind kind, const adz_text *texts, size_t n, const adz_tokenizer_options *options);

/**
 * Ends a tokenizer.
 *
 * @param tokenizer  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_tokenizer_free(adz_tokenizer **tokenizer);

/**
 * Writes a tokenizer to a file, atomically. A tokenizer of another type writes what that type says;
 * adz_tokenizer_load reads adze's own kinds.
 *
 * The first line names the kind. A line for each token follows, in the order of their numbers. A
 * control character, or a byte that is no UTF-8, is written as \\xhh, and a backslash twice.
 *
 * @param tokenizer  any
 * @param path       replaced if it exists
 * @return           ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_UNSUPPORTED (a type that cannot be written),
 *                   ADZ_ERR_IO or ADZ_ERR_MEMORY; after a failure the old file is unchanged
 */
ADZ_API adz_status adz_tokenizer_save(const adz_tokenizer *tokenizer, const char *path);

/**
 * Reads a tokenizer from a file.
 *
 * @param path   a file that adz_tokenizer_save wrote
 * @param rules  the rules that the file names, which stay as long as the tokenizer does; a file
 *               that names none does without. NULL: only such a file is read
 * @return       yours, end it with adz_tokenizer_free; or NULL
 * @errors       ADZ_ERR_NULL; ADZ_ERR_IO; ADZ_ERR_FORMAT (the message gives the line);
 *               ADZ_ERR_ARGUMENT (the file names other rules); ADZ_ERR_MEMORY
 */
ADZ_API adz_tokenizer *adz_tokenizer_load(const char *path, const adz_token_rules *rules);

/**
 * The bytes of a tokenizer's file.
 *
 * @param tokenizer  any
 * @return           y[bytes] u8, without a zero at its end; borrowed from the scope, or NULL
 * @errors           ADZ_ERR_NULL, ADZ_ERR_UNSUPPORTED (a type that cannot be written),
 *                   ADZ_ERR_STATE (in a function that a plan captures), ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_tokenizer_to_memory(const adz_tokenizer *tokenizer);

/**
 * Reads a tokenizer from memory.
 *
 * @param bytes  the bytes that adz_tokenizer_to_memory gave
 * @param size   number of bytes
 * @param rules  as adz_tokenizer_load takes it
 * @return       yours, end it with adz_tokenizer_free; or NULL
 * @errors       ADZ_ERR_NULL; ADZ_ERR_FORMAT (the message gives the line); ADZ_ERR_ARGUMENT (the
 *               bytes name other rules); ADZ_ERR_MEMORY
 */
ADZ_API adz_tokenizer *adz_tokenizer_from_memory(
    const void *bytes, size_t size, const adz_token_rules *rules);

/* ---- what it is --------------------------------------------------------------------------- */

/**
 * The kind of a tokenizer's tokens.
 *
 * @param tokenizer  any
 * @return           its kind, ADZ_TOKENS_OTHER for one that adz_tokenizer_build does not make;
 *                   ADZ_TOKENS_CHARACTERS with ADZ_ERR_NULL recorded
 */
ADZ_API adz_token_kind adz_tokenizer_kind(const adz_tokenizer *tokenizer);

/**
 * The number of tokens in the vocabulary.
 *
 * @param tokenizer  any
 * @return           V, 1 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_tokenizer_count(const adz_tokenizer *tokenizer);

/**
 * Whether the vocabulary begins with the special tokens.
 *
 * @param tokenizer  any
 * @return           false when tokenizer is NULL
 */
ADZ_API bool adz_tokenizer_has_special(const adz_tokenizer *tokenizer);

/**
 * The text of a token.
 *
 * @param tokenizer  any
 * @param id         0 .. V-1
 * @return           borrowed from the tokenizer; { NULL, 0 } with ADZ_ERR_NULL or ADZ_ERR_INDEX
 *                   recorded
 */
ADZ_API adz_text adz_tokenizer_token(const adz_tokenizer *tokenizer, int64_t id);

/**
 * The number of a token.
 *
 * @param tokenizer  any
 * @param token      its text
 * @return           0 .. V-1; -1, without an error, when the vocabulary has no such token
 */
ADZ_API int64_t adz_tokenizer_id(const adz_tokenizer *tokenizer, adz_text token);

/* ---- there and back ----------------------------------------------------------------------- */

/**
 * Turns text into numbers.
 *
 * @param tokenizer  any
 * @param text       UTF-8 (bytes: anything); may be NULL when size is 0
 * @param size       bytes of text
 * @return           ids[T] i64, borrowed from the scope; or NULL
 * @errors           ADZ_ERR_NULL; ADZ_ERR_FORMAT (invalid UTF-8) and ADZ_ERR_ARGUMENT (an unknown
 *                   character, and the vocabulary has no xxunk), whose messages give the offset of
 *                   the byte; ADZ_ERR_MEMORY; errors of the rules
 */
ADZ_API adz_tensor *adz_tokenizer_encode(
    const adz_tokenizer *tokenizer, const char *text, size_t size);

/**
 * Turns one text that consists of several fields into numbers.
 *
 * @param tokenizer  any
 * @param fields     n fields; for words, a space is put between two fields
 * @param n          0 or more
 * @return           ids[T] i64, borrowed from the scope; or NULL
 * @errors           ADZ_ERR_NULL; ADZ_ERR_FORMAT (invalid UTF-8) and ADZ_ERR_ARGUMENT (an unknown
 *                   character, and the vocabulary has no xxunk), whose messages give the offset of
 *                   the byte; ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_tokenizer_encode_fields(
    const adz_tokenizer *tokenizer, const adz_text *fields, size_t n);

/**
 * Turns numbers into text. Characters and bytes give the original text. Words are joined by spaces,
 * and special tokens are written by their names.
 *
 * @param tokenizer  any
 * @param ids        integers of any shape, each 0 .. V-1
 * @param buffer     receives the text, cut to fit and always terminated; may be NULL when size is 0
 * @param size       bytes of buffer
 * @return           the length of the whole text without its terminator; 0 with ADZ_ERR_NULL,
 *                   ADZ_ERR_DTYPE, ADZ_ERR_INDEX or ADZ_ERR_MEMORY recorded, or for an empty text
 */
ADZ_API size_t adz_tokenizer_decode(
    const adz_tokenizer *tokenizer, const adz_tensor *ids, char *buffer, size_t size);

/** Turns numbers into text one at a time. It gives out complete characters of UTF-8 only. */
typedef struct adz_token_stream adz_token_stream;

/**
 * Makes a stream, at the beginning of a text.
 *
 * @param tokenizer  must outlive the stream
 * @return           yours, end it with adz_token_stream_free; NULL with ADZ_ERR_NULL or
 *                   ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_token_stream *adz_token_stream_new(const adz_tokenizer *tokenizer);

/**
 * Ends a stream.
 *
 * @param stream  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_token_stream_free(adz_token_stream **stream);

/**
 * The text that one more token adds. Bytes are held back until their character is complete. Bytes
 * that cannot become a character are given as U+FFFD.
 *
 * @param stream  any
 * @param id      0 .. V-1
 * @return        borrowed until the next call for this stream, with a zero after its last byte; of
 *                size 0 when no character is complete yet; { NULL, 0 } with ADZ_ERR_NULL,
 *                ADZ_ERR_INDEX or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_text adz_token_stream_next(adz_token_stream *stream, int64_t id);

/**
 * Ends a text: gives what is held back, and sets the stream to the beginning of another text.
 *
 * @param stream  any
 * @return        U+FFFD for a character that stayed incomplete, or a text of size 0; borrowed until
 *                the next call for this stream; { NULL, 0 } with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                recorded
 */
ADZ_API adz_text adz_token_stream_end(adz_token_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
