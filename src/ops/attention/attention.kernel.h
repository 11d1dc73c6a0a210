/* Arguments of the kernels attention and attention_backward.
 *
 * Note [Attention in blocks]
 * Scores exist for BLOCK queries and BLOCK keys at a time. The forward keeps, for each query, the
 * largest score m so far and the sum of e^(score - m). Whenever m changes, that sum and the
 * weighted sum of values are multiplied by e^(m_old - m_new) (Milakov and Gimelshein, 2018; Dao et
 * al., "FlashAttention", 2022). m and the reciprocal of the sum are saved, and the backward
 * computes the probabilities again from them.
 *
 * A unit is a worker, which has its own scratch memory. Workers take tasks off a common counter,
 * since a causal mask makes tasks unequal. A task of the forward is up to ADZI_ATTENTION_GROUP
 * queries of one item (one matrix of the batch). A task of the backward is one item. Within a task
 * blocks are summed in order, so the bits depend on the shapes alone.
 */
#ifndef ADZI_OPS_ATTENTION_ATTENTION_KERNEL_H
#define ADZI_OPS_ATTENTION_ATTENTION_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "adze/random.h"
#include "base/threads/addresses.h"

enum {
    ADZI_ATTENTION_BLOCK =
        64, /* queries or keys of a block: as many as a Philox group has bits for dropout */
    ADZI_ATTENTION_GROUP = 256, /* queries of a task of the forward */
    ADZI_ATTENTION_PAD = 16     /* rows in scratch memory have a multiple of so many elements:
                                 whole vectors at every instruction set */
};

/** A tensor as a batch of matrices. Strides are in elements, and 0 in broadcast dimensions. */
typedef struct adzi_attention_operand {
    void *data; /* NULL: the operand is absent, or its gradient is not wanted */
    int64_t row, column, batch[ADZ_MAX_RANK];
} adzi_attention_operand;

typedef struct adzi_attention_args {
    int batch_rank;
    int64_t batch[ADZ_MAX_RANK];
    int64_t batch_size;  /* matrices */
    int64_t l, s, e, ev; /* queries, keys, features of q and k, features of v */
    double scale;
    bool causal;
    adzi_attention_operand q, k, v; /* contiguous rows */
    adzi_attention_operand
        mask; /* bool, or the dtype of q; its broadcast dimensions have stride 0 */
    bool mask_is_bool;
    bool drops; /* dropout: by the mask `kept`, or drawn from `state` if that is NULL */
    adzi_attention_operand kept; /* bool */
    const adz_generator_state *state;
    int64_t row_words; /* adzi_attention_row_words */
    double keep;
    adzi_attention_operand y; /* contiguous rows, as all operands below */
    void *stats;              /* [batch_size, 2, l]: largest scores, 1 / sums; NULL: not wanted */
    adzi_attention_operand dy;
    adzi_attention_operand dq, dk, dv, dmask; /* dmask contiguous */
    char *scratch;                            /* of every worker */
    int64_t scratch_size;                     /* bytes of one */
    int64_t workers;
    int64_t tasks;
    _Atomic(int64_t) *next_task; /* in front of the scratch memory; attention_begin sets it to 0 */
} adzi_attention_args;

ADZI_ADDRESSES(adzi_attention_args, q.data, k.data, v.data, mask.data, kept.data, state, y.data,
    stats, dy.data, dq.data, dk.data, dv.data, dmask.data, scratch, next_task);

/** The length in scratch memory of a row of n elements. */
static inline int64_t adzi_attention_padded(int64_t n)
{
    return (n + ADZI_ATTENTION_PAD - 1) / ADZI_ATTENTION_PAD * ADZI_ATTENTION_PAD;
}

#endif
