/* The file that a save writes to until it takes its target's place.
 *
 * It is locked (flock) from its making on, for as long as it is open: until it has its name. A
 * process that is killed leaves it behind, but not locked. So a file of this kind that can be
 * locked is dead, and the next save to its folder deletes it. */
#ifndef ADZI_BASE_TEMPORARY_H
#define ADZI_BASE_TEMPORARY_H

#include <limits.h>
#include <stddef.h>

/** The length of the folder in a path, with its slash; 0 for the current folder. */
size_t adzi_folder_length(const char *path);

/** The folder of a path, "." for the current one. */
void adzi_folder_of(const char *path, char folder[PATH_MAX]);

/**
 * Creates an empty file beside `target`, open for writing and locked, and writes its path to
 * `path`. Returns its descriptor; -1 with errno set when there can be none.
 */
int adzi_temporary_create(const char *target, char path[PATH_MAX]);

/**
 * Deletes what killed processes of this user have left in the target's folder. Files that are
 * locked, linked, another user's or no regular files stay, as does what cannot be deleted.
 */
void adzi_temporary_clear(const char *target);

#endif
