/* The settings of one user of the library, such as a plugin or the program itself. Each thread
 * points to the context that it uses. Several threads may use one context, so its numbers are
 * atomic. */
#ifndef ADZI_BASE_CONTEXT_H
#define ADZI_BASE_CONTEXT_H

#include <stdatomic.h>

#include "adze/base.h"
#include "adze/precision.h"
#include "base/handle.h"
#include "base/random_generator.h"

struct adz_context {
    adzi_handle handle;
    atomic_int threads; /* 0 for the number of processors */
    atomic_bool deterministic, recomputing;
    atomic_int matmul_precision; /* an adz_matmul_precision */
    atomic_int products;         /* an adz_gemm_backend + 1, or 0 for what ADZE_PRODUCTS says */
    adz_generator generator;     /* the default generator; valid once `seeded` is true */
    bool seeded;
    adz_message_callback on_error, on_warning;
    void *on_error_user, *on_warning_user;
};

/** Whether f32 products of this context's threads may be computed in bf16. */
static inline bool adzi_is_medium(const adz_context *context)
{
    return atomic_load_explicit(&context->matmul_precision, memory_order_relaxed) ==
           ADZ_MATMUL_MEDIUM;
}

/** Whether activations are computed again, see adz_set_recomputing. */
static inline bool adzi_recomputes(const adz_context *context)
{
    return atomic_load_explicit(&context->recomputing, memory_order_relaxed);
}

#endif
