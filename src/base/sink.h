/* Where savers write: memory, or a file that is replaced completely or not at all. */
#ifndef ADZI_BASE_SINK_H
#define ADZI_BASE_SINK_H

#include <limits.h>

#include "adze/base.h"

enum { ADZI_SINK_BUFFER = 8192 };

typedef struct adzi_sink {
    const char *op;
    const char *path;         /* as the caller wrote it */
    int fd;                   /* -1 for memory */
    bool replaces;            /* fd is a temporary file that will replace the target */
    char target[PATH_MAX];    /* the path without a symbolic link at its end */
    char temporary[PATH_MAX]; /* the path of the temporary file, in the target's folder */
    unsigned char *memory;    /* for memory: the position of the next byte */
    size_t left;              /* for memory: how many bytes there is room for */
    size_t used;              /* bytes in `buffer` */
    unsigned char buffer[ADZI_SINK_BUFFER];
} adzi_sink;

/**
 * Begins to write a file. A regular file that exists under the path is unchanged until
 * adzi_sink_end. A device or a pipe is written to directly. Temporary files that killed processes
 * left in the folder are deleted first, because they may fill the disk. Reports of errors are held
 * back until adzi_sink_end. ADZ_ERR_NULL, ADZ_ERR_IO, or the code of an error that is pending.
 *
 * @param op    for messages
 * @param path  stays valid until adzi_sink_end
 */
adz_status adzi_sink_open(adzi_sink *sink, const char *op, const char *path);

/** Begins to write to memory of `size` bytes. adzi_sink_end is not called for it. */
void adzi_sink_memory(adzi_sink *sink, const char *op, void *memory, size_t size);

/** Writes n bytes. ADZ_ERR_IO; ADZ_ERR_STATE if the memory is too small. */
adz_status adzi_sink_write(adzi_sink *sink, const void *bytes, size_t n);

/** Writes an array of numbers, `bytes` bytes in all, with `item` bytes per number. They are written
 * big-endian if `big`, else little-endian. */
adz_status adzi_sink_items(adzi_sink *sink, const char *items, size_t bytes, size_t item, bool big);

/**
 * Ends a file. If `status` is ADZ_OK, the bytes are brought to disk and the new file replaces the
 * old one. If `status` is an error, or if this fails, the old file stays as it is.
 *
 * @param status  what the calls before have returned
 * @return        `status`, or ADZ_ERR_IO if writing failed
 */
adz_status adzi_sink_end(adzi_sink *sink, adz_status status);

#endif
