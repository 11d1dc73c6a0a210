/* Optimizers whose state is divided among the ranks. */
#ifndef ADZI_DISTRIBUTED_SHARD_H
#define ADZI_DISTRIBUTED_SHARD_H

#include "distributed/data_parallel.h"
#include "optim/optimizer.h"

/* Note [Slices of the optimizer's state]
 *
 * The flat parameters of each dtype are cut into one slice per rank, at boundaries of 64 bytes, so
 * that slices differ by 64 bytes at most. A rank keeps the states of the elements in its slice and
 * updates these. A parameter may lie in several slices. The kernels of all optimizers work element
 * by element, with numbers that follow from the settings and the count of steps. Every rank counts
 * the steps of all parameters, so the bits are those of an optimizer that is not divided.
 *
 * A parameter of the module that is not laid out, because it wanted no gradient, is updated as a
 * whole by every rank.
 */

/** The slices of one optimizer. */
typedef struct adzi_sharding {
    adzi_shard shard; /* the optimizer points to it; the first member */
    adz_data_parallel *parallel;
    adz_optimizer *optimizer; /* one reference */
    size_t *bytes; /* of flat group g the slice of rank r has bytes [g * (ranks + 1) + r] up to the
                      next entry */
    size_t n_bytes;
    struct adzi_sharding *next;
} adzi_sharding;

/** What divides the state of an optimizer, or NULL if nothing does. */
adzi_sharding *adzi_sharding_of(const adz_optimizer *optimizer);

/** The part of a parameter that a rank updates. */
adzi_part adzi_sharding_part(const adzi_sharding *s, const adz_tensor *t, int rank);

/** Whether several ranks divide the states of this parameter. If not, every rank has all of them.
 */
bool adzi_sharding_divides(const adzi_sharding *s, const adz_tensor *t);

/** Ends the division of all optimizers of `parallel`. They can make no step any more. */
void adzi_shardings_end(adz_data_parallel *parallel);

#endif
