/* Writes GGUF files into memory, piece by piece, so that a test can also write what is wrong. */
#ifndef ADZE_TESTS_MODELS_GGUF_WRITER_H
#define ADZE_TESTS_MODELS_GGUF_WRITER_H

#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1 << 16 };

/* The bytes of a file that is being written. */
typedef struct writer {
    unsigned char bytes[ROOM];
    size_t size;
} writer;

static inline void put(writer *w, const void *bytes, size_t size)
{
    assert_true(w->size + size <= ROOM);
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static inline void number(writer *w, uint64_t value, int width)
{
    for (int i = 0; i < width; ++i) {
        const unsigned char byte = (unsigned char)(value >> 8 * i);
        put(w, &byte, 1);
    }
}

static inline void text(writer *w, const char *chars)
{
    number(w, strlen(chars), 8);
    put(w, chars, strlen(chars));
}

static inline void key(writer *w, const char *name, unsigned type)
{
    text(w, name);
    number(w, type, 4);
}

static inline void head(writer *w, uint64_t tensors, uint64_t values)
{
    put(w, "GGUF", 4);
    number(w, 3, 4);
    number(w, tensors, 8);
    number(w, values, 8);
}

/* A tensor of two dimensions, of which the file lists the inner one first. */
static inline void tensor(
    writer *w, const char *name, uint64_t rows, uint64_t columns, unsigned type, uint64_t offset)
{
    text(w, name);
    number(w, 2, 4);
    number(w, columns, 8);
    number(w, rows, 8);
    number(w, type, 4);
    number(w, offset, 8);
}

static inline void align(writer *w, size_t unit)
{
    while (w->size % unit != 0) {
        number(w, 0, 1);
    }
}

#endif
