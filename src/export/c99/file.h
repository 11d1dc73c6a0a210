/* The texts of a C file and of its header. */
#ifndef ADZI_EXPORT_C99_FILE_H
#define ADZI_EXPORT_C99_FILE_H

#include "adze/export.h"
#include "export/c99/c99.h"
#include "export/trace.h"

/** One function of the file. */
typedef struct adzi_c99_function {
    const char *name; /* NAME_<name> */
    adzi_trace *trace;
    adzi_text text, declaration;
} adzi_c99_function;

/** Everything that is written: the program, its functions and its sizes. */
typedef struct adzi_c99_writer {
    adzi_c99 c;
    const adz_c_options *options;
    adzi_c99_function *functions; /* c.n_functions */
    adzi_text arrays, states, file, header;
    adzi_text learnt, learnt_header; /* weights/weights.h */
    adzi_text fields, starts;        /* of the caller's state, and what they begin with */
    uint64_t version;                /* of a file with such a state */
    char name[ADZI_C99_NAME], upper[ADZI_C99_NAME]; /* the prefix, and in capitals for macros */
    int64_t weights, state;                         /* bytes */
} adzi_c99_writer;

/** The names of the static buffers. */
extern const char *const adzi_c99_arenas[ADZI_C99_ARENAS];
extern const char *const adzi_c99_arena_types[ADZI_C99_ARENAS];

/** function.c: prints function c->function. The variables of all functions must be known. */
void adzi_c99_print_function(adzi_c99 *c, adzi_c99_function *f);

/** True if the memory is an array of the file. */
bool adzi_c99_has_array(const adzi_c99_memory *m);

/** Makes the text of the C file, which includes `header`. The functions must have been printed. */
void adzi_c99_make_file(adzi_c99_writer *w, const char *header);

/** Makes the text of the header. The file must have been made, so that all sizes are known. */
void adzi_c99_make_header(adzi_c99_writer *w);

#endif
