/* The contents of a dataset, for its own functions and for loaders. */
#ifndef ADZI_DATA_DATASET_H
#define ADZI_DATA_DATASET_H

#include <stdatomic.h>

#include "adze/data/dataset.h"
#include "tensor/tensor.h"
#include "base/handle.h"

/** The most tensors of a dataset. */
enum { ADZI_DATASET_TENSORS = 16 };

/** Rows of one or more tensors with equal first sizes. A part of a dataset shares its tensors and
 * has a list of its own rows. */
struct adz_dataset {
    adzi_handle handle;
    atomic_int refs;
    size_t count;
    adz_tensor *tensors[ADZI_DATASET_TENSORS]; /* contiguous, one reference each */
    int64_t *rows;                             /* rows of the tensors; NULL for all in order */
    int64_t size;                              /* the number of rows of the dataset */
};

/** The rows order[begin] .. order[begin + n - 1] of a dataset, or begin .. begin + n - 1 if order
 * is NULL. */
typedef struct adzi_row_list {
    const int64_t *order;
    int64_t begin, n;
} adzi_row_list;

/**
 * Copies rows of one tensor of a dataset, in a given order.
 *
 * @param index  which tensor
 * @return       a contiguous tensor [n, ...], borrowed from the scope; NULL with the error recorded
 *               if memory was refused
 */
adz_tensor *adzi_dataset_gather(
    const char *op, const adz_dataset *dataset, size_t index, adzi_row_list rows);

#endif
