/* Saving when the disk is full, the folder is read-only or the process is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "adze/io/safetensors.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static adz_safetensors *large(void)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_add(file, "big", adz_zeros(ADZ_SHAPE(100000), ADZ_F32));
    return file;
}

static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *small = adz_safetensors_new(), *big = large();
    adz_safetensors_save(small, temporary_path("kept"));
    adz_safetensors_save(small, temporary_path("copy"));
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    adz_status status = adz_safetensors_save(big, temporary_path("kept"));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, ADZ_ERR_IO);
    expect_error(
        ADZ_ERR_IO, "kept: cannot be written, what was there is unchanged: File too large");
    assert_true(kept_is_intact(NULL));
    const char *device = device_path("full");
    if (device != NULL) {
        assert_int_equal(adz_safetensors_save(big, device), ADZ_ERR_IO);
        expect_error(ADZ_ERR_IO, "full: cannot be written: No space left");
    }
    device = device_path("null");
    if (device != NULL) {
        assert_int_equal(adz_safetensors_save(big, device),
            ADZ_OK); /* A device is written to, not replaced by a file. */
        struct stat about;
        assert_int_equal(stat(device, &about), 0);
        assert_true(S_ISCHR(about.st_mode));
    }
    adz_safetensors_free(&big);
    adz_safetensors_free(&small);
    adz_scope_close(scope);
    temporary_files(true);
}

/* Runs in a child process, which gives up the rights of root. Returns 0 on success. */
static int without_rights(void)
{
    adz_safetensors *small = adz_safetensors_new();
    if (geteuid() == 0 && setuid(65534) != 0) {
        return 77;
    }
    if (adz_safetensors_save(small, temporary_path("kept")) != ADZ_ERR_IO ||
        strstr(adz_error_message(),
            "cannot create a temporary file beside it: Permission denied") == NULL) {
        return 1;
    }
    adz_error_clear();
    adz_safetensors_free(&small);
    return 0;
}

static void unwritable_folder_is_said(void **state)
{
    (void)state;
    adz_safetensors *small = adz_safetensors_new();
    adz_safetensors_save(small, temporary_path("kept"));
    chmod(temporary_folder, 0555);
    pid_t child = fork();
    if (child == 0) {
        _exit(without_rights());
    }
    int result = 0;
    waitpid(child, &result, 0);
    chmod(temporary_folder, 0755);
    assert_true(WIFEXITED(result));
    assert_true(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 77);

    static const struct {
        const char *path, *says;
    } bad[] = { { "kept/x", "Not a directory" }, { "none/x", "No such file or directory" },
        { ".", "Is a directory" } };
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(adz_safetensors_save(small, temporary_path(bad[i].path)), ADZ_ERR_IO);
        assert_non_null(strstr(adz_error_message(), bad[i].says));
        adz_error_clear();
        assert_null(adz_safetensors_load(temporary_path(bad[i].path), NULL));
        assert_int_equal(adz_error_code(), ADZ_ERR_IO);
        assert_non_null(strstr(adz_error_message(), bad[i].says));
        adz_error_clear();
    }
    assert_int_equal(temporary_files(true), 1);
    adz_safetensors_free(&small);
}

/* The mode and a symbolic link survive the replacement. */
static void replacing_keeps_mode_and_link(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *small = adz_safetensors_new(), *big = large();
    adz_safetensors_save(small, temporary_path("kept"));
    chmod(temporary_path("kept"), 0640);
    assert_int_equal(symlink("kept", temporary_path("link")), 0);
    assert_int_equal(adz_safetensors_save(big, temporary_path("link")), ADZ_OK);
    struct stat about;
    assert_int_equal(lstat(temporary_path("link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(temporary_path("kept"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_true(about.st_size > 400000);
    adz_safetensors_free(&big);
    adz_safetensors_free(&small);
    adz_scope_close(scope);
    temporary_files(true);
}

/* A process that is killed while it saves leaves a whole file, old or new. */
static void killed_while_saving(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *big = large();
    const char *path = temporary_path("kept");
    assert_int_equal(adz_safetensors_save(big, path), ADZ_OK);
    for (int round = 0; round < 10; ++round) {
        pid_t child = fork();
        if (child == 0) {
            for (;;) {
                adz_safetensors_save(big, path);
            }
        }
        usleep((useconds_t)(500 + 700 * round));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        adz_safetensors *back = adz_safetensors_load(path, NULL);
        assert_non_null(back);
        adz_safetensors_free(&back);
    }
    assert_int_equal(adz_safetensors_save(big, path), ADZ_OK);
    /* No temporary file of the killed processes is left. */
    assert_int_equal(temporary_files(true), 1);
    adz_safetensors_free(&big);
    adz_scope_close(scope);
}

int system_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(unwritable_folder_is_said),
        cmocka_unit_test(replacing_keeps_mode_and_link),
        cmocka_unit_test(killed_while_saving),
    };
    return cmocka_run_group_tests_name(
        "safetensors: system", tests, temporary_begin, temporary_end);
}
