/* A bigram model: the simplest sensible model to compare a language model with. It knows how often
 * each token follows each other token, and nothing else. */
#ifndef EXAMPLES_BIGRAM_H
#define EXAMPLES_BIGRAM_H

#include <stdint.h>

/* The mean loss of a bigram model, in nats for each token of valid[1 .. n_valid-1]. Token numbers
 * are below `vocabulary`. Of the n_train tokens of the training text it counts
 *
 *     p(b | a) = (count(a b) + 2 p(b)) / (count(a) + 2),   p(b) = (count(b) + 1) / (n_train +
 * vocabulary)
 *
 * so that a pair that the training text lacks has a probability too. n_valid is 2 or more. */
double bigram_loss(const int64_t *train, int64_t n_train, const int64_t *valid, int64_t n_valid,
    int64_t vocabulary);

#endif
