/* Finding the file of the module with oneDNN's products.
 *
 * Note [Whose module is loaded]
 * Loading a shared object runs its code with all rights of the process. The module may therefore
 * only come from a place that nobody but root and the process's own user can change. The candidates
 * are absolute paths that are known before the program starts:
 *
 * 1. The file that ADZE_ONEDNN names. In a setuid program the environment is controlled by another
 *    user, so the variable is ignored there.
 * 2. The file in the build tree, if this code is in the build tree's own libadze.so. Programs that
 *    are run where they were built have oneDNN without an installation. An installed library never
 *    looks there.
 * 3. The file in the configured library folder.
 *
 * The folder of the program or of libadze is no candidate: in a statically linked program dladdr()
 * answers with argv[0], which the caller chooses and which is relative to the current folder.
 *
 * Every folder on the way must belong to root or to the process's user. None may be writable by
 * everybody. A sticky folder such as /tmp is accepted further up, because others can rename nothing
 * there that is not theirs. It is refused as the module's own folder. Symbolic links may be used:
 * the path is checked as it is written and as it is resolved.
 */
#include "tensor/gemm/onednn_file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include "onednn_place.h" /* the module's paths, installed and built; "" if it is not built */
#include "base/cpu.h"

_Static_assert(ADZI_GEMM_PATH_SIZE >= PATH_MAX, "realpath() fills PATH_MAX bytes");

/* True in a setuid program or one with other new rights: another user controls its environment. */
static bool has_foreign_rights(void)
{
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(adzi_gemm_place *place, const char *format, ...)
{
    va_list more;
    va_start(more, format);
    vsnprintf(place->why_not, sizeof place->why_not, format, more);
    va_end(more);
    place->path[0] = '\0';
    return false;
}

/* Checks one step of a path: a folder on the way, the module's own folder, or its file. A link's
 * mode says nothing, so only its owner is checked. */
static bool trusts_step(adzi_gemm_place *place, const char *step, bool is_own_folder)
{
    struct stat s;
    if (lstat(step, &s) != 0) {
        return refuse(place, "there is no %.100s", step);
    }
    if (s.st_uid != 0 && s.st_uid != geteuid()) {
        return refuse(place, "%.100s belongs to another user", step);
    }
    bool sticky = S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX) != 0 && !is_own_folder;
    if (!S_ISLNK(s.st_mode) && (s.st_mode & S_IWOTH) != 0 && !sticky) {
        return refuse(place, "%.100s can be written to by everybody", step);
    }
    return true;
}

/* Checks all steps of an absolute path, from "/" to the file. */
static bool trusts_path(adzi_gemm_place *place, const char *path)
{
    char step[ADZI_GEMM_PATH_SIZE];
    size_t length = strlen(path), folder = (size_t)(strrchr(path, '/') - path);
    if (length >= sizeof step) {
        return refuse(place, "the path of the module is too long: %.60s...", path);
    }
    if (!trusts_step(place, "/", folder == 0)) {
        return false;
    }
    for (size_t end = 1; end <= length; ++end) {
        if (path[end] != '/' && path[end] != '\0') {
            continue;
        }
        memcpy(step, path, end);
        step[end] = '\0';
        if (!trusts_step(place, step, end == folder)) {
            return false;
        }
    }
    return true;
}

/* Writes the resolved path of the file to `place` if the file can be trusted, else the reason. */
static bool take(adzi_gemm_place *place, const char *path)
{
    if (!trusts_path(place, path)) {
        return false;
    }
    if (realpath(path, place->path) == NULL) {
        return refuse(place, "there is no %.100s", path);
    }
    return trusts_path(place, place->path);
}

/* True if this code is part of the shared library in the build tree. */
static bool is_in_build_tree(void)
{
    static const char here;
    Dl_info self;
    char folder[ADZI_GEMM_PATH_SIZE];
    struct stat mine, built;
    if (ADZI_ONEDNN_BUILT[0] == '\0' || dladdr(&here, &self) == 0 || self.dli_fname == NULL) {
        return false;
    }
    const char *end = strrchr(self.dli_fname, '/');
    size_t length = end != NULL ? (size_t)(end - self.dli_fname) : 0;
    if (length == 0 || length >= sizeof folder) {
        return false;
    }
    memcpy(folder, self.dli_fname, length);
    folder[length] = '\0';
    return stat(folder, &mine) == 0 && stat(ADZI_LIBADZE_BUILT, &built) == 0 &&
           mine.st_dev == built.st_dev && mine.st_ino == built.st_ino;
}

void adzi_gemm_module_find(adzi_gemm_place *place)
{
    bool foreign = has_foreign_rights();
    const char *wanted = foreign ? NULL : getenv("ADZE_ONEDNN");
    place->path[0] = place->why_not[0] = '\0';
    if (wanted != NULL && strcmp(wanted, "off") == 0) {
        refuse(place, "ADZE_ONEDNN=off");
    } else if (wanted != NULL && wanted[0] != '\0' && wanted[0] != '/') {
        refuse(place, "ADZE_ONEDNN is neither off nor an absolute path: %.80s", wanted);
    } else if (wanted != NULL && wanted[0] != '\0') {
        take(place, wanted);
    } else if (ADZI_ONEDNN_INSTALLED[0] == '\0') {
        refuse(place, "built without it");
    } else if (adzi_cpu_best() < ADZI_CPU_AVX512) {
        refuse(place, "this processor has no AVX-512");
    } else if (foreign || !is_in_build_tree() || !take(place, ADZI_ONEDNN_BUILT)) {
        take(place, ADZI_ONEDNN_INSTALLED);
    }
}
