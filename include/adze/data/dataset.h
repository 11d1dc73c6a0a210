/**
 * @file dataset.h
 * Datasets: tensors whose rows belong together, and parts of them.
 *
 * A dataset is reference-counted: every call that returns one gives a reference of yours, ended by
 * adz_dataset_free. It never changes, so parts and loaders share it.
 */
#ifndef ADZE_DATA_DATASET_H
#define ADZE_DATA_DATASET_H

#include "adze/data/csv.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tensors that share their first dimension; or some rows of such a dataset. */
typedef struct adz_dataset adz_dataset;

/**
 * A dataset over tensors, which are kept (and copied when they are not contiguous).
 *
 * @param tensors  n tensors, such as x[N, D] and y[N, 1], any dtypes, outside any graph
 * @param n        1 to 16
 * @return         yours, end it with adz_dataset_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_SHAPE (first sizes differ, or there is none) or ADZ_ERR_MEMORY
 * @see            torch.utils.data.TensorDataset
 */
ADZ_API adz_dataset *adz_dataset_new(adz_tensor *const *tensors, size_t n);

/**
 * A dataset of two tensors, features and target, from a table.
 *
 * @param csv         a table
 * @param features    n_features names; NULL for every column but the target
 * @param n_features  how many; 0 for every column but the target
 * @param target      the target's name
 * @return            yours, end it with adz_dataset_free: x[rows, features] and y[rows, 1]; NULL
 * with the errors of adz_csv_select or ADZ_ERR_ARGUMENT (the target is a feature, or there is no
 * other column)
 */
ADZ_API adz_dataset *adz_dataset_from_csv(
    adz_csv *csv, const char *const *features, size_t n_features, const char *target);

/**
 * Some rows of a dataset, which is shared, not copied.
 *
 * @param dataset  where from
 * @param rows     n row numbers, each 0 .. size-1; a row may come twice
 * @param n        0 or more
 * @return         yours, end it with adz_dataset_free; NULL with ADZ_ERR_NULL, ADZ_ERR_INDEX or
 *                 ADZ_ERR_MEMORY
 * @see            torch.utils.data.Subset
 */
ADZ_API adz_dataset *adz_dataset_subset(adz_dataset *dataset, const int64_t *rows, size_t n);

/**
 * Cuts a dataset into the given rows and all others, both in rising order.
 *
 * @param dataset  where from
 * @param rows     n row numbers, each 0 .. size-1 and none twice
 * @param n        0 or more
 * @param chosen   receives these rows; yours, end it with adz_dataset_free
 * @param others   receives the other rows; likewise
 * @return         ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT (a row twice) or
 *                 ADZ_ERR_MEMORY, and then neither is set
 */
ADZ_API adz_status adz_dataset_split_rows(adz_dataset *dataset, const int64_t *rows, size_t n,
    adz_dataset **chosen, adz_dataset **others);

/**
 * Cuts a dataset into random parts. Each has floor(share * size) rows; rows that are left over go
 * to the first parts, one each.
 *
 * @param dataset    where from
 * @param shares     n shares from 0 to 1 that add up to 1
 * @param n          1 or more
 * @param generator  draws the rows; NULL for the default one
 * @param parts      receives n datasets; yours, end each with adz_dataset_free
 * @return           ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY, and then none is set
 * @see              torch.utils.data.random_split
 */
ADZ_API adz_status adz_dataset_split(adz_dataset *dataset, const double *shares, size_t n,
    adz_generator *generator, adz_dataset **parts);

/**
 * Takes one more reference.
 *
 * @param dataset  any; NULL gives NULL
 * @return         dataset, to be ended once more with adz_dataset_free
 */
ADZ_API adz_dataset *adz_dataset_keep(adz_dataset *dataset);

/**
 * Ends a reference.
 *
 * @param dataset  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_dataset_free(adz_dataset **dataset);

/**
 * The number of rows.
 *
 * @param dataset  any
 * @return         0 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_dataset_size(adz_dataset *dataset);

/**
 * The number of tensors.
 *
 * @param dataset  any
 * @return         1 to 16; 0 with ADZ_ERR_NULL recorded
 */
ADZ_API size_t adz_dataset_count(adz_dataset *dataset);

/**
 * All rows of one tensor.
 *
 * @param dataset  any
 * @param index    0 .. count-1
 * @return         the tensor itself, borrowed from the dataset; of a part its rows, gathered and
 *                 borrowed from the scope; NULL with ADZ_ERR_NULL, ADZ_ERR_INDEX or ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_dataset_tensor(adz_dataset *dataset, size_t index);

#ifdef __cplusplus
}
#endif

#endif
