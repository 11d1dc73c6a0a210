/* Starts a classifier from the encoder of a language model. */
#ifndef CLASSIFIER_TRANSFER_H
#define CLASSIFIER_TRANSFER_H

#include "model.h"
#include "table.h"

/* A classifier of texts whose encoder is that of o->encoder, a checkpoint of
 * char-lm. Its vocabulary is made of the texts, in tokens of the language
 * model's kind; those that it knows keep their rows, the others begin with the
 * mean of all. Takes over the labels. */
model model_from_language_model(
    const options *o, const text_table *table, const char *name, char **labels, size_t n_labels);

#endif
