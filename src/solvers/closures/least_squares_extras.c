/* Bounds on the parameters of Levenberg-Marquardt, and the covariance of fitted parameters. */
#include <float.h>
#include <math.h>

#include "adze/ops.h"
#include "adze/optim/levenberg_marquardt.h"
#include "adze/scope.h"
#include "base/capture.h"
#include "base/error.h"
#include "solvers/closures/levenberg_marquardt.h"
#include "solvers/closures/residual_jacobian.h"

static double *data_of(const adz_tensor *t)
{
    return (double *)(void *)t->data;
}

static bool check_is_lm(const char *op, const adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        adzi_error_null(op, "optimizer");
        return false;
    }
    if (!adzi_lm_is(optimizer)) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED, "%s is no Levenberg-Marquardt", optimizer->type->name);
        return false;
    }
    return true;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static bool check_order(const char *op, const adz_tensor *lower, const adz_tensor *upper)
{
    for (int64_t k = 0; k < lower->numel; ++k) {
        const double low = data_of(lower)[k], high = data_of(upper)[k];
        if (!(low <= high) || low == INFINITY || high == -INFINITY) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the lower bound of element %lld of all parameters is %s, the upper one %s",
                (long long)k, adzi_text_number(low), adzi_text_number(high));
            return false;
        }
    }
    return true;
}

adz_status adz_levenberg_marquardt_set_bounds(
    adz_optimizer *optimizer, adz_tensor_list lower, adz_tensor_list upper)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_levenberg_marquardt_set_bounds";
    if (!check_is_lm(op, optimizer)) {
        return adz_error_code();
    }
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    adzi_optimizer_settle(optimizer);
    adz_scope *scope = adz_scope_open();
    adz_tensor *low =
        scope != NULL ? adzi_search_constant(op, optimizer, "lower bound", lower, -INFINITY) : NULL;
    adz_tensor *high =
        low != NULL ? adzi_search_constant(op, optimizer, "upper bound", upper, INFINITY) : NULL;
    const bool good = high != NULL && check_order(op, low, high);
    const bool none = lower.count == 0 && upper.count == 0;
    if (good) {
        adzi_drop(optimizer->constants[0]);
        adzi_drop(optimizer->constants[1]);
        optimizer->constants[0] = none ? NULL : adzi_retain(low);
        optimizer->constants[1] = none ? NULL : adzi_retain(high);
    }
    adzi_drop(low);
    adzi_drop(high);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good ? ADZ_OK : adz_error_code();
}

adz_tensor *adzi_lm_bound(const adzi_search_run *run, bool upper)
{
    adz_tensor *bound = run->optimizer->constants[upper ? 1 : 0];
    return bound != NULL ? adz_to(bound, run->dtype) : NULL;
}

bool adzi_lm_check_bounds(const adzi_search_run *run)
{
    if (run->optimizer->constants[0] == NULL) {
        return true;
    }
    adz_tensor *lower = adzi_lm_bound(run, false), *upper = adzi_lm_bound(run, true);
    adz_tensor *x = adzi_search_values(run->op, run->optimizer);
    for (int64_t k = 0; k < run->numel && adzi_pending() == ADZ_OK; ++k) {
        const double at = adz_tensor_at(x, &k);
        const double low = adz_tensor_at(lower, &k), high = adz_tensor_at(upper, &k);
        if (!(at >= low && at <= high)) {
            adzi_error(run->op, ADZ_ERR_ARGUMENT,
                "element %lld of all parameters is %s where the step begins, outside of its bounds %s and %s; move it between them first",
                (long long)k, adzi_text_number(at), adzi_text_number(low), adzi_text_number(high));
        }
    }
    return adzi_pending() == ADZ_OK;
}

/* ---- the covariance -------------------------------------------------------------------------- */

/* The elements of parameters that want a gradient, as indices of the vector of all parameters. */
static adz_tensor *free_elements(const adzi_search_run *run)
{
    const adzi_group *group = run->optimizer->groups[0];
    int64_t n = 0, at = 0;
    adz_tensor *all = adz_zeros(ADZ_SHAPE(run->numel), ADZ_I64);
    if (all == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < group->count; ++i) {
        const adz_tensor *t = group->parameters[i];
        for (int64_t k = 0; k < t->numel; ++k, ++at) {
            if (t->requires_grad) {
                ((int64_t *)(void *)all->data)[n++] = at;
            }
        }
    }
    return adz_narrow(all, 0, 0, n);
}

static int64_t index_at(const adz_tensor *elements, int64_t k)
{
    return ((const int64_t *)(const void *)elements->data)[k];
}

/* Checks that each column of J is linearly independent of the columns before it. The columns have
 * the length 1, so an element of R's diagonal is the part that is independent. */
static bool check_determined(
    const adzi_search_run *run, const adz_tensor *r, const adz_tensor *elements, int64_t m)
{
    const int64_t n = r->sizes[1];
    const double eps = run->dtype == ADZ_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    for (int64_t k = 0; k < n; ++k) {
        const double part = fabs(adz_tensor_at(r, (int64_t[]){ k, k }));
        if (!(part > eps * (double)(m > n ? m : n))) {
            adzi_error(run->op, ADZ_ERR_NUMERIC,
                "the residuals do not determine element %lld of all parameters: its column of the Jacobian is 0, or a sum of the columns before it; fix the element, or take it out of the model",
                (long long)index_at(elements, k));
            return false;
        }
    }
    return true;
}

/* unit d^-1 (R^T R)^-1 d^-1 unit of the elements as a matrix of all parameters, whose other
 * elements are 0; d are the lengths of the columns of J. */
static adz_tensor *inverse_of(
    const adzi_search_run *run, const adzi_lm_model *m, adz_tensor *elements, int64_t rows)
{
    const int64_t n = elements->numel;
    adz_tensor *r = NULL;
    if (adz_qr(adz_index_select(m->r, 1, elements), &r) == NULL ||
        !check_determined(run, r, elements, rows)) {
        return NULL;
    }
    adz_tensor *half = adz_solve_triangular(r, adz_eye(n, n, ADZ_F64), true, NULL);
    adz_tensor *small = adz_matmul(half, adz_transpose(half, 0, 1));
    adz_tensor *all = adz_zeros(ADZ_SHAPE(run->numel, run->numel), ADZ_F64);
    if (small == NULL || all == NULL) {
        return NULL;
    }
    const double variance = m->squares.square / (double)(rows - n);
    for (int64_t a = 0; a < n; ++a) {
        for (int64_t b = 0; b < n; ++b) {
            const int64_t i = index_at(elements, a), j = index_at(elements, b);
            const double units = (m->squares.unit / data_of(m->lengths)[i]) *
                                 (m->squares.unit / data_of(m->lengths)[j]);
            data_of(all)[i * run->numel + j] = variance * data_of(small)[a * n + b] * units;
        }
    }
    return all;
}

static adz_tensor *covariance(adzi_search_run *run, double *variance)
{
    adzi_lm_memory *memory = run->memory;
    adz_tensor *r = NULL, *elements = free_elements(run);
    adzi_squares squares = { 1, 0 };
    if (elements == NULL || !adzi_lm_evaluate(run, &r, &squares)) {
        return NULL;
    }
    if (!isfinite(squares.square)) {
        return adzi_fail(run->op, ADZ_ERR_NUMERIC, "a residual is not finite");
    }
    if (r->numel <= elements->numel) {
        return adzi_fail(run->op, ADZ_ERR_SHAPE,
            "%lld residuals do not tell how far they scatter about a model of %lld parameters; there must be more residuals",
            (long long)r->numel, (long long)elements->numel);
    }
    if (!adzi_lm_model_make(run, r, squares, false)) {
        return NULL;
    }
    const int64_t freedom = r->numel - elements->numel;
    *variance = 2 * adzi_squares_loss(squares) / (double)freedom;
    return inverse_of(run, &memory->model, elements, r->numel);
}

adz_tensor *adz_levenberg_marquardt_covariance(
    adz_optimizer *optimizer, adz_optimizer_closure closure, void *user, double *variance)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    static const char op[] = "adz_levenberg_marquardt_covariance";
    if (!check_is_lm(op, optimizer)) {
        return NULL;
    }
    if (closure == NULL) {
        return adzi_fail_null(op, "closure");
    }
    adzi_lm_memory memory = { .func_evals = 0 };
    adzi_search_run run = {
        .op = op, .optimizer = optimizer, .closure = closure, .user = user, .memory = &memory
    };
    double found = NAN;
    adz_scope *scope = adz_scope_open();
    adz_tensor *result = scope != NULL && adzi_search_open(&run) ? covariance(&run, &found) : NULL;
    adzi_drop(memory.scale);
    adzi_lm_model_drop(&memory.model);
    if (result != NULL && variance != NULL) {
        *variance = found;
    }
    return scope != NULL ? adz_scope_return(scope, result) : NULL;
}
