/* The options of the program, from the command line or from the checkpoint that it names. */
#ifndef CHAR_LM_OPTIONS_H
#define CHAR_LM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/command_line.h"

enum { GPT2, TRANSFORMER, TRANSFORMER_XL, AWD_LSTM, QRNN };
enum { FFN_GELU, FFN_RELU, FFN_SWISH, FFN_GLU }; /* FFN_GLU and the values after it are gated */
enum { SCHEDULE_COSINE, SCHEDULE_ONE_CYCLE };
enum { WINDOW_HALF, WINDOW_SLIDE };

typedef struct options {
    /* options of the model, which a checkpoint fixes */
    int arch;
    int tokens; /* an adz_token_kind */
    int ffn;
    int64_t max_vocab, min_freq;
    int64_t layers, heads, width, hidden, context, memory;
    double dropout, attention_p, ff_p, embed_p, input_p, weight_p, output_p;
    int schedule;
    int64_t micro_batches;

    /* options of the training; the command line may change those of a checkpoint */
    const char *data; /* NULL: the embedded text */
    int64_t batch, steps, warmup, eval_every, seed;
    double valid, lr, min_lr, beta1, max_beta1, beta2, decay, clip, alpha, beta;

    /* options of this run, which a checkpoint does not save */
    const char *save, *load, *sample;   /* load and sample may be NULL */
    const char *export_c, *export_onnx; /* NULL: no export */
    int64_t stop_after, save_every, length, top_k, threads;
    double temperature, sample_after;
    int window;
    bool shard, fast, no_capture;
    char *loaded; /* the text that the strings of a checkpoint's options point into */
} options;

extern const char *const arch_names[];
extern const char *const ffn_names[];

/* Reads the command line and the checkpoint of --load; ends the program for --help, for what it
 * cannot read, and if the ranks have other options. */
options parse_options(int argc, char **argv);

/* Frees the memory of options that parse_options made. */
void free_options(options *o);

/* The options that a checkpoint keeps, as lines of a name and a value, for free(). */
char *options_text(const options *o);

#endif
