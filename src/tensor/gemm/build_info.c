/* One line that describes the build and what it uses on this processor. */
#include <stdio.h>
#include <stdlib.h>

#include "adze/base.h"
#include "adze/precision.h"
#include "base/cpu.h"
#include "base/threads/parallel.h"
#include "base/threads/request.h"
#include "base/threads/thread.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/precision.h"

const char *adz_build_info(void)
{
    char *text = adzi_self()->build_info;
    const size_t size = sizeof adzi_self()->build_info;
    char model[64];
    adzi_processor_model(model, sizeof model);
    const char *ignored = adzi_cpu_request_ignored();
    int threads = adzi_num_threads();
    int used = snprintf(text, size, "adze %s; %s; %s; %d thread%s (%s); %s", adz_version(), model,
        adz_cpu_name(), threads, threads == 1 ? "" : "s", adzi_threads_kind(), adzi_blas_now());
    if (used > 0 && (size_t)used < size) {
        const char *products = getenv("ADZE_PRODUCTS"), *why = adzi_products_request_ignored();
        const int more = why != NULL ? snprintf(text + used, size - (size_t)used,
                                           "; ADZE_PRODUCTS=%.32s ignored: %s",
                                           products != NULL ? products : "", why)
                         : adz_get_gemm_backend() == ADZ_GEMM_BLAS
                             ? snprintf(text + used, size - (size_t)used, "; products by BLAS")
                             : 0;
        used = more < 0 ? more : used + more;
    }
    const char *no_number = adzi_threads_request_ignored();
    if (no_number != NULL && used > 0 && (size_t)used < size) {
        used += snprintf(text + used, size - (size_t)used,
            "; ADZE_NUM_THREADS=%.32s ignored: it %s", getenv("ADZE_NUM_THREADS"), no_number);
    }
    if (ignored != NULL && used > 0 && (size_t)used < size) {
        const char *wanted = getenv("ADZE_CPU");
        snprintf(text + used, size - (size_t)used, "; ADZE_CPU=%.32s ignored: it %s",
            wanted != NULL ? wanted : "", ignored);
    }
    return text;
}
