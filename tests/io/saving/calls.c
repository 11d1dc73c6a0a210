/* The linker puts these functions between the library and the C library: they note the calls of a
 * save and make single calls fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"

noted_call noted[NOTED_MOST];
size_t n_noted;
int fail_with[CALLS];
size_t most_written;
bool close_fails;
intrusion before_lock;
int competitor = -1;

int __wrap_close(int fd);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

void trace(void)
{
    n_noted = 0;
    memset(fail_with, 0, sizeof fail_with);
    most_written = SIZE_MAX;
}

/* Notes a call and returns true if it is to fail, with errno set. */
static bool refuses(call which, const struct stat *about)
{
    assert_true(n_noted < NOTED_MOST);
    noted[n_noted].call = which;
    noted[n_noted++].file = about->st_ino;
    errno = fail_with[which];
    if (errno == EINTR) {
        fail_with[which] = 0; /* An interrupted call succeeds when it is repeated. */
    }
    return errno != 0;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    struct stat about;
    bool file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    if (file && refuses(WRITE, &about)) {
        return -1;
    }
    return __real_write(fd, bytes, file && n > most_written ? most_written : n);
}

int __wrap_fsync(int fd)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    return refuses(S_ISDIR(about.st_mode) ? SYNC_FOLDER : SYNC, &about) ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd)
{
    int done = __real_close(fd);
    if (close_fails) {
        errno = EIO;
        return -1;
    }
    return done;
}

int __wrap_rename(const char *from, const char *to)
{
    struct stat about;
    assert_int_equal(stat(from, &about), 0);
    return refuses(RENAME, &about) ? -1 : __real_rename(from, to);
}

int __wrap_flock(int fd, int how);

int __wrap_flock(int fd, int how)
{
    char link[64], path[PATH_MAX] = "";
    if (before_lock == UNSUPPORTED) {
        errno = ENOLCK;
        return -1;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    assert_true(readlink(link, path, sizeof path - 1) > 0);
    if (before_lock == DELETED) {
        assert_int_equal(unlink(path), 0);
    } else if (before_lock == LOCKED) {
        competitor = open(path, O_WRONLY);
        assert_int_equal(__real_flock(competitor, LOCK_EX | LOCK_NB), 0);
    }
    before_lock = NOTHING;
    return __real_flock(fd, how);
}
