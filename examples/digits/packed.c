/* Unpacks files that gzip has packed, if the build has zlib. */
#include "packed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_ZLIB
#include <zlib.h>
#endif

#include "../shared/command_line.h"
#include "../shared/files.h"

bool is_gzip(const void *bytes, size_t size)
{
    return size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

#ifdef WITH_ZLIB

enum { GZIP_WINDOW = 15 + 16 }; /* zlib: the largest window, and gzip's header */

static unsigned at_most(size_t n)
{
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

/* Unpacks all members of a file. A file that was put together from several has several. */
static char *unpack(const char *path, char *packed, size_t packed_size, size_t *size)
{
    size_t room = 4 * packed_size + 65536, used = 0, read = 0;
    char *bytes = allocate(room);
    z_stream z = { 0 };
    int code = inflateInit2(&z, GZIP_WINDOW);
    while (code == Z_OK && (read < packed_size || used + 1 == room)) {
        if (used + 1 == room) {
            room *= 2;
            bytes = reallocate(bytes, room, 1);
        }
        z.next_in = (Bytef *)packed + read;
        z.avail_in = at_most(packed_size - read);
        z.next_out = (Bytef *)bytes + used;
        z.avail_out = at_most(room - 1 - used);
        code = inflate(&z, Z_NO_FLUSH);
        read = (size_t)((char *)z.next_in - packed);
        used = (size_t)((char *)z.next_out - bytes);
        if (code == Z_STREAM_END && is_gzip(packed + read, packed_size - read)) {
            code = inflateReset(&z);
        }
    }
    if (code != Z_STREAM_END) {
        bool cut = code == Z_OK || code == Z_BUF_ERROR;
        fail("%s: is packed by gzip, but %s (%s); fetch it again", path,
            cut ? "truncated" : "damaged",
            cut             ? "its end is missing"
            : z.msg != NULL ? z.msg
                            : "zlib gives no reason");
    }
    inflateEnd(&z);
    bytes[used] = '\0';
    *size = used;
    return bytes;
}

#else

_Noreturn static char *unpack(const char *path, char *packed, size_t packed_size, size_t *size)
{
    (void)packed;
    (void)packed_size;
    (void)size;
    fail(
        "%s: is packed by gzip, and this program was built without zlib; unpack it with gunzip, or install zlib (zlib1g-dev on Debian) and build again",
        path);
}

#endif

char *read_unpacked(const char *path, size_t *size)
{
    char *bytes = read_whole_file(path, size);
    if (is_gzip(bytes, *size)) {
        char *unpacked = unpack(path, bytes, *size, size);
        free(bytes);
        bytes = unpacked;
    }
    return bytes;
}
