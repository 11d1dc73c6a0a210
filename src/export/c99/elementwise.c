/* Elementwise operators: expressions of their rows say how an element is computed. */
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
            r->attributes[k] != NULL ? adzi_c99_attr(call, r->attributes[k], r->default_value) : 1;
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
    return call->row != NULL && call->row->c.print == adzi_c99_elementwise;
}

/* The expression of an elementwise call. `room` is for one that the row makes. */
static const char *text_of_call(
    const adzi_c99 *c, const adzi_c99_call *call, double numbers[2], char room[ADZI_C99_ROOM])
{
    const adzi_c99_row *r = &call->row->c;
    numbers_of(call, numbers);
    return r->text != NULL ? r->text(c, call, numbers, room) : row_text(c, call, numbers);
}

void adzi_c99_elementwise(adzi_c99 *c, const adzi_c99_call *call)
{
    double numbers[2];
    char room[ADZI_C99_ROOM];
    const char *text = text_of_call(c, call, numbers, room);
    print(c, call, text, numbers);
}

unsigned adzi_c99_reads(const adzi_c99 *c, const adzi_c99_call *call)
{
    double numbers[2];
    char room[ADZI_C99_ROOM];
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
    char room[ADZI_C99_ROOM];
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
