/* npy files in memory. */
#ifndef ADZE_TESTS_IO_NPY_MAKE_H
#define ADZE_TESTS_IO_NPY_MAKE_H

#include <string.h>

#include "base/bytes.h"

/* Writes a file to memory as NumPy does, without padding: magic string, version, length, text and
 * data. Returns its size. */
static inline size_t make(
    unsigned char *to, int major, const char *text, const void *data, size_t size)
{
    size_t n = strlen(text), prefix = major == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)major;
    to[7] = 0;
    adzi_write_little(to + 8, prefix - 8, n);
    memcpy(to + prefix, text, n);
    memcpy(to + prefix + n, data, size);
    return prefix + n + size;
}

#define HEADER(descr, fortran, shape) \
    "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }\n"

#endif
