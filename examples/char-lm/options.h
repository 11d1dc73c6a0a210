/* The options of the program, from the command line or from the checkpoint that it names. */
#ifndef CHAR_LM_OPTIONS_H
#define CHAR_LM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/command_line.h"

enum { GPT2, TRANSFORMER, TRANSFORMER_XL, AWD_LSTM, QRNN };
enum { FFN_GELU, FFN_RELU, FFN_SWISH, FFN_GLU }; /* from FFN_GLU on the networks are gated */
enum { SCHEDULE_COSINE, SCHEDULE_ONE_CYCLE };
enum { WINDOW_HALF, WINDOW_SLIDE };

typedef struct options {
    /* the model; a checkpoint fixes these */
    int arch;
    int tokens; /* an adz_token_kind */
    int ffn;
    int64_t max_vocab, min_freq;
    int64_t layers, heads, width, hidden, context, memory;
    double dropout, attention_p, ff_p, embed_p, input_p, weight_p, output_p;

    /* the training; the command line may change what a checkpoint says */
    const char *data; /* NULL: the embedded text */
    int schedule;
    int64_t batch, steps, warmup, eval_every, seed;
    double valid, lr, min_lr, beta1, max_beta1, beta2, decay, clip, alpha, beta;

    /* of this run only */
    const char *save, *load, *sample; /* save: never NULL; load and sample may be */
    int64_t stop_after, save_every, length, top_k, threads;
    double temperature;
    int window;
    char *loaded; /* the text that the strings of a checkpoint's options point into */
} options;

extern const char *const arch_names[];
extern const char *const ffn_names[];

/* Reads the command line and the checkpoint of --load; ends the program for --help and for what it
 * cannot read. */
options parse_options(int argc, char **argv);

/* Ends what parse_options made. */
void free_options(options *o);

/* The options that a checkpoint keeps, as text: lines of a name and a value. Free it. */
char *options_text(const options *o);

#endif
