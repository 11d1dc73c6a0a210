/* Where bytes go: memory, or a file that is replaced as a whole or not at all. */
#ifndef ADZI_BASE_SINK_H
#define ADZI_BASE_SINK_H

#include <limits.h>

#include "adze/base.h"

enum { ADZI_SINK_BUFFER = 8192 };

typedef struct adzi_sink {
    const char *op;
    const char *path;         /* as the caller wrote it */
    int fd;                   /* -1 for memory */
    bool replaces;            /* fd is a temporary file that will take target's place */
    char target[PATH_MAX];    /* the path without a symbolic link at its end */
    char temporary[PATH_MAX]; /* beside it */
    unsigned char *memory;    /* for memory: where the next bytes go */
    size_t left;              /* and how much room there is */
    size_t used;              /* of buffer */
    unsigned char buffer[ADZI_SINK_BUFFER];
} adzi_sink;

/**
 * Starts a file. What exists under the path stays until adzi_sink_end; only a device or a pipe is
 * written to directly. Temporary files that killed processes left in the folder are deleted first:
 * they may be what fills the disk. ADZ_ERR_NULL, ADZ_ERR_IO.
 */
adz_status adzi_sink_open(adzi_sink *sink, const char *op, const char *path);

/** Starts in memory that will hold everything; there is nothing to end. */
void adzi_sink_memory(adzi_sink *sink, const char *op, void *memory, size_t size);

adz_status adzi_sink_write(adzi_sink *sink, const void *bytes, size_t n);

/** Writes `bytes` bytes of numbers of `item` bytes each, little-endian or, when `big`, big-endian.
 */
adz_status adzi_sink_items(adzi_sink *sink, const char *items, size_t bytes, size_t item, bool big);

/**
 * Ends a file: with `status` ADZ_OK the bytes are brought to disk and take the path's place; with
 * any other, or when that fails, what was there stays. Returns what came of it.
 */
adz_status adzi_sink_end(adzi_sink *sink, adz_status status);

#endif
