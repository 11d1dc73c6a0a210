/* Memory of published models. */
#include "models.h"

#include <stdint.h>
#include <string.h>

enum { HEADER = 16 }; /* bytes before the memory; they hold the address of the tensor */

static adz_tensor *zeros(const char *op, size_t bytes)
{
    if (bytes > INT64_MAX / 16) {
        return models_fail(op, ADZ_ERR_MEMORY, "%zu bytes are more than there can be", bytes);
    }
    return adz_zeros(ADZ_SHAPE((int64_t)bytes), ADZ_U8);
}

void *adzi_models_scratch(size_t bytes)
{
    adz_tensor *memory = zeros("models", bytes);
    return memory != NULL ? adz_tensor_data(memory) : NULL;
}

void *adzi_models_alloc(size_t bytes)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *memory = adz_keep(zeros("models", HEADER + bytes));
    char *start = memory != NULL ? adz_tensor_data(memory) : NULL;
    adz_scope_close(scope);
    if (start == NULL) {
        return NULL;
    }
    memcpy(start, &memory, sizeof memory);
    return start + HEADER;
}

void adzi_models_free(void *memory)
{
    if (memory != NULL) {
        adz_tensor *t;
        memcpy(&t, (char *)memory - HEADER, sizeof t);
        adz_release(&t);
    }
}
