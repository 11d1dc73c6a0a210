/* The order of a save's calls, and what happens when one of them fails. */
#include <errno.h>

#include "calls.h"
#include "savers.h"
#include "tests.h"

/* The bytes are synchronised, then the file gets its name, then its folder is synchronised. */
static void disk_comes_before_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAVERS; ++i) {
        for (int exists = 0; exists < 2; ++exists) {
            trace();
            assert_int_equal(savers[i](temporary_path("kept")), ADZ_OK);
            const ino_t file = inode(temporary_path("kept")), folder = inode(temporary_folder);
            assert_true(n_noted >= 4);
            for (size_t k = 0; k + 3 < n_noted; ++k) {
                assert_true(noted[k].call == WRITE && noted[k].file == file);
            }
            assert_true(noted[n_noted - 3].call == SYNC && noted[n_noted - 3].file == file);
            assert_true(noted[n_noted - 2].call == RENAME && noted[n_noted - 2].file == file);
            assert_true(
                noted[n_noted - 1].call == SYNC_FOLDER && noted[n_noted - 1].file == folder);
        }
        temporary_files(true);
    }
}

/* If the path has no folder, the current folder is synchronised. */
static void current_folder(void **state)
{
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    const ino_t folder = inode(temporary_folder);
    assert_int_equal(chdir(temporary_folder), 0);
    trace();
    adz_status status = save_npy("kept");
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, ADZ_OK);
    assert_true(noted[n_noted - 1].call == SYNC_FOLDER && noted[n_noted - 1].file == folder);
    assert_int_equal(temporary_files(true), 1);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void failures_keep_what_was_there(void **state)
{
    (void)state;
    static const struct {
        call call;
        int error;
        const char *says;
    } cases[] = {
        { WRITE, ENOSPC, "cannot be written, what was there is unchanged" },
        { SYNC, EIO, "cannot be written, what was there is unchanged" },
        { RENAME, EACCES, "cannot be replaced, what was there is unchanged" },
    };
    const char *path = temporary_path("kept");
    assert_int_equal(save_npy(path), ADZ_OK);
    const ino_t before = inode(path);
    for (size_t i = 0; i < SAVERS; ++i) {
        for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
            trace();
            fail_with[cases[k].call] = cases[k].error;
            assert_int_equal(savers[i](path), ADZ_ERR_IO);
            expect_error(ADZ_ERR_IO, cases[k].says);
            assert_true(noted[n_noted - 1].call == cases[k].call);
            assert_true(inode(path) == before);
            assert_int_equal(temporary_files(false), 1);
        }
    }
    trace();
    temporary_files(true);
}

/* The save fails although the new file has its name: a power cut could still undo the renaming. */
static void a_folder_that_cannot_be_synchronised(void **state)
{
    (void)state;
    const char *path = temporary_path("kept");
    trace();
    fail_with[SYNC_FOLDER] = EIO;
    assert_int_equal(save_npy(path), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "cannot be synchronised");
    assert_int_equal(temporary_files(false), 1);
    /* the error of file systems that cannot synchronise a folder */
    fail_with[SYNC_FOLDER] = EINVAL;
    assert_int_equal(save_npy(path), ADZ_OK);
    trace();
    temporary_files(true);
}

/* A write that a signal interrupts, or that takes only some of the bytes, is continued. */
static void writes_are_gone_on_with(void **state)
{
    (void)state;
    const char *path = temporary_path("kept");
    trace();
    fail_with[WRITE] = EINTR;
    most_written = 1000;
    assert_int_equal(save_npy(path), ADZ_OK);
    trace();
    adz_tensor *back = adz_npy_load(path);
    assert_true(adz_equal(back, adz_arange(0, 5000, 1, ADZ_F64)));
    temporary_files(true);
}

/* A failing close() fails the save to a device, whose bytes may not all have arrived. A file has
 * been synchronised before, so that its close() may fail. */
static void closing_may_fail(void **state)
{
    (void)state;
    const char *device = device_path("null");
    close_fails = true;
    adz_status file = save_npy(temporary_path("kept"));
    adz_status other = device != NULL ? save_npy(device) : ADZ_ERR_IO;
    close_fails = false;
    assert_int_equal(file, ADZ_OK);
    assert_int_equal(other, ADZ_ERR_IO);
    if (device != NULL) {
        expect_error(ADZ_ERR_IO, "null: cannot be written: ");
    }
    temporary_files(true);
}

/* If standard input is closed, the file may get descriptor 0. */
static void any_descriptor_will_do(void **state)
{
    (void)state;
    int input = dup(0);
    close(0);
    trace();
    adz_status status = save_npy(temporary_path("kept"));
    dup2(input, 0);
    close(input);
    assert_int_equal(status, ADZ_OK);
    adz_tensor *back = adz_npy_load(temporary_path("kept"));
    assert_true(adz_equal(back, adz_arange(0, 5000, 1, ADZ_F64)));
    temporary_files(true);
}

static int copies_refused;

static adz_status write_to_memory(void *user)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *bytes = adz_npy_to_memory(user, NULL);
    adz_status status = bytes != NULL ? ADZ_OK : adz_error_code();
    copies_refused += strstr(adz_error_message(), "adz_npy_to_memory: ") != NULL ? 1 : 0;
    adz_scope_close(scope);
    return status;
}

/* A tensor that is not contiguous is copied before it is written; the memory may be refused. */
static void memory_for_a_copy(void **state)
{
    (void)state;
    adz_tensor *t = adz_transpose(adz_ones(ADZ_SHAPE(50, 70), ADZ_F64), 0, 1);
    assert_int_equal(write_to_memory(t), ADZ_OK);
    assert_true(refuse_each(write_to_memory, NULL, t) >= 2);
    assert_true(copies_refused >= 1);
}

static void paths_that_are_none(void **state)
{
    (void)state;
    write_file(temporary_path("file"), "", 0);
    char longest[PATH_MAX + 1];
    memset(longest, 'x', PATH_MAX);
    longest[PATH_MAX] = '\0';
    for (size_t i = 0; i < SAVERS; ++i) {
        assert_int_equal(savers[i](NULL), ADZ_ERR_NULL);
        expect_error(ADZ_ERR_NULL, "path is NULL");
        assert_int_equal(savers[i](temporary_path("file/x")), ADZ_ERR_IO);
        expect_error(ADZ_ERR_IO, "file/x: cannot be written: Not a directory");
        assert_int_equal(savers[i](temporary_path(".")), ADZ_ERR_IO);
        expect_error(ADZ_ERR_IO, "/.: cannot be written: Is a directory");
        for (int shorter = 0; shorter < 2; ++shorter) {
            assert_int_equal(savers[i](longest + shorter), ADZ_ERR_IO);
            expect_error(ADZ_ERR_IO, "cannot be written: File name too long");
        }
    }
    temporary_files(true);
}

int order_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_comes_before_the_name),
        cmocka_unit_test(current_folder),
        cmocka_unit_test(failures_keep_what_was_there),
        cmocka_unit_test(a_folder_that_cannot_be_synchronised),
        cmocka_unit_test(writes_are_gone_on_with),
        cmocka_unit_test(paths_that_are_none),
        cmocka_unit_test(closing_may_fail),
        cmocka_unit_test(any_descriptor_will_do),
        cmocka_unit_test(memory_for_a_copy),
    };
    return cmocka_run_group_tests_name("saving: order", tests, temporary_begin, temporary_end);
}
