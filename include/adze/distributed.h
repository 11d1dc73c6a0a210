/**
 * @file distributed.h
 * Groups of processes that train together (PyTorch: torch.distributed).
 *
 * A group has `size` ranks, numbered from 0. Each rank is a separate process and calls the same
 * collectives in the same order. A program on a single machine uses adz_group_single, so that a
 * training loop is written once. A program on many machines gets its group from libadze-mpi
 * (adze/mpi.h). docs/distributed.md shows how such programs are built and started.
 *
 * These rules hold for all collectives:
 *
 * - Every rank calls the collective. Before anything is sent, the ranks agree on the operation, the
 *   dtype, the shape and the options. If they differ, every rank gets an error that names the first
 *   difference, and no tensor has changed.
 * - If one rank cannot take part, because its tensor is NULL or its memory was refused, every rank
 *   gets an error that names this rank and its reason. A rank whose thread has an error recorded
 *   cannot take part either.
 * - Sums are added along one binary tree over the ranks. Every rank gets the same bits, and the
 *   bits do not depend on the order in which messages arrive.
 * - Tensors may have any layout.
 * - No gradient flows through a collective. A tensor that is written obeys the rules of in-place
 *   calls: a leaf that wants a gradient is written inside ADZ_NO_GRAD only.
 * - After an error of the transport itself the contents of the tensor that was to be written are
 *   undefined, and all later calls on the group fail.
 *
 * A group belongs to one thread at a time.
 *
 * @code
 * adz_group *group = adz_group_single();
 * adz_tensor *loss = adz_scalar(0.25, ADZ_F32);
 * adz_group_all_reduce(group, loss, ADZ_GROUP_MEAN);
 * if (adz_group_rank(group) == 0) {
 *     adz_tensor_print(loss, stdout);
 * }
 * adz_group_free(&group);
 * @endcode
 */
#ifndef ADZE_DISTRIBUTED_H
#define ADZE_DISTRIBUTED_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A group of processes (PyTorch: ProcessGroup). */
typedef struct adz_group adz_group;

/** How a reduction joins the elements of the ranks (PyTorch: ReduceOp). */
typedef enum adz_group_op {
    ADZ_GROUP_SUM = 0,  /**< the sum; integers wrap around, and of bools it is the logical or */
    ADZ_GROUP_MEAN = 1, /**< the sum divided by the number of ranks; f32 and f64 only */
    ADZ_GROUP_MAX = 2   /**< the largest; a NaN on any rank gives NaN */
} adz_group_op;

/* ---- what carries the messages -------------------------------------------------------------- */

/** Memory in which a transport keeps what it knows of one message that is under way. The message
 * ends when `test` or `wait` says so. The memory never moves before that. */
typedef struct adz_request {
    uint64_t words[4]; /**< for the transport's use; zeros before a message is started */
} adz_request;

/**
 * The functions that carry messages between the ranks of a group. libadze-mpi fills in such a
 * struct; a program can bring its own network.
 *
 * A function that returns an adz_status returns ADZ_OK, or records an error (adz_error_set) and
 * returns its code. A message has a sender, a receiver and a tag. It arrives whole. Messages with
 * equal sender, receiver and tag arrive in the order in which they were started. The receiver knows
 * the size. All functions are called on the thread that uses the group.
 */
typedef struct adz_transport {
    size_t size;      /**< sizeof(adz_transport) */
    const char *name; /**< what carries the messages and where, for error messages: "MPI on node7";
                         copied, cut to 95 bytes */
    int rank;         /**< the number of this process, 0 .. ranks-1 */
    int ranks;        /**< the number of processes, 1 or more */
    size_t largest;   /**< bytes of the largest message that it takes; adze cuts longer ones. 0 for
                         any size */

    /** Starts to send `bytes` bytes, 1 or more. They stay unchanged until the message has ended. */
    adz_status (*start_send)(
        void *user, const void *data, size_t bytes, int to, int tag, adz_request *request);

    /** Starts to receive `bytes` bytes, 1 or more, into memory that stays until the message has
     * ended. */
    adz_status (*start_receive)(
        void *user, void *data, size_t bytes, int from, int tag, adz_request *request);

    /** Says whether a message has ended, without waiting for it. */
    adz_status (*test)(void *user, adz_request *request, bool *done);

    /** Waits until a message has ended. */
    adz_status (*wait)(void *user, adz_request *request);

    /** Starts to join `count` elements of all ranks into every rank's `data`, in an order of the
     * transport's own. NULL if it has no such operation. `op` is ADZ_GROUP_SUM or ADZ_GROUP_MAX. */
    adz_status (*start_all_reduce)(void *user, void *data, size_t count, adz_dtype dtype,
        adz_group_op op, adz_request *request);

    /** Says whether messages can be carried. Each collective calls it first. NULL for always. */
    adz_status (*ready)(void *user);

    /** Ends the processes of all ranks, after it has printed the message. NULL if it cannot. */
    void (*abort)(void *user, int code, const char *message);

    /** Ends the transport, when its group ends. NULL if there is nothing to do. */
    void (*free)(void *user);
} adz_transport;

/* ---- groups --------------------------------------------------------------------------------- */

/**
 * A group of one rank. It sends nothing and needs no MPI.
 *
 * @return yours, end it with adz_group_free; NULL with ADZ_ERR_MEMORY
 */
ADZ_API adz_group *adz_group_single(void);

/**
 * A group over a transport. No message is sent.
 *
 * @param transport  copied. A group of one rank needs none of its functions. A group of several
 *                   ranks needs start_send, start_receive, test and wait.
 * @param user       handed to the transport's functions. After a failure it is still the caller's:
 *                   `free` was not called.
 * @return           yours, end it with adz_group_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or
 *                   ADZ_ERR_MEMORY
 */
ADZ_API adz_group *adz_group_new(const adz_transport *transport, void *user);

/**
 * Ends a group. Every rank calls it, and each waits for the others. Ranks that call another
 * collective meanwhile get an error that names the rank which has ended its group.
 *
 * @param group  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_group_free(adz_group **group);

/**
 * The number of this process in its group.
 *
 * @param group  any
 * @return       0 .. size-1; -1 with ADZ_ERR_NULL recorded
 * @see          torch.distributed.get_rank
 */
ADZ_API int adz_group_rank(const adz_group *group);

/**
 * The number of processes in a group.
 *
 * @param group  any
 * @return       1 or more; -1 with ADZ_ERR_NULL recorded
 * @see          torch.distributed.get_world_size
 */
ADZ_API int adz_group_size(const adz_group *group);

/**
 * This rank and its transport, for messages: "rank 2 of 4 (MPI on node7)".
 *
 * @param group  any
 * @return       a string that lives as long as the group; NULL with ADZ_ERR_NULL recorded
 */
ADZ_API const char *adz_group_name(const adz_group *group);

/* ---- collectives ---------------------------------------------------------------------------- */

/**
 * Copies one rank's tensor to all ranks, in place.
 *
 * @param group   any
 * @param tensor  x[...], any dtype; equal shapes and dtypes on all ranks
 * @param source  the rank whose elements are copied, 0 .. size-1
 * @return        ADZ_OK on every rank, or a failure on every rank: ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                (no such rank), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY,
 *                ADZ_ERR_STATE (the ranks call different operations), or the transport's error
 * @see           torch.distributed.broadcast
 */
ADZ_API adz_status adz_group_broadcast(adz_group *group, adz_tensor *tensor, int source);

/**
 * Joins the tensors of all ranks, element by element. Every rank's tensor becomes the result.
 *
 * For four ranks the sum is (x_0 + x_1) + (x_2 + x_3). For any number, neighbours are added first,
 * then neighbouring pairs, and so on; a rank without a neighbour waits for the next round.
 *
 * A rank sends about 2 (n-1)/n of the tensor's bytes if the tensor is large.
 *
 * @param group   any
 * @param tensor  x[...], f32, f64, i32, i64, u8 or bool; equal shapes and dtypes on all ranks
 * @param op      how elements are joined
 * @return        ADZ_OK on every rank, or a failure on every rank: ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                (no such operation), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE (half precision, or the mean of
 *                integers), ADZ_ERR_INPLACE, ADZ_ERR_MEMORY, ADZ_ERR_STATE, or the transport's
 *                error
 * @see           torch.distributed.all_reduce
 */
ADZ_API adz_status adz_group_all_reduce(adz_group *group, adz_tensor *tensor, adz_group_op op);

/**
 * Collects the tensors of all ranks on every rank.
 *
 * @param group   any
 * @param tensor  x[...], any dtype, rank 0 to 7; equal shapes and dtypes on all ranks
 * @return        y[size, ...], in the order of the ranks, contiguous, borrowed from the scope; NULL
 *                on every rank with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY,
 *                ADZ_ERR_STATE, or the transport's error
 * @see           torch.distributed.all_gather_into_tensor
 */
ADZ_API adz_tensor *adz_group_all_gather(adz_group *group, adz_tensor *tensor);

/**
 * Joins the tensors of all ranks, element by element, and gives rank r the slice r of the result.
 *
 * @param group   any
 * @param tensor  x[size, ...], f32, f64, i32, i64, u8 or bool, unchanged; equal shapes and dtypes
 *                on all ranks
 * @param op      how elements are joined, along the tree of adz_group_all_reduce
 * @return        y[...], contiguous, borrowed from the scope; NULL on every rank with ADZ_ERR_NULL,
 *                ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE (the first size is not the group's),
 *                ADZ_ERR_DTYPE, ADZ_ERR_MEMORY, ADZ_ERR_STATE, or the transport's error
 * @see           torch.distributed.reduce_scatter_tensor
 */
ADZ_API adz_tensor *adz_group_reduce_scatter(adz_group *group, adz_tensor *tensor, adz_group_op op);

/**
 * Waits until every rank has called it.
 *
 * @param group  any
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_STATE (the ranks call different operations), another
 *               rank's failure, or the transport's error
 * @see          torch.distributed.barrier
 */
ADZ_API adz_status adz_group_barrier(adz_group *group);

/**
 * Compares a value of all ranks, written as text. Use it to find out early that ranks were started
 * with different options, files or versions. If the values differ, the error on every rank shows
 * two of them with their ranks.
 *
 * @param group  any
 * @param what   what is compared, for the message: "the learning rate"; equal on all ranks
 * @param value  a text of any length; of a long one the message shows the beginning
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_STATE (the values or the operations differ), another
 *               rank's failure, or the transport's error
 */
ADZ_API adz_status adz_group_agree(adz_group *group, const char *what, const char *value);

/* ---- besides collectives -------------------------------------------------------------------- */

/**
 * Lets messages that are under way go on, without waiting. Some transports, MPI among them, move
 * data only while they are called. A long computation between two collectives may call this now and
 * then.
 *
 * @param group  any
 * @return       ADZ_OK, ADZ_ERR_NULL, or the transport's error
 */
ADZ_API adz_status adz_group_progress(adz_group *group);

/**
 * How many bytes this rank has sent so far, those of adze's own messages included.
 *
 * @param group  any
 * @return       0 or more; 0 with ADZ_ERR_NULL recorded
 */
ADZ_API uint64_t adz_group_bytes_sent(const adz_group *group);

/**
 * Ends the processes of all ranks, for a failure after which they cannot go on. Over MPI it prints
 * rank, host and message to the standard error output and calls MPI_Abort, which does not return.
 * With a transport that cannot end processes, and with adz_group_single, it returns, and all later
 * calls on the group fail with this message.
 *
 * @param group    any
 * @param code     the exit status of the processes, 1 to 255
 * @param message  the reason; NULL for the error that this thread has recorded
 */
ADZ_API void adz_group_abort(adz_group *group, int code, const char *message);

#ifdef __cplusplus
}
#endif

#endif
