/* A dataset from inside. */
#ifndef ADZI_DATA_DATASET_H
#define ADZI_DATA_DATASET_H

#include <stdatomic.h>

#include "adze/data/dataset.h"
#include "tensor/tensor.h"

enum { ADZI_DATASET_TENSORS = 16 };

struct adz_dataset {
    atomic_int refs;
    size_t count;
    adz_tensor *tensors[ADZI_DATASET_TENSORS]; /* contiguous, one reference each */
    int64_t *rows;                             /* which rows of the tensors; NULL for all */
    int64_t size;
};

/**
 * Rows of a dataset's tensor in the order given: `order[i]` counts rows of the dataset, NULL means
 * as they come. A contiguous tensor borrowed from the scope, or NULL with the error recorded.
 */
adz_tensor *adzi_dataset_gather(const char *op, const adz_dataset *dataset, size_t index,
    const int64_t *order, int64_t begin, int64_t n);

#endif
