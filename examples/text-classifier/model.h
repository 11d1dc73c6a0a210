/* The classifier, its vocabulary and labels, and the file that holds all of
 * them. */
#ifndef CLASSIFIER_MODEL_H
#define CLASSIFIER_MODEL_H

#include <adze/adze.h>

#include "options.h"

typedef struct model {
    adz_module *root; /* a SequentialRNN of MultiBatchEncoder and
                         PoolingLinearClassifier */
    adz_tokenizer *tokenizer;
    char **labels; /* n_labels names, in the order of the classes */
    size_t n_labels;
    network network;
} model;

/* A new model for a vocabulary and labels, which it takes over. */
model new_model(const network *n, adz_tokenizer *tokenizer, char **labels, size_t n_labels);

/* A model as it was saved. */
model load_model(const char *path);

void save_model(const model *m, const char *path);
void free_model(model *m);

/* Its parameters in fastai's groups, from the first layers to the head. */
adz_fastai_groups *groups_of(const model *m);

/* Scores[B, labels] of a batch. Borrowed from the scope. */
adz_tensor *scores_of(const model *m, adz_tensor *ids);

/* A string of a file's metadata; ends the program, which wanted a file of
 * `maker`, if there is none. */
const char *metadata_text(
    const char *path, adz_safetensors *file, const char *key, const char *maker);

#endif
