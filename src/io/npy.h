/* Functions that the reader and the writer of npy files share. */
#ifndef ADZI_IO_NPY_H
#define ADZI_IO_NPY_H

#include "adze/tensor.h"
#include "io/file_dtypes.h"

#define ADZI_NPY_MAGIC "\x93NUMPY"

enum { ADZI_NPY_MAGIC_SIZE = 6 };

/** The contents of a header. */
typedef struct adzi_npy_header {
    const adzi_stored *stored;
    bool big_endian, fortran_order;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
} adzi_npy_header;

/** Parses a header's text, a Python dict. `where` names the file in messages. */
adz_status adzi_npy_parse(
    const char *op, const char *where, const char *text, size_t length, adzi_npy_header *header);

#endif
