/* Factories of random numbers: rand, randn, randint, bernoulli and randperm. The kernels and how
 * they use Philox's words are described in random.h. */
#include "adze/random.h"
#include "tensor/copy.h"
#include "base/composed.h"
#include "base/error.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "tensor/random/random.h"
#include "base/random_generator.h"
#include "tensor/range.h"
#include "tensor/tensor.h"

KERNEL_TABLE_FLOAT(uniform);
KERNEL_TABLE_FLOAT(normal);
KERNEL_TABLE_ALL(randint);
KERNEL_TABLE_ALL(bernoulli);

/* So many elements, some ten microseconds of work, are worth a thread. */
enum { GRAIN = 16384 };

/* A draw in three steps: begin() makes the tensor, a launch fills it from the generator's state,
 * and end() advances the generator past the counters that were used. A draw begins as { op,
 * generator }. */
typedef struct {
    const char *op;
    adz_generator *generator; /* may be NULL before begin() */
    adz_tensor *y;
    uint64_t counters;
} draw;

static bool begin(draw *d, adz_shape shape, adz_dtype dtype, adzi_draw kind)
{
    d->generator = adzi_generator_or_default(d->generator);
    d->y = adzi_may_draw(d->op) ? adz_empty(shape, dtype) : NULL;
    if (d->y == NULL) {
        return false;
    }
    adzi_capture_name(d->op);
    d->counters = adzi_philox_counters(d->y->numel, kind);
    return true;
}

static adz_tensor *end(const draw *d)
{
    adzi_generator_advance(d->generator, d->counters);
    return d->y;
}

static bool want_float(const char *op, adz_dtype dtype)
{
    if (adzi_is_float(dtype)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_DTYPE, "%s numbers cannot be drawn; use float32 or float64",
        adz_dtype_name(dtype));
    return false;
}

static adzi_draw float_draw(adz_dtype dtype)
{
    return dtype == ADZ_F64 ? ADZI_DRAW_DOUBLE : ADZI_DRAW_WORD;
}

adz_tensor *adz_generator_rand(adz_generator *generator, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    draw d = { .op = "rand", .generator = generator };
    if (!want_float("rand", dtype) || !begin(&d, shape, dtype, float_draw(dtype))) {
        return NULL;
    }
    adzi_uniform_args args = { &d.generator->state, d.y->data, 0, 1 };
    adzi_launch(KERNEL_FOR(uniform, dtype), adzi_uniform_args, &args, d.y->numel, GRAIN);
    return end(&d);
}

adz_tensor *adz_generator_randn(adz_generator *generator, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    draw d = { .op = "randn", .generator = generator };
    if (!want_float("randn", dtype) || !begin(&d, shape, dtype, float_draw(dtype))) {
        return NULL;
    }
    adzi_normal_args args = { &d.generator->state, d.y->data, 0, 1 };
    adzi_launch(KERNEL_FOR(normal, dtype), adzi_normal_args, &args, d.y->numel, GRAIN);
    return end(&d);
}

adz_tensor *adz_generator_randint(
    adz_generator *generator, int64_t low, int64_t high, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    draw d = { .op = "randint", .generator = generator };
    if (high <= low) {
        return adzi_fail("randint", ADZ_ERR_ARGUMENT,
            "the range [%lld, %lld) is empty; high must be above low", (long long)low,
            (long long)high);
    }
    if (dtype == ADZ_BOOL || dtype == ADZ_F16 || dtype == ADZ_BF16) {
        return adzi_fail("randint", ADZ_ERR_DTYPE,
            "integers cannot be drawn as %s; use an integer or float dtype", adz_dtype_name(dtype));
    }
    if (adzi_is_integer(dtype) && dtype != ADZ_I64 &&
        !(adzi_in_range((double)low, dtype) && adzi_in_range((double)(high - 1), dtype))) {
        return adzi_fail("randint", ADZ_ERR_ARGUMENT, "%s does not hold all of [%lld, %lld)",
            adz_dtype_name(dtype), (long long)low, (long long)high);
    }
    if (!begin(&d, shape, dtype, ADZI_DRAW_DOUBLE)) {
        return NULL;
    }
    adzi_capture_number((double)low);
    adzi_capture_number((double)high);
    adzi_randint_args args = { &d.generator->state, d.y->data, low,
        (uint64_t)high - (uint64_t)low };
    adzi_launch(KERNEL_FOR(randint, dtype), adzi_randint_args, &args, d.y->numel, GRAIN);
    return end(&d);
}

void adzi_bernoulli_draw(adz_tensor *y, double p, const adz_generator_state *state)
{
    adzi_capture_number(p);
    adzi_bernoulli_args args = { state, y->data, p };
    adzi_launch(KERNEL_FOR(bernoulli, y->dtype), adzi_bernoulli_args, &args, y->numel, GRAIN);
}

adz_tensor *adz_generator_bernoulli(
    adz_generator *generator, double p, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    draw d = { .op = "bernoulli", .generator = generator };
    if (!(p >= 0 && p <= 1)) {
        return adzi_fail("bernoulli", ADZ_ERR_ARGUMENT, "p is %s; a probability lies in [0, 1]",
            adzi_text_number(p));
    }
    if (dtype == ADZ_F16 || dtype == ADZ_BF16) {
        return adzi_fail("bernoulli", ADZ_ERR_DTYPE,
            "%s is for storage only; draw float32 and convert it with adz_to",
            adz_dtype_name(dtype));
    }
    if (!begin(&d, shape, dtype, ADZI_DRAW_WORD)) {
        return NULL;
    }
    adzi_bernoulli_draw(d.y, p, &d.generator->state);
    return end(&d);
}

/* Arguments of `shuffle`: the order of n rows, and n random words. */
typedef struct {
    int64_t *at;
    const uint64_t *word;
    int64_t n;
} shuffle_args;

ADZI_ADDRESSES(shuffle_args, at, word);

/* The shuffle of Fisher and Yates: from the last position down, the element at position i is
 * exchanged with the one at a random position 0 .. i. There is one unit. */
static void shuffle(const void *block, int64_t begin, int64_t end)
{
    const shuffle_args *args = block;
    for (int64_t i = 0; begin < end && i < args->n; ++i) {
        args->at[i] = i;
    }
    for (int64_t i = args->n - 1; begin < end && i > 0; --i) {
        /* floor(word * (i + 1) / 2^64), the high half of a product, from two products of 32-bit
         * parts */
        const uint64_t m = (uint64_t)i + 1, word = args->word[i];
        const uint64_t low = (word & 0xffffffffu) * m, high = (word >> 32) * m;
        const int64_t j = (int64_t)((high + (low >> 32)) >> 32), swap = args->at[i];
        args->at[i] = args->at[j];
        args->at[j] = swap;
    }
}

adz_tensor *adz_generator_randperm(adz_generator *generator, int64_t n)
{
    ADZI_COMPOSED();
    if (n < 0) {
        return adzi_fail(
            "randperm", ADZ_ERR_ARGUMENT, "n is %lld, but must be 0 or more", (long long)n);
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = scope != NULL ? adz_empty(ADZ_SHAPE(n), ADZ_I64) : NULL;
    adz_shape shape = ADZ_SHAPE(n);
    adz_tensor *words =
        y != NULL ? adz_generator_randint(generator, INT64_MIN, INT64_MAX, shape, ADZ_I64) : NULL;
    if (words == NULL) {
        if (scope != NULL) {
            adz_scope_close(scope);
        }
        return NULL;
    }
    const shuffle_args args = { (int64_t *)(void *)y->data,
        (const uint64_t *)(const void *)words->data, n };
    adzi_launch(shuffle, shuffle_args, &args, 1, 1);
    return adz_scope_return(scope, y);
}

/* ---- from the default generator -------------------------------------------------------------- */

adz_tensor *adz_rand(adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    return adz_generator_rand(NULL, shape, dtype);
}

adz_tensor *adz_randn(adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    return adz_generator_randn(NULL, shape, dtype);
}

adz_tensor *adz_randint(int64_t low, int64_t high, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    return adz_generator_randint(NULL, low, high, shape, dtype);
}

adz_tensor *adz_randperm(int64_t n)
{
    ADZI_COMPOSED();
    return adz_generator_randperm(NULL, n);
}

adz_tensor *adz_bernoulli(double p, adz_shape shape, adz_dtype dtype)
{
    ADZI_COMPOSED();
    return adz_generator_bernoulli(NULL, p, shape, dtype);
}

adz_tensor *adz_rand_like(const adz_tensor *t)
{
    ADZI_COMPOSED();
    return adzi_check_tensor("rand_like", "t", t)
               ? adz_rand(adz_shape_of(t->rank, t->sizes), (adz_dtype)t->dtype)
               : NULL;
}

adz_tensor *adz_randn_like(const adz_tensor *t)
{
    ADZI_COMPOSED();
    return adzi_check_tensor("randn_like", "t", t)
               ? adz_randn(adz_shape_of(t->rank, t->sizes), (adz_dtype)t->dtype)
               : NULL;
}
