/* What the functions of a file have learnt, as a file: NAME_weights_get and NAME_weights_set.
 *
 * The file is a checkpoint (io/checkpoint.h) of the module and of one optimizer. The functions that
 * save checkpoints make it here, as if every parameter had made a step, so that it holds each
 * state. Its header becomes a constant of the C file. Where the header depends on what the program
 * does, it has room: for learning rates, and for the names of states that no step has made yet. */
#ifndef ADZI_EXPORT_C99_WEIGHTS_WEIGHTS_H
#define ADZI_EXPORT_C99_WEIGHTS_WEIGHTS_H

#include "io/safetensors.h"
#include "adze/nn.h"
#include "export/c99/file.h"

/** Where a C file has the elements of a tensor. */
typedef enum adzi_weights_home {
    ADZI_WEIGHTS_CONSTANT, /* bytes in flash: no function changes them, and they stay as they are */
    ADZI_WEIGHTS_KEPT,     /* bytes that no function uses, and that a file may change */
    ADZI_WEIGHTS_ARRAY,    /* an array of the functions */
    ADZI_WEIGHTS_STEPS     /* a count of steps */
} adzi_weights_home;

/** What the header says of a tensor while its parameter has made no step. */
typedef enum adzi_weights_absence {
    ADZI_WEIGHTS_REQUIRED, /* the tensor has its name always */
    ADZI_WEIGHTS_COUNTED,  /* it has another name until the count of steps is above 0 */
    ADZI_WEIGHTS_FRESH     /* it has another name while the count is that of the C file */
} adzi_weights_absence;

/** A tensor of the file. */
typedef struct adzi_weights_source {
    adzi_weights_home home;
    adzi_weights_absence absence;
    int memory;           /* of an array */
    size_t count;         /* steps_<count>, for STEPS and for those that may be absent */
    double initial;       /* the elements of a state that is absent */
    const adz_tensor *t;  /* its shape and dtype */
    size_t entry, length; /* its part of the header before the offsets, in the file */
    size_t at, bytes;     /* its elements in the file */
    size_t offset;        /* in the bytes of CONSTANT or KEPT */
} adzi_weights_source;

/** A file: that of the module and the first optimizer, or of another optimizer. */
typedef struct adzi_weights {
    adzi_c99_writer *w;
    adz_module *module;             /* NULL in the files of further optimizers */
    const adz_optimizer *optimizer; /* NULL: none makes steps */
    char ending[24];                /* of its names: "", "_1", ... */
    adz_safetensors *file;
    adzi_weights_source *sources; /* one for each tensor */
    size_t capacity;
    const unsigned char *image; /* the file with its present contents */
    size_t header, size;        /* bytes before the data, and of all */
    size_t *pieces;             /* begin and end of the parts of the header around the rates */
    size_t pieces_capacity;
    size_t mark, mark_length; /* the member of the metadata that says that it is a checkpoint */
    adzi_text *to;
} adzi_weights;

/** Prints all functions of the files, and what they need, to w->learnt; their declarations to
 * w->learnt_header. Call it after the functions were printed. False with the error recorded. */
bool adzi_c99_print_weights(adzi_c99_writer *w, adz_module *module);

/** The number that stands for a learning rate in the header: as many digits as it may need. */
const char *adzi_weights_rate(const adzi_c99 *c);

/** text.c: adds those of the shared functions that `calls` calls. */
void adzi_weights_add_helpers(const adzi_c99 *c, const char *calls, adzi_text *to);

/** print.c: adds the constants and the two functions of a file. */
void adzi_weights_print(adzi_weights *f);

#endif
