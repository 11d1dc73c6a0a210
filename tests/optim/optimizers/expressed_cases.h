/* Cases of the optimizers that have no kernel, with the defaults and with all settings changed. */
#ifndef ADZE_TESTS_OPTIM_OPTIMIZERS_EXPRESSED_CASES_H
#define ADZE_TESTS_OPTIM_OPTIMIZERS_EXPRESSED_CASES_H

#include "cases.h"

static const adz_adadelta_options plain_adadelta = ADZ_ADADELTA_OPTIONS,
                                  full_adadelta = { sizeof full_adadelta, 0.7, 1e-3, 0.1, true };

static adz_optimizer *plain_adadelta_make(adz_tensor_list list)
{
    return adz_adadelta_new(list, 0.5, NULL);
}

static void plain_adadelta_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    adadelta_loop(&plain_adadelta, 0.5, w, g, s);
}

static adz_optimizer *full_adadelta_make(adz_tensor_list list)
{
    return adz_adadelta_new(list, 0.5, &full_adadelta);
}

static void full_adadelta_loop(double *w, const double *g, double *s[ROWS], int t)
{
    (void)t;
    adadelta_loop(&full_adadelta, 0.5, w, g, s);
}

static const adz_adamax_options plain_adamax = ADZ_ADAMAX_OPTIONS,
                                full_adamax = { sizeof full_adamax, 0.7, 0.8, 1e-3, 0.1, true };

static adz_optimizer *plain_adamax_make(adz_tensor_list list)
{
    return adz_adamax_new(list, 0.02, NULL);
}

static void plain_adamax_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adamax_loop(&plain_adamax, 0.02, w, g, s, t);
}

static adz_optimizer *full_adamax_make(adz_tensor_list list)
{
    return adz_adamax_new(list, 0.02, &full_adamax);
}

static void full_adamax_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adamax_loop(&full_adamax, 0.02, w, g, s, t);
}

static const adz_nadam_options plain_nadam = ADZ_NADAM_OPTIONS, full_nadam = { sizeof full_nadam,
    0.7, 0.8, 1e-3, 0.1, 0.3, true, true };

static adz_optimizer *plain_nadam_make(adz_tensor_list list)
{
    return adz_nadam_new(list, 0.02, NULL);
}

static void plain_nadam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    nadam_loop(&plain_nadam, 0.02, w, g, s, t);
}

static adz_optimizer *full_nadam_make(adz_tensor_list list)
{
    return adz_nadam_new(list, 0.02, &full_nadam);
}

static void full_nadam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    nadam_loop(&full_nadam, 0.02, w, g, s, t);
}

static const adz_asgd_options plain_asgd = ADZ_ASGD_OPTIONS,
                              full_asgd = { sizeof full_asgd, 0.05, 0.6, 3, 0.1, true };

static adz_optimizer *plain_asgd_make(adz_tensor_list list)
{
    return adz_asgd_new(list, 0.02, NULL);
}

static void plain_asgd_loop(double *w, const double *g, double *s[ROWS], int t)
{
    asgd_loop(&plain_asgd, 0.02, w, g, s, t);
}

static adz_optimizer *full_asgd_make(adz_tensor_list list)
{
    return adz_asgd_new(list, 0.02, &full_asgd);
}

static void full_asgd_loop(double *w, const double *g, double *s[ROWS], int t)
{
    asgd_loop(&full_asgd, 0.02, w, g, s, t);
}

static const adz_rprop_options plain_rprop = ADZ_RPROP_OPTIONS,
                               full_rprop = { sizeof full_rprop, 0.4, 1.5, 1e-3, 0.04, true };

static adz_optimizer *plain_rprop_make(adz_tensor_list list)
{
    return adz_rprop_new(list, 0.02, NULL);
}

static void plain_rprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    rprop_loop(&plain_rprop, 0.02, w, g, s, t);
}

static adz_optimizer *full_rprop_make(adz_tensor_list list)
{
    return adz_rprop_new(list, 0.02, &full_rprop);
}

static void full_rprop_loop(double *w, const double *g, double *s[ROWS], int t)
{
    rprop_loop(&full_rprop, 0.02, w, g, s, t);
}

static const adz_adafactor_options plain_adafactor = ADZ_ADAFACTOR_OPTIONS,
                                   full_adafactor = { sizeof full_adafactor, -0.6, 0.1, 0.7, 1.1,
                                       0.1, true };

static adz_optimizer *plain_adafactor_make(adz_tensor_list list)
{
    return adz_adafactor_new(list, 0.02, NULL);
}

static void plain_adafactor_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adafactor_loop(&plain_adafactor, 0.02, w, g, s, t);
}

static adz_optimizer *full_adafactor_make(adz_tensor_list list)
{
    return adz_adafactor_new(list, 0.02, &full_adafactor);
}

static void full_adafactor_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adafactor_loop(&full_adafactor, 0.02, w, g, s, t);
}

/* The rows of the table of cases. */
#define EXPRESSED_CASES                                                                          \
    OPTIMIZER_CASE(plain_adadelta), OPTIMIZER_CASE(full_adadelta), OPTIMIZER_CASE(plain_adamax), \
        OPTIMIZER_CASE(full_adamax), OPTIMIZER_CASE(plain_nadam), OPTIMIZER_CASE(full_nadam),    \
        OPTIMIZER_CASE(plain_asgd), OPTIMIZER_CASE(full_asgd), OPTIMIZER_CASE(plain_rprop),      \
        OPTIMIZER_CASE(full_rprop), OPTIMIZER_CASE(plain_adafactor),                             \
        OPTIMIZER_CASE(full_adafactor)

#endif
