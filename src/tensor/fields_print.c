/* Fields as text: "dim=1, dims=[0, 2]". */
#include <string.h>

#include "adze/checks.h"
#include "base/error.h"
#include "tensor/fields.h"

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
static void print_enum(adzi_text *text, const char *const *names, int64_t value)
{
    int64_t known = 0;
    while (names != NULL && names[known] != NULL && known < value) {
        ++known;
    }
    if (names != NULL && known == value && names[known] != NULL) {
        adzi_text_add(text, names[known]);
    } else {
        adzi_text_format(text, "%lld", (long long)value);
    }
}

/* As Python prints a tuple, (5,) or (2, 3). One number is a number unless it is a `tuple`. Rank 0
 * stands for the default. */
static void print_shape(adzi_text *text, const adz_field *field, const adz_shape *given)
{
    const adz_shape one = ADZ_SHAPE((int64_t)field->value), *shape = given->rank > 0 ? given : &one;
    const bool bare = field->kind == ADZ_FIELD_SIZES && shape->rank == 1;
    for (int i = 0; i < shape->rank; ++i) {
        adzi_text_format(text, "%s%lld",
            i > 0  ? ", "
            : bare ? ""
                   : "(",
            (long long)shape->sizes[i]);
    }
    adzi_text_add(text, bare ? "" : shape->rank == 1 ? ",)" : ")");
}

static void print_element(
    adzi_text *text, const adz_field *field, const void *at, adzi_field_style style)
{
    const int64_t whole = adzi_field_whole(field, at);
    const double number = adzi_field_number(field, at);
    adz_shape shape;
    if (field->none_name != NULL && number == field->none) {
        adzi_text_add(text, "None");
        return;
    }
    switch (field->kind) {
    case ADZ_FIELD_BOOL:
        adzi_text_add(text, adzi_text_bool(whole != 0));
        break;
    case ADZ_FIELD_MASK:
        print_mask(text, (unsigned)whole);
        break;
    case ADZ_FIELD_ENUM:
        print_enum(text, field->values, whole);
        break;
    case ADZ_FIELD_INT:
    case ADZ_FIELD_I64:
        adzi_text_format(text, "%lld", (long long)whole);
        break;
    case ADZ_FIELD_U64:
        adzi_text_format(text, "%llu", (unsigned long long)whole);
        break;
    case ADZ_FIELD_F64:
        adzi_text_add(text, style == ADZI_CALL ? adzi_text_exact(number) : adzi_text_float(number));
        break;
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        memcpy(&shape, at, sizeof shape);
        print_shape(text, field, &shape);
        break;
    case ADZ_FIELD_DTYPE:
        adzi_text_add(text, adz_dtype_name((adz_dtype)whole));
        break;
    }
}

/* Whether a single value is its default. */
static bool is_default(const adz_field *field, const void *at)
{
    adz_shape shape;
    bool same = true;
    if (!adzi_field_is_shape(field)) {
        return adzi_field_number(field, at) == field->value;
    }
    memcpy(&shape, at, sizeof shape);
    for (int i = 0; i < shape.rank; ++i) {
        same = same && shape.sizes[i] == (int64_t)field->value;
    }
    return same;
}

/* "dim=1" for a single value, "dims=[0, 2]" for an array or a mask. */
static void print_field(
    adzi_text *text, const adz_field *fields, size_t i, const char *values, adzi_field_style style)
{
    const adz_field *field = &fields[i];
    const bool list = field->count > 0 || field->kind == ADZ_FIELD_MASK;
    const size_t size = adzi_field_size(field->kind), n = adzi_field_used(fields, i, values);
    if (field->shown != ADZ_SHOWN_BARE) {
        adzi_text_format(text, "%s=", field->name);
    }
    adzi_text_add(text, list ? "[" : "");
    for (size_t k = 0; k < n; ++k) {
        adzi_text_add(text, k > 0 ? ", " : "");
        print_element(text, field, values + field->offset + k * size, style);
    }
    adzi_text_add(text, list ? "]" : "");
}

void adzi_fields_print(
    adzi_text *text, const adz_field *fields, size_t n, const void *values, adzi_field_style style)
{
    const char *between = style == ADZI_CALL ? "(" : "", *end = "";
    for (size_t i = 0; i < n && fields[i].name != NULL; ++i) {
        const adz_field *f = &fields[i];
        if (f->shown == ADZ_SHOWN_NEVER || (f->shown == ADZ_SHOWN_CHANGED && f->count == 0 &&
                                               is_default(f, (const char *)values + f->offset))) {
            continue;
        }
        adzi_text_add(text, between);
        print_field(text, fields, i, values, style);
        between = ", ";
        end = style == ADZI_CALL ? ")" : "";
    }
    adzi_text_add(text, end);
}
