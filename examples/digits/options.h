/* The options of the program, as the command line gives them. */
#ifndef DIGITS_OPTIONS_H
#define DIGITS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/arguments.h"

enum { CLASSES = 10, MAX_CHANNELS = 8, MOST_OPTIONS = 48 };

/* Sides of images that the network reads, in pixels. */
enum { SHORTEST_SIDE = 4, LONGEST_SIDE = 512 };

/* Random changes of a training image. Each number is the largest change; 0 is none. */
typedef struct augmentation {
    double shift;  /* in both directions, as a share of the side */
    double rotate; /* in degrees */
    double zoom;   /* 0.1: the size is multiplied by 0.9 to 1.1 */
    double noise;  /* deviation of normal noise; the brightest pixel is 1 */
} augmentation;

/* The options that describe the network. They are saved together with its weights. */
typedef struct network {
    int64_t channels[MAX_CHANNELS]; /* of the n_channels convolutions */
    int n_channels;
    int64_t hidden; /* features of a hidden linear layer; 0 for none */
    double dropout;
} network;

typedef struct options {
    const char *data, *target, *test_rows;
    int64_t split;
    const char *images, *labels, *test_images, *test_labels;
    int64_t height, width; /* of the images of a table; 0: they are square */
    double test_share, validation_share;
    int64_t examples;
    const char *write_data;

    augmentation augmentation;
    network network;

    int64_t epochs, patience, batch_size;
    double lr, weight_decay, smoothing;
    int64_t seed, threads; /* threads 0: as many as there are processors */
    bool no_capture;

    const char *load, *save, *predict, *output, *history, *plot;
    int64_t show;
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

/* Fills the table with the options that describe the network, whose values are the members of `n`.
 * Returns their number. */
size_t network_options(network *n, argument *table);

/* The channels of the network as text, such as "32,64". */
const char *channels_text(const network *n, char *buffer, size_t size);

#endif
