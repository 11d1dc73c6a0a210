/* Attributes of recorded calls: printing, reading, comparing and copying them by the operator's
 * table of fields. */
#include "autograd/attr.h"

#include <string.h>

const adz_field *adzi_attr_fields(const adz_operator *op, size_t *n)
{
    const bool knows = op->size == 0 ||
                       op->size >= offsetof(adz_operator, expression); /* 0: one of the library's */
    *n = knows && op->fields != NULL ? op->n_fields : 0;
    return *n > 0 ? op->fields : NULL;
}

void adzi_attr_print(adzi_text *text, const adz_operator *op, const void *attr)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    adzi_text_add(text, op->name);
    adzi_fields_print(text, fields, n, attr, ADZI_CALL);
}

const char *adzi_attr_text(adzi_text *text, const adz_operator *op, const void *attr)
{
    adzi_attr_print(text, op, attr);
    return text->failed ? op->name : adzi_text_get(text);
}

/* ---- reading by name ------------------------------------------------------------------------- */

static const adz_field *field_of(const adz_operator *op, const char *name, size_t *i)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (*i = 0; *i < n; ++*i) {
        if (strcmp(fields[*i].name, name) == 0) {
            return fields;
        }
    }
    return NULL;
}

int64_t adzi_attr_whole(const adz_operator *op, const void *attr, const char *name)
{
    size_t i;
    const adz_field *fields = field_of(op, name, &i);
    return fields != NULL ? adzi_field_whole(&fields[i], (const char *)attr + fields[i].offset) : 0;
}

double adzi_attr_number(const adz_operator *op, const void *attr, const char *name)
{
    size_t i;
    double value = 0;
    const adz_field *fields = field_of(op, name, &i);
    if (fields != NULL && fields[i].kind == ADZ_FIELD_F64) {
        memcpy(&value, (const char *)attr + fields[i].offset, sizeof value);
    }
    return value;
}

size_t adzi_attr_list(
    const adz_operator *op, const void *attr, const char *name, int64_t *values, size_t most)
{
    size_t i, n = 0;
    const adz_field *fields = field_of(op, name, &i);
    if (fields == NULL || fields[i].count == 0) {
        return 0;
    }
    const size_t count = adzi_field_used(fields, i, attr), size = adzi_field_size(fields[i].kind);
    for (; n < count && n < most; ++n) {
        values[n] = adzi_field_whole(&fields[i], (const char *)attr + fields[i].offset + n * size);
    }
    return n;
}

/* ---- comparing and copying ------------------------------------------------------------------- */

bool adzi_attr_equal(const adz_operator *op, const void *a, const void *b)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        const size_t length = adzi_field_used(fields, i, a), size = adzi_field_size(fields[i].kind);
        const size_t at = fields[i].offset;
        if (adzi_field_used(fields, i, b) != length ||
            memcmp((const char *)a + at, (const char *)b + at, length * size) != 0) {
            return false;
        }
    }
    return true;
}

void adzi_attr_copy(const adz_operator *op, void *to, const void *from, size_t size)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    memset(to, 0, size);
    for (size_t i = 0; i < n; ++i) {
        const size_t bytes = adzi_field_used(fields, i, from) * adzi_field_size(fields[i].kind);
        memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset, bytes);
    }
}

const adz_field *adzi_attr_beyond(const adz_operator *op, const void *attr, size_t size)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    return adzi_fields_beyond(fields, n, attr, size);
}
