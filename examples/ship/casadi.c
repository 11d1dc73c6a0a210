/* Writes the functions that casadi.external looks for.
 *
 * CasADi calls NAME(arg, res, iw, w, mem) with an array for each input and result, in columns, and
 * a NULL for an input of zeros and for a result that nobody wants. NAME_work says how long w has to
 * be. It holds the state of the file in C, so the functions can be called from several threads.
 * Derivatives are functions of their own. Their inputs are those of NAME, then its results, which
 * have no elements because nothing reads them, then vectors. jac_adj1_NAME has the Jacobian of
 * adj1_NAME by x, by the result and by the weights. */
#include "casadi.h"

#include <stdio.h>

#include "../shared/files.h"

enum { ARRAYS = 4 };

/* What an array is in CasADi: a name, and the pattern of its elements. */
typedef struct array {
    const char *name, *pattern;
} array;

typedef struct casadi_function {
    const char *prefix;            /* before the name of the network */
    int computed_by;               /* LAW_RUN to LAW_HESSIAN */
    array in[ARRAYS], out[ARRAYS]; /* a NULL name ends them */
    const char *body;              /* computes, and reads x, u, v, y, d and h */
} casadi_function;

static const casadi_function all[] = {
    { "", LAW_RUN, { { "x", "x" } }, { { "y", "y" } }, "run(state, x, out(res, 0, y))" },
    { "jac_", LAW_JACOBIAN, { { "x", "x" }, { "out_y", "no_y" } }, { { "jac_y_x", "jac" } },
        "jacobian(state, x, y, d)" },
    { "fwd1_", LAW_JVP, { { "x", "x" }, { "out_y", "no_y" }, { "fwd_x", "x" } },
        { { "fwd_y", "y" } }, "jvp(state, x, in(arg, 2, z, N_IN), y, out(res, 0, d))" },
    { "adj1_", LAW_VJP, { { "x", "x" }, { "out_y", "no_y" }, { "adj_y", "y" } },
        { { "adj_x", "x" } }, "vjp(state, x, in(arg, 2, z, N_OUT), y, out(res, 0, d))" },
    { "jac_adj1_", LAW_HESSIAN,
        { { "x", "x" }, { "out_y", "no_y" }, { "adj_y", "y" }, { "out_adj_x", "no_x" } },
        { { "jac_adj_x_x", "hessian" }, { "jac_adj_x_out_y", "no_jac" },
            { "jac_adj_x_adj_y", "gradient" } },
        "hessian(state, x, in(arg, 2, z, N_OUT), y, out(res, 2, d), out(res, 0, h))" },
};

static void write_patterns(FILE *file, long long n_in, long long n_out)
{
    fprintf(file,
        "\nenum { N_IN = %lld, N_OUT = %lld };\n"
        "static const casadi_int pattern_x[] = { N_IN, 1, 1 };\n"
        "static const casadi_int pattern_y[] = { N_OUT, 1, 1 };\n"
        "static const casadi_int pattern_no_x[] = { N_IN, 1, 0, 0 };\n"
        "static const casadi_int pattern_no_y[] = { N_OUT, 1, 0, 0 };\n"
        "static const casadi_int pattern_jac[] = { N_OUT, N_IN, 1 };\n"
        "static const casadi_int pattern_hessian[] = { N_IN, N_IN, 1 };\n"
        "static const casadi_int pattern_gradient[] = { N_IN, N_OUT, 1 };\n"
        "static const casadi_int pattern_no_jac[N_OUT + 3] = { N_IN, N_OUT };\n",
        n_in, n_out);
}

/* w has the state, then x, a vector, y, and the derivatives. */
static void write_helpers(FILE *file, const char *name)
{
    fprintf(file,
        "enum { STATE = (sizeof(%s_state) + sizeof(double) - 1) / sizeof(double),\n"
        "    LONGER = N_IN > N_OUT ? N_IN : N_OUT,\n"
        "    WORK = STATE + N_IN + LONGER + N_OUT + LONGER * N_IN + N_IN * N_IN };\n"
        "\n"
        "/* An input. NULL stands for zeros. */\n"
        "static const casadi_real *in(const casadi_real **arg, int i, casadi_real *zeros, int n)\n"
        "{\n"
        "    int k;\n"
        "    if (arg[i] != 0) {\n"
        "        return arg[i];\n"
        "    }\n"
        "    for (k = 0; k < n; ++k) {\n"
        "        zeros[k] = 0;\n"
        "    }\n"
        "    return zeros;\n"
        "}\n"
        "\n"
        "/* Where a result goes. NULL stands for a result that is not wanted. */\n"
        "static casadi_real *out(casadi_real **res, int i, casadi_real *unwanted)\n"
        "{\n"
        "    return res[i] != 0 ? res[i] : unwanted;\n"
        "}\n",
        name);
}

static void write_list(FILE *file, const char *symbol, const char *side, const array *arrays)
{
    int n = 0;
    while (n < ARRAYS && arrays[n].name != NULL) {
        ++n;
    }
    fprintf(file, "SYMBOL casadi_int %s_n_%s(void) { return %d; }\n", symbol, side, n);
    fprintf(
        file, "SYMBOL const char *%s_name_%s(casadi_int i)\n{\n    switch (i) {\n", symbol, side);
    for (int i = 0; i < n; ++i) {
        fprintf(file, "    case %d: return \"%s\";\n", i, arrays[i].name);
    }
    fprintf(file, "    default: return 0;\n    }\n}\n");
    fprintf(file, "SYMBOL const casadi_int *%s_sparsity_%s(casadi_int i)\n{\n    switch (i) {\n",
        symbol, side);
    for (int i = 0; i < n; ++i) {
        fprintf(file, "    case %d: return pattern_%s;\n", i, arrays[i].pattern);
    }
    fprintf(file, "    default: return 0;\n    }\n}\n");
}

static void write_function(FILE *file, const casadi_function *f, const char *name)
{
    char symbol[300];
    snprintf(symbol, sizeof symbol, "%s%s", f->prefix, name);
    fprintf(file,
        "\n/* %s */\n"
        "SYMBOL int %s(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, "
        "int mem)\n{\n"
        "    %s_state *state = (%s_state *)(void *)w;\n"
        "    casadi_real *x0 = w + STATE, *z = x0 + N_IN, *y = z + LONGER, *d = y + N_OUT;\n"
        "    casadi_real *h = d + LONGER * N_IN;\n"
        "    const casadi_real *x = in(arg, 0, x0, N_IN);\n"
        "    int failed = %s_init(state, sizeof *state);\n"
        "    (void)iw; (void)mem; (void)z; (void)y; (void)d; (void)h; (void)res;\n"
        "    if (failed == 0) {\n"
        "        failed = %s_%s;\n"
        "    }\n",
        symbol, symbol, name, name, name, name, f->body);
    if (f->computed_by == LAW_JACOBIAN) {
        fprintf(file, "    if (failed == 0 && res[0] != 0) {\n"
                      "        int i, j;\n"
                      "        for (j = 0; j < N_IN; ++j) {\n"
                      "            for (i = 0; i < N_OUT; ++i) {\n"
                      "                res[0][j * N_OUT + i] = d[i * N_IN + j];\n"
                      "            }\n        }\n    }\n");
    }
    fprintf(file, "    return failed != 0;\n}\n\n");
    write_list(file, symbol, "in", f->in);
    write_list(file, symbol, "out", f->out);
    fprintf(file,
        "SYMBOL int %s_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int "
        "*sz_w)\n{\n    *sz_arg = %d;\n    *sz_res = %d;\n    *sz_iw = 0;\n    *sz_w = WORK;\n"
        "    return 0;\n}\n"
        "SYMBOL int %s_alloc_mem(void) { return 0; }\n"
        "SYMBOL int %s_init_mem(int mem) { return mem != 0; }\n"
        "SYMBOL void %s_free_mem(int mem) { (void)mem; }\n"
        "SYMBOL int %s_checkout(void) { return 0; }\n"
        "SYMBOL void %s_release(int mem) { (void)mem; }\n"
        "SYMBOL void %s_incref(void) {}\nSYMBOL void %s_decref(void) {}\n",
        symbol, ARRAYS, ARRAYS, symbol, symbol, symbol, symbol, symbol, symbol, symbol);
}

void write_casadi(const char *path, const char *c_name, const char *name, const law *l,
    const law_function *functions)
{
    FILE *file = create_file(path);
    fprintf(file,
        "/* %s for casadi.external:\n"
        " *     cc -O3 -march=native -shared -fPIC %s -o %s.so\n"
        " *     f = casadi.external('%s', './%s.so')\n"
        " */\n"
        "#include \"%s\"\n\n"
        "#ifndef casadi_real\n#define casadi_real double\n#endif\n"
        "#ifndef casadi_int\n#define casadi_int long long int\n#endif\n"
        "#ifdef _WIN32\n#define SYMBOL __declspec(dllexport)\n#else\n#define SYMBOL\n#endif\n",
        name, path, name, name, name, c_name);
    write_patterns(file, (long long)l->n_in, (long long)l->n_out);
    write_helpers(file, name);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (functions[all[i].computed_by].wanted) {
            write_function(file, &all[i], name);
        }
    }
    finish_file(path, file);
}
