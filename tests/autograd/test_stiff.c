/* The stiff equations of stiff_set.h at three tolerances. */
#include <math.h>

#include "solvers/ode_bdf.h"
#include "solvers/equations/stiff_set.h"
#include "errors.h"
#include "groups.h"

/* The most steps at each tolerance, a tenth more than were counted. */
typedef struct {
    adz_ode_method method;
    double error; /* the largest one, as a part of the tolerance */
    int steps[STIFF_SET][3];
} expected;

static const expected rodas = { ADZ_ODE_RODAS4, 5,
    { { 323, 968, 3260 }, { 193, 614, 2170 }, { 1256, 4325, 15034 }, { 1066, 3713, 13389 },
        { 50, 145, 490 } } };

/* Errors of many steps add up. Those of LSODA are 62 to 91 times the tolerance for hires, and 26 to
 * 203 times for orego. */
static const expected bdf = { ADZ_ODE_BDF, 90,
    { { 880, 1640, 3270 }, { 403, 706, 1395 }, { 2110, 4040, 8210 }, { 2056, 3740, 7785 },
        { 173, 327, 647 } } };

static void solve(const stiff_problem *p, const expected *e, double tolerance, int most)
{
    adz_scope *scope = adz_scope_open();
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    double atols[STIFF_MOST];
    const double times[] = { 0, p->end };
    o.method = e->method;
    o.rtol = tolerance;
    o.atols = atols;
    o.n_atols = (size_t)p->n;
    for (int i = 0; i < p->n; ++i) {
        atols[i] = tolerance * (i == 1 && p->tiny != 0 ? p->tiny : p->size);
    }
    adz_tensor *y = NULL;
    ADZ_NO_GRAD
    {
        y = adz_odeint(p->f, p->data(), adz_tensor_from(p->y0, ADZ_SHAPE(p->n), ADZ_F64),
            adz_tensor_from(times, ADZ_SHAPE(2), ADZ_F64), &o, &report);
    }
    assert_non_null(y);
    double worst = 0;
    for (int i = 0; i < p->n; ++i) {
        const double error = adz_tensor_at(y, (int64_t[]){ 1, i }) - p->at_end[i];
        worst = fmax(worst, fabs(error) / (atols[i] + tolerance * fabs(p->at_end[i])));
    }
    if (!(worst < e->error && report.steps + report.rejected <= most)) {
        fail_msg("%s at %g: an error of %g tolerances after %lld steps and %lld rejected ones",
            p->name, tolerance, worst, (long long)report.steps, (long long)report.rejected);
    }
    adz_scope_close(scope);
}

static void solve_all(const expected *e)
{
    const double tolerances[] = { 1e-6, 1e-8, 1e-10 };
    for (int i = 0; i < STIFF_SET; ++i) {
        for (int k = 0; k < 3; ++k) {
            solve(&stiff_set[i], e, tolerances[k], e->steps[i][k]);
        }
    }
}

static void rodas_solves_the_set(void **state)
{
    (void)state;
    solve_all(&rodas);
}

static void bdf_solves_the_set(void **state)
{
    (void)state;
    solve_all(&bdf);
}

/* kappa gamma + 1 / (order + 1), and (1 - kappa) gamma, with the kappa of Shampine and Reichelt. */
static void coefficients_are_those_of_the_formulas(void **state)
{
    (void)state;
    const double error[] = { 0.315, 1.0 / 6, 0.25 - 0.0823 * 11 / 6, 0.2 - 0.0415 * 25 / 12,
        1.0 / 6 };
    const double alpha[] = { 1.185, 5.0 / 3, 1.0823 * 11 / 6, 1.0415 * 25 / 12, 137.0 / 60 };
    for (int order = 1; order <= ADZI_BDF_ORDER; ++order) {
        const adzi_bdf b = adzi_bdf_of(order);
        assert_true(fabs(b.error - error[order - 1]) < 1e-14);
        assert_true(fabs(b.alpha - alpha[order - 1]) < 1e-14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rodas_solves_the_set),
        cmocka_unit_test(bdf_solves_the_set),
        cmocka_unit_test(coefficients_are_those_of_the_formulas) };
    return run_group("stiff", tests, sizeof tests / sizeof *tests);
}
