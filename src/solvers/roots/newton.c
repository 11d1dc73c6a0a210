/* Newton's method: each row goes along its own direction, d = -J^-1 f, by its own step. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "adze/loops.h"
#include "ops/linalg/decomposition/lu.h"
#include "solvers/roots/root.h"

/* A residual has to shrink by this part of the step at least (Armijo's condition). */
#define SUFFICIENT 1e-4
/* A row is given up when its step is smaller than this part of the direction. A trust region then
 * takes it over, which only GMRES has not. */
#define SHORTEST        0.1
#define SHORTEST_KRYLOV 1e-7
/* GMRES that leaves more than this part of the residual has found no direction. */
#define NO_DIRECTION 0.9999

double adzi_root_rounding(const adz_tensor *x)
{
    return x->dtype == ADZ_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

adz_tensor *adzi_root_solve(adz_tensor *j, adz_tensor *b)
{
    if (j->sizes[2] == 1 && adzi_self()->tracer != NULL) {
        return adz_div(b, j); /* every format of a file has it */
    }
    return adzi_solve_any(j, b, false);
}

/* ---- directions ------------------------------------------------------------------------------ */

/* J d = -y, where rows outside of `renewed` get the identity for J. */
static adz_tensor *dense_direction(adzi_root *r, adz_tensor *y, adz_tensor *renewed, bool all)
{
    adz_tensor *j = adzi_root_jacobian(&r->f, r->by_rows);
    if (j == NULL) {
        return NULL;
    }
    r->jacobian = j;
    if (!all) {
        adz_tensor *one = adz_eye(j->sizes[2], j->sizes[2], (adz_dtype)j->dtype);
        j = adz_where(r->by_rows ? adz_unsqueeze(renewed, -1) : renewed, j, one);
    }
    adzi_lu factors;
    adz_tensor *b =
        j != NULL ? adz_reshape(adz_neg(y), ADZ_SHAPE(j->sizes[0], j->sizes[2], 1)) : NULL;
    const bool checks = r->fixed && adzi_self()->tracer == NULL; /* nothing in a file can fail */
    if (b == NULL || (checks && !adzi_lu_factor(r->e.op, j, true, &factors))) {
        return NULL;
    }
    adz_tensor *d = checks ? adzi_solve_with(&factors, j, b, false) : adzi_root_solve(j, b);
    return d != NULL ? adz_reshape(d, adz_shape_of(y->rank, y->sizes)) : NULL;
}

static adz_tensor *jacobian_product(adz_tensor *v, void *root)
{
    adz_tensor *product;
    return adzi_functional_jvp(root, &v, &product) ? product : NULL;
}

/* The tolerance of GMRES follows the convergence of the search (Eisenstat and Walker): far from the
 * root an exact direction would be wasted. */
static adz_tensor *krylov_direction(adzi_root *r, adz_tensor *y, adz_tensor *norm)
{
    const double residual = adz_item(norm);
    adzi_gmres_report found;
    if (r->before > 0) {
        const double rate = residual / r->before;
        r->forcing = fmin(0.1, 0.9 * rate * rate);
    }
    r->before = residual;
    const double wanted =
        fmax(fmin(r->forcing, 0.5 * r->o.tolerance / residual + 1e-2), 16 * adzi_root_rounding(y));
    adz_tensor *d = adzi_functional_prepare_jvp(&r->f)
                        ? adzi_gmres((adzi_matrix){ jacobian_product, r }, adz_neg(y),
                              r->o.history > 0 ? r->o.history : 30, wanted, &found)
                        : NULL;
    return d == NULL || found.part <= NO_DIRECTION ? d : adz_full_like(d, NAN);
}

static adz_tensor *direction(
    adzi_root *r, adz_tensor *y, adz_tensor *norm, adz_tensor *renewed, bool all)
{
    return r->o.method == ADZ_ROOT_KRYLOV ? krylov_direction(r, y, norm)
                                          : dense_direction(r, y, renewed, all);
}

/* ---- one value of the function --------------------------------------------------------------- */

/* The sums of |J_ij| |x_j| at the running point, shaped like x. Without the Jacobian, its products
 * with x and with x of alternating signs stand for them. */
static adz_tensor *magnitudes(adzi_root *r)
{
    adz_tensor *x = adz_detach(r->f.x[0]), *flat, *sums;
    if (r->o.method != ADZ_ROOT_KRYLOV) {
        adz_tensor *j = r->jacobian != NULL ? r->jacobian : adzi_root_jacobian(&r->f, r->by_rows);
        flat = j != NULL ? adz_reshape(adz_abs(x), ADZ_SHAPE(j->sizes[0], j->sizes[2], 1)) : NULL;
        sums = flat != NULL ? adz_matmul(adz_abs(adz_detach(j)), flat) : NULL;
        return sums != NULL ? adz_reshape(sums, adz_shape_of(x->rank, x->sizes)) : NULL;
    }
    if (x == NULL || !adzi_functional_prepare_jvp(&r->f)) {
        return NULL;
    }
    adz_tensor *index = adz_arange(0, (double)x->numel, 1, (adz_dtype)x->dtype);
    adz_tensor *sign = adz_sub_number(adz_mul_number(adz_remainder_number(index, 2), 2), 1);
    adz_tensor *alternating =
        sign != NULL ? adz_mul(x, adz_reshape(sign, adz_shape_of(x->rank, x->sizes))) : NULL;
    adz_tensor *first = adz_abs(jacobian_product(x, r));
    return alternating != NULL && first != NULL
               ? adz_maximum(first, adz_abs(jacobian_product(alternating, r)))
               : NULL;
}

/* Whether the residual of each row is what rounding errors of x may cause. A step of length 0 alone
 * says nothing: where the Jacobian is infinite, each step is 0. */
static adz_tensor *is_rounding(const adzi_root *r, adz_tensor *y, adz_tensor *sums)
{
    adz_tensor *allowed = adz_mul_number(sums, 1024 * adzi_root_rounding(y));
    adz_tensor *below = adz_logical_and(adz_le(adz_abs(y), allowed), adz_isfinite(allowed));
    return r->by_rows ? adz_all(below, ADZ_DIMS(1), ADZ_KEEPDIM)
                      : adz_all(below, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* Whether the next point of each row is the one from which its step goes. */
static adz_tensor *changes_nothing(const adzi_root *r, const adzi_root_state *s)
{
    adz_tensor *same = adz_eq(adz_add(s->x, adz_mul(s->step, s->scale)), s->x);
    return r->by_rows ? adz_all(same, ADZ_DIMS(1), ADZ_KEEPDIM)
                      : adz_all(same, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* Ends rows whose step rounding makes meaningless: they are good if their residual is a matter of
 * rounding as well, and have failed if it is not and the step changes no element of x. */
static bool settle(adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *tiny)
{
    adz_tensor *sums = magnitudes(r);
    adz_tensor *small = sums != NULL ? is_rounding(r, y, sums) : NULL;
    adz_tensor *stuck = changes_nothing(r, s);
    stuck = adz_logical_and(stuck, adz_logical_and(tiny, adz_logical_not(small)));
    s->failed = adz_logical_or(s->failed, stuck);
    s->good = adz_logical_or(s->good, adz_logical_and(tiny, small));
    return s->good != NULL && s->failed != NULL;
}

/* ---- branches of a plan ---------------------------------------------------------------------- */

/* What an ordinary call leaves out after a look at a tensor is a branch in a plan. A file has no
 * such branches: masks alone give the same bits. */
static bool has_branches(const adzi_root *r)
{
    return r->looped && adzi_self()->tracer == NULL;
}

/* A part of the work on a value of the function, which changes the state. */
typedef struct part {
    bool (*compute)(adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *rows);
    adzi_root *r;
    adzi_root_state s;
    adz_tensor *y, *rows;
} part;

enum { PART_RESULTS = 5 };

static adz_status give_part(const adzi_root_state *s, adz_tensor **out)
{
    adz_tensor *const all[PART_RESULTS] = { s->step, s->scale, s->good, s->failed, s->why };
    memcpy(out, all, sizeof all);
    return ADZ_OK;
}

static adz_status with_part(adz_tensor **out, adz_tensor *const *in, void *user)
{
    const part *p = user;
    adzi_root_state s = p->s;
    (void)in;
    return p->compute(p->r, &s, p->y, p->rows) ? give_part(&s, out) : adzi_status(NULL);
}

static adz_status without_part(adz_tensor **out, adz_tensor *const *in, void *user)
{
    (void)in;
    return give_part(&((const part *)user)->s, out);
}

/* Computes a part if an element of `needed` is true. */
static bool branch(part *p, adzi_root_state *s, adz_tensor *needed)
{
    adz_tensor *any = needed != NULL ? adz_any(needed, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL,
               *out[PART_RESULTS];
    const bool before = adz_set_grad_enabled(false);
    const bool good = any != NULL && adz_branch(any, with_part, without_part, p, NULL, 0,
                                         PART_RESULTS, out) == ADZ_OK;
    adz_set_grad_enabled(before);
    if (good) {
        *s = (adzi_root_state){ s->x, s->norm, out[0], out[1], out[2], out[3], out[4] };
    }
    return good;
}

/* ---- rows that end --------------------------------------------------------------------------- */

static double shortest(const adzi_root *r)
{
    return r->o.method == ADZ_ROOT_KRYLOV ? SHORTEST_KRYLOV : SHORTEST;
}

/* Gives up rows whose direction is not finite or whose step has become too short. */
static bool give_up(adzi_root *r, adzi_root_state *s, adz_tensor *singular)
{
    adz_tensor *lost = adz_logical_or(singular, adz_le_number(s->scale, shortest(r)));
    adz_tensor *any = adz_any(singular, ADZ_ALL_DIMS, ADZ_DROPDIM);
    lost = adz_logical_and(lost, adz_logical_not(s->good));
    s->failed = adz_logical_or(s->failed, lost);
    if (any == NULL || s->failed == NULL) {
        return false;
    }
    if (r->failure != ADZ_ROOT_SINGULAR) {
        r->failure = adz_item(any) != 0 ? ADZ_ROOT_SINGULAR : ADZ_ROOT_STALLED;
    }
    return true;
}

/* Ends the rows that cannot go on. Most steps end none, and cost reading one number. */
static bool end_rows(
    adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *tiny, adz_tensor *finite)
{
    adz_tensor *open = adz_logical_not(adz_logical_or(s->good, s->failed));
    adz_tensor *singular = adz_logical_not(finite);
    adz_tensor *ended = adz_logical_or(tiny, adz_le_number(s->scale, shortest(r)));
    ended = adz_logical_and(open, adz_logical_or(ended, singular));
    adz_tensor *any = ended != NULL ? adz_any(ended, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    if (any == NULL || adz_item(any) == 0) {
        return any != NULL;
    }
    tiny = adz_logical_and(tiny, open);
    any = tiny != NULL ? adz_any(tiny, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return any != NULL && (adz_item(any) == 0 || settle(r, s, y, tiny)) &&
           give_up(r, s, singular) && adzi_root_check_rows(r, s);
}

/* end_rows in a while loop. */
static bool mask_rows(
    adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *tiny, adz_tensor *finite)
{
    adz_tensor *open = adz_logical_not(adz_logical_or(s->good, s->failed));
    adz_tensor *singular = adz_logical_not(finite);
    adz_tensor *lost = adz_logical_or(singular, adz_le_number(s->scale, shortest(r)));
    open = adz_logical_and(open, r->more);
    adz_tensor *ended = adz_logical_and(open, adz_logical_or(tiny, lost));
    tiny = adz_logical_and(tiny, open);
    part p = { settle, r, *s, y, tiny };
    if (ended == NULL || !(has_branches(r) ? branch(&p, s, tiny) : settle(r, s, y, tiny))) {
        return false;
    }
    lost = adz_logical_and(adz_logical_and(lost, open), adz_logical_not(s->good));
    s->failed = adz_logical_or(s->failed, lost);
    adz_tensor *why = adz_where(adz_any(singular, ADZ_ALL_DIMS, ADZ_DROPDIM),
        adz_scalar(ADZ_ROOT_SINGULAR, ADZ_I64), adz_scalar(ADZ_ROOT_STALLED, ADZ_I64));
    adz_tensor *changes = adz_logical_and(
        adz_any(ended, ADZ_ALL_DIMS, ADZ_DROPDIM), adz_ne_number(s->why, ADZ_ROOT_SINGULAR));
    s->why = adz_where(changes, why, s->why);
    return s->failed != NULL && s->why != NULL;
}

/* Finds the directions from the points that were accepted, and the rows whose step rounding makes
 * meaningless. */
static bool find_directions(adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *accepted)
{
    adz_tensor *renewed = adz_logical_and(accepted, adz_logical_not(s->good));
    const bool reads = !r->fixed && !r->looped;
    int64_t used = 0;
    r->jacobian = NULL;
    if (reads) {
        adz_tensor *count = adz_sum(adz_to(renewed, ADZ_F32), ADZ_ALL_DIMS, ADZ_DROPDIM);
        if (count == NULL) {
            return false;
        }
        used = (int64_t)adz_item(count);
    }
    if (!reads || used > 0) {
        adz_tensor *d = direction(r, y, s->norm, renewed, reads && used == renewed->numel);
        s->step = adz_where(renewed, d, s->step);
    }
    s->scale = adz_where(accepted, adz_ones_like(s->scale), adz_mul_number(s->scale, 0.5));
    /* A row that was not accepted has a residual that rounding may keep from shrinking. */
    const double eps = adzi_root_rounding(y);
    adz_tensor *length = adzi_root_norm(r, s->step), *size = adzi_root_norm(r, s->x);
    adz_tensor *tiny = adz_le(length,
        adz_where(accepted, adz_mul_number(size, 4 * eps), adz_mul_number(size, 1024 * eps)));
    adz_tensor *finite = adz_isfinite(length);
    if (r->fixed) { /* a plan cannot look at the residual, and lets such rows stay */
        s->good = adz_logical_or(s->good, adz_logical_and(tiny, adz_logical_not(s->failed)));
    } else if (!(reads ? end_rows : mask_rows)(r, s, y, tiny, finite)) {
        return false;
    }
    adz_tensor *active =
        adz_logical_and(finite, adz_logical_not(adz_logical_or(s->good, s->failed)));
    s->step = adz_where(active, s->step, adz_zeros_like(s->step));
    return s->step != NULL;
}

/* Finds the directions, unless no value of the function follows. */
static bool go_on(adzi_root *r, adzi_root_state *s, adz_tensor *y, adz_tensor *accepted)
{
    if (r->over || r->last) {
        return true;
    }
    if (!has_branches(r)) {
        return find_directions(r, s, y, accepted);
    }
    part p = { find_directions, r, *s, y, accepted };
    adz_tensor *open = adz_logical_not(adz_logical_or(s->good, s->failed));
    return branch(&p, s, adz_logical_and(open, r->more));
}

static bool work(adzi_functional *f)
{
    adzi_root *r = (adzi_root *)f;
    adzi_root_state s = r->state;
    adz_tensor *y = adz_detach(f->values[0]), *at = adz_detach(f->x[0]);
    adz_tensor *norm = y != NULL ? adzi_root_norm(r, y) : NULL;
    adz_tensor *limit = adz_mul(s.norm, adz_number_sub(1, adz_mul_number(s.scale, SUFFICIENT)));
    adz_tensor *accepted = adz_logical_and(adz_le(norm, limit), adz_isfinite(norm));
    s.x = adz_where(accepted, at, s.x);
    s.norm = adz_where(accepted, norm, s.norm);
    s.good = adz_logical_or(s.good, adz_le_number(s.norm, r->o.tolerance));
    if (s.x == NULL || s.good == NULL) {
        return false;
    }
    if (r->looped || (!r->fixed && r->found.iterations == 1)) {
        /* A row that is not finite at x0 has no norm from then on. */
        s.failed = adz_logical_or(s.failed, adz_logical_not(adz_isfinite(s.norm)));
        r->failure = ADZ_ROOT_NOT_FINITE;
    }
    return adzi_root_check_rows(r, &s) && go_on(r, &s, y, accepted) && adzi_root_note_leaves(r) &&
           adzi_root_keep(f, &s);
}

static bool begin(adzi_root *r)
{
    adzi_root_state *s = &r->state;
    adz_tensor *norm = adzi_root_norm(r, s->x);
    if (norm == NULL) {
        return false;
    }
    s->norm = adz_full_like(norm, INFINITY);
    s->scale = adz_ones_like(norm);
    s->step = adz_full_like(s->x, -0.0); /* x + -0 is x */
    s->good = adz_zeros(adz_shape_of(norm->rank, norm->sizes), ADZ_BOOL);
    s->failed = adz_zeros(adz_shape_of(norm->rank, norm->sizes), ADZ_BOOL);
    r->forcing = 0.1;
    return s->norm != NULL && s->scale != NULL && s->step != NULL && s->failed != NULL;
}

static bool value(adzi_root *r)
{
    const adzi_root_state *s = &r->state;
    const bool begins = !r->looped && r->found.iterations == 0;
    adz_tensor *x = begins ? s->x : adz_add(s->x, adz_mul(s->step, s->scale));
    return x != NULL && adzi_root_evaluate(r, x, work);
}

const adzi_root_parts adzi_root_by_newton = { begin, value };

bool adzi_root_newton(adzi_root *r)
{
    if (!begin(r) || !adzi_root_values(r, &adzi_root_by_newton)) {
        return false;
    }
    const bool left =
        !r->fixed && r->over && r->found.rows_left > 0 && r->found.reason != ADZ_ROOT_NOT_FINITE;
    return !left || r->o.method == ADZ_ROOT_KRYLOV || r->found.iterations >= r->o.max_iterations ||
           adzi_root_trust(r);
}
