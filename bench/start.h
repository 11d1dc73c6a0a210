/* The start of a comparison: weights and data, which the other side reads from a file. */
#ifndef ADZE_BENCH_START_H
#define ADZE_BENCH_START_H

#include "adze/adze.h"

/* A tensor under the name that the other side knows it by. */
typedef struct {
    const char *name;
    adz_tensor *tensor;
} start_tensor;

/* Writes the `count` tensors, and the weights of `network` unless it is NULL, in safetensors form.
 * Does nothing where path is NULL. */
void save_start(const char *path, adz_module *network, const start_tensor *tensors, size_t count);

#endif
