/* Temporary files of savers: making them, and deleting those that killed processes left behind. */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The length of the folder in a path, with its slash; 0 for the current folder. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

void adzi_folder_of(const char *path, char folder[PATH_MAX])
{
    size_t n = folder_length(path);
    memcpy(folder, n > 0 ? path : ".", n > 0 ? n : 1);
    folder[n > 0 ? n : 1] = '\0';
}

/* ---- making one ----------------------------------------------------------------------------- */

/* Whether the name in the folder still leads to the open file that `about` describes. */
static bool is_named(int folder, const char *name, const struct stat *about)
{
    struct stat there;
    return fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           there.st_dev == about->st_dev && there.st_ino == about->st_ino;
}

/* Locks the file that was just made. Returns false if another process locked the file before this
 * one could, took it for left behind and deletes it. On a file system without locks, flock fails
 * with another error, and no process deletes files of another. */
static bool claim(int fd, const char *path)
{
    struct stat about;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return errno != EWOULDBLOCK;
    }
    return fstat(fd, &about) == 0 && is_named(AT_FDCWD, path, &about);
}

/* Tries numbers until a name is free. Names may be taken by other threads that save, and by files
 * that were left behind and cannot be deleted. */
int adzi_temporary_create(const char *target, char path[PATH_MAX])
{
    int folder = (int)folder_length(target);
    for (unsigned number = 0; number < 10000; ++number) {
        int n = snprintf(
            path, PATH_MAX, "%.*s.adze-%ld-%u.tmp", folder, target, (long)getpid(), number);
        if (n < 0 || n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && claim(fd, path)) {
            return fd;
        }
        if (fd >= 0) {
            close(fd); /* the process that took the file for left behind deletes it */
        } else if (errno != EEXIST && errno != EINTR) {
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

/* ---- files that were left behind ------------------------------------------------------------ */

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Whether a file's name is ".adze-<process>-<number>.tmp". */
static bool is_ours(const char *name)
{
    static const char begin[] = ".adze-";
    if (strncmp(name, begin, sizeof begin - 1) != 0) {
        return false;
    }
    name += sizeof begin - 1;
    size_t process = count_digits(name);
    if (process == 0 || name[process] != '-') {
        return false;
    }
    name += process + 1;
    size_t number = count_digits(name);
    return number > 0 && strcmp(name + number, ".tmp") == 0;
}

/* Whether the file may be deleted if nobody has locked it: a regular file that belongs to this user
 * and has no other name. */
static bool may_be_dead(const struct stat *about)
{
    return S_ISREG(about->st_mode) && about->st_uid == geteuid() && about->st_nlink == 1;
}

/* Deletes the file if it was left behind. */
static void clear_one(int folder, const char *name)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !may_be_dead(&about)) {
        return;
    }
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    int fd = openat(folder, name, O_WRONLY | flags); /* NFS locks only files open for writing */
    if (fd < 0) {
        fd = openat(folder, name, O_RDONLY | flags); /* its target's mode may forbid writing */
    }
    if (fd < 0) {
        return;
    }
    /* While this process holds the lock, claim() fails for every process that makes a file under
     * the name. So the file that is deleted belongs to nobody. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &about) == 0 && may_be_dead(&about) &&
        is_named(folder, name, &about)) {
        (void)unlinkat(folder, name, 0);
    }
    close(fd);
}

void adzi_temporary_clear(const char *target)
{
    char path[PATH_MAX];
    adzi_folder_of(target, path);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return; /* the folder may be written to but not listed */
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (is_ours(entry->d_name)) {
            clear_one(dirfd(folder), entry->d_name);
        }
    }
    closedir(folder);
}
