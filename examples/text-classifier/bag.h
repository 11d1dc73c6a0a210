/* A bag of words: the simplest sensible model to compare the network with. It does not see the
 * order of words. */
#ifndef CLASSIFIER_BAG_H
#define CLASSIFIER_BAG_H

#include "data.h"
#include "model.h"

typedef struct bag {
    adz_module *scores; /* an Embedding: a row of scores for each token of the vocabulary */
    double *rarity;     /* of each token: log((1 + texts) / (1 + texts with it)) + 1;
                         * 0 for padding, which is in no text */
} bag;

/* Trains multinomial logistic regression on the tf-idf of the tokens: each text is a vector of the
 * counts of its tokens times their rarity, of length 1. */
bag fit_bag(const model *m, const samples *train);

/* The share of texts whose most probable label is theirs; NaN without texts. */
double bag_accuracy(const bag *b, const samples *s);

void free_bag(bag *b);

#endif
