/* For builds without a BLAS (Meson option `blas`): adze's own loops compute every product. */
#include "tensor/gemm/blas.h"

#include <stdint.h>

int64_t adzi_gemm_size_limit = INT64_MAX;

const char *adzi_blas_missing(void)
{
    return "this build has no BLAS: build adze with -Dblas=openblas";
}

const char *adzi_blas_info(void)
{
    return "no BLAS";
}

const char *adzi_blas_now(void)
{
    return adzi_blas_info();
}

bool adzi_blas_run(const adzi_gemm_args *args)
{
    (void)args;
    return false;
}

bool adzi_blas_supports(const adzi_gemm_args *args)
{
    (void)args;
    return false;
}
