/* Groups: their struct, and messages of any size between two ranks. */
#ifndef ADZI_DISTRIBUTED_GROUP_H
#define ADZI_DISTRIBUTED_GROUP_H

#include "adze/distributed.h"
#include "base/error.h"
#include "base/handle.h"

struct adzi_exchange;

enum {
    ADZI_GROUP_NAME = 160,  /* bytes of "rank 2 of 4 (MPI on node7)" */
    ADZI_GROUP_REASON = 400 /* bytes of the reason why a group is broken */
};

struct adz_group {
    adzi_handle handle;
    adz_transport transport;
    void *user;
    int rank, size;
    uint64_t sent;                   /* bytes */
    struct adzi_exchange *under_way; /* exchanges that have not ended, newest first */
    adz_status broken;               /* ADZ_OK, or why no message can be sent any more */
    char reason[ADZI_GROUP_REASON];
    char name[ADZI_GROUP_NAME];
};

/** Tags of the library's own messages. Exchanges that overlap with collectives use tags from
 * ADZI_TAG_FREE on. */
enum { ADZI_TAG_AGREEMENT = 1, ADZI_TAG_DATA = 2, ADZI_TAG_FREE = 16 };

/** ADZ_OK if messages can be sent. Otherwise records under `op` why not: the group is broken, or
 * its transport is not ready. */
adz_status adzi_group_ready(const char *op, adz_group *group);

/** Notes that the group can be used no further, for the error that was recorded last or, if there
 * is none, for the transport's silent failure. Returns the code. */
adz_status adzi_group_break(const char *op, adz_group *group, adz_status status);

/* ---- messages ------------------------------------------------------------------------------- */

/** A message in one direction, cut into pieces that the transport takes. One piece is under way at
 * a time. Between two ranks there is at most one message per direction and tag. */
typedef struct adzi_message {
    char *data;  /* of the piece that is under way */
    size_t left; /* bytes that have not ended, those of the piece included; 0 at the end */
    size_t piece;
    int peer, tag;
    bool sends;
    adz_request request;
} adzi_message;

/** What an exchange moves. Either direction may have 0 bytes; nothing is sent then. */
typedef struct adzi_transfer {
    int to;
    const void *send;
    size_t send_bytes;
    int from;
    void *receive;
    size_t receive_bytes;
    int tag;
} adzi_transfer;

/**
 * Sends a range of bytes to one rank while it receives another range from a rank, perhaps the same
 * one. The struct and both ranges are the caller's. They stay until the exchange has ended.
 */
typedef struct adzi_exchange {
    adz_group *group;
    adzi_message out, in;
    bool done;
    adz_status status; /* ADZ_OK, or the transport's failure */
    /** Called once the exchange has ended without a failure; may be NULL. It may start exchanges
     * and must not wait for any. */
    void (*then)(struct adzi_exchange *exchange, void *user);
    void *user;
    struct adzi_exchange *next;
} adzi_exchange;

/**
 * Starts an exchange. Afterwards adzi_exchange_test, adzi_exchange_wait and adz_group_progress let
 * it go on. A failure of the transport breaks the group.
 *
 * @param exchange  `then` and `user` are set; the rest is filled in
 * @return          ADZ_OK, or the failure that is recorded under `op`; the exchange is done then
 */
adz_status adzi_exchange_start(
    const char *op, adz_group *group, adzi_exchange *exchange, const adzi_transfer *transfer);

/** Lets all exchanges of the group go on, and says whether this one is done. */
adz_status adzi_exchange_test(const char *op, adzi_exchange *exchange, bool *done);

/** Waits until the exchange is done. Other exchanges of the group go on meanwhile. */
adz_status adzi_exchange_wait(const char *op, adzi_exchange *exchange);

/** Takes an exchange out of the list of those that are under way, if it is there. */
void adzi_exchange_take_out(adz_group *group, adzi_exchange *exchange);

/** Starts an exchange and waits for its end. */
adz_status adzi_transfer_bytes(const char *op, adz_group *group, const adzi_transfer *transfer);

/** What one rank has and all others get. */
typedef struct adzi_broadcast {
    int source, tag;
    void *data; /* read by the source, written by the others */
    size_t bytes;
} adzi_broadcast;

/** Copies a message of one rank to all ranks, along a binomial tree. */
adz_status adzi_send_down(const char *op, adz_group *group, const adzi_broadcast *message);

#endif
