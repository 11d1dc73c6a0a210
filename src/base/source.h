/* Where bytes come from: a file or memory; and texts for messages about files. */
#ifndef ADZI_BASE_SOURCE_H
#define ADZI_BASE_SOURCE_H

#include "adze/base.h"

/** Bytes that can be read at any offset. */
typedef struct adzi_source {
    const char *name;           /* for messages: the path, or "the buffer" */
    const unsigned char *bytes; /* everything, or NULL for a regular file that is read piecewise */
    uint64_t size;
    size_t allocated; /* bytes of `bytes` that are ours */
    int fd;           /* -1 for memory */
} adzi_source;

/** Opens a file; pipes and devices are read to their end at once. ADZ_ERR_IO, ADZ_ERR_MEMORY. */
adz_status adzi_source_open(const char *op, const char *path, adzi_source *source);

void adzi_source_memory(adzi_source *source, const void *bytes, size_t size);

/** Reads [offset, offset + n), which the caller knows to lie inside. */
adz_status adzi_source_read(
    const char *op, const adzi_source *source, uint64_t offset, void *to, size_t n);

/** Brings everything into memory, so that `bytes` is set. */
adz_status adzi_source_fill(const char *op, adzi_source *source);

void adzi_source_close(adzi_source *source);

/* ---- texts for messages --------------------------------------------------------------------- */

/** What the operating system means by an error number, in English whatever the locale. */
const char *adzi_os_text(int error);

/** Text from outside made fit for a message: short, and without control characters. */
typedef struct adzi_shown {
    char text[136];
} adzi_shown;

const char *adzi_show_bytes(adzi_shown *shown, const char *text, size_t length);
const char *adzi_show(adzi_shown *shown, const char *text);

/** ADZ_ERR_IO as "<path>: <doing>: <what the system says>". */
adz_status adzi_os_error(const char *op, const char *path, const char *doing, int error);

#endif
