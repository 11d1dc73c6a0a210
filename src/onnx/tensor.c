/* Tensors of a file. */
#include <string.h>

#include "adze/ops/convert.h"
#include "model.h"

/* Fields of the message. */
enum {
    DIMS = 1,
    TYPE = 2,
    FLOATS = 4,
    INT32S = 5,
    STRINGS = 6,
    INT64S = 7,
    RAW = 9,
    DOUBLES = 10,
    UINT64S = 11,
    LOCATION = 14
};

/* What a type is called, how many bytes an element has, and in which field elements lie that are
 * no raw bytes. */
static const struct element {
    const char *name;
    size_t size;
    uint32_t field;
} elements[] = {
    [ELEMENT_FLOAT] = { "float", 4, FLOATS },
    [ELEMENT_UINT8] = { "uint8", 1, INT32S },
    [ELEMENT_INT8] = { "int8", 1, INT32S },
    [ELEMENT_UINT16] = { "uint16", 0, 0 },
    [ELEMENT_INT16] = { "int16", 0, 0 },
    [ELEMENT_INT32] = { "int32", 4, INT32S },
    [ELEMENT_INT64] = { "int64", 8, INT64S },
    [ELEMENT_STRING] = { "string", 0, 0 },
    [ELEMENT_BOOL] = { "bool", 1, INT32S },
    [ELEMENT_FLOAT16] = { "float16", 2, INT32S },
    [ELEMENT_DOUBLE] = { "double", 8, DOUBLES },
    [ELEMENT_UINT32] = { "uint32", 0, 0 },
    [ELEMENT_UINT64] = { "uint64", 0, 0 },
    [14] = { "complex64", 0, 0 },
    [15] = { "complex128", 0, 0 },
    [ELEMENT_BFLOAT16] = { "bfloat16", 2, INT32S },
    [17] = { "float8e4m3fn", 0, 0 },
    [18] = { "float8e4m3fnuz", 0, 0 },
    [19] = { "float8e5m2", 0, 0 },
    [20] = { "float8e5m2fnuz", 0, 0 },
    [21] = { "uint4", 0, 0 },
    [22] = { "int4", 0, 0 },
    [23] = { "float4e2m1", 0, 0 },
    [24] = { "float8e8m0", 0, 0 },
    [25] = { "uint2", 0, 0 },
    [26] = { "int2", 0, 0 },
};
enum { N_ELEMENTS = sizeof elements / sizeof *elements };

const char *adzi_reader_element_name(int element)
{
    return element > 0 && element < N_ELEMENTS ? elements[element].name : "of an unknown type";
}

bool adzi_reader_dtype(const reader_model *model, int element, adz_dtype *dtype)
{
    if (element < 1 || element >= N_ELEMENTS || elements[element].size == 0) {
        return false;
    }
    switch (element) {
    case ELEMENT_DOUBLE:
        *dtype = ADZ_F64;
        return true;
    case ELEMENT_FLOAT:
    case ELEMENT_FLOAT16:
    case ELEMENT_BFLOAT16:
        *dtype = model->f64 ? ADZ_F64 : ADZ_F32;
        return true;
    case ELEMENT_INT64:
        *dtype = ADZ_I64;
        return true;
    case ELEMENT_BOOL:
        *dtype = ADZ_BOOL;
        return true;
    case ELEMENT_UINT8:
        *dtype = ADZ_U8;
        return true;
    default:
        *dtype = ADZ_I32;
        return true;
    }
}

/* The dtype in which elements are copied, before a conversion. */
static adz_dtype dtype_in_file(int element)
{
    switch (element) {
    case ELEMENT_FLOAT16:
        return ADZ_F16;
    case ELEMENT_BFLOAT16:
        return ADZ_BF16;
    case ELEMENT_DOUBLE:
        return ADZ_F64;
    case ELEMENT_FLOAT:
        return ADZ_F32;
    case ELEMENT_INT64:
        return ADZ_I64;
    case ELEMENT_BOOL:
        return ADZ_BOOL;
    case ELEMENT_UINT8:
        return ADZ_U8;
    default:
        return ADZ_I32;
    }
}

/* ---- the sizes ------------------------------------------------------------------------------ */

static bool add_size(
    const char *op, adz_shape *shape, uint64_t size, uint64_t *numel, const char *name)
{
    if (shape->rank == ADZ_MAX_RANK) {
        adz_error_format(op, ADZ_ERR_UNSUPPORTED,
            "tensor \"%.60s\" has more than %d dimensions, the most that adze holds", name,
            ADZ_MAX_RANK);
        return false;
    }
    if (size > INT64_MAX / 16 || (size > 0 && *numel > (uint64_t)INT64_MAX / 16 / size)) {
        adz_error_format(
            op, ADZ_ERR_FORMAT, "tensor \"%.60s\" has sizes that no file can hold", name);
        return false;
    }
    shape->sizes[shape->rank++] = (int64_t)size;
    *numel *= size;
    return true;
}

/* Records that the message ends inside a field; false. */
static bool malformed(const char *op)
{
    adz_error_set(op, ADZ_ERR_FORMAT,
        "the file ends inside a tensor or is no ONNX file; fetch or export it again");
    return false;
}

/* Reads sizes and type; false with an error recorded. */
static bool read_head(const char *op, reader_bytes message, const char *name, adz_shape *shape,
    uint64_t *numel, int *element)
{
    reader_field f;
    int more;
    uint64_t size;
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        if (f.number == DIMS && f.kind == WIRE_VARINT) {
            if (!add_size(op, shape, f.value, numel, name)) {
                return false;
            }
        } else if (f.number == DIMS && f.kind == WIRE_BYTES) {
            while (f.bytes.size > 0) {
                if (!adzi_reader_varint(&f.bytes, &size)) {
                    return malformed(op);
                }
                if (!add_size(op, shape, size, numel, name)) {
                    return false;
                }
            }
        } else if (f.number == TYPE && f.kind == WIRE_VARINT) {
            *element = f.value < N_ELEMENTS ? (int)f.value : 0;
        }
    }
    return more == 0 || malformed(op);
}

/* ---- the elements --------------------------------------------------------------------------- */

/* Writes one element that a field holds as a number. False if it is outside its type. */
static bool put(void *data, uint64_t i, int element, uint64_t value)
{
    const int64_t whole = (int64_t)value;
    switch (element) {
    case ELEMENT_FLOAT:
    case ELEMENT_INT32: {
        const uint32_t bits = (uint32_t)value;
        memcpy((uint32_t *)data + i, &bits, sizeof bits);
        return element == ELEMENT_FLOAT || (whole >= INT32_MIN && whole <= INT32_MAX);
    }
    case ELEMENT_DOUBLE:
    case ELEMENT_INT64:
        ((uint64_t *)data)[i] = value;
        return true;
    case ELEMENT_FLOAT16:
    case ELEMENT_BFLOAT16:
        ((uint16_t *)data)[i] = (uint16_t)value;
        return value <= UINT16_MAX;
    case ELEMENT_INT8:
        ((int32_t *)data)[i] = (int32_t)whole;
        return whole >= INT8_MIN && whole <= INT8_MAX;
    default: /* uint8 and bool */
        ((uint8_t *)data)[i] = (uint8_t)value;
        return value <= (element == ELEMENT_BOOL ? 1 : UINT8_MAX);
    }
}

/* Takes the next number of a packed list. */
static bool take(reader_bytes *list, int kind, uint64_t *value)
{
    const size_t size = kind == WIRE_FIXED32 ? 4 : 8;
    if (kind == WIRE_VARINT) {
        return adzi_reader_varint(list, value);
    }
    if (list->size < size) {
        return false;
    }
    *value = 0;
    for (size_t i = 0; i < size; ++i) {
        *value |= (uint64_t)list->at[i] << (8 * i);
    }
    list->at += size;
    list->size -= size;
    return true;
}

/* Reads the elements of one field that lists them; false if one is malformed or one too many. */
static bool read_list(
    const reader_field *f, int element, void *data, uint64_t numel, uint64_t *filled)
{
    const int kind = elements[element].field == FLOATS    ? WIRE_FIXED32
                     : elements[element].field == DOUBLES ? WIRE_FIXED64
                                                          : WIRE_VARINT;
    uint64_t value = f->value;
    if (f->kind == kind) {
        return *filled < numel && put(data, (*filled)++, element, value);
    }
    reader_bytes list = f->bytes;
    while (f->kind == WIRE_BYTES && list.size > 0) {
        if (!take(&list, kind, &value) || *filled == numel ||
            !put(data, (*filled)++, element, value)) {
            return false;
        }
    }
    return f->kind == WIRE_BYTES;
}

/* Copies raw bytes, which are little-endian as all processors that adze runs on. */
static bool read_raw(reader_bytes raw, int element, void *data, uint64_t numel)
{
    if (raw.size != numel * elements[element].size) {
        return false;
    }
    if (element == ELEMENT_INT8) {
        for (uint64_t i = 0; i < numel; ++i) {
            ((int32_t *)data)[i] = (int8_t)raw.at[i];
        }
    } else if (element == ELEMENT_BOOL) {
        for (uint64_t i = 0; i < numel; ++i) {
            ((uint8_t *)data)[i] = raw.at[i] != 0;
        }
    } else if (numel > 0) {
        memcpy(data, raw.at, raw.size);
    }
    return true;
}

/* The most elements that the message can have, so that memory is bounded by the file's length. */
static bool fits(reader_bytes message, uint64_t numel, bool external)
{
    return external || numel <= message.size;
}

static adz_tensor *fill(
    const char *op, reader_bytes message, const char *name, int element, adz_tensor *t)
{
    const uint64_t numel = (uint64_t)adz_tensor_numel(t);
    void *data = adz_tensor_data(t);
    uint64_t filled = 0;
    bool good = true, raw = false;
    reader_field f;
    while (good && adzi_reader_next(&message, &f) > 0) {
        if (f.number == RAW && f.kind == WIRE_BYTES) {
            good = read_raw(f.bytes, element, data, numel);
            raw = true;
        } else if (f.number == elements[element].field) {
            good = read_list(&f, element, data, numel, &filled);
        }
    }
    if (!good || (!raw && filled != numel)) {
        adz_error_format(op, ADZ_ERR_FORMAT,
            "tensor \"%.60s\" of shape %s and type %s has too few or too many elements, or one outside its type",
            name, adz_text_shape(t), adzi_reader_element_name(element));
        return NULL;
    }
    return t;
}

adz_tensor *adzi_reader_tensor(
    reader_model *model, reader_bytes message, const char *name, int *element)
{
    const char *op = model->op;
    adz_shape shape = ADZ_SHAPE_SCALAR;
    uint64_t numel = 1, location = 0;
    adz_dtype dtype;
    *element = 0;
    if (!read_head(op, message, name, &shape, &numel, element)) {
        return NULL;
    }
    if (!adzi_reader_dtype(model, *element, &dtype)) {
        adz_error_format(op, ADZ_ERR_UNSUPPORTED,
            "tensor \"%.60s\" has elements of type %s (%d), which adze does not hold", name,
            adzi_reader_element_name(*element), *element);
        return NULL;
    }
    reader_bytes rest = message;
    reader_field f;
    while (adzi_reader_next(&rest, &f) > 0) {
        location = f.number == LOCATION && f.kind == WIRE_VARINT ? f.value : location;
    }
    if (!fits(message, numel, location == 1)) {
        adz_error_format(op, ADZ_ERR_FORMAT,
            "tensor \"%.60s\" of shape %s has fewer elements in the file", name,
            adz_text_sizes(shape));
        return NULL;
    }
    const uint64_t bytes = numel * elements[*element].size;
    adz_tensor *other =
        location == 1 ? adzi_reader_external(model, message, name, bytes) : ADZ_NONE;
    adz_tensor *t = other != NULL ? adz_empty(shape, dtype_in_file(*element)) : NULL;
    if (t != NULL && location == 1) {
        read_raw(
            (reader_bytes){ adz_tensor_data(other), bytes }, *element, adz_tensor_data(t), numel);
    } else {
        t = t != NULL ? fill(op, message, name, *element, t) : NULL;
    }
    return t != NULL && adz_tensor_dtype(t) != dtype ? adz_to(t, dtype) : t;
}
