/**
 * @file checkpoint.h
 * A whole training run in one file, so that it can be cut off anywhere and go on with the same
 * bits.
 *
 * @code
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
 * adz_generator *generators[] = { NULL }; // the default one
 * adz_checkpoint run = ADZ_CHECKPOINT;
 * run.model = model;
 * run.optimizer = sgd;
 * run.generators = generators;
 * run.n_generators = 1;
 * FILE *earlier = fopen("run.checkpoint", "rb");
 * if (earlier != NULL) {
 *     fclose(earlier);
 *     adz_checkpoint_load(&run, "run.checkpoint"); // sets run.epoch
 * }
 * for (; run.epoch < 10;) {
 *     // the epoch's batches
 *     ++run.epoch;
 *     adz_checkpoint_save(&run, "run.checkpoint");
 * }
 * adz_optimizer_free(&sgd);
 * adz_module_free(&model);
 * @endcode
 */
#ifndef ADZE_IO_CHECKPOINT_H
#define ADZE_IO_CHECKPOINT_H

#include "adze/data/loader.h"
#include "adze/nn.h"
#include "adze/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a run consists of. Start from ADZ_CHECKPOINT and fill in what there is; a part that is NULL
 * is neither saved nor loaded. The same parts, made the same way, are given to both calls.
 */
typedef struct adz_checkpoint {
    size_t size;                      /**< sizeof(adz_checkpoint) */
    adz_module *model;                /**< parameters and persistent buffers */
    adz_optimizer *optimizer;         /**< state and settings of each group */
    adz_scheduler *const *schedulers; /**< n_schedulers of them */
    size_t n_schedulers;              /**< 0 or more */
    adz_generator *const *generators; /**< n_generators of them; NULL among them is the default one,
                                         which dropout draws from unless told otherwise */
    size_t n_generators;              /**< 0 or more */
    adz_loader *loader;               /**< its position, in mid-epoch too */
    int64_t epoch;                    /**< a number of the caller's, 0 or more; set by loading */
    int64_t step;                     /**< likewise */
} adz_checkpoint;

/** A checkpoint of nothing. */
#define ADZ_CHECKPOINT                                                   \
    {                                                                    \
        sizeof(adz_checkpoint), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, 0 \
    }

/**
 * Fills a checkpoint with ADZ_CHECKPOINT.
 *
 * @param checkpoint  filled
 * @param size        sizeof(adz_checkpoint) as the caller knows it
 */
ADZ_API void adz_checkpoint_init(adz_checkpoint *checkpoint, size_t size);

/**
 * Writes a run to a file, atomically: see adz_safetensors_save.
 *
 * The file is in safetensors form: the model's tensors as `model.<name>`, a tied one once; the
 * optimizer's as `state.<index>.<name>`, its parameter groups as JSON in the metadata; schedulers,
 * generators and the loader's position as `scheduler.<i>`, `generator.<i>` and `loader`.
 *
 * @param checkpoint  what to write
 * @param path        replaced if it exists
 * @return            ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_IO or ADZ_ERR_MEMORY; after a
 *                    failure the old file is as it was
 * @see               torch.save of a dict of state_dicts
 */
ADZ_API adz_status adz_checkpoint_save(const adz_checkpoint *checkpoint, const char *path);

/**
 * Restores a run from a file: all parts or, after a failure, none.
 *
 * @param checkpoint  the parts to restore; its epoch and step are set
 * @param path        from adz_checkpoint_save
 * @return            ADZ_OK; ADZ_ERR_NULL; the errors of adz_safetensors_load; ADZ_ERR_FORMAT (no
 *                    checkpoint); ADZ_ERR_STATE (a part that the file has not, or of another kind
 *                    or shape); ADZ_ERR_MEMORY; or the code of an error that is pending
 */
ADZ_API adz_status adz_checkpoint_load(adz_checkpoint *checkpoint, const char *path);

#ifdef __cplusplus
}
#endif

#endif
