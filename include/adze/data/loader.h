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
 * adz_dataset_release(&data);
 * @endcode
 *
 * A loader that shuffles visits the rows of an epoch in the order of adz_shuffle_index(seed, epoch,
 * rows, position). The order takes no memory. It does not depend on the batches, nor on how many
 * processes share them.
 *
 * Several processes that train one model (ranks) have a loader each, with equal options but for
 * `rank`. A batch of `batch_size` rows then belongs to all of them, and each loader gives out its
 * own contiguous part. Positions count rows of the whole order, so a position that was read on 4
 * ranks serves 1, 3 or 7.
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
    int64_t batch_size;           /**< rows per batch of all ranks together, 1 or more; 32 */
    bool shuffle;                 /**< whether each epoch has a new random order; false */
    bool drop_last;               /**< whether to leave out a last batch with fewer rows; false */
    adz_generator *generator;     /**< adz_loader_new draws the seed of the orders from it, if the
                                     loader shuffles; NULL for the default one */
    adz_loader_progress progress; /**< called after each batch; NULL for none */
    void *user;                   /**< handed to progress */
    int rank;                     /**< which part of each batch to give out, 0 .. ranks-1; 0 */
    int ranks;                    /**< processes that share each batch, 1 or more; 1 */
    int micro_batches;            /**< parts into which adz_loader_cut cuts each batch, `ranks` to
                                     batch_size; 0 for as many as ranks. Rank r of n gets the parts
                                     from adz_loader_cut(micro_batches, n, r) on */
} adz_loader_options;

/** The defaults. */
#define ADZ_LOADER_OPTIONS                                                                         \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_loader_options)), ADZ_MEMBER(batch_size, 32),                  \
            ADZ_MEMBER(shuffle, false), ADZ_MEMBER(drop_last, false), ADZ_MEMBER(generator, NULL), \
            ADZ_MEMBER(progress, NULL), ADZ_MEMBER(user, NULL), ADZ_MEMBER(rank, 0),               \
            ADZ_MEMBER(ranks, 1), ADZ_MEMBER(micro_batches, 0)                                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_loader_options) as the caller knows it
 */
ADZ_API void adz_loader_options_init(adz_loader_options *options, size_t size);

/**
 * The position of a loader. A loader that is set to it gives the same rows in the same order. It is
 * the same on every rank.
 */
typedef struct adz_loader_position {
    uint64_t seed;    /**< of the orders; 0 if the loader does not shuffle */
    uint64_t epoch;   /**< epochs that have ended */
    int64_t consumed; /**< rows of the epoch's order that all ranks together have drawn */
    int64_t rows;     /**< rows of the dataset */
} adz_loader_position;

/** The position of a batch in the epoch's order, and of the rank's part in the batch. */
typedef struct adz_loader_share {
    int64_t begin; /**< the first position of the batch of all ranks */
    int64_t rows;  /**< rows of the batch of all ranks */
    int64_t first; /**< rows of the batch before this rank's part */
    int64_t count; /**< rows of this rank's part: the first size of the tensors */
} adz_loader_share;

/**
 * Makes a loader.
 *
 * @param dataset  the rows to load; the loader keeps a reference
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_loader_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * (more ranks than micro-batches, more micro-batches than rows of a batch, no such rank) or
 * ADZ_ERR_MEMORY
 * @see            torch.utils.data.DataLoader, torch.utils.data.DistributedSampler
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
ADZ_API int64_t adz_loader_batch_count(const adz_loader *loader);

/**
 * Draws the next batch, or this rank's part of it. After the last batch of an epoch it returns
 * false once, and the call after that begins another epoch. Every rank gets the same number of
 * batches.
 *
 * @param loader  any
 * @param batch   receives one tensor per tensor of the dataset, [rows, ...], contiguous, borrowed
 *                from the scope; [0, ...] if a last batch has fewer rows than micro-batches and
 *                none is for this rank; NULL for each at the end of an epoch and after a failure
 * @return        true with a batch; false at the end of the epoch; false with ADZ_ERR_NULL,
 *                ADZ_ERR_MEMORY or ADZ_ERR_CANCELLED recorded, and then nothing was drawn
 */
ADZ_API bool adz_loader_next(adz_loader *loader, adz_tensor **batch);

/**
 * Reads where the last batch of adz_loader_next lies. Use it to weight a rank's loss by the rows of
 * the whole batch.
 *
 * @param loader  any
 * @param share   filled; zeros before the first batch and after adz_loader_set_position
 * @return        ADZ_OK or ADZ_ERR_NULL
 */
ADZ_API adz_status adz_loader_get_share(const adz_loader *loader, adz_loader_share *share);

/**
 * The first row of one of several contiguous parts: floor(rows * part / parts). Part k has the rows
 * from cut(rows, parts, k) to cut(rows, parts, k + 1) - 1; the sizes of two parts differ by at most
 * one. A loader cuts batches into micro-batches, and micro-batches into ranks, in this way.
 *
 * @param rows   0 or more
 * @param parts  1 or more
 * @param part   0 .. parts; `parts` gives `rows`
 * @return       0 .. rows; -1 with ADZ_ERR_ARGUMENT recorded
 */
ADZ_API int64_t adz_loader_cut(int64_t rows, int parts, int part);

/**
 * Gathers any rows of the current epoch's order, those of other ranks included. The position stays
 * as it is.
 *
 * @param loader  any
 * @param begin   the first position in the order, 0 .. rows of the dataset
 * @param n       rows, 0 or more, of which the last one lies in the order
 * @param batch   receives one tensor per tensor of the dataset, [n, ...], contiguous, borrowed from
 *                the scope
 * @return        ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_INDEX or ADZ_ERR_MEMORY, and then each is NULL
 */
ADZ_API adz_status adz_loader_get_rows(
    adz_loader *loader, int64_t begin, int64_t n, adz_tensor **batch);

/**
 * Reads the position of a loader.
 *
 * @param loader    any
 * @param position  filled
 * @return          ADZ_OK or ADZ_ERR_NULL
 */
ADZ_API adz_status adz_loader_get_position(const adz_loader *loader, adz_loader_position *position);

/**
 * Sets the position of a loader, also to the middle of an epoch, and the seed of its orders. Batch
 * size and ranks may differ from those of the loader whose position was read: the next batch begins
 * with the first row that was not drawn.
 *
 * @param loader    a loader over as many rows; one that does not shuffle leaves the seed alone
 * @param position  from adz_loader_get_position
 * @return          ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (another number of rows, or more rows
 *                  consumed than there are); after a failure the position is unchanged
 */
ADZ_API adz_status adz_loader_set_position(adz_loader *loader, const adz_loader_position *position);

#ifdef __cplusplus
}
#endif

#endif
