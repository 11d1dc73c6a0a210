/* Compiles a file in C, and compares its functions with the library. */
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/shared/files.h"

enum { ROUNDS = 20, PATH = 4096 };

typedef int (*called)(void **pointers);

/* The file that is compiled includes the one that is compared. It has a function for each wanted
 * function, which gets all arrays as one list. */
static void write_calls(
    const check *c, const char *path, const law *l, const law_function *functions)
{
    FILE *file = create_file(path);
    fprintf(file, "#include \"%s\"\n", c->c_name);
    if (c->state) {
        fprintf(file, "static %s_state check_state;\n", c->name);
    }
    for (const law_function *f = functions; f < functions + LAW_FUNCTIONS; ++f) {
        if (f->wanted) {
            adz_tensor *inputs[LAW_INPUTS];
            const size_t n = function_inputs(l, f, inputs) + function_results(l, f);
            fprintf(file, "int check_%s(void **p)\n{\n", f->name);
            if (c->state) {
                fprintf(file,
                    "    static int ready; /* a step goes on where the last one ended */\n"
                    "    if (%s%s_init(&check_state, sizeof check_state) != 0) return 1;\n"
                    "    ready = 1;\n",
                    f->vector == TARGET ? "!ready && " : "", c->name);
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

static void *compiled(const check *c, const law *l, const law_function *functions)
{
    char source[PATH], library[PATH], command[3 * PATH];
    snprintf(source, sizeof source, "%s/%s-check.c", c->folder, c->name);
    snprintf(library, sizeof library, "%s/%s-check.so", c->folder, c->name);
    if (strpbrk(source, "'\\") != NULL) {
        fail("--check: %s: a quote in the name of a folder would reach the shell", source);
    }
    write_calls(c, source, l, functions);
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

void *function_of(void *library, const char *format, const char *name)
{
    char text[400];
    snprintf(text, sizeof text, format, name);
    void *found = dlsym(library, text);
    if (found == NULL) {
        fail("--check: the file has no function %s", text);
    }
    return found;
}

static double element(const void *data, adz_dtype dtype, int64_t i)
{
    switch (dtype) {
    case ADZ_F32:
        return (double)((const float *)data)[i];
    case ADZ_F64:
        return ((const double *)data)[i];
    default: /* integers are int32_t in C */
        return ((const int32_t *)data)[i];
    }
}

double difference(adz_tensor *wanted, const void *ours)
{
    const int64_t n = adz_tensor_numel(wanted);
    adz_tensor *right = adz_contiguous(adz_to(wanted, ADZ_F64));
    double worst = 0, largest = 1e-30;
    for (int64_t i = 0; i < n; ++i) {
        const double here = element(ours, adz_tensor_dtype(wanted), i);
        const double there = adz_tensor_data_f64(right)[i];
        if (here == there || (isnan(here) && isnan(there))) {
            largest = isfinite(there) ? fmax(largest, fabs(there)) : largest;
            continue;
        }
        if (!isfinite(here) || !isfinite(there)) {
            return INFINITY;
        }
        worst = fmax(worst, fabs(here - there));
        largest = fmax(largest, fabs(there));
    }
    return worst / largest;
}

/* Memory of a file's array for a tensor, with numbers that no function gives. Whole numbers are
 * int32_t there. */
static adz_tensor *array_of(adz_tensor *t)
{
    const adz_dtype dtype = adz_tensor_dtype(t);
    const bool is_real = dtype == ADZ_F32 || dtype == ADZ_F64;
    return adz_full(adz_tensor_shape(t), is_real ? NAN : INT32_MIN, is_real ? dtype : ADZ_I32);
}

/* One function of the file with the inputs that the law has now. */
static double compare_function(void *library, law *l, const law_function *f, adz_tensor **wanted)
{
    called call;
    double worst = 0;
    adz_tensor *inputs[LAW_INPUTS], *ours[LAW_RESULTS];
    void *p[LAW_INPUTS + LAW_RESULTS];
    const size_t n = function_inputs(l, f, inputs), n_results = function_results(l, f);
    for (size_t i = 0; i < n; ++i) {
        const adz_dtype dtype = adz_tensor_dtype(inputs[i]);
        const bool is_real = dtype == ADZ_F32 || dtype == ADZ_F64;
        p[i] = adz_tensor_data(is_real ? inputs[i] : adz_to(inputs[i], ADZ_I32));
    }
    for (size_t k = 0; k < n_results; ++k) {
        ours[k] = array_of(wanted[k]);
        p[n + k] = adz_tensor_data(ours[k]);
    }
    *(void **)(void *)&call = function_of(library, "check_%s", f->name);
    if (call(p) != 0) {
        fail("--check: the function %s refuses its state", f->name);
    }
    for (size_t k = 0; k < n_results; ++k) {
        worst = fmax(worst, difference(wanted[k], p[n + k]));
    }
    return worst;
}

static double compare_all(const check *c, void *library, law *l, int i, const law_function *f)
{
    double worst = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *wanted[LAW_RESULTS];
        draw_inputs(l);
        f->compute(wanted, l);
        worst = fmax(worst, compare_function(library, l, f, wanted));
        if (c->casadi && i != LAW_STEP) {
            worst = fmax(worst, compare_casadi(library, c->name, l, i, wanted));
        }
        adz_scope_close(scope);
    }
    return worst;
}

void compare_with_library(const check *c, law *l, const law_function *functions)
{
    void *library = compiled(c, l, functions);
    const double most = adz_tensor_dtype(l->u) == ADZ_F64 ? 1e-11 : 1e-4;
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
