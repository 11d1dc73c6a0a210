/* The functions of OpenBLAS that adze calls. Only this file includes cblas.h.
 *
 * Note [When OpenBLAS is loaded]
 * Most programs never need OpenBLAS, because adze computes products itself. Loading it takes memory
 * and time, and under `ulimit -v` its constructor waits for ever. So the shared library does not
 * name it among the libraries that a program needs, and loads it when a function of it is called
 * for the first time (openblas_loaded.c). A program with libadze.a is linked with OpenBLAS, and so
 * is the shared library where the build does not know the name of OpenBLAS's file
 * (openblas_linked.c). */
#ifndef ADZI_TENSOR_GEMM_OPENBLAS_H
#define ADZI_TENSOR_GEMM_OPENBLAS_H

#include <cblas.h>

/** do_(name) for each function. */
#define ADZI_OPENBLAS_FUNCTIONS(do_)                                                               \
    do_(cblas_sgemm) do_(cblas_dgemm) do_(cblas_sgemv) do_(cblas_dgemv) do_(openblas_get_parallel) \
        do_(openblas_get_config) do_(openblas_get_num_threads) do_(openblas_set_num_threads)

typedef struct adzi_openblas {
#define ADZI_MEMBER(name) __typeof__(name) *name;
    ADZI_OPENBLAS_FUNCTIONS(ADZI_MEMBER)
#undef ADZI_MEMBER
    void *library; /* where dlsym finds what OpenBLAS has brought along, such as OpenMP */
} adzi_openblas;

/** Fills in the functions, and loads OpenBLAS for that if it is not linked. Returns NULL, or why
 * the functions are not there. It is called once. */
const char *adzi_openblas_get(adzi_openblas *functions);

/** The file that adzi_openblas_get loads, such as "libopenblas.so.0"; NULL if OpenBLAS is linked.
 */
extern const char *const adzi_openblas_file;

#endif
