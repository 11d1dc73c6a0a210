/* Reading files, and the texts of the messages about them. */
#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

/* ---- texts ---------------------------------------------------------------------------------- */

/* The texts of Linux. strerror is not used, because it answers in the language of the locale. */
static const char *os_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        { EPERM, "Operation not permitted" },
        { ENOENT, "No such file or directory" },
        { EINTR, "Interrupted system call" },
        { EIO, "Input/output error" },
        { ENXIO, "No such device or address" },
        { EBADF, "Bad file descriptor" },
        { ENOMEM, "Cannot allocate memory" },
        { EACCES, "Permission denied" },
        { EBUSY, "Device or resource busy" },
        { EEXIST, "File exists" },
        { EXDEV, "Invalid cross-device link" },
        { ENODEV, "No such device" },
        { ENOTDIR, "Not a directory" },
        { EISDIR, "Is a directory" },
        { EINVAL, "Invalid argument" },
        { ENFILE, "Too many open files in system" },
        { EMFILE, "Too many open files" },
        { ETXTBSY, "Text file busy" },
        { EFBIG, "File too large" },
        { ENOSPC, "No space left on device" },
        { EROFS, "Read-only file system" },
        { EPIPE, "Broken pipe" },
        { ENAMETOOLONG, "File name too long" },
        { ELOOP, "Too many levels of symbolic links" },
        { EOVERFLOW, "Value too large for defined data type" },
        { EDQUOT, "Disk quota exceeded" },
        { ESTALE, "Stale file handle" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (texts[i].error == error) {
            return texts[i].text;
        }
    }
    return "the operating system refused";
}

/* Whether the byte is part of a UTF-8 character and not its first byte. */
static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0u) == 0x80u;
}

/* A text of more than 128 bytes keeps its first 48 and its last 80 bytes. More is kept of the end,
 * because it tells most about a path. UTF-8 characters are not cut in two. */
const char *adzi_show_bytes(adzi_shown *shown, const char *text, size_t length)
{
    enum { HEAD = 48, TAIL = 80 };
    size_t head = length, tail = length;
    if (length > HEAD + TAIL) {
        for (head = HEAD; head > 0 && continues_character(text[head]); --head) {
        }
        for (tail = length - TAIL; tail < length && continues_character(text[tail]); ++tail) {
        }
    }
    char *to = shown->text;
    memcpy(to, text, head);
    to += head;
    if (tail > head) {
        memcpy(to, "...", 3);
        to += 3;
    }
    memcpy(to, text + tail, length - tail);
    to += length - tail;
    *to = '\0';
    for (char *c = shown->text; c < to; ++c) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
    return shown->text;
}

const char *adzi_show(adzi_shown *shown, const char *text)
{
    return adzi_show_bytes(shown, text, strlen(text));
}

adz_status adzi_os_error(const char *op, const char *path, const char *doing, int error)
{
    adzi_shown shown;
    return adzi_error(op, ADZ_ERR_IO, "%s: %s: %s (error %d)", adzi_show(&shown, path), doing,
        os_text(error), error);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads n bytes, or fewer at the end of the file. Returns their number, or -1 with errno set. A
 * pipe is not seekable; `offset` is not used for it. */
static ssize_t read_fully(int fd, unsigned char *to, size_t n, off_t offset, bool seekable)
{
    const size_t most = (size_t)1 << 30; /* Linux reads at most 2 GB per call */
    size_t done = 0;
    while (done < n) {
        size_t part = n - done < most ? n - done : most;
        ssize_t got =
            seekable ? pread(fd, to + done, part, offset + (off_t)done) : read(fd, to + done, part);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

/* Reads a pipe or a device to its end, because its size is not known before. A folder cannot be
 * read. */
static adz_status read_stream(const char *op, adzi_source *source)
{
    unsigned char *bytes = NULL;
    size_t capacity = 0, used = 0;
    for (;;) {
        if (!adzi_grow(&bytes, &capacity, used + 65536, 1)) {
            adzi_free(bytes, capacity);
            adzi_fail_memory(op, used + 65536);
            return ADZ_ERR_MEMORY;
        }
        ssize_t got = read_fully(source->fd, bytes + used, capacity - used, 0, false);
        if (got < 0) {
            int error = errno;
            adzi_free(bytes, capacity);
            return adzi_os_error(op, source->name, "cannot be read", error);
        }
        used += (size_t)got;
        if (used < capacity) {
            source->bytes = bytes;
            source->allocated = capacity;
            source->size = used;
            return ADZ_OK;
        }
    }
}

adz_status adzi_source_open(const char *op, const char *path, adzi_source *source)
{
    *source = (adzi_source){ .name = path, .fd = -1 };
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    do {
        source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    } while (source->fd < 0 && errno == EINTR);
    if (source->fd < 0) {
        return adzi_os_error(op, path, "cannot be opened", errno);
    }
    struct stat about;
    adz_status status = ADZ_OK;
    if (fstat(source->fd, &about) != 0) {
        status = adzi_os_error(op, path, "cannot be read", errno);
    } else if (S_ISREG(about.st_mode) && about.st_size > 0) {
        source->size = (uint64_t)about.st_size;
    } else {
        status = read_stream(op, source);
    }
    if (status != ADZ_OK) {
        adzi_source_close(source);
    }
    return status;
}

void adzi_source_memory(adzi_source *source, const void *bytes, size_t size)
{
    *source = (adzi_source){ .name = "the buffer", .bytes = bytes, .size = size, .fd = -1 };
}

adz_status adzi_source_read(
    const char *op, const adzi_source *source, uint64_t offset, void *to, size_t n)
{
    if (n == 0) {
        return ADZ_OK;
    }
    if (source->bytes != NULL) {
        memcpy(to, source->bytes + offset, n);
        return ADZ_OK;
    }
    ssize_t got = read_fully(source->fd, to, n, (off_t)offset, true);
    if (got < 0) {
        return adzi_os_error(op, source->name, "cannot be read", errno);
    }
    if ((size_t)got < n) {
        adzi_shown shown;
        return adzi_error(op, ADZ_ERR_IO,
            "%s: it became shorter while it was read; read it when nothing writes to it",
            adzi_show(&shown, source->name));
    }
    return ADZ_OK;
}

adz_status adzi_source_fill(const char *op, adzi_source *source)
{
    if (source->bytes != NULL || source->size == 0) {
        return ADZ_OK;
    }
    unsigned char *bytes = source->size > SIZE_MAX / 2 ? NULL : adzi_alloc((size_t)source->size);
    if (bytes == NULL) {
        adzi_fail_memory(op, (size_t)source->size);
        return ADZ_ERR_MEMORY;
    }
    adz_status status = adzi_source_read(op, source, 0, bytes, (size_t)source->size);
    if (status != ADZ_OK) {
        adzi_free(bytes, (size_t)source->size);
        return status;
    }
    source->bytes = bytes;
    source->allocated = (size_t)source->size;
    return ADZ_OK;
}

void adzi_source_close(adzi_source *source)
{
    if (source->allocated > 0) {
        unsigned char *ours;
        memcpy(&ours, &source->bytes, sizeof ours); /* removes const: this memory is our own */
        adzi_free(ours, source->allocated);
    }
    if (source->fd >= 0) {
        close(source->fd);
    }
    *source = (adzi_source){ .name = source->name, .fd = -1 };
}
