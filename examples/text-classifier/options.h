/* The options of the program, as the command line gives them. */
#ifndef CLASSIFIER_OPTIONS_H
#define CLASSIFIER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/arguments.h"

enum { MAX_HEAD = 8, MOST_OPTIONS = 48 };

enum { ARCH_AWD_LSTM, ARCH_QRNN, ARCH_TRANSFORMER, ARCH_TRANSFORMER_XL };
enum { MASK_ON, MASK_OFF };
enum { TOKENS_WORDS, TOKENS_CHARACTERS };

/* The options that describe the model. They are saved together with its weights. */
typedef struct network {
    int arch, activation;
    int64_t layers, width, hidden, heads, memory;
    bool bidir;
    int mask; /* MASK_ON: a token of a transformer sees only the tokens before it */
    int64_t bptt, max_len;
    int64_t head[MAX_HEAD]; /* n_head hidden widths */
    int n_head;
    double dropout;
} network;

typedef struct options {
    const char *data; /* NULL: texts from the grammar */
    const char *text_column, *label_column;
    double test_share, validation_share;
    int64_t examples;
    const char *write_data;

    int tokens;
    int64_t max_vocab, min_freq;

    network network;
    const char *pretrained; /* a published folder with an encoder; NULL for none */
    bool published;         /* the model is one on a published encoder, of --pretrained or --load */
    const char *encoder;    /* path of a char-lm checkpoint; NULL: begin with drawn weights */
    int64_t frozen;         /* number of epochs in which only the head is trained */

    int64_t epochs, batch_size;
    double lr, lr_spread, weight_decay, smoothing, clip;
    int64_t seed, threads; /* threads 0: as many as there are processors */
    bool no_capture;

    const char *load, *save, *predict, *output, *history;
} options;

/* Reads the command line; ends the program for --help and for what it cannot
 * read. */
options parse_options(int argc, char **argv);

/* The default learning rate of the architecture. */
void fill_in_rate(options *o, const network *n);

/* Fills the table with the options that describe the network, whose values are the members of `n`.
 * Returns their number. */
size_t network_options(network *n, argument *table);

/* The hidden widths of the head as text, such as "3,4". */
const char *head_text(const network *n, char *buffer, size_t size);

#endif
