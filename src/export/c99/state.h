/* The state that a caller holds (adz_c_options.state). Nothing here is called for other files,
 * except where it is said. */
#ifndef ADZI_EXPORT_C99_STATE_H
#define ADZI_EXPORT_C99_STATE_H

#include "export/c99/file.h"

/** Adds the field "type name[count]" to the struct. */
void adzi_c99_add_field(
    adzi_c99_writer *w, const char *type, const char *name, int64_t count, const char *label);

/** Adds the line that begins a field with the elements of the array `from`, or with 0 if that is
 * NULL. */
void adzi_c99_add_start(adzi_c99_writer *w, const char *field, const char *from, int64_t count);

/** Adds the field of a memory for which adzi_c99_in_state is true, and what it begins with. */
void adzi_c99_add_array_field(adzi_c99_writer *w, const adzi_c99_memory *m, bool zero);

/** Adds the other fields, and finds the version. All that the file holds must have been printed. */
void adzi_c99_make_state(adzi_c99_writer *w);

/** Adds the struct and the functions that make it ready to the header. */
void adzi_c99_declare_state(const adzi_c99_writer *w, adzi_text *to);

/** Add functions to the file: the checks at the begin and at the end of a call; NAME_init. */
void adzi_c99_define_checks(const adzi_c99_writer *w, adzi_text *to);
void adzi_c99_define_init(const adzi_c99_writer *w, adzi_text *to);

/** Adds a function that checks the state and returns what `call` gives, an int. */
void adzi_c99_define_call(
    const adzi_c99 *c, adzi_text *to, const char *signature, const char *call);

/** Add the lines with which a function begins and ends; for any file. */
void adzi_c99_print_enter(const adzi_c99 *c, adzi_text *to);
void adzi_c99_print_leave(const adzi_c99 *c, adzi_text *to);

#endif
