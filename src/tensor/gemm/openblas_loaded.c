/* OpenBLAS under the shared library, which loads it when it is first needed. The build gives the
 * file's name, which names its binary interface as well, and the folder if the system does not look
 * there. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tensor/gemm/openblas.h"

const char *const adzi_openblas_file = ADZI_OPENBLAS_FILE;

/* Finds one function. False if the library does not have it. A pointer to data becomes one to a
 * function by its bytes, because C has no conversion. */
static bool find(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

static void *load(void)
{
    void *library = dlopen(ADZI_OPENBLAS_FILE, RTLD_NOW | RTLD_LOCAL);
#ifdef ADZI_OPENBLAS_FOLDER
    if (library == NULL) {
        library = dlopen(ADZI_OPENBLAS_FOLDER "/" ADZI_OPENBLAS_FILE, RTLD_NOW | RTLD_LOCAL);
    }
#endif
    return library;
}

const char *adzi_openblas_get(adzi_openblas *functions)
{
    static char reason[256];
    void *library = load();
    if (library == NULL) {
        const char *said = dlerror();
        snprintf(reason, sizeof reason, "%s", said != NULL ? said : ADZI_OPENBLAS_FILE);
        return reason;
    }
    bool good = true;
#define ADZI_FIND(name) good = good && find(library, #name, &functions->name, sizeof(void *));
    ADZI_OPENBLAS_FUNCTIONS(ADZI_FIND)
#undef ADZI_FIND
    functions->library = library;
    return good ? NULL : ADZI_OPENBLAS_FILE " lacks functions of OpenBLAS";
}
