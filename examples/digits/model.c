/* The options of the network. Builds it, and saves and loads it with the size of its images. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

static void read_channels(void *to, char *text)
{
    network *n = to;
    n->n_channels = 0;
    for (char *next = text; next != NULL;) {
        char *size = next, *comma = strchr(size, ',');
        next = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
        if (n->n_channels == MAX_CHANNELS) {
            usage_error("--channels: more than %d convolutions", MAX_CHANNELS);
        }
        n->channels[n->n_channels++] = whole("channels", size, 1, 4096);
    }
}

const char *channels_text(const network *n, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < n->n_channels && used < size; ++i) {
        used += (size_t)snprintf(
            buffer + used, size - used, "%s%lld", i > 0 ? "," : "", (long long)n->channels[i]);
    }
    return buffer;
}

size_t network_options(network *n, argument *table)
{
    const argument all[] = {
        OPTION_READ("channels", n, read_channels),
        OPTION_WHOLE("hidden", &n->hidden, 0, 1 << 16),
        OPTION_NUMBER("dropout", &n->dropout, 0, 0.99),
    };
    memcpy(table, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* ---- building -------------------------------------------------------------------------------- */

/* True if the images are halved after a convolution. Large images are halved at once, which makes
 * the other convolutions cheaper. Small images keep at least 4 pixels on a side. */
static bool is_halved(int convolution, int64_t height, int64_t width)
{
    const int64_t side = height < width ? height : width;
    return side >= 16 || (convolution > 0 && side >= 8);
}

/* Appends a convolution, batch norm, ReLU and, where images are halved, pooling. */
static void append_block(
    adz_module *root, int convolution, int64_t from, int64_t to, int64_t *height, int64_t *width)
{
    adz_conv_module_options c = ADZ_CONV_MODULE_OPTIONS;
    c.padding = ADZ_SHAPE(1);
    c.bias = false; /* batch norm would take it away again */
    adz_sequential_append(root, adz_conv2d_new(from, to, ADZ_SHAPE(3), &c));
    adz_sequential_append(root, adz_batch_norm2d_new(to, NULL));
    adz_sequential_append(root, adz_relu_new());
    if (is_halved(convolution, *height, *width)) {
        adz_sequential_append(root, adz_max_pool2d_new(ADZ_SHAPE(2), NULL));
        *height /= 2;
        *width /= 2;
    }
}

static adz_module *build(const network *n, int64_t height, int64_t width)
{
    adz_module *root = adz_sequential_new(NULL, 0);
    int64_t channels = 1;
    for (int i = 0; i < n->n_channels; ++i) {
        append_block(root, i, channels, n->channels[i], &height, &width);
        channels = n->channels[i];
    }
    int64_t features = channels * height * width;
    adz_sequential_append(root, adz_flatten_new(1, -1));
    if (n->hidden > 0) {
        adz_sequential_append(root, adz_linear_new(features, n->hidden, NULL));
        adz_sequential_append(root, adz_relu_new());
        features = n->hidden;
    }
    adz_sequential_append(root, adz_dropout_new(n->dropout, NULL));
    adz_sequential_append(root, adz_linear_new(features, CLASSES, NULL));
    return root;
}

model new_digits(const network *n, int64_t height, int64_t width, double range)
{
    return (model){ build(n, height, width), *n, height, width, range };
}

void free_digits(model *m)
{
    adz_module_release(&m->root);
}

adz_tensor *scaled(const model *m, adz_tensor *pixels)
{
    return adz_mul_number(pixels, 1 / m->range);
}

adz_tensor *scores_of(const model *m, adz_tensor *x)
{
    return adz_module_forward(m->root, x);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void set_number(adz_safetensors *file, const char *key, double value)
{
    char text[NUMBER_TEXT];
    adz_safetensors_set_metadata(file, key, number_text(value, text));
}

void save_digits(const model *m, const char *path)
{
    char key[64], value[256];
    network n = m->network;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    adz_safetensors *file = adz_module_to_safetensors(m->root, NULL);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        const char *text = table[i].kind == ARGUMENT_READ
                               ? channels_text(&n, value, sizeof value)
                               : argument_text(&table[i], value, sizeof value);
        adz_safetensors_set_metadata(file, key, text);
    }
    set_number(file, "image-height", (double)m->height);
    set_number(file, "image-width", (double)m->width);
    set_number(file, "pixel-range", m->range);
    adz_safetensors_save(file, path);
    adz_safetensors_free(&file);
}

static const char *metadata_text(const char *path, adz_safetensors *file, const char *key)
{
    const char *text = adz_safetensors_get_metadata(file, key);
    if (text == NULL) {
        fail("%s: not saved by digits, or by another version of it: its metadata has no '%s'", path,
            key);
    }
    return text;
}

static int64_t read_side(const char *path, adz_safetensors *file, const char *key)
{
    return whole(key, metadata_text(path, file, key), SHORTEST_SIDE, LONGEST_SIDE);
}

model load_digits(const char *path)
{
    char key[64];
    model m = { 0 };
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&m.network, table);
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    values_are_from(path);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        char *text = copy_text(metadata_text(path, file, key));
        set_argument(&table[i], text);
        free(text);
    }
    m.height = read_side(path, file, "image-height");
    m.width = read_side(path, file, "image-width");
    m.range = number("pixel-range", metadata_text(path, file, "pixel-range"), 1e-30, 1e30);
    values_are_from(NULL);
    m.root = build(&m.network, m.height, m.width);
    adz_module_load_safetensors(m.root, file, true);
    adz_safetensors_free(&file);
    return m;
}
