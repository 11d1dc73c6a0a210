/* Loading the module with oneDNN's products, once per process, when a product first asks for it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tensor/gemm/onednn.h"
#include "tensor/gemm/onednn_file.h"

static struct {
    pthread_once_t file_once, once;
    adzi_gemm_place place; /* the module's file; loading it may still fail */
    const adzi_gemm_backend *backend;
    atomic_bool looked;
    char info[sizeof "no oneDNN ()" + ADZI_GEMM_REASON_SIZE];
} found = { .file_once = PTHREAD_ONCE_INIT, .once = PTHREAD_ONCE_INIT };

static void find_file(void)
{
    adzi_gemm_module_find(&found.place);
}

/* Loads the module from a path. On failure it returns NULL and writes the reason to `why_not`. */
static const adzi_gemm_backend *open_module(const char *path, char *why_not, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *message = dlerror();
        snprintf(why_not, size, "%.140s", message != NULL ? message : path);
        return NULL;
    }
    void *symbol = dlsym(handle, ADZI_GEMM_BACKEND_OPEN);
    adzi_gemm_backend_opener open = NULL;
    if (symbol != NULL) {
        memcpy(&open, &symbol, sizeof open);
    }
    const adzi_gemm_backend *backend = open != NULL ? open() : NULL;
    if (backend == NULL || backend->version != ADZI_GEMM_BACKEND_VERSION ||
        backend->size != sizeof *backend) {
        snprintf(why_not, size, "%.100s is no module of this adze", path);
        dlclose(handle);
        return NULL;
    }
    if (!backend->avx512) {
        /* The module stays loaded, because the oneDNN engine that it has made cannot be ended. */
        snprintf(why_not, size, "%.40s has %.40s here; it is used with AVX-512 alone",
            backend->name, backend->isa);
        return NULL;
    }
    return backend;
}

static void load_module(void)
{
    pthread_once(&found.file_once, find_file);
    adzi_gemm_place *place = &found.place;
    char why_not[ADZI_GEMM_REASON_SIZE];
    snprintf(why_not, sizeof why_not, "%s", place->why_not);
    if (place->path[0] != '\0') {
        found.backend = open_module(place->path, why_not, sizeof why_not);
    }
    if (found.backend != NULL) {
        snprintf(found.info, sizeof found.info, "%.40s (%.40s)", found.backend->name,
            found.backend->isa);
    } else {
        snprintf(found.info, sizeof found.info, "no oneDNN (%s)", why_not);
    }
    atomic_store_explicit(&found.looked, true, memory_order_release);
}

const adzi_gemm_backend *adzi_gemm_backend_get(void)
{
    if (!atomic_load_explicit(&found.looked, memory_order_acquire)) {
        pthread_once(&found.once, load_module);
    }
    return found.backend;
}

const char *adzi_gemm_backend_info(void)
{
    if (!atomic_load_explicit(&found.looked, memory_order_acquire)) {
        pthread_once(&found.file_once, find_file);
        if (found.place.path[0] != '\0') {
            return "oneDNN not needed yet";
        }
        adzi_gemm_backend_get(); /* no file was found, so this only writes the reason to `info` */
    }
    return found.info;
}
