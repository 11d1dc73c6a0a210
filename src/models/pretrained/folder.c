/* Files of JSON in the folder of a published network. */
#include "pretrained/folder.h"

#include <stdio.h>
#include <unistd.h>

#include "json.h"
#include "models.h"

enum { MOST = 1 << 20 }; /* bytes of a file */

bool adzi_models_folder_json(
    const char *op, const char *folder, const char *name, char *path, json_t **root)
{
    *root = NULL;
    if (snprintf(path, MODELS_PATH, "%s/%s", folder, name) >= MODELS_PATH) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "the path of the folder is too long");
        return false;
    }
    if (access(path, F_OK) != 0) {
        return true;
    }
    *root = adzi_models_json_load(op, path, MOST);
    return *root != NULL;
}
