/* A classifier on a published encoder: BERT, RoBERTa or DistilBERT. */
#ifndef CLASSIFIER_PRETRAINED_H
#define CLASSIFIER_PRETRAINED_H

#include "model.h"

/* Opens a published folder, with a head of random weights. At most `max_len` tokens of a text are
 * read, but no more than the encoder has positions. The model owns the labels from then on. */
model open_pretrained(const char *folder, int64_t max_len, char **labels, size_t n_labels);

/* Writes config.json and model.safetensors of the encoder, tokenizer.json, and
 * classifier.safetensors with the head and the labels. */
void save_pretrained(const model *m, const char *folder);
model load_pretrained(const char *folder);

/* The encoder, and the head on it. */
adz_module *encoder_of(const model *m);
adz_module *head_of(const model *m);

#endif
