/* Tables of fields: sizes, defaults and checks. One place writes what is wrong with a value, so
 * that the same fault has the same words everywhere. */
#include "tensor/fields.h"

#include <string.h>

#include "adze/checks.h"
#include "adze/options.h"
#include "base/error.h"
#include "tensor/tensor.h"

/* ---- reading -------------------------------------------------------------------------------- */

size_t adzi_field_size(adz_field_kind kind)
{
    switch (kind) {
    case ADZ_FIELD_BOOL:
        return sizeof(bool);
    case ADZ_FIELD_INT:
    case ADZ_FIELD_MASK:
    case ADZ_FIELD_ENUM:
    case ADZ_FIELD_DTYPE:
        return sizeof(int);
    case ADZ_FIELD_I64:
    case ADZ_FIELD_U64:
        return sizeof(int64_t);
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        return sizeof(adz_shape);
    case ADZ_FIELD_F64:
        break;
    }
    return sizeof(double);
}

size_t adzi_field_used(const adz_field *fields, size_t i, const void *values)
{
    const size_t count = fields[i].count;
    int n;
    if (count == 0) {
        return 1;
    }
    if (!fields[i].counted || i == 0) {
        return count;
    }
    memcpy(&n, (const char *)values + fields[i - 1].offset, sizeof n);
    return n < 0 ? 0 : (size_t)n < count ? (size_t)n : count;
}

int64_t adzi_field_whole(const adz_field *field, const void *at)
{
    int64_t wide;
    int narrow;
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
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        return 0;
    default:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
}

double adzi_field_number(const adz_field *field, const void *at)
{
    double value = NAN;
    if (field->kind == ADZ_FIELD_F64) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    return adzi_field_is_shape(field) ? NAN : (double)adzi_field_whole(field, at);
}

const adz_field *adzi_fields_beyond(
    const adz_field *fields, size_t n, const void *values, size_t size)
{
    for (size_t i = 0; i < n; ++i) {
        const size_t element = adzi_field_size(fields[i].kind), at = fields[i].offset;
        size_t count = fields[i].count > 0 ? fields[i].count : 1;
        if (count == SIZE_MAX) { /* a flexible array */
            count = adzi_field_used(fields, i, values);
        }
        if (at > size || count > (size - at) / element) {
            return &fields[i];
        }
    }
    return NULL;
}

/* ---- defaults ------------------------------------------------------------------------------- */

static inline void reset_element(const adz_field *field, void *at)
{
    const bool flag = field->value != 0;
    union {
        int narrow;
        int64_t whole;
        uint64_t natural;
    } v;
    switch (field->kind) {
    case ADZ_FIELD_BOOL:
        memcpy(at, &flag, sizeof flag);
        break;
    case ADZ_FIELD_I64:
        v.whole = (int64_t)field->value;
        memcpy(at, &v.whole, sizeof v.whole);
        break;
    case ADZ_FIELD_U64:
        v.natural = (uint64_t)field->value;
        memcpy(at, &v.natural, sizeof v.natural);
        break;
    case ADZ_FIELD_F64:
        memcpy(at, &field->value, sizeof field->value);
        break;
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        memset(at, 0, sizeof(adz_shape));
        break;
    default:
        v.narrow = (int)field->value;
        memcpy(at, &v.narrow, sizeof v.narrow);
        break;
    }
}

/* Writes the default: to a single value, or to each element of an array. A shape gets rank 0. */
static inline void reset(const adz_field *field, void *at)
{
    if (field->count == 0) {
        reset_element(field, at);
        return;
    }
    for (size_t k = 0; k < field->count; ++k) {
        reset_element(field, (char *)at + k * adzi_field_size(field->kind));
    }
}

/* ---- checks --------------------------------------------------------------------------------- */

/* The bound of ADZ_SIZE_FROM. No tensor in memory reaches it. */
#define LARGEST_SIZE 0x1p59

enum { WANTED = 160 }; /* bytes of a text that says what a value must be */

/* Whole numbers are compared exactly: long double has 64 bits for them. */
static bool is_within(const adz_field *f, long double x)
{
    const bool above = x > f->least, at_least = x >= f->least;
    const bool below = x < f->most, at_most = x <= f->most;
    switch (f->bounds) {
    case ADZ_BOUNDS_NONE:
        return true;
    case ADZ_BOUNDS_CLOSED:
        return at_least && at_most;
    case ADZ_BOUNDS_BELOW:
        return at_least && below;
    case ADZ_BOUNDS_ABOVE:
        return above && at_most;
    case ADZ_BOUNDS_OPEN:
        break;
    }
    return above && below;
}

/* Says what a value must be: "in [0, 1]", "above 0 and finite" or "0 or more". */
static const char *wanted(const adz_field *f, char text[WANTED])
{
    const bool open = f->bounds == ADZ_BOUNDS_ABOVE || f->bounds == ADZ_BOUNDS_OPEN;
    const bool excluded = f->bounds == ADZ_BOUNDS_BELOW || f->bounds == ADZ_BOUNDS_OPEN;
    const char *least = adzi_text_number(f->least), *most = adzi_text_number(f->most);
    const bool unlimited = isinf(f->most) != 0 || f->most == LARGEST_SIZE;
    const bool finite = excluded && isinf(f->most) != 0;
    if (isinf(f->least) != 0 && unlimited) {
        snprintf(text, WANTED, "%s", finite ? "finite" : "a number");
    } else if (isinf(f->least) != 0) {
        snprintf(text, WANTED, excluded ? "below %s" : "%s or less", most);
    } else if (unlimited) {
        snprintf(
            text, WANTED, open ? "%sabove %s" : "%s%s or more", finite ? "finite and " : "", least);
    } else if (f->bounds == ADZ_BOUNDS_CLOSED) {
        snprintf(text, WANTED, "in [%s, %s]", least, most);
    } else {
        snprintf(text, WANTED, "%s %s and %s %s", open ? "above" : "at least", least,
            excluded ? "below" : "at most", most);
    }
    return text;
}

/* Records that a value, given as a text, is not what it must be. */
static bool refuse(const char *op, const adz_field *f, const char *value)
{
    char text[WANTED];
    adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be %s%s%s%s%s", f->name, value,
        wanted(f, text), f->none_name != NULL ? " or " : "",
        f->none_name != NULL ? f->none_name : "", f->hint != NULL ? "; " : "",
        f->hint != NULL ? f->hint : "");
    return false;
}

static bool check_real(const char *op, const adz_field *f, double x)
{
    const bool none = f->none_name != NULL && x == f->none;
    return none || is_within(f, x) || refuse(op, f, adzi_text_number(x));
}

static bool check_whole(const char *op, const adz_field *f, int64_t n)
{
    const bool is_natural = f->kind == ADZ_FIELD_U64;
    const long double x = is_natural ? (long double)(uint64_t)n : (long double)n;
    const bool none = f->none_name != NULL && x == f->none;
    char text[24];
    if (none || is_within(f, x)) {
        return true;
    }
    if (is_natural) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)n);
    }
    if (f->most == LARGEST_SIZE && x >= f->most) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %s, more than fit in memory", f->name, text);
        return false;
    }
    return refuse(op, f, text);
}

/* Records that a value of an enumeration has no name, and lists those that have one. */
static bool refuse_enum(const char *op, const adz_field *f, int64_t n)
{
    char text[512] = "";
    size_t length = 0;
    for (int64_t k = 0; f->values[k] != NULL && length < sizeof text; ++k) {
        const char *between = length == 0 ? "" : f->values[k + 1] != NULL ? ", " : " or ";
        if (f->values[k][0] != '\0') {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld (%s)", between,
                (long long)k, f->values[k]);
        }
    }
    adz_error_format(
        op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be %s", f->name, (long long)n, text);
    return false;
}

/* An enumeration with names has the values 0 .. number of names - 1, except those whose name is "".
 */
static bool check_enum(const char *op, const adz_field *f, int64_t n)
{
    int64_t k = 0;
    if (f->values == NULL) {
        return check_whole(op, f, n);
    }
    while (f->values[k] != NULL && k != n) {
        ++k;
    }
    return (f->values[k] != NULL && f->values[k][0] != '\0') || refuse_enum(op, f, n);
}

static bool check_shape(const char *op, const adz_field *f, const adz_shape *shape)
{
    char text[WANTED];
    if (shape->rank < 0 || shape->rank > ADZ_MAX_RANK) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s has %d sizes, but can have 0 to %d", f->name,
            shape->rank, ADZ_MAX_RANK);
        return false;
    }
    for (int i = 0; i < shape->rank; ++i) {
        if (!is_within(f, (long double)shape->sizes[i])) {
            adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %s, but each size must be %s", f->name,
                adzi_text_sizes(shape->rank, shape->sizes), wanted(f, text));
            return false;
        }
    }
    return true;
}

static bool check_element(const char *op, const adz_field *f, const void *at)
{
    const adz_shape *shape;
    switch (f->kind) {
    case ADZ_FIELD_BOOL:
    case ADZ_FIELD_MASK:
        return true;
    case ADZ_FIELD_INT:
    case ADZ_FIELD_I64:
    case ADZ_FIELD_U64:
        return check_whole(op, f, adzi_field_whole(f, at));
    case ADZ_FIELD_ENUM:
        return check_enum(op, f, adzi_field_whole(f, at));
    case ADZ_FIELD_DTYPE:
        return adz_check_parameter_dtype(op, (adz_dtype)adzi_field_whole(f, at));
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        shape = at;
        return shape->rank == 0 || check_shape(op, f, shape);
    case ADZ_FIELD_F64:
        break;
    }
    return check_real(op, f, adzi_field_number(f, at));
}

/* Whether some values of the field may be wrong: it has bounds, or is of a kind that is checked
 * without them. Those kinds come last. */
static bool is_limited(const adz_field *f)
{
    return f->bounds != ADZ_BOUNDS_NONE || f->kind >= ADZ_FIELD_ENUM;
}

/* Whether a number lies between its bounds, as most do. False also for some right numbers: for one
 * that equals a bound, unless both bounds are closed and its size is below 2^53. From there on a
 * double does not hold every whole number. */
static inline bool is_clearly_within(const adz_field *f, double x)
{
    return (x > f->least && x < f->most) || (f->bounds == ADZ_BOUNDS_CLOSED && x >= f->least &&
                                                x <= f->most && x > -0x1p53 && x < 0x1p53);
}

static inline bool is_clearly_named(const adz_field *f, int n)
{
    int k = 0;
    while (f->values != NULL && f->values[k] != NULL && k < n) {
        ++k;
    }
    return f->values != NULL && k == n && f->values[k] != NULL && f->values[k][0] != '\0';
}

/* Whether a value is right beyond doubt. The calls of operators check their arguments, most of
 * which are, so this is kept short. The functions above find out about the others. */
static inline bool is_clearly_right(const adz_field *f, const void *at)
{
    const adz_shape *shape = at;
    switch (f->kind) {
    case ADZ_FIELD_F64:
        return is_clearly_within(f, *(const double *)at);
    case ADZ_FIELD_I64:
        return is_clearly_within(f, (double)*(const int64_t *)at);
    case ADZ_FIELD_INT:
        return is_clearly_within(f, *(const int *)at);
    case ADZ_FIELD_ENUM:
        return is_clearly_named(f, *(const int *)at);
    case ADZ_FIELD_SHAPE:
    case ADZ_FIELD_SIZES:
        for (int i = 0; i < shape->rank && i < ADZ_MAX_RANK; ++i) {
            if (!is_clearly_within(f, (double)shape->sizes[i])) {
                return false;
            }
        }
        return shape->rank >= 0 && shape->rank <= ADZ_MAX_RANK;
    default:
        return false;
    }
}

/* Checks all used elements of a field. */
static __attribute__((noinline)) bool check_field(
    const char *op, const adz_field *fields, size_t i, const void *values)
{
    const adz_field *f = &fields[i];
    const size_t size = adzi_field_size(f->kind), used = adzi_field_used(fields, i, values);
    for (size_t k = 0; k < used; ++k) {
        const char *at = (const char *)values + f->offset + k * size;
        if (!is_clearly_right(f, at) && !check_element(op, f, at)) {
            return false;
        }
    }
    return true;
}

/* Checks the fields that begin at byte `first` or behind it. */
static bool check_from(
    size_t first, const char *op, const adz_field *fields, size_t n_fields, const void *values)
{
    for (size_t i = 0; i < n_fields && fields[i].name != NULL; ++i) {
        const adz_field *f = &fields[i];
        if (is_limited(f) && f->offset >= first &&
            !(f->count == 0 && is_clearly_right(f, (const char *)values + f->offset)) &&
            !check_field(op, fields, i, values)) {
            return false;
        }
    }
    return true;
}

bool adz_fields_check(const char *op, const adz_field *fields, size_t n_fields, const void *values)
{
    if (n_fields > 0 && (fields == NULL || values == NULL)) {
        adzi_error_null(adzi_error_name(op), fields == NULL ? "fields" : "values");
        return false;
    }
    return check_from(0, op, fields, n_fields, values);
}

bool adzi_field_check_number(const char *op, const adz_field *field, double value)
{
    const bool real = field->kind == ADZ_FIELD_F64;
    adz_field f = *field;
    if (field->kind == ADZ_FIELD_BOOL) {
        if (value != 0 && value != 1) {
            adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be 0 or 1", field->name,
                adzi_text_number(value));
        }
        return value == 0 || value == 1;
    }
    if (!real && isfinite(value) && value != floor(value)) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be a whole number", field->name,
            adzi_text_number(value));
        return false;
    }
    f.bounds = f.bounds == ADZ_BOUNDS_NONE && !real ? ADZ_BOUNDS_OPEN : f.bounds;
    f.least = field->bounds == ADZ_BOUNDS_NONE ? -INFINITY : f.least;
    f.most = field->bounds == ADZ_BOUNDS_NONE ? INFINITY : f.most;
    return check_real(op, &f, value);
}

/* ---- structs of options --------------------------------------------------------------------- */

/* Whether the first `size` bytes of a struct have the whole field. */
static bool lies_within(const adz_field *f, size_t size)
{
    return f->offset + (f->count > 0 ? f->count : 1) * adzi_field_size(f->kind) <= size;
}

/* Writes zeros, the size, and the other defaults of the fields that `size` bytes have. A single
 * value of a whole struct is where its row says; arrays and shorter structs need a second look. */
static void fill(const adz_options_table *table, void *all, size_t size)
{
    const bool whole = size >= table->size;
    const size_t end = whole ? table->size : size;
    memset(all, 0, size);
    memcpy(all, &size, sizeof size);
    for (size_t i = 0; i < table->n_fields && table->fields[i].name != NULL; ++i) {
        const adz_field *f = &table->fields[i];
        if (f->value != 0 && f->offset >= sizeof size && f->offset < end &&
            ((whole && f->count == 0) || lies_within(f, end))) {
            reset(f, (char *)all + f->offset);
        }
    }
}

bool adz_options_take(
    const char *op, const adz_options_table *table, void *all, const void *options)
{
    if (table == NULL || all == NULL) {
        adzi_error_null(adzi_error_name(op), table == NULL ? "table" : "all");
        return false;
    }
    size_t given = 0;
    if (options != NULL) {
        memcpy(&given, options, sizeof given);
    }
    if (given < table->size) {
        fill(table, all, table->size);
    }
    if (options == NULL) { /* the defaults lie within their bounds */
        return check_from(table->size, op, table->fields, table->n_fields, all);
    }
    if (!adz_options_read(op, table->start, all, table->size, options)) {
        return false;
    }
    memcpy(all, &table->size, sizeof table->size);
    return check_from(sizeof table->size, op, table->fields, table->n_fields, all);
}

adz_status adz_options_defaults(
    const char *op, const adz_options_table *table, void *options, size_t size)
{
    if (table == NULL) {
        return adzi_error_null(adzi_error_name(op), "table");
    }
    const adz_status status = adz_options_fill(op, options, size, &size, sizeof size);
    if (status != ADZ_OK) {
        return status;
    }
    fill(table, options, size);
    for (size_t i = 0; i < table->n_fields && table->fields[i].name != NULL; ++i) {
        const adz_field *f = &table->fields[i];
        if (is_limited(f) && f->offset >= sizeof size && f->offset < table->size &&
            lies_within(f, size) && !check_field(op, table->fields, i, options)) {
            return adz_error_code(); /* a default outside its own bounds */
        }
    }
    return ADZ_OK;
}
