/* Calls every public function inside a captured function and between two runs of a plan.
 *
 *     sweep_plans                 all functions
 *     sweep_plans FUNCTION...     these functions; prints each case
 *
 * A plan must leave the bits of ordinary calls after every step, or be refused with an error. A
 * function that is no operator and that src/plan/captured.txt does not list must be refused inside.
 * The addresses of every captured launch must be named (addresses.h).
 * A child process makes the calls. If it crashes, this process reports the case and starts another
 * one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "plans.h"

/* Written by classes.py: operators, and the functions that captured.txt lists. */
extern const char *const captured_functions[];
extern const size_t n_captured_functions;
extern const char *const uncalled_functions[];
extern const size_t n_uncalled_functions;

/* Shared memory of the child and its parent. */
static struct progress {
    size_t function, example, cases, refused, captured, skipped, complaints, tables;
    char text[300];
} * now;

static bool verbose;

static void complain(const char *what)
{
    now->complaints += 1;
    printf("%s: %s\n", now->text, what);
    fflush(stdout);
}

static bool is_among(const function *f, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(f->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void restore_settings(void)
{
    adz_context_use(NULL);
    adz_on_error(adz_quiet, NULL);
    adz_on_warning(NULL, NULL);
    adz_set_num_threads(0); /* as in a new context */
    adz_set_memory_limit(8 << 20);
    adz_set_grad_enabled(true);
    adz_set_deterministic(false);
    adz_set_recomputing(false);
    adz_set_debug(false);
    adz_set_anomaly_enabled(false);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adz_set_gemm_backend(ADZ_GEMM_OWN);
    adz_manual_seed(1);
    adz_error_clear();
}

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct outcome {
    adz_status status[STEPS];
    uint64_t digest[STEPS];
    bool called, refused, captured;
    char message[300];
} outcome;

/* Runs the steps by ordinary calls, or by a plan. */
static outcome run(const example *e, bool planned)
{
    outcome o = { .called = false };
    world w;
    adz_plan *plan = NULL;
    world_begin(&w, e);
    for (int k = 0; k < STEPS && !o.refused; ++k) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *output = NULL;
        world_inputs(&w, k);
        if (k == AT && !e->inside) {
            call_between(&w);
        }
        if (!planned) {
            output = world_step(&w);
        } else if (plan == NULL) {
            plan = adz_plan_new(world_step, &w, NULL);
            output = plan != NULL ? adz_plan_output(plan) : NULL;
        } else {
            output = adz_plan_run(plan) == ADZ_OK ? adz_plan_output(plan) : NULL;
        }
        o.status[k] = output == NULL ? adz_error_code() : ADZ_OK;
        if (output == NULL) {
            snprintf(o.message, sizeof o.message, "%s", adz_error_message());
            o.refused = planned && o.status[k] == ADZ_ERR_STATE &&
                        strstr(o.message, "cannot be captured") != NULL;
        }
        adz_error_clear();
        o.digest[k] = world_digest(&w, output);
        adz_scope_close(scope);
        if (output == NULL) {
            break;
        }
    }
    if (plan != NULL) {
        adz_plan_info info;
        adz_plan_get_info(plan, &info, sizeof info);
        o.captured = info.captures > 0;
    }
    o.called = w.called;
    adz_plan_free(&plan);
    world_end(&w);
    restore_settings();
    return o;
}

static void compare(const outcome *a, const outcome *b)
{
    char text[400];
    for (int k = 0; k < STEPS; ++k) {
        if (a->status[k] != b->status[k]) {
            snprintf(text, sizeof text, "step %d gives %s by itself and %s in a plan (%s)", k,
                adz_status_name(a->status[k]), adz_status_name(b->status[k]), b->message);
            complain(text);
            return;
        }
        if (a->status[k] != ADZ_OK) {
            return;
        }
        if (a->digest[k] != b->digest[k]) {
            snprintf(text, sizeof text, "step %d leaves other bits in a plan", k);
            complain(text);
            return;
        }
    }
}

/* Whether the function could be called. */
static bool try_example(const example *e, bool may_be_captured)
{
    snprintf(now->text, sizeof now->text, "%s %s, %s, with %s", e->f->name,
        e->inside ? "inside" : "between runs", world_names[e->kind], variant_names[e->variant]);
    alarm(20);
    const outcome ordinary = run(e, false);
    if (!ordinary.called) {
        now->skipped += 1;
        alarm(0);
        return false;
    }
    const outcome planned = run(e, true);
    alarm(0);
    now->cases += 1;
    now->refused += planned.refused;
    now->captured += planned.captured;
    if (verbose) {
        printf("%s: %s%s\n", now->text,
            planned.refused    ? "refused: "
            : planned.captured ? "captured"
                               : "called",
            planned.message);
    }
    if (e->inside && !may_be_captured && !planned.refused) {
        complain("must be refused, because src/plan/captured.txt does not list the function");
    } else if (!planned.refused) {
        compare(&ordinary, &planned);
    }
    return true;
}

/* ---- all cases of a function ----------------------------------------------------------------- */

static bool has_kind(const function *f, kind k)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == k) {
            return true;
        }
    }
    return false;
}

static bool has_object_of_world(const function *f)
{
    return has_kind(f, KIND_MODULE) || has_kind(f, KIND_OPTIMIZER) || has_kind(f, KIND_SCHEDULER) ||
           has_kind(f, KIND_GENERATOR) || has_kind(f, KIND_FLAT_PARAMETERS) ||
           has_kind(f, KIND_LIST);
}

static bool has_taken(const function *f)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].taken) {
            return true;
        }
    }
    return false;
}

/* Whether the call may concern settings of the thread, such as its context and generator. */
static bool sets_something(const function *f)
{
    return f->owned == KIND_NONE && f->n_params <= 1 && f->returns != RETURNS_NUMBER &&
           !has_kind(f, KIND_TENSOR) && !has_object_of_world(f);
}

/* The cases that are worth their time: the networks with a hidden state for functions of modules,
 * lists of parameters and generators, a parameter or the input for functions of tensors. */
static bool is_wanted(const example *e)
{
    const bool tensor = has_kind(e->f, KIND_TENSOR), object = has_object_of_world(e->f);
    const bool plain = e->kind == MLP_TRAINING || e->kind == MLP_FORWARD;
    if (e->inside && has_taken(e->f)) {
        return false; /* a second call would take what is gone */
    }
    if (e->variant == OBJECTS_OF_ITS_OWN) {
        return plain || sets_something(e->f);
    }
    if (e->variant == COMPUTED) {
        return e->inside && tensor && e->kind == MLP_FORWARD;
    }
    if (e->variant > OF_THE_WORLD) {
        return tensor && (e->kind == MLP_TRAINING || e->kind == AWD_TRAINING);
    }
    return object || (tensor && plain);
}

static void sweep_function(const function *f)
{
    example e = { .f = f };
    const bool may = is_among(f, captured_functions, n_captured_functions);
    bool inside = false, between = false;
    const bool callable =
        !is_among(f, uncalled_functions, n_uncalled_functions) && find_choices(f, e.choices);
    restore_settings();
    if (!callable) {
        return;
    }
    const size_t first = now->example;
    for (size_t i = 0; i < 2 * WORLD_KINDS * VARIANTS; ++i) {
        e.inside = i % 2 == 0;
        e.kind = (world_kind)(i / 2 % WORLD_KINDS);
        e.variant = (variant)(i / 2 / WORLD_KINDS);
        if (i < first || !is_wanted(&e)) {
            continue;
        }
        now->example = i;
        const bool called = try_example(&e, may);
        inside = inside || (called && e.inside);
        between = between || (called && !e.inside);
    }
    snprintf(now->text, sizeof now->text, "%s", f->name);
    if (first == 0 && !between) {
        complain("was never called between two runs");
    }
    if (first == 0 && !inside && !has_taken(f)) {
        complain("was never called inside");
    }
}

static bool is_named(const function *f, int n, char **names)
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
    addresses_begin(complain);
    restore_settings();
    files_write();
    objects_begin();
    for (; now->function < n_functions; now->function += 1, now->example = 0) {
        if (is_named(&functions[now->function], n, names)) {
            if (has_kind(&functions[now->function], KIND_PATH)) {
                files_write();
            }
            sweep_function(&functions[now->function]);
        }
    }
}

int main(int argc, char **argv)
{
    char folder[] = "sweep-plans-XXXXXX";
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now == MAP_FAILED || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror("sweep_plans");
        return 2;
    }
    verbose = argc > 1;
    while (now->function < n_functions) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            work(argc - 1, argv + 1);
            now->tables = addresses_tables();
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) {
            complain(
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "did not return" : "crashed");
            now->example += 1;
        }
    }
    if (chdir("..") != 0 || system("rm -r sweep-plans-??????") != 0) {
        perror(folder);
    }
    printf(
        "%zu cases, of which %zu were captured and %zu refused, with %zu structs of arguments; %zu complaints\n",
        now->cases, now->captured, now->refused, now->tables, now->complaints);
    return now->complaints > 0 || now->cases == 0 || (now->captured > 0 && now->tables == 0);
}
