/* The line search of L-BFGS by cubic interpolation (Nocedal and Wright, algorithms 3.5 and 3.6). It
 * tries the points that torch.optim.LBFGS tries. */
#include <math.h>

#include "solvers/closures/lbfgs.h"

static const double decrease = 1e-4, curvature = 0.9;

/* Whether the loss has not fallen enough, as the slope at the start promises. */
static bool too_high(const adzi_line *line, const adzi_line_point *p)
{
    return p->loss > line->start.loss + decrease * p->t * line->start.slope;
}

static bool is_flat(const adzi_line *line, const adzi_line_point *p)
{
    return fabs(p->slope) <= -curvature * line->start.slope;
}

/* The minimum of the cubic that has the losses and slopes of two points, between `low` and `high`.
 * Their middle if the cubic has no minimum, or if a loss is infinite. */
static double interpolate(
    const adzi_line_point *a, const adzi_line_point *b, double low, double high)
{
    const adzi_line_point *left = a->t <= b->t ? a : b, *right = a->t <= b->t ? b : a;
    const double width = right->t - left->t;
    const double d1 = a->slope + b->slope - 3 * (a->loss - b->loss) / (a->t - b->t);
    /* The squares of slopes overflow and underflow, unless the largest one is near 1. */
    int exponent = 0;
    frexp(fmax(fabs(d1), fmax(fabs(a->slope), fabs(b->slope))), &exponent);
    const double d = ldexp(d1, -exponent);
    const double square = d * d - ldexp(a->slope, -exponent) * ldexp(b->slope, -exponent);
    if (!(square >= 0) || isinf(square)) {
        return (low + high) / 2;
    }
    const double d2 = ldexp(sqrt(square), exponent);
    const double part = (right->slope + d2 - d1) / (right->slope - left->slope + 2 * d2);
    const double t = right->t - width * part;
    return isnan(t) ? (low + high) / 2 : fmin(fmax(t, low), high);
}

/* Two points with a good one between them, or one good point. */
typedef struct {
    adzi_line_point points[2];
    int n;
    int64_t iterations;
} bracket;

/* Steps on until an interval has a good point, or a point is good. */
static bool find_bracket(adzi_line *line, double t, bracket *b)
{
    adzi_line_point before = line->start, now;
    if (!adzi_line_evaluate(line, t, &now, &before, &before)) {
        return false;
    }
    for (b->n = 0; b->iterations < line->most;) {
        const bool rises = b->iterations > 1 && now.loss >= before.loss;
        const bool high = too_high(line, &now) || rises;
        if (!high && is_flat(line, &now)) {
            *b = (bracket){ { now, now }, 1, b->iterations };
            return true;
        }
        if (high || now.slope >= 0) {
            *b = (bracket){ { before, now }, 2, b->iterations };
            return true;
        }
        const double least = now.t + 0.01 * (now.t - before.t), most = now.t * 10;
        const double next = interpolate(&before, &now, least, most);
        before = now;
        if (!adzi_line_evaluate(line, next, &now, &before, &before)) {
            return false;
        }
        ++b->iterations;
    }
    *b = (bracket){ { line->start, now }, 2, b->iterations };
    return true;
}

/* The next point in a bracket. Points near an end are moved inwards when the search made little
 * progress before, of which `slow` tells. */
static double next_in(const bracket *b, bool *slow)
{
    const double low = fmin(b->points[0].t, b->points[1].t);
    const double high = fmax(b->points[0].t, b->points[1].t);
    const double margin = 0.1 * (high - low);
    const double t = interpolate(&b->points[0], &b->points[1], low, high);
    if (fmin(high - t, t - low) >= margin) {
        *slow = false;
        return t;
    }
    if (*slow || t >= high || t <= low) {
        *slow = false;
        return fabs(t - high) < fabs(t - low) ? high - margin : low + margin;
    }
    *slow = true;
    return t;
}

/* Puts a point into a bracket, whose lower point is `*low`. True if the point is good. */
static bool narrow(const adzi_line *line, bracket *b, const adzi_line_point *p, int *low)
{
    const int high = 1 - *low;
    if (too_high(line, p) || p->loss >= b->points[*low].loss) {
        b->points[high] = *p;
        *low = b->points[0].loss <= b->points[1].loss ? 0 : 1;
        return false;
    }
    const bool good = is_flat(line, p);
    if (!good && p->slope * (b->points[high].t - b->points[*low].t) >= 0) {
        b->points[high] = b->points[*low];
    }
    b->points[*low] = *p;
    return good;
}

bool adzi_line_search(adzi_line *line, double t, adzi_line_point *best)
{
    bracket b = { .n = 0 };
    bool slow = false;
    if (!find_bracket(line, t, &b)) {
        return false;
    }
    int low = b.n == 1 || b.points[0].loss <= b.points[1].loss ? 0 : 1;
    bool good = b.n == 1;
    while (!good && b.iterations < line->most &&
           fabs(b.points[1].t - b.points[0].t) * line->reach >= line->tolerance) {
        adzi_line_point p;
        if (!adzi_line_evaluate(line, next_in(&b, &slow), &p, &b.points[0], &b.points[1])) {
            return false;
        }
        ++b.iterations;
        good = narrow(line, &b, &p, &low);
    }
    *best = b.points[low];
    return true;
}
