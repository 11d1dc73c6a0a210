/* Reference vectors: safetensors files with a config, inputs, results and gradients. */
#ifndef ADZE_TESTS_OPS_VECTORS_H
#define ADZE_TESTS_OPS_VECTORS_H

#include <jansson.h>

#include "adze/adze.h"

typedef struct vector_file {
    char *bytes;
    size_t size;
    json_t *header, *config;
    size_t data; /* offset of the first tensor in the file */
} vector_file;

/** Reads and parses a file. False with the error recorded, or without an error if the file has no
 * config. Call vector_close in every case. */
bool vector_open(vector_file *v, const char *path);
void vector_close(vector_file *v);

/** A value of the file's metadata; "" if there is none. */
const char *vector_meta(const vector_file *v, const char *key);

/** A tensor of the file, borrowed from the scope; NULL if there is none with this name. */
adz_tensor *vector_tensor(const vector_file *v, const char *name);

#endif
