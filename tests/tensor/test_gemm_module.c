/* From where the module with oneDNN's products is loaded, and from where it is not.
 *
 * usage: test_gemm_module           the tests
 *        test_gemm_module multiply  the child of a test: multiplies and prints adz_build_info() */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include "adze/adze.h"
#include "tensor/gemm/onednn_file.h"

enum { NOBODY = 65534, NOT_RUN = 125 };

static adzi_gemm_place place;
static char top[64];                /* a new folder for this test */
static char folder[128], file[192]; /* the folder "adze" inside it, and the module inside that */

static void copy(const char *from, const char *to, mode_t mode)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;) {
        assert_int_equal(fwrite(part, 1, n, out), n);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(to, mode), 0);
}

/* Copies the module to a folder named adze, in a new folder that only this user can change. */
static int make_folder(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "%s/adze-module-XXXXXX", P_tmpdir);
    if (mkdtemp(top) == NULL) {
        return -1;
    }
    snprintf(folder, sizeof folder, "%s/adze", top);
    snprintf(file, sizeof file, "%s/libadze-onednn.so", folder);
    if (mkdir(folder, 0755) != 0 || chmod(folder, 0755) != 0) {
        return -1;
    }
    copy(MODULE_REFUSING, file, 0755);
    unsetenv("ADZE_ONEDNN");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

/* The place that adzi_gemm_module_find gives if ADZE_ONEDNN names the path. */
static const adzi_gemm_place *named(const char *path)
{
    setenv("ADZE_ONEDNN", path, 1);
    adzi_gemm_module_find(&place);
    unsetenv("ADZE_ONEDNN");
    return &place;
}

static void expect_refused(const char *path, const char *culprit, const char *because)
{
    const adzi_gemm_place *found = named(path);
    assert_string_equal(found->path, "");
    if (strstr(found->why_not, culprit) == NULL || strstr(found->why_not, because) == NULL) {
        fail_msg("'%s' does not say that %s %s", found->why_not, culprit, because);
    }
}

/* False in a user namespace in which "/" belongs to a user outside of it. */
static bool root_is_roots(void)
{
    struct stat s;
    return stat("/", &s) == 0 && (s.st_uid == 0 || s.st_uid == geteuid());
}

/* ---- ADZE_ONEDNN ---------------------------------------------------------------------------- */

static void an_absolute_path_of_ours_is_taken(void **state)
{
    (void)state;
    if (!root_is_roots()) {
        skip();
    }
    char resolved[PATH_MAX], link[192];
    assert_non_null(realpath(file, resolved));
    assert_string_equal(named(file)->path, resolved);
    assert_string_equal(place.why_not, "");
    snprintf(link, sizeof link, "%s/link.so", folder);
    assert_int_equal(symlink(file, link), 0);
    assert_string_equal(named(link)->path, resolved);
}

static void off_and_relative_paths_are_refused(void **state)
{
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(top), 0);
    expect_refused("adze/libadze-onednn.so", "adze/libadze-onednn.so", "absolute path");
    expect_refused("./adze/libadze-onednn.so", "./adze", "absolute path");
    expect_refused("libdnnl.so.2", "libdnnl.so.2", "absolute path");
    assert_int_equal(chdir(before), 0);
    assert_string_equal(named("off")->path, "");
    assert_string_equal(place.why_not, "ADZE_ONEDNN=off");
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    char path[192];
    snprintf(path, sizeof path, "%s/none.so", folder);
    expect_refused(path, path, "there is no");
    char *endless = malloc(3 * PATH_MAX);
    memset(endless, 'x', 3 * PATH_MAX);
    endless[0] = '/';
    endless[3 * PATH_MAX - 1] = '\0';
    expect_refused(endless, "xxx", "too long");
    free(endless);
}

/* ---- who may write -------------------------------------------------------------------------- */

static void what_everybody_may_write_is_refused(void **state)
{
    (void)state;
    static const mode_t open_modes[] = { 0777, 0757, 0702, 01777 };
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(chmod(folder, open_modes[i]), 0);
        expect_refused(file, folder, "written to by everybody");
    }
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(file, 0646), 0);
    expect_refused(file, file, "written to by everybody");
    assert_int_equal(chmod(file, 0755), 0);
    assert_int_equal(chmod(top, 0777), 0); /* others could rename the folder */
    expect_refused(file, top, "written to by everybody");
    if (root_is_roots()) {
        assert_int_equal(chmod(top, 01777), 0); /* in a sticky folder they cannot */
        assert_int_not_equal(named(file)->path[0], '\0');
    }
    assert_int_equal(chmod(top, 0700), 0);
}

/* A symbolic link and its target lie in different folders. The module is refused if everybody may
 * write to either folder. */
static void a_link_does_not_hide_an_open_folder(void **state)
{
    (void)state;
    char open_folder[128], link[192], linked_folder[192], behind[256];
    snprintf(open_folder, sizeof open_folder, "%s/open", top);
    assert_int_equal(mkdir(open_folder, 0755), 0);
    assert_int_equal(chmod(open_folder, 0777), 0);
    snprintf(link, sizeof link, "%s/link.so", open_folder);
    assert_int_equal(symlink(file, link), 0);
    expect_refused(link, open_folder, "written to by everybody");

    char loose[192];
    snprintf(loose, sizeof loose, "%s/loose.so", open_folder);
    copy(MODULE_REFUSING, loose, 0755);
    snprintf(link, sizeof link, "%s/to-loose.so", folder);
    assert_int_equal(symlink(loose, link), 0);
    expect_refused(link, open_folder, "written to by everybody");

    snprintf(linked_folder, sizeof linked_folder, "%s/folder", open_folder);
    assert_int_equal(symlink(folder, linked_folder), 0);
    snprintf(behind, sizeof behind, "%s/libadze-onednn.so", linked_folder);
    expect_refused(behind, open_folder, "written to by everybody");
}

/* ---- whose it is ---------------------------------------------------------------------------- */

static void what_another_user_owns_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can give files away */
    }
    char link[192];
    snprintf(link, sizeof link, "%s/given.so", folder);
    assert_int_equal(symlink(file, link), 0);
    const char *const given[] = { file, folder, top };
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(chown(given[i], NOBODY, (gid_t)-1), 0);
        expect_refused(file, given[i], "belongs to another user");
        expect_refused(link, given[i], "belongs to another user");
        assert_int_equal(chown(given[i], 0, (gid_t)-1), 0);
    }
    assert_int_equal(lchown(link, NOBODY, (gid_t)-1), 0);
    expect_refused(link, link, "belongs to another user");
}

/* ---- the folder of a program ---------------------------------------------------------------- */

/* The output of a child process that runs `program` under the name `name`, in the folder `where`.
 * It computes a product and prints adz_build_info(). */
static const char *said_by(const char *program, const char *name, const char *where)
{
    static char said[1024];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (chdir(where) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0) {
            close(ends[0]);
            execl(program, name, "multiply", (char *)NULL);
        }
        _exit(NOT_RUN);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; (n = read(ends[0], said + used, sizeof said - 1 - used)) > 0;) {
        used += (size_t)n;
    }
    said[used] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_RUN) {
        skip(); /* the folder is mounted with noexec */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return said;
}

static const char *this_program(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) {
        skip();
    }
    path[n] = '\0';
    return path;
}

/* The child is linked statically. A module lies in its folder, in the folder above, and in the
 * folders that its name leads to. None of these may be loaded. The names are those under which a
 * shell or another program may start the child. */
static void nothing_is_loaded_from_where_a_program_stands(void **state)
{
    (void)state;
    static const char *const beside[] = { "adze", "onednn", "lib", "." };
    char program[128], path[256];
    snprintf(program, sizeof program, "%s/program", top);
    copy(this_program(), program, 0755);
    for (int i = 0; i < 4; ++i) {
        snprintf(path, sizeof path, "%s/%s", top, beside[i]);
        mkdir(path, 0755);
        snprintf(path, sizeof path, "%s/%s/libadze-onednn.so", top, beside[i]);
        copy(MODULE_REFUSING, path, 0755);
    }
    const char *const names[] = { "./program", "program", "adze/../program", program };
    for (int i = 0; i < 4; ++i) {
        assert_null(strstr(said_by(program, names[i], top), "a module that refuses"));
    }
    setenv("ADZE_ONEDNN", "adze/libadze-onednn.so", 1);
    const char *said = said_by(program, "./program", top);
    unsetenv("ADZE_ONEDNN");
    assert_null(strstr(said, "a module that refuses"));
    assert_non_null(strstr(said, "neither off nor an absolute path"));
}

static void a_program_with_foreign_rights_ignores_the_environment(void **state)
{
    (void)state;
    char program[128];
    snprintf(program, sizeof program, "%s/setuid", top);
    copy(this_program(), program, 0755);
    assert_int_equal(chmod(top, 0755), 0);
    if (geteuid() != 0 || chown(program, NOBODY, (gid_t)-1) != 0 || chmod(program, 04755) != 0) {
        skip(); /* only root can make a program another user's */
    }
    setenv("ADZE_ONEDNN", file, 1);
    const char *said = said_by(program, program, top);
    unsetenv("ADZE_ONEDNN");
    if (strstr(said, "with foreign rights") == NULL) {
        skip(); /* mounted with nosuid, or no system that tells */
    }
    assert_null(strstr(said, "a module that refuses"));
    assert_int_equal(chmod(program, 0755), 0); /* and with its user's own rights it does not */
    setenv("ADZE_ONEDNN", file, 1);
    said = said_by(program, program, top);
    unsetenv("ADZE_ONEDNN");
    assert_non_null(strstr(said, "a module that refuses"));
}

/* The child's part: computes a product and prints adz_build_info(). It ends by _exit(), because
 * AddressSanitizer checks for leaks at a normal exit. That check traces the process, which is
 * forbidden for a setuid program. */
static void multiply_and_tell(void)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = adz_rand(ADZ_SHAPE(128, 128), ADZ_F32);
    adz_matmul(a, a);
    adz_matmul_precision_info(); /* loads the module if the product did not need it */
    puts(adz_build_info());
#ifdef __linux__
    if (getauxval(AT_SECURE) != 0) {
        puts("with foreign rights");
    }
#endif
    adz_scope_close(scope);
    fflush(stdout);
    _exit(adz_error_code() == ADZ_OK ? 0 : 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "multiply") == 0) {
        multiply_and_tell();
    }
    umask(022);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_absolute_path_of_ours_is_taken, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            off_and_relative_paths_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            a_file_that_is_not_there_is_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            what_everybody_may_write_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            a_link_does_not_hide_an_open_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            what_another_user_owns_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            nothing_is_loaded_from_where_a_program_stands, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            a_program_with_foreign_rights_ignores_the_environment, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
