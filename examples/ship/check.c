/* Compiles a file in C, and compares its functions with the library. */
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/files.h"

enum { ROUNDS = 20, PATH = 4096, POINTERS = 8, WORK_SIZES = 4 };

typedef int (*called)(void **pointers);

/* The file that is compiled includes the one that is compared. It has a function for each wanted
 * function, which gets all arrays as one list. */
static void write_calls(const check *c, const char *path, const law_function *functions)
{
    FILE *file = create_file(path);
    fprintf(file, "#include \"%s\"\n", c->c_name);
    if (c->state) {
        fprintf(file, "static %s_state check_state;\n", c->name);
    }
    for (const law_function *f = functions; f < functions + LAW_FUNCTIONS; ++f) {
        if (f->wanted) {
            const size_t n = (f->vector == NO_VECTOR ? 1 : 2) + f->n_results;
            fprintf(file, "int check_%s(void **p)\n{\n", f->name);
            if (c->state) {
                fprintf(file, "    if (%s_init(&check_state, sizeof check_state) != 0) return 1;\n",
                    c->name);
            }
            fprintf(file, "    %s%s_%s(%s", c->state ? "return " : "", c->name, f->name,
                c->state ? "&check_state, " : "");
            for (size_t i = 0; i < n; ++i) {
                fprintf(file, "%sp[%zu]", i > 0 ? ", " : "", i);
            }
            fprintf(file, ");\n%s}\n", c->state ? "" : "    return 0;\n");
        }
    }
    finish_file(path, file);
}

static void *compiled(const check *c, const law_function *functions)
{
    char source[PATH], library[PATH], command[3 * PATH];
    snprintf(source, sizeof source, "%s/%s-check.c", c->folder, c->name);
    snprintf(library, sizeof library, "%s/%s-check.so", c->folder, c->name);
    if (strpbrk(source, "'\\") != NULL) {
        fail("--check: %s: a quote in the name of a folder would reach the shell", source);
    }
    write_calls(c, source, functions);
    snprintf(command, sizeof command, "%s -std=c99 -O2 -fPIC -shared '%s' -o '%s' -lm", c->compiler,
        source, library);
    void *found = system(command) == 0 ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(source);
    unlink(library);
    if (found == NULL) {
        fail("--check: '%s' has failed; --compiler names another one", command);
    }
    return found;
}

static void *symbol(void *library, const char *format, const char *name)
{
    char text[400];
    snprintf(text, sizeof text, format, name);
    void *found = dlsym(library, text);
    if (found == NULL) {
        fail("--check: the file has no function %s", text);
    }
    return found;
}

/* The largest difference between `n` elements and a tensor, over the tensor's largest element. */
static double difference(adz_tensor *wanted, const void *ours, bool transposed)
{
    const int64_t n = adz_tensor_numel(wanted);
    const bool f32 = adz_tensor_dtype(wanted) == ADZ_F32;
    adz_tensor *right = adz_contiguous(adz_to(wanted, ADZ_F64));
    const int64_t columns = transposed ? adz_tensor_size(right, -1) : 1, rows = n / columns;
    double worst = 0, largest = 1e-30;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = transposed ? i % columns * rows + i / columns : i;
        const double here = f32 ? (double)((const float *)ours)[at] : ((const double *)ours)[at];
        const double there = adz_tensor_data_f64(right)[i];
        worst = isfinite(here) ? fmax(worst, fabs(here - there)) : INFINITY;
        largest = fmax(largest, fabs(there));
        if (!(worst < INFINITY)) {
            break;
        }
    }
    return worst / largest;
}

/* One function of the file with the inputs that the law has now. */
static double compare_function(void *library, law *l, const law_function *f, adz_tensor **wanted)
{
    called call;
    double worst = 0;
    adz_tensor *inputs[2], *ours[LAW_RESULTS];
    void *p[POINTERS];
    const size_t n = function_inputs(l, f, inputs);
    for (size_t i = 0; i < n; ++i) {
        p[i] = adz_tensor_data(inputs[i]);
    }
    for (size_t k = 0; k < f->n_results; ++k) {
        ours[k] = adz_full_like(adz_contiguous(wanted[k]), NAN);
        p[n + k] = adz_tensor_data(ours[k]);
    }
    *(void **)(void *)&call = symbol(library, "check_%s", f->name);
    if (call(p) != 0) {
        fail("--check: the function %s refuses its state", f->name);
    }
    for (size_t k = 0; k < f->n_results; ++k) {
        worst = fmax(worst, difference(wanted[k], p[n + k], false));
    }
    return worst;
}

typedef int (*casadi_call)(const double **arg, double **res, long long *iw, double *w, int mem);
typedef int (*casadi_sizes)(long long *arg, long long *res, long long *iw, long long *w);

/* Calls a function of CasADi, whose work array has the length that it asks for. */
static void call_casadi(
    void *library, const char *prefix, const char *name, const double **arg, double **res)
{
    char full[300];
    casadi_call call;
    casadi_sizes sizes;
    long long n[WORK_SIZES];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    *(void **)(void *)&call = symbol(library, "%s", full);
    *(void **)(void *)&sizes = symbol(library, "%s_work", full);
    if (sizes(&n[0], &n[1], &n[2], &n[3]) != 0) {
        fail("--check: %s_work has failed", full);
    }
    double *w = allocate((size_t)n[3] * sizeof *w);
    if (call(arg, res, NULL, w, 0) != 0) {
        fail("--check: %s has failed", full);
    }
    free(w);
}

/* The function of CasADi that has the last result of a function in C. */
static double compare_casadi(
    const check *c, void *library, law *l, int i, const law_function *f, adz_tensor **wanted)
{
    static const char *const prefixes[] = { "", "jac_", "fwd1_", "adj1_", "jac_adj1_" };
    const size_t last = f->n_results - 1;
    adz_tensor *inputs[2], *ours[2];
    const size_t n = function_inputs(l, f, inputs);
    const double *arg[4] = { adz_tensor_data_f64(l->x), NULL,
        n > 1 ? adz_tensor_data_f64(inputs[1]) : NULL, NULL };
    double *res[4] = { NULL, NULL, NULL, NULL };
    ours[0] = adz_full_like(adz_contiguous(wanted[last]), NAN);
    res[0] = adz_tensor_data_f64(ours[0]);
    if (i == LAW_HESSIAN) {
        ours[1] = adz_full_like(adz_contiguous(wanted[1]), NAN);
        res[2] = adz_tensor_data_f64(ours[1]);
    }
    call_casadi(library, prefixes[i], c->name, arg, res);
    const double first = difference(wanted[last], res[0], i == LAW_JACOBIAN);
    return i == LAW_HESSIAN ? fmax(first, difference(wanted[1], res[2], false)) : first;
}

static void draw(adz_tensor *x)
{
    adz_copy_(x, adz_randn_like(x));
}

static double compare_all(const check *c, void *library, law *l, int i, const law_function *f)
{
    double worst = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *wanted[LAW_RESULTS];
        draw(l->x);
        draw(l->u);
        draw(l->v);
        f->compute(wanted, l);
        worst = fmax(worst, compare_function(library, l, f, wanted));
        if (c->casadi) {
            worst = fmax(worst, compare_casadi(c, library, l, i, f, wanted));
        }
        adz_scope_close(scope);
    }
    return worst;
}

void compare_with_library(const check *c, law *l, const law_function *functions)
{
    void *library = compiled(c, functions);
    const double most = adz_tensor_dtype(l->x) == ADZ_F64 ? 1e-11 : 1e-4;
    for (int i = 0; i < LAW_FUNCTIONS; ++i) {
        if (functions[i].wanted) {
            const double worst = compare_all(c, library, l, i, &functions[i]);
            if (!(worst <= most)) {
                fail("--check: %s_%s differs from the library by %.1e of the largest element, and "
                     "%.0e is allowed",
                    c->name, functions[i].name, worst, most);
            }
            print_text("checked: %s_%s agrees with the library within %.1e of the largest element",
                c->name, functions[i].name, worst);
        }
    }
    dlclose(library);
}
