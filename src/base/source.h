/* Where loaders read from, a file or memory, and texts for messages about files. */
#ifndef ADZI_BASE_SOURCE_H
#define ADZI_BASE_SOURCE_H

#include "adze/base.h"

/** Bytes that can be read at any offset. */
typedef struct adzi_source {
    const char *name;           /* for messages: the path, or "the buffer" */
    const unsigned char *bytes; /* the whole contents, or NULL if they are read from the file */
    uint64_t size;
    size_t allocated; /* the size of `bytes` if adzi_source_close frees it, else 0 */
    int fd;           /* -1 for memory */
} adzi_source;

/** Opens a file. A pipe or a device is read to its end at once. The path stays valid until
 * adzi_source_close. ADZ_ERR_NULL, ADZ_ERR_IO, ADZ_ERR_MEMORY. */
adz_status adzi_source_open(const char *op, const char *path, adzi_source *source);

/** Reads from the caller's memory, which stays valid until adzi_source_close. */
void adzi_source_memory(adzi_source *source, const void *bytes, size_t size);

/** Copies the bytes [offset, offset + n) to `to`. The caller has checked that they lie inside the
 * source. */
adz_status adzi_source_read(
    const char *op, const adzi_source *source, uint64_t offset, void *to, size_t n);

/** Reads the whole contents into memory, so that `bytes` is set unless the size is 0. */
adz_status adzi_source_fill(const char *op, adzi_source *source);

/** Closes the file and frees memory that the source has allocated. */
void adzi_source_close(adzi_source *source);

/* ---- texts for messages --------------------------------------------------------------------- */

/** A path or other text from outside, as messages show it. It is shortened to 131 bytes, and
 * control characters are replaced by "?". */
typedef struct adzi_shown {
    char text[136];
} adzi_shown;

/** Write a text to `shown` and return it: `length` bytes, or a string. */
const char *adzi_show_bytes(adzi_shown *shown, const char *text, size_t length);
const char *adzi_show(adzi_shown *shown, const char *text);

/** Records ADZ_ERR_IO as "<path>: <doing>: <text of the error>" and returns it. `doing` says what
 * failed, "cannot be read"; `error` is errno. */
adz_status adzi_os_error(const char *op, const char *path, const char *doing, int error);

#endif
