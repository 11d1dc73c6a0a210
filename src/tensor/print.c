/* Tensors as text, in the layout of PyTorch's print. */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "tensor/copy.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum {
    EDGE = 3,         /* elements shown at each end of a shortened dimension */
    THRESHOLD = 1000, /* dimensions of tensors with more elements are shortened */
    LINE = 80,        /* characters of a line */
    DIGITS = 4,       /* digits after the decimal point */
    NUMBER = 40       /* bytes of a buffer for one formatted element */
};

/* A text that grows. `failed` is set when memory is refused, and nothing more is added then. */
typedef struct {
    char *text;
    size_t length, capacity;
    bool failed;
} text;

static void put_n(text *out, const char *from, size_t n)
{
    if (out->failed || !adzi_grow(&out->text, &out->capacity, out->length + n + 1, 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->length, from, n);
    out->length += n;
    out->text[out->length] = '\0';
}

static void put(text *out, const char *from)
{
    put_n(out, from, strlen(from));
}

static void put_spaces(text *out, int n)
{
    for (; n > 0; --n) {
        put_n(out, " ", 1);
    }
}

/* ---- one element ----------------------------------------------------------------------------- */

/* How elements are written: 3, 3., 3.1416, 3.1416e+00, True. */
typedef enum { AS_INTEGER, AS_WHOLE, AS_FIXED, AS_SCIENTIFIC, AS_BOOL } style;

typedef struct {
    style how;
    int width; /* characters of an element, filled with spaces on the left */
} format;

/* Replaces the locale's decimal point by a dot. */
static void make_dot(char *number)
{
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") == 0 ? NULL : strstr(number, point);
    if (at != NULL) {
        size_t n = strlen(point);
        *at = '.';
        memmove(at + 1, at + n, strlen(at + n) + 1);
    }
}

/* Writes one element and returns the number of characters. `integer` holds the value of integers
 * and bools, `x` that of floats. */
static int write_element(char *buffer, const format *f, double x, int64_t integer)
{
    if (f->how == AS_BOOL) {
        return snprintf(buffer, NUMBER, "%s", integer != 0 ? "True" : "False");
    }
    if (f->how == AS_INTEGER) {
        return snprintf(buffer, NUMBER, "%lld", (long long)integer);
    }
    if (!isfinite(x)) {
        return snprintf(buffer, NUMBER, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    }
    if (f->how == AS_WHOLE) {
        snprintf(buffer, NUMBER, "%.0f.", x);
    } else if (f->how == AS_FIXED) {
        snprintf(buffer, NUMBER, "%.*f", DIGITS, x);
    } else {
        snprintf(buffer, NUMBER, "%.*e", DIGITS, x);
    }
    make_dot(buffer);
    return (int)strlen(buffer);
}

/* A tensor that is printed, and how. */
typedef struct {
    const adz_tensor *t;
    bool shortened;
    format f;
} view;

/* Reads the element at an offset: into `integer` for integers and bools, else into `x`. */
static void read_at(const adz_tensor *t, int64_t offset, double *x, int64_t *integer)
{
    adz_tensor item = *t, value = { .rank = 0, .numel = 1 };
    bool whole = !adzi_is_float((adz_dtype)t->dtype) && t->dtype != ADZ_F16 && t->dtype != ADZ_BF16;
    item.rank = 0;
    item.numel = 1;
    item.data = t->data + offset * (int64_t)adzi_item_size(t);
    value.dtype = whole ? ADZ_I64 : ADZ_F64;
    value.data = whole ? (char *)integer : (char *)x;
    adzi_copy(&value, &item);
}

/* Calls `visit` for every element that will be shown, from dimension `dim` on. */
static void each_shown(const view *v, int dim, int64_t offset,
    void (*visit)(void *user, double x, int64_t integer), void *user)
{
    const adz_tensor *t = v->t;
    if (dim == t->rank) {
        double x = 0;
        int64_t integer = 0;
        read_at(t, offset, &x, &integer);
        visit(user, x, integer);
        return;
    }
    int64_t n = t->sizes[dim];
    for (int64_t i = 0; i < n; ++i) {
        if (v->shortened && n > 2 * EDGE && i == EDGE) {
            i = n - EDGE;
        }
        each_shown(v, dim + 1, offset + i * t->strides[dim], visit, user);
    }
}

/* What the shown elements have in common. */
typedef struct {
    double most, least; /* the largest and smallest magnitude of finite elements other than 0 */
    bool whole;         /* all finite elements are whole numbers */
    format f;
} survey;

/* First visit: finds the magnitudes. */
static void look(void *user, double x, int64_t integer)
{
    survey *s = user;
    (void)integer;
    if (isfinite(x)) {
        double m = fabs(x);
        s->whole = s->whole && x == floor(x);
        if (m != 0) {
            s->most = fmax(s->most, m);
            s->least = fmin(s->least, m);
        }
    }
}

/* Second visit: finds the width of the widest element. */
static void measure(void *user, double x, int64_t integer)
{
    survey *s = user;
    char buffer[NUMBER];
    if (s->f.how >= AS_WHOLE && s->f.how <= AS_SCIENTIFIC && (x == 0 || !isfinite(x))) {
        return; /* PyTorch measures only the finite elements other than 0 */
    }
    int width = write_element(buffer, &s->f, x, integer);
    s->f.width = width > s->f.width ? width : s->f.width;
}

/* Chooses the style by PyTorch's rules. Numbers are scientific if the largest magnitude is above
 * 1e8 or more than 1000 times the smallest. They are so, too, if the smallest is below 1e-4 and not
 * all numbers are whole. */
static format choose_format(const view *v)
{
    survey s = { .most = 0, .least = INFINITY, .whole = true };
    adz_dtype dtype = (adz_dtype)v->t->dtype;
    if (dtype == ADZ_BOOL) {
        s.f.how = AS_BOOL;
    } else if (dtype == ADZ_I32 || dtype == ADZ_I64 || dtype == ADZ_U8) {
        s.f.how = AS_INTEGER;
    } else {
        each_shown(v, 0, 0, look, &s);
        bool wide = s.most > 0 && (s.most / s.least > 1000 || s.most > 1e8);
        bool small = s.most > 0 && s.least < 1e-4;
        s.f.how = s.whole ? (wide ? AS_SCIENTIFIC : AS_WHOLE)
                          : (wide || small ? AS_SCIENTIFIC : AS_FIXED);
    }
    each_shown(v, 0, 0, measure, &s);
    return s.f;
}

/* ---- the whole tensor ------------------------------------------------------------------------ */

static void put_element(text *out, const view *v, int64_t offset)
{
    char buffer[NUMBER];
    double x = 0;
    int64_t integer = 0;
    read_at(v->t, offset, &x, &integer);
    int length = write_element(buffer, &v->f, x, integer);
    put_spaces(out, v->f.width - length);
    put(out, buffer);
}

/* Writes a row of the last dimension, with as many elements per line as fit. `indent` is the column
 * of its opening bracket. */
static void put_row(text *out, const view *v, int64_t offset, int indent)
{
    int64_t n = v->t->sizes[v->t->rank - 1], stride = v->t->strides[v->t->rank - 1];
    int per_line = (LINE - indent) / (v->f.width + 2), on_line = 0;
    per_line = per_line > 0 ? per_line : 1;
    put(out, "[");
    for (int64_t i = 0; i < n; ++i) {
        if (i > 0) {
            put(out, on_line == per_line ? ",\n" : ", ");
            if (on_line == per_line) {
                put_spaces(out, indent + 1);
                on_line = 0;
            }
        }
        if (v->shortened && n > 2 * EDGE && i == EDGE) {
            put(out, " ...");
            i = n - EDGE - 1;
        } else {
            put_element(out, v, offset + i * stride);
        }
        ++on_line;
    }
    put(out, "]");
}

/* Writes dimension `dim` and all dimensions inside it, with blank lines between blocks. */
static void put_dim(text *out, const view *v, int dim, int64_t offset, int indent)
{
    const adz_tensor *t = v->t;
    if (t->rank == 0) {
        put_element(out, v, offset);
        return;
    }
    if (dim == t->rank - 1) {
        put_row(out, v, offset, indent);
        return;
    }
    int64_t n = t->sizes[dim];
    put(out, "[");
    for (int64_t i = 0; i < n; ++i) {
        if (i > 0) {
            put(out, ",");
            for (int blank = 0; blank < t->rank - 1 - dim; ++blank) {
                put(out, "\n");
            }
            put_spaces(out, indent + 1);
        }
        if (v->shortened && n > 2 * EDGE && i == EDGE) {
            put(out, "...,");
            for (int blank = 0; blank < t->rank - 1 - dim; ++blank) {
                put(out, "\n");
            }
            put_spaces(out, indent + 1);
            i = n - EDGE;
        }
        put_dim(out, v, dim + 1, offset + i * t->strides[dim], indent + 1);
    }
    put(out, "]");
}

/* Writes ", key=value". It begins a new line if it does not fit the current one. */
static void put_suffix(text *out, const char *key, const char *value)
{
    const char *line = out->text != NULL ? strrchr(out->text, '\n') : NULL;
    size_t on_line = out->length - (line != NULL ? (size_t)(line - out->text) : 0) + 1;
    bool fits = on_line + strlen(key) + 1 + strlen(value) + 2 <= LINE;
    put(out, fits ? ", " : ",\n       ");
    put(out, key);
    put(out, "=");
    put(out, value);
}

static void put_size(text *out, const adz_tensor *t)
{
    char sizes[ADZ_MAX_RANK * 22 + 3];
    snprintf(sizes, sizeof sizes, "%s", adzi_text_shape(t));
    sizes[0] = '(';
    sizes[strlen(sizes) - 1] = ')';
    put_suffix(out, "size", sizes);
}

static void put_tensor(text *out, const adz_tensor *t)
{
    if (t == NULL || adzi_is_none(t)) {
        put(out, t == NULL ? "NULL" : "ADZ_NONE");
        return;
    }
    view v = { .t = t, .shortened = t->numel > THRESHOLD };
    put(out, "tensor(");
    if (t->numel == 0) {
        put(out, "[]");
        if (t->rank != 1) {
            put_size(out, t);
        }
    } else {
        v.f = choose_format(&v);
        put_dim(out, &v, 0, 0, (int)strlen("tensor("));
    }
    bool plain = t->dtype == ADZ_I64 || t->dtype == ADZ_BOOL; /* the elements show the dtype */
    if (t->dtype != ADZ_F32 && !(plain && t->numel > 0)) {
        put_suffix(out, "dtype", adz_dtype_name((adz_dtype)t->dtype));
    }
    if (t->node == NULL && t->requires_grad) {
        put_suffix(out, "requires_grad", "True");
    } else if (t->node != NULL) {
        put_suffix(out, "grad_fn", adzi_tape.node_name(t->node));
    }
    put(out, ")");
}

/* Writes a tensor, NULL or ADZ_NONE as text, which the caller frees. False with the error recorded
 * if memory was refused or the pointer is stale. */
static bool make_text(text *out, const char *op, const adz_tensor *t)
{
    if (t != NULL && t->alive != ADZI_ALIVE) {
        adzi_check_tensor(op, "t", t);
        return false;
    }
    put_tensor(out, t);
    if (out->failed) {
        adzi_free(out->text, out->capacity);
        adzi_fail_memory(op, out->length + 1);
        return false;
    }
    return true;
}

static const char reads[] = "it reads elements on the host";

adz_status adz_tensor_print(const adz_tensor *t, FILE *stream)
{
    text out = { NULL, 0, 0, false };
    if (stream == NULL) {
        return adzi_error_null("tensor_print", "stream");
    }
    if (adzi_is_captured("tensor_print", reads) || !make_text(&out, "tensor_print", t)) {
        return adz_error_code();
    }
    bool ok = fputs(out.text, stream) >= 0 && fputs("\n", stream) >= 0;
    adzi_free(out.text, out.capacity);
    return ok ? ADZ_OK : adzi_error("tensor_print", ADZ_ERR_IO, "writing to the stream failed");
}

size_t adz_tensor_to_string(const adz_tensor *t, char *buffer, size_t size)
{
    text out = { NULL, 0, 0, false };
    if (adzi_is_captured("tensor_to_string", reads) || !make_text(&out, "tensor_to_string", t)) {
        return 0;
    }
    if (buffer != NULL && size > 0) {
        size_t n = out.length < size ? out.length : size - 1;
        memcpy(buffer, out.text, n);
        buffer[n] = '\0';
    }
    adzi_free(out.text, out.capacity);
    return out.length;
}
