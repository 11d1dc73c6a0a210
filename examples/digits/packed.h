/* Files that may be packed by gzip. */
#ifndef DIGITS_PACKED_H
#define DIGITS_PACKED_H

#include <stdbool.h>
#include <stddef.h>

/* True if these first bytes of a file say that it is packed by gzip. */
bool is_gzip(const void *bytes, size_t size);

/* Reads a whole file, for free(), and unpacks it if it is packed by gzip. Ends the program if it
 * cannot, also if the file is packed and the program was built without zlib. */
char *read_unpacked(const char *path, size_t *size);

#endif
