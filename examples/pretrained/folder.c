/* Makes folders, and paths in them. */
#define _GNU_SOURCE
#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/command_line.h"
#include "../shared/files.h"

bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

const char *path_in(const char *folder, const char *name, char *path)
{
    if (snprintf(path, FOLDER_PATH, "%s/%s", folder, name) >= FOLDER_PATH) {
        fail("%s: the name of the folder is too long", folder);
    }
    return path;
}

void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        const int reason = errno;
        if (!is_folder(path)) {
            fail("%s: the folder cannot be made: %s", path, strerror(reason));
        }
    }
}

void make_model_folder(const char *path)
{
    char file[FOLDER_PATH];
    make_folder(path);
    check_writable(path_in(path, "config.json", file));
    check_writable(path_in(path, "model.safetensors", file));
}
