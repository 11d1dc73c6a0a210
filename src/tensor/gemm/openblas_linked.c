/* OpenBLAS in a program that is linked with it: the linker has found its functions. */
#include <dlfcn.h>
#include <stddef.h>

#include "tensor/gemm/openblas.h"

const char *const adzi_openblas_file = NULL;

const char *adzi_openblas_get(adzi_openblas *functions)
{
#define ADZI_FILL(name) functions->name = name;
    ADZI_OPENBLAS_FUNCTIONS(ADZI_FILL)
#undef ADZI_FILL
    functions->library = RTLD_DEFAULT;
    return NULL;
}
