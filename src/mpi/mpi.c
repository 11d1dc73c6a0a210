/* A transport over MPI. It uses adze's public functions only, as a user's own transport would. */
#include "adze/mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of the largest message. MPI counts bytes in an int; adze cuts longer messages. */
enum { LARGEST = 1 << 30 };

typedef struct {
    MPI_Comm comm; /* our duplicate */
    int rank, ranks;
    bool failed;    /* an MPI call has failed: ending MPI could wait for ever */
    bool abandoned; /* the group could not be made on some rank */
    char host[MPI_MAX_PROCESSOR_NAME + 1];
} link;

/* MPI belongs to the process, and so do these. They are used on the thread that uses MPI. */
static bool started;    /* adz_mpi_group_world has initialised MPI */
static int live_groups; /* groups over MPI that have not ended */

/* ---- errors --------------------------------------------------------------------------------- */

static const char *text_of(int code, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    }
    return text;
}

static adz_status check(link *l, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING], message[MPI_MAX_ERROR_STRING + MPI_MAX_PROCESSOR_NAME + 100];
    if (code == MPI_SUCCESS) {
        return ADZ_OK;
    }
    l->failed = true;
    snprintf(message, sizeof message, "rank %d of %d on %s: %s: %s", l->rank, l->ranks, l->host,
        call, text_of(code, text));
    return adz_error_set("libadze-mpi", ADZ_ERR_IO, message);
}

/* ---- the transport -------------------------------------------------------------------------- */

_Static_assert(sizeof(MPI_Request) <= sizeof(adz_request), "a request holds that of MPI");

static adz_status ready(void *user)
{
    const link *l = user;
    char message[MPI_MAX_PROCESSOR_NAME + 200];
    int finalized = 0, level = 0, is_main = 1;
    MPI_Finalized(&finalized);
    if (finalized) {
        snprintf(message, sizeof message,
            "rank %d of %d on %s: MPI_Finalize was called before this; free groups first", l->rank,
            l->ranks, l->host);
        return adz_error_set("libadze-mpi", ADZ_ERR_STATE, message);
    }
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED) {
        MPI_Is_thread_main(&is_main);
    }
    return is_main
               ? ADZ_OK
               : adz_error_set("libadze-mpi", ADZ_ERR_STATE,
                     "this is not the thread that initialised MPI; call from that thread, or initialise MPI with MPI_THREAD_SERIALIZED");
}

static adz_status start_send(
    void *user, const void *data, size_t bytes, int to, int tag, adz_request *request)
{
    link *l = user;
    MPI_Request started_one;
    const int code = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, l->comm, &started_one);
    memcpy(request, &started_one, sizeof started_one);
    return check(l, "MPI_Isend", code);
}

static adz_status start_receive(
    void *user, void *data, size_t bytes, int from, int tag, adz_request *request)
{
    link *l = user;
    MPI_Request started_one;
    const int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, l->comm, &started_one);
    memcpy(request, &started_one, sizeof started_one);
    return check(l, "MPI_Irecv", code);
}

static adz_status test(void *user, adz_request *request, bool *done)
{
    MPI_Request one;
    int ended = 0;
    memcpy(&one, request, sizeof one);
    const int code = MPI_Test(&one, &ended, MPI_STATUS_IGNORE);
    memcpy(request, &one, sizeof one);
    *done = ended != 0;
    return check(user, "MPI_Test", code);
}

static adz_status wait_for(void *user, adz_request *request)
{
    MPI_Request one;
    memcpy(&one, request, sizeof one);
    const int code = MPI_Wait(&one, MPI_STATUS_IGNORE);
    memcpy(request, &one, sizeof one);
    return check(user, "MPI_Wait", code);
}

static adz_status start_all_reduce(
    void *user, void *data, size_t count, adz_dtype dtype, adz_group_op op, adz_request *request)
{
    link *l = user;
    const MPI_Datatype types[] = { MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T,
        MPI_UINT8_T };
    if (count > INT_MAX || (unsigned)dtype > ADZ_BOOL) {
        return adz_error_set("libadze-mpi", ADZ_ERR_ARGUMENT,
            "MPI_Iallreduce takes up to 2147483647 elements that are no halves");
    }
    MPI_Request started_one;
    const MPI_Op how = op == ADZ_GROUP_MAX ? MPI_MAX : dtype == ADZ_BOOL ? MPI_BOR : MPI_SUM;
    const int code =
        MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, types[dtype], how, l->comm, &started_one);
    memcpy(request, &started_one, sizeof started_one);
    return check(l, "MPI_Iallreduce", code);
}

static void abort_all(void *user, int code, const char *message)
{
    const link *l = user;
    int finalized = 0;
    if (l->abandoned) {
        return;
    }
    fprintf(stderr, "adze: rank %d of %d on %s: %s\n", l->rank, l->ranks, l->host, message);
    fflush(stderr);
    MPI_Finalized(&finalized);
    if (!finalized) {
        /* MPICH's launcher ends all processes and forgets what it has not yet read from them. */
        const struct timespec tenth = { 0, 100000000 };
        nanosleep(&tenth, NULL);
        /* MPICH ends the calling process alone if the communicator is not that of the world */
        MPI_Abort(MPI_COMM_WORLD, code);
    }
}

static void end(void *user)
{
    link *l = user;
    int finalized = 0;
    live_groups -= 1;
    MPI_Finalized(&finalized);
    if (!finalized && !l->failed) {
        MPI_Comm_free(&l->comm);
        if (started && live_groups == 0) {
            MPI_Finalize();
        }
    }
    free(l);
}

/* ---- making groups -------------------------------------------------------------------------- */

static adz_group *fail(const char *op, adz_status status, const char *message)
{
    adz_error_set(op, status, message);
    return NULL;
}

/* Whether MPI can be used, and by a library with threads. */
static bool usable(const char *op)
{
    int initialized = 0, finalized = 0, level = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        fail(op, ADZ_ERR_STATE,
            finalized
                ? "MPI_Finalize was called before this; MPI cannot be started again"
                : "MPI is not initialised; call MPI_Init_thread with MPI_THREAD_FUNNELED first, or adz_mpi_group_world");
        return false;
    }
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED && adz_get_num_threads() > 1) {
        fail(op, ADZ_ERR_STATE,
            "MPI was initialised for a single thread (MPI_Init), but adze uses several; call MPI_Init_thread with MPI_THREAD_FUNNELED, or adz_set_num_threads(1)");
        return false;
    }
    return true;
}

/* MPI_Comm_dup that returns its error. The communicator's own error handler could end the program.
 */
static int duplicate(MPI_Comm comm, MPI_Comm *copy)
{
    MPI_Errhandler before;
    int code = MPI_Comm_get_errhandler(comm, &before);
    if (code != MPI_SUCCESS) {
        return code;
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Comm_dup(comm, copy);
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
    return code == MPI_SUCCESS ? MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN) : code;
}

static adz_group *group_over(link *l)
{
    char name[MPI_MAX_PROCESSOR_NAME + 20];
    int length = 0;
    MPI_Comm_rank(l->comm, &l->rank);
    MPI_Comm_size(l->comm, &l->ranks);
    MPI_Get_processor_name(l->host, &length);
    snprintf(name, sizeof name, "MPI on %s", l->host);
    const adz_transport transport = { .size = sizeof transport,
        .name = name,
        .rank = l->rank,
        .ranks = l->ranks,
        .largest = LARGEST,
        .start_send = start_send,
        .start_receive = start_receive,
        .test = test,
        .wait = wait_for,
        .start_all_reduce = start_all_reduce,
        .ready = ready,
        .abort = abort_all,
        .free = end };
    return adz_group_new(&transport, l);
}

/* Ends what this rank has made of a group that another rank could not make. That rank would not
 * answer in adz_group_free. */
static adz_group *abandon(const char *op, MPI_Comm *copy, adz_group *group, link *l, bool mine)
{
    if (group != NULL) {
        l->abandoned = l->failed = true;
        adz_group_abort(group, 1, "abandoned");
        adz_group_free(&group); /* and l */
    } else {
        free(l);
        live_groups -= 1;
    }
    MPI_Comm_free(copy);
    return mine ? fail(op, ADZ_ERR_MEMORY, "there is no memory for the group")
                : fail(op, ADZ_ERR_MEMORY, "another rank has no memory for its group");
}

static adz_group *make(const char *op, MPI_Comm comm)
{
    char text[MPI_MAX_ERROR_STRING];
    int between = 0, all_made;
    if (!usable(op)) {
        return NULL;
    }
    if (comm == MPI_COMM_NULL) {
        return fail(op, ADZ_ERR_ARGUMENT,
            "comm is MPI_COMM_NULL: this process is no member of the communicator");
    }
    MPI_Comm_test_inter(comm, &between);
    if (between) {
        return fail(op, ADZ_ERR_ARGUMENT,
            "comm is an intercommunicator; make one communicator of it with MPI_Intercomm_merge");
    }
    MPI_Comm copy = MPI_COMM_NULL;
    const int code = duplicate(comm, &copy);
    if (code != MPI_SUCCESS) {
        return fail(op, ADZ_ERR_IO, text_of(code, text));
    }
    link *l = calloc(1, sizeof *l);
    if (l != NULL) {
        l->comm = copy;
    }
    live_groups += 1;
    adz_group *group = l != NULL ? group_over(l) : NULL;
    all_made = group != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &all_made, 1, MPI_INT, MPI_MIN, copy);
    return all_made ? group : abandon(op, &copy, group, l, group == NULL);
}

adz_group *adz_mpi_group_new(MPI_Comm comm)
{
    return make("adz_mpi_group_new", comm);
}

adz_group *adz_mpi_group_world(void)
{
    static const char op[] = "adz_mpi_group_world";
    int initialized = 0, finalized = 0, level;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized && !finalized) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
            return fail(op, ADZ_ERR_IO, "MPI_Init_thread failed");
        }
        started = true;
    }
    return make(op, MPI_COMM_WORLD);
}
