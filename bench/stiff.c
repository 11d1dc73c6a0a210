/* bench-stiff: the stiff equations of tests/solvers/equations/stiff_set.h by ADZ_ODE_RODAS4 and
 * ADZ_ODE_BDF, on one thread. Each round prints one line for each equation, tolerance and method:
 * its name, the tolerance, the method, milliseconds of processor time, steps, calls of the
 * function, and the error as a part of the tolerance. bench/stiff.py runs it in turn with LSODA.
 *
 *     bench-stiff [ROUNDS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "solvers/equations/stiff_set.h"
#include "bench.h"

static void solve(const stiff_problem *p, double tolerance, adz_ode_method method)
{
    adz_scope *scope = adz_scope_open();
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    double atols[STIFF_MOST], worst = 0;
    const double times[] = { 0, p->end };
    o.method = method;
    o.rtol = tolerance;
    o.atols = atols;
    o.n_atols = (size_t)p->n;
    for (int i = 0; i < p->n; ++i) {
        atols[i] = tolerance * (i == 1 && p->tiny != 0 ? p->tiny : p->size);
    }
    adz_tensor *y0 = adz_tensor_from(p->y0, ADZ_SHAPE(p->n), ADZ_F64);
    adz_tensor *t = adz_tensor_from(times, ADZ_SHAPE(2), ADZ_F64), *data = p->data(), *y = NULL;
    double took = 0;
    ADZ_NO_GRAD
    {
        const double begin = processor_time();
        y = adz_odeint(p->f, data, y0, t, &o, &report);
        took = processor_time() - begin;
    }
    if (y == NULL) {
        fprintf(stderr, "%s: %s\n", p->name, adz_error_message());
        exit(1);
    }
    for (int i = 0; i < p->n; ++i) {
        const double error = fabs(adz_tensor_at(y, (int64_t[]){ 1, i }) - p->at_end[i]);
        worst = fmax(worst, error / (atols[i] + tolerance * fabs(p->at_end[i])));
    }
    printf("%s %g %s %.3f %lld %lld %.2f\n", p->name, tolerance,
        method == ADZ_ODE_BDF ? "bdf" : "rodas", took * 1e3,
        (long long)(report.steps + report.rejected), (long long)report.evaluations, worst);
    adz_scope_close(scope);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    const double tolerances[] = { 1e-6, 1e-8, 1e-10 };
    adz_set_num_threads(1);
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < STIFF_SET; ++i) {
            for (int k = 0; k < 3; ++k) {
                solve(&stiff_set[i], tolerances[k], ADZ_ODE_RODAS4);
                solve(&stiff_set[i], tolerances[k], ADZ_ODE_BDF);
            }
        }
    }
    return 0;
}
