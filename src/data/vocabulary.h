/* A vocabulary: tokens, numbered in the order in which they were added, and a hash table over them.
 */
#ifndef ADZI_DATA_VOCABULARY_H
#define ADZI_DATA_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/data/tokenizer.h"
#include "base/index.h"

typedef struct adzi_vocabulary_entry {
    size_t begin, size; /* the position of the token in `bytes` */
    int64_t count;      /* how often it was added */
} adzi_vocabulary_entry;

/** A vocabulary that is all zeros is empty. */
typedef struct adzi_vocabulary {
    char *bytes; /* the bytes of all tokens, one token after the other */
    size_t used, bytes_capacity;
    adzi_vocabulary_entry *entries;
    size_t count, entries_capacity;
    adzi_index positions; /* finds the number of a token */
} adzi_vocabulary;

/** Adds 1 to the count of a token. A new token gets the next number. False if memory was refused or
 * there are 2^31 - 1 tokens. */
bool adzi_vocabulary_add(adzi_vocabulary *v, adz_text token);

/** The number of a token; -1 if the vocabulary does not have it. */
int64_t adzi_vocabulary_find(const adzi_vocabulary *v, adz_text token);

/** The token with a number below v->count. Its bytes are valid until the next token is added. */
adz_text adzi_vocabulary_get(const adzi_vocabulary *v, size_t number);

/** Frees what it holds. It cannot be used again. */
void adzi_vocabulary_free(adzi_vocabulary *v);

#endif
