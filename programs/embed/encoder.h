/* A model that gives embeddings of sentences, and its tokenizer. */
#ifndef EMBED_ENCODER_H
#define EMBED_ENCODER_H

#include <adze/adze.h>
#include <adze/models.h>

typedef struct encoder {
    adz_module *model;
    adz_tokenizer *tokenizer;
    int64_t max_length; /* of a text, in tokens with the special ones; the rest is not read */
    int64_t width;      /* elements of a vector; 0 before the first text */
} encoder;

/* Opens a folder in the form of sentence-transformers, or a GGUF file. `max_length` 0 is what the
 * model says. Ends the program if it is another kind of model. */
encoder open_encoder(const char *folder, int64_t max_length);
void close_encoder(encoder *e);

/* The vectors [n, D] of texts, borrowed from the scope. `lengths` receives the tokens that were
 * read of each text; it may be NULL. */
adz_tensor *encode_batch(const encoder *e, const adz_text *texts, size_t n, int64_t *lengths);

/* Vectors of all lines, n * e->width numbers for free(). Texts of similar length share a batch. A
 * text that is cut is told on standard error. */
float *encode_lines(encoder *e, const adz_text *texts, size_t n, int64_t batch_size);

/* The vector of a query, e->width numbers for free(). If the query is cut, standard error says so.
 */
float *encode_query(encoder *e, adz_text query);

#endif
