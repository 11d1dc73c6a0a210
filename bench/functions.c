/* bench-functions: elementary functions of f64, adze's operators compared with a loop over those of
 * the C library, one thread, on numbers that the first-level cache holds. Both are timed in turn.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { COUNT = 1024, CALLS = 200, ROUNDS = 15 };

/* One function: `of_adze` computes an operator, `of_libm` a loop into `out`. */
typedef struct function {
    const char *name;
    double low, high; /* of the arguments */
    adz_tensor *(*of_adze)(adz_tensor *x);
    void (*of_libm)(double *out, const double *x);
} function;

typedef struct work {
    const function *f;
    adz_tensor *x;
    double *out;
} work;

#define LOOP(name, value)                                  \
    static void libm_##name(double *out, const double *in) \
    {                                                      \
        for (int i = 0; i < COUNT; ++i) {                  \
            const double x = in[i];                        \
            out[i] = value;                                \
        }                                                  \
    }
LOOP(sin, sin(x))
LOOP(cos, cos(x))
LOOP(tan, tan(x))
LOOP(erf, erf(x))
LOOP(exp, exp(x))
LOOP(log, log(x))
LOOP(tanh, tanh(x))
LOOP(pow, pow(x, x))

static adz_tensor *adze_pow(adz_tensor *x)
{
    return adz_pow(x, x);
}

static const function functions[] = {
    { "sin", -10, 10, adz_sin, libm_sin },
    { "cos", -10, 10, adz_cos, libm_cos },
    { "tan", -10, 10, adz_tan, libm_tan },
    { "erf", -4, 4, adz_erf, libm_erf },
    { "exp", -10, 10, adz_exp, libm_exp },
    { "log", 0.01, 100, adz_log, libm_log },
    { "tanh", -4, 4, adz_tanh, libm_tanh },
    { "pow(x, x)", 0.01, 100, adze_pow, libm_pow },
};

static void run_adze(void *user)
{
    const work *w = user;
    adz_scope *scope = adz_scope_open();
    w->f->of_adze(w->x);
    adz_scope_close(scope);
}

static void run_libm(void *user)
{
    const work *w = user;
    w->f->of_libm(w->out, adz_tensor_data_constant(w->x));
}

/* Nanoseconds an element. */
static double time_of(void (*run)(void *), work *w)
{
    run(w);
    const double start = now();
    for (int i = 0; i < CALLS; ++i) {
        run(w);
    }
    return (now() - start) / CALLS / COUNT * 1e9;
}

int main(void)
{
    adz_on_error(end_on_error, "bench-functions");
    adz_set_num_threads(1);
    adz_set_grad_enabled(false);
    puts("| f64 | adze, ns | C library, ns | C library over adze | least |");
    puts("|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        const function *f = &functions[i];
        adz_scope *scope = adz_scope_open();
        double out[COUNT], adze[ROUNDS], libm[ROUNDS], ratio[ROUNDS];
        work w = { f, adz_linspace(f->low, f->high, COUNT, ADZ_F64), out };
        for (int r = 0; r < ROUNDS; ++r) {
            adze[r] = time_of(run_adze, &w);
            libm[r] = time_of(run_libm, &w);
            ratio[r] = libm[r] / adze[r];
        }
        adz_scope_close(scope);
        const timing t = timing_of(ratio, ROUNDS);
        printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", f->name, timing_of(adze, ROUNDS).median,
            timing_of(libm, ROUNDS).median, t.median, t.least);
    }
    return EXIT_SUCCESS;
}
