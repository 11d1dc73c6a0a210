/* A save deletes the temporary files of killed processes, which are called dead files here. It
 * touches no other file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/temporary.h"
#include "calls.h"
#include "savers.h"
#include "tests.h"

/* Leaves the temporary file of a process that was killed while it saved. */
static void leave_behind(char path[PATH_MAX])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char made[PATH_MAX];
        int fd = adzi_temporary_create(temporary_path("kept"), made);
        bool good = fd >= 0 && __real_write(fd, "half", 4) == 4 &&
                    __real_write(ends[1], made, sizeof made) == (ssize_t)sizeof made;
        kill(getpid(), good ? SIGKILL : SIGTERM);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], path, PATH_MAX), PATH_MAX);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(access(path, F_OK), 0);
}

static void dead_files_are_cleared(void **state)
{
    (void)state;
    char dead[3][PATH_MAX];
    for (size_t i = 0; i < SAVERS; ++i) {
        for (int k = 0; k < 3; ++k) {
            leave_behind(dead[k]);
        }
        /* A temporary file has the permissions of its target, which may be read-only. */
        assert_int_equal(chmod(dead[1], 0400), 0);
        assert_int_equal(savers[i](temporary_path("kept")), ADZ_OK);
        for (int k = 0; k < 3; ++k) {
            assert_int_equal(access(dead[k], F_OK), -1);
        }
        assert_int_equal(temporary_files(true), 1);
    }
}

/* Dead files are cleared also by a save that fails: they may be what filled the disk. */
static void a_full_disk_is_cleared(void **state)
{
    (void)state;
    char dead[PATH_MAX];
    leave_behind(dead);
    trace();
    fail_with[WRITE] = ENOSPC;
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "cannot be written");
    trace();
    assert_int_equal(temporary_files(true), 0);
}

/* What a callback of adz_on_error saw. */
typedef struct heard {
    int calls, files;
    adz_status status;
} heard;

static void look(adz_status status, const char *message, void *user)
{
    heard *h = user;
    (void)message;
    ++h->calls;
    h->status = status;
    h->files = temporary_files(false);
}

/* A callback that ends the process finds no temporary file: a save reports an error when it has
 * cleaned up. */
static void errors_are_reported_after_cleaning_up(void **state)
{
    (void)state;
    static const call failing[] = { WRITE, SYNC, RENAME };
    for (size_t i = 0; i < SAVERS; ++i) {
        for (size_t k = 0; k < sizeof failing / sizeof *failing; ++k) {
            heard h = { 0 };
            trace();
            fail_with[failing[k]] = ENOSPC;
            adz_on_error(look, &h);
            assert_int_equal(savers[i](temporary_path("kept")), ADZ_ERR_IO);
            adz_on_error(adz_quiet, NULL);
            expect_error(ADZ_ERR_IO, "No space left");
            assert_int_equal(h.calls, 1);
            assert_int_equal(h.status, ADZ_ERR_IO);
            assert_int_equal(h.files, 0);
        }
    }
    trace();
}

/* While an error is recorded, nothing is saved: it may be that the values are wrong. */
static void nothing_is_saved_while_an_error_is_pending(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 2, NULL);
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    adz_safetensors *file = adz_module_to_safetensors(m, NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = m;
    const char *path = temporary_path("kept");
    assert_null(adz_matmul(x, adz_ones(ADZ_SHAPE(4, 2), ADZ_F32)));
    assert_int_equal(adz_npy_save(x, path, NULL), ADZ_ERR_SHAPE);
    assert_int_equal(adz_safetensors_save(file, path), ADZ_ERR_SHAPE);
    assert_int_equal(adz_module_save(m, path), ADZ_ERR_SHAPE);
    assert_int_equal(adz_checkpoint_save(&c, path), ADZ_ERR_SHAPE);
    assert_int_equal(adz_tokenizer_save(t, path), ADZ_ERR_SHAPE);
    assert_null(adz_npy_to_memory(x, NULL));
    assert_null(adz_safetensors_to_memory(file));
    assert_int_equal(
        adz_module_write_onnx(m, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32), path, NULL), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "matmul");
    assert_int_equal(temporary_files(false), 0);
    assert_int_equal(adz_module_save(m, path), ADZ_OK);
    temporary_files(true);
    adz_safetensors_free(&file);
    adz_tokenizer_free(&t);
    adz_module_release(&m);
}

static void living_files_stay(void **state)
{
    (void)state;
    char mine[PATH_MAX], other[PATH_MAX];
    int fd = adzi_temporary_create(temporary_path("kept"), mine);
    assert_true(fd >= 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* The child is another process that is saving. */
    if (child == 0) {
        char made[PATH_MAX];
        close(fd);
        alarm(60); /* The child ends also if the test fails and never kills it. */
        if (adzi_temporary_create(temporary_path("kept"), made) >= 0 &&
            __real_write(ends[1], made, sizeof made) == (ssize_t)sizeof made) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ends[0], other, PATH_MAX), PATH_MAX);
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_OK);
    assert_int_equal(access(mine, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_OK);
    assert_int_equal(access(mine, F_OK), 0);
    assert_int_equal(access(other, F_OK), -1);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    temporary_files(true);
}

/* Other files in the folder are not touched, even if their names look like those of dead files. */
static void other_files_stay(void **state)
{
    (void)state;
    static const char *const names[] = { ".adze-.tmp", ".adze-1.tmp", ".adze-1-.tmp",
        ".adze--1.tmp", ".adze-1-2.tmp2", ".adze-1-2", ".adze-1x-2.tmp", ".adze-1-2x.tmp",
        "adze-1-2.tmp", "x.tmp" };
    enum { NAMES = sizeof names / sizeof *names };
    for (int i = 0; i < NAMES; ++i) {
        write_file(temporary_path(names[i]), "", 0);
    }
    write_file(temporary_path("precious"), "", 0);
    assert_int_equal(symlink("precious", temporary_path(".adze-1-1.tmp")), 0);
    assert_int_equal(symlink("nowhere", temporary_path(".adze-1-2.tmp")), 0);
    assert_int_equal(link(temporary_path("precious"), temporary_path(".adze-1-3.tmp")), 0);
    assert_int_equal(mkfifo(temporary_path(".adze-1-4.tmp"), 0600), 0);
    assert_int_equal(mkdir(temporary_path(".adze-1-5.tmp"), 0700), 0);
    write_file(temporary_path(".adze-1-6.tmp"), "", 0);
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_OK);
    assert_int_equal(access(temporary_path(".adze-1-6.tmp"), F_OK), -1);
    assert_int_equal(temporary_files(true), NAMES + 1 + 5 + 1);
}

/* Between making a temporary file and locking it, another process may take it for a dead one. */
static void a_file_that_was_taken_for_dead_is_not_used(void **state)
{
    (void)state;
    for (int way = 0; way < 4; ++way) {
        before_lock = way % 2 == 0 ? DELETED : LOCKED;
        char path[PATH_MAX];
        /* The file gets descriptor 0, which standard input had. */
        int input = way >= 2 ? dup(0) : -1;
        if (input >= 0) {
            close(0);
        }
        int fd = adzi_temporary_create(temporary_path("kept"), path);
        if (input >= 0 && fd == 0) {
            fd = dup(0);
        }
        if (input >= 0) {
            dup2(input, 0);
            close(input);
        }
        assert_true(fd >= 0 && before_lock == NOTHING);
        struct stat about;
        assert_int_equal(fstat(fd, &about), 0);
        assert_true(about.st_nlink == 1 && inode(path) == about.st_ino);
        close(competitor);
        competitor = -1;
        int other = open(path, O_WRONLY);
        /* The library still holds the lock. */
        assert_int_equal(__real_flock(other, LOCK_EX | LOCK_NB), -1);
        close(other);
        close(fd);
    }
    temporary_files(true);
}

/* If no temporary file can be made, errno says why and nothing is left behind. */
static void temporary_files_that_cannot_be(void **state)
{
    (void)state;
    enum { MOST_FILES = 10000 };
    char path[PATH_MAX], folder[PATH_MAX + 8] = "";
    assert_int_equal(adzi_temporary_create(temporary_path("none/x"), path), -1);
    assert_int_equal(errno, ENOENT);
    for (int i = 0; i < MOST_FILES; ++i) {
        snprintf(path, sizeof path, "%s/.adze-%ld-%d.tmp", temporary_folder, (long)getpid(), i);
        write_file(path, "", 0);
    }
    assert_int_equal(adzi_temporary_create(temporary_path("x"), path), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(temporary_files(true), MOST_FILES);
    /* The path of the folder leaves exactly enough room for the name, or one byte too little. */
    size_t name = (size_t)snprintf(path, sizeof path, ".adze-%ld-0.tmp", (long)getpid());
    for (size_t length = PATH_MAX - name - 2; length <= PATH_MAX - name + 1; ++length) {
        size_t n = (size_t)snprintf(folder, sizeof folder, "%s", temporary_folder);
        memset(folder + n, '/', length - n);
        strcpy(folder + length, "x");
        errno = 0;
        int fd = adzi_temporary_create(folder, path);
        bool fits = length + name < PATH_MAX;
        assert_true(fits ? fd >= 0 : fd == -1);
        assert_int_equal(errno == ENAMETOOLONG, !fits);
        if (fits) {
            assert_int_equal(strlen(path), length + name);
            close(fd);
        }
    }
    memset(folder, 'x', sizeof folder);
    adzi_folder_of("name", folder);
    assert_string_equal(folder, ".");
    adzi_folder_of("/name", folder);
    assert_string_equal(folder, "/");
    temporary_files(true);
}

/* A folder that may be written to but not listed takes the save; no dead file is cleared. */
static void a_folder_that_cannot_be_listed(void **state)
{
    (void)state;
    assert_int_equal(chmod(temporary_folder, 0333), 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(77);
        }
        _exit(save_npy(temporary_path("kept")) == ADZ_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(temporary_folder, 0700), 0);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    temporary_files(true);
}

/* A new file gets the permissions of the umask; a replaced file keeps its own. */
static void permissions_are_the_users(void **state)
{
    (void)state;
    struct stat about;
    mode_t before = umask(027);
    assert_int_equal(save_npy(temporary_path("new")), ADZ_OK);
    umask(before);
    assert_int_equal(stat(temporary_path("new"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_int_equal(chmod(temporary_path("new"), 0604), 0);
    assert_int_equal(save_npy(temporary_path("new")), ADZ_OK);
    assert_int_equal(stat(temporary_path("new"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0604);
    temporary_files(true);
}

/* On a file system without locks saves work, and no file is taken for dead. */
static void without_locks_nothing_is_cleared(void **state)
{
    (void)state;
    char dead[PATH_MAX];
    leave_behind(dead);
    before_lock = UNSUPPORTED;
    for (size_t i = 0; i < SAVERS; ++i) {
        assert_int_equal(savers[i](temporary_path("kept")), ADZ_OK);
        assert_int_equal(access(dead, F_OK), 0);
    }
    before_lock = NOTHING;
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_OK);
    assert_int_equal(access(dead, F_OK), -1);
    temporary_files(true);
}

int leftovers_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_files_are_cleared),
        cmocka_unit_test(a_full_disk_is_cleared),
        cmocka_unit_test(errors_are_reported_after_cleaning_up),
        cmocka_unit_test(nothing_is_saved_while_an_error_is_pending),
        cmocka_unit_test(living_files_stay),
        cmocka_unit_test(other_files_stay),
        cmocka_unit_test(a_file_that_was_taken_for_dead_is_not_used),
        cmocka_unit_test(temporary_files_that_cannot_be),
        cmocka_unit_test(a_folder_that_cannot_be_listed),
        cmocka_unit_test(permissions_are_the_users),
        cmocka_unit_test(without_locks_nothing_is_cleared),
    };
    return cmocka_run_group_tests_name("saving: leftovers", tests, temporary_begin, temporary_end);
}
