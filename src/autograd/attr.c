/* Attributes of recorded calls: printing, comparing and copying them by the operator's table of
 * fields. */
#include "autograd/attr.h"

#include <string.h>

#include "base/error.h"

size_t adzi_field_size(adz_field_kind kind)
{
    switch (kind) {
    case ADZ_FIELD_BOOL:
        return sizeof(bool);
    case ADZ_FIELD_INT:
    case ADZ_FIELD_MASK:
    case ADZ_FIELD_ENUM:
        return sizeof(int);
    case ADZ_FIELD_I64:
    case ADZ_FIELD_U64:
        return sizeof(int64_t);
    case ADZ_FIELD_F64:
        break;
    }
    return sizeof(double);
}

const adz_field *adzi_attr_fields(const adz_operator *op, size_t *n)
{
    const bool knows = op->size == 0 ||
                       op->size >= offsetof(adz_operator, expression); /* 0: one of the library's */
    *n = knows && op->fields != NULL ? op->n_fields : 0;
    return *n > 0 ? op->fields : NULL;
}

static int read_int(const char *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The number of used elements of field i. A length outside the array counts as 0 or as the whole
 * array, so that a wrong length is never read beyond the field. */
static size_t used(const adz_field *fields, size_t i, const char *attr)
{
    const size_t count = fields[i].count;
    if (count == 0) {
        return 1;
    }
    if (!fields[i].counted || i == 0) {
        return count;
    }
    const int n = read_int(attr + fields[i - 1].offset);
    return n < 0 ? 0 : (size_t)n < count ? (size_t)n : count;
}

/* ---- printing ----------------------------------------------------------------------------------
 */

/* The dimensions of a mask without brackets: "0, 2". */
static void print_mask(adzi_text *text, unsigned mask)
{
    const char *between = "";
    for (int d = 0; mask >> d != 0; ++d) {
        if (mask >> d & 1u) {
            adzi_text_format(text, "%s%d", between, d);
            between = ", ";
        }
    }
}

/* The name of an enumeration's value, or the number if it has no name. */
static void print_enum(adzi_text *text, const char *const *names, int value)
{
    int known = 0;
    while (names != NULL && names[known] != NULL && known < value) {
        ++known;
    }
    if (names != NULL && known == value && names[known] != NULL) {
        adzi_text_add(text, names[known]);
    } else {
        adzi_text_format(text, "%d", value);
    }
}

static void print_element(adzi_text *text, const adz_field *field, const char *at)
{
    union {
        bool b;
        unsigned u;
        int64_t i64;
        uint64_t u64;
        double f64;
    } value;
    memcpy(&value, at, adzi_field_size(field->kind));
    switch (field->kind) {
    case ADZ_FIELD_BOOL:
        adzi_text_add(text, adzi_text_bool(value.b));
        break;
    case ADZ_FIELD_INT:
        adzi_text_format(text, "%d", read_int(at));
        break;
    case ADZ_FIELD_MASK:
        print_mask(text, value.u);
        break;
    case ADZ_FIELD_ENUM:
        print_enum(text, field->values, read_int(at));
        break;
    case ADZ_FIELD_I64:
        adzi_text_format(text, "%lld", (long long)value.i64);
        break;
    case ADZ_FIELD_U64:
        adzi_text_format(text, "%llu", (unsigned long long)value.u64);
        break;
    case ADZ_FIELD_F64:
        adzi_text_add(text, adzi_text_exact(value.f64));
        break;
    }
}

/* "dim=1" for a single value, "dims=[0, 2]" for an array or a mask. */
static void print_field(adzi_text *text, const adz_field *fields, size_t i, const char *attr)
{
    const adz_field *field = &fields[i];
    const bool list = field->count > 0 || field->kind == ADZ_FIELD_MASK;
    const size_t size = adzi_field_size(field->kind), n = used(fields, i, attr);
    adzi_text_format(text, "%s=%s", field->name, list ? "[" : "");
    for (size_t k = 0; k < n; ++k) {
        adzi_text_add(text, k > 0 ? ", " : "");
        print_element(text, field, attr + field->offset + k * size);
    }
    adzi_text_add(text, list ? "]" : "");
}

void adzi_attr_print(adzi_text *text, const adz_operator *op, const void *attr)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    bool open = false;
    adzi_text_add(text, op->name);
    for (size_t i = 0; i < n; ++i) {
        if (!fields[i].hidden) {
            adzi_text_add(text, open ? ", " : "(");
            print_field(text, fields, i, attr);
            open = true;
        }
    }
    adzi_text_add(text, open ? ")" : "");
}

const char *adzi_attr_text(adzi_text *text, const adz_operator *op, const void *attr)
{
    adzi_attr_print(text, op, attr);
    return text->failed ? op->name : adzi_text_get(text);
}

/* ---- reading by name ---------------------------------------------------------------------------
 */

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

/* An element that is no double, as int64_t. */
static int64_t read_whole(const adz_field *field, const char *at)
{
    int64_t wide;
    bool flag;
    switch (field->kind) {
    case ADZ_FIELD_BOOL:
        memcpy(&flag, at, sizeof flag);
        return flag;
    case ADZ_FIELD_I64:
    case ADZ_FIELD_U64:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case ADZ_FIELD_F64:
        return 0;
    default:
        return read_int(at);
    }
}

int64_t adzi_attr_whole(const adz_operator *op, const void *attr, const char *name)
{
    size_t i;
    const adz_field *fields = field_of(op, name, &i);
    return fields != NULL ? read_whole(&fields[i], (const char *)attr + fields[i].offset) : 0;
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
    const size_t count = used(fields, i, attr), size = adzi_field_size(fields[i].kind);
    for (; n < count && n < most; ++n) {
        values[n] = read_whole(&fields[i], (const char *)attr + fields[i].offset + n * size);
    }
    return n;
}

/* ---- comparing and copying ---------------------------------------------------------------------
 */

bool adzi_attr_equal(const adz_operator *op, const void *a, const void *b)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        const size_t length = used(fields, i, a), size = adzi_field_size(fields[i].kind);
        const size_t at = fields[i].offset;
        if (used(fields, i, b) != length ||
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
        const size_t bytes = used(fields, i, from) * adzi_field_size(fields[i].kind);
        memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset, bytes);
    }
}

const adz_field *adzi_attr_beyond(const adz_operator *op, const void *attr, size_t size)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        const size_t element = adzi_field_size(fields[i].kind), at = fields[i].offset;
        size_t count = fields[i].count > 0 ? fields[i].count : 1;
        if (count ==
            SIZE_MAX) { /* a flexible array; its length is an earlier field, checked before */
            count = used(fields, i, attr);
        }
        if (at > size || count > (size - at) / element) {
            return &fields[i];
        }
    }
    return NULL;
}
