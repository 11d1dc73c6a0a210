/**
 * @file plan.h
 * Capture of a step: a function is captured once as a list of kernel launches, and then run again
 * without the work around them (PyTorch: torch.cuda.CUDAGraph).
 *
 * The function computes a forward or a whole training step on tensors that exist before the call.
 * The caller writes other contents into these tensors and calls adz_plan_run. Each run has the bits
 * of an ordinary call: random numbers go on, the learning rate and the optimizer's state are read
 * when the kernels run, and indices are checked again.
 *
 * @code
 * typedef struct { adz_module *model; adz_optimizer *optimizer; adz_tensor *x, *y; } training;
 *
 * static adz_tensor *step(void *user)
 * {
 *     training *t = user;
 *     adz_tensor *loss =
 *         adz_mse_loss(adz_module_forward(t->model, t->x), t->y, ADZ_REDUCE_MEAN);
 *     if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(t->optimizer) != ADZ_OK) {
 *         return NULL;
 *     }
 *     adz_optimizer_zero_grad(t->optimizer); // the gradients end with the step
 *     return loss;
 * }
 *
 * static void train(training *t, const float *inputs, const float *targets)
 * {
 *     adz_plan *plan = adz_plan_new(step, t, NULL); // makes the first step
 *     for (int i = 1; i < 1000 && plan != NULL; ++i) {
 *         adz_tensor_write(t->x, inputs + i * 64, 64 * sizeof(float));
 *         adz_tensor_write(t->y, targets + i * 16, 16 * sizeof(float));
 *         adz_plan_run(plan);
 *         printf("%g\n", adz_item(adz_plan_output(plan)));
 *     }
 *     adz_plan_free(&plan);
 * }
 * @endcode
 *
 * Gradients take less memory if the function sets them to none after the step, as the example does,
 * and not before the next backward. Replays then update a parameter as soon as its gradient is
 * complete and its old value is no longer read, so that few gradients are in memory at one time
 * (PyTorch: an optimizer step in the backward). The bits do not change. Clipping by the norm needs
 * all gradients at once (adz_clip_grads).
 *
 * A run repeats the calls of adze that the function makes. Code of the function between these calls
 * does not run again, so the calls have to be the same ones each time:
 *
 * - Numbers that the function passes to a call, and elements that it writes into a new tensor
 *   (adz_tensor_from), are constants of the plan. If they differ between the two calls of a
 *   capture, the plan is refused with an error that names the call. Put a value that changes into
 *   a tensor, and write the tensor before each run.
 * - A call that gives elements to the program or takes them, that is seen outside the program, or
 *   that makes an object such as a module or an optimizer, is an error that names the call. So are
 *   the next batch of a loader, hooks, saving, and collectives of several processes. Operators,
 *   modules, backward, steps, factories and random numbers are repeated.
 *
 * With ADZ_SITES the errors name the source line, too.
 */
#ifndef ADZE_PLAN_H
#define ADZE_PLAN_H

#include "adze/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A function that was captured. One thread uses it at a time. */
typedef struct adz_plan adz_plan;

/**
 * Computes a forward or a step.
 *
 * @param user  what adz_plan_new was given
 * @return      the result, such as a prediction or a loss, borrowed from a scope that is open
 *              around the call; NULL with the error recorded
 */
typedef adz_tensor *(*adz_plan_function)(void *user);

/**
 * Computes a forward or a step with several results, such as the boxes and scores of a detector, or
 * a prediction and the next state of a recurrent network (PyTorch: a function that returns a
 * tuple).
 *
 * @param results  room for as many as adz_plan_new_many was given, all NULL. The function fills
 *                 it with tensors that are borrowed from a scope open around the call
 * @param user     what adz_plan_new_many was given
 * @return         ADZ_OK; else an error, which the function or the call that failed has recorded
 */
typedef adz_status (*adz_plan_results_function)(adz_tensor **results, void *user);

/** Options of adz_plan_new and adz_plan_new_many. Start from ADZ_PLAN_OPTIONS. Inputs and names
 * serve the exports of a plan. */
typedef struct adz_plan_options {
    size_t size;            /**< sizeof(adz_plan_options) */
    adz_tensor_list inputs; /**< the tensors whose contents change from run to run, kept; none */
    const char *const *input_names; /**< a name for each input, copied; NULL: "input" for a single
                                         one, else "input0", "input1" and so on */
    adz_module *module; /**< names parameters and buffers as its state_dict does, kept; NULL: they
                             are "constant0" and so on */
    bool pack_weights;  /**< copies parameters of `module` once, in the order in which products read
                             them, instead of in each run; false. It serves inference: weights that
                             the function updates are left out. The copies take as much memory as
                             the weights. After a weight was written, the next run calls the
                             function, and new copies are made. Products of OpenBLAS, of
                             so few rows that the weight is read where it lies, and of weights in
                             half precision have none. What depends on weights alone, such as the
                             order in which a recurrent layer reads its matrix, is computed once,
                             too. No bit changes. */
    const char *const *result_names; /**< a name for each result, copied; NULL: "output" for a
                                          single one, else "output0", "output1" and so on. Given
                                          names are not empty and differ from one another and from
                                          those of the inputs */
    bool restore; /**< puts back what making the plan has changed; false. The call of the function
                       by adz_plan_new then leaves weights, gradients, optimizers, buffers,
                       generators and all other tensors as they were, also if it fails. Set it for
                       a training step that is only exported, and if the tensors hold no batch yet.
                       What the function sets, such as a mode, stays. A step of a scheduler and more
                       than 16 generators are refused */
} adz_plan_options;

/** The defaults. */
#define ADZ_PLAN_OPTIONS                                                             \
    {                                                                                \
        ADZ_MEMBER(size, sizeof(adz_plan_options)), ADZ_MEMBER(inputs, { NULL, 0 }), \
            ADZ_MEMBER(input_names, NULL), ADZ_MEMBER(module, NULL),                 \
            ADZ_MEMBER(pack_weights, false), ADZ_MEMBER(result_names, NULL),         \
            ADZ_MEMBER(restore, false)                                               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_plan_options) as the caller knows it
 */
ADZ_API void adz_plan_options_init(adz_plan_options *options, size_t size);

/**
 * Makes a plan of a function and runs it for the first time, which is an ordinary call. The first
 * adz_plan_run is an ordinary call, too: only launches that two calls in a row have made become a
 * plan. A training step is therefore made once by this function and once by each run. It trains on
 * what the tensors hold at that moment: write the first batch before, or set the option `restore`,
 * with which the step is undone. The first two runs are ordinary calls then.
 *
 * @param function  computes the result; it is called again when the plan has to capture again
 * @param user      handed to the function
 * @param options   NULL for the defaults
 * @return          yours, end it with adz_plan_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an
 *                  option), ADZ_ERR_STATE (the function cannot be captured; or it returned NULL
 *                  without an error; or it changes what `restore` cannot put back),
 *                  ADZ_ERR_MEMORY, or the error of the function
 * @see             torch.cuda.CUDAGraph, torch.compile
 */
ADZ_API adz_plan *adz_plan_new(
    adz_plan_function function, void *user, const adz_plan_options *options);

/**
 * Makes a plan of a function with several results, as adz_plan_new does for one.
 *
 * @code
 * typedef struct { adz_module *gru; adz_tensor *x, *state; } recurrent;
 *
 * static adz_status advance(adz_tensor **results, void *user)
 * {
 *     recurrent *r = user;
 *     adz_values *all = adz_values_new();
 *     results[0] = ADZ_CALL_RESULTS(r->gru, all, { NULL, r->x }, { "h0", r->state }); // y
 *     results[1] = adz_values_get(all, "h");
 *     adz_values_free(&all);
 *     return results[0] != NULL ? ADZ_OK : adz_error_code();
 * }
 *
 * static adz_plan *plan_of(recurrent *r)
 * {
 *     static const char *const names[] = { "y", "next" };
 *     adz_plan_options o = ADZ_PLAN_OPTIONS;
 *     o.result_names = names;
 *     return adz_plan_new_many(advance, r, 2, &o);
 * }
 * @endcode
 *
 * Any tensor may be a result, also one that the function has not made, such as an input or a
 * parameter; one that is a view of another result; and one that is returned twice. A result that
 * shares memory with an input or a parameter shows what lies there after the run.
 *
 * @param function   computes the results; it is called again when the plan has to capture again
 * @param user       handed to the function
 * @param n_results  1 to 1024
 * @param options    NULL for the defaults
 * @return           as adz_plan_new. ADZ_ERR_ARGUMENT is also the error of n_results and of a name,
 *                   and ADZ_ERR_STATE that of a function which leaves a result NULL or returns an
 *                   error that is not recorded
 * @see              torch.cuda.CUDAGraph, torch.compile
 */
ADZ_API adz_plan *adz_plan_new_many(adz_plan_results_function function, void *user,
    size_t n_results, const adz_plan_options *options);

/**
 * Runs the function once more, by replaying its launches if nothing has changed since they were
 * captured. Otherwise the function is called, and the next run captures it again. That happens
 * after
 *
 * - memory that the launches use was freed, such as that of a parameter or an input, or of
 *   gradients that were set to none outside the function;
 * - the number of threads, the precision of products, the context, a mode, a hook, a parameter's
 *   memory or an option of an optimizer other than a rate changed;
 * - a parameter was frozen, or wants a gradient again;
 * - a leaf whose gradient the function uses has got another one, such as from a backward outside;
 * - a module's hidden state was reset, selected or replaced outside.
 *
 * In anomaly mode (adz_set_anomaly_enabled) the host looks at every result, so each run calls the
 * function.
 *
 * Tensors that the function makes and that live on (gradients, a tensor that was kept) get new
 * contents in each run. Until a run computes them, their memory serves other tensors of the run, so
 * after an error they hold nothing of value. Everything else that the function makes lies in memory
 * that the next run uses again.
 *
 * @param plan  any
 * @return      ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_STATE if a captured function runs a plan, or if the
 *              last four calls of the function differed: this run has done nothing then, and the
 *              runs before were ordinary calls; or the error of the function, such as
 *              ADZ_ERR_INDEX
 */
ADZ_API adz_status adz_plan_run(adz_plan *plan);

/** Options of adz_plan_run_batches. Start from ADZ_PLAN_BATCHES_OPTIONS. */
typedef struct adz_plan_batches_options {
    size_t size;       /**< sizeof(adz_plan_batches_options) */
    adz_tensor *order; /**< int64 [M], the rows of the data in the order in which batches take them,
                            such as adz_randperm(N); NULL: 0, 1, ..., N-1 */
    bool drop_last;    /**< leaves the last rows out if they fill no batch; false: an error */
} adz_plan_batches_options;

/** The defaults. */
#define ADZ_PLAN_BATCHES_OPTIONS                                                     \
    {                                                                                \
        ADZ_MEMBER(size, sizeof(adz_plan_batches_options)), ADZ_MEMBER(order, NULL), \
            ADZ_MEMBER(drop_last, false)                                             \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_plan_batches_options) as the caller knows it
 */
ADZ_API void adz_plan_batches_options_init(adz_plan_batches_options *options, size_t size);

/**
 * Runs a plan once for each batch of a set of data: an epoch of training steps in one call (JAX:
 * jax.lax.scan over batches).
 *
 * @code
 * // The mean loss of an epoch over xs[N, D] and ys[N, 1], shuffled. x and y hold a batch each, and
 * // are the inputs of the plan.
 * static double epoch(adz_plan *plan, adz_tensor *xs, adz_tensor *ys)
 * {
 *     adz_plan_batches_options o = ADZ_PLAN_BATCHES_OPTIONS;
 *     o.order = adz_randperm(adz_tensor_size(xs, 0));
 *     o.drop_last = true;
 *     adz_tensor *losses;
 *     if (adz_plan_run_batches(plan, (adz_tensor *[]){ xs, ys }, 2, &o, &losses) != ADZ_OK) {
 *         return NAN;
 *     }
 *     return adz_item(adz_mean(losses, ADZ_ALL_DIMS, ADZ_DROPDIM));
 * }
 * @endcode
 *
 * Batch s has the rows s B to (s + 1) B - 1 of the data, or of the order. They are written into the
 * plan's inputs, which keep the last batch, and then adz_plan_run is called. So weights, states of
 * optimizers, steps of schedules in the function, random numbers and all results have the bits of
 * separate calls.
 *
 * @param plan     any, with inputs in its options. adz_plan_new has made a step already, unless it
 *                 was given `restore`
 * @param data     n_data tensors, one for each input in their order: data[N, ...] for an input [B,
 *                 ...], data[S] for an input that is a scalar, which the order does not change, or
 * ADZ_NONE for one that stays as it is. The number of batches is N / B, or M / B with an order, and
 * equal for all. Dtypes are those of the inputs. Data and inputs share no memory
 * @param n_data   the number of the plan's inputs, 1 or more
 * @param options  NULL for the defaults
 * @param results  receives for each result of the plan those of all batches, [S, ...] for a result
 *                 [...], borrowed and without a graph; untouched on failure. NULL if they are not
 *                 wanted
 * @return         ADZ_OK; ADZ_ERR_NULL; with nothing done ADZ_ERR_ARGUMENT (n_data, no number of
 *                 batches, shared memory), ADZ_ERR_SHAPE (a row, an incomplete batch, numbers of
 *                 batches that differ, an input that is not contiguous), ADZ_ERR_DTYPE,
 *                 ADZ_ERR_INDEX (the order), ADZ_ERR_MEMORY; or the error of adz_plan_run, which
 *                 names the batch: the batches before it are done
 * @see            jax.lax.scan
 */
ADZ_API adz_status adz_plan_run_batches(adz_plan *plan, adz_tensor *const *data, size_t n_data,
    const adz_plan_batches_options *options, adz_tensor **results);

/**
 * The result of the last run, or the first one of several.
 *
 * @param plan  any
 * @return      the plan's: adz_keep it to hold it longer, and clone it to keep its contents. It has
 *              no graph. NULL with ADZ_ERR_NULL
 */
ADZ_API adz_tensor *adz_plan_output(const adz_plan *plan);

/**
 * One result of the last run.
 *
 * @param plan  any
 * @param k     below adz_plan_result_count
 * @return      the plan's, as adz_plan_output, which gives result 0; NULL with ADZ_ERR_INDEX or
 *              ADZ_ERR_NULL
 */
ADZ_API adz_tensor *adz_plan_result_at(const adz_plan *plan, size_t k);

/**
 * The number of results.
 *
 * @param plan  any
 * @return      1 for a plan of adz_plan_new; 0 with ADZ_ERR_NULL
 */
ADZ_API size_t adz_plan_result_count(const adz_plan *plan);

/**
 * The name of one result.
 *
 * @param plan  any
 * @param k     below adz_plan_result_count
 * @return      the plan's; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL
 */
ADZ_API const char *adz_plan_result_name_at(const adz_plan *plan, size_t k);

/**
 * The norm that adz_clip_grads has computed in the last run.
 *
 * @param plan  any
 * @return      NaN if the function does not call adz_clip_grads; NaN with ADZ_ERR_NULL
 */
ADZ_API double adz_plan_grad_norm(const adz_plan *plan);

/** What a plan consists of. */
typedef struct adz_plan_info {
    size_t launches;     /**< kernels that a run launches */
    size_t tensors;      /**< blocks of memory that are made and freed within a run */
    size_t memory_bytes; /**< the one block for those that fit into no gradient. Known after
                              adz_plan_new; exact unless the next run makes other launches */
    size_t captures;     /**< how often the launches were captured and taken into use */
    bool captured;       /**< whether the next run replays launches, if nothing changes before it */
    size_t packed_bytes; /**< copies of weights, see pack_weights; 0 until a run replays them */
} adz_plan_info;

/**
 * Describes a plan.
 *
 * @param plan  any
 * @param info  filled
 * @param size  sizeof(adz_plan_info) as the caller knows it
 * @return      ADZ_OK or ADZ_ERR_NULL
 */
ADZ_API adz_status adz_plan_get_info(const adz_plan *plan, adz_plan_info *info, size_t size);

/**
 * Ends a plan. Tensors that its function has made and that live on keep their contents.
 *
 * @param plan  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_plan_free(adz_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
