/* Runs a sample at both ends of the range that a law leaves it. */
#include "ops/scales/scales.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

scale_totals scale_counts;

enum { QUARTERS = 4 };

/* A law with the factor of its gradients: quantities are scaled by 2^(k * rate / 4). */
typedef struct task {
    const op_case *c;
    size_t s;
    adz_dtype dtype;
    const scale_law *law;
    int gradient; /* c of the law, in quarters */
    bool backward, expression, flat;
    int margin; /* binades that partial sums need above the result */
} task;

typedef struct bounds {
    int low, high;
} bounds;

static int floor_of(int a, int b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* Narrows the bounds of k to those for which 2^(k * rate / 4) * t is in the range of the dtype: the
 * largest element does not overflow, and the smallest (`exact`) or the largest one is normal. */
static void keep_in_range(bounds *k, const task *t, adz_tensor *x, int rate, bool exact, int margin)
{
    int largest, smallest;
    if (rate == 0 || x == NULL || !scale_range(x, &largest, &smallest)) {
        return;
    }
    const bool f32 = t->dtype == ADZ_F32 || adz_tensor_dtype(x) != ADZ_F64;
    const int top = (f32 ? FLT_MAX_EXP : DBL_MAX_EXP) - 1 - margin - largest;
    int bottom = (f32 ? FLT_MIN_EXP : DBL_MIN_EXP) - 1 - (exact ? smallest : largest);
    bottom += exact ? margin : 0; /* differences are smaller than the elements */
    /* bottom <= k * rate / 4 <= top */
    const int up = rate > 0 ? top : -bottom, down = rate > 0 ? bottom : -top;
    const int size = rate > 0 ? rate : -rate;
    const int high = floor_of(up * QUARTERS, size), low = -floor_of(-down * QUARTERS, size);
    k->high = high < k->high ? high : k->high;
    k->low = low > k->low ? low : k->low;
}

/* Keeps the squares of an input in range, of f64 or of the dtype, and in graphs their gradients. */
static void keep_squares(bounds *k, const task *t, const built *b, int i)
{
    task wide = *t;
    wide.dtype = t->expression ? t->dtype : ADZ_F64;
    adz_tensor *x = adz_to(adz_detach(b->leaves[i]), wide.dtype);
    keep_in_range(k, &wide, adz_square(x), 2 * QUARTERS * t->law->d[i], true, SCALES_ROOM);
    if (t->backward && t->expression) { /* the gradient of the square */
        adz_tensor *one = adz_ones(ADZ_SHAPE(1), ADZ_F64);
        const int rate = t->gradient - 2 * QUARTERS * t->law->d[i];
        keep_in_range(k, t, one, rate, true, SCALES_ROOM);
    }
}

static int result_rate(const task *t, int j)
{
    return t->gradient - t->law->e[j];
}

/* Keeps the products of the upstream gradient of result j and each input in range. */
static void keep_products(bounds *k, const task *t, const built *b, int j)
{
    const scale_declared *declared = scale_declaration(t->c->name);
    for (int i = 0; declared != NULL && declared->products && i < b->args.n; ++i) {
        if (scale_takes(&b->specs[i])) {
            adz_tensor *x = adz_mul_number(adz_detach(b->leaves[i]), 8);
            keep_in_range(k, t, x, QUARTERS * t->law->d[i] + result_rate(t, j), false, t->margin);
        }
    }
}

/* True if a gradient is made of rounding errors alone, and has no digits to keep. */
static bool is_noise(const task *t, adz_tensor *gradient)
{
    int largest, smallest;
    const int digits = t->dtype == ADZ_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    return scale_range(gradient, &largest, &smallest) && largest < 10 - digits;
}

/* The scales at which inputs, upstream gradients, results and gradients are all in range. */
static bounds range_of(const task *t, const built *b, const outcome *o)
{
    const scale_declared *declared = scale_declaration(t->c->name);
    bounds k = { -4200, 4200 };
    for (int i = 0; i < b->args.n; ++i) {
        if (scale_takes(&b->specs[i])) {
            keep_in_range(&k, t, b->leaves[i], QUARTERS * t->law->d[i], true, t->margin);
            if (declared != NULL && (t->expression ? declared->graph_squares : declared->squares)) {
                keep_squares(&k, t, b, i);
            }
        }
    }
    for (int j = 0; j < o->n_results; ++j) {
        keep_in_range(&k, t, o->results[j], t->law->e[j], false, t->margin);
        if (t->backward && adz_tensor_requires_grad(o->results[j])) {
            keep_products(&k, t, b, j);
            /* Upstream gradients are normal numbers, with elements between 2^-14 and 2^3. */
            adz_tensor *g = adz_tensor_from((double[]){ 0x1p-14, 0x1.8p2 }, ADZ_SHAPE(2), ADZ_F64);
            keep_in_range(&k, t, g, result_rate(t, j), true, t->margin);
        }
    }
    for (int i = 0; t->backward && i < b->args.n; ++i) {
        if (o->gradients[i] != NULL && is_noise(t, o->gradients[i])) {
            continue;
        }
        keep_in_range(
            &k, t, o->gradients[i], t->gradient - QUARTERS * t->law->d[i], false, t->margin);
    }
    return k;
}

/* How far `got` is from 2^exponent * `base`, in units of the last place of the largest element. */
static double ulps(const task *t, adz_tensor *got, adz_tensor *base, int exponent)
{
    adz_scope *scope = adz_scope_open();
    bool recording = adz_set_grad_enabled(false);
    const double *a = adz_tensor_data_f64(adz_contiguous(adz_to(got, ADZ_F64)));
    const double *b = adz_tensor_data_f64(adz_contiguous(adz_to(base, ADZ_F64)));
    adz_set_grad_enabled(recording);
    const int64_t n = adz_tensor_numel(base);
    const bool f32 = t->dtype == ADZ_F32 || adz_tensor_dtype(got) == ADZ_F32;
    const double eps = f32 ? (double)FLT_EPSILON : DBL_EPSILON,
                 quantum = f32 ? 0x1p-149 : 0x1p-1074;
    double largest = 0, worst = adz_tensor_numel(got) == n ? 0 : (double)INFINITY;
    for (int64_t i = 0; i < n; ++i) {
        double want = ldexp(b[i], exponent);
        largest = isfinite(want) ? fmax(largest, fabs(want)) : largest;
    }
    for (int64_t i = 0; i < n && isfinite(worst); ++i) {
        double want = ldexp(b[i], exponent);
        if (a[i] != want && !(isnan(a[i]) && isnan(want))) {
            /* The difference is halved first: it may be as large as the range. */
            double apart = fabs(a[i] / 2 - want / 2) / (largest / 2 * eps + 8 * quantum);
            worst = isfinite(apart) ? fmax(worst, apart) : (double)INFINITY;
        }
    }
    adz_scope_close(scope);
    return worst;
}

/* ulps of a gradient. Where the base is 0, rounding may leave any small number. */
static double gradient_ulps(const task *t, adz_tensor *got, adz_tensor *base, int exponent)
{
    int largest, smallest;
    if (base == NULL || is_noise(t, base)) {
        return 0;
    }
    if (scale_range(base, &largest, &smallest)) {
        return ulps(t, got, base, exponent);
    }
    adz_tensor *all = adz_all(adz_isfinite(adz_detach(got)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_tensor_at(adz_to(all, ADZ_F64), NULL) != 0 ? 0 : (double)INFINITY;
}

/* The binades that a sum over the dimensions of all tensors may need. */
static int room(const built *b, const outcome *o)
{
    int all = 2, largest = 0;
    for (int i = 0; i < b->args.n; ++i) {
        const int64_t n = b->specs[i].none ? 0 : adz_tensor_numel(b->leaves[i]);
        all += n > 0 ? ilogb((double)n) : 0;
    }
    for (int j = 0; j < o->n_results; ++j) {
        const int64_t n = adz_tensor_numel(o->results[j]);
        largest = n > 0 && ilogb((double)n) > largest ? ilogb((double)n) : largest;
    }
    return all + largest < SCALES_ROOM ? all + largest : SCALES_ROOM;
}

static bool is_float(adz_tensor *t)
{
    return adz_tensor_dtype(t) == ADZ_F32 || adz_tensor_dtype(t) == ADZ_F64;
}

static void complain(const task *t, int k, const built *b, const char *what, int which, double far)
{
    char word[CASE_INPUTS + 1];
    printf(
        "    %s: sample %zu, %s, scales '%s', gradients by %g, 2^%d%s%s: %s %d is %.3g ulps off%s%s\n",
        t->c->name, t->s, adz_dtype_name(t->dtype), scale_word(t->law, b->args.n, word),
        t->gradient / 4.0, k, t->expression ? ", expression" : "", t->flat ? ", flat" : "", what,
        which, far, adz_error_code() != ADZ_OK ? ": " : "",
        adz_error_code() != ADZ_OK ? adz_error_message() : "");
}

static bool run(const task *t, built *b, int k, outcome *o)
{
    int exponents[CASE_RESULTS];
    scale_sample(b, t->c, t->s, t->dtype);
    if (t->flat) {
        scale_flatten(b, t->law);
    }
    scale_inputs(b, t->law, k);
    ++scale_counts.runs;
    if (t->backward) {
        for (int j = 0; j < CASE_RESULTS; ++j) {
            exponents[j] = k * result_rate(t, j) / QUARTERS;
        }
        return run_scaled(t->c, b, t->expression, exponents, o);
    }
    memset(o, 0, sizeof *o);
    bool recording = adz_set_grad_enabled(false);
    o->n_results = call_built(t->c, b, o->results);
    adz_set_grad_enabled(recording);
    return o->n_results > 0;
}

/* Runs the task with the factor 2^k and compares with the run without a factor. */
static int at_scale(const task *t, int k, const outcome *base, bool report)
{
    const double most = 256;
    built b;
    outcome o;
    int wrong = 0;
    adz_scope *scope = adz_scope_open();
    ++scale_counts.scales;
    if (!run(t, &b, k, &o)) {
        if (report) {
            complain(t, k, &b, "the call fails, result", 0, 0);
        }
        adz_error_clear();
        adz_scope_close(scope);
        return 1;
    }
    for (int j = 0; j < base->n_results; ++j) {
        double far = is_float(base->results[j])
                         ? ulps(t, o.results[j], base->results[j], k * t->law->e[j] / QUARTERS)
                         : difference(o.results[j], base->results[j], 1) * 1e9;
        if (!(far <= most)) {
            wrong = 1;
            if (report) {
                complain(t, k, &b, "result", j, far);
            }
        }
    }
    for (int i = 0; t->backward && i < CASE_INPUTS; ++i) {
        int exponent = k * (t->gradient - QUARTERS * t->law->d[i]) / QUARTERS;
        double far = gradient_ulps(t, o.gradients[i], base->gradients[i], exponent);
        if (!(far <= most)) {
            wrong = 1;
            if (report) {
                complain(t, k, &b, "the gradient of input", i, far);
            }
        }
    }
    adz_scope_close(scope);
    return wrong;
}

/* The smallest step of k that makes every exponent an integer. */
static int step_of(const task *t)
{
    int all = t->gradient;
    for (int j = 0; j < CASE_RESULTS; ++j) {
        all |= t->law->e[j];
    }
    return all & 1 ? 4 : all & 2 ? 2 : 1;
}

static int at_both_ends(task *t, bool whole, bool report)
{
    int wrong = 0;
    built b;
    outcome base;
    adz_scope *scope = adz_scope_open();
    if (run(t, &b, 0, &base)) {
        const scale_declared *declared = scale_declaration(t->c->name);
        t->margin = t->c->samples[t->s].large            ? SCALES_ROOM_LARGE
                    : declared != NULL && declared->sums ? room(&b, &base)
                                                         : 0;
        bounds k = range_of(t, &b, &base);
        const int step = step_of(t);
        const int high = floor_of(k.high, step) * step, low = -floor_of(-k.low, step) * step;
        const int all[] = { high, low, floor_of(high, 2 * step) * step,
            floor_of(low, 2 * step) * step };
        for (int i = 0; i < (whole ? 4 : 2); ++i) {
            if (all[i] >= low && all[i] <= high && all[i] != 0) {
                wrong += at_scale(t, all[i], &base, report && wrong < 3);
            }
        }
    } else {
        wrong = 1;
        complain(t, 0, &b, "the call fails, result", 0, 0);
        adz_error_clear();
    }
    adz_scope_close(scope);
    return wrong;
}

/* True if gradients with a graph are not checked for this law. */
static bool graphs_left_out(const task *t)
{
    const scale_declared *declared = scale_declaration(t->c->name);
    char word[CASE_INPUTS + 1];
    return declared != NULL && declared->in_graphs &&
           scale_has_word(declared->left_out, scale_word(t->law, CASE_INPUTS, word));
}

/* Forward alone, and forward and backward with each factor of the gradients. */
static int check_law(task *t, bool any, bool whole, bool report)
{
    t->backward = false;
    int wrong = any ? at_both_ends(t, whole, report) : 0;
    /* The upstream gradients alone have the one factor 1. The exponent of the first result leaves
     * them as they are. */
    const int rates[] = { QUARTERS, 0, -QUARTERS, 2 * QUARTERS, t->law->e[0] };
    const int n = !any ? 1 : t->law->e[0] % QUARTERS != 0 || t->law->e[0] > 2 * QUARTERS ? 5 : 4;
    t->backward = true;
    for (int i = 0; i < n && !t->c->not_differentiable; ++i) {
        t->gradient = rates[i];
        for (int expression = 0; expression < 2; ++expression) {
            t->expression = expression != 0;
            if (t->expression && graphs_left_out(t)) {
                continue;
            }
            wrong += at_both_ends(t, whole, report && wrong < 3);
        }
    }
    return wrong;
}

int scale_check(
    const op_case *c, size_t s, adz_dtype dtype, const scale_law *law, bool whole, bool report)
{
    task t = { .c = c, .s = s, .dtype = dtype, .law = law };
    bool any = false;
    for (int i = 0; i < CASE_INPUTS; ++i) {
        any = any || law->d[i] != 0;
    }
    int wrong = check_law(&t, any, whole, report);
    if (any) {
        t.flat = true;
        wrong += check_law(&t, any, whole, report && wrong < 3);
    }
    return wrong;
}
