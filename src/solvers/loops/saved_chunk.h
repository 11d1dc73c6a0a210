/* What the two calls of steps that are computed again share: see checkpoint.c. */
#ifndef ADZI_SOLVERS_LOOPS_SAVED_CHUNK_H
#define ADZI_SOLVERS_LOOPS_SAVED_CHUNK_H

#include "autograd/listener.h"
#include "autograd/op.h"
#include "base/random_generator.h"
#include "solvers/loops/checkpoint.h"

/** Everything that the backward needs to repeat the steps. The inputs of the node are the carries,
 * the inputs of the steps, and the tensors that the body has used beside these. */
typedef struct adzi_saved_chunk {
    adz_loop_body body;
    void *user;
    size_t n_carries, n_inputs, n_results;
    int64_t begin, n;
    int n_edges;        /* inputs of the node */
    uint16_t *position; /* output k of the chunk is this result of the node, counted from 1; 0 if it
                           is a tensor that the body has not made */
    size_t n_positions;
    adzi_draws draws;
    adz_generator_state later[ADZI_MOST_DRAWN]; /* of the drawn generators, before the backward */
} adzi_saved_chunk;

/** Hears what the body uses. It belongs to a tensor of the scope, so it ends when the body is left
 * by a jump. */
typedef struct adzi_ear {
    adzi_listener listener;
    adzi_saved_chunk *saved; /* of the first call, until the node has it */
    bool draws;              /* saved->draws is open */
    adz_tensor **tensors;    /* first call: with a gradient, each once; retained */
    size_t n, capacity;
    bool refused;          /* memory for them was refused */
    const adzi_node *node; /* second call: the node of the first one */
    uint64_t sequence;     /* of the newest node before */
    bool strange;          /* the body uses a tensor that it did not use before */
} adzi_ear;

/** A new ear, which belongs to the scope. NULL with the error recorded. */
adzi_ear *adzi_ear_new(void (*hears)(adzi_listener *listener, adz_tensor *const *in, int n));

void adzi_ear_listen(adzi_ear *ear);

/** Ends what adzi_ear_listen has begun, and the list of draws if it is open. */
void adzi_ear_end(adzi_ear *ear);

/** Gives step k of the n of a chunk its inputs, and calls the body. `number` is that of the step in
 * the scan. */
bool adzi_loop_chunk_step(
    adzi_loop *loop, adz_tensor *const *x, int64_t n, int64_t k, int64_t number);

/** The backward of the node of a chunk. */
adz_status adzi_loop_chunk_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
