/**
 * @file dataset.h
 * Datasets: tensors whose rows belong together, and subsets of their rows.
 *
 * A dataset is reference-counted. Every call that returns one gives you a reference, which you end
 * with adz_dataset_release. A dataset never changes, so subsets and loaders share it.
 */
#ifndef ADZE_DATA_DATASET_H
#define ADZE_DATA_DATASET_H

#include "adze/data/csv.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tensors of equal first size; or some rows of another dataset. */
typedef struct adz_dataset adz_dataset;

/**
 * Makes a dataset of tensors. It keeps a reference to each tensor, or copies it if it is not
 * contiguous.
 *
 * @param tensors  n tensors, such as x[N, D] and y[N, 1], any dtypes, outside any graph
 * @param n        1 to 16
 * @return         yours, end it with adz_dataset_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_SHAPE (first sizes differ, or there is none) or ADZ_ERR_MEMORY
 * @see            torch.utils.data.TensorDataset
 */
ADZ_API adz_dataset *adz_dataset_new(adz_tensor *const *tensors, size_t n);

/**
 * Makes a dataset of two tensors, features and target, from a table.
 *
 * @param csv         a table
 * @param features    n_features names; NULL for every column but the target
 * @param n_features  number of names; 0 for every column but the target
 * @param target      the target's name
 * @return            yours, end it with adz_dataset_release: x[rows, features] and y[rows, 1]; NULL
 *                    with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (no such column, several of one name, the
 *                    target is a feature, there is no other column) or ADZ_ERR_MEMORY
 */
ADZ_API adz_dataset *adz_dataset_from_csv(
    adz_csv *csv, const char *const *features, size_t n_features, const char *target);

/**
 * Makes a dataset of some rows of another one. The rows are shared and not copied.
 *
 * @param dataset  the dataset that holds the rows
 * @param rows     n row numbers, each 0 .. size-1; a row may come twice
 * @param n        0 or more
 * @return         yours, end it with adz_dataset_release; NULL with ADZ_ERR_NULL, ADZ_ERR_INDEX or
 *                 ADZ_ERR_MEMORY
 * @see            torch.utils.data.Subset
 */
ADZ_API adz_dataset *adz_dataset_subset(adz_dataset *dataset, const int64_t *rows, size_t n);

/**
 * Cuts a dataset into the given rows and all other rows, both in rising order.
 *
 * @param dataset  the dataset to cut; it stays as it is
 * @param rows     n row numbers, each 0 .. size-1 and none twice
 * @param n        0 or more
 * @param chosen   receives these rows; yours, end it with adz_dataset_release
 * @param others   receives the other rows; yours, end it with adz_dataset_release
 * @return         ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT (a row twice) or
 *                 ADZ_ERR_MEMORY; after a failure neither result is set
 */
ADZ_API adz_status adz_dataset_split_rows(adz_dataset *dataset, const int64_t *rows, size_t n,
    adz_dataset **chosen, adz_dataset **others);

/**
 * Cuts a dataset into random parts. Each part gets floor(share * size) rows. The rows that are left
 * over go to the first parts, one row each.
 *
 * @param dataset    the dataset to cut; it stays as it is
 * @param shares     n shares from 0 to 1 that add up to 1
 * @param n          1 or more
 * @param generator  draws the rows; NULL for the default one
 * @param parts      receives n datasets; yours, end each with adz_dataset_release
 * @return           ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY; after a failure none
 *                   is set
 * @see              torch.utils.data.random_split
 */
ADZ_API adz_status adz_dataset_split(adz_dataset *dataset, const double *shares, size_t n,
    adz_generator *generator, adz_dataset **parts);

/**
 * Takes one more reference to a dataset.
 *
 * @param dataset  any; NULL gives NULL
 * @return         dataset; end this reference with adz_dataset_release too
 */
ADZ_API adz_dataset *adz_dataset_keep(adz_dataset *dataset);

/**
 * Ends a reference to a dataset. The last one ends the dataset.
 *
 * @param dataset  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_dataset_release(adz_dataset **dataset);

/**
 * The number of rows of a dataset.
 *
 * @param dataset  any
 * @return         0 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_dataset_row_count(const adz_dataset *dataset);

/**
 * The number of tensors of a dataset.
 *
 * @param dataset  any
 * @return         1 to 16; 0 with ADZ_ERR_NULL recorded
 */
ADZ_API size_t adz_dataset_count(const adz_dataset *dataset);

/**
 * All rows of one tensor.
 *
 * @param dataset  any
 * @param index    0 .. count-1
 * @return         the tensor itself, borrowed from the dataset; for a subset a copy of its rows,
 *                 borrowed from the scope; NULL with ADZ_ERR_NULL, ADZ_ERR_INDEX or ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_dataset_at(const adz_dataset *dataset, size_t index);

#ifdef __cplusplus
}
#endif

#endif
