/* The elementwise update of a large parameter, computed block by block. */
#ifndef ADZI_OPTIM_FUSED_H
#define ADZI_OPTIM_FUSED_H

#include "adze/optim/type.h"
#include "tensor/tensor.h"

/** What an update would launch, put off until the parameter may change. */
typedef struct adzi_fused adzi_fused;

/** The tensors that an update reads. Those that are like w may be among its results. */
typedef struct adzi_fused_inputs {
    adz_tensor *w, *dw;
    adz_tensor *const *states; /* n_states, some of which may be ADZ_NONE */
    int n_states;
} adzi_fused_inputs;

/** Begins to put the launches of the calling thread off. NULL if the parameter is small, if the
 * thread captures or traces, or if memory was refused: the launches run at once then. */
adzi_fused *adzi_fused_begin(const adzi_fused_inputs *inputs);

/**
 * Ends what adzi_fused_begin has begun.
 *
 * @param results  of the type's `update`: the new parameter, then the new states
 * @param mark     what the scope held before the update
 * @return         whether adzi_fused_apply can compute the results that are like w. If not,
 *                 all launches have run
 */
bool adzi_fused_end(
    adzi_fused *fused, const adzi_fused_inputs *inputs, adz_tensor *const *results, size_t mark);

/** Whether the result that replaces `old` is one of those that adzi_fused_apply stores. */
static inline bool adzi_fused_stores(const adz_tensor *w, const adz_tensor *old)
{
    return old->numel == w->numel;
}

/** Computes the results, and stores them over the parameter and its states. */
void adzi_fused_apply(const adzi_fused *fused);

/** Ends it. NULL is allowed. */
void adzi_fused_free(adzi_fused *fused);

#endif
