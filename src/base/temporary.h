/* The temporary file to which a save writes, and which then replaces the target.
 *
 * The file is locked (flock) as long as it is open, which is until it has its final name. A process
 * that is killed leaves the file behind, but the lock ends with the process. So a temporary file
 * that can be locked was left behind, and the next save to its folder deletes it. */
#ifndef ADZI_BASE_TEMPORARY_H
#define ADZI_BASE_TEMPORARY_H

#include <limits.h>
#include <stddef.h>

/** Writes the folder of a path to `folder`, "." for a path without a slash. */
void adzi_folder_of(const char *path, char folder[PATH_MAX]);

/**
 * Creates an empty file in the folder of `target`, open for writing and locked, and writes its path
 * to `path`. Returns its file descriptor, or -1 with errno set if it cannot be created.
 */
int adzi_temporary_create(const char *target, char path[PATH_MAX]);

/**
 * Deletes the temporary files that killed processes of this user have left in the target's folder.
 * Files stay if they are locked, have a second name, belong to another user or are no regular
 * files. A file that cannot be deleted is no error.
 */
void adzi_temporary_clear(const char *target);

#endif
