/* A save as the operating system sees it: the order of its calls, what happens when one fails, and
 * what killed processes leave behind. The linker puts the functions below between the library and
 * the C library. */
#include "../nn.h"
#include "../temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/temporary.h"

/* ---- what the library calls ----------------------------------------------------------------- */

typedef enum call { WRITE, SYNC, RENAME, SYNC_FOLDER, CALLS } call;

enum { MOST = 4096 };
static struct {
    call call;
    ino_t file;
} seen[MOST];
static size_t n_seen;
static int fail_with[CALLS]; /* errno of the call, or 0 */
static size_t most_written;  /* by one write */
static bool close_fails;

int __real_close(int fd);
int __wrap_close(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static bool refuses(call which, const struct stat *about)
{
    assert_true(n_seen < MOST);
    seen[n_seen].call = which;
    seen[n_seen++].file = about->st_ino;
    errno = fail_with[which];
    if (errno == EINTR) {
        fail_with[which] = 0; /* once */
    }
    return errno != 0;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    struct stat about;
    bool file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    if (file && refuses(WRITE, &about)) {
        return -1;
    }
    return __real_write(fd, bytes, file && n > most_written ? most_written : n);
}

int __wrap_fsync(int fd)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    return refuses(S_ISDIR(about.st_mode) ? SYNC_FOLDER : SYNC, &about) ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd)
{
    int done = __real_close(fd);
    if (close_fails) {
        errno = EIO;
        return -1;
    }
    return done;
}

int __wrap_rename(const char *from, const char *to)
{
    struct stat about;
    assert_int_equal(stat(from, &about), 0);
    return refuses(RENAME, &about) ? -1 : __real_rename(from, to);
}

/* What happens before the next lock, as another process would do it. */
static enum { NOTHING, DELETED, LOCKED, UNSUPPORTED } before_lock;
static int competitor = -1;

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);

int __wrap_flock(int fd, int how)
{
    char link[64], path[PATH_MAX] = "";
    if (before_lock == UNSUPPORTED) {
        errno = ENOLCK;
        return -1;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    assert_true(readlink(link, path, sizeof path - 1) > 0);
    if (before_lock == DELETED) {
        assert_int_equal(unlink(path), 0);
    } else if (before_lock == LOCKED) {
        competitor = open(path, O_WRONLY);
        assert_int_equal(__real_flock(competitor, LOCK_EX | LOCK_NB), 0);
    }
    before_lock = NOTHING;
    return __real_flock(fd, how);
}

/* ---- everything that saves ------------------------------------------------------------------ */

static adz_status save_npy(const char *path)
{
    return adz_npy_save(adz_arange(0, 5000, 1, ADZ_F64), path, NULL);
}

static adz_status save_safetensors(const char *path)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_status status = adz_safetensors_add(file, "x", adz_arange(0, 5000, 1, ADZ_F64));
    status = status == ADZ_OK ? adz_safetensors_save(file, path) : status;
    adz_safetensors_free(&file);
    return status;
}

static adz_status save_module(const char *path)
{
    adz_module *module = adz_linear_new(60, 60, NULL);
    adz_status status = adz_module_save(module, path);
    adz_module_free(&module);
    return status;
}

static adz_status save_checkpoint(const char *path)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = adz_linear_new(60, 60, NULL);
    adz_status status = adz_checkpoint_save(&c, path);
    adz_module_free(&c.model);
    return status;
}

static adz_status save_tokenizer(const char *path)
{
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    adz_status status = adz_tokenizer_save(t, path);
    adz_tokenizer_free(&t);
    return status;
}

typedef adz_status (*saver)(const char *path);
static const saver savers[] = { save_npy, save_safetensors, save_module, save_checkpoint,
    save_tokenizer };
enum { SAVERS = sizeof savers / sizeof *savers };

static void trace(void)
{
    n_seen = 0;
    memset(fail_with, 0, sizeof fail_with);
    most_written = SIZE_MAX;
}

static ino_t inode(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

/* ---- the order ------------------------------------------------------------------------------ */

/* The bytes are on disk before the file takes the name, the name before the save returns. */
static void disk_comes_before_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAVERS; ++i) {
        for (int exists = 0; exists < 2; ++exists) {
            trace();
            assert_int_equal(savers[i](temporary_path("kept")), ADZ_OK);
            const ino_t file = inode(temporary_path("kept")), folder = inode(temporary_folder);
            assert_true(n_seen >= 4);
            for (size_t k = 0; k + 3 < n_seen; ++k) {
                assert_true(seen[k].call == WRITE && seen[k].file == file);
            }
            assert_true(seen[n_seen - 3].call == SYNC && seen[n_seen - 3].file == file);
            assert_true(seen[n_seen - 2].call == RENAME && seen[n_seen - 2].file == file);
            assert_true(seen[n_seen - 1].call == SYNC_FOLDER && seen[n_seen - 1].file == folder);
        }
        temporary_files(true);
    }
}

/* A path without a folder: the current one is synchronised. */
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
    assert_true(seen[n_seen - 1].call == SYNC_FOLDER && seen[n_seen - 1].file == folder);
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
            assert_true(seen[n_seen - 1].call == cases[k].call);
            assert_true(inode(path) == before);
            assert_int_equal(temporary_files(false), 1);
        }
    }
    trace();
    temporary_files(true);
}

/* The new file is there then, but a power cut could still take its name away. */
static void a_folder_that_cannot_be_synchronised(void **state)
{
    (void)state;
    const char *path = temporary_path("kept");
    trace();
    fail_with[SYNC_FOLDER] = EIO;
    assert_int_equal(save_npy(path), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "cannot be synchronised");
    assert_int_equal(temporary_files(false), 1);
    fail_with[SYNC_FOLDER] = EINVAL; /* as file systems say that do not know it */
    assert_int_equal(save_npy(path), ADZ_OK);
    trace();
    temporary_files(true);
}

/* A signal interrupts a write, or the system takes a part of the bytes: the save goes on. */
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

/* Of a device, closing may be what says that something was not written. A file that was
 * synchronised has nothing left to lose. */
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

/* A program without a standard input gets its number for the file. */
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

/* Writing to memory copies what is not contiguous: that memory may be refused too. */
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
        for (int shorter = 0; shorter < 2; ++shorter) {
            assert_int_equal(savers[i](longest + shorter), ADZ_ERR_IO);
            expect_error(ADZ_ERR_IO, "cannot be written: File name too long");
        }
    }
    temporary_files(true);
}

/* ---- what is left behind -------------------------------------------------------------------- */

/* A temporary file as a process leaves it that is killed while it saves. */
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
        assert_int_equal(chmod(dead[1], 0400), 0); /* as beside a target of these permissions */
        assert_int_equal(savers[i](temporary_path("kept")), ADZ_OK);
        for (int k = 0; k < 3; ++k) {
            assert_int_equal(access(dead[k], F_OK), -1);
        }
        assert_int_equal(temporary_files(true), 1);
    }
}

/* Also when the save that clears them fails later on: they may be what filled the disk. */
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

static void living_files_stay(void **state)
{
    (void)state;
    char mine[PATH_MAX], other[PATH_MAX];
    int fd = adzi_temporary_create(temporary_path("kept"), mine);
    assert_true(fd >= 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* another process that is saving */
    if (child == 0) {
        char made[PATH_MAX];
        close(fd);
        alarm(60); /* the test may have failed */
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

/* Nothing else in the folder is touched, whatever its name leads to. */
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

/* Another process may come between the making of a file and its lock, and take it for dead. */
static void a_file_that_was_taken_for_dead_is_not_used(void **state)
{
    (void)state;
    for (int way = 0; way < 4; ++way) {
        before_lock = way % 2 == 0 ? DELETED : LOCKED;
        char path[PATH_MAX];
        int input = way >= 2 ? dup(0) : -1; /* the file may get the number of the input */
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
        assert_int_equal(__real_flock(other, LOCK_EX | LOCK_NB), -1); /* it is locked */
        close(other);
        close(fd);
    }
    temporary_files(true);
}

/* Where no temporary file can be made, there is none, and errno says why. */
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
    /* A folder whose path leaves just enough room, or just too little. */
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

/* Who may write to a folder but not list it can save there, with nothing cleared. */
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

/* A new file has the permissions that the process gives, one that is replaced keeps its own. */
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

/* A file system without locks: saves work, and nothing is taken for dead. */
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

int main(void)
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
        cmocka_unit_test(dead_files_are_cleared),
        cmocka_unit_test(a_full_disk_is_cleared),
        cmocka_unit_test(living_files_stay),
        cmocka_unit_test(other_files_stay),
        cmocka_unit_test(a_file_that_was_taken_for_dead_is_not_used),
        cmocka_unit_test(temporary_files_that_cannot_be),
        cmocka_unit_test(a_folder_that_cannot_be_listed),
        cmocka_unit_test(permissions_are_the_users),
        cmocka_unit_test(without_locks_nothing_is_cleared),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
