/* L-BFGS, as torch.optim.LBFGS. All parameters are one vector x, and all their gradients one vector
 * g. */
#include "adze/optim/lbfgs.h"

#include <math.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "adze/scope.h"
#include "base/capture.h"
#include "base/error.h"
#include "solvers/closures/lbfgs.h"

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

/* ---- the step -------------------------------------------------------------------------------- */

/* A step between two iterations. Loss and gradient have the sign, and are divided by the unit. */
typedef struct {
    adzi_search_run *run;
    adzi_lbfgs_memory *memory;
    adz_tensor *scale; /* in the parameters' dtype; or NULL */
    double sign;       /* -1 to ascend */
    double loss;
    double largest;      /* the largest absolute value of a gradient, times the scale */
    double size;         /* that of a parameter, divided by the scale */
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

static adz_tensor *with_factor(adz_tensor *g, double factor)
{
    return factor == 1 ? g : factor == -1 ? adz_neg(g) : adz_mul_number(g, factor);
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
    g = with_factor(g, line->factor);
    if (g == NULL) {
        return false;
    }
    adzi_lbfgs_keep(gradient, g);
    p->gradient = g;
    p->loss *= line->factor;
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

static void end(progress *p, adz_closure_reason reason)
{
    p->done = true;
    p->run->reason = reason;
}

/* The largest gradient relative to the loss and the size of the parameters: by which part the loss
 * changes if the parameter moves by the size of the largest one. Its units cancel. */
static double relative_gradient(const progress *p)
{
    return p->largest == 0 ? 0 : p->largest / fabs(p->loss) * p->size;
}

/* Ends a step that cannot gain anything more. */
static void end_at_rest(progress *p)
{
    const double eps = adzi_lbfgs_rounding(p->run->dtype);
    const double most = fmax(100 * p->run->settings[TOLERANCE_GRAD], sqrt(eps));
    end(p, relative_gradient(p) <= most ? ADZ_CLOSURE_CONVERGED : ADZ_CLOSURE_STALLED);
}

/* Checks the loss and the gradients of a point that the step goes on from, and whether the
 * gradients are small enough to end there. */
static bool arrive(progress *p)
{
    adzi_lbfgs_memory *m = p->memory;
    adz_tensor *x = adzi_search_values(p->run->op, p->run->optimizer);
    const double size = adzi_lbfgs_largest(adzi_lbfgs_over(x, p->scale));
    p->largest = adzi_lbfgs_largest(adzi_lbfgs_times(m->g, p->scale));
    p->size = p->scale != NULL ? fmax(size, 1) : size;
    if (adzi_pending() == ADZ_OK && !(isfinite(p->loss) && isfinite(p->largest))) {
        adzi_error(p->run->op, ADZ_ERR_NUMERIC,
            "after %.0f iterations of L-BFGS the loss is %s, and the largest gradient %s; set strong_wolfe, which shortens moves to such points, or a smaller lr",
            m->n_iter, adzi_text_number(p->sign * p->loss * m->unit),
            adzi_text_number(p->largest * m->unit));
    }
    m->largest_loss = fmax(m->largest_loss, fabs(p->loss));
    if (relative_gradient(p) <= p->run->settings[TOLERANCE_GRAD]) {
        end(p, ADZ_CLOSURE_CONVERGED);
    }
    return adzi_pending() == ADZ_OK;
}

/* Moves the parameters along the direction. After the last iteration nobody needs the loss, unless
 * a line search asks for it. */
static bool move(progress *p, double reach, double slope, bool last)
{
    adzi_lbfgs_memory *m = p->memory;
    const double *s = p->run->settings;
    const bool searches = s[STRONG_WOLFE] != 0;
    adzi_line line = { .run = p->run,
        .x = adzi_search_values(p->run->op, p->run->optimizer),
        .d = m->d,
        .factor = p->sign / m->unit,
        .reach = reach,
        .tolerance = adzi_lbfgs_rounding(p->run->dtype) * p->size,
        .most = (int64_t)s[MAX_EVAL] - p->evaluations,
        .gradients = m->gradients,
        .start = { 0, p->loss, slope, m->g } };
    adzi_line_point to = { m->t, p->loss, slope, m->g };
    bool good = line.x != NULL;
    if (good && searches) {
        good = adzi_line_search(&line, m->t, &to);
    } else if (good && !last) {
        good = adzi_line_evaluate(&line, m->t, &to, &line.start, &line.start);
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
    p->loss = searches || !last ? to.loss : NAN;
    adzi_lbfgs_keep(&m->g, to.gradient);
    adzi_lbfgs_end_line(m);
    return !searches && last ? true : arrive(p);
}

/* Sets the length of the first trial. The first move of all has a length of 1 in units of the
 * scale, and without a scale that of torch.optim.LBFGS. Rounding would hide what a very short move
 * gains from the line search, so the slope promises 10 rounding errors of the loss at least. A very
 * long move may end where the loss is flat, so it is 100 times the largest parameter at most. */
static bool choose_length(progress *p, double slope, double reach)
{
    adzi_lbfgs_memory *m = p->memory;
    m->t = p->run->settings[LR];
    if (m->n_iter > 1) {
        return true;
    }
    adz_tensor *g = adzi_lbfgs_times(m->g, p->scale);
    adz_tensor *sum = adz_sum(adz_abs(g), ADZ_ALL_DIMS, ADZ_DROPDIM);
    const double length = sum != NULL ? 1 / adz_item(sum) : NAN;
    m->t *= p->scale != NULL ? length : fmin(m->unit, length);
    if (p->run->settings[STRONG_WOLFE] != 0 && slope < 0) {
        const double visible = 10 * adzi_lbfgs_rounding(p->run->dtype) * fabs(p->loss) / -slope;
        m->t = fmax(m->t, visible);
        m->t = p->size > 0 ? fmin(m->t, 100 * p->size / reach) : m->t;
    }
    return adzi_pending() == ADZ_OK;
}

/* Whether the direction promises less than the rounding error of the loss. */
static bool is_at_rest(const progress *p, double slope)
{
    const adzi_lbfgs_memory *m = p->memory;
    const double eps = adzi_lbfgs_rounding(p->run->dtype);
    return !(slope < 0) || (m->n > 0 && -slope <= eps * fabs(p->loss));
}

/* Whether the loss falls to 0, where it has no relative gradient: it has become a rounding error of
 * the largest loss, and the direction is short against the parameters. */
static bool vanishes(const progress *p, double reach)
{
    const adzi_lbfgs_memory *m = p->memory;
    const double eps = adzi_lbfgs_rounding(p->run->dtype);
    return m->n > 0 && reach <= fmax(p->run->settings[TOLERANCE_CHANGE], eps) * p->size &&
           fabs(p->loss) <= eps * sqrt(eps) * m->largest_loss;
}

/* Decides whether the step ends after a move. */
static void check_progress(progress *p, double before, double moved, bool first, bool last)
{
    const double *s = p->run->settings;
    const bool used = p->evaluations >= (int64_t)s[MAX_EVAL];
    const bool little = moved <= s[TOLERANCE_CHANGE] * p->size &&
                        fabs(p->loss - before) <= s[TOLERANCE_CHANGE] * fabs(p->loss);
    if (p->done) {
        return;
    }
    if (moved == 0 && (first || !used)) {
        end_at_rest(p);
    } else if (moved > 0 && little) {
        end_at_rest(p);
    } else if (last || used) {
        end(p, ADZ_CLOSURE_LIMIT);
    }
}

static bool iterate(progress *p, int64_t i)
{
    adzi_lbfgs_memory *m = p->memory;
    const double *s = p->run->settings, before = p->loss;
    const bool last = i == (int64_t)s[MAX_ITER];
    ++m->n_iter;
    if (!adzi_lbfgs_turn(p->run, m, p->scale, (size_t)s[HISTORY_SIZE])) {
        return false;
    }
    adzi_lbfgs_keep(&m->prev_grad, m->g);
    m->prev_loss = p->loss;
    const double slope = adzi_lbfgs_dot(m->g, m->d);
    const double reach = adzi_lbfgs_largest(adzi_lbfgs_over(m->d, p->scale));
    if (!choose_length(p, slope, reach) || adzi_pending() != ADZ_OK) {
        return false;
    }
    if (vanishes(p, reach)) {
        end(p, ADZ_CLOSURE_CONVERGED);
        return true;
    }
    if (is_at_rest(p, slope)) {
        end_at_rest(p);
        return true;
    }
    if (!move(p, reach, slope, last)) {
        return false;
    }
    check_progress(p, before, reach * fabs(m->t), i == 1, last);
    return adzi_pending() == ADZ_OK;
}

/* Evaluates the closure where the step begins. */
static bool start(progress *p)
{
    adzi_lbfgs_memory *m = p->memory;
    double loss = 0;
    adz_tensor *g = NULL;
    if (!adzi_search_evaluate(p->run, &loss, &g)) {
        return false;
    }
    if (m->unit == 0) {
        const double largest = adzi_lbfgs_largest(adzi_lbfgs_times(g, p->scale));
        m->unit = m->n_iter > 0 ? 1 : adzi_lbfgs_unit(p->run->dtype, loss, largest);
    }
    g = with_factor(g, p->sign / m->unit);
    if (g == NULL || adzi_pending() != ADZ_OK) {
        return false;
    }
    ++m->func_evals;
    p->run->loss = loss;
    p->loss = p->sign * loss / m->unit;
    p->evaluations = 1;
    adzi_lbfgs_keep(&m->g, g);
    return arrive(p);
}

/* Whether the step can begin. False with the error recorded. */
static bool prepare(progress *p)
{
    adzi_search_run *run = p->run;
    adz_tensor *scale = run->optimizer->constants[0];
    if (p->memory->d != NULL && (adz_dtype)p->memory->d->dtype != run->dtype) {
        adzi_error(run->op, ADZ_ERR_DTYPE,
            "the parameters are %s, the history of L-BFGS %s; make the optimizer after adz_module_to",
            adz_dtype_name(run->dtype), adz_dtype_name((adz_dtype)p->memory->d->dtype));
        return false;
    }
    p->scale = scale != NULL ? adz_to(scale, run->dtype) : NULL;
    run->reason = ADZ_CLOSURE_LIMIT;
    return adzi_pending() == ADZ_OK;
}

static bool step(adzi_search_run *run)
{
    adzi_lbfgs_memory *m = run->memory;
    progress p = { .run = run, .memory = m, .sign = run->settings[MAXIMIZE] != 0 ? -1 : 1 };
    bool good = prepare(&p);
    for (int64_t i = 0; i <= (int64_t)run->settings[MAX_ITER] && good && !p.done; ++i) {
        adz_scope *scope = adz_scope_open();
        good = scope != NULL && (i == 0 ? start(&p) : iterate(&p, i));
        if (scope != NULL) {
            adz_scope_close(scope);
        }
    }
    if (good) { /* else the memory may be gone */
        run->after = p.sign * p.loss * m->unit;
        run->gradient = adzi_lbfgs_largest(m->g) * m->unit;
        adzi_drop(m->g);
        m->g = NULL;
    }
    return good;
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* The settings. `evaluations` describes max_eval, which the options may leave to max_iter. */
#define LBFGS_SETTINGS(evaluations)                                                           \
    ADZ_SETTING("lr", 1, ADZ_FINITE_FROM(0)),                                                 \
        ADZ_FIELD(adz_lbfgs_options, max_iter, .value = 20, ADZ_CLOSED(1, 1e9)), evaluations, \
        ADZ_FIELD(adz_lbfgs_options, tolerance_grad, .value = 1e-7, ADZ_FINITE_FROM(0)),      \
        ADZ_FIELD(adz_lbfgs_options, tolerance_change, .value = 1e-9, ADZ_FINITE_FROM(0)),    \
        ADZ_FIELD(adz_lbfgs_options, history_size, .value = 100, ADZ_CLOSED(1, 1e9)),         \
        ADZ_FIELD(adz_lbfgs_options, strong_wolfe, .value = 0),                               \
        ADZ_FIELD(adz_lbfgs_options, maximize, .value = 0)

static const adz_optimizer_type lbfgs_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "LBFGS",
    .settings = { LBFGS_SETTINGS(
        ADZ_FIELD(adz_lbfgs_options, max_eval, .value = 25, ADZ_CLOSED(1, 1e9))) },
    .update = adzi_search_no_update,
    .whole = true,
    .uncounted = true,
};

static const adzi_search lbfgs_search = {
    .size = sizeof(adzi_lbfgs_memory),
    .step = step,
    .numbers = { { .name = "func_evals", .offset = offsetof(adzi_lbfgs_memory, func_evals) },
        { .name = "n_iter", .offset = offsetof(adzi_lbfgs_memory, n_iter) },
        { .name = "t", .offset = offsetof(adzi_lbfgs_memory, t) },
        { .name = "prev_loss", .offset = offsetof(adzi_lbfgs_memory, prev_loss) },
        { .name = "H_diag", .offset = offsetof(adzi_lbfgs_memory, h_diag) },
        { .name = "unit", .offset = offsetof(adzi_lbfgs_memory, unit), .optional = true },
        { .name = "largest_loss",
            .offset = offsetof(adzi_lbfgs_memory, largest_loss),
            .optional = true } },
    .copy = adzi_lbfgs_copy,
    .drop = adzi_lbfgs_drop,
    .collect = adzi_lbfgs_collect,
    .read = adzi_lbfgs_read,
    .complete = adzi_lbfgs_complete,
};

static const adz_field options_fields[] = { LBFGS_SETTINGS(
    ADZ_FIELD(adz_lbfgs_options, max_eval, .value = 0, ADZ_CLOSED(0, 1e9))) };

ADZ_OPTIONS_TABLE(adz_lbfgs_options, ADZ_LBFGS_OPTIONS, options_fields)

adz_optimizer *adz_lbfgs_new(
    adz_tensor_list parameters, double lr, const adz_lbfgs_options *options)
{
    static const char op[] = "adz_lbfgs_new";
    double settings[ADZ_OPTIMIZER_SETTINGS] = { lr };
    adz_lbfgs_options o;
    if (!adzi_optimizer_take(op, &adz_lbfgs_options_table, options, &o, settings)) {
        return NULL;
    }
    if (o.max_eval == 0) {
        settings[MAX_EVAL] = floor((double)o.max_iter * 5 / 4);
    }
    return adzi_search_new(op, &lbfgs_type, &lbfgs_search, parameters, settings);
}

/* ---- the scale ------------------------------------------------------------------------------- */

adz_status adz_lbfgs_set_scale(adz_optimizer *optimizer, adz_tensor_list scale)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_lbfgs_set_scale";
    if (optimizer == NULL) {
        return adzi_error_null(op, "optimizer");
    }
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    if (optimizer->search != &lbfgs_search) {
        return adzi_error(op, ADZ_ERR_UNSUPPORTED, "%s is no L-BFGS", optimizer->type->name);
    }
    adzi_optimizer_settle(optimizer);
    adz_scope *scope = adz_scope_open();
    adz_tensor *all = scope != NULL ? adzi_search_constant(op, optimizer, "scale", scale, 1) : NULL;
    for (int64_t k = 0; all != NULL && k < all->numel && adzi_pending() == ADZ_OK; ++k) {
        const double value = adz_tensor_at(all, &k);
        if (!(value > 0 && isfinite(value))) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the scale of element %lld of all parameters is %s, but must be finite and above 0",
                (long long)k, adzi_text_number(value));
        }
    }
    const bool good = all != NULL && adzi_pending() == ADZ_OK;
    if (good) {
        adzi_drop(optimizer->constants[0]);
        optimizer->constants[0] = scale.count != 0 ? adzi_retain(all) : NULL;
    }
    adzi_drop(all);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good ? ADZ_OK : adz_error_code();
}
