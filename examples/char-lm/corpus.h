/* The text as token numbers, and its batches. */
#ifndef CHAR_LM_CORPUS_H
#define CHAR_LM_CORPUS_H

#include <adze/adze.h>

#include "options.h"

/* A part of the text: n tokens. */
typedef struct part {
    int64_t *ids;
    int64_t n;
} part;

typedef struct corpus {
    const char *name;
    adz_tokenizer *tokenizer; /* borrowed */
    part train, valid;
    double characters; /* bytes per token, on average */
} corpus;

/* The text of --data or the embedded one, for free(). Ends the program if it is empty. */
char *read_corpus(const options *o, const char **name, size_t *size);

/* Makes a vocabulary for a text. */
adz_tokenizer *new_tokenizer(const options *o, const char *text, size_t size);

/* Turns the text into token numbers and splits them into training and validation. Ends the program
 * if a part is too short. */
corpus cut_corpus(
    const options *o, const char *name, const char *text, size_t size, adz_tokenizer *tokenizer);

void free_corpus(corpus *c);

/* ids[rows, length] of the text: row r begins at token starts[r]. */
adz_tensor *gather(const part *p, const int64_t *starts, int64_t rows, int64_t length);

/* Finds where the rows of a step's batch begin: starts[B]. The starts of windows are random and
 * follow from --seed and the step alone. Streams continue from step to step. Returns true if the
 * model has to forget its state before the batch. */
bool find_starts(const options *o, const part *p, int64_t step, int64_t *starts);

#endif
