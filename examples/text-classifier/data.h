/* Turns texts into numbers, splits them into training, validation and test, and makes batches. */
#ifndef CLASSIFIER_DATA_H
#define CLASSIFIER_DATA_H

#include <adze/adze.h>

#include "model.h"
#include "options.h"
#include "../shared/text_table.h"

typedef struct sample {
    int64_t *ids;
    int64_t length;
    int64_t label;   /* index into the labels; -1 if it is unknown */
    int64_t by_rule; /* index of the label that the grammar's rule gives; -1 if it is unknown */
} sample;

typedef struct samples {
    sample *items;
    size_t count;
    int64_t padding; /* the token that fills short rows of a batch */
    bool behind;     /* true: rows are filled at their ends, and not in front */
} samples;

typedef struct problem {
    samples train, validation, test;
} problem;

/* The different labels of a table, in the order of strcmp. */
char **find_labels(const text_table *table, const char *path, size_t *count);

/* A vocabulary with the special tokens, of the texts of a table. */
adz_tokenizer *make_tokenizer(const text_table *table, const char *path, adz_token_kind kind,
    int64_t max_vocab, int64_t min_freq);

/* Turns the texts of a table into token numbers for a model, and their labels, if the table has
 * them, into indices. `by_rule` may be NULL. */
samples encode_rows(
    const text_table *table, const char *path, const model *m, const int64_t *by_rule);

/* Ends the program if the network would use nothing of a text. It reads chunks of bptt tokens and
 * keeps those that begin in the last max_len tokens; there must be at least one. A published
 * encoder reads the first tokens of every text. */
void check_lengths(const model *m, const samples *s);

/* Splits samples at random and takes them over. */
problem split_samples(const options *o, samples all);

void free_samples(samples *s);
void free_problem(problem *p);

/* The samples' order for an epoch of training: by length in pieces of 50 batches, batches shuffled,
 * the longest first. It depends on the arguments alone. Its length is that of the samples; it is
 * ended with free. */
size_t *shuffled_order(const samples *s, int64_t batch_size, uint64_t seed, int64_t epoch);

/* The order of the samples by length, the longest first, for free(). */
size_t *sorted_order(const samples *s);

/* ids[n, T] and labels[n] of a batch, borrowed from the scope. T is the length of the longest text;
 * the others are padded as the samples say. */
adz_tensor *make_batch(const samples *s, const size_t *order, size_t n, adz_tensor **labels);

/* The line of the text that is being read, for messages of the library; "" for none. */
const char *reading(void);

#endif
