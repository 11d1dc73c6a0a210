/* The architectures of GGUF files: what their parts and values are called there and in
 * transformers. */
#ifndef ADZI_MODELS_GGUF_ARCHITECTURES_H
#define ADZI_MODELS_GGUF_ARCHITECTURES_H

#include <stdbool.h>
#include <stddef.h>

/** Names in transformers and in GGUF files. */
typedef const char *const gguf_names[2];

/** Kinds of values. A file without one that is needed is refused, because the default of
 * config.json may be another one. */
typedef enum gguf_number { GGUF_WHOLE, GGUF_REAL, GGUF_NEEDED_REAL } gguf_number;

/** A value ARCHITECTURE.NAME, and the entry of config.json that it is. */
typedef struct gguf_entry {
    const char *name, *entry;
    gguf_number number;
} gguf_entry;

/** An architecture. */
typedef struct gguf_architecture {
    const char *name, *class; /* in GGUF files, and in config.json */
    const char *layers;       /* before the number of a layer, in transformers */
    gguf_names activation;    /* an entry of config.json and its text, which files do not have */
    const gguf_names *outer, *inner;
    const gguf_entry *values;
    const char *const *others; /* values that need a look of their own, or that change nothing */
    size_t n_outer, n_inner, n_values;
    bool rotary;     /* positions are rotations */
    bool transposed; /* projections are stored as [out, in], but transformers has [in, out] */
    bool encoder;    /* all tokens see each other, and the file may name a pooling */
} gguf_architecture;

/** The architecture with a name; NULL if it is not known. */
const gguf_architecture *adzi_gguf_architecture(const char *name);

/** Translates a name between transformers (0) and GGUF (1), to the one of `to`. `out` has
 * MODELS_NAME bytes. False if the architecture has no such part. */
bool adzi_gguf_translate(const gguf_architecture *kind, char *out, const char *name, int to);

/** Whether a value ARCHITECTURE.NAME is one of the architecture's. */
bool adzi_gguf_knows_value(const gguf_architecture *kind, const char *name);

#endif
