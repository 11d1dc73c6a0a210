/**
 * @file mpi.h
 * Groups over MPI: the library libadze-mpi, with Open MPI or MPICH. adze.h does not include it.
 *
 * A program that leaves MPI to adze starts like this on every rank:
 *
 *     adz_group *group = adz_mpi_group_world();
 *     if (group == NULL) {
 *         fprintf(stderr, "%s\n", adz_error_message());
 *         return 1;
 *     }
 *     // train
 *     adz_group_free(&group); // finalises MPI, too
 *
 * A rank that returns from main without adz_group_free has failed. The launcher notices and ends
 * the other ranks. So return at once after a failure, or call adz_group_abort.
 *
 * An error of MPI becomes an error of adze that names rank, host and reason. MPI has to be
 * initialised with MPI_THREAD_FUNNELED or more. With MPI_THREAD_FUNNELED, and with
 * MPI_THREAD_SINGLE, groups are used on the thread that initialised MPI.
 */
#ifndef ADZE_MPI_H
#define ADZE_MPI_H

#include <mpi.h>

#include "adze/distributed.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A group of the processes of a communicator. All of them call this function.
 *
 * The communicator is duplicated. The caller may free it before the group, and messages of the
 * program are never mixed up with those of adze. Free the group before MPI_Finalize; a later call
 * on it fails with ADZ_ERR_STATE.
 *
 * @param comm  not MPI_COMM_NULL, and no intercommunicator
 * @return      yours, end it with adz_group_free; NULL with ADZ_ERR_ARGUMENT (the communicator),
 *              ADZ_ERR_STATE (MPI is not initialised, is finalised, or allows a single thread while
 *              adze uses several), ADZ_ERR_MEMORY (on this or another rank) or ADZ_ERR_IO (an error
 *              of MPI)
 */
ADZ_API adz_group *adz_mpi_group_new(MPI_Comm comm);

/**
 * A group of all processes that the launcher has started. If MPI is not initialised, this call
 * initialises it with MPI_THREAD_FUNNELED. MPI is then finalised when the last group over MPI ends,
 * and cannot be initialised again in this process.
 *
 * @return  yours, end it with adz_group_free; NULL with the errors of adz_mpi_group_new
 */
ADZ_API adz_group *adz_mpi_group_world(void);

#ifdef __cplusplus
}
#endif

#endif
