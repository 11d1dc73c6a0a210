/* Anderson's acceleration of x = g(x). With f(x) = g(x) - x, and the last differences of points and
 * of residuals as the rows of X and F, the next point is
 *
 *     x + f - (X + F)^T c,   c = argmin |f - F^T c|
 *
 * Each row of the batch has a least squares problem of its own, by its normal equations. */
#include <float.h>
#include <math.h>

#include "solvers/roots/root.h"

/* The diagonal of the normal equations grows by this part of its mean, because the differences of a
 * search that converges along one direction are nearly parallel. */
#define RIDGE 1e-13

/* Residuals between these need no other unit: their products are normal numbers of the dtype. */
#define SMALL_F32 1e-15
#define LARGE_F32 1e15
#define SMALL_F64 1e-140
#define LARGE_F64 1e140

/* Whether the residuals of all rows that are left may be multiplied with each other. The form with
 * fixed_iterations does not look, and in a while loop a tensor tells. */
static bool in_range(const adzi_root *r, bool f32)
{
    return !r->fixed && !r->looped && r->o.tolerance > (f32 ? SMALL_F32 : SMALL_F64) &&
           r->found.residual < (f32 ? LARGE_F32 : LARGE_F64);
}

/* The reciprocal of a power of two near the largest element of each item of [N, n, D], as [N, 1,
 * 1]. It is exact. Products of numbers that are multiplied by it neither overflow nor become 0. */
static adz_tensor *unit_of(adz_tensor *t, bool f32)
{
    const double most = f32 ? 120 : 1000;
    adz_tensor *size = adz_amax(adz_abs(t), ADZ_DIMS(1, 2), ADZ_KEEPDIM);
    return adz_exp2(adz_neg(adz_clamp(adz_floor(adz_log2(size)), -most, most)));
}

/* In a while loop, the unit is 1 where in_range() would say that none is needed. */
static adz_tensor *unit_in_loop(const adzi_root *r, adz_tensor *norm, adz_tensor *unit, bool f32)
{
    if (!r->looped || r->o.tolerance <= (f32 ? SMALL_F32 : SMALL_F64)) {
        return unit;
    }
    adz_tensor *needless = adz_lt_number(adz_max(norm), f32 ? LARGE_F32 : LARGE_F64);
    return adz_where(needless, adz_ones_like(unit), unit);
}

/* [N, n, D] from the differences, [1, n, D] without rows. */
static adz_tensor *stacked(const adzi_root *r, adz_tensor *const *list)
{
    adz_tensor *flat[ADZI_ROOT_HISTORY];
    const adz_tensor *x = r->state.x;
    const int64_t rows = r->by_rows ? x->sizes[0] : 1, columns = x->numel / rows;
    for (size_t i = 0; i < r->n_differences; ++i) {
        flat[i] = adz_reshape(list[i], ADZ_SHAPE(rows, columns));
    }
    return adz_stack(flat, r->n_differences, 1);
}

static adz_tensor *next_point(const adzi_root *r, adz_tensor *at, adz_tensor *f, adz_tensor *norm)
{
    if (r->n_differences == 0) {
        return adz_add(at, f);
    }
    adz_tensor *points = stacked(r, r->points), *residuals = stacked(r, r->residuals);
    if (points == NULL || residuals == NULL) {
        return NULL;
    }
    const int64_t rows = residuals->sizes[0], n = residuals->sizes[1];
    const bool f32 = residuals->dtype == ADZ_F32;
    adz_tensor *column = adz_reshape(f, ADZ_SHAPE(rows, residuals->sizes[2], 1));
    adz_tensor *units = residuals;
    if (!in_range(r, f32)) {
        adz_tensor *unit = unit_in_loop(r, norm, unit_of(residuals, f32), f32);
        units = adz_mul(residuals, unit);
        column = adz_mul(column, unit);
    }
    adz_tensor *normal = units != NULL ? adz_matmul(units, adz_transpose(units, 1, 2)) : NULL;
    adz_tensor *one = adz_eye(n, n, (adz_dtype)residuals->dtype);
    adz_tensor *trace = adz_sum(adz_mul(normal, one), ADZ_DIMS(1, 2), ADZ_KEEPDIM);
    adz_tensor *ridge = adz_add_number(
        adz_mul_number(trace, (f32 ? 1e-6 : RIDGE) / (double)n), f32 ? FLT_MIN : DBL_MIN);
    normal = adz_add(normal, adz_mul(one, ridge));
    adz_tensor *right = adz_matmul(units, column);
    if (normal == NULL || right == NULL) {
        return NULL;
    }
    /* A loop comes here once more than an ordinary call, and this must not fail. */
    adz_tensor *c = r->looped ? adzi_root_solve(normal, right) : adz_solve(normal, right);
    adz_tensor *back = adz_matmul(adz_transpose(adz_add(points, residuals), 1, 2), c);
    return back != NULL
               ? adz_sub(adz_add(at, f), adz_reshape(back, adz_shape_of(at->rank, at->sizes)))
               : NULL;
}

size_t adzi_root_history(const adzi_root *r)
{
    return r->o.history > 0 ? (size_t)r->o.history : 5;
}

/* Adds what the last step has changed to the differences, and forgets the oldest ones. */
static bool remember(adzi_root *r, adz_tensor *at, adz_tensor *f, adz_tensor **before)
{
    const size_t most = adzi_root_history(r);
    if (before[0] == NULL) {
        return true;
    }
    size_t n = r->n_differences;
    if (n == most) {
        for (size_t i = 0; i + 1 < n; ++i) {
            r->points[i] = r->points[i + 1];
            r->residuals[i] = r->residuals[i + 1];
        }
        --n;
    }
    r->points[n] = adz_sub(at, before[0]);
    r->residuals[n] = adz_sub(f, before[1]);
    r->n_differences = n + 1;
    return r->points[n] != NULL && r->residuals[n] != NULL;
}

/* state.step is the next point, and state.scale the residual g(x) - x at state.x. */
static bool work(adzi_functional *f)
{
    adzi_root *r = (adzi_root *)f;
    adzi_root_state s = r->state;
    adz_tensor *at = adz_detach(f->x[0]);
    adz_tensor *residual = at != NULL ? adz_sub(adz_detach(f->values[0]), at) : NULL;
    adz_tensor *before[] = { r->found.iterations == 1 ? NULL : s.x, s.scale };
    adz_tensor *norm = residual != NULL ? adzi_root_norm(r, residual) : NULL;
    if (norm == NULL) {
        return false;
    }
    adz_tensor *finite = adz_isfinite(norm);
    residual = adz_where(finite, residual, adz_zeros_like(residual));
    at = adz_where(adz_logical_and(finite, adz_logical_not(s.good)), at, s.x);
    s.failed = adz_logical_or(s.failed, adz_logical_not(finite));
    s.norm = adz_where(s.good, s.norm, norm);
    s.good = adz_logical_or(s.good, adz_le_number(s.norm, r->o.tolerance));
    if (s.good == NULL || s.failed == NULL || !remember(r, at, residual, before)) {
        return false;
    }
    r->failure = r->found.iterations == 1 ? ADZ_ROOT_NOT_FINITE : ADZ_ROOT_STALLED;
    if (!adzi_root_check_rows(r, &s)) {
        return false;
    }
    adz_tensor *next = r->over || r->last ? at : next_point(r, at, residual, s.norm);
    adz_tensor *done = adz_logical_or(s.good, s.failed);
    s.x = at;
    s.scale = residual;
    s.step = next != NULL ? adz_where(done, at, next) : NULL;
    if (!adzi_root_note_leaves(r) || !adzi_root_keep(f, &s)) {
        return false;
    }
    for (size_t i = 0; i < r->n_differences; ++i) {
        f->found[f->n_found++] = r->points[i];
        f->found[f->n_found++] = r->residuals[i];
    }
    return true;
}

static bool begin(adzi_root *r)
{
    adzi_root_state *s = &r->state;
    adz_tensor *norm = adzi_root_norm(r, s->x);
    if (norm == NULL) {
        return false;
    }
    s->norm = adz_full_like(norm, INFINITY);
    s->step = s->x;
    s->scale = adz_zeros_like(s->x);
    s->good = adz_zeros(adz_shape_of(norm->rank, norm->sizes), ADZ_BOOL);
    s->failed = adz_zeros(adz_shape_of(norm->rank, norm->sizes), ADZ_BOOL);
    return s->norm != NULL && s->scale != NULL && s->good != NULL && s->failed != NULL;
}

static bool value(adzi_root *r)
{
    return adzi_root_evaluate(r, r->state.step, work);
}

const adzi_root_parts adzi_root_by_anderson = { begin, value };

bool adzi_root_anderson(adzi_root *r)
{
    return begin(r) && adzi_root_values(r, &adzi_root_by_anderson);
}
