/* Writes a network that ffn-regression has saved as C, with its derivatives. ship --help lists the
 * options. */
#include <libgen.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/arguments.h"
#include "../shared/files.h"
#include "../shared/program.h"
#include "casadi.h"
#include "check.h"
#include "law.h"

const char program_name[] = "ship";

static const char help[] =
    "Writes a network as C99 that needs no library, with its derivatives.\n"
    "\n"
    "usage: ship MODEL --c FILE.c [options]\n"
    "\n"
    "  MODEL           a file that ffn-regression --save has written\n"
    "  --c FILE.c      where the functions go; a header comes next to it. NAME is the\n"
    "                  file's name without .c. NAME_run(x, y) computes the network\n"
    "  --jacobian      also NAME_jacobian(x, y, dydx): dydx[i * inputs + k] is the\n"
    "                  derivative of result i by input k\n"
    "  --jvp           also NAME_jvp(x, v, y, dy): the Jacobian times v\n"
    "  --vjp           also NAME_vjp(x, u, y, dx): the gradient of the sum of u y\n"
    "  --hessian       also NAME_hessian(x, u, y, dydx, h): h is the Hessian of the\n"
    "                  sum of u y\n"
    "  --f64           compute with double; else with float\n"
    "  --state KIND    who holds what functions write to: file or caller (file). With\n"
    "                  caller, each function gets a NAME_state first, and a program\n"
    "                  has one for each thread\n"
    "  --casadi        also NAME_casadi.c, which casadi.external loads after\n"
    "                      cc -O3 -shared -fPIC NAME_casadi.c -o NAME.so\n"
    "                  It has the value, the Jacobian and products with it, and with\n"
    "                  --hessian the exact Hessian. Implies --f64 --state caller\n"
    "                  --jacobian --jvp --vjp\n"
    "  --check         compile the files and compare them with the library\n"
    "  --compiler CC   the command that compiles C for --check (cc)\n";

typedef struct ship_options {
    const char *c, *compiler;
    bool f64, casadi, check;
    int state;
    law_function functions[LAW_FUNCTIONS];
} ship_options;

static const char *read_ship_options(ship_options *o, int argc, char **argv)
{
    static const char *const states[] = { "file", "caller", NULL };
    argument table[] = { OPTION_TEXT("c", &o->c), OPTION_FLAG("f64", &o->f64),
        OPTION_FLAG("jacobian", &o->functions[LAW_JACOBIAN].wanted),
        OPTION_FLAG("jvp", &o->functions[LAW_JVP].wanted),
        OPTION_FLAG("vjp", &o->functions[LAW_VJP].wanted),
        OPTION_FLAG("hessian", &o->functions[LAW_HESSIAN].wanted),
        OPTION_FLAG("casadi", &o->casadi), OPTION_FLAG("check", &o->check),
        OPTION_CHOICE("state", &o->state, states), OPTION_TEXT("compiler", &o->compiler) };
    const int first = read_arguments(argc, argv, table, sizeof table / sizeof *table, help);
    if (argc - first != 1) {
        usage_error("give one model");
    }
    if (o->c == NULL) {
        usage_error("--c is missing, which names the file that is written");
    }
    const size_t length = strlen(o->c);
    if (length < 3 || strcmp(o->c + length - 2, ".c") != 0) {
        usage_error("--c %s: the name of a C file ends with .c", o->c);
    }
    const size_t ending = strlen(argv[first]);
    if (ending > 5 && strcmp(argv[first] + ending - 5, ".onnx") == 0) {
        usage_error(
            "%s: ONNX files are not read; give a file of ffn-regression --save", argv[first]);
    }
    if (o->casadi) {
        o->f64 = true;
        o->state = ADZ_C_STATE_CALLER;
        o->functions[LAW_JACOBIAN].wanted = o->functions[LAW_JVP].wanted = true;
        o->functions[LAW_VJP].wanted = true;
    }
    return argv[first];
}

static void write_files(const ship_options *o, law *l, const char *name)
{
    adz_plan *plans[LAW_FUNCTIONS];
    const char *names[LAW_FUNCTIONS];
    adz_tensor *inputs[2];
    size_t n = 0;
    adz_c_options c = ADZ_C_OPTIONS;
    c.name = name;
    c.precision = o->f64 ? ADZ_F64 : ADZ_F32;
    c.state = (adz_c_state)o->state;
    for (const law_function *f = o->functions; f < o->functions + LAW_FUNCTIONS; ++f) {
        if (f->wanted) {
            adz_plan_options p = ADZ_PLAN_OPTIONS;
            p.inputs = adz_tensor_list_of(inputs, function_inputs(l, f, inputs));
            p.module = l->m.root;
            plans[n] = adz_plan_new_many(f->compute, l, f->n_results, &p);
            names[n++] = f->name;
        }
    }
    adz_plan_write_c_many(plans, names, n, o->c, &c);
    for (size_t i = 0; i < n; ++i) {
        adz_plan_free(&plans[i]);
    }
}

/* A product of a row with a weight is a multiply-add for each element of the weight. */
static void describe(const law *l, const char *path)
{
    long long products = 0;
    adz_tensor_list parameters = adz_module_parameters(l->m.root);
    for (size_t i = 0; i < parameters.count; ++i) {
        products += adz_tensor_rank(parameters.items[i]) == 2
                        ? (long long)adz_tensor_numel(parameters.items[i])
                        : 0;
    }
    print_network(l->m.root);
    print_text("%s: x[1, %lld] to y[1, %lld]; %lld multiply-adds a call", path, (long long)l->n_in,
        (long long)l->n_out, products);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    ship_options o = { .compiler = "cc" };
    list_functions(o.functions);
    const char *path = read_ship_options(&o, argc, argv);
    report_errors();
    adz_manual_seed(1);
    law l = load_law(path, o.f64 ? ADZ_F64 : ADZ_F32);
    describe(&l, path);
    char *folder_text = copy_text(o.c), *name_text = copy_text(o.c);
    char *folder = dirname(folder_text), *base = basename(name_text);
    char *name = copy_text(base), *casadi = allocate(strlen(o.c) + 20);
    name[strlen(name) - 2] = '\0';
    sprintf(casadi, "%s/%s_casadi.c", folder, name);
    const file_use files[] = { { "model", path, false }, { "c", o.c, true },
        { "casadi", o.casadi ? casadi : NULL, true } };
    check_files(files, sizeof files / sizeof *files);
    write_files(&o, &l, name);
    print_text("%s: %s_run computes the value", o.c, name);
    for (int i = LAW_RUN + 1; i < LAW_FUNCTIONS; ++i) {
        if (o.functions[i].wanted) {
            print_text(
                "%s: %s_%s computes %s", o.c, name, o.functions[i].name, o.functions[i].what);
        }
    }
    if (o.casadi) {
        write_casadi(casadi, base, name, &l, o.functions);
        print_text("%s: for casadi.external", casadi);
    }
    if (o.check) {
        const char *checked = o.casadi ? strrchr(casadi, '/') + 1 : base;
        check c = { folder, checked, name, o.compiler, o.state == ADZ_C_STATE_CALLER, o.casadi };
        compare_with_library(&c, &l, o.functions);
    }
    free_law(&l);
    free(casadi);
    free(name);
    free(name_text);
    free(folder_text);
    return finish_output();
}
