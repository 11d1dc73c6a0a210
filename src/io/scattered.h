/* The tensors of a checkpoint that do not lie on rank 0 alone, and how they come to its file. */
#ifndef ADZI_IO_SCATTERED_H
#define ADZI_IO_SCATTERED_H

#include "distributed/shard.h"
#include "io/checkpoint.h"
#include "io/safetensors.h"

/* Note [Saving from many ranks]
 *
 * Rank 0 writes the one file. Two kinds of tensors lie on other ranks, too: states of a divided
 * optimizer, of which each rank has a part, and values that modules carry from call to call, which
 * lie on the rank of their micro-batch. All ranks list these tensors in the order of the file. When
 * the turn of one has come, rank 0 receives its parts from the other ranks, which send them in this
 * order. So rank 0 holds one whole tensor at a time.
 *
 * The protocol has three agreements. The first compares the calls. Then the ranks tell each other
 * the shapes of the carried values. After the second one all memory is there and all ranks send. If
 * rank 0 fails while it writes, it receives what is left and throws it away. The third agreement
 * tells all ranks how it ended.
 */

/** The dtype and shape of a carried value, as the ranks tell each other. */
typedef struct adzi_carried {
    int64_t dtype; /* -1: nothing is carried */
    int64_t rank, sizes[ADZ_MAX_RANK];
} adzi_carried;

/** One tensor: a state if `parameter` is not NULL, else a carried value. */
typedef struct adzi_scattered {
    const adz_tensor *parameter;
    size_t index;           /* the number of the parameter, or of the carried buffer */
    int which;              /* the number of the state, or the micro-batch */
    const adz_tensor *here; /* this rank's part, contiguous; NULL if it has none */
    size_t item, bytes;     /* of one element, and of all */
} adzi_scattered;

typedef struct adzi_gathering {
    adzi_later later; /* the first member; for rank 0's writer */
    const char *op;
    adz_data_parallel *parallel;
    const adzi_sharding *sharding; /* NULL if the optimizer is not divided, or there is none */
    const adz_optimizer *optimizer;
    size_t n_carried;      /* per micro-batch */
    adzi_carried *carried; /* [micro_batches * n_carried] */
    size_t *begin;         /* [ranks + 1], bytes of `carried` */
    adzi_scattered *items; /* in the order of the file */
    size_t count, capacity;
    size_t next; /* the item whose turn is next */
    char *room;  /* rank 0: for the largest item */
    size_t room_bytes;
} adzi_gathering;

/** Prepares this rank's part. Sends nothing. If memory is refused, the error is recorded, and the
 * agreement that follows fails on all ranks. adzi_gathering_end follows in either case. */
void adzi_gathering_begin(const char *op, adzi_gathering *g, const adz_checkpoint *checkpoint);

/** Exchanges the shapes of carried values, if there are any. Only the transport can fail. */
adz_status adzi_gathering_shapes(adzi_gathering *g);

/** Lists the tensors, and on rank 0 takes the memory for them. If it is refused, the error is
 * recorded. */
void adzi_gathering_list(adzi_gathering *g);

/** On rank 0: adds the carried values to the collection, and marks all tensors of the list as those
 * that come later. */
adz_status adzi_gathering_add(adzi_gathering *g, adz_safetensors *file);

/** Sends this rank's parts of all tensors, or receives and drops the ones that rank 0's writer has
 * not asked for. A failure of the transport is recorded. */
void adzi_gathering_finish(adzi_gathering *g);

void adzi_gathering_end(adzi_gathering *g);

#endif
