/* Starts a classifier from the encoder of a language model. */
#ifndef CLASSIFIER_TRANSFER_H
#define CLASSIFIER_TRANSFER_H

#include "model.h"
#include "../shared/text_table.h"

/* Makes a classifier whose encoder comes from o->encoder, a checkpoint of char-lm. Its vocabulary
 * is made from the texts, with tokens of the language model's kind. Tokens that the language model
 * has keep their rows; the others begin with the mean of all rows. The model owns the labels from
 * then on. */
model model_from_language_model(
    const options *o, const text_table *table, const char *name, char **labels, size_t n_labels);

#endif
