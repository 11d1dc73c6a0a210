/* The cases of labml's optimizers, for the list in tests/optim/optimizers/cases.c. */
#ifndef ADZE_TESTS_ZOO_LABML_OPTIMIZERS_H
#define ADZE_TESTS_ZOO_LABML_OPTIMIZERS_H

#include "adze/zoo.h"
#include "optim/optimizers/cases.h"

static adz_optimizer *labml_adam_make(adz_tensor_list list)
{
    adz_labml_adam_options o = ADZ_LABML_ADAM_OPTIONS;
    o.eps = 1e-3;
    o.weight_decay = 0.3;
    return adz_labml_adam_new(list, 0.02, &o);
}

static void labml_adam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(
        &(adam_rule){ 0.02, 0.9, 0.999, 1e-3, 0, 1 - 0.02 * 0.3, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_l2_make(adz_tensor_list list)
{
    adz_labml_adam_options o = { sizeof o, 0.8, 0.9, 1e-3, 0.3, false, true, false };
    return adz_labml_adam_new(list, 0.02, &o);
}

static void labml_l2_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.8, 0.9, 1e-3, 0.3, 1, false, false, false }, w, g, s, t);
}

static adz_optimizer *labml_amsgrad_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_AMSGRAD_OPTIONS;
    o.beta2 = 0.6;
    o.weight_decay = 0.01;
    o.absolute = true;
    return adz_labml_amsgrad_new(list, 0.02, &o);
}

static void labml_amsgrad_loop(double *w, const double *g, double *s[ROWS], int t)
{
    adam_loop(&(adam_rule){ 0.02, 0.9, 0.6, 1e-16, 0, 0.99, true, false, true }, w, g, s, t);
}

static adz_optimizer *labml_warmup_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_WARMUP_OPTIONS;
    o.weight_decay = 0.5; /* The decay uses the full rate, also during the warm-up. */
    return adz_labml_adam_warmup_new(list, 0.02, 7, &o);
}

static void labml_warmup_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double lr = t < 7 ? 1e-8 + t * 0.02 / 7 : 0.02;
    adam_loop(
        &(adam_rule){ lr, 0.9, 0.999, 1e-16, 0, 1 - 0.02 * 0.5, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_noam_make(adz_tensor_list list)
{
    return adz_labml_noam_new(list, 0.4, 5, 16, NULL);
}

static void labml_noam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double lr = 0.4 / 4 * fmin(1 / sqrt(t), t / (5 * sqrt(5)));
    adam_loop(&(adam_rule){ lr, 0.9, 0.999, 1e-16, 0, 1, false, false, true }, w, g, s, t);
}

static adz_optimizer *labml_radam_make(adz_tensor_list list)
{
    adz_labml_radam_options o = ADZ_LABML_RADAM_OPTIONS;
    o.beta2 = 0.9;
    o.amsgrad = true;
    o.weight_decay = 0.5;
    return adz_labml_radam_new(list, 0.02, &o);
}

static void labml_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(&(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0, 1 - 0.02 * 0.5, true, false, true }, false,
        false, w, g, s, t);
}

static adz_optimizer *labml_waiting_radam_make(adz_tensor_list list)
{
    adz_labml_radam_options o = ADZ_LABML_RADAM_OPTIONS;
    o.beta2 = 0.9;
    o.weight_decay = 0.1;
    o.weight_decouple = o.optimized_update = o.degenerated_to_sgd = false;
    return adz_labml_radam_new(list, 0.02, &o);
}

static void labml_waiting_radam_loop(double *w, const double *g, double *s[ROWS], int t)
{
    radam_loop(
        &(adam_rule){ 0.02, 0.9, 0.9, 1e-8, 0.1, 1, false, false, false }, false, true, w, g, s, t);
}

static adz_optimizer *labml_cosine_make(adz_tensor_list list)
{
    adz_labml_amsgrad_options o = ADZ_LABML_WARMUP_OPTIONS;
    o.weight_decay = 0.5; /* The decay uses the full rate in every step. */
    o.amsgrad = true;
    o.beta2 = 0.6;
    return adz_labml_adam_warmup_cosine_decay_new(list, 0.02, 3, 9, &o);
}

/* The 12 steps cover the warm-up, the fall of the cosine to a tenth, and its rise after that. */
static void labml_cosine_loop(double *w, const double *g, double *s[ROWS], int t)
{
    double wave = 0.5 + 0.5 * sin(acos(0) * (1 - 2 * (t - 3) / 6.0));
    double lr = t < 3 ? 1e-8 + t * 0.02 / 3 : wave < 0.1 ? 0.002 : 0.02 * wave;
    adam_loop(
        &(adam_rule){ lr, 0.9, 0.6, 1e-16, 0, 1 - 0.02 * 0.5, true, false, true }, w, g, s, t);
}

static adz_optimizer *labml_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = ADZ_LABML_ADA_BELIEF_OPTIONS;
    o.beta2 = 0.9;
    o.weight_decay = 0.5;
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(&(adam_rule){ 0.02, 0.9, 0.9, 1e-16, 0, 1 - 0.02 * 0.5, false, false, false }, true,
        false, w, g, s, t);
}

static adz_optimizer *labml_waiting_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = { sizeof o, 0.8, 0.9, 1e-3, 0.1, false, false, true, true,
        false, true };
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_waiting_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(
        &(adam_rule){ 0.02, 0.8, 0.9, 1e-3, 0.1, 1, true, false, true }, true, true, w, g, s, t);
}

static adz_optimizer *labml_plain_belief_make(adz_tensor_list list)
{
    adz_labml_ada_belief_options o = ADZ_LABML_ADA_BELIEF_OPTIONS;
    o.eps = 1e-3;
    o.weight_decay = 0.01;
    o.absolute = true;
    o.rectify = false;
    return adz_labml_ada_belief_new(list, 0.02, &o);
}

static void labml_plain_belief_loop(double *w, const double *g, double *s[ROWS], int t)
{
    belief_loop(&(adam_rule){ 0.02, 0.9, 0.999, 1e-3, 0, 0.99, false, false, false }, false, false,
        w, g, s, t);
}

#define LABML_CASES                                                                            \
    OPTIMIZER_CASE(labml_adam), OPTIMIZER_CASE(labml_l2), OPTIMIZER_CASE(labml_amsgrad),       \
        OPTIMIZER_CASE(labml_warmup), OPTIMIZER_CASE(labml_noam), OPTIMIZER_CASE(labml_radam), \
        OPTIMIZER_CASE(labml_waiting_radam), OPTIMIZER_CASE(labml_cosine),                     \
        OPTIMIZER_CASE(labml_belief), OPTIMIZER_CASE(labml_waiting_belief),                    \
        OPTIMIZER_CASE(labml_plain_belief)

#endif
