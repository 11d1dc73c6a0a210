/* A model in training, on the ranks of a group, on one rank alone, or without any group. */
#ifndef ADZE_BENCH_MPI_TRAINER_H
#define ADZE_BENCH_MPI_TRAINER_H

#include "adze/adze.h"
#include "bench.h"

enum { GPT2, W3 };
enum { ADAMW, SGD };

typedef struct {
    int model;                                           /* GPT2 or W3 */
    int64_t layers, width, heads, context, vocabulary;   /* of GPT-2 */
    int64_t rows, micro_batches, threads, bucket, steps; /* of the batch; bucket: bytes */
    int optimizer;
    bool shard, fast;
} settings;

typedef struct {
    const settings *s;
    adz_group *group; /* NULL: an ordinary loop that adds up the gradients of micro-batches */
    adz_module *module;
    adz_data_parallel *parallel;
    adz_optimizer *optimizer;
    adz_tensor *x, *y; /* all rows of the batch */
    int64_t rows, micro_batches, steps;
    bool last; /* the running backward is that of the last micro-batch */
    double first_bucket;
} trainer;

/* Seconds of one step. */
typedef struct {
    double gradients; /* from the begin until the gradients of the whole batch are complete */
    double optimizer;
    double first; /* from the begin until the first bucket can travel */
} times;

/**
 * Makes a model and its data.
 *
 * @param group          NULL for a loop without adz_data_parallel
 * @param rows           of the batch of all ranks of `group`
 * @param micro_batches  of that batch
 */
void trainer_begin(
    trainer *t, const settings *s, adz_group *group, int64_t rows, int64_t micro_batches);

/* Makes the optimizer. Before it the gradients must have been computed once, so that what it
 * allocates can be told from what a backward allocates. */
void trainer_add_optimizer(trainer *t);

/* Computes the gradients of one batch, without a step of the optimizer. */
times trainer_gradients(trainer *t);

/* One step of training. */
times trainer_step(trainer *t);

/* Sends gradients that nobody has computed, as a step sends them. Returns the seconds. */
double trainer_send(trainer *t);

/* Bytes of the gradients of all parameters. */
int64_t trainer_gradient_bytes(const trainer *t);

void trainer_end(trainer *t);

#endif
