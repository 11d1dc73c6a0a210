#define _GNU_SOURCE /* mkdtemp, P_tmpdir */
#include "written_row.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT = 512 };

static void end(const char *what)
{
    fprintf(stderr, "adze-bench: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Writes a function "call" with one type for all plans. It calls the function that the plan wrote,
 * whose arguments depend on the plan. */
static void write_call(const char *folder, size_t n)
{
    char path[TEXT];
    snprintf(path, sizeof path, "%s/call.c", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        end("the file that calls the written function cannot be made");
    }
    fputs("#include \"row.h\"\nvoid call(void *const *in, void *y)\n{\n    row_run(", file);
    for (size_t i = 0; i < n; ++i) {
        fprintf(file, "in[%zu], ", i);
    }
    fputs("y);\n}\n", file);
    if (fclose(file) != 0) {
        end("the file that calls the written function cannot be written");
    }
}

/* Compiles the files of a folder, which is removed, and loads the function. */
static void load(written_row *row, const char *folder)
{
    char command[4 * TEXT], path[TEXT];
    snprintf(command, sizeof command,
        "cd %s && cc -O3 -march=native -shared -fPIC -o row.so row.c call.c -lm", folder);
    snprintf(path, sizeof path, "%s/row.so", folder);
    void *library = system(command) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0 || library == NULL) {
        end("the written function cannot be loaded");
    }
    *(void **)(void *)&row->call = dlsym(library, "call");
}

void make_written_row(
    written_row *row, adz_plan_function compute, void *user, adz_tensor *const *inputs, size_t n)
{
    char folder[] = P_tmpdir "/adze-bench-XXXXXX", path[TEXT];
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(inputs, n);
    adz_plan *plan = adz_plan_new(compute, user, &o);
    const adz_tensor *result = adz_plan_output(plan);
    if (result == NULL) {
        end(adz_error_message());
    }
    row->dtype = adz_tensor_dtype(result);
    row->numel = adz_tensor_numel(result);
    row->result = malloc((size_t)row->numel * adz_dtype_size(row->dtype));
    for (size_t i = 0; i < n; ++i) {
        row->inputs[i] = adz_tensor_data(inputs[i]);
    }
    if (row->result == NULL || mkdtemp(folder) == NULL) {
        end("the written function has no memory or no folder");
    }
    adz_c_options c = ADZ_C_OPTIONS;
    c.name = "row";
    c.precision = row->dtype;
    snprintf(path, sizeof path, "%s/row.c", folder);
    if (adz_plan_write_c(plan, path, &c) != ADZ_OK) {
        end(adz_error_message());
    }
    adz_plan_free(&plan);
    write_call(folder, n);
    load(row, folder);
}

void run_written_row(void *user)
{
    written_row *row = user;
    row->call(row->inputs, row->result);
}

double written_value(const written_row *row)
{
    double sum = 0;
    for (int64_t i = 0; i < row->numel; ++i) {
        const double value = row->dtype == ADZ_F64 ? ((const double *)row->result)[i]
                                                   : (double)((const float *)row->result)[i];
        sum += value * value;
    }
    return sum / (double)row->numel;
}
