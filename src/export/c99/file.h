/* The texts of a C file and of its header. */
#ifndef ADZI_EXPORT_C99_FILE_H
#define ADZI_EXPORT_C99_FILE_H

#include "adze/export.h"
#include "export/c99/c99.h"

/** Everything that is written: the program, its functions and its sizes. */
typedef struct adzi_c99_writer {
    adzi_c99 c;
    const adz_c_options *options;
    adzi_text run, step, arrays, file, header;
    char name[ADZI_C99_NAME], upper[ADZI_C99_NAME]; /* the prefix, and in capitals for macros */
    int64_t weights, state;                         /* bytes */
    int *results; /* the memory of the caller's array for each result; owned */
} adzi_c99_writer;

/** The names of the static buffers. */
extern const char *const adzi_c99_arenas[ADZI_C99_ARENAS];

/** Adds "type NAME_function(const float *x, last)". If `last` is NULL, the arrays of the results
 * are the last arguments. */
void adzi_c99_signature(const adzi_c99_writer *w, adzi_text *to, const char *type,
    const char *function, const char *last);

/** Names the caller's arrays for the results: "y", or "y0", "y1" and so on; "y_boxes" for a result
 * that the program calls "boxes". `names` may be NULL. */
void adzi_c99_name_results(adzi_c99_writer *w, const char *const *names);

/** The last argument of NAME_step. */
const char *adzi_c99_step_target(const adzi_c99_writer *w);

/** True if the memory is an array of the file, and if its contents are in the file of weights. */
bool adzi_c99_has_array(const adzi_c99_memory *m);
bool adzi_c99_is_separate(const adzi_c99_writer *w, const adzi_c99_memory *m);

/** Makes the text of the C file, which includes `header`. The functions must have been printed. */
void adzi_c99_make_file(adzi_c99_writer *w, const char *header);

/** Makes the text of the header. The file must have been made, so that all sizes are known. */
void adzi_c99_make_header(adzi_c99_writer *w);

#endif
