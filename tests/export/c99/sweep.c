/* test_c99_sweep [OPERATOR...]: every operator, or those that are named, as a function in C,
 * against the library. Each case of tests/export/sweep is written as a file. The files of many
 * cases are compiled as one, because a compiler takes longer to start than to compile a small
 * function.
 *
 * In the environment ADZE_SWEEP_ALL reports every fault instead of the first ones of an operator,
 * ADZE_SWEEP_REFUSED prints what was refused, ADZE_SWEEP_KEEP leaves the written files, and
 * ADZE_SWEEP_O is the level of optimisation, 0 by default. */
#include "export/c99/sweep.h"

#include <signal.h>
#include <unistd.h>

#include "export/c99/c99.h"
#include "export/c99/write/write_c.h"
#include "groups.h"
#include "temporary.h"

static const sweep_limits limits = { .i64_is_i32 = true };

/* ---- reports --------------------------------------------------------------------------------- */

static struct {
    size_t compared, runs, elements, refused, faults, faults_of_operator, compared_of_operator;
    bool excused; /* a case of the operator draws random numbers, or has a constant result */
    bool f32_is_refused[CASE_RESULTS]; /* the same sample, contiguous */
} totals;
static char current[300]; /* the case that is run, for a crash */

enum { MOST_REPORTS = 8 }; /* of one operator */

static void report_fault(const sweep_case *c, const char *what)
{
    char description[200];
    sweep_describe(c, description, sizeof description);
    ++totals.faults;
    if (++totals.faults_of_operator <= MOST_REPORTS || getenv("ADZE_SWEEP_ALL") != NULL) {
        fprintf(stderr, "%s: %s\n", description, what);
    }
}

static void crashed(int number)
{
    static const char text[] = ": crashed\n";
    (void)number;
    const ssize_t written = write(2, current, strlen(current)) + write(2, text, sizeof text - 1);
    _exit(written > 0 ? 1 : 2);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* True for the cases that are written with the precision f64, which have no input of f32. */
static bool is_wide(const sweep_case *c)
{
    bool wide = c->dtype == ADZ_F64 && c->only < 0;
    for (size_t i = 0; i < c->n_inputs && wide; ++i) {
        wide = adz_tensor_dtype(c->inputs[i]) != ADZ_F32;
    }
    return wide;
}

/* Writes a case under the name k<number>. Without libm some functions are refused, so that every
 * second case, and what was refused for that reason, uses it. */
static adz_status write_case(sweep_case *c, int number)
{
    char name[24];
    snprintf(name, sizeof name, "k%d", number);
    const adzi_export what = {
        .function = sweep_call, .user = c, .inputs = { c->inputs, c->n_inputs }, .module = c->module
    };
    adz_c_options o = ADZ_C_OPTIONS;
    o.name = name;
    o.libm = number % 2 == 1;
    o.precision = is_wide(c) ? ADZ_F64 : ADZ_F32;
    adz_status status = adzi_write_c("test", temporary_path("k.c"), &what, 1, &o);
    if (status != ADZ_OK && !o.libm && strstr(adz_error_message(), "options.libm") != NULL) {
        adz_error_clear();
        o.libm = true;
        status = adzi_write_c("test", temporary_path("k.c"), &what, 1, &o);
    }
    return status;
}

static bool is_right(sweep_case *c, adz_status status, const char *message)
{
    if (strstr(message, "does not depend on") != NULL) {
        totals.excused = true;
        return !sweep_depends(c);
    }
    return (status == ADZ_ERR_UNSUPPORTED || status == ADZ_ERR_DTYPE) &&
           sweep_refusal_is_right(c, message, totals.f32_is_refused[c->result]);
}

static void write_one(sweep_case *c, void *user)
{
    sweep_program *program = user;
    sweep_describe(c, current, sizeof current);
    const adz_status status = write_case(c, program_next(program));
    if (c->dtype == ADZ_F32 && c->layout == LAYOUT_PLAIN && c->role == SWEEP_INPUTS) {
        totals.f32_is_refused[c->result] = status != ADZ_OK;
    }
    if (status == ADZ_OK) {
        program_add(program, temporary_path("k.c"), temporary_path("k.h"));
        return;
    }
    char message[2000], text[2100];
    adz_error_take(message, sizeof message);
    ++totals.refused;
    totals.excused = totals.excused || strstr(message, "draws random numbers") != NULL;
    if (!is_right(c, status, message)) {
        snprintf(
            text, sizeof text, "refused with '%s', which names no operator or no dtype", message);
        report_fault(c, text);
    } else if (getenv("ADZE_SWEEP_REFUSED") != NULL) {
        sweep_describe(c, text, sizeof text);
        printf("refused: %s: %s\n", text, message);
    }
    program_skip(program);
}

/* ---- running --------------------------------------------------------------------------------- */

/* The elements as C reads them: int64 is int32_t. The caller frees. */
static void *as_argument(adz_tensor *t)
{
    const size_t n = (size_t)adz_tensor_numel(t), size = adz_dtype_size(adz_tensor_dtype(t));
    void *copy = malloc(n * size + 1);
    assert_non_null(copy);
    assert_int_equal(adz_tensor_read(t, copy, n * size), ADZ_OK);
    for (size_t i = 0; i < n && adz_tensor_dtype(t) == ADZ_I64; ++i) {
        int64_t whole;
        memcpy(&whole, (char *)copy + i * sizeof whole, sizeof whole);
        const int32_t narrow = (int32_t)whole;
        memcpy((char *)copy + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return copy;
}

enum { GUARD = 64 };

/* What the function in C computes, shaped like `like`. NULL if it wrote behind its result. */
static adz_tensor *run_case(const sweep_case *c, sweep_function run, adz_tensor *like)
{
    const adz_dtype dtype = adz_tensor_dtype(like);
    const adz_dtype stored = dtype == ADZ_I64                 ? ADZ_I32
                             : dtype == ADZ_F32 && is_wide(c) ? ADZ_F64
                                                              : dtype;
    const size_t bytes = (size_t)adz_tensor_numel(like) * adz_dtype_size(stored);
    const void *in[CASE_INPUTS];
    unsigned char *y = malloc(bytes + GUARD);
    assert_non_null(y);
    memset(y, 0xa5, bytes + GUARD);
    for (size_t i = 0; i < c->n_inputs; ++i) {
        in[i] = as_argument(c->inputs[i]);
    }
    run(in, y);
    bool intact = true;
    for (size_t i = 0; i < GUARD; ++i) {
        intact = intact && y[bytes + i] == 0xa5;
    }
    for (size_t i = 0; i < c->n_inputs; ++i) {
        free((void *)(uintptr_t)in[i]);
    }
    adz_tensor *got =
        adz_to(adz_tensor_from((const void *)y, adz_tensor_shape(like), stored), dtype);
    free(y);
    return intact ? got : NULL;
}

/* Results of int64 are the lower 32 bits in C. */
static adz_tensor *as_stored(adz_tensor *expected)
{
    if (adz_tensor_dtype(expected) != ADZ_I64) {
        return expected;
    }
    int32_t *narrow = as_argument(expected);
    adz_tensor *y = adz_to(adz_tensor_from(narrow, adz_tensor_shape(expected), ADZ_I32), ADZ_I64);
    free(narrow);
    return y;
}

static bool compare_contents(sweep_case *c, sweep_function run, int k)
{
    char says[300], text[400];
    adz_scope *scope = adz_scope_open();
    sweep_fill(c, k);
    adz_tensor *expected = sweep_expected(c);
    bool good = true;
    if (expected != NULL) {
        expected = as_stored(expected);
        adz_tensor *got = run_case(c, run, expected);
        good = got != NULL;
        snprintf(says, sizeof says, "it wrote behind its result");
        if (good) {
            good = sweep_agrees(c, expected, got, says, sizeof says);
        }
        totals.elements += (size_t)adz_tensor_numel(expected);
        ++totals.runs;
    }
    if (!good) {
        snprintf(text, sizeof text, "contents %d: %s", k, says);
        report_fault(c, text);
    }
    adz_scope_close(scope);
    return good;
}

static void run_one(sweep_case *c, void *user)
{
    sweep_program *program = user;
    const char *diagnostic;
    const sweep_function run = program_function(program, &diagnostic);
    if (diagnostic != NULL) {
        report_fault(c, diagnostic);
    }
    if (run == NULL) {
        return;
    }
    sweep_describe(c, current, sizeof current);
    bool good = true;
    for (int k = 0; k < sweep_n_contents(c) && good; ++k) {
        good = compare_contents(c, run, k);
    }
    ++totals.compared;
    totals.compared_of_operator += c->dtype == ADZ_F32;
}

/* Replaces fsync, where the linker does so: thousands of files need not reach the disk. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

/* ---- all operators --------------------------------------------------------------------------- */

/* True for operators that the writer has to know: it prints them, or what they are made of. */
static bool must_be_written(const op_case *op)
{
    for (int i = 0; i < adzi_n_ops; ++i) {
        if (strcmp(adzi_ops[i]->name, op->name) == 0) {
            const adzi_row *row = adzi_row_of(op->name);
            return (adzi_c99_prints(adzi_ops[i]) || adzi_ops[i]->expression != NULL) &&
                   (row == NULL || row->c.of_doubles == NULL);
        }
    }
    return false;
}

static void sweep_operator(const op_case *op)
{
    sweep_program *program = program_new(temporary_folder);
    totals.faults_of_operator = totals.compared_of_operator = 0;
    totals.excused = false;
    sweep_cases(op, limits, write_one, program);
    program_compile(program);
    sweep_cases(op, limits, run_one, program);
    program_free(program);
    if (totals.compared_of_operator == 0 && !totals.excused && must_be_written(op)) {
        ++totals.faults;
        fprintf(stderr, "%s: no case of float32 was compared\n", op->name);
    }
    if (totals.faults_of_operator > MOST_REPORTS) {
        fprintf(stderr, "%s: %zu faults in all\n", op->name, totals.faults_of_operator);
    }
}

int main(int argc, char **argv)
{
    int swept = 0;
    const int signals[] = { SIGSEGV, SIGFPE, SIGABRT, SIGILL }; /* an overflow of int aborts */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
        signal(signals[i], crashed);
    }
    if (system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        puts("skipped: the C compiler of the build, " C_COMPILER ", cannot be run");
        return 77;
    }
    if (temporary_begin(NULL) != 0) {
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (is_chosen(op_cases[i]->name, 1, argc, argv)) {
            sweep_operator(op_cases[i]);
            ++swept;
        }
    }
    temporary_end(NULL);
    printf(
        "%d operators: %zu cases compared on %zu contents, %zu elements; %zu refused; %zu faults\n",
        swept, totals.compared, totals.runs, totals.elements, totals.refused, totals.faults);
    return swept > 0 && totals.compared > 0 && totals.faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
