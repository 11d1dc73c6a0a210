/* The method of Levenberg and Marquardt. A Jacobian is replaced by its QR factors: the damped
 * equations are those of the least squares with the rows of R and of sqrt(damping D). */
#include "adze/optim/levenberg_marquardt.h"

#include <math.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "adze/scope.h"
#include "base/error.h"
#include "optim/search/residual_jacobian.h"

enum { LR, MAX_ITER, DAMPING, TOLERANCE_GRAD, TOLERANCE_CHANGE, SETTINGS };

/* The loss near x: 0.5 |r + J h|^2. The tensors are f64, with references. */
typedef struct {
    adz_tensor *r;     /* R[K, P] of the factors of J */
    adz_tensor *right; /* -Q^T r, [K, 1] */
    adz_tensor *scale; /* the diagonal of J^T J, [P] */
    adz_tensor *g;     /* J^T r, [P, 1] */
    double loss;
} model;

/* The memory. */
typedef struct {
    double func_evals, n_iter; /* of all steps */
    double damping, growth;    /* the next refused move multiplies the damping by `growth` */
    model model;               /* in a running step; NULL between steps */
} lm_memory;

static void model_drop(model *m)
{
    adz_tensor **all[] = { &m->r, &m->right, &m->scale, &m->g };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adzi_drop(*all[i]);
        *all[i] = NULL;
    }
}

static void memory_drop(void *memory)
{
    model_drop(&((lm_memory *)memory)->model);
}

static double item(adz_tensor *t)
{
    return t != NULL ? adz_item(t) : NAN;
}

static double largest(adz_tensor *x)
{
    return item(adz_amax(adz_abs(x), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

static double dot(adz_tensor *a, adz_tensor *b)
{
    return item(adz_sum(adz_mul(a, b), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* Calls the closure. *r gets the residuals as a vector with its graph, in the scope that is open.
 * An infinite loss stands for one that is not finite. False with the error recorded. */
static bool evaluate(adzi_search_run *run, adz_tensor **r, double *loss)
{
    adz_tensor *t = adzi_search_call(run);
    if (t == NULL) {
        return false;
    }
    if (!adzi_is_float((adz_dtype)t->dtype) || t->numel == 0) {
        adzi_error(run->op, t->numel == 0 ? ADZ_ERR_SHAPE : ADZ_ERR_DTYPE,
            "the closure returned %s%s; Levenberg-Marquardt needs one or more residuals, f32 or "
            "f64",
            adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
        return false;
    }
    *r = adz_reshape(t, ADZ_SHAPE(t->numel));
    adz_tensor *values = *r != NULL ? adz_to(adz_detach(*r), ADZ_F64) : NULL;
    *loss = 0.5 * dot(values, values);
    *loss = isfinite(*loss) ? *loss : INFINITY;
    return adzi_pending() == ADZ_OK;
}

/* Makes the model of the residuals r, which have their graph. False with the error recorded. */
static bool make_model(const adzi_search_run *run, adz_tensor *r, double loss, model *m)
{
    adz_tensor *factor = NULL, *j = adzi_residual_jacobian(run, r);
    const double size = j != NULL ? largest(j) : NAN;
    if (adzi_pending() == ADZ_OK && !isfinite(size)) {
        adzi_error(run->op, ADZ_ERR_NUMERIC,
            "the loss is %s, but a derivative of a residual is not finite", adzi_text_number(loss));
    }
    adz_tensor *values = adz_to(adz_detach(r), ADZ_F64);
    adz_tensor *column = adz_reshape(values, ADZ_SHAPE(r->numel, 1));
    adz_tensor *q = adzi_pending() == ADZ_OK ? adz_qr(j, &factor) : NULL;
    adz_tensor *right = adz_neg(adz_matmul(adz_transpose(q, 0, 1), column));
    adz_tensor *scale = adz_sum(adz_mul(j, j), ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *g = adz_matmul(adz_transpose(j, 0, 1), column);
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    *m = (model){ adzi_retain(factor), adzi_retain(right), adzi_retain(scale), adzi_retain(g),
        loss };
    return true;
}

/* The rows sqrt(damping D). D has a least value, because a parameter on which the residuals hardly
 * depend, such as a weight of a saturated unit, would move without bounds. */
static adz_tensor *damped_rows(const model *m, double damping)
{
    const double top = largest(m->scale), least = top > 0 ? 1e-6 * top : 1;
    const int64_t n = m->scale->numel;
    adz_tensor *roots = adz_sqrt(adz_mul_number(adz_clamp(m->scale, least, INFINITY), damping));
    return adz_mul(adz_eye(n, n, ADZ_F64), adz_reshape(roots, ADZ_SHAPE(1, n)));
}

/* The move h[P, 1], and the decrease of the loss that the model promises for lr h. */
static adz_tensor *move_of(const model *m, double damping, double lr, double *promised)
{
    const int64_t n = m->scale->numel;
    adz_tensor *rows[] = { m->r, damped_rows(m, damping) };
    adz_tensor *right[] = { m->right, adz_zeros(ADZ_SHAPE(n, 1), ADZ_F64) };
    adz_tensor *h = rows[1] != NULL && right[1] != NULL
                        ? adz_lstsq(adz_cat(rows, 2, 0), adz_cat(right, 2, 0))
                        : NULL;
    adz_tensor *unused = adz_reshape(adz_eq_number(m->scale, 0), ADZ_SHAPE(n, 1));
    h = adz_masked_fill(h, unused, 0); /* rounding must not move what no residual depends on */
    adz_tensor *rh = adz_matmul(m->r, h);
    *promised = -lr * dot(m->g, h) - 0.5 * lr * lr * dot(rh, rh);
    return adzi_pending() == ADZ_OK ? h : NULL;
}

/* What becomes of a move. */
typedef enum { FAILED, REFUSED, MADE, CONVERGED } outcome;

/* Changes the damping after a move. */
static void learn(lm_memory *memory, bool made, double gain)
{
    if (made) {
        const double x = 2 * gain - 1;
        memory->damping *= fmax(1.0 / 3, 1 - x * x * x);
        memory->growth = 2;
    } else {
        memory->damping *= memory->growth;
        memory->growth = fmin(2 * memory->growth, 1e20);
    }
    memory->damping = fmin(fmax(memory->damping, 1e-20), 1e20);
}

/* Tries one move from the model's point. After MADE the model is that of the new point. After
 * CONVERGED nothing more is to be gained; a move may have been made. */
static outcome try_move(adzi_search_run *run, model *m)
{
    lm_memory *memory = run->memory;
    const double *s = run->settings;
    double promised = 0, loss = INFINITY;
    adz_tensor *x = adzi_search_values(run->op, run->optimizer), *r = NULL;
    adz_tensor *h = x != NULL ? move_of(m, memory->damping, s[LR], &promised) : NULL;
    adz_tensor *change = adz_mul_number(h, s[LR]);
    const double size = largest(x), moved = largest(change);
    if (adzi_pending() != ADZ_OK) {
        return FAILED;
    }
    if (moved <= s[TOLERANCE_CHANGE] * (size + s[TOLERANCE_CHANGE])) {
        return CONVERGED;
    }
    change = adz_to(adz_reshape(change, ADZ_SHAPE(run->numel)), run->dtype);
    adz_tensor *next = adz_add(x, change);
    if (next == NULL) {
        return FAILED;
    }
    adzi_search_move(run->op, run->optimizer, next);
    if (!evaluate(run, &r, &loss)) {
        return FAILED;
    }
    ++memory->func_evals;
    ++memory->n_iter;
    const double gain = (m->loss - loss) / promised;
    const bool made = gain > 0 && isfinite(loss);
    learn(memory, made, gain);
    if (!made) {
        adzi_search_move(run->op, run->optimizer, x);
        return REFUSED;
    }
    const bool little = m->loss - loss <= s[TOLERANCE_CHANGE] * m->loss;
    model_drop(m);
    return little ? CONVERGED : make_model(run, r, loss, m) ? MADE : FAILED;
}

/* Evaluates the closure where the step begins. */
static bool start(adzi_search_run *run, model *m)
{
    lm_memory *memory = run->memory;
    adz_tensor *r = NULL;
    double loss = 0;
    if (!evaluate(run, &r, &loss)) {
        return false;
    }
    if (!isfinite(loss)) {
        adzi_error(run->op, ADZ_ERR_NUMERIC,
            "a residual is not finite, or their squares overflow, where the step begins");
        return false;
    }
    if (memory->func_evals++ == 0) {
        memory->damping = run->settings[DAMPING];
        memory->growth = 2;
    }
    run->loss = loss;
    return make_model(run, r, loss, m);
}

static bool step(adzi_search_run *run)
{
    model *m = &((lm_memory *)run->memory)->model;
    outcome now = MADE;
    for (int64_t i = 0; i <= (int64_t)run->settings[MAX_ITER]; ++i) {
        adz_scope *scope = adz_scope_open();
        if (scope == NULL) {
            now = FAILED;
        } else if (i == 0) {
            now = start(run, m) ? MADE : FAILED;
        } else {
            now = try_move(run, m);
        }
        if (now == MADE && largest(m->g) <= run->settings[TOLERANCE_GRAD]) {
            now = CONVERGED;
        }
        if (scope != NULL) {
            adz_scope_close(scope);
        }
        if (now == FAILED || now == CONVERGED) {
            break;
        }
    }
    if (now != FAILED) { /* else the memory may be gone */
        model_drop(m);
    }
    return now != FAILED;
}

/* ---- the optimizer --------------------------------------------------------------------------- */

static adz_status check(const char *op, const double *s)
{
    if (!(s[DAMPING] > 0 && isfinite(s[DAMPING]))) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "damping is %s, but must be finite and above 0",
            adzi_text_number(s[DAMPING]));
    }
    return adzi_search_check_count(op, "max_iter", s[MAX_ITER], 1);
}

static const adz_optimizer_type lm_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "LevenbergMarquardt",
    .settings = { { "lr", 1, ADZ_RANGE_NOT_NEGATIVE }, { "max_iter", 20, ADZ_RANGE_CHECKED },
        { "damping", 1e-3, ADZ_RANGE_CHECKED }, { "tolerance_grad", 1e-7, ADZ_RANGE_NOT_NEGATIVE },
        { "tolerance_change", 1e-9, ADZ_RANGE_NOT_NEGATIVE } },
    .update = adzi_search_no_update,
    .check = check,
    .whole = true,
    .uncounted = true,
};

static const adzi_search lm_search = {
    .size = sizeof(lm_memory),
    .step = step,
    .numbers = { { "func_evals", offsetof(lm_memory, func_evals) },
        { "n_iter", offsetof(lm_memory, n_iter) }, { "damping", offsetof(lm_memory, damping) },
        { "growth", offsetof(lm_memory, growth) } },
    .drop = memory_drop,
};

ADZ_OPTIONS_INIT(adz_levenberg_marquardt_options_init, adz_levenberg_marquardt_options,
    ADZ_LEVENBERG_MARQUARDT_OPTIONS)

adz_optimizer *adz_levenberg_marquardt_new(
    adz_tensor_list parameters, double lr, const adz_levenberg_marquardt_options *options)
{
    static const char op[] = "adz_levenberg_marquardt_new";
    adz_levenberg_marquardt_options o = ADZ_LEVENBERG_MARQUARDT_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LEVENBERG_MARQUARDT_OPTIONS, &o, options)) {
        return NULL;
    }
    const double settings[SETTINGS] = { lr, (double)o.max_iter, o.damping, o.tolerance_grad,
        o.tolerance_change };
    return adzi_search_new(op, &lm_type, &lm_search, parameters, settings);
}
