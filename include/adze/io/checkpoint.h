/**
 * @file checkpoint.h
 * Checkpoints: a whole training run in one file. A run that was interrupted continues from it with
 * the bits that it would have had.
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
 * adz_optimizer_release(&sgd);
 * adz_module_release(&model);
 * @endcode
 */
#ifndef ADZE_IO_CHECKPOINT_H
#define ADZE_IO_CHECKPOINT_H

#include "adze/data/loader.h"
#include "adze/data_parallel.h"
#include "adze/io/safetensors.h"
#include "adze/nn.h"
#include "adze/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The parts of a training run. Start from ADZ_CHECKPOINT and fill in the parts that the run has. A
 * part that is NULL is neither saved nor loaded. Give equal parts, made in the same way, to saving
 * and loading.
 */
typedef struct adz_checkpoint {
    size_t size;                      /**< sizeof(adz_checkpoint) */
    adz_module *model;                /**< its parameters and persistent buffers are saved */
    adz_optimizer *optimizer;         /**< its state and the settings of each group are saved */
    adz_scheduler *const *schedulers; /**< n_schedulers schedulers */
    size_t n_schedulers;              /**< 0 or more */
    adz_generator *const *generators; /**< n_generators generators; NULL among them is the default
                                         one, from which dropout draws unless told otherwise */
    size_t n_generators;              /**< 0 or more */
    adz_loader *loader;               /**< its position is saved, also in the middle of an epoch; it
                                         serves any number of ranks */
    int64_t epoch;               /**< the caller's count of epochs, 0 or more; set by loading */
    int64_t step;                /**< the caller's count of steps, 0 or more; set by loading */
    adz_data_parallel *parallel; /**< the data-parallel training that the run belongs to. The values
                                    that modules carry from call to call (AWD-LSTM, Transformer-XL)
                                    are saved for each micro-batch, and the state of an optimizer
                                    that adz_data_parallel_shard has divided is gathered. Saving and
                                    loading are collective then: all ranks call them, with equal
                                    parts */
    bool allow_nonfinite; /**< true saves weights that are NaN or infinite, too; false, the default,
                               refuses them, because they are most often those of a training that
                               went wrong. It does not matter for loading */
} adz_checkpoint;

/** A checkpoint without parts. */
#define ADZ_CHECKPOINT                                                                          \
    {                                                                                           \
        ADZ_MEMBER(size, sizeof(adz_checkpoint)), ADZ_MEMBER(model, NULL),                      \
            ADZ_MEMBER(optimizer, NULL), ADZ_MEMBER(schedulers, NULL),                          \
            ADZ_MEMBER(n_schedulers, 0), ADZ_MEMBER(generators, NULL),                          \
            ADZ_MEMBER(n_generators, 0), ADZ_MEMBER(loader, NULL), ADZ_MEMBER(epoch, 0),        \
            ADZ_MEMBER(step, 0), ADZ_MEMBER(parallel, NULL), ADZ_MEMBER(allow_nonfinite, false) \
    }

/**
 * Fills a checkpoint with ADZ_CHECKPOINT.
 *
 * @param checkpoint  filled
 * @param size        sizeof(adz_checkpoint) as the caller knows it
 */
ADZ_API void adz_checkpoint_init(adz_checkpoint *checkpoint, size_t size);

/**
 * Writes a run to a file, atomically: a failure or a crash leaves the old file.
 *
 * The file is in safetensors form. The tensors of the model are `model.<name>`, a tied one once.
 * The tensors of the optimizer are `state.<index>.<name>`, and its parameter groups are JSON in the
 * metadata. Schedulers, generators and the position of the loader are `scheduler.<i>`,
 * `generator.<i>` and `loader`. With `parallel` there are `carried.<micro-batch>.<name>`, and the
 * number of micro-batches and the seed in the metadata.
 *
 * With `parallel`, rank 0 alone writes the file. It holds one whole state tensor at a time in
 * addition to its own part. The file does not depend on the number of ranks: a run that was saved
 * on 4 ranks goes on with 1, 2, 3 or 7, whether its optimizer was divided or not.
 *
 * @param checkpoint  what to write
 * @param path        replaced if it exists
 * @return            ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_IO, ADZ_ERR_MEMORY,
 *                    ADZ_ERR_NUMERIC (a parameter is NaN or infinite, or a buffer or a state of the
 *                    optimizer is NaN), ADZ_ERR_STATE (the optimizer is divided and `parallel` is
 *                    not set, a step has begun, or the ranks differ), or an error of the transport;
 * after a failure the old file is unchanged. With `parallel` a failure on one rank is one on every
 *                    rank
 * @see               torch.save of a dict of state_dicts
 */
ADZ_API adz_status adz_checkpoint_save(const adz_checkpoint *checkpoint, const char *path);

/**
 * Restores a run from a file. All parts change or, after a failure, none.
 *
 * With `parallel` every rank reads the file, so it lies in a file system that all machines share.
 * Each rank takes its own part of a divided optimizer's state, and the carried values of its own
 * micro-batches. The run has the micro-batches and the seed with which the file was saved. Of a
 * file that was saved without `parallel` the carried values are left as they are.
 *
 * @param checkpoint  the parts to restore; its epoch and step are set
 * @param path        from adz_checkpoint_save
 * @return            ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_IO; ADZ_ERR_FORMAT (the file is no checkpoint);
 *                    ADZ_ERR_UNSUPPORTED (a dtype that adze does not have, or the position of a
 *                    loader that an earlier version saved); ADZ_ERR_STATE (the file lacks a part,
 * or has it with another kind or shape, another number of micro-batches or another seed; the
 * optimizer is divided and `parallel` is not set; a step has begun; or the ranks differ);
 * ADZ_ERR_ARGUMENT (the loader has another number of rows); ADZ_ERR_MEMORY; an error of the
 * transport; or the code of an error that is pending. With `parallel` a failure on one rank is one
 * on every rank
 */
ADZ_API adz_status adz_checkpoint_load(adz_checkpoint *checkpoint, const char *path);

/**
 * Copies a run into memory, under the names and with the metadata of adz_checkpoint_save. Use it to
 * go back to the best epoch, or to look at the state of an optimizer; adz_safetensors_to_memory
 * gives the bytes of the file.
 *
 * @param checkpoint  what to copy, without `parallel`
 * @return            yours, end it with adz_safetensors_free. Its tensors are copies, which later
 *                    steps do not change. NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                    ADZ_ERR_MEMORY, ADZ_ERR_UNSUPPORTED (`parallel` is set), or ADZ_ERR_NUMERIC
 *                    or ADZ_ERR_STATE as for adz_checkpoint_save, recorded
 * @see               copy.deepcopy of a dict of state_dicts
 */
ADZ_API adz_safetensors *adz_checkpoint_snapshot(const adz_checkpoint *checkpoint);

/**
 * Restores a run from memory. All parts change or, after a failure, none.
 *
 * @param checkpoint  the parts to restore, without `parallel`; its epoch and step are set
 * @param collection  from adz_checkpoint_snapshot, or of the same names; its tensors are
 *                    contiguous, share no memory with the parts, and are read and not kept
 * @return            ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_ARGUMENT (a tensor is not contiguous);
 *                    ADZ_ERR_UNSUPPORTED (`parallel` is set); or an error of
 *                    adz_checkpoint_load that does not come from a file or a transport
 * @see               torch.optim.Optimizer.load_state_dict
 */
ADZ_API adz_status adz_checkpoint_restore(
    adz_checkpoint *checkpoint, const adz_safetensors *collection);

#ifdef __cplusplus
}
#endif

#endif
