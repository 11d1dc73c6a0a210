/* Writes SVG files. A picture is made in a temporary file, so that a path never holds half of it
 * because a text was refused. */
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "command_line.h"
#include "plain_text.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

void check_plot_path(const char *path)
{
    if (strcmp(path, "none") != 0 && !ends_with(path, ".svg")) {
        usage_error("--plot %s: a file that ends in .svg is wanted, or none", path);
    }
}

const char *plot_file(const char *path)
{
    return strcmp(path, "none") != 0 ? path : NULL;
}

FILE *svg_begin(int width, int height)
{
    FILE *svg = tmpfile();
    if (svg == NULL) {
        fail("no temporary file for a picture: %s", strerror(errno));
    }
    fprintf(svg,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
        " font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"%d\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        width, height, width, height, FONT_SIZE);
    return svg;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* The number of bytes of the character that begins with this byte, in a text that is UTF-8. */
static size_t bytes_of(const char *at)
{
    const unsigned char byte = (unsigned char)*at;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* Characters from U+3000 on, such as Chinese ones, are as wide as they are high. */
static double width_of(const char *at)
{
    const bool wide = (unsigned char)*at >= 0xe3, narrow = strchr("ijl.,:;'| ", *at) != NULL;
    return FONT_SIZE * (wide ? 1.0 : narrow ? 0.35 : 0.62);
}

double text_width(const char *text)
{
    double width = 0;
    for (; *text != '\0'; text += bytes_of(text)) {
        width += width_of(text);
    }
    return width;
}

/* XML forbids U+FFFE and U+FFFF, which are valid UTF-8: the replacement character stands there. */
static void write_character(FILE *svg, const char *at, size_t bytes)
{
    if (bytes == 1 && strchr("<>&\"'", *at) != NULL) {
        fprintf(svg, "&#%d;", *at);
    } else if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0) {
        fputs("\xef\xbf\xbd", svg);
    } else {
        fwrite(at, 1, bytes, svg);
    }
}

/* Writes the text. One that is too wide ends with an ellipsis. */
static void write_characters(FILE *svg, const char *text, double room)
{
    const bool cut = room > 0 && text_width(text) > room;
    double left = cut ? room - FONT_SIZE : INFINITY;
    for (; *text != '\0' && left >= width_of(text); text += bytes_of(text)) {
        left -= width_of(text);
        write_character(svg, text, bytes_of(text));
    }
    fputs(cut ? "\xe2\x80\xa6" : "", svg);
}

void svg_text(FILE *svg, const svg_label *label, const char *text)
{
    const char *fault = text_fault(text);
    if (fault != NULL) {
        fail("'%s' cannot stand in a picture: it %s", text, fault);
    }
    fprintf(svg, "<text x=\"%.1f\" y=\"%.1f\"", label->x, label->y);
    if (label->anchor != NULL) {
        fprintf(svg, " text-anchor=\"%s\"", label->anchor);
    }
    if (label->color != NULL) {
        fprintf(svg, " fill=\"%s\"", label->color);
    }
    if (label->vertical) {
        fprintf(svg, " transform=\"rotate(-90 %.1f %.1f)\"", label->x, label->y);
    }
    fputc('>', svg);
    write_characters(svg, text, label->room);
    fputs("</text>\n", svg);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Copies the picture to the path. False with errno set if it could not be written. */
static bool copy_picture(FILE *picture, const char *path)
{
    char bytes[4096];
    if (fflush(picture) != 0 || ferror(picture)) {
        return false;
    }
    rewind(picture);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, picture)) > 0;) {
        fwrite(bytes, 1, n, file);
    }
    const bool bad = ferror(file) != 0;
    return fclose(file) == 0 && !bad;
}

void svg_end(FILE *svg, const char *what, const char *path)
{
    fputs("</svg>\n", svg);
    if (copy_picture(svg, path)) {
        printf("%s: %s\n", what, path);
    } else {
        complain("no %s: %s: %s", what, path, strerror(errno));
    }
    fclose(svg);
}
