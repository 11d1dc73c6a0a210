/* Calls every public function with wrong arguments, each argument alone and then several together.
 *
 *     sweep                        all functions
 *     sweep FUNCTION...            these; prints each call
 *     sweep --seed N --random N    other draws, and more of them for each function
 *     sweep --seconds N            how long a call may take; 60
 *
 * A call must come back, may fail only with an error that names an operator, and must leave the
 * library working. A worker makes the calls, so that this process survives a crash, says which call
 * it was, and lets the next worker go on behind it. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep.h"

enum { MOST_COMPLAINTS = 3, TRIES = 500, MEMORY_LIMIT = 8 << 20 };

/* What worker and parent share. */
typedef struct progress {
    size_t function; /* the next or present one */
    size_t call;     /* of the function, likewise */
    size_t calls, failed, complaints, complaints_of_function, crashes_of_function;
    bool inside;     /* a call is being made */
    char text[1000]; /* it in words */
} progress;

static progress *now;
static uint64_t seed = 1;
static size_t random_calls = 40;
static unsigned seconds_per_call = 60;
static bool verbose;
static char first_error[300]; /* of the function */

/* ---- a call in words ------------------------------------------------------------------------- */

static void describe(const function *f, const size_t *choices)
{
    size_t length = (size_t)snprintf(now->text, sizeof now->text, "%s(", f->name);
    for (size_t i = 0; i < f->n_params; ++i) {
        const char *name = choice_name(&f->params[i], choices[i]);
        int n = snprintf(now->text + length, sizeof now->text - length, "%s%s: %.100s",
            i > 0 ? ", " : "", f->params[i].name, name != NULL ? name : "NULL");
        length += (size_t)n;
        length = length < sizeof now->text ? length : sizeof now->text - 1;
    }
    snprintf(now->text + length, sizeof now->text - length, ")");
}

static void complain(const char *format, ...)
{
    va_list arguments;
    now->complaints += 1;
    now->complaints_of_function += 1;
    if (now->complaints_of_function > MOST_COMPLAINTS) {
        return;
    }
    printf("%s: ", now->text);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" [call %zu; error: %s]\n", now->call, adz_error_message());
    fflush(stdout);
}

/* ---- one call -------------------------------------------------------------------------------- */

/* Settings that calls may have changed, of the process and of the thread. */
static void restore_settings(void)
{
    adz_context_use(NULL);
    adz_on_error(NULL, NULL);
    adz_on_warning(NULL, NULL);
    adz_set_num_threads(2);
    adz_set_memory_limit(MEMORY_LIMIT);
    adz_set_grad_enabled(true);
    adz_set_deterministic(false);
    adz_set_debug(false);
    adz_set_anomaly_enabled(false);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adz_manual_seed(1);
    adz_error_clear();
}

static bool failed(const function *f, const value *result)
{
    return f->returns == RETURNS_STATUS    ? result->n != ADZ_OK
           : f->returns == RETURNS_POINTER ? result->p == NULL
           : f->returns == RETURNS_MAYBE   ? result->p == NULL && adz_error_code() != ADZ_OK
                                           : adz_error_code() != ADZ_OK;
}

/* An operator's name may be longer than a message. */
static bool named_in_message(void)
{
    char name[100];
    snprintf(name, sizeof name, "%s", adz_error_operator());
    return strstr(adz_error_message(), name) != NULL;
}

static void check_error(const function *f, const value *result)
{
    adz_status code = adz_error_code();
    bool bad = failed(f, result);
    if (bad && code == ADZ_OK) {
        complain("failed without an error");
    } else if (!bad && code != ADZ_OK) {
        complain("did not fail, but recorded an error");
    } else if (f->returns == RETURNS_STATUS && result->n != (int)code) {
        complain("returned %d but recorded %d", result->n, (int)code);
    } else if (bad && (adz_error_operator()[0] == '\0' || !named_in_message())) {
        complain("the message does not name '%s'", adz_error_operator());
    } else if (bad && strcmp(adz_error_operator(), "adze") == 0) {
        complain("the error does not say what failed");
    } else if (bad && strstr(adz_error_message(), ": ") == NULL &&
               strlen(adz_error_message()) < 300) {
        complain("the message says nothing");
    }
}

/* A struct whose size was not filled in must be refused in words that say so. */
static void check_unsized(const function *f, const size_t *choices, bool bad)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        const char *name = choice_name(&f->params[i], choices[i]);
        if (f->params[i].kind != KIND_STRUCT || name == NULL ||
            (strcmp(name, "size 0") != 0 && strcmp(name, "size 7") != 0)) {
            continue;
        }
        if (!bad || adz_error_code() != ADZ_ERR_ARGUMENT ||
            strstr(adz_error_message(), "size is") == NULL) {
            complain("a struct of %s was not refused as such", name);
        }
    }
}

static size_t count_in(const function *f, const arg *args)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == KIND_COUNT) {
            return args[i].v.z;
        }
    }
    return 0;
}

typedef struct call_in_backward {
    const function *f;
    const arg *args;
    value *result;
} call_in_backward;

static call_in_backward waiting;

static adz_status backward_that_calls(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    arg args[MOST_PARAMS];
    memcpy(args, waiting.args, waiting.f->n_params * sizeof *args);
    args[0].v.p = args[0].choice == 0 ? node : NULL;
    waiting.f->call(args, waiting.result);
    check_error(waiting.f, waiting.result);
    adz_error_clear();
    dx[0] = dy[0];
    return ADZ_OK;
}

/* A node exists only while its backward runs, so the call is made from there. */
static void call_with_node(const function *f, const arg *args, value *result)
{
    static const adz_operator op = { sizeof op, "with_node", backward_that_calls, NULL, NULL, NULL,
        0 };
    static const char attributes[] = "attributes";
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *y = adz_ones(ADZ_SHAPE(3), ADZ_F32), *extra = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_record_options o = ADZ_RECORD_OPTIONS;
    o.saved_inputs = o.saved_results = 1;
    o.extras = &extra;
    o.n_extras = 1;
    o.attributes = attributes;
    o.attributes_size = sizeof attributes;
    waiting = (call_in_backward){ f, args, result };
    if (adz_record(&op, &x, 1, &y, 1, &o) != ADZ_OK ||
        adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) != ADZ_OK) {
        complain("the backward around the call failed");
    }
    result->p = y; /* what the call gave is gone with the backward */
}

static bool call(const function *f, const size_t *choices, uint64_t random, bool unsized)
{
    arg args[MOST_PARAMS];
    value result = { 0 };
    describe(f, choices);
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < f->n_params; ++i) {
        make(&f->params[i], choices[i], random_from(&random), &args[i]);
    }
    if (adz_error_code() != ADZ_OK) {
        complain("the arguments could not be made");
        adz_error_clear();
    }
    bound_counts(f->params, f->n_params, args);
    size_t count = count_in(f, args);
    alarm(seconds_per_call);
    now->inside = true;
    if (f->n_params > 0 && f->params[0].kind == KIND_NODE) {
        call_with_node(f, args, &result);
    } else {
        f->call(args, &result);
    }
    check_error(f, &result);
    bool bad = failed(f, &result);
    if (unsized) {
        check_unsized(f, choices, bad);
    }
    if (now->call == 0) {
        snprintf(first_error, sizeof first_error, "%s", adz_error_message());
    }
    adz_error_clear();
    if (!bad && result.p != NULL && f->owned != KIND_NONE) {
        object_use(f->owned, result.p);
        object_end(f->owned, result.p);
    }
    now->inside = false;
    alarm(0);
    for (size_t i = 0; i < f->n_params; ++i) {
        end(&f->params[i], &args[i], count);
    }
    restore_settings();
    adz_scope_close(scope);
    adz_error_clear();
    call_memory_end();
    now->calls += 1;
    now->failed += bad;
    if (verbose) {
        printf("%zu: %s: %s\n", now->call, now->text, bad ? "failed" : "ok");
    }
    return !bad;
}

/* ---- the calls of one function --------------------------------------------------------------- */

static size_t hinted(const param *p)
{
    size_t valid, n = choices_of(p, &valid);
    for (size_t i = 0; p->hint != NULL && i < n; ++i) {
        const char *name = choice_name(p, i);
        if (strcmp(name != NULL ? name : "NULL", p->hint) == 0) {
            return i;
        }
    }
    if (p->hint != NULL) {
        fprintf(stderr, "%s has no choice '%s'\n", p->name, p->hint);
        exit(2);
    }
    return 0;
}

/* Where the calls of a function begin: worker after worker counts them in the same way. */
typedef struct plan {
    const function *f;
    size_t first; /* calls before this one were made by an earlier worker */
    size_t next;
    size_t good[MOST_PARAMS]; /* choices with which the function succeeds */
    bool succeeds;
} plan;

static bool planned(plan *p, const size_t *choices, bool unsized)
{
    uint64_t random = (p->next < TRIES ? 1 : seed) * 1000003 + p->next;
    now->call = p->next++;
    return now->call >= p->first ? call(p->f, choices, random, unsized) : false;
}

/* Looks for arguments with which the function succeeds, at first those that hints name. After a
 * crash the search starts again, as what it had found is gone with its worker. */
static void find_success(plan *p)
{
    uint64_t random = 7; /* whatever the seed */
    size_t choices[MOST_PARAMS], valid, first = p->first;
    p->first = first > TRIES ? 0 : first;
    for (size_t t = 0; t < TRIES && !p->succeeds; ++t) {
        for (size_t i = 0; i < p->f->n_params; ++i) {
            choices_of(&p->f->params[i], &valid);
            choices[i] = hinted(&p->f->params[i]);
            if (t > 0 && random_from(&random) % 3 == 0) {
                choices[i] = random_from(&random) % valid;
            }
        }
        if (planned(p, choices, false)) {
            memcpy(p->good, choices, sizeof p->good);
            p->succeeds = true;
        }
        if (p->f->n_params == 0) {
            break;
        }
    }
    p->first = first;
    p->next = TRIES;
}

static void attack_alone(plan *p)
{
    size_t choices[MOST_PARAMS], valid;
    for (size_t i = 0; i < p->f->n_params; ++i) {
        bool is_struct = p->f->params[i].kind == KIND_STRUCT, filled = false;
        memcpy(choices, p->good, sizeof choices);
        for (size_t c = 0; c < choices_of(&p->f->params[i], &valid); ++c) {
            choices[i] = c;
            bool ok = planned(p, choices, p->succeeds);
            const char *name = is_struct ? choice_name(&p->f->params[i], c) : "";
            filled = c == 0 ? ok : filled;
            if (filled && !ok && strcmp(name, "of a newer caller") == 0) {
                complain("a struct of a newer caller was refused");
            }
        }
    }
}

static void attack_together(plan *p)
{
    uint64_t random = seed + 11;
    size_t choices[MOST_PARAMS], valid;
    for (size_t n = 0; n < random_calls && p->f->n_params > 0; ++n) {
        for (size_t i = 0; i < p->f->n_params; ++i) {
            size_t all = choices_of(&p->f->params[i], &valid);
            uint64_t drawn = random_from(&random);
            choices[i] = drawn % 3 == 0 ? p->good[i] : drawn / 3 % (drawn % 2 != 0 ? all : valid);
        }
        planned(p, choices, false);
    }
}

static bool has_path(const function *f)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == KIND_PATH) {
            return true;
        }
    }
    return false;
}

static void sweep_function(const function *f, size_t first)
{
    plan p = { .f = f, .first = first };
    if (has_path(f)) {
        files_write();
    }
    find_success(&p);
    if (p.succeeds != f->succeeds) {
        snprintf(now->text, sizeof now->text, "%s", f->name);
        complain("%s, against what generate.py says; the first call said: %s",
            p.succeeds ? "has succeeded" : "has not succeeded", first_error);
    }
    attack_alone(&p);
    attack_together(&p);
}

/* ---- the library afterwards ------------------------------------------------------------------ */

/* A few steps of training, which must give the same bits each time. */
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
    adz_optimizer_free(&sgd);
    adz_module_free(&model);
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
    adz_memory_info_get(&info, sizeof info);
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

/* Says how a worker ended; the next one begins after the call, or after three crashes after the
 * function. */
static void report_end(int status)
{
    const char *how = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "did not return"
                      : now->inside                                      ? "crashed"
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
        unlink(file);
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
        exit(0); /* so that leaks are reported */
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
    char folder[] = "sweep-files-XXXXXX"; /* under the current one */
    int first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
        uint64_t number = strtoull(argv[first + 1], NULL, 10);
        if (strcmp(argv[first], "--seed") == 0) {
            seed = number;
        } else if (strcmp(argv[first], "--random") == 0) {
            random_calls = (size_t)number;
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
