/* What operators ask of a call. */
#include <string.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/shape.h"
#include "run.h"

bool adzi_reader_has(const reader_call *call, size_t i)
{
    return i < call->node->n_inputs && call->node->inputs[i] != NO_VALUE;
}

adz_tensor *adzi_reader_in(const reader_call *call, size_t i)
{
    return adzi_reader_has(call, i) ? adzi_reader_value(call->run, call->node->inputs[i])
                                    : ADZ_NONE;
}

bool adzi_reader_wants(const reader_call *call, size_t i)
{
    return i < call->node->n_outputs && call->node->outputs[i] != NO_VALUE;
}

/* ---- attributes ----------------------------------------------------------------------------- */

const reader_attribute *adzi_reader_attribute(const reader_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attributes; ++i) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

int64_t adzi_reader_int(const reader_call *call, const char *name, int64_t otherwise)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, name);
    return a != NULL ? a->i : otherwise;
}

double adzi_reader_float(const reader_call *call, const char *name, double otherwise)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, name);
    return a != NULL ? a->f : otherwise;
}

const char *adzi_reader_string(const reader_call *call, const char *name, const char *otherwise)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, name);
    return a != NULL ? a->s : otherwise;
}

/* ---- errors --------------------------------------------------------------------------------- */

adz_tensor *adzi_reader_fail(const reader_call *call, adz_status status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    adz_error_format(call->node->type, status, "node \"%.60s\" (opset %lld): %s", call->node->name,
        (long long)call->node->opset, text);
    return NULL;
}

bool adzi_reader_target(const reader_call *call, int64_t element, adz_dtype *dtype)
{
    if (element > 0 && element < 256 && adzi_reader_dtype(call->run->model, (int)element, dtype)) {
        return true;
    }
    adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "elements of type %s (%lld) are not supported",
        adzi_reader_element_name(element > 0 && element < 256 ? (int)element : 0),
        (long long)element);
    return false;
}

/* ---- numbers on the host -------------------------------------------------------------------- */

enum { MOST_NUMBERS = 4096 };

/* The number of elements of a shape; MOST_NUMBERS + 1 if there are more. */
static size_t count_of(adz_shape shape)
{
    size_t n = 1;
    for (int d = 0; d < shape.rank; ++d) {
        const bool many = shape.sizes[d] < 0 || shape.sizes[d] > MOST_NUMBERS || n > MOST_NUMBERS;
        n = many ? MOST_NUMBERS + 1 : n * (size_t)shape.sizes[d];
    }
    return n;
}

bool adzi_reader_few(adz_shape shape)
{
    return count_of(shape) <= MOST_NUMBERS;
}

reader_numbers *adzi_reader_numbers(const reader_call *call, adz_dtype dtype, adz_shape shape)
{
    const size_t n = count_of(shape);
    if (n > MOST_NUMBERS) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
            "a list of shape %s is longer than %d numbers, the most that are followed",
            adz_text_sizes(shape), MOST_NUMBERS);
        return NULL;
    }
    reader_numbers *numbers = adzi_reader_alloc(&call->run->arena, 1, sizeof *numbers);
    reader_number *at = adzi_reader_alloc(&call->run->arena, n, sizeof *at);
    if (numbers == NULL || at == NULL) {
        return NULL;
    }
    *numbers = (reader_numbers){ dtype, shape, n, at };
    return numbers;
}

static reader_number number_of(const void *data, size_t i, adz_dtype dtype)
{
    switch (dtype) {
    case ADZ_F32:
        return (reader_number){ .f = (double)((const float *)data)[i] };
    case ADZ_F64:
        return (reader_number){ .f = ((const double *)data)[i] };
    case ADZ_I32:
        return (reader_number){ .i = ((const int32_t *)data)[i] };
    case ADZ_I64:
        return (reader_number){ .i = ((const int64_t *)data)[i] };
    default:
        return (reader_number){ .i = ((const uint8_t *)data)[i] };
    }
}

/* The elements of a tensor. A captured function may read those of weights and constants only. */
static const reader_numbers *numbers_of(const reader_call *call, size_t i, adz_tensor *t)
{
    const adz_dtype dtype = t != NULL ? adz_tensor_dtype(t) : ADZ_F32;
    reader_numbers *numbers =
        t != NULL ? adzi_reader_numbers(call, dtype, adz_tensor_shape(t)) : NULL;
    if (numbers == NULL) {
        return NULL;
    }
    if (!adz_tensor_is_contiguous(t) && numbers->n > 1) {
        void *copy = adzi_reader_alloc(&call->run->arena, numbers->n, adz_dtype_size(dtype));
        if (adz_tensor_data_constant(t) == NULL || copy == NULL ||
            adz_tensor_read(t, copy, numbers->n * adz_dtype_size(dtype)) != ADZ_OK) {
            return NULL;
        }
        for (size_t k = 0; k < numbers->n; ++k) {
            numbers->at[k] = number_of(copy, k, dtype);
        }
        return numbers;
    }
    const void *data = adz_tensor_data_constant(t);
    if (adz_error_code() != ADZ_OK || (data == NULL && numbers->n > 0)) {
        char text[256];
        const adz_status status = adz_error_take(text, sizeof text);
        adzi_reader_fail(call, status,
            "input %zu decides about shapes, but is computed from the network's inputs: %s", i,
            text);
        return NULL;
    }
    for (size_t k = 0; k < numbers->n; ++k) {
        numbers->at[k] = number_of(data, k, dtype);
    }
    return numbers;
}

const reader_numbers *adzi_reader_host(const reader_call *call, size_t i)
{
    const size_t value = call->node->inputs[i];
    const reader_slot *slot = &call->run->slots[value];
    return slot->numbers != NULL ? slot->numbers
                                 : numbers_of(call, i, adzi_reader_value(call->run, value));
}

/* The numbers of input i, of which there is one; NULL with an error recorded. */
static const reader_numbers *one_number(const reader_call *call, size_t i)
{
    const reader_numbers *numbers = adzi_reader_host(call, i);
    if (numbers != NULL && numbers->n != 1) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "input %zu is not one number", i);
    }
    return numbers != NULL && numbers->n == 1 ? numbers : NULL;
}

bool adzi_reader_number(const reader_call *call, size_t i, double otherwise, double *value)
{
    *value = otherwise;
    if (!adzi_reader_has(call, i)) {
        return true;
    }
    const reader_numbers *one = one_number(call, i);
    if (one != NULL) {
        const bool is_float = one->dtype == ADZ_F32 || one->dtype == ADZ_F64;
        *value = is_float ? one->at[0].f : (double)one->at[0].i;
    }
    return one != NULL;
}

bool adzi_reader_whole(const reader_call *call, size_t i, int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    if (!adzi_reader_has(call, i)) {
        return true;
    }
    const reader_numbers *one = one_number(call, i);
    if (one != NULL && (one->dtype == ADZ_F32 || one->dtype == ADZ_F64)) {
        adzi_reader_fail(call, ADZ_ERR_DTYPE, "input %zu must be a whole number", i);
        return false;
    }
    *value = one != NULL ? one->at[0].i : 0;
    return one != NULL;
}

bool adzi_reader_list(
    const reader_call *call, const char *name, size_t i, reader_numbers *list, bool *given)
{
    const reader_attribute *a = name != NULL ? adzi_reader_attribute(call->node, name) : NULL;
    *given = true;
    if (i != NO_VALUE && adzi_reader_has(call, i)) {
        const reader_numbers *numbers = adzi_reader_host(call, i);
        if (numbers == NULL) {
            return false;
        }
        *list = *numbers;
        if (list->dtype == ADZ_F32 || list->dtype == ADZ_F64) {
            adzi_reader_fail(call, ADZ_ERR_DTYPE, "input %zu must be of whole numbers", i);
            return false;
        }
        return true;
    }
    *given = a != NULL;
    if (a != NULL) {
        /* A reader_number whose integers are set has the layout of an integer. */
        *list = (reader_numbers){ ADZ_I64, adz_shape_of(1, &(int64_t){ (int64_t)a->n }), a->n,
            (reader_number *)(void *)a->ints };
    }
    return true;
}

bool adzi_reader_shape(const reader_call *call, const char *name, size_t i, adz_shape *shape)
{
    reader_numbers list;
    bool given = false;
    shape->rank = -1;
    if (!adzi_reader_list(call, name, i, &list, &given)) {
        return false;
    }
    if (given && list.n > ADZ_MAX_RANK) {
        adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
            "%zu numbers are more than the %d dimensions that adze holds", list.n, ADZ_MAX_RANK);
        return false;
    }
    if (given) {
        shape->rank = (int)list.n;
        for (size_t k = 0; k < list.n; ++k) {
            shape->sizes[k] = list.at[k].i;
        }
    }
    return true;
}

int adzi_reader_dim(const reader_call *call, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        adzi_reader_fail(call, ADZ_ERR_DIM, "axis %lld is none of a tensor with %d dimensions",
            (long long)axis, rank);
        return -1;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

bool adzi_reader_dims(const reader_call *call, const char *name, size_t i, int rank, adz_dims *dims)
{
    adz_shape list;
    if (!adzi_reader_shape(call, name, i, &list)) {
        return false;
    }
    *dims = ADZ_ALL_DIMS;
    if (list.rank > 0) {
        dims->count = list.rank;
        for (int k = 0; k < list.rank; ++k) {
            dims->dims[k] = adzi_reader_dim(call, list.sizes[k], rank);
            if (dims->dims[k] < 0) {
                return false;
            }
        }
    }
    return true;
}

adz_tensor *adzi_reader_along(adz_tensor *vector, int rank, int dim)
{
    adz_shape shape = { .rank = rank };
    for (int d = 0; d < rank; ++d) {
        shape.sizes[d] = d == (dim < 0 ? rank + dim : dim) ? adz_tensor_numel(vector) : 1;
    }
    return adz_reshape(vector, shape);
}

static int64_t between(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

int64_t adzi_reader_slice(int64_t size, int64_t *start, int64_t *end, int64_t *step)
{
    const bool up = *step > 0;
    *step = between(*step, -size - 1, size + 1);
    *start = *start < 0 ? *start + size : *start;
    *end = *end < 0 ? *end + size : *end;
    *start = between(*start, 0, up || size == 0 ? size : size - 1);
    *end = up ? between(*end, 0, size) : between(*end, -1, size - 1);
    if (size == 0) {
        return 0;
    }
    const int64_t length = up ? *end - *start : *start - *end;
    const int64_t by = up ? *step : -*step;
    return length > 0 ? (length + by - 1) / by : 0;
}

adz_tensor *adzi_reader_from_front(adz_tensor *index, int64_t size)
{
    adz_tensor *at = adz_to(index, ADZ_I64);
    return adz_where(adz_lt_number(at, 0), adz_add_number(at, (double)size), at);
}

adz_tensor *adzi_reader_positions(const reader_call *call, size_t i, int64_t size)
{
    adz_tensor *index = adzi_reader_in(call, i);
    if (index == NULL) {
        return NULL;
    }
    if (adzi_reader_is_host(call->run, call->node->inputs[i])) {
        const reader_numbers *x = adzi_reader_host(call, i);
        reader_numbers *y = x != NULL ? adzi_reader_numbers(call, ADZ_I64, x->shape) : NULL;
        for (size_t k = 0; y != NULL && k < y->n; ++k) {
            y->at[k].i = x->at[k].i < 0 ? x->at[k].i + size : x->at[k].i;
        }
        return y != NULL ? adzi_reader_from_numbers(call->run, y) : NULL;
    }
    return adzi_reader_from_front(index, size);
}
