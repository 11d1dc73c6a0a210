#include <math.h>

#include "adze/random.h"
#include "autograd/op.h"

const adzi_op adzi_op_multinomial = { .name = "multinomial" };

/* Checks row `row` of the weights, and that n can be drawn from it. */
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
            "row %lld has %lld classes of weight above 0 with the sum %s: %lld cannot be drawn "
            "from it %s replacement",
            (long long)row, (long long)possible, adzi_text_number(total), (long long)n,
            replacement ? "with" : "without");
        return false;
    }
    return true;
}

static bool check(const adz_tensor *p, int64_t n, bool replacement)
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
    int64_t classes = p->sizes[p->rank - 1];
    for (int64_t r = 0; r < p->numel / classes; ++r) {
        const double *row = (const double *)(const void *)p->data + r * classes;
        if (!check_row(row, r, classes, n, replacement)) {
            return false;
        }
    }
    return true;
}

/* The class whose part of the running sum holds `at`; always one of weight above 0. */
static int64_t class_at(const double *sum, int64_t classes, double at)
{
    int64_t low = 0, high = classes - 1; /* the first class with a sum above `at`, or the last */
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (sum[mid] > at) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    while (low > 0 && sum[low] == sum[low - 1]) {
        --low;
    }
    return low;
}

/* y = classes drawn by inverting the running sum of each row; p becomes that sum. */
static adz_tensor *with_replacement(
    adzi_call *call, adz_tensor *p, int64_t n, adz_generator *generator)
{
    adz_shape shape = adz_shape_of(p->rank, p->sizes);
    int64_t classes = p->sizes[p->rank - 1];
    shape.sizes[p->rank - 1] = n;
    adz_tensor *u = adz_generator_rand(generator, shape, ADZ_F64);
    adz_tensor *sums = adzi_scratch_like("multinomial", p);
    adz_tensor *y =
        u != NULL && sums != NULL ? adzi_new(call, ADZ_I64, shape.rank, shape.sizes) : NULL;
    if (y == NULL) {
        return NULL;
    }
    for (int64_t r = 0; r < p->numel / classes; ++r) {
        const double *row = (const double *)(const void *)p->data + r * classes;
        double *sum = (double *)(void *)sums->data + r * classes, total = 0;
        for (int64_t c = 0; c < classes; ++c) {
            sum[c] = total += row[c];
        }
        for (int64_t i = r * n; i < (r + 1) * n; ++i) {
            double at = ((const double *)(const void *)u->data)[i] * total;
            ((int64_t *)(void *)y->data)[i] = class_at(sum, classes, at);
        }
    }
    return y;
}

/* Exponential times of rate p: the classes in the order in which they come are draws without
 * replacement. -time = log(1 - u) / p; classes of weight 0 never come. */
static adz_tensor *without_replacement(adz_tensor *p, int64_t n, adz_generator *generator)
{
    adz_tensor *u = adz_generator_rand(generator, adz_shape_of(p->rank, p->sizes), ADZ_F64);
    adz_tensor *rest = adz_add_number(adz_neg(u), 1);
    adz_tensor *times = adz_div(adz_log(rest), p), *places = NULL;
    times = adz_masked_fill(times, adz_eq_number(p, 0), -INFINITY);
    adz_tensor *first = adz_topk(times, n, -1, true, true, &places);
    return first != NULL ? places : NULL;
}

adz_tensor *adz_multinomial(
    adz_tensor *weights, int64_t n, bool replacement, adz_generator *generator)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, multinomial, weights) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    adz_tensor *p = adz_to(adz_detach(weights), ADZ_F64);
    p = p != NULL ? adzi_compact("multinomial", p) : NULL;
    if (p == NULL || !check(p, n, replacement)) {
        return NULL;
    }
    adz_generator_state before = adz_generator_get_state(generator);
    adz_tensor *y = replacement ? with_replacement(&call, p, n, generator)
                                : without_replacement(p, n, generator);
    if (y == NULL) { /* a call that failed has drawn nothing */
        adz_generator_set_state(generator, before);
    }
    return y;
}
