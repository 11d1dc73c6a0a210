/* An open file of the format GGUF (adze/models/gguf.h).
 *
 *     "GGUF", u32 version, u64 tensors, u64 values
 *     values:   key, u32 type, the value; a text is u64 bytes and these bytes,
 *               an array u32 type, u64 count and the elements
 *     tensors:  name, u32 rank, u64 sizes innermost first, u32 type, u64 offset
 *     the elements of the tensors; offsets count from here, a multiple of the alignment
 *
 * All numbers have their lowest byte first. What stands before the elements is kept in memory as it
 * is (`head`), and records point into it. */
#ifndef ADZI_MODELS_GGUF_GGUF_H
#define ADZI_MODELS_GGUF_GGUF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adze/models/gguf.h"
#include "models.h"

/** The types of values, by the numbers that files use. */
typedef enum gguf_type {
    GGUF_U8 = 0,
    GGUF_I8 = 1,
    GGUF_U16 = 2,
    GGUF_I16 = 3,
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_TEXT = 8,
    GGUF_ARRAY = 9,
    GGUF_U64 = 10,
    GGUF_I64 = 11,
    GGUF_F64 = 12
} gguf_type;

enum { GGUF_TYPES = 13, GGUF_SHOWN = 100 }; /* bytes of a name that messages show */

/** Bytes in the head. After the whole head was read, a zero byte follows those of keys, names and
 * texts. */
typedef struct gguf_bytes {
    size_t at, size;
} gguf_bytes;

typedef struct gguf_value {
    gguf_bytes key;
    gguf_type type;  /* of the value, or of the elements of an array */
    bool array;      /* it is an array of `count` elements */
    size_t at;       /* of a number or of the first element */
    gguf_bytes text; /* of a text */
    size_t count;
    gguf_bytes *texts; /* of an array of texts */
} gguf_value;

typedef struct gguf_tensor {
    gguf_bytes name;
    adz_shape shape;
    uint32_t type;
    uint64_t offset; /* from the first element of the file */
    uint64_t bytes;  /* 0 if the type is not known */
} gguf_tensor;

struct adz_gguf {
    char *path;
    FILE *stream;
    uint64_t size; /* bytes of the file */
    uint8_t *head;
    size_t head_size, head_capacity;
    gguf_value *values;
    size_t n_values, *values_by_name;
    gguf_tensor *tensors;
    size_t n_tensors, *tensors_by_name;
    uint64_t data;            /* where the elements begin */
    struct gguf_mapping *map; /* the file in memory; NULL: elements are read */
};

/** How the elements of a tensor are stored. */
typedef struct gguf_storage {
    uint32_t type;
    const char *name;
    int64_t block; /* elements of a block; rows are whole blocks */
    int64_t bytes; /* of a block */
} gguf_storage;

/** NULL for types that are not known. */
const gguf_storage *adzi_gguf_storage_of(uint32_t type);

/** The bytes of a number of the type; 0 for texts and arrays. */
size_t adzi_gguf_width(gguf_type type);

/** Maps an open file into memory, so that tensors whose elements are not converted are views of it.
 * They keep the mapping. False with the error recorded. */
bool adzi_gguf_map(adz_gguf *file);

/** Releases the file's reference to its mapping; nothing without one. */
void adzi_gguf_unmap(adz_gguf *file);

/** Whether a tensor can be a view of the mapped file: the file is mapped, and the elements are at
 * an address that suits the dtype. */
bool adzi_gguf_is_mapped(const adz_gguf *file, const gguf_tensor *t, adz_dtype dtype);

/** Such a view, borrowed from the scope; NULL with the error recorded. */
adz_tensor *adzi_gguf_mapped(
    const adz_gguf *file, const gguf_tensor *t, adz_shape shape, adz_dtype dtype);

/** Reads the head of an open stream. False with the error recorded. */
bool adzi_gguf_read_head(adz_gguf *file);

/** The text that bytes of the head are. Zero bytes may stand within. */
static inline const char *adzi_gguf_chars(const adz_gguf *file, gguf_bytes bytes)
{
    return (const char *)file->head + bytes.at;
}

/** A number of `width` bytes, 1 to 8, lowest first. */
static inline uint64_t adzi_gguf_number(const uint8_t *at, size_t width)
{
    uint64_t number = 0;
    for (size_t i = 0; i < width; ++i) {
        number |= (uint64_t)at[i] << 8 * i;
    }
    return number;
}

/** Sorts the numbers 0 .. count - 1 by the names of records, which are `size` bytes apart, and
 * begin with their gguf_bytes. */
void adzi_gguf_sort(
    const adz_gguf *file, size_t *order, const void *records, size_t count, size_t size);

/** The position of the record with that name; `count` if there is none. */
size_t adzi_gguf_search(const adz_gguf *file, const size_t *order, const void *records,
    size_t count, size_t size, const char *name);

#endif
