/* GGUF files that are mapped into memory. The mapping is private: a change of a tensor does not
 * change the file. It ends with the last tensor in it. Safetensors files are mapped in the same way
 * by adze itself (src/io), whose functions for that are not public, and this shelf uses public
 * ones. */
#include <stdatomic.h>
#include <sys/mman.h>

#include "gguf.h"

typedef struct gguf_mapping {
    atomic_int refs; /* the file, and each tensor */
    void *address;
    size_t size;
} gguf_mapping;

/* Releases one reference. It is also the deleter of the tensors. */
static void mapping_release(void *data, void *user)
{
    gguf_mapping *m = user;
    (void)data;
    if (atomic_fetch_sub(&m->refs, 1) == 1) {
        munmap(m->address, m->size);
        adzi_models_free(m);
    }
}

bool adzi_gguf_map(adz_gguf *file)
{
    gguf_mapping *m = adzi_models_alloc(sizeof *m);
    if (m == NULL) {
        return false;
    }
    atomic_init(&m->refs, 1);
    m->size = (size_t)file->size;
    m->address = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file->stream), 0);
    if (m->address == MAP_FAILED) {
        adzi_models_free(m);
        adz_error_format("adz_gguf_open", ADZ_ERR_IO, "%s: it cannot be mapped", file->path);
        return false;
    }
    file->map = m;
    return true;
}

void adzi_gguf_unmap(adz_gguf *file)
{
    if (file->map != NULL) {
        mapping_release(NULL, file->map);
        file->map = NULL;
    }
}

static char *address_of(const adz_gguf *file, const gguf_tensor *t)
{
    return (char *)file->map->address + file->data + t->offset;
}

bool adzi_gguf_is_mapped(const adz_gguf *file, const gguf_tensor *t, adz_dtype dtype)
{
    return file->map != NULL && t->bytes > 0 &&
           (uintptr_t)address_of(file, t) % adz_dtype_size(dtype) == 0;
}

adz_tensor *adzi_gguf_mapped(
    const adz_gguf *file, const gguf_tensor *t, adz_shape shape, adz_dtype dtype)
{
    gguf_mapping *m = file->map;
    adz_tensor *view = adz_tensor_wrap(address_of(file, t), shape, dtype, mapping_release, m);
    if (view != NULL) {
        atomic_fetch_add(&m->refs, 1);
    }
    return view;
}
