/* Writes text, one token after the other. */
#ifndef CHAR_LM_SAMPLE_H
#define CHAR_LM_SAMPLE_H

#include "model.h"

/* A text that is being written. */
typedef struct writer {
    const options *o;
    adz_module *network;
    int64_t *ids; /* the `count` tokens that were read or written so far */
    int64_t count, capacity;
    cache cache;
} writer;

/* Makes a writer. It sets the network to evaluation mode; the network must live as long as it. */
writer begin_writing(const options *o, adz_module *network);

/* Adds n tokens to the text and returns scores[V] of the token after them, borrowed from the scope.
 */
adz_tensor *write_on(writer *w, const int64_t *ids, int64_t n);

void end_writing(writer *w);

/* Prints --sample and then --length tokens, each as soon as it is drawn. */
void write_sample(const options *o, adz_module *network, adz_tokenizer *tokenizer);

#endif
