/**
 * @file data_parallel.h
 * Data-parallel training (PyTorch: DistributedDataParallel): the ranks of a group train one model
 * together, each on its part of every batch.
 *
 * A batch is cut into M micro-batches, of which each rank computes a contiguous run. The gradient
 * of each micro-batch is computed alone. The M gradients are added along one binary tree, whichever
 * rank holds which, so the model has the same bits for any number of ranks from 1 to M.
 * docs/distributed.md says what else the bits depend on.
 *
 * @code
 * adz_group *group = adz_group_single(); // or adz_mpi_group_world(), with adze/mpi.h
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
 * adz_data_parallel *parallel = adz_data_parallel_new(group, model, NULL);
 * adz_tensor *x = adz_randn(ADZ_SHAPE(32, 4), ADZ_F32), *y = adz_ones(ADZ_SHAPE(32, 1), ADZ_F32);
 * for (int64_t step = 0; step < 10; ++step) {
 *     adz_micro_batch m;
 *     double loss;
 *     adz_data_parallel_begin(parallel, step, 32);
 *     while (adz_data_parallel_next(parallel, &m)) {
 *         adz_tensor *out = adz_module_forward(model, adz_narrow(x, 0, m.begin, m.count));
 *         adz_tensor *error = adz_mse_loss(out, adz_narrow(y, 0, m.begin, m.count),
 * ADZ_REDUCE_MEAN); adz_data_parallel_backward(parallel, error, m.weight);
 *     }
 *     adz_data_parallel_end(parallel, &loss);
 *     adz_data_parallel_step(parallel, sgd);
 * }
 * adz_data_parallel_free(&parallel);
 * adz_optimizer_release(&sgd);
 * adz_module_release(&model);
 * adz_group_free(&group);
 * @endcode
 */
#ifndef ADZE_DATA_PARALLEL_H
#define ADZE_DATA_PARALLEL_H

#include "adze/data/loader.h"
#include "adze/distributed.h"
#include "adze/nn.h"
#include "adze/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A module whose gradients are summed over the ranks of a group. */
typedef struct adz_data_parallel adz_data_parallel;

/** Options of adz_data_parallel_new. Start from ADZ_DATA_PARALLEL_OPTIONS. All but `generators` are
 * equal on all ranks. */
typedef struct adz_data_parallel_options {
    size_t size;       /**< sizeof(adz_data_parallel_options) */
    int micro_batches; /**< parts into which each batch is cut, at least the number of ranks and at
                          most 4096; 8. Results depend on this number, and not on that of the ranks
                        */
    uint64_t seed;     /**< with the step and the micro-batch it gives the state of each generator
                          before a micro-batch; 0 */
    adz_generator *const *generators; /**< the generators from which the model draws, NULL among
                                         them for the default one; NULL for the default one alone.
                                         The array is copied, the generators stay the caller's */
    size_t n_generators;              /**< 1 to 16; not used if `generators` is NULL */
    size_t bucket_bytes;              /**< gradients are sent in buckets of about this size, while
                                         the backward goes on; 25 MiB. Does not change a result */
    bool fast; /**< add up each rank's gradients, and hand buckets to the transport's own
                  all-reduce, if it has one. Results then depend on the number of ranks, in their
                  last bits; false */
} adz_data_parallel_options;

/** The defaults. */
#define ADZ_DATA_PARALLEL_OPTIONS                                                           \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_data_parallel_options)), ADZ_MEMBER(micro_batches, 8),  \
            ADZ_MEMBER(seed, 0), ADZ_MEMBER(generators, NULL), ADZ_MEMBER(n_generators, 0), \
            ADZ_MEMBER(bucket_bytes, (size_t)25 << 20), ADZ_MEMBER(fast, false)             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_data_parallel_options) as the caller knows it
 */
ADZ_API void adz_data_parallel_options_init(adz_data_parallel_options *options, size_t size);

/**
 * Makes a module train on all ranks of a group. Every rank calls it with an equal module.
 *
 * The ranks compare what bits depend on: the version of adze, the instruction set, the libraries
 * that multiply matrices, the options, and names, shapes and dtypes of parameters and buffers. Rank
 * 0's parameters and buffers are then copied to all ranks. The parameters are laid out in flat
 * buffers (adz_flat_parameters_new), so they cannot be converted or replaced meanwhile.
 *
 * While it exists, the module's training statistics (batch norm) and the values that it carries
 * from call to call (AWD-LSTM, Transformer-XL) belong to micro-batches. Call the module between
 * adz_data_parallel_next and the following call only, or in evaluation. Call adz_module_reset
 * between two steps on all ranks alike; inside a micro-batch it concerns that one.
 *
 * @param group    stays the caller's and ends after the result
 * @param module   kept; at least one parameter wants a gradient
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_data_parallel_free. NULL on every rank, with the module
 *                 unchanged, and ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (more ranks than micro-batches, an
 *                 option out of its range, a parameter that cannot be laid out), ADZ_ERR_STATE (the
 *                 ranks differ; the message names the first difference), ADZ_ERR_MEMORY, or an
 *                 error of the transport
 * @see            torch.nn.parallel.DistributedDataParallel
 */
ADZ_API adz_data_parallel *adz_data_parallel_new(
    adz_group *group, adz_module *module, const adz_data_parallel_options *options);

/**
 * Ends data-parallel training. The module keeps its parameters, gradients and buffers, and the
 * carried values of this rank's first micro-batch. Sends nothing.
 *
 * @param parallel  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_data_parallel_free(adz_data_parallel **parallel);

/** A part of a batch. */
typedef struct adz_micro_batch {
    int index;     /**< its number in the batch, 0 .. micro_batches-1 */
    int64_t begin; /**< its first row, counted in the batch of all ranks */
    int64_t first; /**< its first row, counted in this rank's part of the batch, which is what a
                      loader with equal `ranks` and `micro_batches` gives */
    int64_t count; /**< its rows, 1 or more */
    double weight; /**< count divided by the rows of the batch */
} adz_micro_batch;

/**
 * Begins a step: drops the gradients of all parameters, as adz_module_zero_grad does.
 *
 * @param parallel  between two steps. In a group of one rank a step that was left is given up
 * @param step      the number of the step, 0 or more, from which random numbers follow; equal on
 *                  all ranks
 * @param rows      rows of the batch of all ranks, at least as many as micro-batches; equal on all
 *                  ranks
 * @return          ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, or ADZ_ERR_STATE (parameters of the
 *                  module were added, removed or replaced; or, with several ranks, the step before
 *                  has not ended). The rank calls adz_data_parallel_end also after a failure
 */
ADZ_API adz_status adz_data_parallel_begin(adz_data_parallel *parallel, int64_t step, int64_t rows);

/**
 * Goes to this rank's next micro-batch. Sets the generators from seed, step and micro-batch.
 *
 * @param parallel  between begin and end
 * @param micro     filled
 * @return          true with a micro-batch; false after the last one, and with an error recorded or
 *                  pending
 */
ADZ_API bool adz_data_parallel_next(adz_data_parallel *parallel, adz_micro_batch *micro);

/**
 * Computes the gradient of a micro-batch: adz_backward of weight * loss. Gradients of the rank's
 * last micro-batch begin to travel while the backward goes on.
 *
 * @param parallel  after adz_data_parallel_next; at most one call per micro-batch
 * @param loss      a scalar, f32 or f64
 * @param weight    the loss's share in that of the batch. For a mean over rows it is the
 *                  micro-batch's own. For a mean over targets of which some are ignored, take the
 *                  sum of the losses, and 1 / (targets of the whole batch that are not ignored)
 * @return          ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_STATE or an error of adz_backward
 */
ADZ_API adz_status adz_data_parallel_backward(
    adz_data_parallel *parallel, adz_tensor *loss, double weight);

/**
 * Ends a step: afterwards each parameter's gradient is that of the whole batch, on all ranks.
 * Running statistics are updated with those of all micro-batches, in their order. The generators
 * continue from where they were before adz_data_parallel_begin.
 *
 * All ranks call it, a rank with an error recorded as well: the other ranks then get this error,
 * and none is left waiting.
 *
 * @param parallel  after adz_data_parallel_next has returned false
 * @param loss      NULL, or receives the sum of weight * loss over all micro-batches, on every rank
 * @return          ADZ_OK on every rank, or a failure on every rank, after which no parameter has a
 *                  gradient: the error of a rank, ADZ_ERR_STATE (micro-batches are missing, steps
 * or rows differ, or a parameter has a gradient from some micro-batches only), or the transport's
 * error
 */
ADZ_API adz_status adz_data_parallel_end(adz_data_parallel *parallel, double *loss);

/**
 * Leaves a step of a group of one rank without adz_data_parallel_end. The generators continue from
 * where they were before adz_data_parallel_begin, the module keeps what it carries from the
 * micro-batch that was computed last, and running statistics (batch norm) of the step are dropped.
 *
 * With one micro-batch it serves programs that make whole steps with a plan (adze/plan.h), which
 * holds no adz_data_parallel_backward. After adz_data_parallel_next the plan's function computes
 * loss and gradients, steps the optimizer and drops the gradients. The module gets the bits of a
 * step that is ended, because the micro-batch has its generators and carried values. Until
 * adz_data_parallel_backward is called, such a group puts no hooks on parameters, so a plan can
 * capture their gradients.
 *
 * @code
 * // A step on the plan's batch. The module has no batch norm.
 * static double replay(adz_data_parallel *parallel, adz_plan *plan, int64_t step, int64_t rows)
 * {
 *     adz_micro_batch m;
 *     adz_data_parallel_begin(parallel, step, rows);
 *     adz_data_parallel_next(parallel, &m);
 *     adz_plan_run(plan);
 *     adz_data_parallel_leave(parallel);
 *     return adz_item(adz_plan_output(plan));
 * }
 * @endcode
 *
 * @param parallel  in a step; between two steps nothing happens
 * @return          ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_STATE with several ranks, which wait for each
 *                  other in adz_data_parallel_end; or an error recorded before, with the step left
 */
ADZ_API adz_status adz_data_parallel_leave(adz_data_parallel *parallel);

/**
 * Divides the optimizer's state among the ranks (PyTorch: ZeroRedundancyOptimizer; stage 1 of
 * ZeRO). Rank r keeps the state of one slice of the flat parameters, about 1/n of it, and updates
 * these alone. adz_data_parallel_step then sends each slice to all ranks. Parameters get the bits
 * that they would get unsharded.
 *
 * All optimizers of the library can be sharded, several of one module too. Groups of parameters
 * that are added later are divided as well. A parameter that wanted no gradient when `parallel` was
 * made is updated as a whole by every rank. After adz_data_parallel_free the optimizer can make no
 * step any more.
 *
 * @param parallel   any
 * @param optimizer  has made no step, and has parameters of the module only; kept until
 *                   adz_data_parallel_free. Afterwards use adz_data_parallel_step
 * @return           ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_STATE (it has made a step, was loaded, or is
 *                   sharded; or the ranks differ); ADZ_ERR_ARGUMENT (a parameter that is not of the
 *                   module); ADZ_ERR_MEMORY; a failure on one rank is one on every rank
 */
ADZ_API adz_status adz_data_parallel_shard(adz_data_parallel *parallel, adz_optimizer *optimizer);

/**
 * Makes a step of an optimizer, sharded or not.
 *
 * @param parallel   after adz_data_parallel_end
 * @param optimizer  of parameters of the module
 * @return           ADZ_OK, an error of adz_optimizer_step, ADZ_ERR_STATE (a step has begun, or
 *                   adz_data_parallel_no_sync keeps the gradients; of a sharded optimizer also if
 *                   the ranks differ), or the transport's error; of a sharded optimizer a failure
 *                   on one rank is one on every rank, and no parameter has changed unless the
 *                   transport failed
 */
ADZ_API adz_status adz_data_parallel_step(adz_data_parallel *parallel, adz_optimizer *optimizer);

/**
 * With `fast`: keeps the gradients of the following steps on their ranks, where they add up
 * (PyTorch: DistributedDataParallel.no_sync). The first step after it was switched off sends the
 * sum. Without `fast` use more micro-batches instead, which has the same effect with the same bits.
 *
 * @param parallel  between two steps
 * @param no_sync   whether to keep gradients
 * @return          ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_STATE (not `fast`, or within a step)
 */
ADZ_API adz_status adz_data_parallel_no_sync(adz_data_parallel *parallel, bool no_sync);

/**
 * How many bytes of gradients this rank has sent in the last step.
 *
 * @param parallel  any
 * @return          0 or more; 0 with ADZ_ERR_NULL recorded
 */
ADZ_API uint64_t adz_data_parallel_bytes_sent(const adz_data_parallel *parallel);

#ifdef __cplusplus
}
#endif

#endif
