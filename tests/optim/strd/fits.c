/* Fits with Levenberg-Marquardt and L-BFGS. */
#include <math.h>

#include "fits.h"

typedef struct {
    const strd_problem *problem;
    adz_tensor *x, *y, *b; /* the data, and the parameters in their units */
    adz_tensor *units;     /* of the parameters */
    double unit;           /* of the residuals */
    adz_optimizer *optimizer;
} fit;

static adz_tensor *residuals(void *user)
{
    fit *f = user;
    adz_tensor *model = strd_model(f->problem, adz_div(f->b, f->units), f->x);
    return adz_mul_number(adz_sub(model, f->y), f->unit);
}

static adz_tensor *loss_of(void *user)
{
    fit *f = user;
    adz_optimizer_zero_grad(f->optimizer);
    adz_tensor *r = residuals(f);
    adz_tensor *loss = adz_mul_number(adz_sum(adz_square(r), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.5);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static fit begin(const strd_problem *p, const double *start, strd_units units)
{
    double by[STRD_PARAMETERS], at[STRD_PARAMETERS];
    for (int k = 0; k < p->parameters; ++k) {
        by[k] = k % 2 == 0 ? units.even : units.odd;
        at[k] = start[k] * by[k];
    }
    const adz_shape shape = p->columns == 2 ? ADZ_SHAPE(p->rows, 2) : ADZ_SHAPE(p->rows);
    const adz_shape one = ADZ_SHAPE(p->parameters);
    return (fit){ .problem = p,
        .x = adz_tensor_from(p->x, shape, ADZ_F64),
        .y = adz_tensor_from(p->y, ADZ_SHAPE(p->rows), ADZ_F64),
        .b = adz_requires_grad_(adz_tensor_from(at, one, ADZ_F64), true),
        .units = adz_tensor_from(by, one, ADZ_F64),
        .unit = units.residuals };
}

static adz_optimizer *optimizer_of(fit *f, const double *start, strd_method method)
{
    const adz_tensor_list list = adz_tensor_list_of(&f->b, 1);
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    double scale[STRD_PARAMETERS];
    if (method == BY_LM) {
        return adz_levenberg_marquardt_new(list, 1, NULL);
    }
    options.strong_wolfe = true;
    adz_optimizer *o = adz_lbfgs_new(list, 1, &options);
    if (method == BY_SCALED_LBFGS) {
        const double *units = adz_tensor_data_f64(f->units);
        for (int k = 0; k < f->problem->parameters; ++k) {
            scale[k] = fabs(start[k]) * units[k];
        }
        adz_tensor *t = adz_tensor_from(scale, ADZ_SHAPE(f->problem->parameters), ADZ_F64);
        assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&t, 1)), ADZ_OK);
    }
    return o;
}

/* The digits that all parameters have. The terms of a sum of exponentials may change places. */
static double digits_of(const strd_problem *p, const double *b)
{
    double best = -99;
    const int terms = strncmp(p->name, "Lanczos", 7) == 0 ? 3 : 1;
    for (int order = 0; order < (terms == 3 ? 6 : 1); ++order) {
        static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 },
            { 2, 0, 1 }, { 2, 1, 0 } };
        double worst = 0;
        for (int k = 0; k < p->parameters; ++k) {
            const int from = terms == 3 ? 2 * orders[order][k / 2] + k % 2 : k;
            worst = fmax(worst, fabs(b[from] / p->certified[k] - 1));
        }
        best = fmax(best, worst > 0 ? -log10(worst) : 16);
    }
    return best;
}

/* The largest |gradient| |parameter| / loss, of single parameters. */
static double slope_of(fit *f)
{
    double most = 0;
    adz_tensor *r = residuals(f);
    adz_tensor *loss = adz_mul_number(adz_sum(adz_square(r), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.5);
    adz_tensor *g = NULL;
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &f->b, 1, NULL, &g), ADZ_OK);
    for (int64_t k = 0; k < f->problem->parameters; ++k) {
        most = fmax(most, fabs(adz_tensor_at(g, &k) * adz_tensor_at(f->b, &k)) / adz_item(loss));
    }
    return most;
}

strd_result strd_fit(const strd_problem *p, int start, strd_method method, strd_units units)
{
    strd_result result = { .reason = ADZ_CLOSURE_LIMIT };
    ADZ_SCOPE
    {
        fit f = begin(p, p->starts[start], units);
        double b[STRD_PARAMETERS];
        f.optimizer = optimizer_of(&f, p->starts[start], method);
        while (result.reason == ADZ_CLOSURE_LIMIT && result.evaluations < 4000) {
            adz_closure_report report;
            if (adz_optimizer_step_closure(
                    f.optimizer, method == BY_LM ? residuals : loss_of, &f, NULL) != ADZ_OK) {
                fail_msg("%s: %s", p->name, adz_error_message());
            }
            assert_int_equal(adz_optimizer_get_report(f.optimizer, &report), ADZ_OK);
            result.reason = report.reason;
            result.evaluations += report.evaluations;
        }
        for (int64_t k = 0; k < p->parameters; ++k) {
            b[k] = adz_tensor_at(f.b, &k) / adz_tensor_at(f.units, &k);
        }
        result.digits = digits_of(p, b);
        result.slope = slope_of(&f);
        adz_optimizer_release(&f.optimizer);
    }
    return result;
}

double strd_deviation_error(const strd_problem *p, strd_units units)
{
    double worst = 0;
    ADZ_SCOPE
    {
        fit f = begin(p, p->certified, units);
        f.optimizer = optimizer_of(&f, p->certified, BY_LM);
        double variance = NAN;
        adz_tensor *c = adz_levenberg_marquardt_covariance(f.optimizer, residuals, &f, &variance);
        assert_non_null(c);
        for (int64_t k = 0; k < p->parameters; ++k) {
            const double error =
                sqrt(adz_tensor_at(c, (int64_t[]){ k, k })) / adz_tensor_at(f.units, &k);
            worst = fmax(worst, fabs(error / p->deviations[k] - 1));
        }
        const double wanted = p->sum / (p->rows - p->parameters);
        const double got = variance / units.residuals / units.residuals;
        worst = fmax(worst, fabs(got / wanted - 1));
        adz_optimizer_release(&f.optimizer);
    }
    return worst;
}
