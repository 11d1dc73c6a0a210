/* Writing files. The bytes go to a temporary file, which replaces the target at the end. */
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/source.h"
#include "base/temporary.h"

/* ---- the beginning -------------------------------------------------------------------------- */

/* Creates the temporary file in the folder of the target. */
static adz_status create_temporary(adzi_sink *sink)
{
    adzi_temporary_clear(sink->target);
    sink->fd = adzi_temporary_create(sink->target, sink->temporary);
    return sink->fd >= 0 ? ADZ_OK
                         : adzi_os_error(sink->op, sink->path,
                               "cannot create a temporary file beside it", errno);
}

/* Opens a target that exists and is no regular file, such as a pipe. It is written to directly. */
static adz_status open_device(adzi_sink *sink, const struct stat *about)
{
    if (S_ISDIR(about->st_mode)) {
        return adzi_os_error(sink->op, sink->path, "cannot be written", EISDIR);
    }
    sink->replaces = false;
    sink->fd = open(sink->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return sink->fd >= 0 ? ADZ_OK : adzi_os_error(sink->op, sink->path, "cannot be opened", errno);
}

/* Opens the target, or a temporary file next to it. */
static adz_status open_target(adzi_sink *sink, const char *op, const char *path)
{
    if (strlen(path) >= sizeof sink->target) {
        return adzi_os_error(op, path, "cannot be written", ENAMETOOLONG);
    }
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (!exists && errno != ENOENT) {
        return adzi_os_error(op, path, "cannot be written", errno);
    }
    /* A symbolic link stays: the file that it leads to is replaced. */
    if (!exists || realpath(path, sink->target) == NULL) {
        memcpy(sink->target, path, strlen(path) + 1);
    }
    if (exists && !S_ISREG(about.st_mode)) {
        return open_device(sink, &about);
    }
    adz_status status = create_temporary(sink);
    if (status == ADZ_OK && exists) {
        (void)fchmod(sink->fd, about.st_mode & 07777); /* if it fails, the default mode stays */
    }
    return status;
}

adz_status adzi_sink_open(adzi_sink *sink, const char *op, const char *path)
{
    sink->op = op;
    sink->path = path;
    sink->replaces = true;
    sink->used = 0;
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    if (adzi_refused(op) != ADZ_OK) { /* what would be written may lack what has failed */
        return adzi_pending();
    }
    adzi_hold_reports();
    adz_status status = open_target(sink, op, path);
    if (status != ADZ_OK) {
        adzi_release_reports();
    }
    return status;
}

void adzi_sink_memory(adzi_sink *sink, const char *op, void *memory, size_t size)
{
    sink->op = op;
    sink->fd = -1;
    sink->memory = memory;
    sink->left = size;
}

/* ---- writing -------------------------------------------------------------------------------- */

static adz_status write_fully(adzi_sink *sink, const unsigned char *bytes, size_t n)
{
    const size_t most = (size_t)1 << 30;
    while (n > 0) {
        ssize_t written = write(sink->fd, bytes, n < most ? n : most);
        if (written < 0 && errno != EINTR) {
            int error = errno;
            return adzi_os_error(sink->op, sink->path,
                sink->replaces ? "cannot be written, what was there is unchanged"
                               : "cannot be written",
                error);
        }
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return ADZ_OK;
}

/* Writes what the buffer holds. */
static adz_status flush(adzi_sink *sink)
{
    size_t n = sink->used;
    sink->used = 0;
    return write_fully(sink, sink->buffer, n);
}

adz_status adzi_sink_write(adzi_sink *sink, const void *bytes, size_t n)
{
    if (n == 0) {
        return ADZ_OK;
    }
    if (sink->fd < 0) {
        if (n > sink->left) {
            return adzi_error(sink->op, ADZ_ERR_STATE, "more bytes than were announced");
        }
        memcpy(sink->memory, bytes, n);
        sink->memory += n;
        sink->left -= n;
        return ADZ_OK;
    }
    adz_status status = ADZ_OK;
    if (sink->used + n > sizeof sink->buffer) {
        status = flush(sink);
    }
    if (status == ADZ_OK && n > sizeof sink->buffer) {
        return write_fully(sink, bytes, n);
    }
    if (status == ADZ_OK) {
        memcpy(sink->buffer + sink->used, bytes, n);
        sink->used += n;
    }
    return status;
}

adz_status adzi_sink_items(adzi_sink *sink, const char *items, size_t bytes, size_t item, bool big)
{
    if (big == adzi_host_is_big_endian() || item == 1) {
        return adzi_sink_write(sink, items, bytes);
    }
    unsigned char part[1024];
    adz_status status = ADZ_OK;
    while (bytes > 0 && status == ADZ_OK) {
        size_t n = bytes < sizeof part ? bytes : sizeof part;
        memcpy(part, items, n);
        adzi_swap_bytes(part, n / item, item);
        status = adzi_sink_write(sink, part, n);
        items += n;
        bytes -= n;
    }
    return status;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Brings the folder of the target to disk. Only then is the new name of the file safe. */
static adz_status sync_folder(adzi_sink *sink)
{
    char folder[PATH_MAX];
    adzi_folder_of(sink->target, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == EACCES ? ADZ_OK /* the folder may be written to but not listed */
                               : adzi_os_error(sink->op, folder, "cannot be synchronised", errno);
    }
    int error = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return error == 0 || error == EINVAL /* the file system cannot synchronise folders */
               ? ADZ_OK
               : adzi_os_error(sink->op, folder, "cannot be synchronised", error);
}

/* Brings the bytes to disk, and only then gives the file its name. The file stays open and locked
 * until it has the name, so that no other process deletes it as left behind. */
static adz_status replace_target(adzi_sink *sink)
{
    if (fsync(sink->fd) != 0) {
        return adzi_os_error(
            sink->op, sink->path, "cannot be written, what was there is unchanged", errno);
    }
    if (rename(sink->temporary, sink->target) != 0) {
        return adzi_os_error(
            sink->op, sink->path, "cannot be replaced, what was there is unchanged", errno);
    }
    return ADZ_OK;
}

adz_status adzi_sink_end(adzi_sink *sink, adz_status status)
{
    if (status == ADZ_OK) {
        status = flush(sink);
    }
    if (sink->replaces) {
        status = status == ADZ_OK ? replace_target(sink) : status;
        if (status != ADZ_OK) {
            unlink(sink->temporary);
        }
    }
    /* A file that replaces its target has been synchronised, so a failing close loses nothing. */
    if (close(sink->fd) != 0 && status == ADZ_OK && !sink->replaces) {
        status = adzi_os_error(sink->op, sink->path, "cannot be written", errno);
    }
    status = status == ADZ_OK && sink->replaces ? sync_folder(sink) : status;
    adzi_release_reports();
    return status;
}
