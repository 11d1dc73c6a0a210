/* The smallest parts of the text: lines, numbers, loops and elements. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/program.h"

enum { INDENTATION = 4 };
enum { OVERFLOW_MARK = '#' }; /* instead of an index that has no room; no index contains it */

void adzi_c99_fail(adzi_c99 *c, adz_status code, const char *format, ...)
{
    if (c->failed) {
        return;
    }
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    adzi_error(c->op, code, "%s", message);
    c->failed = true;
}

/* ---- lines and numbers ----------------------------------------------------------------------- */

/* The text that a format makes, in `usual` if it fits there; NULL if memory was refused. */
static char *formatted(const char *format, va_list arguments, char *usual, size_t *size)
{
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(usual, *size, format, arguments);
    const size_t needed = length < 0 ? 0 : (size_t)length + 1;
    char *line = needed == 0 ? NULL : needed <= *size ? usual : adzi_alloc(needed);
    if (line != NULL && line != usual) {
        vsnprintf(line, needed, format, again);
    }
    va_end(again);
    *size = needed;
    return line;
}

static void add_line(adzi_c99 *c, const char *format, va_list arguments)
{
    char usual[512]; /* long names and many dimensions make longer lines */
    size_t size = sizeof usual;
    char *line = formatted(format, arguments, usual, &size);
    if (line == NULL) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
        return;
    }
    if (line[0] != '\0') {
        adzi_text_format(&c->body, "%*s", c->depth * INDENTATION, "");
    }
    adzi_c99_expand(c, &c->body, line);
    adzi_text_add(&c->body, "\n");
    if (line != usual) {
        adzi_free(line, size);
    }
}

void adzi_c99_line(adzi_c99 *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(c, format, arguments);
    va_end(arguments);
}

void adzi_c99_open(adzi_c99 *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_line(c, format, arguments);
    va_end(arguments);
    ++c->depth;
}

void adzi_c99_close(adzi_c99 *c)
{
    --c->depth;
    adzi_c99_line(c, "}");
}

adzi_c99_mark adzi_c99_mark_of(const adzi_c99 *c)
{
    return (adzi_c99_mark){ c->depth, c->variables };
}

void adzi_c99_need_block(adzi_c99 *c, adzi_c99_mark mark)
{
    if (c->depth == mark.depth) {
        adzi_c99_open(c, "{");
    }
}

void adzi_c99_close_to(adzi_c99 *c, adzi_c99_mark mark)
{
    c->variables = mark.variables;
    while (c->depth > mark.depth) {
        adzi_c99_close(c);
    }
}

const char *adzi_c99_type(adz_dtype dtype)
{
    static const char *const names[] = { "float", "int32_t", "unsigned char", "double" };
    return names[adzi_c99_arena(dtype)];
}

int adzi_c99_arena(adz_dtype dtype)
{
    switch (dtype) {
    case ADZ_I32:
    case ADZ_I64:
        return ADZI_C99_INTEGERS;
    case ADZ_BOOL:
    case ADZ_U8:
        return ADZI_C99_BYTES;
    case ADZ_F64:
        return ADZI_C99_DOUBLES;
    default:
        return ADZI_C99_FLOATS;
    }
}

int64_t adzi_c99_bytes(adz_dtype dtype)
{
    static const int64_t bytes[ADZI_C99_ARENAS] = { 4, 4, 1, 8 };
    return bytes[adzi_c99_arena(dtype)];
}

/* True if a number of at most 8 digits, as printf writes it, is nearer to f than to any other
 * float: nearer than half the distance to the next one. */
static bool reads_back(const char *text, float f)
{
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    double digits = 0;
    int exponent = 0;
    bool fraction = false;
    const char *at = text + (text[0] == '-');
    for (; *at != '\0' && *at != 'e'; ++at) {
        const bool point = *at < '0' || *at > '9';
        digits = point ? digits : 10 * digits + (*at - '0');
        exponent -= fraction && !point;
        fraction = fraction || point;
    }
    exponent += *at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0;
    if (exponent < -22 || exponent > 22) { /* the power is not exact */
        return false;
    }
    const double x = exponent < 0 ? digits / powers[-exponent] : digits * powers[exponent];
    return fabs(x - fabs((double)f)) < fabs((double)f) * 0x1p-25 || x == fabs((double)f);
}

/* One of the thread's texts, which adzi_text_number gives out in turn. */
static char *thread_text(void)
{
    return (char *)(uintptr_t)adzi_text_number(0);
}

/* A number as a literal of the type float. The text is the thread's (adzi_text_float). */
static const char *float_text(double x)
{
    const float f = (float)x;
    if (isnan(f)) {
        return "(0.0f / 0.0f)";
    }
    if (isinf(f)) {
        return f > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
    }
    char *text = thread_text();
    for (int digits = 6; digits <= 9; ++digits) { /* 9 digits distinguish any two floats */
        snprintf(text, ADZI_TEXT_SIZE, "%.*g", digits, (double)f);
        if (digits < 9 && reads_back(text, f)) {
            break;
        }
    }
    for (char *at = text; *at != '\0'; ++at) { /* a locale may have written a comma */
        *at = *at == ',' ? '.' : *at;
    }
    const char *end = strpbrk(text, ".e") != NULL ? "f" : ".0f";
    memcpy(text + strlen(text), end, strlen(end) + 1);
    return text;
}

const char *adzi_c99_real(const adzi_c99 *c, double x)
{
    return c->wide ? adzi_c99_double(x) : float_text(x);
}

adz_dtype adzi_c99_dtype(const adzi_c99 *c, adz_dtype dtype)
{
    return c->wide && dtype == ADZ_F32 ? ADZ_F64 : dtype;
}

const char *adzi_c99_real_type(const adzi_c99 *c)
{
    return c->wide ? "double" : "float";
}

const char *adzi_c99_double(double x)
{
    if (isnan(x)) {
        return "(0.0 / 0.0)";
    }
    if (isinf(x)) {
        return x > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)";
    }
    char *text = (char *)(uintptr_t)adzi_text_exact(x);
    if (strpbrk(text, ".e") == NULL) {
        memcpy(text + strlen(text), ".0", sizeof ".0");
    }
    return text;
}

/* An integer as a literal. One that does not fit in an int32_t is an error. */
static const char *whole_text(adzi_c99 *c, int64_t x)
{
    if (x < INT32_MIN || x > INT32_MAX) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s uses the integer %lld of int64, which does not fit in the int32_t that a file in C has for integers",
            c->current != NULL ? c->current : "the function", (long long)x);
        return "0";
    }
    if (x == INT32_MIN) { /* 2147483648 is no int, and its negative none either */
        return "(-2147483647 - 1)";
    }
    char *text = thread_text();
    snprintf(text, ADZI_TEXT_SIZE, "%lld", (long long)x);
    return text;
}

const char *adzi_c99_largest(const adzi_c99 *c)
{
    return adzi_c99_real(c, c->wide ? DBL_MAX : (double)FLT_MAX);
}

const char *adzi_c99_number(adzi_c99 *c, adz_dtype dtype, double x)
{
    switch (adzi_c99_dtype(c, dtype)) {
    case ADZ_BOOL:
        return x != 0 ? "1" : "0";
    case ADZ_F64:
        return adzi_c99_double(x);
    case ADZ_I32:
    case ADZ_I64:
    case ADZ_U8:
        /* Numbers beyond the integers of f64 fail in the same way as INT64_MAX. */
        return whole_text(c, x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MAX);
    default:
        return float_text(x);
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Notes that the step that is being printed uses a memory by its name. */
static const char *use_memory(adzi_c99 *c, int memory)
{
    adzi_c99_memory *m = &c->memories[memory];
    if (m->first < 0) {
        m->first = c->step;
    }
    m->last = c->step;
    m->array = true;
    return m->name;
}

/* The only number of a constant whose elements are equal. */
static void uniform_text(adzi_c99 *c, const adzi_c99_memory *m, char *text, size_t size)
{
    const char *number = adzi_c99_number(c, m->dtype, adzi_c99_contents(m, 0));
    const bool negative = number[0] == '-'; /* so that "a - -1" cannot become "a --1" */
    snprintf(text, size, "%s%s%s", negative ? "(" : "", number, negative ? ")" : "");
}

/* True if an index, and the text of `length` characters that was made of it, are whole. An index
 * that had no room has a mark (adzi_c99_join). */
static bool is_whole(adzi_c99 *c, const char *index, int length, size_t size)
{
    const bool whole = strchr(index, OVERFLOW_MARK) == NULL && length >= 0 && (size_t)length < size;
    if (!whole) {
        adzi_c99_fail(c, ADZ_ERR_STATE, "%s: the index of an element is too long for C",
            c->current != NULL ? c->current : "the function");
    }
    return whole;
}

void adzi_c99_element(adzi_c99 *c, int memory, const char *index, char *text, size_t size)
{
    const adzi_c99_memory *m = &c->memories[memory];
    if (m->uniform) {
        uniform_text(c, m, text, size);
        return;
    }
    const int length =
        snprintf(text, size, "%s[%s]", use_memory(c, memory), index[0] != '\0' ? index : "0");
    is_whole(c, index, length, size);
}

void adzi_c99_address(adzi_c99 *c, int memory, const char *index, char *text, size_t size)
{
    const bool shifted = index[0] != '\0' && strcmp(index, "0") != 0;
    const int length = snprintf(
        text, size, "%s%s%s", use_memory(c, memory), shifted ? " + " : "", shifted ? index : "");
    is_whole(c, index, length, size);
}

void adzi_c99_index(char *index, size_t size, const char *variable, int64_t stride)
{
    char part[ADZI_C99_INDEX];
    if (stride == 1) {
        adzi_c99_join(index, size, variable);
    } else if (stride != 0) {
        snprintf(part, sizeof part, "%s * %lld", variable, (long long)stride);
        adzi_c99_join(index, size, part);
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

void adzi_c99_range(
    adzi_c99 *c, const char *from, const char *below, int64_t step, char variable[4])
{
    static const char letters[] = "ijklmnopqrstuv";
    char increment[32];
    if (c->variables >= (int)(sizeof letters - 1)) { /* an outer loop would lose its variable */
        adzi_c99_fail(c, ADZ_ERR_STATE, "%s: the loops are nested too deeply for C", c->current);
    }
    snprintf(variable, 4, "%c", letters[c->variables++ % (int)(sizeof letters - 1)]);
    if (step == 1) {
        snprintf(increment, sizeof increment, "++%s", variable);
    } else {
        snprintf(increment, sizeof increment, "%s += %lld", variable, (long long)step);
    }
    adzi_c99_line(
        c, "for (int %s = %s; %s < %s; %s) {", variable, from, variable, below, increment);
    ++c->depth;
}

void adzi_c99_loop(adzi_c99 *c, int64_t count, char variable[4])
{
    char below[24];
    snprintf(below, sizeof below, "%lld", (long long)count);
    adzi_c99_range(c, "0", below, 1, variable);
}

bool adzi_c99_loop_over(adzi_c99 *c, int64_t count, char variable[4])
{
    variable[0] = '\0';
    if (count != 1) {
        adzi_c99_loop(c, count, variable);
    }
    return count != 1;
}

void adzi_c99_end(adzi_c99 *c)
{
    --c->variables;
    adzi_c99_close(c);
}

adzi_c99_nest adzi_c99_nest_of(int rank, const int64_t *sizes)
{
    adzi_c99_nest nest = { .rank = rank };
    for (int d = 0; d < rank; ++d) {
        nest.sizes[d] = sizes[d];
    }
    return nest;
}

int adzi_c99_nest_add(adzi_c99_nest *nest, const adzi_c99_value *value)
{
    const int k = nest->n++, missing = nest->rank - value->rank;
    nest->operand[k].memory = value->memory;
    nest->operand[k].index[0] = '\0';
    if (value->offset != 0) {
        snprintf(nest->operand[k].index, ADZI_C99_INDEX, "%lld", (long long)value->offset);
    }
    for (int d = 0; d < nest->rank; ++d) {
        nest->operand[k].strides[d] =
            d < missing || value->sizes[d - missing] == 1 ? 0 : value->strides[d - missing];
    }
    return k;
}

/* True if dimension d and the next one can be one loop: for every operand a step of d is as long as
 * all steps of the next dimension. */
static bool mergeable(const adzi_c99_nest *nest, int d)
{
    for (int k = 0; k < nest->n; ++k) {
        const int64_t *strides = nest->operand[k].strides;
        if (strides[d] != strides[d + 1] * nest->sizes[d + 1]) {
            return false;
        }
    }
    return true;
}

static void remove_dimension(adzi_c99_nest *nest, int d)
{
    for (int e = d; e + 1 < nest->rank; ++e) {
        nest->sizes[e] = nest->sizes[e + 1];
        for (int k = 0; k < nest->n; ++k) {
            nest->operand[k].strides[e] = nest->operand[k].strides[e + 1];
        }
    }
    --nest->rank;
}

static void merge(adzi_c99_nest *nest)
{
    for (int d = nest->rank - 1; d >= 0; --d) {
        if (nest->sizes[d] == 1) {
            remove_dimension(nest, d);
        }
    }
    for (int d = nest->rank - 2; d >= 0; --d) {
        if (mergeable(nest, d)) {
            nest->sizes[d + 1] *= nest->sizes[d];
            remove_dimension(nest, d);
        }
    }
}

void adzi_c99_join(char *to, size_t size, const char *part)
{
    const size_t n = strlen(to), room = size - n;
    const int added =
        part[0] == '\0' ? 0 : snprintf(to + n, room, "%s%s", n > 0 ? " + " : "", part);
    if (added < 0 || (size_t)added >= room) {
        to[0] = OVERFLOW_MARK;
        to[1] = '\0';
    }
}

void adzi_c99_nest_open(adzi_c99 *c, adzi_c99_nest *nest)
{
    merge(nest);
    char added[ADZI_C99_OPERANDS][ADZI_C99_INDEX] = { { 0 } };
    for (int d = 0; d < nest->rank; ++d) {
        char variable[4];
        adzi_c99_loop(c, nest->sizes[d], variable);
        for (int k = 0; k < nest->n; ++k) {
            adzi_c99_index(added[k], ADZI_C99_INDEX, variable, nest->operand[k].strides[d]);
        }
    }
    nest->loops = nest->rank;
    for (int k = 0; k < nest->n; ++k) {
        char *index = nest->operand[k].index;
        adzi_c99_join(index, ADZI_C99_INDEX, added[k]);
        if (nest->operand[k].memory >= 0) {
            adzi_c99_element(c, nest->operand[k].memory, index, nest->operand[k].text,
                sizeof nest->operand[k].text);
        }
    }
}

void adzi_c99_nest_close(adzi_c99 *c, adzi_c99_nest *nest)
{
    for (int d = 0; d < nest->loops; ++d) {
        adzi_c99_end(c);
    }
}
