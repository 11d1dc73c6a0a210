/* Paths, text files, and numbers in them. */
#ifndef UCI_FILES_H
#define UCI_FILES_H

#include "data.h"

/* The functions return memory for free(). They end the program if they fail. */
char *join(const char *folder, const char *name); /* the folder itself for "" */
char *last_part(const char *path);                /* "concrete" of "uci/concrete/" */
char *read_text(const char *path);
numbers read_numbers(const char *path, size_t line, const char *text);

/* The paths in a folder, in the order of their names. */
char **list_folder(const char *folder, size_t *count);

bool has_file(const char *folder, const char *name);

/* Cuts the next line off the text, without its newline. NULL after the last line; an empty text
 * after the last newline is no line. */
char *next_line(char **text);

#endif
