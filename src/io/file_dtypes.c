/* The dtypes of npy and safetensors files, and the dtype of adze that each is read as. */
#include "io/file_dtypes.h"

#include <string.h>

/* Integers that adze lacks are read as the next wider one that holds all of them. Of u64 none does:
 * its elements must be below 2^63. */
static const adzi_stored rows[] = {
    { "f4", "float32", "F32", 32, ADZ_F32, ADZI_STORED_AS_IS },
    { "f8", "float64", "F64", 64, ADZ_F64, ADZI_STORED_AS_IS },
    { "f2", "float16", "F16", 16, ADZ_F16, ADZI_STORED_AS_IS },
    { NULL, NULL, "BF16", 16, ADZ_BF16, ADZI_STORED_AS_IS },
    { "i4", "int32", "I32", 32, ADZ_I32, ADZI_STORED_AS_IS },
    { "i8", "int64", "I64", 64, ADZ_I64, ADZI_STORED_AS_IS },
    { "u1", "uint8", "U8", 8, ADZ_U8, ADZI_STORED_AS_IS },
    { "b1", "bool", "BOOL", 8, ADZ_BOOL, ADZI_STORED_AS_IS },
    { "i1", "int8", "I8", 8, ADZ_I32, ADZI_STORED_SIGNED },
    { "i2", "int16", "I16", 16, ADZ_I32, ADZI_STORED_SIGNED },
    { "u2", "uint16", "U16", 16, ADZ_I32, ADZI_STORED_UNSIGNED },
    { "u4", "uint32", "U32", 32, ADZ_I64, ADZI_STORED_UNSIGNED },
    { "u8", "uint64", "U64", 64, ADZ_I64, ADZI_STORED_UNSIGNED },
    { NULL, NULL, "C64", 64, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F4", 4, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F6_E2M3", 6, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F6_E3M2", 6, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F8_E4M3", 8, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F8_E5M2", 8, ADZ_F32, ADZI_STORED_UNREAD },
    { NULL, NULL, "F8_E8M0", 8, ADZ_F32, ADZI_STORED_UNREAD },
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool is_name(const char *name, const char *text, size_t length)
{
    return name != NULL && strlen(name) == length && memcmp(name, text, length) == 0;
}

const adzi_stored *adzi_stored_npy(const char *text, size_t length)
{
    for (size_t i = 0; i < ROWS; ++i) {
        if (is_name(rows[i].npy, text, length) || is_name(rows[i].numpy, text, length)) {
            return &rows[i];
        }
    }
    return NULL;
}

const adzi_stored *adzi_stored_safetensors(const char *name)
{
    for (size_t i = 0; i < ROWS; ++i) {
        if (is_name(rows[i].safetensors, name, strlen(name))) {
            return &rows[i];
        }
    }
    return NULL;
}

const adzi_stored *adzi_stored_dtype(adz_dtype dtype)
{
    for (size_t i = 0; i < ROWS; ++i) {
        if (rows[i].kind == ADZI_STORED_AS_IS && rows[i].dtype == dtype) {
            return &rows[i];
        }
    }
    return NULL;
}

char *adzi_stored_begin(const adzi_stored *stored, char *elements, int64_t n)
{
    return elements + n * ((int64_t)adz_dtype_size(stored->dtype) - stored->bits / 8);
}

/* The element at `at` as 64 bits. */
static uint64_t read_element(const adzi_stored *stored, const char *at)
{
    int8_t i1;
    int16_t i2;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;
    switch (stored->bits) {
    case 8:
        memcpy(&i1, at, sizeof i1);
        return (uint64_t)(int64_t)i1;
    case 16:
        memcpy(&i2, at, sizeof i2);
        memcpy(&u2, at, sizeof u2);
        return stored->kind == ADZI_STORED_SIGNED ? (uint64_t)(int64_t)i2 : u2;
    case 32:
        memcpy(&u4, at, sizeof u4);
        return u4;
    default:
        memcpy(&u8, at, sizeof u8);
        return u8;
    }
}

/* Writes go from the first element on and never pass what has not been read, because the stored
 * elements lie at the end and are not wider. */
int64_t adzi_stored_widen(const adzi_stored *stored, char *elements, int64_t n)
{
    const char *from = adzi_stored_begin(stored, elements, n);
    const int64_t width = stored->bits / 8;
    for (int64_t i = 0; stored->kind != ADZI_STORED_AS_IS && i < n; ++i) {
        const uint64_t element = read_element(stored, from + i * width);
        const int64_t wide = (int64_t)element;
        const int32_t narrow = (int32_t)wide;
        if (stored->kind == ADZI_STORED_UNSIGNED && element > INT64_MAX) {
            return i;
        }
        if (stored->dtype == ADZ_I32) {
            memcpy(elements + i * (int64_t)sizeof narrow, &narrow, sizeof narrow);
        } else {
            memcpy(elements + i * (int64_t)sizeof wide, &wide, sizeof wide);
        }
    }
    return n;
}
