/* Reads and writes CSV files of pixels. */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "options.h"

/* ---- rows of a file -------------------------------------------------------------------------- */

/* The line in which a row stands, from 1, or 0 if it cannot be found, as in a pipe. Rows count from
 * 0 without the header. Lines without characters are no rows, and quotes may contain line ends. */
static int64_t line_of_row(const char *path, int64_t row)
{
    size_t size;
    char *text = read_whole_file(path, &size);
    int64_t line = 1, begun = 0, found = 0;
    bool quoted = false, blank = true;
    for (size_t i = 0; i < size && found == 0; ++i) {
        bool end = text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
        quoted = quoted != (text[i] == '"');
        if (!end && blank && strchr(" \t\r", text[i]) == NULL) {
            blank = false;
            found = begun++ == row + 1 ? line : 0;
        }
        line += end;
        blank = blank || (end && !quoted);
    }
    free(text);
    return found;
}

const char *text_of_row(const char *path, int64_t row, char text[64])
{
    int64_t line = line_of_row(path, row);
    snprintf(text, 64, line > 0 ? "line %lld" : "row %lld (from 0, without the header)",
        (long long)(line > 0 ? line : row));
    return text;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Finds the size of square images, or checks the size that was asked for. */
static void find_size(const char *path, int64_t pixels, wanted_size *size)
{
    if (size->height == 0) {
        size->height = size->width = (int64_t)lround(sqrt((double)pixels));
        if (size->height * size->width != pixels) {
            fail(
                "%s: %lld columns of pixels make no square image; take out columns that are no pixels, or say how large the images are, such as --size 4x6",
                path, (long long)pixels);
        }
    }
    const long long height = size->height, width = size->width;
    if (height * width != pixels) {
        fail(
            "%s: has %lld columns of pixels, and %s asks for images of %lld x %lld pixels, which are %lld; take out columns that are no pixels, or make images of that size",
            path, (long long)pixels, size->giver, height, width, height * width);
    }
    if (height < SHORTEST_SIDE || width < SHORTEST_SIDE || height > LONGEST_SIDE ||
        width > LONGEST_SIDE) {
        fail("%s: images of %lld x %lld pixels; a side has %d to %d", path, height, width,
            SHORTEST_SIDE, LONGEST_SIDE);
    }
}

/* The index of the column of digits, or -1 if there is none and there need not be one. */
static int64_t find_target(const char *path, adz_csv *csv, const char *target, bool may_lack)
{
    int64_t found = -1, columns = adz_csv_column_count(csv);
    for (int64_t i = 0; i < columns; ++i) {
        bool same = strcmp(adz_csv_name_at(csv, i), target) == 0;
        if (same && found >= 0) {
            fail("%s: columns %lld and %lld are both named '%s'; rename one", path,
                (long long)found + 1, (long long)i + 1, target);
        }
        found = same ? i : found;
    }
    if (found < 0 && !may_lack) {
        fail(
            "%s: there is no column '%s'; --target names the column of the digits. The first line has %lld names, from '%s' to '%s'",
            path, target, (long long)columns, adz_csv_name_at(csv, 0),
            adz_csv_name_at(csv, columns - 1));
    }
    return found;
}

/* A table without a line of names would lose its first image. */
static void check_header(const char *path, adz_csv *csv)
{
    const char *name = adz_csv_name_at(csv, 0);
    char *end;
    strtod(name, &end);
    if (end != name && *end == '\0') {
        fail("%s: line 1 begins with the number %s; it should name the columns, such as p0,p1,...",
            path, name);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void read_digit(const char *path, const char *target, int64_t row, double value, images *all)
{
    char row_text[64];
    if (!(value >= 0 && value < CLASSES) || value != floor(value)) {
        fail("%s: %s: the column '%s' is %g; a digit is a whole number from 0 to 9", path,
            text_of_row(path, row, row_text), target, value);
    }
    all->digits[row] = (int64_t)value;
}

static float checked_pixel(
    const char *path, adz_csv *csv, int64_t row, int64_t column, double value)
{
    char row_text[64];
    if (!(value >= 0 && value <= 1e6)) {
        fail(
            "%s: %s: the pixel '%s' is %g; a pixel is a number from 0, the background, to at most 1000000",
            path, text_of_row(path, row, row_text), adz_csv_name_at(csv, column), value);
    }
    return (float)value;
}

images read_pixel_table(
    const char *path, const char *target, wanted_size size, bool may_lack_digits)
{
    check_text_file(path);
    adz_csv *csv = adz_csv_read(path, NULL);
    const int64_t rows = adz_csv_row_count(csv), columns = adz_csv_column_count(csv);
    check_header(path, csv);
    const int64_t at = find_target(path, csv, target, may_lack_digits);
    find_size(path, columns - (at >= 0), &size);
    if (rows == 0) {
        fail("%s: there are no rows below the line of names", path);
    }
    images all = new_images(rows, size.height, size.width, at >= 0);
    const double *values = adz_tensor_data_f64(adz_csv_values(csv));
    float *to = all.pixels;
    for (int64_t i = 0; i < rows * columns; ++i) {
        if (i % columns == at) {
            read_digit(path, target, i / columns, values[i], &all);
        } else {
            *to++ = checked_pixel(path, csv, i / columns, i % columns, values[i]);
        }
    }
    adz_csv_free(&csv);
    return all;
}

void write_pixel_table(const char *path, const images *all)
{
    const int64_t n = all->height * all->width;
    FILE *file = create_file(path);
    for (int64_t i = 0; i < n; ++i) {
        fprintf(file, "p%lld,", (long long)i);
    }
    fputs("digit\n", file);
    for (int64_t image = 0; image < all->count; ++image) {
        for (int64_t i = 0; i < n; ++i) {
            fprintf(file, "%.0f,", (double)all->pixels[image * n + i]);
        }
        fprintf(file, "%lld\n", (long long)all->digits[image]);
    }
    finish_file(path, file);
}
