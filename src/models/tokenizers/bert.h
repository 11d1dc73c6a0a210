/* The tokenizer.json of BERT, for files that hold its vocabulary alone. */
#ifndef ADZI_MODELS_TOKENIZERS_BERT_H
#define ADZI_MODELS_TOKENIZERS_BERT_H

#include <jansson.h>
#include <stdbool.h>

/** What differs between tokenizers of BERT. */
typedef struct adzi_tok_bert {
    json_t *vocab, *added;       /* objects and lists of tokenizer.json; they stay the caller's */
    const char *unknown;         /* the token of words that the vocabulary does not make */
    const char *cls, *sep;       /* the tokens that begin and end a text */
    json_int_t cls_id, sep_id;   /* their ids */
    bool lowercase, chinese;     /* text is made lower case; Chinese characters are words */
    const json_t *strip_accents; /* a bool, else as `lowercase` */
} adzi_tok_bert;

/** The whole tokenizer.json; NULL if memory was refused. */
json_t *adzi_tok_bert_json(const adzi_tok_bert *b);

#endif
