/* Writes interfaces for Fortran, in which the first index of an array is the one that runs fastest:
 * dimensions are those of C in reverse order. Names that are bound keep their case, which bind(C)
 * alone would lower. */
#include "fortran.h"

#include <stdio.h>
#include <string.h>

#include "../../examples/shared/files.h"

/* An array as the function gets it. */
static void write_argument(
    FILE *file, const char *name, size_t i, size_t n, const char *intent, const adz_tensor *t)
{
    char identifier[40];
    snprintf(identifier, sizeof identifier, n > 1 ? "%s%zu" : "%s", name, i);
    const adz_dtype dtype = adz_tensor_dtype(t);
    fprintf(file, "      %s, intent(%s) :: %s",
        dtype == ADZ_F64   ? "real(c_double)"
        : dtype == ADZ_F32 ? "real(c_float)"
                           : "integer(c_int32_t)",
        intent, identifier);
    const adz_shape shape = adz_tensor_shape(t);
    for (int d = shape.rank; d-- > 0;) {
        fprintf(file, "%s%lld%s", d == shape.rank - 1 ? "(" : ", ", (long long)shape.sizes[d],
            d == 0 ? ")" : "");
    }
    fputc('\n', file);
}

/* x, or x0, x1 and so on as in C. Lines end before Fortran's limit. */
static void write_names(FILE *file, const char *name, size_t n, bool first)
{
    for (size_t i = 0; i < n; ++i) {
        fputs(first && i == 0 ? "" : i % 8 == 0 ? ", &\n        " : ", ", file);
        fprintf(file, n > 1 ? "%s%zu" : "%s", name, i);
    }
}

/* The shapes of results are those of a call. A step is not called, because it would change the
 * network: its one result is a number. */
static void compute_results(adz_tensor **results, law *l, const law_function *f)
{
    if (f->vector == TARGET) {
        results[0] = adz_zeros((adz_shape){ 0 }, l->n.outputs[0].dtype);
    } else {
        f->compute(results, l);
    }
}

static void write_function(FILE *file, const char *name, law *l, const law_function *f, bool state)
{
    adz_tensor *inputs[LAW_INPUTS], *results[LAW_RESULTS];
    adz_scope *scope = adz_scope_open();
    const size_t n = function_inputs(l, f, inputs), n_results = function_results(l, f);
    compute_results(results, l, f);
    fprintf(file, "    ! Computes %s.\n    %s %s_%s(%s", f->what,
        state ? "integer(c_int) function" : "subroutine", name, f->name, state ? "state, " : "");
    write_names(file, "x", n, true);
    write_names(file, "y", n_results, false);
    fprintf(file, ") &\n        bind(C, name=\"%s_%s\")\n      import\n%s", name, f->name,
        state ? "      integer(c_int64_t), intent(inout) :: state(*)\n" : "");
    for (size_t i = 0; i < n; ++i) {
        write_argument(file, "x", i, n, "in", inputs[i]);
    }
    for (size_t i = 0; i < n_results; ++i) {
        write_argument(file, "y", i, n_results, "out", results[i]);
    }
    fprintf(file, "    end %s\n", state ? "function" : "subroutine");
    adz_scope_close(scope);
}

void write_fortran(
    const char *path, const char *name, law *l, const law_function *functions, bool state)
{
    FILE *file = create_file(path);
    fprintf(file,
        "! %s.c for Fortran. Arrays are those of %s.h with their dimensions in reverse order, because "
        "Fortran's\n! first index is the one that runs fastest.\n"
        "module %s\n  use, intrinsic :: iso_c_binding\n  implicit none\n\n  interface\n",
        name, name, name);
    if (state) {
        fprintf(file,
            "    ! A state is memory of %s_state_bytes(), in a multiple of 16 bytes. %s_init makes it "
            "ready.\n"
            "    integer(c_size_t) function %s_state_bytes() bind(C, name=\"%s_state_bytes\")\n"
            "      import\n    end function\n"
            "    integer(c_int) function %s_init(state, bytes) bind(C, name=\"%s_init\")\n      import\n"
            "      integer(c_int64_t), intent(inout) :: state(*)\n"
            "      integer(c_size_t), value :: bytes\n    end function\n",
            name, name, name, name, name, name);
    }
    for (const law_function *f = functions; f < functions + LAW_FUNCTIONS; ++f) {
        if (f->wanted) {
            write_function(file, name, l, f, state);
        }
    }
    fprintf(file, "  end interface\nend module\n");
    finish_file(path, file);
}
