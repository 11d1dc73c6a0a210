/* Where the module with oneDNN's products may be loaded from. Nothing here loads it. */
#ifndef ADZI_TENSOR_GEMM_ONEDNN_FILE_H
#define ADZI_TENSOR_GEMM_ONEDNN_FILE_H

enum { ADZI_GEMM_PATH_SIZE = 4096, ADZI_GEMM_REASON_SIZE = 160 };

/** A file that may be loaded, or the reason why there is none. */
typedef struct adzi_gemm_place {
    char path[ADZI_GEMM_PATH_SIZE];      /**< absolute, without symbolic links; "" for none */
    char why_not[ADZI_GEMM_REASON_SIZE]; /**< the reason if `path` is "" */
} adzi_gemm_place;

/**
 * Finds the module's file. See Note [Whose module is loaded] for the candidates.
 *
 * The function looks at the environment and at the disk on every call.
 */
void adzi_gemm_module_find(adzi_gemm_place *place);

#endif
