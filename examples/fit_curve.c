/* Fits a curve of growth by three methods, and prints how many iterations each of them needs. Adam
 * knows gradients only. L-BFGS learns from them how the loss curves. Levenberg-Marquardt knows the
 * derivatives of each residual. */
#include <stdio.h>

#include <adze/adze.h>

#include "shared/about.h"

enum { POINTS = 40, LONGEST = 100000 };
typedef struct {
    adz_tensor *x, *y, *p; /* [POINTS] twice; [3]: the limit, the rate, where half is reached */
    adz_optimizer *method;
    int evaluations;
} fit;

/* limit / (1 + exp(-rate (x - middle))) */
static adz_tensor *curve(adz_tensor *p, adz_tensor *x)
{
    adz_tensor *limit = adz_select(p, 0, 0), *rate = adz_select(p, 0, 1);
    return adz_mul(limit, adz_sigmoid(adz_mul(rate, adz_sub(x, adz_select(p, 0, 2)))));
}

/* What Levenberg-Marquardt asks for: the residuals, with their graph. */
static adz_tensor *residuals(void *user)
{
    fit *f = user;
    ++f->evaluations;
    return adz_sub(curve(f->p, f->x), f->y);
}

/* What all other optimizers ask for: the loss, after the gradients have been computed. */
static adz_tensor *loss(void *user)
{
    fit *f = user;
    adz_optimizer_zero_grad(f->method);
    adz_tensor *sum = adz_sum(adz_square(residuals(f)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *half = adz_mul_number(sum, 0.5);
    return adz_backward(half) == ADZ_OK ? half : NULL;
}

/* Steps of one iteration each, until the loss is at most `goal`. */
static void run(fit *f, adz_optimizer *method, adz_optimizer_closure closure, double goal)
{
    int iterations = 0;
    double now;
    f->method = method;
    f->evaluations = 0;
    do {
        adz_optimizer_step_closure(method, closure, f, &now);
    } while (now > goal && ++iterations < LONGEST);
    printf("%-20s %6d %11d   %.6f\n", adz_optimizer_name(method), iterations, f->evaluations, now);
    adz_optimizer_release(&f->method);
}

/* Where every fit begins. */
static adz_tensor_list begin(fit *f)
{
    f->p =
        adz_requires_grad_(adz_tensor_from((double[]){ 4, 0.5, 3 }, ADZ_SHAPE(3), ADZ_F64), true);
    return adz_tensor_list_of(&f->p, 1);
}

static const char help[] =
    "Fits a curve of growth by Levenberg-Marquardt, L-BFGS and Adam, and prints how\n"
    "many iterations each of them needs.\n"
    "\n"
    "usage: fit_curve\n";

int main(int argc, char **argv)
{
    begin_program("fit_curve", argc, argv, 0, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(7);
    fit f = { .x = adz_linspace(0, 10, POINTS, ADZ_F64) };
    adz_tensor *truth = adz_tensor_from((double[]){ 8, 1.2, 4.5 }, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *noise = adz_randn(ADZ_SHAPE(POINTS), ADZ_F64);
    f.y = adz_add_scaled(curve(truth, f.x), noise, 0.1);

    /* The smallest loss, which the methods have to find to one part in a million. */
    adz_optimizer *best = adz_levenberg_marquardt_new(begin(&f), 1, NULL);
    double smallest;
    adz_optimizer_step_closure(best, residuals, &f, NULL);
    adz_optimizer_step_closure(best, residuals, &f, &smallest);
    adz_optimizer_release(&best);
    const double goal = smallest * (1 + 1e-6);
    printf("method           iterations evaluations   loss\n");
    adz_levenberg_marquardt_options lm = ADZ_LEVENBERG_MARQUARDT_OPTIONS;
    lm.max_iter = 1;
    run(&f, adz_levenberg_marquardt_new(begin(&f), 1, &lm), residuals, goal);
    adz_lbfgs_options lbfgs = ADZ_LBFGS_OPTIONS;
    lbfgs.max_iter = 1;
    lbfgs.max_eval = 25;
    lbfgs.strong_wolfe = true;
    run(&f, adz_lbfgs_new(begin(&f), 1, &lbfgs), loss, goal);
    run(&f, adz_adam_new(begin(&f), 0.05, NULL), loss, goal);
    adz_tensor_print(f.p, stdout);
    return 0;
}
