#include <math.h>

#include "adze/random.h"
#include "ops/op.h"
#include "base/random_generator.h"

/* Draws class numbers from rows of weights, torch.multinomial.
 *
 *     P(class c) = p_c / sum_k p_k
 *
 * weights are [C] or [N, C], y is i64 [n] or [N, n]. The weights of a row need not have the sum 1,
 * and are converted to f64. Two methods draw from a row:
 *
 *     with replacement:     u uniform in [0, 1); the first class whose running sum of p exceeds u *
 * sum without replacement:  the n classes with the smallest times t_c = -log(1 - u_c) / p_c
 *
 * The times are exponentially distributed with rate p_c, so their order is that of draws without
 * replacement. Not differentiable. A call that fails leaves the generator as it was. */

const adzi_op adzi_op_multinomial = { .name = "multinomial" };

/* True if n classes can be drawn from a row of weights. Records the error otherwise. */
static bool check_row(const double *p, int64_t row, int64_t classes, int64_t n, bool replacement)
{
    int64_t possible = 0;
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) {
        if (!(p[c] >= 0) || isinf(p[c])) {
            adzi_error("multinomial", ADZ_ERR_ARGUMENT,
                "weight %s of class %lld in row %lld is negative, infinite or NaN",
                adzi_text_number(p[c]), (long long)c, (long long)row);
            return false;
        }
        possible += p[c] > 0;
        total += p[c];
    }
    if (possible == 0 || isinf(total) || (!replacement && n > possible)) {
        adzi_error("multinomial", ADZ_ERR_ARGUMENT,
            "row %lld has %lld classes of weight above 0 with the sum %s: %lld cannot be drawn from it %s replacement",
            (long long)row, (long long)possible, adzi_text_number(total), (long long)n,
            replacement ? "with" : "without");
        return false;
    }
    return true;
}

/* Checks what does not depend on the contents of the weights. */
static bool check_shape(const adz_tensor *p, int64_t n)
{
    if (p->rank < 1 || p->rank > 2 || p->sizes[p->rank - 1] == 0) {
        adzi_error("multinomial", ADZ_ERR_SHAPE,
            "weights%s are neither a list of classes nor rows of them", adzi_text_shape(p));
        return false;
    }
    if (n < 1) {
        adzi_error("multinomial", ADZ_ERR_ARGUMENT, "%lld draws were asked for; 1 is the least",
            (long long)n);
        return false;
    }
    return true;
}

/* Records the error of the first row that n classes cannot be drawn from. Called only after a
 * launch has found that there is one. */
typedef struct {
    const double *p; /* weights [rows, classes] */
    int64_t rows, classes, n;
    const bool *sound; /* what the kernel has found */
    bool replacement;
} report_args;

ADZI_ADDRESSES(report_args, p, sound);

static adz_status report(const void *block)
{
    const report_args *args = block;
    for (int64_t r = 0; r < args->rows && !*args->sound; ++r) {
        if (!check_row(args->p + r * args->classes, r, args->classes, args->n, args->replacement)) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

/* The class whose interval of the running sum contains `at`. The search is binary, with a
 * conditional move instead of a jump. Its result always has a weight above 0: equal sums mean a
 * weight of 0, which the last loop steps over. */
static int64_t class_at(const double *sum, int64_t classes, double at)
{
    /* The class is one of `left` classes from `found` on. */
    int64_t found = 0;
    for (int64_t left = classes; left > 1;) {
        const int64_t half = left / 2;
        /* A branch would be mispredicted half of the time. */
        found += half & -(int64_t)(sum[found + half - 1] <= at);
        left -= half;
    }
    while (found > 0 && sum[found] == sum[found - 1]) {
        --found;
    }
    return found;
}

enum { ROWS = 4 }; /* rows that are summed at the same time */

/* The running sums of four rows at once. A sum waits for the addition before it, and four
 * independent sums hide that latency. Returns false if a weight is negative or NaN, or if a sum is
 * 0 or not finite. */
static bool sum_four(double *sum, const double *p, int64_t classes)
{
    double a = 0, b = 0, c = 0, d = 0;
    bool weights = true;
    for (int64_t i = 0; i < classes; ++i) {
        const double *at = p + i;
        double *to = sum + i;
        weights &=
            (at[0] >= 0) & (at[classes] >= 0) & (at[2 * classes] >= 0) & (at[3 * classes] >= 0);
        to[0] = a += at[0];
        to[classes] = b += at[classes];
        to[2 * classes] = c += at[2 * classes];
        to[3 * classes] = d += at[3 * classes];
    }
    return weights && a > 0 && b > 0 && c > 0 && d > 0 && isfinite(a) && isfinite(b) &&
           isfinite(c) && isfinite(d);
}

/* The running sums of one row. Returns false if a weight is negative or NaN, or if the sum is 0 or
 * not finite. */
static bool sum_one(double *sum, const double *p, int64_t classes)
{
    double total = 0;
    bool weights = true;
    for (int64_t i = 0; i < classes; ++i) {
        weights &= p[i] >= 0;
        sum[i] = total += p[i];
    }
    return weights && total > 0 && isfinite(total);
}

/* Arguments of sum_rows, which has one unit. Rows are contiguous and are walked in order. */
typedef struct {
    const double *p; /* weights [rows, classes] */
    double *sums;    /* [rows, classes], their running sums */
    bool *sound;     /* the result: n classes can be drawn from every row */
    int64_t rows, classes;
    int64_t least; /* classes of weight above 0 that a row needs */
} sums_args;

ADZI_ADDRESSES(sums_args, p, sums, sound);

/* Sums all rows and finds out whether n classes can be drawn from each. There is one unit, because
 * the rows share the flag `sound`. */
static void sum_rows(const void *block, int64_t begin, int64_t end)
{
    const sums_args *args = block;
    const int64_t classes = args->classes;
    bool sound = true;
    int64_t r = begin < end ? 0 : args->rows;
    for (; r + ROWS <= args->rows; r += ROWS) {
        sound &= sum_four(args->sums + r * classes, args->p + r * classes, classes);
    }
    for (; r < args->rows; ++r) {
        sound &= sum_one(args->sums + r * classes, args->p + r * classes, classes);
    }
    for (r = 0; r < args->rows && args->least > 1; ++r) {
        int64_t possible = 0;
        for (int64_t c = 0; c < classes; ++c) {
            possible += args->p[r * classes + c] > 0;
        }
        sound &= possible >= args->least;
    }
    if (begin < end) {
        *args->sound = sound;
    }
}

/* The running sums of p[N, C], or NULL with the error recorded. Whether the weights are sound
 * depends on their contents, so a kernel decides and the host only reports. */
static adz_tensor *running_sums(const adz_tensor *p, int64_t n, bool replacement)
{
    adz_tensor *sums = adzi_scratch_like("multinomial", p);
    adz_tensor *sound = adzi_scratch("multinomial", ADZ_BOOL, 0, NULL);
    if (sums == NULL || sound == NULL) {
        return NULL;
    }
    const int64_t classes = p->sizes[p->rank - 1];
    const sums_args args = { (const double *)(const void *)p->data, (double *)(void *)sums->data,
        (bool *)(void *)sound->data, p->numel / classes, classes, replacement ? 1 : n };
    adzi_launch(sum_rows, sums_args, &args, 1, 1);
    const report_args shown = { args.p, args.rows, classes, n, args.sound, replacement };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK ? sums : NULL;
}

/* Arguments of find_classes. Units are rows; each has n draws and one search per draw. */
typedef struct {
    const double *sums, *drawn; /* [rows, classes], and [rows, n] in [0, 1) */
    int64_t *y;                 /* [rows, n] */
    int64_t classes, n;
} classes_args;

ADZI_ADDRESSES(classes_args, sums, drawn, y);

/* Inverts the running sum of each row. Units are rows of y. */
static void find_classes(const void *block, int64_t begin, int64_t end)
{
    const classes_args *args = block;
    for (int64_t r = begin; r < end; ++r) {
        const double *sums = args->sums + r * args->classes;
        for (int64_t i = r * args->n; i < (r + 1) * args->n; ++i) {
            args->y[i] = class_at(sums, args->classes, args->drawn[i] * sums[args->classes - 1]);
        }
    }
}

/* Draws with replacement: n uniform numbers per row, each looked up in the running sums. */
static adz_tensor *with_replacement(
    adzi_call *call, const adz_tensor *p, adz_tensor *sums, int64_t n, adz_generator *generator)
{
    adz_shape shape = adz_shape_of(p->rank, p->sizes);
    const int64_t classes = p->sizes[p->rank - 1];
    shape.sizes[p->rank - 1] = n;
    adz_tensor *u = adz_generator_rand(generator, shape, ADZ_F64);
    adz_tensor *y = u != NULL ? adzi_new(call, ADZ_I64, shape.rank, shape.sizes) : NULL;
    if (y == NULL) {
        return NULL;
    }
    const classes_args args = { (const double *)(const void *)sums->data,
        (const double *)(const void *)u->data, (int64_t *)(void *)y->data, classes, n };
    adzi_launch(find_classes, classes_args, &args, p->numel / classes,
        adzi_grain_of(ADZI_POINTWISE_GRAIN / 16, n));
    return y;
}

/* Draws without replacement: the n classes whose exponential times of rate p come first. The code
 * sorts -t = log(1 - u) / p in descending order. Classes of weight 0 get -infinity, and the checks
 * ensure that n other classes exist. */
static adz_tensor *without_replacement(adz_tensor *p, int64_t n, adz_generator *generator)
{
    adz_tensor *u = adz_generator_rand(generator, adz_shape_of(p->rank, p->sizes), ADZ_F64);
    adz_tensor *rest = adz_add_number(adz_neg(u), 1);
    adz_tensor *times = adz_div(adz_log(rest), p), *positions = NULL;
    times = adz_masked_fill(times, adz_eq_number(p, 0), -INFINITY);
    adz_tensor *first = adz_topk(times, n, -1, true, &positions);
    return first != NULL ? positions : NULL;
}

/* The call is written out, because it is a composition that takes its draw back where it fails.
 * Everything is computed in f64, because f32 running sums of many weights lose the small ones. */
adz_tensor *adz_multinomial(
    adz_tensor *weights, int64_t n, bool replacement, adz_generator *generator)
{
    ADZI_COMPOSED();
    adzi_call call;
    if (!ADZI_ENTER(&call, multinomial, weights) || !adzi_want_float(&call, 0) ||
        !adzi_may_draw("multinomial")) {
        return NULL;
    }
    /* The weights are detached: no draw has a gradient. */
    adz_tensor *p = adz_to(adz_detach(weights), ADZ_F64);
    p = p != NULL ? adzi_compact("multinomial", p) : NULL;
    adz_tensor *sums = p != NULL && check_shape(p, n) ? running_sums(p, n, replacement) : NULL;
    if (sums == NULL) {
        return NULL;
    }
    /* A failure after the draw restores the generator. */
    adz_generator_state before = adzi_generator_or_default(generator)->state;
    adz_tensor *y = replacement ? with_replacement(&call, p, sums, n, generator)
                                : without_replacement(p, n, generator);
    if (y == NULL) { /* a call that failed has drawn nothing */
        adz_generator_set_state(generator, before);
    }
    return y;
}
