/* Files for tests, in a temporary folder below the current one, and requests for memory that
 * fail. */
#ifndef ADZE_TESTS_TEMPORARY_H
#define ADZE_TESTS_TEMPORARY_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "adze/base.h"
#include "adze/tensor.h"
#include "base/alloc.h"
#include "base/threads/thread.h"

static char temporary_folder[64];

static inline int temporary_begin(void **state)
{
    (void)state;
    strcpy(temporary_folder, "test-files-XXXXXX");
    return mkdtemp(temporary_folder) == NULL;
}

/* Returns the number of files in the folder, and deletes them if asked to. */
static inline int temporary_files(bool and_delete)
{
    int count = 0;
    DIR *folder = opendir(temporary_folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", temporary_folder, entry->d_name);
            count += 1;
            if (and_delete) {
                remove(path);
            }
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static inline int temporary_end(void **state)
{
    (void)state;
    temporary_files(true);
    return rmdir(temporary_folder);
}

/* The path of a file in the folder. The fourth call after this one overwrites the result. */
static inline const char *temporary_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temporary_folder, name);
    return path;
}

/* The path of a device "null" or "full"; NULL if there is none. Root gets a device in the folder of
 * the test, because a test that fails might replace the device of the system. */
static inline const char *device_path(const char *name)
{
    static char path[512];
    bool full = strcmp(name, "full") == 0;
    if (geteuid() != 0) {
        snprintf(path, sizeof path, "/dev/%s", name);
    } else {
        snprintf(path, sizeof path, "%s/%s", temporary_folder, name);
        remove(path);
        if (mknod(path, S_IFCHR | 0666, makedev(1, full ? 7 : 3)) != 0) {
            return NULL;
        }
    }
    int fd = open(path, O_WRONLY); /* The file system may not allow devices. */
    if (fd < 0) {
        return NULL;
    }
    close(fd);
    return path;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        abort();
    }
}

/* The bytes of a file, which the caller frees; NULL if there is no such file. */
static inline unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        abort();
    }
    fclose(file);
    return bytes;
}

static inline bool files_equal(const char *one, const char *other)
{
    size_t n = 0, m = 0;
    unsigned char *a = read_file(one, &n), *b = read_file(other, &m);
    bool equal = a != NULL && b != NULL && n == m && memcmp(a, b, n) == 0;
    free(a);
    free(b);
    return equal;
}

/* For refuse_each: true if a save that failed left the file "kept", which equals "copy", as it was,
 * and made no other file. */
static inline bool kept_is_intact(void *user)
{
    (void)user;
    return files_equal(temporary_path("kept"), temporary_path("copy")) &&
           temporary_files(false) == 2;
}

/**
 * Runs `act` again and again, with request 1, 2, ... for memory refused, until it succeeds. After
 * each failure `after` checks what is left. Returns the number of failures, or -1 if one had
 * another error, leaked, or did not satisfy `after`.
 */
static inline int refuse_each(adz_status (*act)(void *user), bool (*after)(void *user), void *user)
{
    for (int n = 1;; ++n) {
        int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
        adzi_alloc_fail_at(n);
        adz_status status = act(user);
        bool reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (status == ADZ_OK) {
            return reached ? -1 : n - 1;
        }
        bool right = status == ADZ_ERR_MEMORY && adz_error_code() == ADZ_ERR_MEMORY && reached;
        adz_error_clear();
        if (!right || (after != NULL && !after(user)) || adzi_live_tensors() != tensors ||
            adzi_live_bytes() != bytes) {
            fprintf(stderr, "refusing request %d: status %d, %lld tensors and %lld bytes more\n", n,
                (int)status, (long long)(adzi_live_tensors() - tensors),
                (long long)(adzi_live_bytes() - bytes));
            return -1;
        }
    }
}

/* True if `act` fails for want of memory, without a leak, when it cannot open a scope. A thread
 * keeps its scopes, so that `act` runs where no scope was ever opened that deep. */
static inline bool refuse_scope(adz_status (*act)(void *user), void *user)
{
    adz_scope *outermost = adz_scope_open();
    while (adzi_self()->scope->inner != NULL) {
        adz_scope_open();
    }
    int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
    adzi_alloc_fail_at(1);
    adz_status status = act(user);
    bool reached = adzi_alloc_failed();
    adzi_alloc_fail_at(0);
    bool right = status == ADZ_ERR_MEMORY && adz_error_code() == ADZ_ERR_MEMORY && reached &&
                 adzi_live_tensors() == tensors && adzi_live_bytes() == bytes;
    adz_error_clear();
    adz_scope_close(outermost);
    return right;
}

#endif
