/* See host_math.h. */
#include "host_math.h"

#include <math.h>
#include <string.h>

#include "host.h"

static bool is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64;
}

/* Rounds to what the dtype holds. */
static reader_number rounded(reader_number x, adz_dtype dtype)
{
    if (dtype == ADZ_F32) {
        x.f = (double)(float)x.f;
    } else if (dtype == ADZ_I32) {
        x.i = (int32_t)(uint32_t)(uint64_t)x.i;
    } else if (dtype == ADZ_U8) {
        x.i = (uint8_t)(uint64_t)x.i;
    } else if (dtype == ADZ_BOOL) {
        x.i = x.i != 0;
    }
    return x;
}

static bool is_type(const reader_call *call, const char *type)
{
    return strcmp(call->node->type, type) == 0;
}

/* ---- one input ------------------------------------------------------------------------------ */

/* False for an operator that these numbers do not have. */
static bool map_float(const char *type, double x, double *y)
{
    *y = strcmp(type, "Ceil") == 0    ? ceil(x)
         : strcmp(type, "Floor") == 0 ? floor(x)
         : strcmp(type, "Sqrt") == 0  ? sqrt(x)
                                      : -x;
    return strcmp(type, "Not") != 0;
}

int adzi_reader_host_unary(const reader_call *call)
{
    const reader_numbers *x = adzi_reader_host(call, 0);
    if (x == NULL) {
        return -1;
    }
    if (!is_float(x->dtype) && !is_type(call, x->dtype == ADZ_BOOL ? "Not" : "Neg")) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, x->dtype, x->shape);
    for (size_t k = 0; y != NULL && k < x->n; ++k) {
        if (!is_float(x->dtype)) {
            y->at[k].i = x->dtype == ADZ_BOOL ? !x->at[k].i : (int64_t)(0 - (uint64_t)x->at[k].i);
        } else if (!map_float(call->node->type, x->at[k].f, &y->at[k].f)) {
            return 0;
        }
        y->at[k] = rounded(y->at[k], y->dtype);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* ---- two inputs ----------------------------------------------------------------------------- */

/* The shape that two shapes are broadcast to; false if they do not fit. */
static bool broadcast(adz_shape a, adz_shape b, adz_shape *shape)
{
    shape->rank = a.rank > b.rank ? a.rank : b.rank;
    for (int d = 1; d <= shape->rank; ++d) {
        const int64_t x = d <= a.rank ? a.sizes[a.rank - d] : 1;
        const int64_t y = d <= b.rank ? b.sizes[b.rank - d] : 1;
        if (x != y && x != 1 && y != 1) {
            return false;
        }
        shape->sizes[shape->rank - d] = x == 1 ? y : x;
    }
    return true;
}

/* Which number of x stands at position k of the shape that x is broadcast to. */
static reader_number at(const reader_numbers *x, adz_shape shape, size_t k)
{
    size_t from = 0, stride = 1;
    for (int d = 1; d <= shape.rank; ++d) {
        const size_t size = (size_t)shape.sizes[shape.rank - d];
        if (d <= x->shape.rank && x->shape.sizes[x->shape.rank - d] != 1) {
            from += k % size * stride;
            stride *= size;
        }
        k /= size;
    }
    return x->at[from];
}

enum { UNKNOWN, NUMBER, TRUTH }; /* what an operator gives */

static int combine_floats(const char *type, double a, double b, reader_number *y)
{
    static const char *const names[] = { "Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less",
        "Greater" };
    const double numbers[] = { a + b, a - b, a * b, a / b, a > b ? a : b, a < b ? a : b };
    const bool truths[] = { a == b, a<b, a> b };
    for (int i = 0; i < 9; ++i) {
        if (strcmp(names[i], type) == 0 && i < 6) {
            y->f = numbers[i];
            return isnan(a) || isnan(b) ? UNKNOWN : NUMBER;
        }
        if (strcmp(names[i], type) == 0) {
            y->i = truths[i - 6];
            return TRUTH;
        }
    }
    return UNKNOWN;
}

static int64_t divided(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* The rest has the sign of b, as Mod without fmod has it. */
static int64_t rest(int64_t a, int64_t b)
{
    const int64_t r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int combine_integers(const char *type, int64_t a, int64_t b, reader_number *y)
{
    static const char *const names[] = { "Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Equal",
        "Less", "Greater", "And", "Or" };
    const uint64_t u = (uint64_t)a, v = (uint64_t)b;
    const int64_t numbers[] = { (int64_t)(u + v), (int64_t)(u - v), (int64_t)(u * v), a > b ? a : b,
        a < b ? a : b, b != 0 ? divided(a, b) : 0, b != 0 ? rest(a, b) : 0, a == b, a<b, a> b,
        a && b, a || b };
    for (int i = 0; i < 12; ++i) {
        if (strcmp(names[i], type) == 0) {
            y->i = numbers[i];
            return (i == 5 || i == 6) && b == 0 ? UNKNOWN : i < 7 ? NUMBER : TRUTH;
        }
    }
    return UNKNOWN;
}

int adzi_reader_host_binary(const reader_call *call)
{
    const reader_numbers *a = adzi_reader_host(call, 0);
    const reader_numbers *b = call->node->n_inputs == 2 ? adzi_reader_host(call, 1) : NULL;
    adz_shape shape;
    if (a == NULL || (b == NULL && call->node->n_inputs == 2)) {
        return -1;
    }
    if (b == NULL || a->dtype != b->dtype || !broadcast(a->shape, b->shape, &shape) ||
        !adzi_reader_few(shape) || adzi_reader_int(call, "fmod", 0) != 0 ||
        adzi_reader_attribute(call->node, "axis") != NULL) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, a->dtype, shape);
    int kind = NUMBER;
    for (size_t k = 0; y != NULL && k < y->n && kind != UNKNOWN; ++k) {
        const reader_number p = at(a, shape, k), q = at(b, shape, k);
        kind = is_float(a->dtype) ? combine_floats(call->node->type, p.f, q.f, &y->at[k])
                                  : combine_integers(call->node->type, p.i, q.i, &y->at[k]);
        y->at[k] = kind == NUMBER ? rounded(y->at[k], a->dtype) : y->at[k];
    }
    if (kind == UNKNOWN || (y != NULL && y->n == 0)) {
        return 0;
    }
    if (y != NULL && kind == TRUTH) {
        y->dtype = ADZ_BOOL;
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* ---- others --------------------------------------------------------------------------------- */

/* Of all numbers of a list. */
int adzi_reader_host_reduce(const reader_call *call)
{
    const reader_numbers *x = adzi_reader_host(call, 0);
    const char *type = call->node->type;
    reader_numbers axes;
    bool given = false;
    if (x == NULL || !adzi_reader_list(call, "axes", 1, &axes, &given)) {
        return -1;
    }
    if (x->shape.rank != 1 || is_float(x->dtype) || x->n == 0 ||
        (given && (axes.n != 1 || axes.at[0].i < -1 || axes.at[0].i > 0)) ||
        (!given && adzi_reader_int(call, "noop_with_empty_axes", 0) != 0)) {
        return 0;
    }
    reader_number sum = x->at[0];
    const char *step = strcmp(type, "ReduceProd") == 0  ? "Mul"
                       : strcmp(type, "ReduceSum") == 0 ? "Add"
                       : strcmp(type, "ReduceMax") == 0 ? "Max"
                                                        : "Min";
    for (size_t k = 1; k < x->n; ++k) {
        combine_integers(step, sum.i, x->at[k].i, &sum);
    }
    const bool keep = adzi_reader_int(call, "keepdims", 1) != 0;
    reader_numbers *y = adzi_reader_numbers(call, x->dtype, keep ? ADZ_SHAPE(1) : ADZ_SHAPE_SCALAR);
    if (y != NULL) {
        y->at[0] = rounded(sum, x->dtype);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

int adzi_reader_host_cast(const reader_call *call)
{
    const reader_numbers *x = adzi_reader_host(call, 0);
    const int64_t to = adzi_reader_int(call, "to", 0);
    adz_dtype dtype;
    if (x == NULL || !adzi_reader_target(call, to, &dtype)) {
        return -1;
    }
    if (to != ELEMENT_FLOAT && to != ELEMENT_DOUBLE && to != ELEMENT_INT32 && to != ELEMENT_INT64 &&
        to != ELEMENT_BOOL) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, dtype, x->shape);
    for (size_t k = 0; y != NULL && k < x->n; ++k) {
        const reader_number n = x->at[k];
        if (is_float(x->dtype) && is_float(dtype)) {
            y->at[k].f = n.f;
        } else if (is_float(dtype)) {
            y->at[k].f = (double)n.i;
        } else if (!is_float(x->dtype)) {
            y->at[k].i = n.i;
        } else if (dtype == ADZ_BOOL) {
            y->at[k].i = n.f != 0;
        } else if (!(fabs(n.f) < 0x1p31)) {
            return 0;
        } else {
            y->at[k].i = (int64_t)n.f;
        }
        y->at[k] = rounded(y->at[k], dtype);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

int adzi_reader_host_where(const reader_call *call)
{
    const reader_numbers *condition = adzi_reader_host(call, 0), *a = adzi_reader_host(call, 1),
                         *b = adzi_reader_host(call, 2);
    adz_shape shape;
    if (condition == NULL || a == NULL || b == NULL) {
        return -1;
    }
    if (a->dtype != b->dtype || !broadcast(a->shape, b->shape, &shape) ||
        !broadcast(shape, condition->shape, &shape) || !adzi_reader_few(shape)) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, a->dtype, shape);
    for (size_t k = 0; y != NULL && k < y->n; ++k) {
        y->at[k] = at(condition, shape, k).i != 0 ? at(a, shape, k) : at(b, shape, k);
    }
    return adzi_reader_set_numbers(call, 0, y);
}
