/* The classifier, its vocabulary and its labels, and the file that holds all of them. */
#ifndef CLASSIFIER_MODEL_H
#define CLASSIFIER_MODEL_H

#include <adze/adze.h>
#include <adze/zoo.h>

#include "options.h"

typedef struct model {
    adz_module *root; /* a SequentialRNN of MultiBatchEncoder and
                         PoolingLinearClassifier, or a PretrainedClassifier */
    adz_tokenizer *tokenizer;
    char **labels; /* n_labels names, in the order of the classes */
    size_t n_labels;
    network network;
    bool published;  /* true: the root is a head on a published encoder (pretrained.h) */
    int64_t padding; /* the token that fills rows */
} model;

/* Makes a model for a vocabulary and labels. The model owns both from then on. */
model new_model(const network *n, adz_tokenizer *tokenizer, char **labels, size_t n_labels);

/* Loads a model that save_model wrote. */
model load_model(const char *path);

void save_model(const model *m, const char *path);
void free_model(model *m);

/* The parameters of the model in fastai's groups, from the embedding to the head. */
adz_fastai_groups *groups_of(const model *m);

/* Scores[B, labels] of a batch. Borrowed from the scope. */
adz_tensor *scores_of(const model *m, adz_tensor *ids);

/* Writes the labels into a file's metadata. */
void set_labels(adz_safetensors *file, const model *m);

/* The labels in a file's metadata, for free_model. */
char **read_labels(const char *path, adz_safetensors *file, size_t *n_labels);

/* A string of a file's metadata. Ends the program if there is none; the message says that the file
 * is none of the program `maker`. */
const char *metadata_text(
    const char *path, adz_safetensors *file, const char *key, const char *maker);

#endif
