/* What the derivatives of functions share (adze/functional.h). A function is called once, on inputs
 * that stand for the given ones in the graph. Its results are then differentiated in passes. Each
 * pass is a vjp, the product of a vector with the Jacobian, or a jvp, the product of the Jacobian
 * with a vector.
 *
 * Note [Forward mode by two gradients]
 * A vjp J^T u is linear in u. Its gradient with respect to u, with v as the upstream gradient, is
 * J v. So a jvp needs no rules of its own for operators: it differentiates a vjp, whatever u is.
 * That vjp is made once, with zeros for u, and each jvp is one backward through its graph. Zeros
 * that are known to be zeros (is_zero) are not multiplied, so a network of products costs its
 * forward once more, and not twice. */
#ifndef ADZI_SOLVERS_FUNCTIONAL_FUNCTIONAL_H
#define ADZI_SOLVERS_FUNCTIONAL_FUNCTIONAL_H

#include "adze/functional.h"
#include "ops/op.h"

/** Tensors that belong to somebody else. */
typedef struct adzi_tensors {
    adz_tensor *const *items;
    size_t count;
} adzi_tensors;

enum { ADZI_FUNCTIONAL_FOUND = ADZ_FUNCTION_INPUTS * ADZ_FUNCTION_RESULTS };

/** One call of a function of adze/functional.h. */
typedef struct adzi_functional {
    const char *op; /* the public function, for messages */
    const adz_tensor_function *function;
    adz_tensor *const *inputs;
    size_t n, n_results;
    adz_tensor *const *vectors; /* as given; NULL: ADZ_NONE for all */
    bool second;                /* the gradients of the function are differentiated */
    bool rows; /* in a Jacobian, row n of a result depends on row n of inputs only */
    adz_functional_options options;

    adz_tensor *x[ADZ_FUNCTION_INPUTS];       /* what the function is called with */
    adz_tensor *values[ADZ_FUNCTION_RESULTS]; /* its results */
    adz_tensor *y[ADZ_FUNCTION_RESULTS];      /* what is differentiated: results or gradients */
    size_t n_y;
    adz_tensor *u[ADZ_FUNCTION_RESULTS]; /* leaves shaped like y, of a prepared jvp */
    adz_tensor *dx[ADZ_FUNCTION_INPUTS]; /* the vjp of u; zeros where y does not depend */
    int64_t directions; /* about how many products a prepared jvp will be asked for; 0: 1 */
    adz_tensor *found[ADZI_FUNCTIONAL_FOUND]; /* what was asked for */
    size_t n_found;
} adzi_functional;

/**
 * Reads the options, checks the arguments, calls the function and then `work`, which fills `found`.
 * What else was made is released. On success found[0 .. n_found-1] go to `out`, borrowed.
 *
 * @return  ADZ_OK, or an error after which `out` and options.results are untouched
 */
adz_status adzi_functional_run(adzi_functional *f, const adz_functional_options *options,
    bool (*work)(adzi_functional *f), adz_tensor **out);

/** The gradients of sum_k sum(vectors[k] y[k]) with respect to all x, zeros where there is none. */
bool adzi_functional_vjp(adzi_functional *f, adz_tensor *const *vectors, adz_tensor **dx);

/** Makes the vjp that adzi_functional_jvp differentiates. */
bool adzi_functional_prepare_jvp(adzi_functional *f);

/** The derivatives of all y in the direction `vectors`, one for each x; ADZ_NONE stands for 0. */
bool adzi_functional_jvp(adzi_functional *f, adz_tensor *const *vectors, adz_tensor **dy);

/** Whether all elements of an upstream gradient are 0. False if a plan captures, as a replay may
 * get others. */
bool adzi_functional_is_zero(const adz_tensor *dy);

/** Fills `found` with the Jacobians of all y by all x: found[k * n + i]. */
bool adzi_functional_jacobian(adzi_functional *f);

/** Whether a given vector has the shape and dtype of `t`. Records an error that calls `t` by `what`
 * and its number. */
bool adzi_functional_fits(const adzi_functional *f, const adz_tensor *vector, const adz_tensor *t,
    const char *what, size_t k);

/** A function of one tensor as one of several. */
typedef struct adzi_single {
    adz_tensor_map function;
    void *user;
} adzi_single;

/** Calls an adzi_single. */
int adzi_single_call(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *single);

/** True if a function of one tensor is there. Records an error. */
bool adzi_single_check(const char *op, adz_tensor_map function);

#endif
