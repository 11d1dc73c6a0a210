/**
 * @file loader.h
 * Loaders: they give out a dataset in batches, epoch after epoch.
 *
 * @code
 * adz_tensor *x = adz_randn(ADZ_SHAPE(100, 4), ADZ_F32), *y = adz_ones(ADZ_SHAPE(100, 1), ADZ_F32);
 * adz_dataset *data = adz_dataset_new((adz_tensor *[]){ x, y }, 2);
 * adz_loader_options options = ADZ_LOADER_OPTIONS;
 * options.batch_size = 32;
 * options.shuffle = true;
 * adz_loader *loader = adz_loader_new(data, &options);
 *
 * for (int epoch = 0; epoch < 3; ++epoch) {
 *     adz_scope *scope = adz_scope_open();
 *     adz_tensor *batch[2];
 *     while (adz_loader_next(loader, batch)) { // x[32, 4] and y[32, 1]; the last has 4 rows
 *         // forward, backward and step
 *         adz_scope_close(scope); // ends the batch
 *         scope = adz_scope_open();
 *     }
 *     adz_scope_close(scope);
 * }
 * adz_loader_free(&loader);
 * adz_dataset_free(&data);
 * @endcode
 */
#ifndef ADZE_DATA_LOADER_H
#define ADZE_DATA_LOADER_H

#include "adze/data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Draws batches of rows from a dataset. */
typedef struct adz_loader adz_loader;

/**
 * A callback of the loader, called after each batch.
 *
 * @param batch    batches drawn in this epoch, 1 or more
 * @param batches  batches of an epoch
 * @param user     the pointer from the options
 * @return         true to go on; false to cancel: adz_loader_next then gives no batch and fails
 *                 with ADZ_ERR_CANCELLED
 */
typedef bool (*adz_loader_progress)(int64_t batch, int64_t batches, void *user);

/** Options of adz_loader_new. Start from ADZ_LOADER_OPTIONS. */
typedef struct adz_loader_options {
    size_t size;                  /**< sizeof(adz_loader_options) */
    int64_t batch_size;           /**< rows per batch, 1 or more; 32 */
    bool shuffle;                 /**< whether each epoch has a new random order; false */
    bool drop_last;               /**< whether to leave out a last batch with fewer rows; false */
    adz_generator *generator;     /**< draws the orders, and must outlive the loader; NULL for the
                                     default one */
    adz_loader_progress progress; /**< called after each batch; NULL for none */
    void *user;                   /**< handed to progress */
} adz_loader_options;

/** The defaults. */
#define ADZ_LOADER_OPTIONS                                             \
    {                                                                  \
        sizeof(adz_loader_options), 32, false, false, NULL, NULL, NULL \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_loader_options) as the caller knows it
 */
ADZ_API void adz_loader_options_init(adz_loader_options *options, size_t size);

/** The position of a loader. A loader that is set to it gives the same batches, bit for bit. */
typedef struct adz_loader_position {
    uint64_t epoch;                /**< epochs that have ended */
    int64_t batch;                 /**< batches drawn in the current epoch; 0 between epochs */
    adz_generator_state order;     /**< the state from which the current epoch's order was drawn */
    adz_generator_state generator; /**< the current state of the generator */
} adz_loader_position;

/**
 * Makes a loader.
 *
 * @param dataset  the rows to load; the loader keeps a reference
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_loader_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY
 * @see            torch.utils.data.DataLoader
 */
ADZ_API adz_loader *adz_loader_new(adz_dataset *dataset, const adz_loader_options *options);

/**
 * Ends a loader.
 *
 * @param loader  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_loader_free(adz_loader **loader);

/**
 * The number of batches of an epoch.
 *
 * @param loader  any
 * @return        0 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_loader_batches(adz_loader *loader);

/**
 * Draws the next batch. After the last batch of an epoch it returns false once, and the call after
 * that begins another epoch.
 *
 * @param loader  any
 * @param batch   receives one tensor per tensor of the dataset, [rows, ...], contiguous, borrowed
 *                from the scope
 * @return        true with a batch; false at the end of the epoch; false with ADZ_ERR_NULL,
 *                ADZ_ERR_MEMORY or ADZ_ERR_CANCELLED recorded, and then nothing was drawn
 */
ADZ_API bool adz_loader_next(adz_loader *loader, adz_tensor **batch);

/**
 * Reads the position of a loader.
 *
 * @param loader    any
 * @param position  filled
 * @return          ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_loader_get_position(adz_loader *loader, adz_loader_position *position);

/**
 * Sets the position of a loader, also to the middle of an epoch, and the state of its generator.
 *
 * @param loader    a loader over the rows, and with the options, of the loader whose position was
 *                  read
 * @param position  from adz_loader_get_position
 * @return          ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the epoch has no such batch) or
 *                  ADZ_ERR_MEMORY; after a failure the position is unchanged
 */
ADZ_API adz_status adz_loader_set_position(adz_loader *loader, const adz_loader_position *position);

#ifdef __cplusplus
}
#endif

#endif
