/* A module that trains data-parallel, and its gradients set by hand. */
#ifndef ADZE_TESTS_DISTRIBUTED_PARALLEL_H
#define ADZE_TESTS_DISTRIBUTED_PARALLEL_H

#include "../optim/optimizers/cases.h"
#include "distributed/shard.h"
#include "ranks.h"

enum { LAYERS = 4, PARAMETERS = 2 * LAYERS };

/** A module of f32 and f64 layers with odd sizes, whose last layer is frozen. An optimizer has the
 * parameters in two groups. */
typedef struct training {
    adz_module *model;
    adz_tensor *w[PARAMETERS];
    adz_data_parallel *parallel; /* NULL without one */
    adz_optimizer *optimizer;
} training;

/** Makes the model and, if `group` is not NULL, its layout. */
training training_new(adz_group *group);
void training_end(training *t);

/** Makes an optimizer of all parameters but the frozen ones and those of the layer before. */
void training_optimizer(training *t, const optimizer_case *which);

/** Adds the remaining parameters as a group with another rate. */
void training_second_group(training *t);

/** Sets the gradients of a step. In some steps some parameters have none. */
void training_gradients(training *t, int step);

/** Sets the gradients and makes a step. */
adz_status training_step(training *t, int step);

/** Bytes of the states of the optimizer on this rank. */
size_t training_state_bytes(const training *t);

/** Whether all parameters have equal bits. */
bool training_equal(const training *a, const training *b);

#endif
