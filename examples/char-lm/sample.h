/* Writes text, one token after the other. */
#ifndef CHAR_LM_SAMPLE_H
#define CHAR_LM_SAMPLE_H

#include "model.h"

/* A text that is being written. */
typedef struct writer {
    const options *o;
    adz_module *network;
    int64_t *ids; /* count tokens so far */
    int64_t count, capacity;
    cache cache;
} writer;

/* The network is in evaluation mode from then on and must live as long as the writer. */
writer begin_writing(const options *o, adz_module *network);

/* scores[V] of the token after the text so far and these, borrowed from the scope. */
adz_tensor *write_on(writer *w, const int64_t *ids, int64_t n);

void end_writing(writer *w);

/* Prints --sample and then --length tokens, each as soon as it is drawn. */
void write_sample(const options *o, adz_module *network, adz_tokenizer *tokenizer);

#endif
