/* What the tests of steps with a closure share: a loss, and the residuals whose squares it sums. */
#ifndef ADZE_TESTS_OPTIM_CLOSURES_TESTS_H
#define ADZE_TESTS_OPTIM_CLOSURES_TESTS_H

#include "../../nn.h"
#include "../../temporary.h"

/** Rosenbrock's function of x[N]: the sum of 100 (x[i+1] - x[i]^2)^2 + (x[i] - 1)^2. */
typedef struct {
    adz_tensor *x;
    adz_optimizer *optimizer;
    int calls;
    int fails;     /* the call that fails; 0 for none */
    int undefined; /* the call that gives NaN; 0 for none */
    double sign;
} problem;

/** Where the tests begin, far from the minimum (1, 1, 1, 1, 1). */
#define START -1.2, 1, -0.5, 0.8, 1.3

static inline adz_tensor *leaf(const double *values, int64_t n, adz_dtype dtype)
{
    adz_tensor *x = adz_to(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), dtype);
    return adz_requires_grad_(x, true);
}

static inline problem begin(adz_dtype dtype)
{
    return (problem){ .x = leaf((const double[]){ START }, 5, dtype), .sign = 1 };
}

/** The residuals [2 (N - 1)]: half their squared sum is half the loss. */
static inline adz_tensor *residuals(void *user)
{
    problem *p = user;
    const int64_t n = adz_tensor_size(p->x, 0) - 1;
    adz_tensor *a = adz_narrow(p->x, 0, 0, n), *b = adz_narrow(p->x, 0, 1, n);
    adz_tensor *both[] = { adz_mul_number(adz_sub(b, adz_mul(a, a)), 10), adz_add_number(a, -1) };
    if (++p->calls == p->fails) {
        return adz_matmul(p->x, adz_ones(ADZ_SHAPE(99), ADZ_F64));
    }
    adz_tensor *r = adz_cat(both, 2, 0);
    return p->calls == p->undefined ? adz_mul_number(r, NAN) : r;
}

static inline adz_tensor *loss_of(void *user)
{
    problem *p = user;
    adz_optimizer_zero_grad(p->optimizer);
    adz_tensor *r = residuals(p);
    adz_tensor *loss = adz_mul_number(adz_sum(adz_mul(r, r), ADZ_ALL_DIMS, ADZ_DROPDIM), p->sign);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static inline adz_optimizer *lbfgs_of(problem *p, const adz_lbfgs_options *options)
{
    p->optimizer = adz_lbfgs_new(adz_tensor_list_of(&p->x, 1), 1, options);
    assert_non_null(p->optimizer);
    return p->optimizer;
}

static inline adz_optimizer *lm_of(problem *p, const adz_levenberg_marquardt_options *options)
{
    p->optimizer = adz_levenberg_marquardt_new(adz_tensor_list_of(&p->x, 1), 1, options);
    assert_non_null(p->optimizer);
    return p->optimizer;
}

int bounds_tests(void);
int ends_tests(void);
int lines_tests(void);
int lbfgs_tests(void);
int least_squares_tests(void);
int refused_tests(void);
int state_tests(void);

#endif
