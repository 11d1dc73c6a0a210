/* Files of JSON in the folder of a published network. */
#ifndef ADZI_MODELS_PRETRAINED_FOLDER_H
#define ADZI_MODELS_PRETRAINED_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

enum { MODELS_PATH = 1024 }; /* bytes of a path */

/**
 * Reads a file of JSON if the folder has it.
 *
 * @param path  filled with the file's path, MODELS_PATH bytes, for messages
 * @param root  filled with a reference for json_decref; NULL if there is no such file
 * @return      false with the error recorded, if the file is there and cannot be read
 */
bool adzi_models_folder_json(
    const char *op, const char *folder, const char *name, char *path, json_t **root);

#endif
