/* A module for test_backend.c that takes the place of oneDNN's. ADZE_TEST_MODULE says how it fails:
 * another version or size, no module at all (NULL), or no code for AVX-512. Otherwise it refuses to
 * compute. It has prepared code if k is even, which then fails. */
#include <stdlib.h>

#include "tensor/gemm/backend.h"

static char prepared;

static bool multiply(const adzi_gemm_call *call)
{
    (void)call;
    return false;
}

static adzi_gemm_prepared *prepare(const adzi_gemm_shape *shape)
{
    return shape->k % 2 == 0 ? (adzi_gemm_prepared *)(void *)&prepared : NULL;
}

static void release(adzi_gemm_prepared *p)
{
    if ((void *)p != &prepared) {
        abort();
    }
}

static size_t working_bytes(const adzi_gemm_prepared *p, const adzi_gemm_target *to)
{
    (void)p;
    (void)to;
    return 1000;
}

static bool run(
    adzi_gemm_prepared *p, const void *a, const void *b, const adzi_gemm_target *to, void *working)
{
    (void)p;
    (void)a;
    (void)b;
    (void)to;
    (void)working;
    return false;
}

static void take_slow_bf16(bool on)
{
    (void)on;
}

__attribute__((visibility("default"))) const adzi_gemm_backend *adzi_gemm_backend_open(void);

const adzi_gemm_backend *adzi_gemm_backend_open(void)
{
    static adzi_gemm_backend backend = { .version = ADZI_GEMM_BACKEND_VERSION,
        .size = sizeof backend,
        .name = "a module that refuses",
        .isa = "none",
        .avx512 = true,
        .amx = true,
        .bf16 = "AMX",
        .multiply = multiply,
        .prepare = prepare,
        .release = release,
        .working_bytes = working_bytes,
        .run = run,
        .take_slow_bf16 = take_slow_bf16 };
    const char *kind = getenv("ADZE_TEST_MODULE");
    if (kind != NULL && kind[0] == 'v') {
        ++backend.version;
    } else if (kind != NULL && kind[0] == 's') {
        --backend.size;
    } else if (kind != NULL && kind[0] == 'n') {
        return NULL;
    } else if (kind != NULL && kind[0] == 'w') {
        backend.avx512 = backend.amx = false;
        backend.bf16 = NULL;
    }
    return &backend;
}
