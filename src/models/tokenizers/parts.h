/* What a tokenizer consists of. loading.c fills it, and nothing changes it afterwards. */
#ifndef ADZI_MODELS_TOKENIZERS_PARTS_H
#define ADZI_MODELS_TOKENIZERS_PARTS_H

#include <stdatomic.h>

#include "adze/data/tokenizer_type.h"
#include "adze/models/tokenizer.h"
#include "text.h"

/* ---- normalizers ---------------------------------------------------------------------------- */

typedef enum adzi_tok_normalizer_kind {
    NORMALIZE_BERT,
    NORMALIZE_FORM,
    NORMALIZE_LOWERCASE,
    NORMALIZE_STRIP,
    NORMALIZE_STRIP_ACCENTS,
    NORMALIZE_REPLACE,
    NORMALIZE_PREPEND,
} adzi_tok_normalizer_kind;

/** A normalizer; a sequence is several of them. */
typedef struct adzi_tok_normalizer {
    adzi_tok_normalizer_kind kind;
    bool clean, chinese, accents, lowercase; /* BertNormalizer */
    bool compose, compatible;                /* NFC, NFD, NFKC, NFKD */
    bool left, right;                        /* Strip */
    adzi_tok_bytes pattern, content;         /* Replace; Prepend has content */
} adzi_tok_normalizer;

/* ---- pre-tokenizers ------------------------------------------------------------------------- */

typedef enum adzi_tok_splitter_kind {
    SPLIT_PATTERN,    /* at matches of a pattern */
    SPLIT_LITERAL,    /* at matches of a text */
    SPLIT_CLASS,      /* at characters of some classes */
    SPLIT_METASPACE,  /* a space becomes another character, at which words begin */
    SPLIT_BYTE_LEVEL, /* puts a space before the text; bytes stay bytes */
} adzi_tok_splitter_kind;

typedef enum adzi_tok_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS,
} adzi_tok_behavior;

/** A pattern: the bytes of the match that begins at `at`, before `end`; 0 if none begins there. */
typedef size_t (*adzi_tok_pattern)(const char *at, const char *end);

typedef enum adzi_tok_scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } adzi_tok_scheme;

/** A pre-tokenizer; a sequence is several of them. */
typedef struct adzi_tok_splitter {
    adzi_tok_splitter_kind kind;
    adzi_tok_behavior behavior;
    bool invert;
    adzi_tok_pattern pattern;
    uint32_t classes;
    adzi_tok_bytes literal; /* of Split; of Metaspace its character */
    adzi_tok_scheme scheme;
    bool split;        /* Metaspace: whether it splits */
    bool prefix_space; /* ByteLevel */
} adzi_tok_splitter;

/* ---- models --------------------------------------------------------------------------------- */

/** A token of a word, and the bytes of the word that it takes. */
typedef struct adzi_tok_piece {
    int32_t id;
    uint32_t size;
} adzi_tok_piece;

/** A merge of a pair of tokens. */
typedef struct adzi_tok_merge {
    uint64_t pair; /* the ids of both, the first one in the high half */
    uint32_t rank;
    int32_t id; /* of what they become; -1: the slot is empty */
} adzi_tok_merge;

typedef enum adzi_tok_model_kind { MODEL_BPE, MODEL_WORD_PIECE } adzi_tok_model_kind;

typedef struct adzi_tok_model {
    adzi_tok_model_kind kind;
    bool byte_level;    /* words are bytes; the characters that stand for them are in no text */
    adzi_tok_map words; /* the texts that a word is made of, as bytes if byte_level */
    int32_t unknown;    /* the id of the unknown token; -1 for none */
    adzi_tok_bytes unknown_text;
    adzi_tok_bytes prefix, suffix; /* of a continuing subword; of the end of a word */
    /* BPE */
    adzi_tok_merge *merges;
    size_t merge_mask;
    int32_t bytes[256];    /* byte_level: the token of each byte, or -1 */
    int32_t fallback[256]; /* byte_fallback: the token of each byte, or -1 */
    bool byte_fallback, fuse_unknown, ignore_merges;
    /* WordPiece */
    adzi_tok_trie first, next; /* the subwords that begin a word, and those that continue it */
    size_t max_characters;
} adzi_tok_model;

/** Where the search for a pair begins in the table of merges. */
static inline size_t adzi_tok_merge_position(const adzi_tok_model *m, uint64_t pair)
{
    const uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    return (size_t)(hash ^ hash >> 32) & m->merge_mask;
}

/* ---- added tokens --------------------------------------------------------------------------- */

typedef struct adzi_tok_added {
    int32_t id;
    bool single_word, left, right, normalized, special;
    bool on; /* looked for in texts */
} adzi_tok_added;

/** Tokens that are looked for in texts. */
typedef struct adzi_tok_matcher {
    adzi_tok_trie trie; /* values are positions in the list of added tokens */
    bool begins[256];   /* the first bytes of the tokens */
    size_t n;
} adzi_tok_matcher;

/* ---- post-processors ------------------------------------------------------------------------ */

/** A piece of a template: a sequence, or a special token. */
typedef struct adzi_tok_template_piece {
    int sequence; /* 0 or 1; -1: a special token */
    int32_t id;
    uint8_t type_id;
} adzi_tok_template_piece;

typedef struct adzi_tok_template {
    adzi_tok_template_piece *pieces;
    size_t n, room;
} adzi_tok_template;

/* ---- decoders ------------------------------------------------------------------------------- */

typedef enum adzi_tok_decoder_kind {
    DECODE_BYTE_LEVEL,
    DECODE_WORD_PIECE,
    DECODE_METASPACE,
    DECODE_BPE,
    DECODE_REPLACE,
    DECODE_BYTE_FALLBACK,
    DECODE_FUSE,
    DECODE_STRIP,
} adzi_tok_decoder_kind;

typedef struct adzi_tok_decoder {
    adzi_tok_decoder_kind kind;
    adzi_tok_bytes pattern, content; /* Replace; WordPiece, BPE and Metaspace have a pattern */
    bool cleanup;                    /* WordPiece */
    adzi_tok_scheme scheme;          /* Metaspace */
    size_t start, stop;              /* Strip, whose character is the pattern */
} adzi_tok_decoder;

/* ---- batches -------------------------------------------------------------------------------- */

/** Truncation and padding of tokenizer.json. */
typedef struct adzi_tok_batch {
    adz_truncation truncation;
    int64_t max_length;
    adz_side truncation_side;
    adz_padding padding;
    int64_t pad_length, multiple, pad_id, pad_type_id;
    adz_side padding_side;
} adzi_tok_batch;

/* ---- the tokenizer -------------------------------------------------------------------------- */

/** What is known of the token of an id. */
typedef struct adzi_tok_token {
    uint32_t begin, size;       /* of its text */
    uint16_t leading, trailing; /* spaces that trim_offsets leaves out */
    bool exists, special, added;
} adzi_tok_token;

enum { ADZI_TOK_SPARES = 4 };

typedef struct adzi_tok {
    adzi_tok_normalizer *normalizers;
    size_t n_normalizers, normalizers_room;
    adzi_tok_splitter *splitters;
    size_t n_splitters, splitters_room;
    adzi_tok_model model;
    adzi_tok_added *added;
    size_t n_added, added_room;
    adzi_tok_matcher raw, normalized; /* tokens in the caller's text, and in normalized text */
    adzi_tok_template single, pair;
    bool has_template;               /* of the post-processor, whose lists may be empty */
    bool trim_offsets, prefix_space; /* of ByteLevel and Roberta */
    adzi_tok_decoder *decoders;
    size_t n_decoders, decoders_room;
    adzi_tok_map ids;       /* from texts of tokens to ids */
    adzi_tok_token *tokens; /* V of them */
    size_t n_tokens;
    adzi_tok_bytes texts;
    bool add_special, skip_special; /* options of loading */
    adzi_tok_batch batch;           /* what the file says of batches */
    adzi_tok_bytes file;            /* the bytes of tokenizer.json */
    /* Working memory that no call uses. A call takes one and puts it back. */
    _Atomic(struct adzi_tok_scratch *) spare[ADZI_TOK_SPARES];
} adzi_tok;

#endif
