/* A collection of named tensors, and what its reader and writer share. */
#ifndef ADZI_IO_SAFETENSORS_H
#define ADZI_IO_SAFETENSORS_H

#include "adze/io/safetensors.h"
#include "base/sink.h"
#include "base/index.h"
#include "tensor/tensor.h"

enum { ADZI_HEADER_MOST = 100000000 }; /* bytes; the format's own limit */

#define ADZI_METADATA "__metadata__"

typedef struct adzi_named {
    char *name;
    adz_tensor *tensor; /* one reference */
} adzi_named;

typedef struct adzi_pair {
    char *key, *value;
} adzi_pair;

struct adz_safetensors {
    adzi_named *tensors;
    size_t n_tensors, tensors_capacity;
    adzi_index names; /* of the tensors */
    adzi_pair *metadata;
    size_t n_metadata, metadata_capacity;
    adzi_index keys; /* of the metadata */
};

/** Appends a tensor under a name known to be free, sharing it. False when memory was refused. */
bool adzi_safetensors_append(adz_safetensors *file, const char *name, adz_tensor *t);

/** Appends a string under a key known to be free. False when memory was refused. */
bool adzi_safetensors_append_metadata(adz_safetensors *file, const char *key, const char *value);

/** The position of a name, or the count. */
size_t adzi_safetensors_find(const adz_safetensors *file, const char *name);

/** The name of a dtype in a header, "F32". */
const char *adzi_safetensors_dtype(adz_dtype dtype);

/** Whether the bytes are UTF-8 as RFC 3629 has it; else `bad` is the offset of the first wrong one.
 */
bool adzi_is_utf8(const char *bytes, size_t length, size_t *bad);

/** Where one tensor lies, as its checked header says. */
typedef struct adzi_place {
    const char *name; /* owned by the parsed header */
    adz_dtype dtype;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    uint64_t begin, end; /* within the data */
} adzi_place;

/**
 * Parses and checks a header. `data_size` is what follows it. On success `*places` holds `*count`
 * entries in the header's order, freed with adzi_free(places, count * sizeof *places) before
 * `*json`, which owns the names.
 */
struct json_t;
adz_status adzi_safetensors_parse(const char *op, const char *where, const char *header,
    size_t length, uint64_t data_size, struct json_t **json, adzi_place **places, size_t *count);

#endif
