/**
 * @file tokenizer.h
 * Tokenizers of published models: the tokenizer.json of the library `tokenizers`, or the vocabulary
 * files of older models. They are adz_tokenizers, so that the calls of adze/data/tokenizer.h and
 * streams work with them. Ids and offsets are those of `tokenizers`.
 *
 * @code
 * static void print_ids(const char *folder, const char *text)
 * {
 *     adz_tokenizer *tokenizer = adz_pretrained_tokenizer_open(folder, NULL);
 *     adz_scope *scope = adz_scope_open();
 *     adz_tensor *ids = adz_tokenizer_encode(tokenizer, text, strlen(text));
 *     adz_tensor_print(ids, stdout); // with the special tokens, such as [CLS] and [SEP]
 *     char back[256];
 *     adz_tokenizer_decode(tokenizer, ids, back, sizeof back); // without them
 *     adz_scope_close(scope);
 *     adz_tokenizer_free(&tokenizer);
 * }
 * @endcode
 *
 * Known are the models BPE (of bytes, and of characters with or without byte_fallback) and
 * WordPiece; the normalizers BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents,
 * Replace of a text, Prepend and Sequence; the pre-tokenizers BertPreTokenizer, ByteLevel,
 * CharDelimiterSplit, Digits, Metaspace, Punctuation, Split, Whitespace, WhitespaceSplit and
 * Sequence; the post-processors BertProcessing, ByteLevel, RobertaProcessing, TemplateProcessing
 * and Sequence; the decoders BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip,
 * WordPiece and Sequence. A Split takes a text, or one of the regular expressions of GPT-2, GPT-4,
 * Llama 3, Qwen 2 and Qwen 3, \\s+, \\p{N}, \\p{N}+ and \\p{N}{1,3}, or llama.cpp's [0-9][0-9][0-9]
 * and [\\p{P}\\$\\+<=>\\^~\\|]+. Anything else is an error that names it.
 *
 * A tokenizer never changes, and several threads may use it at once. Bytes that are not UTF-8 are
 * read as U+FFFD, as Python's errors='replace' does.
 */
#ifndef ADZE_MODELS_TOKENIZER_H
#define ADZE_MODELS_TOKENIZER_H

#include "adze/data/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of adz_pretrained_tokenizer_open. Start from ADZ_PRETRAINED_TOKENIZER_OPTIONS. */
typedef struct adz_pretrained_tokenizer_options {
    size_t size;              /**< sizeof(adz_pretrained_tokenizer_options) */
    bool add_special_tokens;  /**< whether adz_tokenizer_encode adds the special tokens that the
                                   post-processor has; true */
    bool skip_special_tokens; /**< whether adz_tokenizer_decode and streams leave special tokens
                                  out; true */
} adz_pretrained_tokenizer_options;

/** The defaults. */
#define ADZ_PRETRAINED_TOKENIZER_OPTIONS                                                \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_pretrained_tokenizer_options)),                     \
            ADZ_MEMBER(add_special_tokens, true), ADZ_MEMBER(skip_special_tokens, true) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_pretrained_tokenizer_options) as the caller knows it
 */
ADZ_API void adz_pretrained_tokenizer_options_init(
    adz_pretrained_tokenizer_options *options, size_t size);

/**
 * Reads the tokenizer of a published model.
 *
 * A folder without tokenizer.json may have a vocab.txt of BERT, or vocab.json and merges.txt of
 * GPT-2, RoBERTa or Qwen 2. The tokenizer_class in tokenizer_config.json says whose it is, or the
 * model_type in config.json; a vocab.txt alone is BERT's. Such a tokenizer is that which
 * transformers makes of the files.
 *
 * A GGUF file has the tokenizer of its model. Known are "gpt2" (BPE of bytes), with the
 * pre-tokenizers gpt-2, phi-2, mpt, olmo, jais, gigachat, mellum, exaone4, llama-bpe, llama3,
 * llama-v3, falcon3, dbrx, smaug-bpe, qwen2, deepseek-r1-qwen, smollm, starcoder, refact and
 * default, "llama" (SentencePiece's BPE by scores) and "bert" (WordPiece; text becomes lower case
 * without accents, and a vocabulary with capitals is refused). Control tokens are special tokens.
 * Whether texts begin and end with some is as the file says, or else as llama.cpp does it. For
 * qwen2 and deepseek-r1-qwen texts are normalized (NFC), as in tokenizer.json and unlike in
 * llama.cpp.
 *
 * @param path     tokenizer.json, a folder, or a GGUF file, whose name ends in .gguf
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_tokenizer_free; or NULL
 * @errors         ADZ_ERR_NULL; ADZ_ERR_IO; ADZ_ERR_FORMAT and ADZ_ERR_UNSUPPORTED, whose messages
 *                 name the file and the entry; ADZ_ERR_STATE (in a function that a plan captures);
 *                 ADZ_ERR_MEMORY
 * @see            tokenizers.Tokenizer.from_file
 */
ADZ_API adz_tokenizer *adz_pretrained_tokenizer_open(
    const char *path, const adz_pretrained_tokenizer_options *options);

/**
 * Reads tokenizer.json from memory.
 *
 * @param bytes    the file's bytes; adz_tokenizer_to_memory and adz_tokenizer_save give them back
 * @param size     number of bytes
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_tokenizer_free; or NULL
 * @errors         ADZ_ERR_NULL; ADZ_ERR_FORMAT and ADZ_ERR_UNSUPPORTED, whose messages name the
 *                 entry; ADZ_ERR_STATE (in a function that a plan captures); ADZ_ERR_MEMORY
 * @see            tokenizers.Tokenizer.from_str
 */
ADZ_API adz_tokenizer *adz_pretrained_tokenizer_from_memory(
    const void *bytes, size_t size, const adz_pretrained_tokenizer_options *options);

/* ---- batches -------------------------------------------------------------------------------- */

/** Which texts are cut to `max_length`. */
typedef enum adz_truncation {
    ADZ_TRUNCATION_AS_FILE = 0,       /**< as tokenizer.json says; none if it says nothing */
    ADZ_TRUNCATION_NONE = 1,          /**< none */
    ADZ_TRUNCATION_LONGEST_FIRST = 2, /**< the longer text of a pair, then both */
    ADZ_TRUNCATION_ONLY_FIRST = 3,    /**< the first text of a pair */
    ADZ_TRUNCATION_ONLY_SECOND = 4    /**< the second text of a pair */
} adz_truncation;

/** How long the rows of a batch are. */
typedef enum adz_padding {
    ADZ_PADDING_AS_FILE = 0, /**< as tokenizer.json says; the longest row if it says nothing */
    ADZ_PADDING_LONGEST = 1, /**< the longest row */
    ADZ_PADDING_FIXED = 2    /**< `pad_length`, or the longest row if that is longer */
} adz_padding;

/** A side of a row. */
typedef enum adz_side {
    ADZ_SIDE_AS_FILE = 0, /**< as tokenizer.json says; the right one if it says nothing */
    ADZ_SIDE_RIGHT = 1,   /**< the end */
    ADZ_SIDE_LEFT = 2     /**< the beginning */
} adz_side;

/** Options of adz_pretrained_encode. Start from ADZ_PRETRAINED_ENCODE_OPTIONS. */
typedef struct adz_pretrained_encode_options {
    size_t size;               /**< sizeof(adz_pretrained_encode_options) */
    bool add_special_tokens;   /**< whether the special tokens of the post-processor are added;
                                    true */
    adz_truncation truncation; /**< ADZ_TRUNCATION_AS_FILE */
    int64_t max_length;       /**< the most tokens of a row, special ones included, 1 or more; 0 for
                                   the file's, which must have one then */
    adz_side truncation_side; /**< where tokens are cut off; ADZ_SIDE_AS_FILE */
    adz_padding padding;      /**< ADZ_PADDING_AS_FILE */
    int64_t pad_length;       /**< for ADZ_PADDING_FIXED, 1 or more; 0 */
    int64_t pad_to_multiple_of; /**< rows get longer up to a multiple of this; 0 for the file's, or
                                     1 */
    adz_side padding_side;      /**< where rows are filled; ADZ_SIDE_AS_FILE */
    int64_t pad_id;             /**< the token that fills rows, 0 .. V-1; -1 for the file's, or 0 */
} adz_pretrained_encode_options;

/** The defaults. */
#define ADZ_PRETRAINED_ENCODE_OPTIONS                                                             \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_pretrained_encode_options)),                                  \
            ADZ_MEMBER(add_special_tokens, true), ADZ_MEMBER(truncation, ADZ_TRUNCATION_AS_FILE), \
            ADZ_MEMBER(max_length, 0), ADZ_MEMBER(truncation_side, ADZ_SIDE_AS_FILE),             \
            ADZ_MEMBER(padding, ADZ_PADDING_AS_FILE), ADZ_MEMBER(pad_length, 0),                  \
            ADZ_MEMBER(pad_to_multiple_of, 0), ADZ_MEMBER(padding_side, ADZ_SIDE_AS_FILE),        \
            ADZ_MEMBER(pad_id, -1)                                                                \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_pretrained_encode_options) as the caller knows it
 */
ADZ_API void adz_pretrained_encode_options_init(
    adz_pretrained_encode_options *options, size_t size);

/** A batch of N rows of T tokens. All tensors are i64 and borrowed from the scope. */
typedef struct adz_encoding {
    adz_tensor *input_ids;           /**< ids[N, T] */
    adz_tensor *attention_mask;      /**< 1 for tokens, 0 for padding: [N, T] */
    adz_tensor *token_type_ids;      /**< which text of a pair a token belongs to, as the
                                          post-processor says: [N, T] */
    adz_tensor *special_tokens_mask; /**< 1 for special tokens that were added and for padding:
                                          [N, T] */
    adz_tensor *offsets; /**< where a token begins and ends in its text, in bytes: [N, T, 2]; zeros
                              for tokens that were added */
} adz_encoding;

/**
 * Turns texts into a batch.
 *
 * @param tokenizer  from adz_pretrained_tokenizer_open
 * @param texts      n texts
 * @param pairs      n second texts; NULL: each row is one text
 * @param n          1 or more
 * @param options    NULL for the defaults
 * @param encoding   filled; all NULL after a failure
 * @return           ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (another type of tokenizer; an option; a
 *                   row that cannot be cut to max_length); ADZ_ERR_STATE (in a function that a plan
 *                   captures); ADZ_ERR_MEMORY
 * @see              tokenizers.Tokenizer.encode_batch
 */
ADZ_API adz_status adz_pretrained_encode(const adz_tokenizer *tokenizer, const adz_text *texts,
    const adz_text *pairs, size_t n, const adz_pretrained_encode_options *options,
    adz_encoding *encoding);

#ifdef __cplusplus
}
#endif

#endif
