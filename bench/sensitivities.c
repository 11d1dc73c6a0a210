/* bench-sensitivities: Robertson's reactions at 41 times with three rates, on one thread: the
 * milliseconds of processor time, the shortest of all rounds, of the solution, of its Jacobian by
 * the rates, and of a fit of the rates by Levenberg-Marquardt from values that are off by a tenth.
 *
 *     bench-sensitivities [ROUNDS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { TIMES = 41 };

typedef struct {
    adz_tensor *y0, *times, *scale, *logs, *data;
    adz_ode_options o;
} problem;

static int reactions(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* the argument is the three rates */
    adz_tensor *k = in[2], *r[3];
    adz_tensor *a = adz_narrow(in[1], 0, 0, 1), *b = adz_narrow(in[1], 0, 1, 1);
    r[0] = adz_mul(adz_narrow(k, 0, 0, 1), a);
    r[1] = adz_mul(adz_narrow(k, 0, 1, 1), adz_square(b));
    r[2] = adz_mul(adz_narrow(k, 0, 2, 1), adz_mul(b, adz_narrow(in[1], 0, 2, 1)));
    adz_tensor *parts[] = { adz_sub(r[2], r[0]), adz_sub(adz_sub(r[0], r[2]), r[1]), r[1] };
    out[0] = adz_cat(parts, 3, 0);
    return out[0] != NULL;
}

static adz_tensor *solution(adz_tensor *rates, void *user)
{
    const adz_tensor_function f = { reactions, NULL };
    problem *p = user;
    adz_tensor *y = adz_odeint_many(&f, p->y0, p->times, &rates, 1, &p->o, NULL);
    if (y == NULL) {
        fprintf(stderr, "%s\n", adz_error_message());
        exit(1);
    }
    return y;
}

static adz_tensor *residuals(void *user)
{
    problem *p = user;
    return adz_mul(adz_sub(solution(adz_exp(p->logs), p), p->data), p->scale);
}

static problem problem_new(void)
{
    problem p = { .o = ADZ_ODE_OPTIONS };
    double t[TIMES] = { 0 };
    for (int i = 1; i < TIMES; ++i) {
        t[i] = 0.4 * pow(10, (i - 1) * 7.0 / (TIMES - 2));
    }
    p.y0 = adz_tensor_from((double[]){ 1, 0, 0 }, ADZ_SHAPE(3), ADZ_F64);
    p.times = adz_tensor_from(t, ADZ_SHAPE(TIMES), ADZ_F64);
    p.scale = adz_tensor_from((double[]){ 1, 1e4, 1 }, ADZ_SHAPE(3), ADZ_F64);
    p.o.method = ADZ_ODE_BDF;
    p.o.rtol = 1e-6;
    p.o.atol = 1e-10;
    return p;
}

static double fit(problem *p, adz_tensor *rates)
{
    p->logs = adz_requires_grad_(adz_detach(adz_add_number(adz_log(rates), 0.1)), true);
    adz_optimizer *lm = adz_levenberg_marquardt_new(adz_tensor_list_of(&p->logs, 1), 1, NULL);
    const double begin = processor_time();
    if (adz_optimizer_step_closure(lm, residuals, p, NULL) != ADZ_OK) {
        fprintf(stderr, "%s\n", adz_error_message());
        exit(1);
    }
    const double took = processor_time() - begin;
    adz_optimizer_release(&lm);
    return took;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;
    double best[3] = { INFINITY, INFINITY, INFINITY };
    adz_set_num_threads(1);
    for (int round = 0; round < rounds; ++round) {
        adz_scope *scope = adz_scope_open();
        problem p = problem_new();
        adz_tensor *rates = adz_tensor_from((double[]){ 0.04, 3e7, 1e4 }, ADZ_SHAPE(3), ADZ_F64);
        double begin = processor_time();
        ADZ_NO_GRAD
        {
            p.data = solution(rates, &p);
        }
        best[0] = fmin(best[0], processor_time() - begin);
        begin = processor_time();
        if (adz_jacobian(solution, &p, rates, NULL) == NULL) {
            fprintf(stderr, "%s\n", adz_error_message());
            return 1;
        }
        best[1] = fmin(best[1], processor_time() - begin);
        best[2] = fmin(best[2], fit(&p, rates));
        adz_scope_close(scope);
    }
    printf("solution %.2f ms, Jacobian %.2f ms (%.2f times the solution), fit %.1f ms\n",
        best[0] * 1e3, best[1] * 1e3, best[1] / best[0], best[2] * 1e3);
    return 0;
}
