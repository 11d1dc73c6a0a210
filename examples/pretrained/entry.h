/* Entries of the JSON files in the folder of a published model, beside those that the library
 * reads. */
#ifndef EXAMPLES_PRETRAINED_ENTRY_H
#define EXAMPLES_PRETRAINED_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a whole number that an object at the top of a file has under a name. Returns false, and
 * leaves `to`, if there is no such file or entry, or if the entry is null. Ends the program if the
 * entry is anything else. */
bool read_number(const char *folder, const char *file, const char *name, int64_t *to);

/* True if the entry is there and is neither null nor false. */
bool entry_is_set(const char *folder, const char *file, const char *name);

/* True if the path ends with these letters, as a file that is named by its kind does. */
bool ends_with(const char *path, const char *ending);

/* Ends the program for a folder whose name ends in .gguf, which adz_pretrained_open takes for one
 * file. */
void check_model_path(const char *path);

#endif
