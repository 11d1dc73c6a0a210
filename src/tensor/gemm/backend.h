/* The interface of the module with oneDNN's products.
 *
 * The module is a shared object of its own that libadze loads when a product first asks for it. So
 * a C program does not inherit the C++ run-time library that oneDNN needs. The module exports one
 * symbol, adzi_gemm_backend_open, and knows nothing of adze but this header. OpenBLAS computes
 * whatever the module refuses or fails at. */
#ifndef ADZI_TENSOR_GEMM_BACKEND_H
#define ADZI_TENSOR_GEMM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Rises whenever anything in adzi_gemm_backend changes. */
enum { ADZI_GEMM_BACKEND_VERSION = 2 };

#define ADZI_GEMM_BACKEND_OPEN "adzi_gemm_backend_open"

/** C = op(A) op(B) with no gap between rows: what a prepared product computes. */
typedef struct adzi_gemm_shape {
    int64_t m, n, k;
    bool ta, tb; /**< A is stored [k, m], B is stored [n, k] */
    bool bf16;   /**< A and B are bf16; C is f32 in any case */
} adzi_gemm_shape;

/** alpha op(A) op(B) + beta C with f32 elements, rows at any distance. */
typedef struct adzi_gemm_call {
    int64_t m, n, k;
    bool ta, tb;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    float alpha, beta;
} adzi_gemm_call;

/** What is added to a prepared product on its way to C: alpha S + beta C + bias. */
typedef struct adzi_gemm_target {
    float *c;
    int64_t ldc;
    float alpha, beta;
    const float *bias; /**< one element per column, or NULL */
} adzi_gemm_target;

typedef struct adzi_gemm_prepared adzi_gemm_prepared;

/** What a module offers. Every function may be called from any thread, several at a time, and
 * computes on the thread that calls it. */
typedef struct adzi_gemm_backend {
    uint32_t version; /**< ADZI_GEMM_BACKEND_VERSION */
    uint32_t size;    /**< sizeof(adzi_gemm_backend) */
    const char *name; /**< "oneDNN 2.6.3" */
    const char *isa;  /**< the instruction set that oneDNN uses, as oneDNN calls it */
    bool avx512;      /**< oneDNN has code for AVX-512 */
    bool amx;         /**< the processor has AMX, which oneDNN uses for bf16 */
    const char *bf16; /**< what makes bf16 faster than f32 here, "AMX"; NULL if it is not faster */

    /** Computes one product. Returns false, with C unchanged, if it refuses. */
    bool (*multiply)(const adzi_gemm_call *call);

    /**
     * Code for one shape, newly made or made earlier and kept.
     *
     * @return the caller gives it back with `release`; NULL if there is no fast code or no memory
     */
    adzi_gemm_prepared *(*prepare)(const adzi_gemm_shape *shape);
    void (*release)(adzi_gemm_prepared *prepared);

    /** Bytes of working memory that `run` needs for this code and target; may be 0. */
    size_t (*working_bytes)(const adzi_gemm_prepared *prepared, const adzi_gemm_target *to);

    /** Computes one product by prepared code. `working` is at a multiple of 64 and has as many
     * bytes as `working_bytes` says. Returns false, with C unchanged, if it fails. */
    bool (*run)(adzi_gemm_prepared *prepared, const void *a, const void *b,
        const adzi_gemm_target *to, void *working);

    /** For tests: with true, `prepare` also gives code for bf16 that is slow. */
    void (*take_slow_bf16)(bool on);
} adzi_gemm_backend;

/** The type of adzi_gemm_backend_open, the function that the module exports. NULL if oneDNN cannot
 * be used. */
typedef const adzi_gemm_backend *(*adzi_gemm_backend_opener)(void);

#endif
