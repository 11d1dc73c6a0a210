/* See host.h. Operators that move numbers are here; those that compute with them are in
 * host_math.c. */
#include <string.h>

#include "host.h"
#include "host_math.h"

int adzi_reader_set_numbers(const reader_call *call, size_t i, reader_numbers *numbers)
{
    if (numbers == NULL) {
        return -1;
    }
    const size_t value = call->node->outputs[i];
    adzi_reader_drop(call->run, value);
    call->run->slots[value].numbers = numbers;
    return 1;
}

/* ---- shapes of tensors ---------------------------------------------------------------------- */

static int64_t clamped(int64_t x, int64_t rank)
{
    x = x < 0 ? x + rank : x;
    return x < 0 ? 0 : x > rank ? rank : x;
}

static int run_shape(const reader_call *call)
{
    adz_shape shape;
    const reader_slot *slot = &call->run->slots[call->node->inputs[0]];
    if (slot->numbers != NULL) {
        shape = slot->numbers->shape;
    } else {
        const adz_tensor *t = adzi_reader_in(call, 0);
        if (t == NULL) {
            return -1;
        }
        shape = adz_tensor_shape(t);
    }
    const int64_t start = clamped(adzi_reader_int(call, "start", 0), shape.rank);
    const int64_t end = clamped(adzi_reader_int(call, "end", shape.rank), shape.rank);
    const int64_t n = end > start ? end - start : 0;
    reader_numbers *y = adzi_reader_numbers(call, ADZ_I64, ADZ_SHAPE(n));
    for (int64_t k = 0; k < n && y != NULL; ++k) {
        y->at[k].i = shape.sizes[start + k];
    }
    return adzi_reader_set_numbers(call, 0, y);
}

static int run_size(const reader_call *call)
{
    const adz_tensor *t = adzi_reader_in(call, 0);
    reader_numbers *y = t != NULL ? adzi_reader_numbers(call, ADZ_I64, ADZ_SHAPE_SCALAR) : NULL;
    if (y != NULL) {
        y->at[0].i = adz_tensor_numel(t);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* ---- moving numbers ------------------------------------------------------------------------- */

static const reader_numbers *in(const reader_call *call, size_t i)
{
    return adzi_reader_host(call, i);
}

/* Result 0 is a copy of x's numbers with another shape. */
static int with_shape(const reader_call *call, const reader_numbers *x, adz_shape shape)
{
    reader_numbers *y = adzi_reader_numbers(call, x->dtype, shape);
    if (y != NULL && y->n != x->n) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "%s does not hold the elements of %s",
            adz_text_sizes(shape), adz_text_sizes(x->shape));
        return -1;
    }
    if (y != NULL && y->n > 0) {
        memcpy(y->at, x->at, x->n * sizeof *x->at);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

static int run_identity(const reader_call *call)
{
    const reader_numbers *x = in(call, 0);
    return x != NULL ? with_shape(call, x, x->shape) : -1;
}

static int run_reshape(const reader_call *call)
{
    const reader_numbers *x = in(call, 0);
    adz_shape shape;
    int64_t known = 1;
    int open = -1;
    if (x == NULL || !adzi_reader_shape(call, "shape", 1, &shape)) {
        return -1;
    }
    for (int d = 0; d < shape.rank; ++d) {
        if (shape.sizes[d] == 0 && d < x->shape.rank &&
            adzi_reader_int(call, "allowzero", 0) == 0) {
            shape.sizes[d] = x->shape.sizes[d];
        }
        if (shape.sizes[d] < -1 || (shape.sizes[d] < 0 && open >= 0) ||
            shape.sizes[d] > (int64_t)x->n) {
            return 0; /* the tensor function says what is wrong */
        }
        if (shape.sizes[d] < 0) {
            open = d;
        } else {
            known *= shape.sizes[d];
        }
        if (known > (int64_t)x->n) {
            return 0;
        }
    }
    if (open >= 0) {
        shape.sizes[open] = known > 0 ? (int64_t)x->n / known : 0;
    }
    return with_shape(call, x, shape);
}

/* Which dimensions a list names; false with an error recorded. */
static bool read_axes(const reader_call *call, int rank, bool *named, bool *given)
{
    reader_numbers list;
    if (!adzi_reader_list(call, "axes", 1, &list, given)) {
        return false;
    }
    for (size_t k = 0; *given && k < list.n; ++k) {
        const int d = adzi_reader_dim(call, list.at[k].i, rank);
        if (d < 0) {
            return false;
        }
        named[d] = true;
    }
    return true;
}

static int run_squeeze(const reader_call *call)
{
    const reader_numbers *x = in(call, 0);
    bool named[ADZ_MAX_RANK] = { false }, given = false;
    adz_shape shape = ADZ_SHAPE_SCALAR;
    if (x == NULL || !read_axes(call, x->shape.rank, named, &given)) {
        return -1;
    }
    for (int d = 0; d < x->shape.rank; ++d) {
        if (given ? !named[d] : x->shape.sizes[d] != 1) {
            shape.sizes[shape.rank++] = x->shape.sizes[d];
        }
    }
    return with_shape(call, x, shape);
}

static int run_unsqueeze(const reader_call *call)
{
    const reader_numbers *x = in(call, 0);
    bool named[ADZ_MAX_RANK] = { false }, given = false;
    reader_numbers list;
    if (x == NULL || !adzi_reader_list(call, "axes", 1, &list, &given) || !given) {
        return -1;
    }
    adz_shape shape = { .rank = x->shape.rank + (int)list.n };
    if (list.n > ADZ_MAX_RANK || shape.rank > ADZ_MAX_RANK ||
        !read_axes(call, shape.rank, named, &given)) {
        return adz_error_code() == ADZ_OK ? 0 : -1;
    }
    for (int d = 0, from = 0; d < shape.rank; ++d) {
        if (!named[d] && from == x->shape.rank) {
            return 0; /* an axis is named twice: the tensor function says so */
        }
        shape.sizes[d] = named[d] ? 1 : x->shape.sizes[from++];
    }
    return with_shape(call, x, shape);
}

static int run_concat(const reader_call *call)
{
    size_t n = 0;
    const reader_numbers *first = in(call, 0);
    for (size_t i = 0; i < call->node->n_inputs; ++i) {
        const reader_numbers *x = in(call, i);
        if (x == NULL) {
            return -1;
        }
        if (x->shape.rank != 1 || x->dtype != first->dtype) {
            return 0;
        }
        n += x->n;
    }
    if (!adzi_reader_few(ADZ_SHAPE((int64_t)n))) {
        return 0;
    }
    if (adzi_reader_dim(call, adzi_reader_int(call, "axis", 1), 1) < 0) {
        return -1;
    }
    reader_numbers *y = adzi_reader_numbers(call, first->dtype, ADZ_SHAPE((int64_t)n));
    for (size_t i = 0, at = 0; i < call->node->n_inputs && y != NULL; ++i) {
        const reader_numbers *x = in(call, i);
        for (size_t k = 0; k < x->n; ++k) {
            y->at[at++] = x->at[k];
        }
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* Along the first dimension: the indices may have any shape. */
static int run_gather(const reader_call *call)
{
    const reader_numbers *x = in(call, 0), *index = in(call, 1);
    if (x == NULL || index == NULL) {
        return -1;
    }
    if (x->shape.rank != 1 || index->dtype == ADZ_F32 || index->dtype == ADZ_F64) {
        return 0;
    }
    if (!adzi_reader_few(index->shape)) {
        return 0;
    }
    if (adzi_reader_dim(call, adzi_reader_int(call, "axis", 0), 1) < 0) {
        return -1;
    }
    reader_numbers *y = adzi_reader_numbers(call, x->dtype, index->shape);
    for (size_t k = 0; k < index->n && y != NULL; ++k) {
        int64_t at = index->at[k].i;
        at = at < 0 ? at + (int64_t)x->n : at;
        if (at < 0 || at >= (int64_t)x->n) {
            adzi_reader_fail(call, ADZ_ERR_INDEX, "index %lld is outside of %zu numbers",
                (long long)index->at[k].i, x->n);
            return -1;
        }
        y->at[k] = x->at[at];
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* One number of a list that has exactly one; false otherwise. */
static bool single(
    const reader_call *call, const char *name, size_t i, int64_t otherwise, int64_t *number)
{
    reader_numbers list;
    bool given = false;
    if (!adzi_reader_list(call, name, i, &list, &given)) {
        return false;
    }
    *number = given && list.n == 1 ? list.at[0].i : otherwise;
    return !given || list.n == 1;
}

/* Of a list of numbers, along its only dimension. */
static int run_slice(const reader_call *call)
{
    const reader_numbers *x = in(call, 0);
    int64_t start, end, axis, step;
    if (x == NULL || x->shape.rank != 1 || !single(call, "starts", 1, 0, &start) ||
        !single(call, "ends", 2, 0, &end) || !single(call, "axes", 3, 0, &axis) ||
        !single(call, NULL, 4, 1, &step) || step == 0 || (axis != 0 && axis != -1)) {
        return adz_error_code() == ADZ_OK ? 0 : -1;
    }
    const int64_t n = adzi_reader_slice((int64_t)x->n, &start, &end, &step);
    reader_numbers *y = adzi_reader_numbers(call, x->dtype, ADZ_SHAPE(n));
    for (int64_t k = 0; k < n && y != NULL; ++k) {
        y->at[k] = x->at[start + k * step];
    }
    return adzi_reader_set_numbers(call, 0, y);
}

static int run_constant_of_shape(const reader_call *call)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, "value");
    adz_shape shape;
    if (!adzi_reader_shape(call, NULL, 0, &shape)) {
        return -1;
    }
    const adz_dtype dtype = a != NULL ? adz_tensor_dtype(a->t) : ADZ_F32;
    if (dtype == ADZ_F32 || dtype == ADZ_F64 || !adzi_reader_few(shape) ||
        (a != NULL && adz_tensor_numel(a->t) != 1)) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, dtype, shape);
    for (size_t k = 0; y != NULL && k < y->n; ++k) {
        y->at[k].i = a->i;
    }
    return adzi_reader_set_numbers(call, 0, y);
}

static int run_range(const reader_call *call)
{
    const reader_numbers *start = in(call, 0), *limit = in(call, 1), *delta = in(call, 2);
    if (start == NULL || limit == NULL || delta == NULL) {
        return -1;
    }
    if (start->dtype == ADZ_F32 || start->dtype == ADZ_F64 || start->n != 1 || limit->n != 1 ||
        delta->n != 1 || delta->at[0].i == 0) {
        return 0;
    }
    const int64_t from = start->at[0].i, to = limit->at[0].i, by = delta->at[0].i;
    /* The distance of two numbers always fits into an unsigned one. */
    const uint64_t far = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    const uint64_t step = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;
    const int64_t n = (by > 0 ? from < to : from > to) ? (int64_t)((far - 1) / step + 1) : 0;
    if (!adzi_reader_few(ADZ_SHAPE(n))) {
        return 0;
    }
    reader_numbers *y = adzi_reader_numbers(call, start->dtype, ADZ_SHAPE(n));
    for (int64_t k = 0; k < n && y != NULL; ++k) {
        y->at[k].i = (int64_t)((uint64_t)from + (uint64_t)k * (uint64_t)by);
    }
    return adzi_reader_set_numbers(call, 0, y);
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct host_operator {
    const char *name;
    int (*run)(const reader_call *call);
} operators[] = {
    { "Add", adzi_reader_host_binary },
    { "And", adzi_reader_host_binary },
    { "Cast", adzi_reader_host_cast },
    { "Ceil", adzi_reader_host_unary },
    { "Concat", run_concat },
    { "ConstantOfShape", run_constant_of_shape },
    { "Div", adzi_reader_host_binary },
    { "Equal", adzi_reader_host_binary },
    { "Floor", adzi_reader_host_unary },
    { "Gather", run_gather },
    { "Greater", adzi_reader_host_binary },
    { "Identity", run_identity },
    { "Less", adzi_reader_host_binary },
    { "Max", adzi_reader_host_binary },
    { "Min", adzi_reader_host_binary },
    { "Mod", adzi_reader_host_binary },
    { "Mul", adzi_reader_host_binary },
    { "Neg", adzi_reader_host_unary },
    { "Not", adzi_reader_host_unary },
    { "Or", adzi_reader_host_binary },
    { "Range", run_range },
    { "ReduceMax", adzi_reader_host_reduce },
    { "ReduceMin", adzi_reader_host_reduce },
    { "ReduceProd", adzi_reader_host_reduce },
    { "ReduceSum", adzi_reader_host_reduce },
    { "Reshape", run_reshape },
    { "Shape", run_shape },
    { "Size", run_size },
    { "Slice", run_slice },
    { "Sqrt", adzi_reader_host_unary },
    { "Squeeze", run_squeeze },
    { "Sub", adzi_reader_host_binary },
    { "Unsqueeze", run_unsqueeze },
    { "Where", adzi_reader_host_where },
};

int (*adzi_reader_find_host(const char *type))(const reader_call *call)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
        if (strcmp(operators[i].name, type) == 0) {
            return operators[i].run;
        }
    }
    return NULL;
}

/* Whether the host knows input i: it computed it, or it is a constant. Trained weights are left to
 * tensors. */
static bool is_known(const reader_call *call, size_t i, bool *any)
{
    const size_t value = call->node->inputs[i];
    const reader_value *v = &call->run->model->values[value];
    if (adzi_reader_is_host(call->run, value)) {
        *any = true;
        return true;
    }
    if (call->run->slots[value].t != NULL || v->parameter ||
        (v->kind != VALUE_WEIGHT && v->kind != VALUE_CONSTANT)) {
        return false;
    }
    const adz_tensor *t = adzi_reader_in(call, i);
    return t != NULL && adzi_reader_few(adz_tensor_shape(t));
}

int adzi_reader_run_host(const reader_call *call)
{
    const reader_node *node = call->node;
    bool any = false;
    if (node->wraps) {
        return 0; /* int8, which only tensors wrap */
    }
    if (node->host == run_shape || node->host == run_size) {
        return node->host(call);
    }
    for (size_t i = 0; i < node->n_inputs; ++i) {
        if (node->inputs[i] != NO_VALUE && !is_known(call, i, &any)) {
            return 0;
        }
    }
    return any ? node->host(call) : 0;
}
