/* Tensors whose elements lie in another file, below the folder of the model. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

/* What a message says about the other file. */
typedef struct external {
    const char *op, *name; /* the public function, and the tensor's name, for messages */
    reader_bytes location;
    uint64_t offset, length;
    bool has_length;
} external;

static void refuse(const external *e, adz_status status, const char *why)
{
    adz_error_format(e->op, status, "tensor \"%.60s\" lies in the file \"%.*s\", %s", e->name,
        TEXT(e->location), why);
}

/* ---- the message ---------------------------------------------------------------------------- */

/* A number of decimal digits; false for anything else. */
static bool read_number(reader_bytes text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; ++i) {
        const uint64_t digit = (uint64_t)text.at[i] - '0';
        if (digit > 9 || *number > (INT64_MAX - digit) / 10) {
            return false;
        }
        *number = 10 * *number + digit;
    }
    return text.size > 0;
}

/* One pair of a name and a text. False if it is malformed. */
static bool read_pair(reader_bytes message, external *e)
{
    reader_bytes key, value;
    if (!adzi_reader_part(message, 1, &key) || !adzi_reader_part(message, 2, &value)) {
        return false;
    }
    if (adzi_reader_is(key, "location")) {
        e->location = value;
    } else if (adzi_reader_is(key, "offset")) {
        return read_number(value, &e->offset);
    } else if (adzi_reader_is(key, "length")) {
        e->has_length = true;
        return read_number(value, &e->length);
    }
    return true;
}

static bool read_pairs(reader_bytes message, external *e)
{
    reader_field f;
    while (adzi_reader_next(&message, &f) > 0) {
        if (f.number == 13 && f.kind == WIRE_BYTES && !read_pair(f.bytes, e)) {
            adz_error_format(e->op, ADZ_ERR_FORMAT,
                "tensor \"%.60s\" lies in another file, at an offset or with a length that is no number",
                e->name);
            return false;
        }
    }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Whether a part of a path leads nowhere but down. */
static bool leads_down(reader_bytes part)
{
    return part.size > 0 && part.size <= 255 && memchr(part.at, 0, part.size) == NULL &&
           !adzi_reader_is(part, "..");
}

/* Opens the file part by part. No part may be a symbolic link, which could lead out of the folder.
 * Returns -1 with an error recorded. */
static int open_file(const reader_model *model, const external *e)
{
    reader_bytes rest = e->location;
    int folder =
        open(model->folder[0] != '\0' ? model->folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0) {
        const uint8_t *slash = rest.size > 0 ? memchr(rest.at, '/', rest.size) : NULL;
        const reader_bytes part = { rest.at,
            slash != NULL ? (size_t)(slash - rest.at) : rest.size };
        char name[256];
        if (!leads_down(part)) {
            close(folder);
            refuse(e, ADZ_ERR_FORMAT,
                "which is no path below the folder of the model; keep both files in one folder");
            return -1;
        }
        memcpy(name, part.at, part.size);
        name[part.size] = '\0';
        const int flags = slash != NULL ? O_DIRECTORY : O_NONBLOCK; /* a pipe has no writer */
        const int next = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
        const int code = errno;
        close(folder);
        if (slash == NULL && next >= 0) {
            return next;
        }
        rest.at += part.size + (slash != NULL);
        rest.size -= part.size + (slash != NULL);
        folder = next;
        errno = code;
    }
    refuse(e, ADZ_ERR_IO,
        errno == ELOOP || errno == ENOTDIR
            ? "to which a symbolic link or a file leads; links are not followed"
            : "which cannot be opened; keep it beside the model");
    return -1;
}

static bool read_all(int file, uint8_t *to, uint64_t size, uint64_t offset)
{
    while (size > 0) {
        const ssize_t n = pread(file, to, size < (1u << 30) ? size : 1u << 30, (off_t)offset);
        if (n <= 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            to += n;
            size -= (uint64_t)n;
            offset += (uint64_t)n;
        } else if (n == 0) {
            return false;
        }
    }
    return true;
}

/* The bytes of an open file. */
static adz_tensor *read_file(int file, const external *e, uint64_t bytes)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        refuse(e, ADZ_ERR_IO, "which is no regular file");
        return NULL;
    }
    const uint64_t size = (uint64_t)about.st_size;
    if (e->offset > size || bytes > size - e->offset) {
        refuse(e, ADZ_ERR_FORMAT, "which is shorter; fetch or export it again");
        return NULL;
    }
    adz_tensor *t = adz_empty(ADZ_SHAPE((int64_t)bytes), ADZ_U8);
    if (t != NULL && !read_all(file, adz_tensor_data(t), bytes, e->offset)) {
        refuse(e, ADZ_ERR_IO, "which cannot be read");
        return NULL;
    }
    return t;
}

adz_tensor *adzi_reader_external(
    const reader_model *model, reader_bytes message, const char *name, uint64_t bytes)
{
    external e = { .op = model->op, .name = name };
    if (!read_pairs(message, &e)) {
        return NULL;
    }
    if (model->folder == NULL) {
        refuse(&e, ADZ_ERR_UNSUPPORTED, "and belongs to no model");
        return NULL;
    }
    if (e.has_length && e.length != bytes) {
        adz_error_format(e.op, ADZ_ERR_FORMAT,
            "tensor \"%.60s\" has %llu bytes, but %llu in the file \"%.*s\"", name,
            (unsigned long long)bytes, (unsigned long long)e.length, TEXT(e.location));
        return NULL;
    }
    const int file = open_file(model, &e);
    if (file < 0) {
        return NULL;
    }
    adz_tensor *t = read_file(file, &e, bytes);
    close(file);
    return t;
}
