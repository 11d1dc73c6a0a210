/* Tokens and their numbers: a hash table over the order of adding. */
#ifndef ADZI_DATA_VOCABULARY_H
#define ADZI_DATA_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/data/tokenizer.h"
#include "base/index.h"

typedef struct adzi_vocabulary_entry {
    size_t begin, size; /* of its bytes */
    int64_t count;      /* how often it was added */
} adzi_vocabulary_entry;

typedef struct adzi_vocabulary {
    char *bytes; /* the tokens, one after the other */
    size_t used, bytes_capacity;
    adzi_vocabulary_entry *entries;
    size_t count, entries_capacity;
    adzi_index places; /* of the tokens among the entries */
} adzi_vocabulary;

/** Counts a token, which is entered when it is new. False when memory was refused. */
bool adzi_vocabulary_add(adzi_vocabulary *v, adz_text token);

/** A token's number; -1 when there is none. */
int64_t adzi_vocabulary_find(const adzi_vocabulary *v, adz_text token);

adz_text adzi_vocabulary_get(const adzi_vocabulary *v, size_t number);

/** Frees what it holds. It cannot be used again. */
void adzi_vocabulary_free(adzi_vocabulary *v);

#endif
