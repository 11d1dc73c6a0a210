/* L-BFGS, as torch.optim.LBFGS. All parameters are one vector x, and all their gradients one vector
 * g. */
#include "adze/optim/lbfgs.h"

#include <math.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "adze/scope.h"
#include "base/error.h"
#include "optim/search/lbfgs.h"

enum {
    LR,
    MAX_ITER,
    MAX_EVAL,
    TOLERANCE_GRAD,
    TOLERANCE_CHANGE,
    HISTORY_SIZE,
    STRONG_WOLFE,
    MAXIMIZE,
    SETTINGS
};

double adzi_lbfgs_dot(adz_tensor *a, adz_tensor *b)
{
    double value = NAN;
    ADZ_SCOPE
    {
        adz_tensor *sum = adz_sum(adz_mul(a, b), ADZ_ALL_DIMS, ADZ_DROPDIM);
        value = sum != NULL ? adz_item(sum) : NAN;
    }
    return value;
}

double adzi_lbfgs_largest(adz_tensor *x)
{
    double value = NAN;
    ADZ_SCOPE
    {
        adz_tensor *largest = adz_amax(adz_abs(x), ADZ_ALL_DIMS, ADZ_DROPDIM);
        value = largest != NULL ? adz_item(largest) : NAN;
    }
    return value;
}

/* ---- the direction --------------------------------------------------------------------------- */

/* -H g, where H approximates the inverse Hessian from the pairs: the two-loop recursion. The
 * factors of the first loop are kept in `factors`. */
static adz_tensor *two_loops(const adzi_lbfgs_memory *m, adz_tensor *g, double *factors)
{
    adz_tensor *q = adz_neg(g);
    for (size_t i = m->n; i-- > 0 && q != NULL;) {
        const adzi_lbfgs_pair *p = &m->pairs[i];
        factors[i] = adzi_lbfgs_dot(p->s, q) * p->ro;
        q = adz_add_scaled_(q, p->y, -factors[i]);
    }
    q = q != NULL ? adz_mul_number_(q, m->h_diag) : NULL;
    for (size_t i = 0; i < m->n && q != NULL; ++i) {
        const adzi_lbfgs_pair *p = &m->pairs[i];
        q = adz_add_scaled_(q, p->s, factors[i] - adzi_lbfgs_dot(p->y, q) * p->ro);
    }
    return q;
}

/* Learns from the last move, and keeps the next direction in the memory. */
static bool turn(const adzi_search_run *run, adzi_lbfgs_memory *m, adz_tensor *g)
{
    if (m->n_iter == 1) {
        adz_tensor *d = adz_neg(g);
        m->h_diag = 1;
        if (d != NULL) {
            adzi_lbfgs_keep(&m->d, d);
        }
        return d != NULL;
    }
    const size_t most = (size_t)run->settings[HISTORY_SIZE];
    adz_tensor *y = adz_sub(g, m->prev_grad), *s = adz_mul_number(m->d, m->t);
    const double ys = adzi_lbfgs_dot(y, s);
    adzi_lbfgs_forget(m, most);
    if (ys > 1e-10) {
        if (!adzi_lbfgs_remember(run->op, m, (adzi_lbfgs_pair){ y, s, 1 / ys }, most)) {
            return false;
        }
        m->h_diag = ys / adzi_lbfgs_dot(y, y);
    }
    double *factors = adzi_alloc((m->n + 1) * sizeof *factors);
    if (factors == NULL) {
        adzi_fail_memory(run->op, (m->n + 1) * sizeof *factors);
        return false;
    }
    adz_tensor *d = adzi_pending() == ADZ_OK ? two_loops(m, g, factors) : NULL;
    adzi_free(factors, (m->n + 1) * sizeof *factors);
    if (d != NULL) {
        adzi_lbfgs_keep(&m->d, d);
    }
    return d != NULL;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* A step between two iterations. Loss and gradient have the sign. */
typedef struct {
    adzi_search_run *run;
    adzi_lbfgs_memory *memory;
    double sign; /* -1 to ascend */
    double loss;
    int64_t evaluations; /* of this step */
    bool done;
} progress;

/* The line's gradient that ends next: of none of the points that are kept. */
static adz_tensor **free_gradient(
    adzi_line *line, const adzi_line_point *a, const adzi_line_point *b)
{
    adz_tensor **gradient = line->gradients;
    while (*gradient != NULL && (*gradient == a->gradient || *gradient == b->gradient)) {
        ++gradient;
    }
    return gradient;
}

static bool evaluate_in_scope(adzi_line *line, adzi_line_point *p, adz_tensor **gradient)
{
    adzi_search_run *run = line->run;
    adz_tensor *x = adz_add_scaled(line->x, line->d, p->t), *g = NULL;
    if (x == NULL) {
        return false;
    }
    adzi_search_move(run->op, run->optimizer, x);
    if (!adzi_search_evaluate(run, &p->loss, &g)) {
        return false;
    }
    g = line->sign < 0 ? adz_neg(g) : g;
    if (g == NULL) {
        return false;
    }
    adzi_lbfgs_keep(gradient, g);
    p->gradient = g;
    p->loss *= line->sign;
    p->slope = adzi_lbfgs_dot(g, line->d);
    if (!isfinite(p->loss) || !isfinite(p->slope)) {
        p->loss = p->slope = INFINITY;
    }
    ++line->evaluations;
    return adzi_pending() == ADZ_OK;
}

bool adzi_line_evaluate(adzi_line *line, double t, adzi_line_point *p, const adzi_line_point *a,
    const adzi_line_point *b)
{
    adz_tensor **gradient = free_gradient(line, a, b);
    adz_scope *scope = adz_scope_open();
    *p = (adzi_line_point){ .t = t };
    const bool good = scope != NULL && evaluate_in_scope(line, p, gradient);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

/* Checks the loss and the gradients of a point that the step goes on from, and whether the
 * gradients are small enough to end there. */
static bool arrive(progress *p)
{
    const double largest = adzi_lbfgs_largest(p->memory->g);
    if (adzi_pending() == ADZ_OK && !(isfinite(p->loss) && isfinite(largest))) {
        adzi_error(p->run->op, ADZ_ERR_NUMERIC,
            "after %.0f iterations of L-BFGS the loss is %s, and the largest gradient %s; "
            "set strong_wolfe, which shortens moves to such points, or a smaller lr",
            p->memory->n_iter, adzi_text_number(p->sign * p->loss), adzi_text_number(largest));
    }
    p->done = largest <= p->run->settings[TOLERANCE_GRAD];
    return adzi_pending() == ADZ_OK;
}

/* Moves the parameters along the direction. After the last iteration nobody needs the loss, unless
 * a line search asks for it. */
static bool move(progress *p, double t, double slope, bool last)
{
    adzi_lbfgs_memory *m = p->memory;
    const double *s = p->run->settings;
    const bool searches = s[STRONG_WOLFE] != 0;
    adzi_line line = { .run = p->run,
        .x = adzi_search_values(p->run->op, p->run->optimizer),
        .d = m->d,
        .sign = p->sign,
        .tolerance = 1e-9,
        .most = (int64_t)s[MAX_EVAL] - p->evaluations,
        .gradients = m->gradients,
        .start = { 0, p->loss, slope, p->memory->g } };
    adzi_line_point to = { t, p->loss, slope, p->memory->g };
    bool good = line.x != NULL;
    if (good && searches) {
        good = adzi_line_search(&line, t, &to);
    } else if (good && !last) {
        good = adzi_line_evaluate(&line, t, &to, &line.start, &line.start);
    }
    adz_tensor *x = good ? adz_add_scaled(line.x, m->d, to.t) : NULL;
    if (x == NULL) {
        return false; /* the memory may be gone */
    }
    if (searches || last) {
        adzi_search_move(p->run->op, p->run->optimizer, x);
    }
    m->t = to.t;
    m->func_evals += (double)line.evaluations;
    p->evaluations += line.evaluations;
    p->loss = to.loss;
    adzi_lbfgs_keep(&m->g, to.gradient);
    adzi_lbfgs_end_line(m);
    return arrive(p);
}

static bool iterate(progress *p, int64_t i)
{
    adzi_lbfgs_memory *m = p->memory;
    const double *s = p->run->settings;
    const bool last = i == (int64_t)s[MAX_ITER];
    ++m->n_iter;
    if (!turn(p->run, m, p->memory->g)) {
        return false;
    }
    adzi_lbfgs_keep(&m->prev_grad, p->memory->g);
    m->prev_loss = p->loss;
    m->t = s[LR];
    if (m->n_iter == 1) {
        adz_tensor *sum = adz_sum(adz_abs(p->memory->g), ADZ_ALL_DIMS, ADZ_DROPDIM);
        m->t *= sum != NULL ? fmin(1, 1 / adz_item(sum)) : NAN;
    }
    const double slope = adzi_lbfgs_dot(p->memory->g, m->d), before = p->loss;
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    if (slope > -s[TOLERANCE_CHANGE]) {
        p->done = true;
        return true;
    }
    if (!move(p, m->t, slope, last)) {
        return false;
    }
    const double moved = adzi_lbfgs_largest(m->d) * fabs(m->t);
    p->done = p->done || last || p->evaluations >= (int64_t)s[MAX_EVAL] ||
              moved <= s[TOLERANCE_CHANGE] || fabs(p->loss - before) < s[TOLERANCE_CHANGE];
    return adzi_pending() == ADZ_OK;
}

/* Evaluates the closure where the step begins. */
static bool start(progress *p)
{
    double loss = 0;
    adz_tensor *g = NULL;
    if (!adzi_search_evaluate(p->run, &loss, &g)) {
        return false;
    }
    g = p->sign < 0 ? adz_neg(g) : g;
    if (g == NULL) {
        return false;
    }
    ++p->memory->func_evals;
    p->run->loss = loss;
    p->loss = p->sign * loss;
    p->evaluations = 1;
    adzi_lbfgs_keep(&p->memory->g, g);
    return arrive(p);
}

static bool step(adzi_search_run *run)
{
    adzi_lbfgs_memory *m = run->memory;
    progress p = { .run = run, .memory = m, .sign = run->settings[MAXIMIZE] != 0 ? -1 : 1 };
    if (m->d != NULL && (adz_dtype)m->d->dtype != run->dtype) {
        adzi_error(run->op, ADZ_ERR_DTYPE,
            "the parameters are %s, the history of L-BFGS %s; make the optimizer after "
            "adz_module_to",
            adz_dtype_name(run->dtype), adz_dtype_name((adz_dtype)m->d->dtype));
        return false;
    }
    bool good = true;
    for (int64_t i = 0; i <= (int64_t)run->settings[MAX_ITER] && good && !p.done; ++i) {
        adz_scope *scope = adz_scope_open();
        good = scope != NULL && (i == 0 ? start(&p) : iterate(&p, i));
        if (scope != NULL) {
            adz_scope_close(scope);
        }
    }
    if (good) { /* else the memory may be gone */
        adzi_drop(m->g);
        m->g = NULL;
    }
    return good;
}

/* ---- the optimizer --------------------------------------------------------------------------- */

static adz_status check(const char *op, const double *s)
{
    static const struct {
        int setting;
        const char *name;
    } counts[] = { { MAX_ITER, "max_iter" }, { MAX_EVAL, "max_eval" },
        { HISTORY_SIZE, "history_size" } };
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == ADZ_OK; ++i) {
        status = adzi_search_check_count(op, counts[i].name, s[counts[i].setting], 1);
    }
    return status;
}

static const adz_optimizer_type lbfgs_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "LBFGS",
    .settings = { { "lr", 1, ADZ_RANGE_NOT_NEGATIVE }, { "max_iter", 20, ADZ_RANGE_CHECKED },
        { "max_eval", 25, ADZ_RANGE_CHECKED }, { "tolerance_grad", 1e-7, ADZ_RANGE_NOT_NEGATIVE },
        { "tolerance_change", 1e-9, ADZ_RANGE_NOT_NEGATIVE },
        { "history_size", 100, ADZ_RANGE_CHECKED }, { "strong_wolfe", 0, ADZ_RANGE_FLAG },
        { "maximize", 0, ADZ_RANGE_FLAG } },
    .update = adzi_search_no_update,
    .check = check,
    .whole = true,
    .uncounted = true,
};

static const adzi_search lbfgs_search = {
    .size = sizeof(adzi_lbfgs_memory),
    .step = step,
    .numbers = { { "func_evals", offsetof(adzi_lbfgs_memory, func_evals) },
        { "n_iter", offsetof(adzi_lbfgs_memory, n_iter) }, { "t", offsetof(adzi_lbfgs_memory, t) },
        { "prev_loss", offsetof(adzi_lbfgs_memory, prev_loss) },
        { "H_diag", offsetof(adzi_lbfgs_memory, h_diag) } },
    .copy = adzi_lbfgs_copy,
    .drop = adzi_lbfgs_drop,
    .collect = adzi_lbfgs_collect,
    .read = adzi_lbfgs_read,
    .complete = adzi_lbfgs_complete,
};

ADZ_OPTIONS_INIT(adz_lbfgs_options_init, adz_lbfgs_options, ADZ_LBFGS_OPTIONS)

adz_optimizer *adz_lbfgs_new(
    adz_tensor_list parameters, double lr, const adz_lbfgs_options *options)
{
    static const char op[] = "adz_lbfgs_new";
    adz_lbfgs_options o = ADZ_LBFGS_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LBFGS_OPTIONS, &o, options)) {
        return NULL;
    }
    const double evaluations =
        o.max_eval != 0 ? (double)o.max_eval : floor((double)o.max_iter * 5 / 4);
    const double settings[SETTINGS] = { lr, (double)o.max_iter, evaluations, o.tolerance_grad,
        o.tolerance_change, (double)o.history_size, o.strong_wolfe, o.maximize };
    return adzi_search_new(op, &lbfgs_type, &lbfgs_search, parameters, settings);
}
