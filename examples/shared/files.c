/* Reading files, checking paths before the work, and writing files. */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command_line.h"
#include "plain_text.h"

char *read_whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("%s: cannot be opened: %s", path, strerror(errno));
    }
    size_t room = 65536;
    char *text = allocate(room);
    *size = 0;
    for (size_t n; (n = fread(text + *size, 1, room - *size - 1, file)) > 0;) {
        *size += n;
        if (*size + 1 == room) {
            room *= 2;
            text = reallocate(text, room, 1);
        }
    }
    if (ferror(file)) {
        fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    text[*size] = '\0';
    return text;
}

void check_text_file(const char *path)
{
    static const struct {
        const char *begin, *what;
    } kinds[] = {
        { "\xff\xfe", "is UTF-16; save it as UTF-8" },
        { "\xfe\xff", "is UTF-16; save it as UTF-8" },
        { "PK\x03\x04", "is a ZIP archive or a workbook; unpack it, or export the table as CSV" },
        { "\x1f\x8b", "is packed by gzip; unpack it first" },
    };
    char bytes[65536];
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        return; /* reading from a pipe would consume its data */
    }
    FILE *file = fopen(path, "rb");
    size_t n = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        size_t length = strlen(kinds[i].begin);
        if (n >= length && memcmp(bytes, kinds[i].begin, length) == 0) {
            fail("%s: this is no text: it %s", path, kinds[i].what);
        }
    }
    if (memchr(bytes, '\0', n) != NULL) {
        fail("%s: this is no text: it contains zero bytes; a text file is wanted", path);
    }
}

/* ---- paths of files to write ---------------------------------------------------------------- */

/* Cuts a path at its last slash into a folder and a name. The result is a copy of the path, for
 * free(), into which `name` points. Without a slash the folder is ".". */
static char *cut_path(const char *path, const char **folder, char **name)
{
    char *copy = copy_text(path), *slash = strrchr(copy, '/');
    *name = slash != NULL ? slash + 1 : copy;
    *folder = slash == NULL ? "." : slash == copy ? "/" : copy;
    if (slash != NULL) {
        *slash = '\0';
    }
    return copy;
}

static char *join_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = allocate(size);
    snprintf(path, size, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
    return path;
}

/* The path that a link leads to, for free(). NULL if the path is no link. */
static char *link_target(const char *path)
{
    char target[PATH_MAX];
    const char *folder;
    char *name;
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) {
        return NULL;
    }
    target[n] = '\0';
    char *copy = cut_path(path, &folder, &name);
    char *led = target[0] == '/' ? copy_text(target) : join_path(folder, target);
    free(copy);
    return led;
}

/* The path without links, "." and "..", for free(). The file itself need not exist. NULL with errno
 * set if a folder of the path does not exist. */
static char *resolve(const char *path)
{
    enum { LINKS = 40 }; /* as many as Linux follows */
    char *at = copy_text(path), *whole = realpath(at, NULL);
    for (int i = 0; whole == NULL && errno == ENOENT && i < LINKS; ++i) {
        char *next = link_target(at);
        if (next == NULL) {
            break;
        }
        free(at);
        at = next;
        whole = realpath(at, NULL);
    }
    if (whole == NULL && errno != ELOOP) {
        const char *folder;
        char *name, *copy = cut_path(at, &folder, &name), *real = realpath(folder, NULL);
        whole = real != NULL ? join_path(real, name) : NULL;
        free(real);
        free(copy);
    }
    int error = errno;
    free(at);
    errno = error;
    return whole;
}

bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0) {
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    }
    char *whole_a = resolve(a), *whole_b = resolve(b);
    bool same = whole_a != NULL && whole_b != NULL && strcmp(whole_a, whole_b) == 0;
    free(whole_a);
    free(whole_b);
    return same;
}

/* Ends the program if no file can be made in the folder of `target`, to which `path` leads. A file
 * is replaced by a temporary file in its folder, so this needs the right to write to the folder. */
static void check_folder(const char *path, const char *target)
{
    const char *folder;
    char *name, *copy = cut_path(target, &folder, &name);
    if (*name == '\0') {
        usage_error("'%s': a file to be written needs a name", path);
    }
    if (access(folder, W_OK | X_OK) != 0) {
        fail("%s: cannot be written into %s: %s", path,
            strcmp(folder, ".") == 0 ? "this folder" : folder, strerror(errno));
    }
    free(copy);
}

void check_writable(const char *path)
{
    struct stat there;
    if (has_control(path)) {
        usage_error("'%s': the name of a file to be written contains a control character", path);
    }
    bool exists = stat(path, &there) == 0;
    if (!exists && *path != '\0' && errno != ENOENT) {
        fail("%s: cannot be written: %s", path, strerror(errno));
    }
    if (exists && S_ISDIR(there.st_mode)) {
        fail("%s: is a folder; a file is to be written there", path);
    }
    if (exists && access(path, W_OK) != 0) {
        fail("%s: cannot be written: %s", path, strerror(errno));
    }
    if (exists && !S_ISREG(there.st_mode)) {
        return; /* a device or a pipe can be written directly */
    }
    bool link = lstat(path, &there) == 0 && S_ISLNK(there.st_mode);
    char *target = link ? resolve(path) : copy_text(path);
    if (target == NULL) {
        fail("%s: is a link that leads nowhere: %s", path, strerror(errno));
    }
    check_folder(path, target);
    free(target);
}

/* Devices and pipes may be used twice: nothing in them is replaced. */
static void check_pair(const file_use *a, const file_use *b)
{
    struct stat there;
    bool device = b->path != NULL && stat(b->path, &there) == 0 && !S_ISREG(there.st_mode);
    if (device || a->path == NULL || b->path == NULL || !(a->written || b->written) ||
        !same_file(a->path, b->path)) {
        return;
    }
    bool alike = strcmp(a->path, b->path) == 0;
    usage_error("--%s %s and --%s %s are the same file%s", a->option, a->path, b->option, b->path,
        alike ? "" : " under two names");
}

void check_files(const file_use *files, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (files[i].path != NULL && files[i].written) {
            check_writable(files[i].path);
        }
        for (size_t j = 0; j < i; ++j) {
            check_pair(&files[j], &files[i]);
        }
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

FILE *create_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fail("%s: %s", path, strerror(errno));
    }
    return file;
}

void finish_file(const char *path, FILE *file)
{
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        fail("%s: %s", path, strerror(errno));
    }
}

void write_number(FILE *file, double x)
{
    char text[NUMBER_TEXT];
    if (!isnan(x)) {
        fputs(number_text(x, text), file);
    }
}

void write_row(FILE *file, int64_t row, const double *columns, size_t n)
{
    fprintf(file, "%lld", (long long)row);
    for (size_t i = 0; i < n; ++i) {
        fputc(',', file);
        write_number(file, columns[i]);
    }
    fputc('\n', file);
}

void write_field(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; ++text) {
        fputs(*text == '"' ? "\"\"" : (char[]){ *text, '\0' }, file);
    }
    fputc('"', file);
}
