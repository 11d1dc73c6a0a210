/* Zeroed blocks, growing arrays and copies of strings, made with adzi_alloc and adzi_free. */
#include <string.h>

#include "base/alloc.h"

void *adzi_alloc_zero(size_t bytes)
{
    void *block = adzi_alloc(bytes);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
    return block;
}

bool adzi_grow(void *array, size_t *capacity, size_t needed, size_t element)
{
    if (needed <= *capacity) {
        return true;
    }
    void *old; /* copied as bytes, because the pointer at `array` may have any type */
    memcpy(&old, array, sizeof old);
    size_t grown = *capacity * 2 > needed ? *capacity * 2 : needed;
    grown = grown < 8 ? 8 : grown;
    void *block = grown > SIZE_MAX / element ? NULL : adzi_alloc(grown * element);
    if (block == NULL) {
        return false;
    }
    if (old != NULL) {
        memcpy(block, old, *capacity * element);
        adzi_free(old, *capacity * element);
    }
    memcpy(array, &block, sizeof block);
    *capacity = grown;
    return true;
}

char *adzi_string_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = adzi_alloc(bytes);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void adzi_string_free(char *text)
{
    if (text != NULL) {
        adzi_free(text, strlen(text) + 1);
    }
}
