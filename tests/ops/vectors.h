/* Reference vectors: safetensors files with a config, inputs, results and gradients. */
#ifndef ADZE_TESTS_OPS_VECTORS_H
#define ADZE_TESTS_OPS_VECTORS_H

#include <jansson.h>

#include "adze/adze.h"

typedef struct vector_file {
    char *bytes;
    size_t size;
    json_t *header, *config;
    size_t data; /* where the tensors start */
} vector_file;

/** Reads and parses a file; false with an error recorded, or without one where it has no config. In
 * every case vector_close ends it. */
bool vector_open(vector_file *v, const char *path);
void vector_close(vector_file *v);

/** A value of the file's metadata, "" when it is absent. */
const char *vector_meta(const vector_file *v, const char *key);

/** A tensor of the file, borrowed from the scope; NULL when there is none of that name. */
adz_tensor *vector_tensor(const vector_file *v, const char *name);

#endif
