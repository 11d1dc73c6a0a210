/* adze-parity [--f32] FILE.safetensors... runs the operator, module or optimizer that each file
 * names on the file's inputs. It compares results and gradients with those of the file, and prints
 * one line per case, then "N passed, N failed". */
#include "ops/parity.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/sweep.h"

void parity_judge(
    verdict *out, const char *kind, const char *name, adz_tensor *got, adz_tensor *expected)
{
    adz_dtype dtype = adz_tensor_dtype(expected);
    bool exact = dtype != ADZ_F64 && dtype != ADZ_F32;
    double error = exact ? (difference(got, expected, 1) == 0 ? 0 : INFINITY)
                         : difference(got, expected, out->tiny);
    ++out->compared;
    if (!(error < out->error)) {
        out->error = error;
        snprintf(out->name, sizeof out->name, "%s%s", kind, name);
    }
}

/* The runner of a file, found by its reference or by its group; NULL if there is none. */
static parity_runner runner_of(const vector_file *v)
{
    static const struct {
        const char *group;
        parity_runner run;
    } runners[] = {
        { "ops", parity_op },
        { "ffn", parity_module },
        { "transformers", parity_module },
        { "text", parity_module },
        { "optim", parity_optim },
    };
    if (strcmp(vector_meta(v, "reference"), "labml simple trainer") == 0) {
        return parity_trainer;
    }
    for (size_t i = 0; i < sizeof runners / sizeof runners[0]; ++i) {
        if (strcmp(runners[i].group, vector_meta(v, "group")) == 0) {
            return runners[i].run;
        }
    }
    return NULL;
}

/* Runs and judges a case in one precision. */
static bool pass(const vector_file *v, bool f32, verdict *out)
{
    *out = (verdict){ .tolerance = strtod(vector_meta(v, "tolerance"), NULL),
        .tiny = f32 ? 1 : strtod(vector_meta(v, "tiny"), NULL),
        .name = "-" };
    parity_runner run = runner_of(v);
    if (run == NULL) {
        snprintf(out->note, sizeof out->note, "no runner for group '%s'", vector_meta(v, "group"));
        return false;
    }
    adz_scope *scope = adz_scope_open();
    bool ran = run(v, f32, out);
    if (!ran && out->note[0] == '\0') {
        snprintf(out->note, sizeof out->note, "%s", adz_error_message());
    }
    adz_error_clear();
    adz_scope_close(scope);
    return ran && out->compared > 0 && out->error <= out->tolerance;
}

/* Checks a case. In f32 the reference is computed by adze in f64, so the f64 run must give the
 * file's numbers first. */
static bool check_case(const vector_file *v, bool f32, verdict *out)
{
    verdict whole;
    if (!pass(v, f32, out)) {
        return false;
    }
    if (f32 && !pass(v, false, &whole)) {
        *out = whole;
        snprintf(out->note, sizeof out->note, "already in f64");
        return false;
    }
    return true;
}

static bool check_file(const char *path, bool f32)
{
    vector_file v;
    verdict out = { .name = "-" };
    bool opened = vector_open(&v, path), passed = opened && check_case(&v, f32, &out);
    if (!opened) {
        const char *why = adz_error_code() != ADZ_OK ? adz_error_message() : "it has no config";
        snprintf(out.note, sizeof out.note, "%s", why);
        adz_error_clear();
    }
    printf("%-40s %s %-16s %-9.2g %s %s\n", opened ? vector_meta(&v, "case") : path,
        f32 ? "f32" : "f64", out.name, out.error, passed ? "pass" : "FAIL", out.note);
    vector_close(&v);
    return passed;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    bool f32 = false;
    const char *forced = getenv("ADZE_CPU");
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    if (forced != NULL && forced[0] != '\0' && strcmp(forced, adz_cpu_name()) != 0) {
        fprintf(stderr, "adze-parity: ADZE_CPU is %s, but kernels run with %s\n", forced,
            adz_cpu_name());
        return EXIT_FAILURE;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: adze-parity [--f32] FILE.safetensors...\n");
    }
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--f32") == 0) {
            f32 = true;
        } else if (check_file(argv[i], f32)) {
            ++passed;
        } else {
            ++failed;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
