/* Writes a network of an ONNX file, or one that ffn-regression or digits has saved, as C with its
 * derivatives. ship --help lists the options. */
#include <libgen.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/arguments.h"
#include "../../examples/shared/files.h"
#include "../../examples/shared/program.h"
#include "casadi.h"
#include "check.h"
#include "fortran.h"
#include "law.h"
#include "layers.h"
#include "train.h"

const char program_name[] = "ship";

static const char help[] =
    "Writes a network as C99 that needs no library, with its derivatives, and as\n"
    "functions that CasADi calls.\n"
    "\n"
    "usage: ship MODEL --c FILE.c [options]\n"
    "\n"
    "  MODEL           NET.onnx, an ONNX file of any program; or a file that the\n"
    "                  example ffn-regression or digits has saved\n"
    "  --c FILE.c      where the functions go; a header comes next to it, which lists\n"
    "                  the arrays of each function. NAME is the file's name without\n"
    "                  .c. NAME_run computes the network\n"
    "  --inputs NAME=SHAPE  the sizes of an input that an ONNX file leaves free, as\n"
    "                  x=1,3,32,32; once for each such input. A free number of rows,\n"
    "                  which is the first size, is 1 without it\n"
    "\n"
    "Derivatives. N counts the elements of all inputs, one after another, and M those\n"
    "of all results. Inputs come first in a function, then v or u, then the results,\n"
    "then the derivatives. All arrays are in row-major order.\n"
    "  --jacobian      NAME_jacobian: element [i, k] of [M, N] is the derivative of\n"
    "                  result i by input k\n"
    "  --jvp           NAME_jvp: the Jacobian times a vector v of N numbers\n"
    "  --vjp           NAME_vjp: the gradient [N] of the sum of u y, where u has M\n"
    "                  numbers and y is all results\n"
    "  --hessian       NAME_hessian: the Jacobian, and the Hessian [N, N] of the sum\n"
    "                  of u y\n"
    "\n"
    "Training\n"
    "  --train LOSS,OPTIMIZER  NAME_step: a step on the inputs and a target, which\n"
    "                  follows the inputs. It gives the loss before the step. LOSS is\n"
    "                  mse, cross_entropy (of scores and classes), huber or bce (of\n"
    "                  probabilities), each a mean; OPTIMIZER is sgd, adam or adamw.\n"
    "                  Dropout does nothing in it, and batch normalisation keeps its\n"
    "                  statistics\n"
    "  --rate R        of the optimizer (0.01 for sgd, else 0.001). A program may\n"
    "                  change NAME_learning_rate between steps\n"
    "\n"
    "The file\n"
    "  --f64           compute with double; else with float\n"
    "  --state KIND    who holds what functions write to: file or caller (file). With\n"
    "                  caller, each function gets a NAME_state first, and a program\n"
    "                  has one for each thread\n"
    "  --casadi        also NAME_casadi.c, which casadi.external loads after\n"
    "                      cc -O3 -shared -fPIC NAME_casadi.c -o NAME.so\n"
    "                  It has the value, the Jacobian and products with it, and with\n"
    "                  --hessian the exact Hessian. Implies --f64 --state caller\n"
    "                  --jacobian --jvp --vjp. An input or result is a column there\n"
    "  --fortran       also NAME.f90, a module with interfaces of the functions\n"
    "\n"
    "Checking\n"
    "  --check         compile the files and compare them with the library\n"
    "  --compiler CC   the command that compiles C for --check (cc)\n"
    "\n"
    "Example: a law for CasADi, with its exact Hessian\n"
    "  ship law.onnx --c law.c --casadi --hessian --check\n";

typedef struct ship_options {
    const char *model, *c, *compiler, *train;
    double rate;
    bool f64, casadi, check, fortran;
    int state;
    const char *shapes[PORTS];
    size_t n_shapes;
    law_function functions[LAW_FUNCTIONS];
} ship_options;

static void add_shape(void *to, char *value)
{
    ship_options *o = to;
    if (o->n_shapes == PORTS) {
        usage_error("--inputs is given more than %d times", PORTS);
    }
    o->shapes[o->n_shapes++] = value;
}

static void read_ship_options(ship_options *o, int argc, char **argv)
{
    static const char *const states[] = { "file", "caller", NULL };
    argument table[] = { OPTION_TEXT("c", &o->c), OPTION_READ("inputs", o, add_shape),
        OPTION_FLAG("f64", &o->f64), OPTION_FLAG("jacobian", &o->functions[LAW_JACOBIAN].wanted),
        OPTION_FLAG("jvp", &o->functions[LAW_JVP].wanted),
        OPTION_FLAG("vjp", &o->functions[LAW_VJP].wanted),
        OPTION_FLAG("hessian", &o->functions[LAW_HESSIAN].wanted), OPTION_TEXT("train", &o->train),
        OPTION_NUMBER("rate", &o->rate, 1e-30, 1e30), OPTION_FLAG("casadi", &o->casadi),
        OPTION_FLAG("fortran", &o->fortran), OPTION_FLAG("check", &o->check),
        OPTION_CHOICE("state", &o->state, states), OPTION_TEXT("compiler", &o->compiler) };
    const int first = read_arguments(argc, argv, table, sizeof table / sizeof *table, help);
    if (argc - first != 1) {
        usage_error("give one model");
    }
    o->model = argv[first];
    if (o->c == NULL) {
        usage_error("--c is missing, which names the file that is written");
    }
    const size_t length = strlen(o->c);
    if (length < 3 || strcmp(o->c + length - 2, ".c") != 0) {
        usage_error("--c %s: the name of a C file ends with .c", o->c);
    }
    if (o->rate > 0 && o->train == NULL) {
        usage_error("--rate is for --train, which is missing");
    }
    if (o->casadi) {
        o->f64 = true;
        o->state = ADZ_C_STATE_CALLER;
        o->functions[LAW_JACOBIAN].wanted = o->functions[LAW_JVP].wanted = true;
        o->functions[LAW_VJP].wanted = true;
    }
}

/* ---- what the network is --------------------------------------------------------------------- */

static void list_ports(char *text, size_t size, const port *ports, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used < size; ++i) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s[", i > 0 ? ", " : "", ports[i].name);
        for (int d = 0; d < ports[i].shape.rank && used < size; ++d) {
            used += (size_t)snprintf(text + used, size - used, "%s%lld", d > 0 ? ", " : "",
                (long long)ports[i].shape.sizes[d]);
        }
        if (used < size) {
            used += (size_t)snprintf(
                text + used, size - used, "]%s", is_float(&ports[i]) ? "" : " of whole numbers");
        }
    }
}

/* A network may hold infinite or NaN constants on purpose, such as a mask's, so they are written. A
 * weight of a training that went wrong looks the same, so a note names each such tensor. */
static void note_nonfinite(adz_named_list tensors)
{
    for (size_t i = 0; i < tensors.count; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *finite =
            adz_all(adz_isfinite(tensors.items[i].tensor), ADZ_ALL_DIMS, ADZ_DROPDIM);
        if (finite != NULL && adz_item(finite) == 0) {
            print_text("note: %s has elements that are NaN or infinite", tensors.items[i].name);
        }
        adz_scope_close(scope);
    }
    report_errors();
}

static void describe(const law *l)
{
    char inputs[1000], outputs[1000];
    print_network(l->n.root);
    list_ports(inputs, sizeof inputs, l->n.inputs, l->n.n_inputs);
    list_ports(outputs, sizeof outputs, l->n.outputs, l->n.n_outputs);
    print_text("%s: %s to %s", l->n.path, inputs, outputs);
    note_nonfinite(adz_module_named_parameters(l->n.root));
    note_nonfinite(adz_module_named_buffers(l->n.root));
}

static void tell_what_was_written(const ship_options *o, const law *l, const char *name)
{
    for (int i = LAW_RUN; i < LAW_FUNCTIONS; ++i) {
        if (o->functions[i].wanted) {
            print_text(
                "%s: %s_%s computes %s", o->c, name, o->functions[i].name, o->functions[i].what);
        }
    }
    if (l->constant_jacobian || l->constant_hessian) {
        print_text("the %s is the same for every input: the file has it as %s",
            l->constant_jacobian ? "Jacobian" : "Hessian",
            l->constant_jacobian ? "a constant" : "zeros or constants");
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The paths of what is written, from that of the C file. */
typedef struct paths {
    char *folder, *base, *name, *casadi, *fortran;
    char *texts[2]; /* in which folder and base are */
} paths;

static paths paths_of(const ship_options *o)
{
    paths p = { .texts = { copy_text(o->c), copy_text(o->c) } };
    p.folder = dirname(p.texts[0]);
    p.base = basename(p.texts[1]);
    p.name = copy_text(p.base);
    p.name[strlen(p.name) - 2] = '\0';
    p.casadi = allocate(strlen(o->c) + 20);
    sprintf(p.casadi, "%s/%s_casadi.c", p.folder, p.name);
    p.fortran = allocate(strlen(o->c) + 20);
    sprintf(p.fortran, "%s/%s.f90", p.folder, p.name);
    const file_use files[] = { { "model", o->model, false }, { "c", o->c, true },
        { "casadi", o->casadi ? p.casadi : NULL, true },
        { "fortran", o->fortran ? p.fortran : NULL, true } };
    check_files(files, sizeof files / sizeof *files);
    return p;
}

static void free_paths(paths *p)
{
    free(p->casadi);
    free(p->fortran);
    free(p->name);
    free(p->texts[0]);
    free(p->texts[1]);
}

static void write_files(const ship_options *o, law *l, const paths *p)
{
    adz_c_options c = ADZ_C_OPTIONS;
    c.name = p->name;
    c.allow_nonfinite = true;
    c.precision = o->f64 ? ADZ_F64 : ADZ_F32;
    c.state = (adz_c_state)o->state;
    write_law(l, o->functions, o->c, &c);
    if (c.libm) {
        print_text("%s: calls the mathematical library: link it with -lm", o->c);
    }
    print_layers(o->c, p->name);
    tell_what_was_written(o, l, p->name);
    if (o->casadi) {
        write_casadi(p->casadi, p->base, p->name, l, o->functions);
        print_text("%s: for casadi.external", p->casadi);
    }
    if (o->fortran) {
        write_fortran(p->fortran, p->name, l, o->functions, o->state == ADZ_C_STATE_CALLER);
        print_text("%s: a module for Fortran", p->fortran);
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    ship_options o = { .compiler = "cc" };
    list_functions(o.functions);
    read_ship_options(&o, argc, argv);
    report_errors();
    adz_manual_seed(1);
    paths p = paths_of(&o);
    const reading_options n = { o.f64 ? ADZ_F64 : ADZ_F32, o.shapes, o.n_shapes };
    law l = load_law(o.model, &n, o.functions);
    if (o.casadi) {
        check_for_casadi(&l);
    }
    if (o.train != NULL) {
        prepare_training(&l, o.train, o.rate);
        o.functions[LAW_STEP].wanted = true;
    }
    describe(&l);
    write_files(&o, &l, &p);
    if (o.check) {
        const char *checked = o.casadi ? strrchr(p.casadi, '/') + 1 : p.base;
        const check c = { p.folder, checked, p.name, o.compiler, o.state == ADZ_C_STATE_CALLER,
            o.casadi };
        compare_with_library(&c, &l, o.functions);
    }
    free_law(&l);
    free_paths(&p);
    return finish_output();
}
