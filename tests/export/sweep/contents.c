/* What the inputs of the sweep over exported operators contain, and how results are compared. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/sweep/sweep.h"

/* ---- special values -------------------------------------------------------------------------- */

/* Of the numbers for f32 and f64 the last two are left out where an operator adds elements up: a
 * sum that overflows depends on the order. */
static const double singles[] = { 0.0, -0.0, 1, -1, 0.5, -2.5, 3, 256, 1.5, -88.75, 89.5,
    1.40129846e-45, -1.17549421e-38, 1.17549435e-38, HUGE_VAL, -HUGE_VAL, (double)NAN,
    (double)FLT_MAX, -(double)FLT_MAX };
static const double doubles[] = { 0.0, -0.0, 1, -1, 0.5, -2.5, 3, 256, 1 + 0x1p-40, -709.5, 710.5,
    5e-324, -2.2250738585072009e-308, DBL_MIN, HUGE_VAL, -HUGE_VAL, (double)NAN, DBL_MAX,
    -DBL_MAX };
static const int64_t wholes[] = { 0, 1, -1, 2, -3, 7, 256, 16777217, INT32_MAX, INT32_MIN,
    9007199254740993, INT64_MAX, INT64_MIN };
static const int64_t bytes[] = { 0, 1, 2, 127, 128, 255 };

enum { IN_32_BITS = 10 }; /* of `wholes` */

static bool is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64 || dtype == ADZ_F16 || dtype == ADZ_BF16;
}

static int n_special(const sweep_case *c, adz_dtype dtype)
{
    const int largest = c->elementwise ? 0 : 2;
    switch (dtype) {
    case ADZ_F64:
        return (int)(sizeof doubles / sizeof *doubles) - largest;
    case ADZ_I32:
        return IN_32_BITS;
    case ADZ_I64:
        return c->limits.i64_is_i32 ? IN_32_BITS : (int)(sizeof wholes / sizeof *wholes);
    case ADZ_U8:
        return (int)(sizeof bytes / sizeof *bytes);
    case ADZ_BOOL:
        return 2;
    default:
        return (int)(sizeof singles / sizeof *singles) - largest;
    }
}

/* Writes special value `which` of the dtype; f16 and bf16 as a float. */
static void put_special(adz_dtype dtype, int which, void *to)
{
    const float single = (float)singles[which % (int)(sizeof singles / sizeof *singles)];
    const int64_t whole = wholes[which % (int)(sizeof wholes / sizeof *wholes)];
    const int32_t half = (int32_t)whole;
    const uint8_t byte = (uint8_t)(dtype == ADZ_BOOL ? which : bytes[which % 6]);
    const void *from = dtype == ADZ_F64   ? (const void *)&doubles[which]
                       : dtype == ADZ_I64 ? (const void *)&whole
                       : dtype == ADZ_I32 ? (const void *)&half
                       : is_float(dtype)  ? (const void *)&single
                                          : (const void *)&byte;
    memcpy(to, from, is_float(dtype) && dtype != ADZ_F64 ? sizeof single : adz_dtype_size(dtype));
}

/* ---- contents of the inputs ------------------------------------------------------------------ */

enum { DRAWN = 2, MIXED = 3, CYCLES = 2 };

bool sweep_is_drawn(int k)
{
    return k < DRAWN;
}

/* The largest number of special values that an input of the case can have. */
static int most_special(const sweep_case *c)
{
    int most = 0;
    for (size_t i = 0; i < c->n_inputs; ++i) {
        const int n = n_special(c, adz_tensor_dtype(c->inputs[i]));
        most = n > most ? n : most;
    }
    return most;
}

int sweep_n_contents(const sweep_case *c)
{
    return DRAWN + MIXED + CYCLES + (c->n_inputs > 1 ? 2 : 1) * most_special(c);
}

/* False for values that are not compared, where the operator puts elements together:
 *
 *     infinite and NaN weights, which the library multiplies by the zeros of a padding, or by a
 *     difference that is 0 there and nearly 0 in C. Masks of attention are infinite.
 *     subnormal weights of f64: the library multiplies by the inverse of their sum, which is
 *     infinite, and C divides by it. In f32 the library computes it in f64.
 *     large integers among floats: C adds them up with 32 bits */
static bool is_allowed(const sweep_case *c, adz_dtype dtype, int position, int which)
{
    if (c->elementwise) {
        return true;
    }
    if (is_float(dtype)) {
        const double x = dtype == ADZ_F64 ? doubles[which] : singles[which];
        const bool weighs = c->products || strstr(c->op->name, "norm") != NULL;
        if (dtype == ADZ_F64 && position > 0 && x != 0 && fabs(x) < DBL_MIN) {
            return false;
        }
        return isfinite(x) || position == 0 || !weighs || (x < 0 && position == 3 && c->products);
    }
    return c->only < 0 || dtype == ADZ_BOOL || dtype == ADZ_U8 ||
           (wholes[which] < 1000 && wholes[which] > -1000);
}

/* False for some values in contents of several special values, where the operator puts elements
 * together: for subnormals in one half of the contents and infinities in the other. Whether a
 * product of both is a NaN depends on the order. */
static bool is_mixed(const sweep_case *c, adz_dtype dtype, int which, int start)
{
    const double x = dtype == ADZ_F64 ? doubles[which] : singles[which];
    return c->elementwise || !is_float(dtype) || x == 0 ||
           (start % 2 == 0 ? fabs(x) > 1e-30 : isfinite(x));
}

/* Fills a tensor with special values: the value `which` in each element, or one after the other for
 * which < 0. `every` says in how many elements: 1 for all. */
static void put_specials(
    const sweep_case *c, adz_tensor *t, int position, int which, int start, int every)
{
    const adz_dtype dtype = adz_tensor_dtype(t);
    const bool half = dtype == ADZ_F16 || dtype == ADZ_BF16;
    const int64_t numel = adz_tensor_numel(t);
    const int n = n_special(c, dtype);
    const adz_dtype type = half ? ADZ_F32 : dtype;
    const size_t size = adz_dtype_size(type), total = (size_t)numel * size;
    char *elements = malloc(total + 1);
    adz_tensor *old = adz_to(t, type);
    assert_non_null(elements);
    assert_int_equal(adz_tensor_read(old, elements, total), ADZ_OK);
    for (int64_t i = 0; i < numel; ++i) {
        const int cycled = (int)((i / every * (every > 1 ? 7 : 1) + start) % n);
        const int value = which >= 0 ? which % n : cycled;
        if ((i + start) % every == 0 && is_allowed(c, dtype, position, value) &&
            (which >= 0 || is_mixed(c, dtype, value, start))) {
            put_special(dtype, value, elements + (size_t)i * size);
        }
    }
    adz_tensor *from = adz_tensor_from((const void *)elements, adz_tensor_shape(t), type);
    assert_non_null(adz_copy_(t, from));
    free(elements);
}

void sweep_fill_special(sweep_case *c, int i)
{
    if (c->specs[i].fill != FILL_INDEX) {
        put_specials(c, c->b.leaves[i], i, -1, (int)c->sample + i, c->elementwise ? 1 : 3);
    }
}

void sweep_fill(sweep_case *c, int k)
{
    const int most = most_special(c), special = k - DRAWN - MIXED - CYCLES;
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < (int)c->n_inputs; ++i) {
        const case_input *spec = &c->specs[c->positions[i]];
        adz_tensor *t = c->inputs[i];
        const int start = k + 5 * i;
        fill_drawn(t, spec, 2000 + (uint64_t)(100 * k + i));
        if (k < DRAWN || spec->fill == FILL_INDEX) {
            continue;
        }
        if (special >= 0) {
            const bool uniform = special / most == (i > 0);
            put_specials(c, t, c->positions[i], uniform ? special % most : -1, start, 1);
        } else {
            put_specials(
                c, t, c->positions[i], -1, start, k < DRAWN + MIXED ? 2 + 3 * (k - DRAWN) : 1);
        }
    }
    adz_scope_close(scope);
}

bool sweep_depends(sweep_case *c)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *first = NULL;
    bool differs = false;
    for (int k = 0; k < sweep_n_contents(c) && !differs; ++k) {
        sweep_fill(c, k);
        adz_tensor *y = sweep_expected(c);
        y = y != NULL ? adz_clone(y) : NULL; /* the result may be an input itself */
        differs = first != NULL && y != NULL && !same_bits(first, y);
        first = first != NULL ? first : y;
    }
    adz_scope_close(scope);
    return differs;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Whether zeros have the library's sign. That of batch norm, and of instance norm, which is written
 * as one, is the sign of the rounding of a mean. */
static bool zeros_agree(const sweep_case *c)
{
    return !c->products && strcmp(c->op->name, "batch_norm") != 0 &&
           strcmp(c->op->name, "instance_norm") != 0;
}

static bool numbers_agree(double a, double b, double relative, double absolute, bool signed_zeros)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (isinf(a) || isinf(b)) {
        return a == b;
    }
    if (a == 0 && b == 0) {
        return signed_zeros ? signbit(a) == signbit(b) : true;
    }
    return fabs(a - b) <= relative * fabs(a) + absolute;
}

/* The largest of the numbers below 1e6: larger ones come from special values alone. */
static double largest_of(const double *values, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double a = fabs(values[i]);
        largest = a > largest && a < 1e6 ? a : largest;
    }
    return largest;
}

static double largest_input(const sweep_case *c)
{
    double largest = 0;
    for (size_t i = 0; i < c->n_inputs; ++i) {
        adz_tensor *x = adz_contiguous(adz_to(c->inputs[i], ADZ_F64));
        largest = fmax(largest, largest_of(adz_tensor_data_f64(x), adz_tensor_numel(x)));
    }
    return largest;
}

/* The library's result with f64 instead of f32, and of the dtype of the case, whose integers are
 * promoted; in f64. NULL if there is none. */
static const double *wide_twin(sweep_case *c, int64_t n)
{
    sweep_case twin = *c;
    for (int i = 0; i < c->b.args.n; ++i) {
        adz_tensor **all[] = { &twin.b.leaves[i], &twin.fixed[i] };
        for (int k = 0; k < 2; ++k) {
            adz_tensor *t = *all[k];
            if (t == NULL || t == ADZ_NONE) {
                continue;
            }
            const adz_dtype dtype = adz_tensor_dtype(t);
            if (dtype == ADZ_F32 || (c->only < 0 && dtype == c->dtype)) {
                *all[k] = adz_to(t, ADZ_F64);
            }
        }
    }
    adz_tensor *y = sweep_expected(&twin);
    y = y != NULL && adz_tensor_numel(y) == n ? adz_contiguous(adz_to(y, ADZ_F64)) : NULL;
    return y != NULL ? adz_tensor_data_f64(y) : NULL;
}

/* The number in proportion to which sums are rounded: the largest input, or for a product of three
 * inputs the third power of it. */
static double largest_term(const sweep_case *c)
{
    const double x = largest_input(c);
    return strcmp(c->op->name, "bilinear") == 0 ? fmax(x, x * x * x) : x;
}

static bool floats_agree(
    sweep_case *c, adz_tensor *expected, adz_tensor *got, char *says, size_t size)
{
    const int64_t n = adz_tensor_numel(expected);
    const bool single = c->dtype == ADZ_F32 || c->only >= 0;
    const bool wide = adz_tensor_dtype(expected) == ADZ_F64 && !single;
    const double *a = adz_tensor_data_f64(adz_contiguous(adz_to(expected, ADZ_F64)));
    const double *b = adz_tensor_data_f64(adz_contiguous(adz_to(got, ADZ_F64))), *exact = NULL;
    const double unit = wide ? 1e-13 : 1e-6;
    const double relative = c->elementwise ? (wide ? unit : 2 * unit) : 10 * unit;
    const double smallest = wide ? 1e-306 : 1e-36;
    const double absolute = c->elementwise
                                ? (wide ? DBL_MIN : (double)FLT_MIN)
                                : smallest + unit * fmax(largest_of(a, n), largest_term(c));
    for (int64_t i = 0; i < n; ++i) {
        if (numbers_agree(a[i], b[i], relative, absolute, zeros_agree(c))) {
            continue;
        }
        exact = exact == NULL ? wide_twin(c, n) : exact;
        const double error = exact != NULL ? 2 * fabs(a[i] - exact[i]) : 0;
        if (!isfinite(error) || !isfinite(a[i]) ||
            !numbers_agree(a[i], b[i], relative, absolute + error, zeros_agree(c))) {
            snprintf(says, size, "element %lld is %.17g in the library and %.17g in the file",
                (long long)i, a[i], b[i]);
            return false;
        }
    }
    return true;
}

bool sweep_agrees(sweep_case *c, adz_tensor *expected, adz_tensor *got, char *says, size_t size)
{
    const adz_dtype dtype = adz_tensor_dtype(expected);
    const int64_t n = adz_tensor_numel(expected);
    if (adz_tensor_dtype(got) != dtype || adz_tensor_numel(got) != n) {
        snprintf(says, size, "the result is %s of %lld elements instead of %s of %lld",
            adz_dtype_name(adz_tensor_dtype(got)), (long long)adz_tensor_numel(got),
            adz_dtype_name(dtype), (long long)n);
        return false;
    }
    if (is_float(dtype)) {
        return floats_agree(c, expected, got, says, size);
    }
    const int64_t *a = adz_tensor_data_i64(adz_contiguous(adz_to(expected, ADZ_I64)));
    const int64_t *b = adz_tensor_data_i64(adz_contiguous(adz_to(got, ADZ_I64)));
    for (int64_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) {
            snprintf(says, size, "element %lld is %lld in the library and %lld in the file",
                (long long)i, (long long)a[i], (long long)b[i]);
            return false;
        }
    }
    return true;
}
