/* Writes the texts of a batch to standard output as their tokens come. */
#ifndef GENERATE_WRITER_H
#define GENERATE_WRITER_H

#include <adze/models.h>

typedef struct row {
    char *text; /* what is not written yet, because an earlier row is being written */
    size_t size;
    bool finished;
} row;

typedef struct writer {
    const adz_text *prompts; /* of the rows */
    row *rows;
    size_t count, current; /* rows; the one that is written as it comes */
    bool terminal, any;    /* whether a text was written before */
    int64_t tokens;        /* new ones of all rows */
    double first, last;    /* when the first and the last token came, in seconds of a clock */
} writer;

writer begin_writing(void);

/* Begins a batch, and writes its first prompt. */
void write_batch(writer *w, const adz_text *prompts, size_t count);

/* An adz_generate_function; `user` is the writer. */
bool hear_token(const adz_generated *token, void *user);

/* Writes what is left of the batch. */
void end_batch(writer *w);

#endif
