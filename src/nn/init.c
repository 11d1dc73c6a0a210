/* Initial values of parameters, as in torch.nn.init. Each call overwrites t and returns it. */
#include "adze/nn/init.h"

#include <float.h>
#include <math.h>

#include "nn/orthogonal.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "base/threads/parallel.h"
#include "tensor/random/random.h"
#include "base/random_generator.h"
#include "tensor/kernel/real.h"
#include "tensor/tensor.h"

KERNEL_TABLE_FLOAT(uniform);
KERNEL_TABLE_FLOAT(normal);

enum { GRAIN = 16384 };

/* ---- writing -------------------------------------------------------------------------------- */

/* Raises t's version, because its elements were overwritten, and returns t. */
static adz_tensor *written(const char *op, adz_tensor *t)
{
    adzi_written(t, op);
    return t;
}

static bool want_float(const char *op, const adz_tensor *t)
{
    if (!adzi_check_tensor(op, "t", t)) {
        return false;
    }
    if (!adzi_is_float((adz_dtype)t->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "t%s is %s; float32 or float64 is needed", adzi_text_shape(t),
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

/* A draw of random numbers into t. The kernel writes to `target`: t itself if it is contiguous and
 * has the dtype of the draw, else a temporary tensor, which end_draw copies to t and releases. The
 * kernel reads the generator's state, and end_draw advances the generator past the numbers. */
typedef struct draw {
    adz_tensor *t, *target;
    adz_generator *generator;
    uint64_t counters;
} draw;

static bool begin_draw(
    draw *d, const char *op, adz_tensor *t, adz_dtype dtype, adz_generator *generator)
{
    adzi_capture_name(op);
    d->t = t;
    d->target = t;
    generator = adzi_generator_or_default(generator);
    if (generator != NULL && (dtype != t->dtype || !adzi_is_contiguous(t))) {
        d->target = adzi_tensor_new(adzi_self(), op, dtype, t->rank, t->sizes);
    }
    if (generator == NULL || d->target == NULL) {
        return false;
    }
    adzi_draw kind = dtype == ADZ_F64 ? ADZI_DRAW_DOUBLE : ADZI_DRAW_WORD;
    d->generator = generator;
    d->counters = adzi_philox_counters(t->numel, kind);
    return true;
}

static adz_tensor *end_draw(draw *d, const char *op)
{
    adzi_generator_advance(d->generator, d->counters);
    if (d->target != d->t) {
        adzi_copy(d->t, d->target);
        adzi_drop(d->target);
    }
    return written(op, d->t);
}

/* Begins to overwrite t. Fills it with NaN if the thread skips draws. True if it does. */
static bool skips(const char *op, adz_tensor *t)
{
    adzi_capture_changes(t);
    if (!adzi_self()->skips_init) {
        return false;
    }
    adzi_fill(t, NAN);
    written(op, t);
    return true;
}

bool adz_set_skip_init(bool on)
{
    bool before = adzi_self()->skips_init;
    adzi_self()->skips_init = on;
    return before;
}

bool adz_is_skip_init(void)
{
    return adzi_self()->skips_init;
}

static adz_tensor *uniform(
    const char *op, adz_tensor *t, double low, double high, adz_generator *generator)
{
    draw d;
    if (skips(op, t)) {
        return t;
    }
    if (!begin_draw(&d, op, t, (adz_dtype)t->dtype, generator)) {
        return NULL;
    }
    adzi_capture_number(low);
    adzi_capture_number(high);
    adzi_uniform_args args = { &d.generator->state, d.target->data, low, high };
    adzi_launch(KERNEL_FOR(uniform, t->dtype), adzi_uniform_args, &args, t->numel, GRAIN);
    return end_draw(&d, op);
}

static adz_tensor *normal(
    const char *op, adz_tensor *t, double mean, double std, adz_generator *generator)
{
    draw d;
    if (skips(op, t)) {
        return t;
    }
    if (!begin_draw(&d, op, t, (adz_dtype)t->dtype, generator)) {
        return NULL;
    }
    adzi_capture_number(mean);
    adzi_capture_number(std);
    adzi_normal_args args = { &d.generator->state, d.target->data, mean, std };
    adzi_launch(KERNEL_FOR(normal, t->dtype), adzi_normal_args, &args, t->numel, GRAIN);
    return end_draw(&d, op);
}

adz_tensor *adz_init_constant_(adz_tensor *t, double value)
{
    static const char op[] = "init_constant_";
    if (!adzi_check_tensor(op, "t", t)) {
        return NULL;
    }
    adzi_fill(t, value);
    return written(op, t);
}

adz_tensor *adz_init_zeros_(adz_tensor *t)
{
    return adz_init_constant_(t, 0);
}

adz_tensor *adz_init_ones_(adz_tensor *t)
{
    return adz_init_constant_(t, 1);
}

adz_tensor *adz_init_uniform_(adz_tensor *t, double low, double high, adz_generator *generator)
{
    static const char op[] = "init_uniform_";
    if (!want_float(op, t)) {
        return NULL;
    }
    if (!(low <= high) || !isfinite(high - low)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "the range [%s, %s) is empty or not finite",
            adzi_text_number(low), adzi_text_number(high));
    }
    return uniform(op, t, low, high, generator);
}

adz_tensor *adz_init_normal_(adz_tensor *t, double mean, double std, adz_generator *generator)
{
    static const char op[] = "init_normal_";
    if (!want_float(op, t)) {
        return NULL;
    }
    if (!(std >= 0)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "std is %s, but must be 0 or more", adzi_text_number(std));
    }
    return normal(op, t, mean, std, generator);
}

/* ---- Xavier and Kaiming --------------------------------------------------------------------- */

double adz_calculate_gain(adz_nonlinearity nonlinearity, double a)
{
    switch (nonlinearity) {
    case ADZ_NONLINEARITY_LINEAR:
    case ADZ_NONLINEARITY_SIGMOID:
        return 1;
    case ADZ_NONLINEARITY_TANH:
        return 5.0 / 3;
    case ADZ_NONLINEARITY_RELU:
        return sqrt(2);
    case ADZ_NONLINEARITY_LEAKY_RELU:
        if (isnan(a)) {
            adzi_error("calculate_gain", ADZ_ERR_ARGUMENT, "a, the slope below 0, is NaN");
        }
        return sqrt(2 / (1 + a * a));
    case ADZ_NONLINEARITY_SELU:
        return 0.75;
    }
    adzi_error("calculate_gain", ADZ_ERR_ARGUMENT, "%d is no adz_nonlinearity", (int)nonlinearity);
    return NAN;
}

/* The fan-in and fan-out of a weight t[out, in, k...]: size times the number of elements of k. */
static bool fans(const char *op, const adz_tensor *t, double *in, double *out)
{
    if (!want_float(op, t)) {
        return false;
    }
    if (t->rank < 2) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "t%s has no fan-in and fan-out: two dimensions or more are needed", adzi_text_shape(t));
        return false;
    }
    double field = 1;
    for (int i = 2; i < t->rank; ++i) {
        field *= (double)t->sizes[i];
    }
    *in = (double)t->sizes[1] * field;
    *out = (double)t->sizes[0] * field;
    return true;
}

adz_tensor *adz_init_xavier_uniform_(adz_tensor *t, double gain, adz_generator *generator)
{
    static const char op[] = "init_xavier_uniform_";
    double in, out;
    if (!fans(op, t, &in, &out)) {
        return NULL;
    }
    double bound = in + out > 0 ? fabs(gain) * sqrt(6 / (in + out)) : 0;
    return uniform(op, t, -bound, bound, generator);
}

adz_tensor *adz_init_xavier_normal_(adz_tensor *t, double gain, adz_generator *generator)
{
    static const char op[] = "init_xavier_normal_";
    double in, out;
    if (!fans(op, t, &in, &out)) {
        return NULL;
    }
    double std = in + out > 0 ? fabs(gain) * sqrt(2 / (in + out)) : 0;
    return normal(op, t, 0, std, generator);
}

/* gain / sqrt(fan), or 0 for a weight without elements; NaN with the error recorded. */
static double kaiming_std(
    const char *op, const adz_tensor *t, double a, adz_fan mode, adz_nonlinearity nonlinearity)
{
    double in, out;
    if (!fans(op, t, &in, &out)) {
        return NAN;
    }
    if (mode != ADZ_FAN_IN && mode != ADZ_FAN_OUT) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%d is no adz_fan", (int)mode);
        return NAN;
    }
    double fan = mode == ADZ_FAN_IN ? in : out;
    double gain = adz_calculate_gain(nonlinearity, a);
    return fan > 0 || isnan(gain) ? gain / sqrt(fan) : 0;
}

adz_tensor *adz_init_kaiming_uniform_(
    adz_tensor *t, double a, adz_fan mode, adz_nonlinearity nonlinearity, adz_generator *generator)
{
    static const char op[] = "init_kaiming_uniform_";
    double bound = sqrt(3) * kaiming_std(op, t, a, mode, nonlinearity);
    return isnan(bound) ? NULL : uniform(op, t, -bound, bound, generator);
}

adz_tensor *adz_init_kaiming_normal_(
    adz_tensor *t, double a, adz_fan mode, adz_nonlinearity nonlinearity, adz_generator *generator)
{
    static const char op[] = "init_kaiming_normal_";
    double std = kaiming_std(op, t, a, mode, nonlinearity);
    return isnan(std) ? NULL : normal(op, t, 0, std, generator);
}

/* ---- truncated normal ----------------------------------------------------------------------- */

/* The x >= 0 with P(z > x) = q, for a standard normal z and q <= 1/2. The first approximation has
 * an error of 5e-4 (Abramowitz and Stegun, 26.2.23). Three steps of Halley's method on erfc refine
 * it; erfc keeps its relative accuracy in the tail. */
static double upper_quantile(double q)
{
    double t = sqrt(-2 * adzi_real_log(q));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 3; ++i) {
        double error = 0.5 * adzi_real_erfc(x / sqrt(2)) - q;
        double slope = adzi_real_exp(-0.5 * x * x) / sqrt(2 * ADZI_PI);
        double u = error / slope; /* q is DBL_MIN or more, so the slope is not 0 */
        x += u / (1 - 0.5 * x * u);
    }
    return x;
}

/* P(z < x) for a standard normal z. For x <= 0 the result has full relative accuracy. */
static double below(double x)
{
    return 0.5 * adzi_real_erfc(-x / sqrt(2));
}

/* Draws p uniformly between P(z < low) and P(z < high) and takes the z with P(z < z) = p, where low
 * and high are the bounds in standard deviations from the mean. */
adz_tensor *adz_init_trunc_normal_(
    adz_tensor *t, double mean, double std, double a, double b, adz_generator *generator)
{
    static const char op[] = "init_trunc_normal_";
    if (!want_float(op, t) || adzi_is_captured(op, ADZI_USES_ELEMENTS)) {
        return NULL;
    }
    if (!(std > 0) || !(a <= b) || !isfinite(mean)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "mean %s, std %s, a %s, b %s: std must be above 0, and a at most b",
            adzi_text_number(mean), adzi_text_number(std), adzi_text_number(a),
            adzi_text_number(b));
    }
    if (skips(op, t)) {
        return t;
    }
    draw d;
    if (!begin_draw(&d, op, t, ADZ_F64, generator)) {
        return NULL;
    }
    /* An interval whose middle is above the mean is mirrored. The probabilities of a far tail are
     * then close to 0, where doubles are dense, and not close to 1. */
    double low = (a - mean) / std, high = (b - mean) / std, sign = 1;
    if (low + high > 0) {
        double mirrored = -low;
        low = -high;
        high = mirrored;
        sign = -1;
    }
    double p0 = below(low), p1 = below(high);
    double *y = (double *)(void *)d.target->data;
    adzi_uniform_args args = { &d.generator->state, y, 0, 1 };
    adzi_launch(KERNEL_FOR(uniform, ADZ_F64), adzi_uniform_args, &args, t->numel, GRAIN);
    for (int64_t i = 0; i < t->numel; ++i) {
        double p = p0 + (p1 - p0) * y[i];
        p = p > DBL_MIN ? p : DBL_MIN;
        double z = p <= 0.5 ? -upper_quantile(p) : upper_quantile(1 - p);
        z = z < low ? low : z > high ? high : z;
        y[i] = mean + std * sign * z;
    }
    return end_draw(&d, op);
}

/* ---- orthogonal ----------------------------------------------------------------------------- */

/* Draws normal vectors, as many as the shorter side of t as a matrix t[rows, columns], and makes
 * them orthonormal. They become the rows of a wide t and the columns of a tall t. */

adz_tensor *adz_init_orthogonal_(adz_tensor *t, double gain, adz_generator *generator)
{
    static const char op[] = "init_orthogonal_";
    double in, out;
    if (!fans(op, t, &in, &out) || adzi_is_captured(op, ADZI_USES_ELEMENTS)) {
        return NULL;
    }
    if (t->numel == 0 || skips(op, t)) {
        return t;
    }
    int64_t rows = t->sizes[0], columns = t->numel / rows;
    int64_t n = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    adzi_thread *thread = adzi_self();
    /* vectors[n, length], and memory for the dot products of a block of vectors with all n */
    adz_tensor *vectors = adzi_tensor_new(thread, op, ADZ_F64, 2, (int64_t[]){ n, length });
    adz_tensor *products = vectors != NULL ? adzi_tensor_new(thread, op, ADZ_F64, 2,
                                                 (int64_t[]){ ADZI_ORTHOGONAL_BLOCK, n })
                                           : NULL;
    draw d;
    if (products == NULL || !begin_draw(&d, op, vectors, ADZ_F64, generator)) {
        adzi_drop(vectors);
        adzi_drop(products);
        return NULL;
    }
    adzi_normal_args args = { &d.generator->state, vectors->data, 0, 1 };
    adzi_launch(KERNEL_FOR(normal, ADZ_F64), adzi_normal_args, &args, vectors->numel, GRAIN);
    adzi_generator_advance(d.generator, d.counters);
    double *v = (double *)(void *)vectors->data;
    adzi_orthonormalise(v, n, length, (double *)(void *)products->data);
    for (int64_t i = 0; i < vectors->numel; ++i) {
        v[i] *= gain;
    }
    /* `vectors` gets the sizes of t, and strides by which its vectors are t's rows or columns */
    for (int i = 0; i < t->rank; ++i) {
        vectors->sizes[i] = t->sizes[i];
        int64_t inner = 1;
        for (int k = i + 1; k < t->rank; ++k) {
            inner *= t->sizes[k];
        }
        vectors->strides[i] = rows < columns ? inner : i == 0 ? 1 : inner * rows;
    }
    vectors->rank = t->rank;
    adzi_copy(t, vectors);
    adzi_drop(vectors);
    adzi_drop(products);
    return written(op, t);
}
