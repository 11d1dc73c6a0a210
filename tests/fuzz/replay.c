/* Feeds a fuzz target each file of a folder: whole, cut off everywhere, and with each byte changed
 * in a few ways. The target traps when something is wrong.
 *   replay FOLDER
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static long runs;

/* A block of exactly that size, so that a sanitizer sees what is read beyond it. */
static void feed(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    ++runs;
}

static void feed_variants(unsigned char *bytes, size_t size)
{
    static const unsigned char changes[] = { 0x01, 0x10, 0x80, 0xff };
    feed(bytes, size);
    for (size_t n = 0; n < size; ++n) {
        feed(bytes, n);
        for (size_t i = 0; i < sizeof changes; ++i) {
            bytes[n] ^= changes[i];
            feed(bytes, size);
            bytes[n] ^= changes[i];
        }
    }
}

static size_t read_whole(const char *path, unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

int main(int argc, char **argv)
{
    static unsigned char bytes[65536];
    int files = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
            size_t size = read_whole(path, bytes, sizeof bytes);
            if (size < 2048) {
                feed_variants(bytes, size);
            } else {
                feed(bytes, size);
            }
            ++files;
        }
    }
    closedir(folder);
    printf("%d files, %ld inputs\n", files, runs);
    return files >= 10 ? 0 : 1;
}
