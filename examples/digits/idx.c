/* Reads IDX files: 00 00, the type of the elements, the number of dimensions, the size of each
 * dimension as a big-endian number of 4 bytes, and the elements, the last dimension the fastest. */
#include "idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/command_line.h"
#include "options.h"
#include "packed.h"

enum { BYTES = 0x08, SIGNED_BYTES = 0x09, SHORTS = 0x0b, INTS = 0x0c }; /* types of elements */

typedef struct idx {
    unsigned char *bytes; /* the whole file, for free() */
    const unsigned char *elements;
    size_t width; /* bytes of an element */
    int64_t sizes[3];
} idx;

static int64_t big_endian(const unsigned char *at)
{
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | (int64_t)at[3];
}

/* The bytes of an element of a type of integers, or 0. */
static size_t width_of(int type)
{
    return type == BYTES || type == SIGNED_BYTES ? 1 : type == SHORTS ? 2 : type == INTS ? 4 : 0;
}

/* Element i of a file of integers. Only unsigned bytes have no sign. */
static int64_t element_of(const idx *file, int64_t i)
{
    const unsigned char *at = file->elements + i * (int64_t)file->width;
    uint64_t value = file->bytes[2] != BYTES && at[0] >= 0x80 ? UINT64_MAX : 0;
    for (size_t k = 0; k < file->width; ++k) {
        value = value << 8 | at[k];
    }
    return (int64_t)value;
}

/* Ends the program if the file is no IDX file with `rank` dimensions: of unsigned bytes, or for
 * labels of integers. `what` names what was expected. */
static void check_kind(
    const char *path, const unsigned char *bytes, size_t size, int rank, const char *what)
{
    if (size < 4 || bytes[0] != 0 || bytes[1] != 0) {
        fail("%s: this is no IDX file of %s: it %s, and an IDX file begins with 00 00 08 %02d",
            path, what, size < 4 ? "has fewer than 4 bytes" : "begins otherwise", rank);
    }
    if (rank == 1 ? width_of(bytes[2]) == 0 : bytes[2] != BYTES) {
        fail("%s: its elements are of the IDX type %02x; %s are %s", path, bytes[2], what,
            rank == 1 ? "integers, type 08, 09, 0b or 0c" : "unsigned bytes, type 08");
    }
    if (bytes[3] != rank) {
        bool swapped = bytes[3] == 1 || bytes[3] == 3;
        fail("%s: has %d dimension%s, and %s have %d%s", path, bytes[3], plural(bytes[3]), what,
            rank, swapped ? "; are the files of images and labels swapped?" : "");
    }
}

static idx read_file(const char *path, int rank, const char *what)
{
    size_t size;
    idx file = { .bytes = (unsigned char *)read_unpacked(path, &size) };
    check_kind(path, file.bytes, size, rank, what);
    file.width = width_of(file.bytes[2]);
    size_t header = 4 + 4 * (size_t)rank, wanted = file.width;
    char sizes[64] = "";
    for (int i = 0; i < rank && size >= header; ++i) {
        file.sizes[i] = big_endian(file.bytes + 4 + 4 * i);
        size_t used = strlen(sizes);
        snprintf(sizes + used, sizeof sizes - used, "%s%lld", i > 0 ? " x " : "",
            (long long)file.sizes[i]);
        wanted *= (size_t)(i == 0 || file.sizes[i] <= LONGEST_SIDE ? file.sizes[i] : 0);
        if (i > 0 && (file.sizes[i] < SHORTEST_SIDE || file.sizes[i] > LONGEST_SIDE)) {
            fail("%s: images of %lld pixels on a side; %d to %d are possible", path,
                (long long)file.sizes[i], SHORTEST_SIDE, LONGEST_SIDE);
        }
    }
    if (file.width > 1) {
        size_t used = strlen(sizes);
        snprintf(sizes + used, sizeof sizes - used, " x %zu", file.width);
    }
    if (size < header) {
        fail("%s: is truncated: its header has %zu of %zu bytes; fetch it again", path, size,
            header);
    }
    if (size - header != wanted) {
        fail(
            "%s: its header says %s bytes, and %zu follow it instead of %zu: the file is %s; fetch it again",
            path, sizes, size - header, wanted, size - header < wanted ? "truncated" : "too long");
    }
    file.elements = file.bytes + header;
    return file;
}

static void read_labels(const char *path, const char *images_path, images *all)
{
    idx file = read_file(path, 1, "labels");
    if (file.sizes[0] != all->count) {
        fail("%s has %lld labels, and %s has %lld images; they do not belong together", path,
            (long long)file.sizes[0], images_path, (long long)all->count);
    }
    for (int64_t i = 0; i < all->count; ++i) {
        const int64_t label = element_of(&file, i);
        if (label < 0 || label >= CLASSES) {
            fail("%s: label %lld (from 0) is %lld; digits are 0 to 9", path, (long long)i,
                (long long)label);
        }
        all->digits[i] = (int)label;
    }
    free(file.bytes);
}

images read_idx(const char *images_path, const char *labels_path)
{
    idx file = read_file(images_path, 3, "images");
    if (file.sizes[0] == 0) {
        fail("%s: there are no images", images_path);
    }
    images all = new_images(file.sizes[0], file.sizes[1], file.sizes[2], labels_path != NULL);
    all.range = 255;
    for (int64_t i = 0; i < all.count * all.height * all.width; ++i) {
        all.pixels[i] = file.elements[i];
    }
    free(file.bytes);
    if (labels_path != NULL) {
        read_labels(labels_path, images_path, &all);
    }
    return all;
}

bool is_idx(const char *path)
{
    unsigned char bytes[4] = { 0 };
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        return false; /* reading from a pipe would consume its data */
    }
    FILE *file = fopen(path, "rb");
    size_t n = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return n >= 2 && ((bytes[0] == 0 && bytes[1] == 0) || is_gzip(bytes, n));
}
