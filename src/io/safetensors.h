/* A collection of named tensors and metadata, as a safetensors file holds it. Its reader and its
 * writer use these functions. */
#ifndef ADZI_IO_SAFETENSORS_H
#define ADZI_IO_SAFETENSORS_H

#include "adze/io/safetensors.h"
#include "base/handle.h"
#include "base/sink.h"
#include "io/file_dtypes.h"
#include "base/index.h"
#include "tensor/tensor.h"

enum { ADZI_HEADER_MOST = 100000000 }; /* bytes of a header, by the definition of the format */

/** The key of the metadata in a header. No tensor can have this name. */
#define ADZI_METADATA "__metadata__"

typedef struct adzi_named {
    char *name;
    adz_tensor *tensor; /* one reference */
    bool later;         /* its elements come from adzi_later; `tensor` has dtype and shape only */
} adzi_named;

/** Elements that are fetched when their turn in a file has come. */
typedef struct adzi_later {
    /** The elements of the collection's tensor `index` in a row, valid until the next call. Tensors
     * are asked for in the order of the file: larger elements first, and equally large ones in the
     * order of the collection. NULL with the error recorded after a failure. */
    const char *(*elements)(struct adzi_later *later, size_t index);
} adzi_later;

typedef struct adzi_pair {
    char *key, *value;
} adzi_pair;

struct adz_safetensors {
    adzi_handle handle;
    adzi_named *tensors;
    size_t n_tensors, tensors_capacity;
    adzi_index names; /* finds a tensor by its name */
    adzi_pair *metadata;
    size_t n_metadata, metadata_capacity;
    adzi_index keys;   /* finds a pair of `metadata` by its key */
    adzi_pair *unread; /* tensors of the file that were not read: their names, and why */
    size_t n_unread, unread_capacity;
};

/** Appends a tensor, of which it takes a reference. The collection must not have the name yet.
 * False if memory was refused. */
bool adzi_safetensors_append(adz_safetensors *file, const char *name, adz_tensor *t);

/** Appends a pair to the metadata. The metadata must not have the key yet. False if memory was
 * refused. */
bool adzi_safetensors_append_metadata(adz_safetensors *file, const char *key, const char *value);

/** Notes a tensor of the file that could not be read, and why. False if memory was refused. */
bool adzi_safetensors_append_unread(adz_safetensors *file, const char *name, const char *reason);

/** The index of the tensor with this name, or n_tensors if there is none. */
size_t adzi_safetensors_find(const adz_safetensors *file, const char *name);

/** adz_safetensors_save of a collection some of whose tensors are fetched later. */
adz_status adzi_safetensors_save(adz_safetensors *file, const char *path, adzi_later *later);

/** Whether the bytes are UTF-8 by RFC 3629. If not, `bad` receives the offset of the first wrong
 * byte. */
bool adzi_is_utf8(const char *bytes, size_t length, size_t *bad);

/** The entry of one tensor in a header that has been checked. */
typedef struct adzi_extent {
    const char *name; /* owned by the parsed header */
    const adzi_stored *stored;
    size_t rank; /* above ADZ_MAX_RANK: the sizes are not kept, and the tensor is not read */
    int64_t sizes[ADZ_MAX_RANK];
    uint64_t begin, end; /* the offsets of its bytes in the data behind the header */
} adzi_extent;

/** A header that was parsed: its entries in their order. */
typedef struct adzi_safetensors_header {
    adzi_extent *extents;
    size_t count;
    struct json_t *json; /* owns the names */
} adzi_safetensors_header;

/** The file that a header belongs to, for checks and messages. */
typedef struct adzi_header_file {
    const char *op;
    const char *where;  /* the file, as messages show it */
    uint64_t data_size; /* bytes behind the header */
} adzi_header_file;

/** Parses and checks a header of `length` bytes. On success the caller ends `header` with
 * adzi_safetensors_header_free. */
adz_status adzi_safetensors_parse(
    const adzi_header_file *file, const char *text, size_t length, adzi_safetensors_header *header);

void adzi_safetensors_header_free(adzi_safetensors_header *header);

#endif
