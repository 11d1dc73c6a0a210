/* Calls every public function with wrong arguments, each argument alone and then several together.
 *
 *     sweep                        all functions
 *     sweep FUNCTION...            these functions; prints each call
 *     sweep --seed N --random N    with this seed, and N random calls for each function
 *     sweep --seconds N            the most seconds that a call may compute (default 60)
 *     sweep --wait N               the most seconds that a call may take (default 600)
 *
 * A call must return. It may fail only with an error that names an operator, and the library must
 * work afterwards. A child process, the worker, makes the calls. If it crashes, this process
 * reports the call and starts another worker, which continues with the next call. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker.h"

progress *now;
uint64_t seed = 1;
size_t random_calls = 40;
unsigned seconds_per_call = 60; /* of computing */
unsigned wait_per_call = 600; /* of the clock; a busy machine may give a call little of its time */
bool verbose;

/* ---- the library afterwards ------------------------------------------------------------------ */

/* Trains a model for three steps. The loss must have the same bits each time. */
static void train(void)
{
    static double wanted = -1;
    double loss = 0;
    adz_manual_seed(3);
    adz_scope *scope = adz_scope_open();
    adz_module *model = adz_linear_new(4, 1, NULL);
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(8, 4), ADZ_F32), *y = adz_randn(ADZ_SHAPE(8, 1), ADZ_F32);
    for (int i = 0; i < 3; ++i) {
        adz_tensor *error = adz_mse_loss(adz_module_forward(model, x), y, ADZ_REDUCE_MEAN);
        adz_optimizer_zero_grad(sgd);
        adz_backward(error);
        adz_optimizer_step(sgd);
        loss = adz_item(error);
    }
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    adz_scope_close(scope);
    if (adz_error_code() != ADZ_OK || !isfinite(loss) || (wanted >= 0 && loss != wanted)) {
        complain("afterwards, training gives %.9g and not %.9g", loss, wanted);
    }
    wanted = loss;
    adz_error_clear();
}

static size_t live_tensors(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_tensors;
}

/* ---- worker and parent ----------------------------------------------------------------------- */

static bool wanted_function(const function *f, int n, char **names)
{
    for (int i = 0; i < n; ++i) {
        if (strcmp(names[i], f->name) == 0) {
            return true;
        }
    }
    return n == 0;
}

static void work(int n, char **names)
{
    size_t first = now->call; /* more than 0 if a worker before this one ended in a call */
    restore_settings();
    objects_begin();
    train();
    for (; now->function < n_functions; now->function += 1, now->call = first = 0) {
        const function *f = &functions[now->function];
        if (!wanted_function(f, n, names)) {
            continue;
        }
        size_t before = live_tensors();
        if (first == 0) {
            now->complaints_of_function = now->crashes_of_function = 0;
        }
        sweep_function(f, first);
        if (live_tensors() != before) {
            complain("%zu tensors are left", live_tensors() - before);
        }
        if (now->function % 16 == 0) {
            train();
        }
    }
    train();
    fflush(stdout);
}

/* Reports how a worker ended. The next worker begins with the next call, or after three crashes
 * with the next function. */
static void report_end(int status)
{
    const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *how = by == SIGALRM || by == SIGPROF ? "did not return"
                      : now->inside                  ? "crashed"
                                                     : "ended the program";
    printf("%s: %s (%s %d) [call %zu]\n", now->text, how,
        WIFSIGNALED(status) ? "signal" : "exit status",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), now->call);
    now->complaints += 1;
    now->call += 1;
    now->crashes_of_function += 1;
    if (now->crashes_of_function >= MOST_COMPLAINTS) {
        now->function += 1;
        now->call = now->crashes_of_function = 0;
    }
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        const bool self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!self && unlink(file) != 0) { /* a folder with a published model */
            remove_folder(file);
            rmdir(file);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static bool run_worker(int n, char **names)
{
    fflush(stdout);
    pid_t worker = fork();
    if (worker == 0) {
        work(n, names);
        exit(0); /* LeakSanitizer reports at exit. */
    }
    int status = 0;
    waitpid(worker, &status, 0);
    bool finished = now->function == n_functions;
    if (status != 0 && finished) {
        printf("the worker ended with status %d after the last call\n", status);
        now->complaints += 1;
    } else if (status != 0) {
        report_end(status);
    }
    return !finished && now->function < n_functions;
}

int main(int argc, char **argv)
{
    char folder[] = "sweep-files-XXXXXX"; /* below the current folder */
    int first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
        uint64_t number = strtoull(argv[first + 1], NULL, 10);
        if (strcmp(argv[first], "--seed") == 0) {
            seed = number;
        } else if (strcmp(argv[first], "--random") == 0) {
            random_calls = (size_t)number;
        } else if (strcmp(argv[first], "--wait") == 0) {
            wait_per_call = (unsigned)number;
        } else {
            seconds_per_call = (unsigned)number;
        }
    }
    verbose = first < argc;
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now == MAP_FAILED || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror("sweep");
        return 2;
    }
    while (run_worker(argc - first, argv + first)) {
    }
    remove_folder(".");
    if (chdir("..") != 0 || rmdir(folder) != 0) {
        perror(folder);
    }
    printf("%zu calls of %zu functions, %zu of which failed; %zu complaints\n", now->calls,
        n_functions, now->failed, now->complaints);
    return now->complaints > 0 || now->calls == 0;
}
