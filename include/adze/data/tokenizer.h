/**
 * @file tokenizer.h
 * Text as numbers and back: characters, bytes or words, behind one interface.
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

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Cuts text into tokens and numbers them. It does not change, so several threads may use it. */
typedef struct adz_tokenizer adz_tokenizer;

/** What a token is. */
typedef enum adz_token_kind {
    ADZ_TOKENS_CHARACTERS = 0, /**< a code point of UTF-8 */
    ADZ_TOKENS_BYTES = 1,      /**< a byte, whose number it is */
    ADZ_TOKENS_WORDS = 2       /**< a word or a sign, after fastai's rules */
} adz_token_kind;

/** A piece of text, borrowed. */
typedef struct adz_text {
    const char *bytes; /**< UTF-8, zeros allowed; may be NULL when size is 0 */
    size_t size;       /**< bytes */
} adz_text;

/** The numbers of the special tokens, where a vocabulary has them. */
typedef enum adz_special_token {
    ADZ_XXUNK = 0, /**< what is not in the vocabulary */
    ADZ_XXPAD = 1, /**< fills a batch up */
    ADZ_XXBOS = 2, /**< a text begins */
    ADZ_XXEOS = 3, /**< a text ends */
    ADZ_XXFLD = 4, /**< a field begins; its number follows */
    ADZ_XXMAJ = 5, /**< the next word begins with a capital */
    ADZ_XXUP = 6,  /**< the next word is all capitals */
    ADZ_XXREP = 7, /**< the character after the next word, as often as that word says */
    ADZ_XXWREP = 8 /**< likewise the word */
} adz_special_token;

/** How a vocabulary is built. Start from ADZ_TOKENIZER_OPTIONS. */
typedef struct adz_tokenizer_options {
    size_t size;         /**< sizeof(adz_tokenizer_options) */
    int64_t max_vocab;   /**< most tokens, special ones included, 9 or more; 60000. Heeded where
                            there is a token for what is unknown */
    int64_t min_freq;    /**< how often a token must come, 1 or more; 2. Heeded likewise */
    bool special_tokens; /**< characters: begin the vocabulary with the special tokens, and take
                            what is unknown for xxunk instead of refusing it; false. Words always
                            have them, bytes never */
    bool rules;          /**< words: fastai's rules before and after the splitting; true */
    bool include_bos;    /**< words: begin each text with xxbos; true */
    bool include_eos;    /**< words: end each text with xxeos; false */
    bool mark_fields;    /**< words: begin each field with xxfld and its number; false */
    size_t n_fields;     /**< so many consecutive texts are the fields of one; 1 */
} adz_tokenizer_options;

/** The defaults. */
#define ADZ_TOKENIZER_OPTIONS                                                       \
    {                                                                               \
        sizeof(adz_tokenizer_options), 60000, 2, false, true, true, false, false, 1 \
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
 * Characters are numbered in the order of their code points; bytes are their own numbers. Words
 * come after the special tokens, the most frequent first, and those equally frequent in the order
 * they first came.
 *
 * A text becomes words in this order. With the rules, first fastai's on the text: fix_html,
 * replace_rep (4 or more of one character become "xxrep 4 c"), replace_wrep (the same of words),
 * spec_add_spaces (around / # and ends of lines) and rm_useless_spaces. HTML references are HTML
 * 4's names and all numbers. Then the splitting, which is ours, where fastai has spaCy's: white
 * space separates, but the end of a line is a token; letters, digits, marks and _ form words; a .
 * or , between two digits belongs to the number; an apostrophe between letters begins a token, with
 * the n before it if it is followed by t alone ("it's" is it 's, "don't" is do n't); a run of one
 * other character is a token. Last fastai's rules on words: replace_all_caps (AB: xxup ab) and
 * deal_caps (Ab: xxmaj ab), after which all is lower case.
 *
 * @param kind     what a token is
 * @param texts    n of them; not needed for bytes
 * @param n        0 or more, a multiple of n_fields
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_tokenizer_free; or NULL
 * @errors         ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an option; texts without a character),
 * ADZ_ERR_MEMORY; ADZ_ERR_FORMAT (invalid UTF-8, with the offset of the byte)
 * @see            fastai.text.transform.Tokenizer, Vocab.create
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
 * Writes a tokenizer to a file, atomically: a line that says what it is, then a line for each
 * token, in the order of their numbers. Control characters, and bytes that are no UTF-8, stand as
 * \\xhh there, a backslash twice.
 *
 * @param tokenizer  any
 * @param path       replaced if it exists
 * @return           ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_IO or ADZ_ERR_MEMORY; after a failure the old
 *                   file is as it was
 */
ADZ_API adz_status adz_tokenizer_save(const adz_tokenizer *tokenizer, const char *path);

/**
 * Reads a tokenizer back.
 *
 * @param path  from adz_tokenizer_save
 * @return      yours, end it with adz_tokenizer_free; or NULL
 * @errors      ADZ_ERR_NULL, ADZ_ERR_IO, ADZ_ERR_MEMORY; ADZ_ERR_FORMAT (with the line)
 */
ADZ_API adz_tokenizer *adz_tokenizer_load(const char *path);

/**
 * What adz_tokenizer_save writes.
 *
 * @param tokenizer  any
 * @param buffer     receives the file, cut to fit; may be NULL when size is 0
 * @param size       bytes of buffer
 * @return           the length of the whole file; 0 with ADZ_ERR_NULL or ADZ_ERR_MEMORY recorded
 */
ADZ_API size_t adz_tokenizer_to_memory(const adz_tokenizer *tokenizer, char *buffer, size_t size);

/**
 * Reads a tokenizer from memory.
 *
 * @param bytes  what adz_tokenizer_to_memory wrote
 * @param size   how many
 * @return       as adz_tokenizer_load
 */
ADZ_API adz_tokenizer *adz_tokenizer_from_memory(const char *bytes, size_t size);

/* ---- what it is --------------------------------------------------------------------------- */

/**
 * What a token is.
 *
 * @param tokenizer  any
 * @return           its kind; ADZ_TOKENS_CHARACTERS with ADZ_ERR_NULL recorded
 */
ADZ_API adz_token_kind adz_tokenizer_kind(const adz_tokenizer *tokenizer);

/**
 * The number of tokens.
 *
 * @param tokenizer  any
 * @return           V, 1 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_tokenizer_size(const adz_tokenizer *tokenizer);

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
 * @return           0 .. V-1; -1, without an error, when there is none of that text
 */
ADZ_API int64_t adz_tokenizer_find(const adz_tokenizer *tokenizer, adz_text token);

/* ---- there and back ----------------------------------------------------------------------- */

/**
 * Turns text into numbers.
 *
 * @param tokenizer  any
 * @param text       UTF-8 (bytes: anything); may be NULL when size is 0
 * @param size       bytes of text
 * @return           ids[T] i64, borrowed from the scope; or NULL
 * @errors           ADZ_ERR_NULL, ADZ_ERR_MEMORY; ADZ_ERR_FORMAT (invalid UTF-8) and
 *                   ADZ_ERR_ARGUMENT (a character outside a vocabulary without xxunk), both with
 *                   the offset of the byte
 */
ADZ_API adz_tensor *adz_tokenizer_encode(
    const adz_tokenizer *tokenizer, const char *text, size_t size);

/**
 * adz_tokenizer_encode of one text that consists of several fields.
 *
 * @param tokenizer  any
 * @param fields     n of them; with words, a space comes between two
 * @param n          0 or more
 * @return           as adz_tokenizer_encode
 */
ADZ_API adz_tensor *adz_tokenizer_encode_fields(
    const adz_tokenizer *tokenizer, const adz_text *fields, size_t n);

/**
 * Turns numbers into text. Characters and bytes come back as they were; words are put together
 * with spaces, special tokens as they are.
 *
 * @param tokenizer  any
 * @param ids        integers of any shape, each 0 .. V-1
 * @param buffer     receives the text, cut to fit and always terminated; may be NULL when size is 0
 * @param size       bytes of buffer
 * @return           the length of the whole text without its terminator; 0 with ADZ_ERR_NULL,
 *                   ADZ_ERR_DTYPE, ADZ_ERR_INDEX or ADZ_ERR_MEMORY recorded, or for no text
 */
ADZ_API size_t adz_tokenizer_decode(
    const adz_tokenizer *tokenizer, const adz_tensor *ids, char *buffer, size_t size);

/** Turns numbers into text one at a time, so that what was given out is whole UTF-8. */
typedef struct adz_token_stream adz_token_stream;

/**
 * A stream at the beginning of a text.
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
 * The text that one more token adds. Bytes are held back until their character is whole; those
 * that cannot become one are given as U+FFFD.
 *
 * @param stream  any
 * @param id      0 .. V-1
 * @return        borrowed until the stream's next call, and terminated beyond its size; of size 0
 *                where nothing is whole yet; { NULL, 0 } with ADZ_ERR_NULL, ADZ_ERR_INDEX or
 *                ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_text adz_token_stream_next(adz_token_stream *stream, int64_t id);

/**
 * What is held back at the end of a text, after which the stream is at the beginning of another.
 *
 * @param stream  any
 * @return        as adz_token_stream_next; U+FFFD for a character that stayed incomplete
 */
ADZ_API adz_text adz_token_stream_end(adz_token_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
