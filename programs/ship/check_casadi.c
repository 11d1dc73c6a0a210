/* Calls the functions of CasADi as CasADi does, and compares them with the library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../examples/shared/command_line.h"
#include "check.h"

enum { WORK_SIZES = 4, ARRAYS = 3 * PORTS * PORTS };

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
    *(void **)(void *)&call = function_of(library, "%s", full);
    *(void **)(void *)&sizes = function_of(library, "%s_work", full);
    if (sizes(&n[0], &n[1], &n[2], &n[3]) != 0) {
        fail("--check: %s_work has failed", full);
    }
    double *w = allocate((size_t)n[3] * sizeof *w);
    if (call(arg, res, NULL, w, 0) != 0) {
        fail("--check: %s has failed", full);
    }
    free(w);
}

/* Results of a function of CasADi by their index. One that nobody compares has no memory. */
typedef struct blocks {
    adz_tensor *wanted[ARRAYS], *ours[ARRAYS];
    double *res[ARRAYS];
} blocks;

/* The ports of a side of a matrix, one after another. */
typedef struct side {
    const port *ports;
    size_t n;
} side;

/* The blocks of a matrix that belong to one port down, from index `at` on. CasADi has them in
 * columns. Returns the rows that the port takes. */
static int64_t add_row(
    blocks *b, size_t at, adz_tensor *matrix, int64_t row, const port *down, side across)
{
    const int64_t rows = count_floats(down, 1);
    int64_t column = 0;
    for (size_t k = 0; k < across.n; ++k, ++at) {
        const int64_t columns = count_floats(&across.ports[k], 1);
        adz_tensor *part = adz_narrow(adz_narrow(matrix, 0, row, rows), 1, column, columns);
        b->wanted[at] = adz_contiguous(adz_transpose(part, 0, 1));
        b->ours[at] = adz_full_like(b->wanted[at], NAN);
        b->res[at] = adz_tensor_data_f64(b->ours[at]);
        column += columns;
    }
    return rows;
}

/* A result of the law as a matrix. A row of outer ports has `stride` results of CasADi. */
static void add_matrix(blocks *b, size_t at, size_t stride, adz_tensor *result, int64_t columns,
    side down, side across)
{
    const int64_t rows = adz_tensor_numel(result) / columns;
    adz_tensor *matrix = adz_reshape(result, ADZ_SHAPE(rows, columns));
    int64_t row = 0;
    for (size_t i = 0; i < down.n; ++i) {
        row += add_row(b, at + i * stride, matrix, row, &down.ports[i], across);
    }
}

/* What CasADi has to give for function i, of which the library gives `results`. */
static void add_results(blocks *b, const law *l, int i, adz_tensor *const *results)
{
    static const port one = { "", { 1, { 1 } }, ADZ_F64 };
    const side in = { l->n.inputs, l->n.n_inputs }, out = { l->n.outputs, l->n.n_outputs };
    const side single = { &one, 1 };
    adz_tensor *const *d = results + out.n;
    switch (i) {
    case LAW_RUN:
        for (size_t k = 0; k < out.n; ++k) {
            const side result = { &out.ports[k], 1 };
            add_matrix(b, k, 1, results[k], 1, result, single);
        }
        break;
    case LAW_JACOBIAN:
        add_matrix(b, 0, in.n, d[0], l->n_in, out, in);
        break;
    case LAW_JVP:
        add_matrix(b, 0, 1, d[0], 1, out, single);
        break;
    case LAW_VJP:
        add_matrix(b, 0, 1, d[0], 1, in, single);
        break;
    default: {
        adz_tensor *jacobian = adz_reshape(d[0], ADZ_SHAPE(l->n_out, l->n_in));
        const size_t stride = in.n + 2 * out.n;
        add_matrix(b, 0, stride, d[1], l->n_in, in, in);
        add_matrix(b, in.n + out.n, stride, adz_contiguous(adz_transpose(jacobian, 0, 1)), l->n_out,
            in, out);
    }
    }
}

/* A vector of all ports in parts. */
static void add_arguments(const double **arg, size_t at, const double *vector, side s)
{
    for (size_t i = 0; i < s.n; ++i) {
        arg[at + i] = vector;
        vector += count_floats(&s.ports[i], 1);
    }
}

double compare_casadi(void *library, const char *name, law *l, int i, adz_tensor *const *wanted)
{
    static const char *const prefixes[] = { "", "jac_", "fwd1_", "adj1_", "jac_adj1_" };
    const size_t n_in = l->n.n_inputs, n_out = l->n.n_outputs;
    const double *arg[2 * (PORTS + PORTS)] = { NULL };
    blocks *b = allocate(sizeof *b);
    double worst = 0;
    for (size_t k = 0; k < n_in; ++k) {
        arg[k] = adz_tensor_data_f64(l->inputs[k]);
    }
    if (i == LAW_JVP) {
        add_arguments(arg, n_in + n_out, adz_tensor_data_f64(l->v), (side){ l->n.inputs, n_in });
    } else if (i == LAW_VJP || i == LAW_HESSIAN) {
        add_arguments(arg, n_in + n_out, adz_tensor_data_f64(l->u), (side){ l->n.outputs, n_out });
    }
    add_results(b, l, i, wanted);
    call_casadi(library, prefixes[i], name, arg, b->res);
    for (size_t k = 0; k < ARRAYS; ++k) {
        if (b->ours[k] != NULL) {
            worst = fmax(worst, difference(b->wanted[k], b->res[k]));
        }
    }
    free(b);
    return worst;
}
