/* A second source of matrix products beside OpenBLAS: a module, a shared object of its own that
 * libadze loads when a product first asks for it, so that a C program does not inherit the C++
 * run-time library that such a source rests on. The module offers one symbol,
 * adzi_gemm_backend_open, and knows nothing of adze but this header and gemm.h's types. Whatever it
 * refuses or fails at, OpenBLAS computes (tensor/gemm/gemm.c); when to ask it is gemm_backend.c's
 * to say. */
#ifndef ADZI_TENSOR_GEMM_GEMM_BACKEND_H
#define ADZI_TENSOR_GEMM_GEMM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/gemm/gemm.h"

/** Rises whenever anything in adzi_gemm_backend changes. */
enum { ADZI_GEMM_BACKEND_VERSION = 2 };

#define ADZI_GEMM_BACKEND_OPEN "adzi_gemm_backend_open"

/** C = op(A) op(B) with no gap between rows: what a prepared product computes. */
typedef struct adzi_gemm_form {
    int64_t m, n, k;
    bool ta, tb; /**< A is stored [k, m], B is stored [n, k] */
    bool bf16;   /**< A and B are bf16; C is f32 in any case */
} adzi_gemm_form;

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
    uint32_t size;    /**< of this struct */
    const char *name; /**< "oneDNN 2.6.3" */
    const char *isa;  /**< the instruction set it found, in its own words */
    bool avx512;      /**< it has code of its own for AVX-512 */
    bool amx;         /**< the processor has AMX, which it uses for bf16 */
    const char *bf16; /**< what makes its bf16 faster than its f32: "AMX"; NULL: nothing does */

    /** One product; false when it refused, with C untouched. */
    bool (*multiply)(const adzi_gemm_call *call);

    /**
     * Code for one form, made or found among the latest ones.
     *
     * @return to be given back with `release`; NULL where there is no fast code or no memory
     */
    adzi_gemm_prepared *(*prepare)(const adzi_gemm_form *form);
    void (*release)(adzi_gemm_prepared *prepared);

    /** Bytes of working memory that a run to such a target needs; may be 0. */
    size_t (*working_bytes)(const adzi_gemm_prepared *prepared, const adzi_gemm_target *to);

    /** One product in a prepared form, with that much working memory on a 64-byte boundary; false
     * when it failed, with C untouched. */
    bool (*run)(adzi_gemm_prepared *prepared, const void *a, const void *b,
        const adzi_gemm_target *to, void *working);

    /** Takes slow code for bf16 as well; for tests. */
    void (*take_slow_bf16)(bool on);
} adzi_gemm_backend;

typedef const adzi_gemm_backend *(*adzi_gemm_backend_opener)(void);

/* ---- libadze's side ------------------------------------------------------------------------- */

/** The module, loaded on the first call, or NULL if there is none or it has no code for AVX-512.
 * The answer is the same for the whole life of the process. */
const adzi_gemm_backend *adzi_gemm_backend_get(void);

/** "oneDNN 2.6.3 (avx512_core)", "oneDNN not needed yet" or "no oneDNN (why)"; loads nothing. */
const char *adzi_gemm_backend_info(void);

/** One product, or a batch, cut into blocks of C that its shape alone gives. */
typedef struct adzi_gemm_cut {
    adzi_gemm_args g;
    const adzi_gemm_backend *backend;
    adzi_gemm_prepared *prepared[2]; /**< for a block, and for the last one; NULL: strided */
    const uint16_t *a, *b;           /**< rounded operands, each block's without gaps, or NULL */
    bool each_alone;                 /**< every block is a call of its own */
    bool by_columns;
    int64_t extent, length, blocks; /**< blocks per item; the last takes what is left */
} adzi_gemm_cut;

/** Says how to cut, for prepared code with `each_alone`. The module must be there. */
void adzi_gemm_cut_product(adzi_gemm_cut *cut, const adzi_gemm_args *args, bool each_alone);

/** Prepares the forms of its blocks; false where one cannot be had. `ta` is A's as it will lie. */
bool adzi_gemm_cut_prepare(adzi_gemm_cut *cut, bool ta, bool bf16);

/** Computes all blocks. */
void adzi_gemm_cut_run(const adzi_gemm_cut *cut);

/** Gives back what adzi_gemm_cut_prepare took. */
void adzi_gemm_cut_end(adzi_gemm_cut *cut);

/** Computes an f32 product with the module where its rule says so; false: nothing was done. */
bool adzi_gemm_backend_run(const adzi_gemm_args *args);

/** Which products go to the module: by the rule, none, or all that it takes. For tests and the
 * bench. */
typedef enum adzi_gemm_choice {
    ADZI_GEMM_BY_RULE = 0,
    ADZI_GEMM_BLAS_ALONE = 1,
    ADZI_GEMM_MODULE_STRIDED = 2,  /**< all through `multiply` */
    ADZI_GEMM_MODULE_PREPARED = 3, /**< all that `prepare` takes */
    ADZI_GEMM_OURS = 4,            /**< none, nor to BLAS but vectors */
    ADZI_GEMM_OURS_COPIED = 5      /**< likewise, and our loops copy blocks of all but the small */
} adzi_gemm_choice;

extern adzi_gemm_choice adzi_gemm_backend_choice;

/** Products that the module computed since the start. */
uint64_t adzi_gemm_backend_products(void);

/**
 * An f32 product at ADZ_MATMUL_MEDIUM: both operands rounded to bf16.
 *
 * @return false where memory was refused, or there is nothing to round; nothing was done
 */
bool adzi_gemm_medium_run(const adzi_gemm_args *args);

/** Who multiplies rounded operands: the module where its bf16 is fast, nobody but the f32 product,
 * the module wherever it can, for tests with its own take_slow_bf16, or our loops wherever the
 * processor can. */
typedef enum adzi_bf16_choice {
    ADZI_BF16_BY_RULE = 0,
    ADZI_BF16_AS_F32 = 1,
    ADZI_BF16_MODULE = 2,
    ADZI_BF16_OURS = 3
} adzi_bf16_choice;

extern adzi_bf16_choice adzi_gemm_bf16_choice;

#endif
