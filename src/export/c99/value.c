/* Values and attributes as printers use them. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

const adzi_c99_value *adzi_c99_in(const adzi_c99 *c, const adzi_c99_call *call, int i)
{
    return i < call->n_in && call->in[i] >= 0 ? &c->values[call->in[i]] : NULL;
}

const adzi_c99_value *adzi_c99_out(const adzi_c99 *c, const adzi_c99_call *call, int k)
{
    return &c->values[call->out[k]];
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const adz_field *field_of(const adzi_c99_call *call, const char *name)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(call->op, &n);
    for (size_t i = 0; i < n && call->attr != NULL; ++i) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

double adzi_c99_attr(const adzi_c99_call *call, const char *field, double default_value)
{
    const adz_field *f = field_of(call, field);
    if (f == NULL) {
        return default_value;
    }
    const char *at = (const char *)call->attr + f->offset;
    union {
        bool b;
        int i;
        unsigned u;
        int64_t i64;
        double f64;
    } value;
    memcpy(&value, at, adzi_field_size(f->kind));
    switch (f->kind) {
    case ADZ_FIELD_BOOL:
        return value.b;
    case ADZ_FIELD_INT:
    case ADZ_FIELD_ENUM:
    case ADZ_FIELD_DTYPE:
        return value.i;
    case ADZ_FIELD_MASK:
        return value.u;
    case ADZ_FIELD_I64:
    case ADZ_FIELD_U64:
        return (double)value.i64;
    case ADZ_FIELD_SHAPE: /* operators have no shapes */
    case ADZ_FIELD_SIZES:
    case ADZ_FIELD_F64:
        break;
    }
    return value.f64;
}

const void *adzi_c99_attr_list(const adzi_c99_call *call, const char *field)
{
    const adz_field *f = field_of(call, field);
    return f != NULL ? (const char *)call->attr + f->offset : NULL;
}

/* ---- layouts --------------------------------------------------------------------------------- */

adzi_c99_value adzi_c99_transposed(const adzi_c99_value *value, int a, int b)
{
    adzi_c99_value t = *value;
    t.sizes[a] = value->sizes[b];
    t.sizes[b] = value->sizes[a];
    t.strides[a] = value->strides[b];
    t.strides[b] = value->strides[a];
    return t;
}

adzi_c99_value adzi_c99_without(const adzi_c99_value *value, int dim)
{
    adzi_c99_value v = *value;
    for (int d = dim; d + 1 < v.rank; ++d) {
        v.sizes[d] = v.sizes[d + 1];
        v.strides[d] = v.strides[d + 1];
    }
    --v.rank;
    v.numel = value->sizes[dim] > 0 ? value->numel / value->sizes[dim] : 0;
    return v;
}

bool adzi_c99_rows(const adzi_c99_value *value, adzi_c99_value *rows)
{
    const int last = value->rank - 1;
    *rows = *value;
    rows->rank = 2;
    rows->sizes[0] = 1;
    rows->strides[0] = last > 0 ? value->strides[last - 1] : 0;
    for (int d = last - 1; d >= 0; --d) {
        if (value->sizes[d] != 1 && rows->sizes[0] != 1 &&
            value->strides[d] != rows->strides[0] * rows->sizes[0]) {
            return false;
        }
        if (value->sizes[d] != 1 && rows->sizes[0] == 1) {
            rows->strides[0] = value->strides[d];
        }
        rows->sizes[0] *= value->sizes[d];
    }
    rows->sizes[1] = value->sizes[last];
    rows->strides[1] = value->strides[last];
    return true;
}

static adzi_c99_value contiguous(int memory, adz_dtype dtype, int rank, const int64_t *sizes)
{
    adzi_c99_value v = { .memory = memory, .rank = rank, .numel = 1, .dtype = dtype };
    for (int d = rank - 1; d >= 0; --d) {
        v.sizes[d] = sizes[d];
        v.strides[d] = v.numel;
        v.numel *= sizes[d];
    }
    return v;
}

adzi_c99_value adzi_c99_scratch(adzi_c99 *c, adz_dtype dtype, int rank, const int64_t *sizes)
{
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) {
        count *= sizes[d];
    }
    const int memory = adzi_c99_memory_new(c, ADZI_C99_BUFFER, dtype, count);
    if (memory >= 0) {
        snprintf(c->memories[memory].label, ADZI_C99_LABEL, "scratch memory of %s", c->current);
    }
    return contiguous(memory >= 0 ? memory : 0, adzi_c99_dtype(c, dtype), rank, sizes);
}

adzi_c99_value adzi_c99_at_least_matrix(const adzi_c99_value *v)
{
    adzi_c99_value matrix = *v;
    if (v->rank == 1) {
        matrix.rank = 2;
        matrix.sizes[1] = v->sizes[0];
        matrix.strides[1] = v->strides[0];
        matrix.sizes[0] = 1;
        matrix.strides[0] = 0;
    }
    return matrix;
}

int adzi_c99_constant(
    adzi_c99 *c, const adzi_c99_call *call, const adz_tensor *tensor, const char *label)
{
    const int memory = adzi_c99_memory_new(c, ADZI_C99_CONSTANT, tensor->dtype, tensor->numel);
    if (memory >= 0) {
        c->memories[memory].data = tensor->data;
        snprintf(c->memories[memory].label, ADZI_C99_LABEL, "%s of %s", label, call->op->name);
    }
    return memory;
}
