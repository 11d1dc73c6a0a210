/* Every optimizer with its default settings and with all of them changed, and two of a program's
 * own. */
#include "../own_types.h"
#include "cases.h"
#include "expressed_cases.h"
#include "zoo/labml_optimizers.h"

static adz_optimizer *plain_adam_make(adz_tensor_list list)
{
    return adz_adam_new(list, 0.02, NULL);
}

static void plain_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ .lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .keep = 1 }, w,
        g, s, t);
}

static adz_optimizer *full_adam_make(adz_tensor_list list)
{
    adz_adam_options o = { sizeof o, 0.7, 0.8, 1e-3, 0.1, true, true };
    return adz_adam_new(list, 0.02, &o);
}

static void full_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.7, 0.8, 1e-3, 0.1, 1, true, true, false }, w, g, s, t);
}

static adz_optimizer *plain_adamw_make(adz_tensor_list list)
{
    return adz_adamw_new(list, 0.02, NULL);
}

static void plain_adamw_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.9, 0.999, 1e-8, 0, 1 - 0.02 * 0.01, false, false, false }, w, g,
        s, t);
}

static adz_optimizer *full_adamw_make(adz_tensor_list list)
{
    adz_adamw_options o = ADZ_ADAMW_OPTIONS;
    o.amsgrad = o.maximize = true;
    o.weight_decay = 0.5;
    o.beta2 = 0.6;
    return adz_adamw_new(list, 0.02, &o);
}

static void full_adamw_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(
        &(adam_rule){ 0.02, 0.9, 0.6, 1e-8, 0, 1 - 0.02 * 0.5, true, true, false }, w, g, s, t);
}

static adz_optimizer *plain_radam_make(adz_tensor_list list)
{
    adz_radam_options o = ADZ_RADAM_OPTIONS;
    o.beta2 = 0.9; /* with this beta2 the steps are rectified from step 6 on */
    o.weight_decay = 0.1;
    return adz_radam_new(list, 0.02, &o);
}

static void plain_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(
        &(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0.1, 1, false, false, true }, true, false, w, g, s, t);
}

static adz_optimizer *decoupled_radam_make(adz_tensor_list list)
{
    adz_radam_options o = { sizeof o, 0.8, 0.95, 1e-4, 0.2, true, true };
    return adz_radam_new(list, 0.02, &o);
}

static void decoupled_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(&(adam_rule){ 0.02, 0.8, 0.95, 1e-4, 0, 1 - 0.02 * 0.2, false, true, true }, true,
        false, w, g, s, t);
}

static const adz_rmsprop_options plain_rms = ADZ_RMSPROP_OPTIONS,
                                 full_rms = { sizeof full_rms, 0.9, 1e-3, 0.1, 0.5, true, true };

static adz_optimizer *plain_rmsprop_make(adz_tensor_list list)
{
    return adz_rmsprop_new(list, 0.01, NULL);
}

static void plain_rmsprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    rmsprop_loop(&plain_rms, 0.01, w, g, s);
}

static adz_optimizer *full_rmsprop_make(adz_tensor_list list)
{
    return adz_rmsprop_new(list, 0.01, &full_rms);
}

static void full_rmsprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    rmsprop_loop(&full_rms, 0.01, w, g, s);
}

static const adz_adagrad_options plain_ada = ADZ_ADAGRAD_OPTIONS,
                                 full_ada = { sizeof full_ada, 0.2, 1e-3, 0.1, 0.7, true };

static adz_optimizer *plain_adagrad_make(adz_tensor_list list)
{
    return adz_adagrad_new(list, 0.1, NULL);
}

static void plain_adagrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adagrad_loop(&plain_ada, 0.1, w, g, s, t);
}

static adz_optimizer *full_adagrad_make(adz_tensor_list list)
{
    return adz_adagrad_new(list, 0.1, &full_ada);
}

static void full_adagrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adagrad_loop(&full_ada, 0.1, w, g, s, t);
}

static adz_optimizer *full_sgd_make(adz_tensor_list list)
{
    adz_sgd_options o = { sizeof o, 0.9, 0, 0.1, true, true };
    return adz_sgd_new(list, 0.02, &o);
}

static void full_sgd_loop(double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        double d = -g[i] + 0.1 * w[i];
        s[0][i] = t == 1 ? d : 0.9 * s[0][i] + d;
        w[i] -= 0.02 * (d + 0.9 * s[0][i]);
    }
}

static adz_optimizer *own_lion_make(adz_tensor_list list)
{
    return adz_optimizer_new(&lion_type, list, (const double[]){ 0.02, 0.8, 0.95, 0.1 }, 4);
}

static void own_lion_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    for (int i = 0; i < N; ++i) {
        const double c = 0.8 * s[0][i] + 0.2 * g[i];
        w[i] = w[i] - 0.02 * 0.1 * w[i] - (isnan(c) ? c : c > 0 ? 0.02 : c < 0 ? -0.02 : 0);
        s[0][i] = 0.95 * s[0][i] + 0.05 * g[i];
    }
}

static adz_optimizer *own_mean_make(adz_tensor_list list)
{
    return adz_optimizer_new(&mean_type, list, NULL, 0);
}

static void own_mean_loop(double *w, const double *g, double *s[ROWS], int t)
{
    for (int i = 0; i < N; ++i) {
        s[0][i] = (t == 1 ? 0.25 : s[0][i]) + g[i];
        w[i] -= 0.1 / t * s[0][i];
    }
}

const optimizer_case cases[] = {
    OPTIMIZER_CASE(full_sgd),
    OPTIMIZER_CASE(plain_adam),
    OPTIMIZER_CASE(full_adam),
    OPTIMIZER_CASE(plain_adamw),
    OPTIMIZER_CASE(full_adamw),
    OPTIMIZER_CASE(plain_radam),
    OPTIMIZER_CASE(decoupled_radam),
    OPTIMIZER_CASE(plain_rmsprop),
    OPTIMIZER_CASE(full_rmsprop),
    OPTIMIZER_CASE(plain_adagrad),
    OPTIMIZER_CASE(full_adagrad),
    LABML_CASES,
    OPTIMIZER_CASE(own_lion),
    OPTIMIZER_CASE(own_mean),
    EXPRESSED_CASES,
};

const int n_cases = sizeof cases / sizeof *cases;
