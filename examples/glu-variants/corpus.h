/* A text as numbers: one for each of its characters. */
#ifndef GLU_CORPUS_H
#define GLU_CORPUS_H

#include <adze/adze.h>

typedef struct corpus {
    const char *name;
    int64_t characters;  /* of the text */
    int64_t vocabulary;  /* number of different characters */
    const int64_t *ids;  /* their numbers */
    int64_t train_count; /* number of characters for training; the rest is for validation */
    adz_tensor *tensor;  /* the memory that ids points into */
} corpus;

/* Reads a file, or the embedded text if the path is NULL. Ends the program if the file is no text
 * in UTF-8. Free it with free_corpus. */
corpus load_corpus(const char *path);

/* Ends the program if the text is too short: the training part must have more characters than a
 * batch of windows, and the validation part must have some to predict. */
void check_corpus(const corpus *t, int64_t length, int64_t batch);

void free_corpus(corpus *t);

#endif
