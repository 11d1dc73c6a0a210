/* Data-parallel training: its struct, and the parts that it is made of. */
#ifndef ADZI_DISTRIBUTED_DATA_PARALLEL_H
#define ADZI_DISTRIBUTED_DATA_PARALLEL_H

#include "adze/data_parallel.h"
#include "autograd/engine.h"
#include "base/handle.h"
#include "base/random_generator.h"
#include "distributed/group.h"
#include "nn/micro_state.h"

/* ---- the tree over the micro-batches -------------------------------------------------------- */

/* Note [One tree over the micro-batches]
 *
 * The bits of a sum depend on the order of its additions. So the gradients of the micro-batches
 * are added along one binary tree, which depends on their number alone. Neighbours are added first,
 * then neighbouring pairs, and so on. For five micro-batches the sum is
 * ((g0 + g1) + (g2 + g3)) + g4.
 *
 * Node (level, index) of the tree is the sum of the leaves index * 2^level up to (index + 1) *
 * 2^level - 1, as far as they exist. A node without a right child is equal to its left child.
 *
 * A rank holds a contiguous run of leaves. It adds what it can: after each leaf, two nodes that are
 * children of one node become that node. What remains is a list of at most 2 log2(leaves) nodes.
 * The ranks join their lists to the root in the same way.
 *
 * Two leaves that are children of one node need no memory but the gradients: the first one's
 * gradients stay where they are, and the backward of the second one adds to them. */
typedef struct adzi_tree_node {
    int level, index;
} adzi_tree_node;

enum { ADZI_TREE_LEAVES = 4096, ADZI_TREE_NODES = 32 }; /* the most leaves, and nodes of a list */

/**
 * Appends a node to a list of nodes, whose leaves precede those of the new one, and joins the last
 * two nodes of the list as often as they are siblings.
 *
 * @param list    room for ADZI_TREE_NODES
 * @param count   changed
 * @param leaves  of the whole tree
 * @return        the number of joins; each one replaces the last two nodes by their parent
 */
int adzi_tree_push(adzi_tree_node *list, int *count, adzi_tree_node node, int leaves);

/** The list of nodes of the leaves first .. first+n-1. Returns its length. */
int adzi_tree_run(adzi_tree_node *list, int first, int n, int leaves);

/* ---- buckets -------------------------------------------------------------------------------- */

/** A range of the flat gradients of one dtype, made of whole parameters. */
typedef struct adzi_bucket {
    int group;
    int64_t begin, length; /* elements */
    int parameters;
    int pending;         /* parameters whose gradient the running backward has not completed */
    int first_position;  /* its number before adzi_sender_order */
    int position;        /* how many buckets the backward had completed before this one */
    adz_request request; /* of the transport's own all-reduce */
} adzi_bucket;

/** Adds up the gradients of the ranks, one bucket after the other. */
typedef struct adzi_sender {
    adzi_bucket *buckets;
    int n_buckets;
    int n_completed; /* by the running backward */
    int *order;      /* room for adzi_sender_order */
    bool ordered;    /* buckets are in the order in which the first backward completed them */
    int n_started, n_ended; /* buckets 0 .. n_started-1 have begun to travel */
    bool has_begun;         /* in this step */
    bool flush;             /* start buckets whose gradients are not complete, too */
    bool halves;            /* by recursive halving and doubling; else slice by slice */
    bool delegates;         /* by the transport's own all-reduce */
    /* Of the bucket that travels: */
    int round;
    int64_t begin[ADZI_TREE_NODES], count[ADZI_TREE_NODES]; /* the range before each round */
    int under_way;                                          /* exchanges that have not ended */
    adzi_exchange *exchanges;
    size_t n_exchanges;
    char *received;
    size_t received_bytes;
    uint64_t sent; /* bytes of gradients that this rank has sent in the step */
} adzi_sender;

/* ---- the whole ------------------------------------------------------------------------------ */

enum { ADZI_MOST_GENERATORS = 16 };

/** A parameter of the flat layout. */
typedef struct adzi_parallel_parameter {
    adz_data_parallel *parallel;
    size_t index;
    int bucket;
    uint64_t hook;
} adzi_parallel_parameter;

/** What the ranks tell each other about a micro-batch at the end of a step. The struct is followed
 * by a mask of the parameters that have a gradient, and by batch norm's statistics. */
typedef struct adzi_micro_record {
    double loss; /* times its weight */
    int64_t step, rows;
    int64_t status; /* an adz_status: ADZ_OK, or why the rank has failed */
} adzi_micro_record;

/** Where a step stands. */
typedef enum adzi_stage {
    ADZI_BETWEEN_STEPS,
    ADZI_IN_STEP,    /* begin was called */
    ADZI_IN_MICRO,   /* a micro-batch was given out and has no gradient yet */
    ADZI_AFTER_MICRO /* its gradient is computed */
} adzi_stage;

struct adz_data_parallel {
    adzi_handle handle;
    adz_group *group;
    adz_module *module;
    uint64_t checked; /* the stamp of the module when its parameters were compared last; 0 before */
    adz_flat_parameters *flat;
    adzi_micro_state *state;       /* batch norm's statistics and carried values */
    struct adzi_sharding *sharded; /* optimizers whose state is divided, newest first */
    uint64_t seed;
    size_t bucket_bytes;
    int ranks; /* of the group, which may end before */
    int micro_batches;
    int first, count;          /* this rank's micro-batches: first .. first+count-1 */
    bool fast, no_sync, keeps; /* keeps: gradients of earlier steps wait on this rank */
    adz_generator *generators[ADZI_MOST_GENERATORS];
    adz_generator_state before[ADZI_MOST_GENERATORS]; /* at the beginning of the step */
    size_t n_generators;

    adzi_parallel_parameter *parameters; /* of the layout, in its order */
    size_t n_parameters;
    bool hooked; /* the parameters have the hook adzi_parallel_ready */

    /* The tree. With `fast` its leaves are ranks, else micro-batches. */
    int leaves;
    adzi_tree_node nodes[ADZI_TREE_NODES]; /* this rank's, so far */
    int n_nodes;
    char **sums; /* sums[slot * groups + group]: elements of node `slot` */
    int n_slots;
    int last_joins;            /* joins that the last micro-batch brings about */
    adzi_tree_node *all_nodes; /* of all ranks, in order */
    int *nodes_begin;          /* all_nodes of rank r: nodes_begin[r] .. nodes_begin[r+1]-1 */

    adzi_sender sender;

    /* The step. */
    adzi_stage stage;
    bool watches; /* adzi_sender_progress runs after each node */
    adzi_node_watch watched_before;
    int64_t step, rows;
    int micro; /* the micro-batch, counted from 0 on this rank */
    char *records;
    size_t record_bytes;
    double *numbers;       /* batch norm's statistics of all micro-batches, in a row */
    size_t *records_begin; /* [ranks + 1], for adzi_gather_slices */
};

/** Elements of the flat gradients of a group, from `offset` on. */
char *adzi_parallel_gradients(const adz_data_parallel *p, int group, int64_t offset);

/** The record of one of all micro-batches, its mask, and its statistics. */
adzi_micro_record *adzi_parallel_record(const adz_data_parallel *p, int micro);
uint64_t *adzi_parallel_mask(const adz_data_parallel *p, int micro);
double *adzi_parallel_numbers(const adz_data_parallel *p, int micro);

/** Compares the ranks and copies rank 0's parameters and buffers to all. A rank with an error
 * recorded takes part, and all ranks fail. */
adz_status adzi_parallel_compare(
    adz_group *group, adz_module *module, const adz_data_parallel_options *options);
adz_status adzi_parallel_broadcast(const adz_data_parallel *p);

/** Makes the tree's lists and memory, and the buckets. False with the error recorded. */
bool adzi_parallel_prepare(const char *op, adz_data_parallel *p);

/** Ends what adzi_parallel_prepare has made. */
void adzi_parallel_unprepare(adz_data_parallel *p);

/** Takes the gradients of this rank's micro-batch, which is not the last one, into the tree, and
 * drops them. If the following micro-batch is its sibling, it leaves them to be added to. */
void adzi_parallel_push(adz_data_parallel *p);

/** The node whose sum the gradients are after the backward of a leaf of this rank: the leaf, or
 * the parent of two leaves. */
adzi_tree_node adzi_parallel_node_after(const adz_data_parallel *p, int leaf);

/** Joins a range of the last micro-batch's gradients with this rank's nodes. The gradients then
 * hold this rank's last node. */
void adzi_parallel_join_last(adz_data_parallel *p, int group, int64_t begin, int64_t length);

/** Elements of one of this rank's nodes, from `offset` on, once the last micro-batch is joined. */
char *adzi_parallel_node(const adz_data_parallel *p, int node, int group, int64_t offset);

/** Notes that one more gradient of a bucket is complete. */
void adzi_sender_count(adz_data_parallel *p, int bucket);

/** After the first step: puts the buckets into the order in which rank 0's backward has completed
 * them. All ranks call it. Does nothing after later steps. */
adz_status adzi_sender_order(const char *op, adz_data_parallel *p);

/** Gives each parameter its hook, adzi_parallel_ready, if that has not been done. A plan captures
 * no backward that runs hooks. One rank with one micro-batch can do without them, so it gets them
 * with its first adz_data_parallel_backward. */
adz_status adzi_parallel_hook(adz_data_parallel *p);

/** Notes that a parameter's gradient is complete: the hook of each parameter. */
adz_status adzi_parallel_ready(adz_tensor *leaf, void *parameter);

/** Leaves the step, if there is one, whether it went well or not. */
void adzi_parallel_leave(adz_data_parallel *p);

/** Prepares the buckets for the backward of the last micro-batch. */
void adzi_sender_begin(adz_data_parallel *p);

/** Prepares the buckets if the step has not come to its last micro-batch, because this rank has
 * failed. What is sent then is without meaning, and keeps other ranks from waiting. */
void adzi_sender_begin_late(adz_data_parallel *p);

/** Starts the buckets that can travel, and lets those that travel go on. Does not wait. */
void adzi_sender_go_on(adz_data_parallel *p);

/** adzi_sender_go_on, as a watch of nodes. */
void adzi_sender_progress(void *parallel);

/** Sends all buckets and waits for them. */
adz_status adzi_sender_finish(const char *op, adz_data_parallel *p);

/** Takes exchanges that have not ended out of the group, because their memory ends. The group is
 * broken then: other ranks cannot finish the step. Does nothing if no bucket travels. */
void adzi_sender_abandon(const char *op, adz_data_parallel *p);

/**
 * Every rank has its slice of `data` and receives those of the others: rank r's slice is bytes
 * begin[r] .. begin[r+1]-1. Slices may have any sizes, 0 too. Waits for the end.
 */
adz_status adzi_gather_slices(
    const char *op, adz_group *group, void *data, const size_t *begin, int tag);

enum {
    ADZI_TAG_HALVES = ADZI_TAG_FREE,
    ADZI_TAG_SPREAD,
    ADZI_TAG_RECORDS,
    ADZI_TAG_SLICES /* and ADZI_TREE_NODES more */
};

#endif
