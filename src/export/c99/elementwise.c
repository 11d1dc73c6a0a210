/* Elementwise operators: expressions of their rows say how an element is computed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

/* The expression of an element: that of the attribute's value, if the row has one for it. */
static const char *element_of(const adzi_c99_row *r, double number)
{
    for (size_t i = 0; i < r->n_special; ++i) {
        if (r->special[i].number == number) {
            return r->special[i].element;
        }
    }
    return r->element;
}

/* The text of y for integers or bools, or NULL if the general one serves them. */
static const char *whole_text(const adzi_c99_row *r, adz_dtype dtype)
{
    const char *text = dtype == ADZ_I32 || dtype == ADZ_I64 ? r->integers
                       : dtype == ADZ_BOOL                  ? r->bools
                                                            : NULL;
    return text != NULL ? text : r->whole;
}

/* The texts of the operands $a, $b and $c and the numbers of an expression. An operand that the
 * call does not have is NULL. */
typedef struct {
    const char *a, *b, *c;
    double numbers[2];
    adz_dtype dtype; /* of the numbers */
} parts;

static void add_number(adzi_c99 *c, adzi_text *text, double number, bool factor, adz_dtype dtype)
{
    if (!factor || number != 1) {
        const char *literal = adzi_c99_number(c, dtype, number);
        const bool negative = literal[0] == '-';
        adzi_text_format(text, "%s%s%s%s", negative ? "(" : "", literal, negative ? ")" : "",
            factor ? " * " : "");
    }
}

/* Adds an expression with its parts put in. */
static void fill_in(adzi_c99 *c, adzi_text *text, const char *expression, const parts *p)
{
    for (const char *at = expression; *at != '\0'; ++at) {
        if ((*at == '$' || *at == '%') && (at[1] == '0' || at[1] == '1')) {
            add_number(c, text, p->numbers[at[1] - '0'], *at == '%', p->dtype);
            ++at;
        } else if (*at == '$') {
            ++at;
            const char *part = *at == 'a' ? p->a : *at == 'b' ? p->b : p->c;
            adzi_text_add(text, part != NULL ? part : "0");
        } else {
            adzi_text_add_n(text, at, 1);
        }
    }
}

static void numbers_of(const adzi_c99_call *call, double numbers[2])
{
    const adzi_row *r = call->row;
    for (int k = 0; k < 2; ++k) {
        numbers[k] =
            r->attributes[k] != NULL ? adzi_c99_attr(call, r->attributes[k], r->otherwise) : 1;
    }
}

static const char *text_of(const adzi_c99_nest *nest, int operand)
{
    return operand >= 0 ? nest->operand[operand].text : NULL;
}

/* Prints "y = expression" for every element. */
static void print(
    adzi_c99 *c, const adzi_c99_call *call, const char *expression, const double numbers[2])
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    adzi_c99_nest nest = adzi_c99_nest_of(y->rank, y->sizes);
    const int target = adzi_c99_nest_add(&nest, y);
    int in[3] = { -1, -1, -1 };
    for (int i = 0; i < call->n_in && i < 3; ++i) {
        const char letter[] = { '$', (char)('a' + i), '\0' };
        const adzi_c99_value *v = adzi_c99_in(c, call, i);
        in[i] = v != NULL && strstr(expression, letter) != NULL ? adzi_c99_nest_add(&nest, v) : -1;
    }
    adzi_c99_nest_open(c, &nest);
    parts p = { text_of(&nest, in[0]), text_of(&nest, in[1]), text_of(&nest, in[2]),
        { numbers[0], numbers[1] }, y->dtype };
    adzi_text text = { 0 };
    fill_in(c, &text, expression, &p);
    if (text.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
        adzi_text_free(&text);
        return;
    }
    adzi_c99_line(c, "%s = %s;", text_of(&nest, target), adzi_text_get(&text));
    adzi_text_free(&text);
    adzi_c99_nest_close(c, &nest);
}

/* How an element of one dtype becomes one of another. Everything but 0 is true, NaN included. A
 * float beyond the integers must not reach a cast, whose result C leaves undefined. */
static const char *conversion(adz_dtype from, adz_dtype to)
{
    static const char *const casts[] = { [ADZI_C99_FLOATS] = "(float)$a",
        [ADZI_C99_INTEGERS] = "(int32_t)$a",
        [ADZI_C99_BYTES] = "(unsigned char)$a",
        [ADZI_C99_DOUBLES] = "(double)$a" };
    const bool byte = to == ADZ_U8, truncates = adzi_is_float(from) && !adzi_is_float(to);
    if (to == ADZ_BOOL) {
        return from == ADZ_BOOL ? "$a" : "$a != 0";
    }
    if (truncates && from == ADZ_F64) {
        return byte ? "(unsigned char)@wide_truncate($a)" : "@wide_truncate($a)";
    }
    if (truncates) {
        return byte ? "(unsigned char)@truncate($a)" : "@truncate($a)";
    }
    return adzi_c99_arena(from) != adzi_c99_arena(to) ? casts[adzi_c99_arena(to)] : "$a";
}

/* The expression of `to` and `copy`: y has another dtype than the last input. */
static void conversion_text(const adzi_c99 *c, const adzi_c99_call *call, char text[64])
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const int last = call->n_in - 1;
    snprintf(text, 64, "%s", conversion(adzi_c99_in(c, call, last)->dtype, y->dtype));
    *(strchr(text, '$') + 1) = (char)('a' + last);
}

/* The expression of a clamp: min(max(x, min), max), so that max wins where min is above it. A NaN
 * among the bounds makes everything NaN. Bounds that no element can pass are left out, because
 * compilers warn of them. */
static const char *clamp_text(adz_dtype dtype, double bounds[2])
{
    const double infinity = (double)INFINITY;
    const bool whole = !adzi_is_float(dtype), byte = dtype == ADZ_U8;
    const double least = !whole ? -infinity : byte ? 0 : INT32_MIN;
    const double most = !whole ? infinity : byte ? UINT8_MAX : INT32_MAX;
    if (isnan(bounds[0]) || isnan(bounds[1])) {
        bounds[0] = (double)NAN;
        return "$0";
    }
    bounds[0] = bounds[0] > bounds[1] ? bounds[1] : bounds[0];
    const bool low = bounds[0] > least, high = bounds[1] < most;
    return low && high ? "$a < $0 ? $0 : $a > $1 ? $1 : $a"
           : low       ? "$a < $0 ? $0 : $a"
           : high      ? "$a > $1 ? $1 : $a"
                       : "$a";
}

/* The expression of an operator whose row has one. */
static const char *row_text(const adzi_c99 *c, const adzi_c99_call *call, double numbers[2])
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const adzi_c99_row *r = &call->row->c;
    const char *text = element_of(r, numbers[0]);
    if (x != NULL && !adzi_is_float(x->dtype)) {
        const char *whole = whole_text(r, x->dtype);
        text = whole != NULL ? whole : text;
    }
    if (r->bools != NULL && text == r->bools) { /* a bool's factor says whether it counts */
        text = numbers[0] != 0 ? text : "$a";
        numbers[0] = 1;
    }
    return text;
}

bool adzi_c99_is_elementwise(const adzi_c99_call *call)
{
    return call->row != NULL &&
           (call->row->c.print == adzi_c99_elementwise || call->row->c.print == adzi_c99_convert ||
               call->row->c.print == adzi_c99_clamp);
}

/* The expression of an elementwise call. `conversion` is room for it. */
static const char *text_of_call(
    const adzi_c99 *c, const adzi_c99_call *call, double numbers[2], char conversion[64])
{
    numbers_of(call, numbers);
    if (call->row->c.print == adzi_c99_convert) {
        conversion_text(c, call, conversion);
        return conversion;
    }
    return call->row->c.print == adzi_c99_clamp
               ? clamp_text(adzi_c99_out(c, call, 0)->dtype, numbers)
               : row_text(c, call, numbers);
}

void adzi_c99_elementwise(adzi_c99 *c, const adzi_c99_call *call)
{
    double numbers[2];
    char room[64];
    const char *text = text_of_call(c, call, numbers, room);
    print(c, call, text, numbers);
}

void adzi_c99_clamp(adzi_c99 *c, const adzi_c99_call *call)
{
    adzi_c99_elementwise(c, call);
}

void adzi_c99_convert(adzi_c99 *c, const adzi_c99_call *call)
{
    adzi_c99_elementwise(c, call);
}

unsigned adzi_c99_reads(const adzi_c99 *c, const adzi_c99_call *call)
{
    double numbers[2];
    char room[64];
    const char *text = text_of_call(c, call, numbers, room);
    unsigned reads = 0;
    for (int i = 0; i < call->n_in && i < 3; ++i) {
        const char letter[] = { '$', (char)('a' + i), '\0' };
        reads |= adzi_c99_in(c, call, i) != NULL && strstr(text, letter) != NULL ? 1u << i : 0;
    }
    return reads;
}

void adzi_c99_add_element(
    adzi_c99 *c, const adzi_c99_call *call, const char *const inputs[3], adzi_text *text)
{
    parts p = {
        .a = inputs[0], .b = inputs[1], .c = inputs[2], .dtype = adzi_c99_out(c, call, 0)->dtype
    };
    char room[64];
    const char *expression = text_of_call(c, call, p.numbers, room);
    fill_in(c, text, expression, &p);
}

void adzi_c99_map(
    adzi_c99 *c, const adzi_c99_value *to, const char *text, const adzi_c99_value *from)
{
    adzi_c99_nest nest = adzi_c99_nest_of(to->rank, to->sizes);
    const int target = adzi_c99_nest_add(&nest, to);
    const int source = from != NULL ? adzi_c99_nest_add(&nest, from) : -1;
    adzi_c99_nest_open(c, &nest);
    const parts p = { .a = text_of(&nest, source) };
    adzi_text expression = { 0 };
    fill_in(c, &expression, text, &p);
    if (expression.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    adzi_c99_line(c, "%s %s;", text_of(&nest, target), adzi_text_get(&expression));
    adzi_text_free(&expression);
    adzi_c99_nest_close(c, &nest);
}
