/* Measures forecasts of the test part. */
#include "backtest.h"

#include <math.h>

origins test_origins(const network *n, const series *s)
{
    return origins_between(n, test_start(s->n), s->n, s->n, n->horizon);
}

/* The mean absolute change over one season before the test part. */
static double seasonal_change(const network *n, const series *s)
{
    double sum = 0, count = 0;
    for (int64_t i = n->season; i < test_start(s->n); ++i) {
        if (!s->missing[i] && !s->missing[i - n->season]) {
            sum += fabs(in_unit(s, s->values[i]) - in_unit(s, s->values[i - n->season]));
            ++count;
        }
    }
    return sum / count;
}

static void add_window(
    scores *sum, const network *n, const series *s, const forecasts *f, int64_t b)
{
    int64_t origin = f->o.at[b];
    for (int64_t k = 0; k < n->horizon; ++k) {
        int64_t i = b * n->horizon + k;
        const double y = in_unit(s, s->values[origin + k]);
        const double error = fabs(y - in_unit(s, f->mean[i]));
        const double away =
            fabs(s->values[origin + k] - f->mean[i]); /* on the scale of the bands */
        if (s->missing[origin + k]) {
            continue;
        }
        sum->rmse += error * error;
        sum->mase += error;
        sum->linear_rmse += pow(y - in_unit(s, f->o.base[i]), 2);
        sum->naive_rmse += pow(y - in_unit(s, s->values[origin - 1]), 2);
        sum->seasonal_naive_rmse += pow(y - in_unit(s, seasonal_naive(s, n, origin, k)), 2);
        sum->coverage80 += away <= f->half80[i];
        sum->coverage95 += away <= f->half95[i];
        ++sum->count;
    }
}

scores score(const network *n, const series *s, const forecasts *f)
{
    scores sum = { 0 };
    for (int64_t b = 0; b < f->o.count; ++b) {
        add_window(&sum, n, s, f, b);
    }
    double count = (double)sum.count, change = seasonal_change(n, s);
    sum.rmse = sqrt(sum.rmse / count);
    sum.linear_rmse = sqrt(sum.linear_rmse / count);
    sum.naive_rmse = sqrt(sum.naive_rmse / count);
    sum.seasonal_naive_rmse = sqrt(sum.seasonal_naive_rmse / count);
    sum.mase = change > 0 ? sum.mase / count / change : NAN;
    sum.coverage80 /= count;
    sum.coverage95 /= count;
    return sum;
}
