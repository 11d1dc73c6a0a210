/* How files store elements: the names of dtypes in npy and safetensors files, and integers of other
 * widths than adze has. */
#ifndef ADZI_IO_FILE_DTYPES_H
#define ADZI_IO_FILE_DTYPES_H

#include "adze/tensor.h"

typedef enum adzi_stored_kind {
    ADZI_STORED_AS_IS,    /* a dtype of adze */
    ADZI_STORED_SIGNED,   /* a signed integer, which is widened */
    ADZI_STORED_UNSIGNED, /* an unsigned integer, which is widened or, with 64 bits, checked */
    ADZI_STORED_UNREAD    /* adze has nothing to read it as */
} adzi_stored_kind;

/** One kind of element. A format that does not have it has NULL for its name. */
typedef struct adzi_stored {
    const char *npy;         /* a kind and the number of bytes, "f4" */
    const char *numpy;       /* NumPy's long name, "float32" */
    const char *safetensors; /* "F32" */
    int bits;                /* of an element in the file */
    adz_dtype dtype;         /* of the tensor that is read */
    adzi_stored_kind kind;
} adzi_stored;

/** The row whose npy name, or long name, is this text of `length` characters; or NULL. */
const adzi_stored *adzi_stored_npy(const char *text, size_t length);

/** The row with this name in safetensors files, or NULL. */
const adzi_stored *adzi_stored_safetensors(const char *name);

/** The row that stores a dtype of adze as it is. */
const adzi_stored *adzi_stored_dtype(adz_dtype dtype);

/**
 * The bytes of a tensor's memory to which `n` stored elements are read. They are the last ones, so
 * that adzi_stored_widen can convert the elements in place.
 */
char *adzi_stored_begin(const adzi_stored *stored, char *elements, int64_t n);

/**
 * Converts elements that were read to adzi_stored_begin, in the byte order of the host. It does
 * nothing for a dtype of adze.
 *
 * @param elements  the tensor's memory
 * @return          n, or the position of the first element that does not fit the tensor's dtype
 */
int64_t adzi_stored_widen(const adzi_stored *stored, char *elements, int64_t n);

#endif
