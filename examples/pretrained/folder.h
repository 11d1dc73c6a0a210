/* Folders of published models, and paths in them. */
#ifndef EXAMPLES_PRETRAINED_FOLDER_H
#define EXAMPLES_PRETRAINED_FOLDER_H

#include <stdbool.h>

enum { FOLDER_PATH = 1024 }; /* bytes of a buffer for a path */

bool is_folder(const char *path);

/* Writes the path of a file in a folder to `path`, which has room for FOLDER_PATH bytes, and
 * returns it. Ends the program if the path is longer. */
const char *path_in(const char *folder, const char *name, char *path);

/* Makes a folder unless it exists. */
void make_folder(const char *path);

/* Makes the folder in which a model will be saved, and ends the program if no file can be written
 * there. Call it before the training. */
void make_model_folder(const char *path);

#endif
