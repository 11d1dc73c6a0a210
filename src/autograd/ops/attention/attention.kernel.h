/* Arguments of the kernels attention and attention_backward.
 *
 * Note [Attention in blocks]
 * Scores exist for BLOCK queries and BLOCK keys at a time. The forward keeps for each query the
 * largest score so far and the sum of what lies below it, and corrects the sum of values whenever
 * the largest changes (Milakov and Gimelshein 2018; Dao et al., "FlashAttention", 2022). It leaves
 * both numbers behind, from which the backward gets the same probabilities again.
 *
 * The units are workers, each with scratch memory of its own; they take tasks off a common counter:
 * up to ADZI_ATTENTION_GROUP queries of an item (a matrix of the batch) in the forward, an item in
 * the backward, where it sums over the blocks in their order. So the bits depend on the shapes
 * alone.
 */
#ifndef ADZI_AUTOGRAD_OPS_ATTENTION_ATTENTION_KERNEL_H
#define ADZI_AUTOGRAD_OPS_ATTENTION_ATTENTION_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "adze/random.h"

enum {
    ADZI_ATTENTION_BLOCK =
        64, /* queries or keys; Philox's group, of which dropout's mask is made */
    ADZI_ATTENTION_GROUP = 256, /* queries of a task */
    ADZI_ATTENTION_PAD = 16     /* rows in scratch memory are whole vectors at every level */
};

/** A tensor seen as a batch of matrices; strides in elements, 0 where it repeats. */
typedef struct adzi_attention_operand {
    void *data; /* NULL: not there */
    int64_t row, column, batch[ADZ_MAX_RANK];
} adzi_attention_operand;

typedef struct adzi_attention_args {
    int batch_rank;
    int64_t batch[ADZ_MAX_RANK];
    int64_t items, l, s, e, ev;
    double scale;
    bool causal;
    adzi_attention_operand q, k, v; /* columns side by side */
    adzi_attention_operand mask;    /* bool or T */
    bool mask_is_bool;
    bool drops; /* and then with `kept` or, where that is NULL, with a mask drawn from `state` */
    adzi_attention_operand kept; /* bool */
    const adz_generator_state *state;
    int64_t row_words; /* adzi_attention_row_words */
    double keep;
    adzi_attention_operand y; /* columns side by side, as those below */
    void *stats;              /* [items, 2, l]: largest scores, 1 / sums; NULL: not wanted */
    adzi_attention_operand dy;
    adzi_attention_operand dq, dk, dv, dmask; /* dmask contiguous */
    char *scratch;                            /* of every worker */
    int64_t scratch_size;                     /* bytes of one */
    int64_t workers;
    int64_t tasks;
    _Atomic(int64_t) *next_task; /* in front of the scratch memory; attention_begin sets it to 0 */
} adzi_attention_args;

/** Sets the counter of tasks to 0. A launch of its own before the other kernels; one unit. */
void adzi_attention_begin(const void *args, int64_t begin, int64_t end);

/** Rows of n elements as they stand in scratch memory. */
static inline int64_t adzi_attention_padded(int64_t n)
{
    return (n + ADZI_ATTENTION_PAD - 1) / ADZI_ATTENTION_PAD * ADZI_ATTENTION_PAD;
}

#endif
