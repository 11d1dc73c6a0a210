/* The case of an optimizer: its constructor and its formula. Also the initial values and gradients
 * of the parameters, and the state. */
#ifndef ADZE_TESTS_OPTIM_OPTIMIZERS_CASES_H
#define ADZE_TESTS_OPTIM_OPTIMIZERS_CASES_H

#include "optim/optimizer.h"
#include "formulas.h"
#include "../../temporary.h"

typedef struct optimizer_case {
    const char *name;
    adz_optimizer *(*make)(adz_tensor_list list);
    void (*loop)(double *w, const double *g, double *s[ROWS], int t);
    double f32_tolerance;
} optimizer_case;

/* The case whose functions are called which##_make and which##_loop. */
#define OPTIMIZER_CASE(which)                    \
    {                                            \
#which, which##_make, which##_loop, 2e-5 \
    }

extern const optimizer_case cases[];
extern const int n_cases;

static inline double start_at(int i)
{
    return cos(1.3 * i) + 0.2;
}

/* The gradient of parameter i in step t. It changes sign and size from step to step and does not
 * depend on w. */
static inline double gradient_at(int i, int t)
{
    return sin(0.7 * i + 1.9 * t) * (1 + 0.5 * (i % 3)) + 0.1;
}

/* Muon of the matrices among the parameters, at most four: it takes nothing else. */
static inline adz_optimizer *muon_of_matrices(adz_tensor_list parameters, double lr)
{
    adz_tensor *matrices[4];
    size_t n = 0;
    for (size_t i = 0; i < parameters.count && n < 4; ++i) {
        if (adz_tensor_rank(parameters.items[i]) == 2) {
            matrices[n++] = parameters.items[i];
        }
    }
    return adz_muon_new(adz_tensor_list_of(matrices, n), lr, NULL);
}

static inline adz_tensor *start(adz_dtype dtype)
{
    double values[N];
    for (int i = 0; i < N; ++i) {
        values[i] = start_at(i);
    }
    return adz_requires_grad_(adz_to(adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64), dtype), true);
}

static inline void give_gradient(adz_tensor *w, int t)
{
    double values[N];
    for (int i = 0; i < N; ++i) {
        values[i] = gradient_at(i, t);
    }
    adz_tensor *g = adz_tensor_from(values, ADZ_SHAPE(N), ADZ_F64);
    assert_int_equal(adz_tensor_set_grad(w, adz_to(g, adz_tensor_dtype(w))), ADZ_OK);
}

static inline void take_steps(adz_optimizer *optimizer, adz_tensor *w, int from, int to)
{
    for (int t = from; t < to; ++t) {
        give_gradient(w, t);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
    }
}

static inline adz_tensor_list one(adz_tensor *const *t)
{
    return adz_tensor_list_of(t, 1);
}

static inline adz_status save(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_save(&c, temporary_path(name));
}

static inline adz_status load(adz_optimizer *optimizer, const char *name)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = optimizer;
    return adz_checkpoint_load(&c, temporary_path(name));
}

#endif
