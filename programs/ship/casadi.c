/* Writes the functions that casadi.external looks for.
 *
 * CasADi calls NAME(arg, res, iw, w, mem) with an array for each input and result, in columns, and
 * a NULL for an input of zeros and for a result that nobody wants. NAME_work says how long w has to
 * be. It holds the state of the file in C, so the functions can be called from several threads.
 * Derivatives are functions of their own. Their inputs are those of NAME, then its results, which
 * have no elements because nothing reads them, then vectors. jac_adj1_NAME has the Jacobian of
 * adj1_NAME by the inputs, by the results and by the weights. */
#include "casadi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/shared/files.h"

/* What inputs and results are called and how many elements they have. */
typedef struct columns {
    char names[PORTS][PORT_NAME];
    long long sizes[PORTS];
    size_t n;
} columns;

typedef struct writer {
    FILE *file;
    const char *name;
    columns in, out;
    long long n_in, n_out;
} writer;

/* An input or a result of a function of CasADi. One that is empty has no elements. */
typedef struct entry {
    char name[3 * PORT_NAME];
    long long rows, columns;
    bool empty;
} entry;

enum { ENTRIES = 3 * PORTS * PORTS };

typedef struct entries {
    entry all[ENTRIES];
    size_t n;
} entries;

typedef struct casadi_function {
    const char *prefix; /* before the name of the network */
    int computed_by;    /* LAW_RUN to LAW_HESSIAN */
    law_vector vector;
    const char *room; /* the elements of w for derivatives */
} casadi_function;

static const casadi_function all[] = { { "", LAW_RUN, NO_VECTOR, "0" },
    { "jac_", LAW_JACOBIAN, NO_VECTOR, "JACOBIAN" }, { "fwd1_", LAW_JVP, OF_INPUTS, "LONGER" },
    { "adj1_", LAW_VJP, OF_RESULTS, "LONGER" },
    { "jac_adj1_", LAW_HESSIAN, OF_RESULTS, "JACOBIAN + HESSIAN" } };

void check_for_casadi(const law *l)
{
    for (size_t i = 0; i < l->n.n_inputs + l->n.n_outputs; ++i) {
        const bool input = i < l->n.n_inputs;
        const port *p = input ? &l->n.inputs[i] : &l->n.outputs[i - l->n.n_inputs];
        if (!is_float(p)) {
            fail("--casadi: the %s '%s' has whole numbers, and CasADi knows real numbers alone",
                input ? "input" : "result", p->name);
        }
    }
}

/* CasADi's names have letters, digits and single underscores, and begin with a letter. A name that
 * does not do is replaced by a letter and a number, and so are all if two become the same. */
static columns columns_of(const port *ports, size_t n, const char *letter)
{
    columns c = { .n = n };
    bool good = true;
    for (size_t i = 0; i < n; ++i) {
        size_t length = 0;
        for (const char *from = ports[i].name; *from != '\0'; ++from) {
            const bool allowed = isalnum((unsigned char)*from) && (unsigned char)*from < 128;
            if (allowed || (length > 0 && c.names[i][length - 1] != '_')) {
                c.names[i][length++] = allowed ? *from : '_';
            }
        }
        c.sizes[i] = (long long)count_floats(&ports[i], 1);
        good = good && isalpha((unsigned char)c.names[i][0]);
        for (size_t k = 0; k < i; ++k) {
            good = good && strcmp(c.names[k], c.names[i]) != 0;
        }
    }
    for (size_t i = 0; i < n && !good; ++i) {
        snprintf(c.names[i], PORT_NAME, n == 1 ? "%s" : "%s%zu", letter, i);
    }
    return c;
}

/* ---- the parts that all functions use -------------------------------------------------------- */

static void write_helpers(const writer *w, bool transposed)
{
    fprintf(w->file,
        "\nenum { N_IN = %lld, N_OUT = %lld, LONGER = N_IN > N_OUT ? N_IN : N_OUT,\n"
        "    STATE = (sizeof(%s_state) + sizeof(double) - 1) / sizeof(double),\n"
        "    WORK = STATE + N_IN + LONGER + N_OUT };\n"
        "#define JACOBIAN ((casadi_int)N_OUT * N_IN)\n"
        "#define HESSIAN  ((casadi_int)N_IN * N_IN)\n",
        w->n_in, w->n_out, w->name);
    fputs(
        "\n/* An input. NULL stands for zeros. */\n"
        "static const casadi_real *input(const casadi_real *given, casadi_real *zeros, int n)\n"
        "{\n    int k;\n    if (given != 0) {\n        return given;\n    }\n"
        "    for (k = 0; k < n; ++k) {\n        zeros[k] = 0;\n    }\n    return zeros;\n}\n"
        "\n/* A part of a vector. */\n"
        "static void gather(casadi_real *to, const casadi_real *given, int n)\n"
        "{\n    int k;\n    for (k = 0; k < n; ++k) {\n"
        "        to[k] = given != 0 ? given[k] : 0;\n    }\n}\n"
        "\n/* A block of a matrix with `stride` columns, whose rows lie one after another. CasADi "
        "has columns\n * one after another. NULL stands for a result that is not wanted. */\n"
        "static void scatter(casadi_real *to, const casadi_real *from, casadi_int stride, casadi_int "
        "rows,\n    casadi_int columns)\n"
        "{\n    casadi_int i, j;\n    if (to == 0) {\n        return;\n    }\n"
        "    for (j = 0; j < columns; ++j) {\n        for (i = 0; i < rows; ++i) {\n"
        "            to[j * rows + i] = from[i * stride + j];\n        }\n    }\n}\n",
        w->file);
    if (transposed) {
        fputs(
            "\n/* The transpose of such a block. NULL stands for a result that is not wanted. */\n"
            "static void scatter_transposed(casadi_real *to, const casadi_real *from, casadi_int "
            "stride,\n    casadi_int rows, casadi_int columns)\n"
            "{\n    casadi_int i, j;\n    if (to == 0) {\n        return;\n    }\n"
            "    for (i = 0; i < rows; ++i) {\n        for (j = 0; j < columns; ++j) {\n"
            "            to[i * columns + j] = from[i * stride + j];\n        }\n    }\n}\n",
            w->file);
    }
}

/* ---- names and patterns ---------------------------------------------------------------------- */

/* Names such as jac_y_x: a word and the names of one or two ports. */
static void add_entry(entries *e, const char *word, const char *a, const char *b, bool empty,
    long long rows, long long n)
{
    entry *added = &e->all[e->n++];
    snprintf(added->name, sizeof added->name, "%s%s%s%s", word, a, b[0] != '\0' ? "_" : "", b);
    added->rows = rows;
    added->columns = n;
    added->empty = empty;
}

static void add_columns(entries *e, const char *word, const columns *c, bool empty)
{
    for (size_t i = 0; i < c->n; ++i) {
        add_entry(e, word, c->names[i], "", empty, c->sizes[i], 1);
    }
}

/* The Jacobian of one port by others. */
static void add_blocks(entries *e, const char *word, const columns *of, size_t i, const char *what,
    const columns *by, bool empty)
{
    char full[2 * PORT_NAME];
    for (size_t k = 0; k < by->n; ++k) {
        snprintf(full, sizeof full, "%s%s", what, by->names[k]);
        add_entry(e, word, of->names[i], full, empty, of->sizes[i], by->sizes[k]);
    }
}

static void list_inputs(entries *e, const writer *w, const casadi_function *f)
{
    e->n = 0;
    add_columns(e, "", &w->in, false);
    if (f->computed_by != LAW_RUN) {
        add_columns(e, "out_", &w->out, true);
    }
    if (f->vector == OF_INPUTS) {
        add_columns(e, "fwd_", &w->in, false);
    } else if (f->vector == OF_RESULTS) {
        add_columns(e, "adj_", &w->out, false);
    }
    if (f->computed_by == LAW_HESSIAN) {
        add_columns(e, "out_adj_", &w->in, true);
    }
}

static void list_results(entries *e, const writer *w, const casadi_function *f)
{
    e->n = 0;
    switch (f->computed_by) {
    case LAW_RUN:
        add_columns(e, "", &w->out, false);
        break;
    case LAW_JACOBIAN:
        for (size_t k = 0; k < w->out.n; ++k) {
            add_blocks(e, "jac_", &w->out, k, "", &w->in, false);
        }
        break;
    case LAW_JVP:
        add_columns(e, "fwd_", &w->out, false);
        break;
    case LAW_VJP:
        add_columns(e, "adj_", &w->in, false);
        break;
    default:
        for (size_t i = 0; i < w->in.n; ++i) {
            add_blocks(e, "jac_adj_", &w->in, i, "", &w->in, false);
            add_blocks(e, "jac_adj_", &w->in, i, "out_", &w->out, true);
            add_blocks(e, "jac_adj_", &w->in, i, "adj_", &w->out, false);
        }
    }
}

static void write_entries(const writer *w, const char *symbol, const char *side, const entries *e)
{
    FILE *file = w->file;
    fprintf(file, "SYMBOL casadi_int %s_n_%s(void) { return %zu; }\n", symbol, side, e->n);
    fprintf(
        file, "SYMBOL const char *%s_name_%s(casadi_int i)\n{\n    switch (i) {\n", symbol, side);
    for (size_t i = 0; i < e->n; ++i) {
        fprintf(file, "    case %zu: return \"%s\";\n", i, e->all[i].name);
    }
    fprintf(file, "    default: return 0;\n    }\n}\n");
    fprintf(file, "SYMBOL const casadi_int *%s_sparsity_%s(casadi_int i)\n{\n    switch (i) {\n",
        symbol, side);
    for (size_t i = 0; i < e->n; ++i) {
        const entry *x = &e->all[i];
        fprintf(file, "    case %zu: {\n        static const casadi_int p[", i);
        if (x->empty) { /* where columns begin: all at element 0 */
            fprintf(file, "%lld] = { %lld, %lld };\n", x->columns + 3, x->rows, x->columns);
        } else {
            fprintf(file, "] = { %lld, %lld, 1 };\n", x->rows, x->columns);
        }
        fprintf(file, "        return p;\n    }\n");
    }
    fprintf(file, "    default: return 0;\n    }\n}\n");
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Copies derivatives out of d and h: blocks of `down` ports by `across`. */
static void write_matrix(const writer *w, const char *from, const columns *down,
    const columns *across, size_t first, size_t stride, bool transposed)
{
    long long row = 0, width = 0;
    for (size_t k = 0; across != NULL && k < across->n; ++k) {
        width += across->sizes[k];
    }
    for (size_t i = 0; i < down->n; row += down->sizes[i++]) {
        long long column = 0;
        for (size_t k = 0; k < (across != NULL ? across->n : 1); ++k) {
            const size_t at = first + (transposed ? k * stride + i : i * stride + k);
            const long long n = across != NULL ? across->sizes[k] : 1;
            fprintf(w->file, "    scatter%s(res[%zu], %s + %lld, %lld, %lld, %lld);\n",
                transposed ? "_transposed" : "", at, from, row * (width > 0 ? width : 1) + column,
                width > 0 ? width : 1, down->sizes[i], n);
            column += n;
        }
    }
}

static void write_results(const writer *w, const casadi_function *f)
{
    const size_t stride = w->in.n + 2 * w->out.n;
    switch (f->computed_by) {
    case LAW_RUN:
        write_matrix(w, "y", &w->out, NULL, 0, 1, false);
        break;
    case LAW_JACOBIAN:
        write_matrix(w, "d", &w->out, &w->in, 0, w->in.n, false);
        break;
    case LAW_JVP:
        write_matrix(w, "d", &w->out, NULL, 0, 1, false);
        break;
    case LAW_VJP:
        write_matrix(w, "d", &w->in, NULL, 0, 1, false);
        break;
    default:
        write_matrix(w, "h", &w->in, &w->in, 0, stride, false);
        write_matrix(w, "d", &w->out, &w->in, w->in.n + w->out.n, stride, true);
    }
}

/* The call of the function in C: inputs, a vector, results, derivatives. */
static void write_call(const writer *w, const casadi_function *f)
{
    static const char *const calls[] = { "run", "jacobian", "jvp", "vjp", "hessian" };
    long long at = 0;
    for (size_t i = 0; i < w->in.n; at += w->in.sizes[i++]) {
        fprintf(w->file, "    const casadi_real *x%zu = input(arg[%zu], x + %lld, %lld);\n", i, i,
            at, w->in.sizes[i]);
    }
    fprintf(w->file, "    int failed = %s_init(state, sizeof *state);\n", w->name);
    const columns *vector = f->vector == OF_INPUTS ? &w->in : &w->out;
    at = 0;
    for (size_t i = 0; f->vector != NO_VECTOR && i < vector->n; at += vector->sizes[i++]) {
        fprintf(w->file, "    gather(v + %lld, arg[%zu], %lld);\n", at, w->in.n + w->out.n + i,
            vector->sizes[i]);
    }
    fprintf(w->file,
        "    (void)iw; (void)mem; (void)v; (void)d;\n"
        "    if (failed == 0) {\n        failed = %s_%s(state",
        w->name, calls[f->computed_by]);
    for (size_t i = 0; i < w->in.n; ++i) {
        fprintf(w->file, ", x%zu", i);
    }
    fputs(f->vector != NO_VECTOR ? ", v" : "", w->file);
    at = 0;
    for (size_t k = 0; k < w->out.n; at += w->out.sizes[k++]) {
        fprintf(w->file, ", y + %lld", at);
    }
    fprintf(w->file, "%s%s);\n    }\n    if (failed != 0) {\n        return 1;\n    }\n",
        f->computed_by != LAW_RUN ? ", d" : "", f->computed_by == LAW_HESSIAN ? ", h" : "");
}

static void write_function(const writer *w, const casadi_function *f)
{
    char symbol[300];
    entries *in = allocate(sizeof *in), *out = allocate(sizeof *out);
    list_inputs(in, w, f);
    list_results(out, w, f);
    snprintf(symbol, sizeof symbol, "%s%s", f->prefix, w->name);
    fprintf(w->file,
        "\n/* %s */\n"
        "SYMBOL int %s(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, "
        "int mem)\n{\n"
        "    %s_state *state = (%s_state *)(void *)w;\n"
        "    casadi_real *x = w + STATE, *v = x + N_IN, *y = v + LONGER, *d = y + N_OUT%s;\n",
        symbol, symbol, w->name, w->name,
        f->computed_by == LAW_HESSIAN ? ", *h = d + JACOBIAN" : "");
    write_call(w, f);
    write_results(w, f);
    fprintf(w->file, "    return 0;\n}\n\n");
    write_entries(w, symbol, "in", in);
    write_entries(w, symbol, "out", out);
    fprintf(w->file,
        "SYMBOL int %s_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int "
        "*sz_w)\n{\n    *sz_arg = %zu;\n    *sz_res = %zu;\n    *sz_iw = 0;\n    *sz_w = WORK + %s;\n"
        "    return 0;\n}\n"
        "SYMBOL int %s_alloc_mem(void) { return 0; }\n"
        "SYMBOL int %s_init_mem(int mem) { return mem != 0; }\n"
        "SYMBOL void %s_free_mem(int mem) { (void)mem; }\n"
        "SYMBOL int %s_checkout(void) { return 0; }\n"
        "SYMBOL void %s_release(int mem) { (void)mem; }\n"
        "SYMBOL void %s_incref(void) {}\nSYMBOL void %s_decref(void) {}\n",
        symbol, in->n, out->n, f->room, symbol, symbol, symbol, symbol, symbol, symbol, symbol);
    free(in);
    free(out);
}

void write_casadi(const char *path, const char *c_name, const char *name, const law *l,
    const law_function *functions)
{
    const writer w = { create_file(path), name, columns_of(l->n.inputs, l->n.n_inputs, "x"),
        columns_of(l->n.outputs, l->n.n_outputs, "y"), (long long)l->n_in, (long long)l->n_out };
    fprintf(w.file,
        "/* %s for casadi.external:\n"
        " *     cc -O3 -march=native -shared -fPIC %s -o %s.so\n"
        " *     f = casadi.external('%s', './%s.so')\n"
        " */\n"
        "#include \"%s\"\n\n"
        "#ifndef casadi_real\n#define casadi_real double\n#endif\n"
        "#ifndef casadi_int\n#define casadi_int long long int\n#endif\n"
        "#ifdef _WIN32\n#define SYMBOL __declspec(dllexport)\n#else\n#define SYMBOL\n#endif\n",
        name, path, name, name, name, c_name);
    write_helpers(&w, functions[LAW_HESSIAN].wanted);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (functions[all[i].computed_by].wanted) {
            write_function(&w, &all[i]);
        }
    }
    finish_file(path, w.file);
}
