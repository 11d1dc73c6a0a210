/* For builds without a BLAS (Meson option `blas`): adze's own loops compute every product. */
#include "tensor/gemm/blas.h"

#include <stdint.h>

int64_t adzi_gemm_size_limit = INT64_MAX;

bool adzi_has_blas(void)
{
    return false;
}

const char *adzi_blas_info(void)
{
    return "no BLAS";
}

bool adzi_blas_run(const adzi_gemm_args *args)
{
    (void)args;
    return false;
}

bool adzi_blas_takes(const adzi_gemm_args *args)
{
    (void)args;
    return false;
}
