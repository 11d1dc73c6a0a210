/* What the ranks of a group compare before a collective sends its data. */
#ifndef ADZI_DISTRIBUTED_AGREEMENT_H
#define ADZI_DISTRIBUTED_AGREEMENT_H

#include "distributed/group.h"

enum {
    ADZI_GROUP_CALL_TEXT =
        200, /* bytes of a text that is compared; of a longer one, its beginning */
    ADZI_GROUP_CALL_REASON = 480 /* bytes of a message about a failure or a difference */
};

typedef enum adzi_operation {
    ADZI_GROUP_CALL_FREE = 1, /* 0 is no operation: memory that nobody has written */
    ADZI_GROUP_CALL_BARRIER,
    ADZI_GROUP_CALL_AGREE,
    ADZI_GROUP_CALL_BROADCAST,
    ADZI_GROUP_CALL_ALL_REDUCE,
    ADZI_GROUP_CALL_ALL_GATHER,
    ADZI_GROUP_CALL_REDUCE_SCATTER,
    ADZI_GROUP_CALL_STEP_END,
    ADZI_GROUP_CALL_SHARD,
    ADZI_GROUP_CALL_STEP,
    ADZI_GROUP_CALL_SAVE,
    ADZI_GROUP_CALL_LOAD,
    ADZI_GROUP_CALL_END
} adzi_operation;

/**
 * One rank's call of a collective, as it is sent to the other ranks. Fields that an operation does
 * not have are 0. All bytes are sent, so initialise the whole struct.
 */
typedef struct adzi_group_call {
    int32_t mark;      /* ADZI_GROUP_CALL_MARK; filled in by adzi_agree */
    int32_t operation; /* adzi_operation */
    int32_t choice;    /* adz_group_op, or the source of a broadcast */
    int32_t dtype, rank;
    int32_t status; /* ADZ_OK, or why the ranks do not agree */
    int32_t who;    /* the rank that called; of joined calls, the lowest one */
    int32_t left;   /* how many of the joined ranks called adz_group_free */
    int32_t differ; /* 1 if `status` says that calls differ, 0 if a rank has failed */
    int32_t unused; /* so that no byte is padding */
    int64_t sizes[ADZ_MAX_RANK];
    uint64_t hash; /* of the whole text */
    char what[ADZI_GROUP_CALL_TEXT], text[ADZI_GROUP_CALL_TEXT];
    char reason[ADZI_GROUP_CALL_REASON];
} adzi_group_call;

/** Says what a tensor is like. */
void adzi_group_call_of_tensor(adzi_group_call *call, const adz_tensor *tensor);

/** Appends to the text that is compared. What does not fit is cut off. */
void adzi_group_call_say(adzi_group_call *call, const char *format, ...) ADZI_FORMAT(2, 3);

/** Adds bytes to what is compared in addition to the text. */
void adzi_group_call_add(adzi_group_call *call, const void *bytes, size_t size);

/** Whether this rank can take part in an agreement, with an error recorded or without. If not, the
 * error says why. */
bool adzi_may_agree(const char *op, adz_group *group);

/**
 * Compares this rank's call with those of the other ranks. A rank that cannot take part has
 * recorded its error before; it calls this function all the same, so that no rank waits for it.
 *
 * Costs two messages of the size of an adzi_group_call in each of log2(size) rounds.
 *
 * @param op    the function's name, for messages
 * @param call  what this rank calls; changed
 * @return      ADZ_OK if all ranks make this call and no rank has an error recorded. Else a failure
 *              on every rank: this rank's own error, or the first one among the others.
 */
adz_status adzi_agree(const char *op, adz_group *group, adzi_group_call *call);

#endif
