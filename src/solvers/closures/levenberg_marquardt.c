/* The step of Levenberg-Marquardt. It ends by the tests of MINPACK, which do not depend on the
 * units of residuals and parameters. */
#include "adze/optim/levenberg_marquardt.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "adze/scope.h"
#include "base/error.h"
#include "solvers/closures/levenberg_marquardt.h"

enum { LR, MAX_ITER, DAMPING, TOLERANCE_GRAD, TOLERANCE_CHANGE, SETTINGS };

static const double least_damping = 1e-20, most_damping = 1e20;

/* ---- the memory ------------------------------------------------------------------------------ */

static bool memory_copy(void *memory)
{
    adzi_lm_memory *m = memory;
    m->scale = m->scale != NULL ? adzi_retain(m->scale) : NULL;
    m->model = (adzi_lm_model){ .r = NULL };
    return true;
}

static void memory_drop(void *memory)
{
    adzi_lm_memory *m = memory;
    adzi_drop(m->scale);
    adzi_lm_model_drop(&m->model);
}

static adz_status memory_collect(const void *memory, adz_state_dict *state)
{
    const adzi_lm_memory *m = memory;
    return m->scale != NULL ? adzi_search_add(state, "scale", m->scale) : ADZ_OK;
}

static bool memory_read(const adz_optimizer *o, void *memory, const char *name, adz_tensor *t)
{
    adzi_lm_memory *m = memory;
    const int64_t numel = adzi_search_numel(o);
    if (strcmp(name, "scale") != 0 || t->rank != 1 || t->numel != numel || m->scale != NULL) {
        adzi_error("adz_optimizer_restore", ADZ_ERR_STATE,
            "Levenberg-Marquardt of %lld elements cannot have state.0.%s%s; the state is that of another optimizer",
            (long long)numel, name, adzi_text_shape(t));
        return false;
    }
    m->scale = adzi_search_vector(ADZ_F64, t, 0, numel);
    for (int64_t k = 0; k < numel && m->scale != NULL; ++k) {
        const double scale = adz_tensor_at(m->scale, &k);
        if (!(scale >= 0 && isfinite(scale))) {
            adzi_error("adz_optimizer_restore", ADZ_ERR_STATE,
                "state.0.scale[%lld] is %s, but must be finite and 0 or more", (long long)k,
                adzi_text_number(scale));
            return false;
        }
    }
    return m->scale != NULL;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* What becomes of a move. */
typedef enum { FAILED, REFUSED, MADE, CONVERGED, STALLED } outcome;

/* The rounding error of the parameters, below which no tolerance makes sense. */
static double rounding(const adzi_search_run *run)
{
    return run->dtype == ADZ_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* Changes the damping after a move. */
static void learn(adzi_lm_memory *memory, bool made, double gain)
{
    if (made) {
        const double x = 2 * gain - 1;
        memory->damping *= fmax(1.0 / 3, 1 - x * x * x);
        memory->growth = 2;
    } else {
        memory->damping *= memory->growth;
        memory->growth = fmin(2 * memory->growth, 1e20);
    }
    memory->damping = fmin(fmax(memory->damping, least_damping), most_damping);
}

/* The part of the sum of squares that a move has gained; -INFINITY if it left the finite numbers.
 */
static double gained(adzi_squares before, adzi_squares after)
{
    if (after.square == 0) {
        return 1;
    }
    const double unit = after.unit / before.unit;
    const double ratio = after.square * unit * unit / before.square;
    return isfinite(ratio) ? 1 - ratio : -INFINITY;
}

/* Why the search ends after a move that was refused: the shortest moves that change the parameters
 * do not lower the loss. The point is a minimum if the gradient promises no decrease that exceeds
 * the rounding error of the loss. */
static outcome no_shorter(const adzi_search_run *run, const adzi_lm_model *m)
{
    const double cosine = adzi_lm_cosine(m);
    return cosine * cosine <= rounding(run) ? CONVERGED : STALLED;
}

/* Goes on after the closure was called at the end of a move: keeps the move, or takes it back. */
static outcome check_step(adzi_search_run *run, const adzi_lm_move *move, adz_tensor *x,
    adz_tensor *r, adzi_squares squares)
{
    adzi_lm_memory *memory = run->memory;
    const double eps = rounding(run), *s = run->settings;
    const double change = fmax(s[TOLERANCE_CHANGE], eps), least = fmax(change * change, eps);
    const double gain_of_loss = gained(memory->model.squares, squares);
    const double gain = gain_of_loss / move->promised;
    const bool made = move->promised > 0 && gain > 0 && isfinite(gain_of_loss);
    /* A move that is short because it was damped says nothing. */
    const bool calm = memory->damping <= 1;
    const bool little = fabs(gain_of_loss) <= least && move->promised <= least && gain <= 2;
    const bool small = little || move->length <= change * move->size;
    const bool ends = calm && move->promised > 0 && small;
    learn(memory, made, gain);
    if (!made) {
        adzi_search_move(run->op, run->optimizer, x);
        const bool shortest = move->length <= eps * move->size || memory->damping >= most_damping;
        return ends ? CONVERGED : shortest ? no_shorter(run, &memory->model) : REFUSED;
    }
    run->after = adzi_squares_loss(squares);
    if (!adzi_lm_model_make(run, r, squares, true)) {
        return FAILED;
    }
    return ends ? CONVERGED : MADE;
}

/* Tries one move from the model's point. After MADE the model is that of the new point. */
static outcome try_move(adzi_search_run *run)
{
    adzi_lm_memory *memory = run->memory;
    adz_tensor *x = adzi_search_values(run->op, run->optimizer), *r = NULL;
    adzi_lm_move move = { .next = NULL };
    adzi_squares squares = { 1, 0 };
    if (x != NULL) {
        move = adzi_lm_move_from(run, &memory->model, x, memory->damping, run->settings[LR]);
    }
    if (move.next == NULL) {
        return FAILED;
    }
    adzi_search_move(run->op, run->optimizer, move.next);
    if (!adzi_lm_evaluate(run, &r, &squares)) {
        return FAILED;
    }
    ++memory->func_evals;
    ++memory->n_iter;
    return check_step(run, &move, x, r, squares);
}

/* Evaluates the closure where the step begins. */
static bool start(adzi_search_run *run)
{
    adzi_lm_memory *memory = run->memory;
    adz_tensor *r = NULL;
    adzi_squares squares = { 1, 0 };
    if (!adzi_lm_check_bounds(run) || !adzi_lm_evaluate(run, &r, &squares)) {
        return false;
    }
    if (!isfinite(squares.square)) {
        adzi_error(run->op, ADZ_ERR_NUMERIC, "a residual is not finite where the step begins");
        return false;
    }
    if (memory->func_evals++ == 0) {
        memory->damping = run->settings[DAMPING];
        memory->growth = 2;
    }
    run->loss = run->after = adzi_squares_loss(squares);
    return adzi_lm_model_make(run, r, squares, true);
}

/* The start, or one move, in a scope of its own. */
static outcome advance(adzi_search_run *run, bool first)
{
    adzi_lm_memory *memory = run->memory;
    adz_scope *scope = adz_scope_open();
    outcome now = FAILED;
    if (scope != NULL) {
        now = !first ? try_move(run) : start(run) ? MADE : FAILED;
        adz_scope_close(scope);
    }
    if (now == MADE && adzi_lm_cosine(&memory->model) <= run->settings[TOLERANCE_GRAD]) {
        now = CONVERGED;
    }
    return now;
}

static bool step(adzi_search_run *run)
{
    adzi_lm_memory *memory = run->memory;
    outcome now = MADE;
    for (int64_t i = 0; i <= (int64_t)run->settings[MAX_ITER]; ++i) {
        now = advance(run, i == 0);
        if (now != MADE && now != REFUSED) {
            break;
        }
    }
    if (now == FAILED) {
        return false; /* the memory may be gone */
    }
    run->gradient = adzi_lm_gradient(&memory->model);
    run->reason = now == CONVERGED ? ADZ_CLOSURE_CONVERGED
                  : now == STALLED ? ADZ_CLOSURE_STALLED
                                   : ADZ_CLOSURE_LIMIT;
    adzi_lm_model_drop(&memory->model);
    return true;
}

/* ---- the optimizer --------------------------------------------------------------------------- */

static const adz_optimizer_type lm_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "LevenbergMarquardt",
    .settings = { ADZ_SETTING("lr", 1, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_levenberg_marquardt_options, max_iter, .value = 20, ADZ_CLOSED(1, 1e9)),
        ADZ_FIELD(adz_levenberg_marquardt_options, damping, .value = 1e-3, ADZ_FINITE_ABOVE(0)),
        ADZ_FIELD(
            adz_levenberg_marquardt_options, tolerance_grad, .value = 1e-10, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(
            adz_levenberg_marquardt_options, tolerance_change, .value = 1e-9, ADZ_FINITE_FROM(0)) },
    .update = adzi_search_no_update,
    .whole = true,
    .uncounted = true,
};

static const adzi_search lm_search = {
    .size = sizeof(adzi_lm_memory),
    .step = step,
    .numbers = { { .name = "func_evals", .offset = offsetof(adzi_lm_memory, func_evals) },
        { .name = "n_iter", .offset = offsetof(adzi_lm_memory, n_iter) },
        { .name = "damping", .offset = offsetof(adzi_lm_memory, damping) },
        { .name = "growth", .offset = offsetof(adzi_lm_memory, growth) } },
    .copy = memory_copy,
    .drop = memory_drop,
    .collect = memory_collect,
    .read = memory_read,
};

bool adzi_lm_is(const adz_optimizer *optimizer)
{
    return optimizer->search == &lm_search;
}

ADZ_OPTIONS_TABLE(
    adz_levenberg_marquardt_options, ADZ_LEVENBERG_MARQUARDT_OPTIONS, lm_type.settings)

adz_optimizer *adz_levenberg_marquardt_new(
    adz_tensor_list parameters, double lr, const adz_levenberg_marquardt_options *options)
{
    static const char op[] = "adz_levenberg_marquardt_new";
    double settings[ADZ_OPTIMIZER_SETTINGS] = { lr };
    adz_levenberg_marquardt_options o;
    return adzi_optimizer_take(op, &adz_levenberg_marquardt_options_table, options, &o, settings)
               ? adzi_search_new(op, &lm_type, &lm_search, parameters, settings)
               : NULL;
}
