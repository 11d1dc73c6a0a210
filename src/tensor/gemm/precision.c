/* Settings of products: their precision and who computes them (adze/precision.h), and
 * adz_set_deterministic. */
#include "adze/precision.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/errors/unheard.h"
#include "base/threads/thread.h"
#include "base/threads/upcalls.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/precision.h"

bool adz_set_deterministic(bool on)
{
    return atomic_exchange_explicit(&adzi_self()->context->deterministic, on, memory_order_relaxed);
}

bool adz_is_deterministic(void)
{
    return atomic_load_explicit(&adzi_self()->context->deterministic, memory_order_relaxed);
}

adz_status adz_set_matmul_precision(adz_matmul_precision precision)
{
    if (precision != ADZ_MATMUL_HIGHEST && precision != ADZ_MATMUL_HIGH &&
        precision != ADZ_MATMUL_MEDIUM) {
        return adzi_error("adz_set_matmul_precision", ADZ_ERR_ARGUMENT,
            "%d is none of ADZ_MATMUL_HIGHEST, ADZ_MATMUL_HIGH, ADZ_MATMUL_MEDIUM", (int)precision);
    }
    atomic_store_explicit(
        &adzi_self()->context->matmul_precision, (int)precision, memory_order_relaxed);
    return ADZ_OK;
}

adz_matmul_precision adz_get_matmul_precision(void)
{
    return (adz_matmul_precision)atomic_load_explicit(
        &adzi_self()->context->matmul_precision, memory_order_relaxed);
}

const char *adz_matmul_precision_info(void)
{
    return adzi_cpu_has_fast_bf16()
               ? "medium: bf16 on AVX512_BF16, by adze's own loops"
               : "medium: rounded to bf16, multiplied in f32 (this processor has no fast bf16)";
}

/* What ADZE_PRODUCTS says. */
static struct {
    pthread_once_t once;
    adz_gemm_backend products;
    const char *ignored;
} environment = { .once = PTHREAD_ONCE_INIT };

static void read_environment(void)
{
    const char *text = getenv("ADZE_PRODUCTS");
    if (text == NULL || text[0] == '\0' || strcmp(text, "own") == 0) {
        return;
    }
    if (strcmp(text, "blas") != 0) {
        environment.ignored = "it is neither own nor blas";
    } else {
        environment.ignored = adzi_blas_missing();
        environment.products = environment.ignored == NULL ? ADZ_GEMM_BLAS : ADZ_GEMM_OWN;
    }
}

const char *adzi_products_request_ignored(void)
{
    pthread_once(&environment.once, read_environment);
    return environment.ignored;
}

/* Nobody who asks for a BLAS that is not there would notice otherwise. No callback can be set at
 * this time. */
ADZI_AT_LOAD report_products(void)
{
    const char *why = adzi_products_request_ignored();
    if (why != NULL) {
        char line[600];
        snprintf(
            line, sizeof line, "ADZE_PRODUCTS=%.32s ignored: %s", getenv("ADZE_PRODUCTS"), why);
        adzi_print_once("warning", line, "", "");
    }
}

adz_status adz_set_gemm_backend(adz_gemm_backend products)
{
    if (products != ADZ_GEMM_OWN && products != ADZ_GEMM_BLAS) {
        return adzi_error("adz_set_gemm_backend", ADZ_ERR_ARGUMENT,
            "%d is neither ADZ_GEMM_OWN nor ADZ_GEMM_BLAS", (int)products);
    }
    if (products == ADZ_GEMM_BLAS && adzi_blas_missing() != NULL) {
        return adzi_error("adz_set_gemm_backend", ADZ_ERR_UNSUPPORTED, "%s, or keep ADZ_GEMM_OWN",
            adzi_blas_missing());
    }
    atomic_store_explicit(&adzi_self()->context->products, (int)products + 1, memory_order_relaxed);
    return ADZ_OK;
}

adz_gemm_backend adz_get_gemm_backend(void)
{
    const int set = atomic_load_explicit(&adzi_self()->context->products, memory_order_relaxed);
    pthread_once(&environment.once, read_environment);
    return set != 0 ? (adz_gemm_backend)(set - 1) : environment.products;
}
