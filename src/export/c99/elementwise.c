/* Elementwise operators: one row of a table says how an element and its gradients are computed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

/* An expression is a text with these parts:
 *
 *     $a $b $c   the elements of the inputs        $y   the element of the result
 *     $g         the gradient of the result        $0 $1   the numbers of the row's fields
 *     %0         "number * ", or nothing if the number is 1
 *     @exp       a function of math.c
 *
 * `da`, `db` and `dc` are what an input's gradient grows by. NULL: the input has no gradient. */
typedef struct {
    const char *op, *y, *da, *db, *dc;
    const char *fields[2];
    double otherwise; /* the value of an attribute that the call has not */
} row;

#define NUMBER(name) \
    {                \
        name, NULL   \
    }
#define COMPARE(name, operator)                                         \
    {                                                                   \
#name, "$a " operator" $b", NULL, NULL, NULL, { NULL, NULL }, 0 \
    }

static const row rows[] = {
    { "add", "$a + %0$b", "$g", "%0$g", NULL, NUMBER("alpha"), 1 },
    { "sub", "$a - %0$b", "$g", "-(%0$g)", NULL, NUMBER("alpha"), 1 },
    { "mul", "$a * $b", "$g * $b", "$g * $a", NULL, NUMBER(NULL), 0 },
    { "div", "$a / $b", "$g / $b", "-$g * $y / $b", NULL, NUMBER(NULL), 0 },
    { "addcmul", "$a + %0$b * $c", "$g", "%0$g * $c", "%0$g * $b", NUMBER("value"), 1 },
    { "neg", "-$a", "-$g", NULL, NULL, NUMBER(NULL), 0 },
    { "abs", "$a > 0 ? $a : 0 - $a", "$a > 0 ? $g : $a < 0 ? -$g : 0.0f", NULL, NULL, NUMBER(NULL),
        0 },
    { "clamp", NULL, "$a >= $0 && $a <= $1 ? $g : 0.0f", NULL, NULL, { "min", "max" }, 0 },
    { "sin", "@sin($a)", "$g * @cos($a)", NULL, NULL, NUMBER(NULL), 0 },
    { "cos", "@cos($a)", "-$g * @sin($a)", NULL, NULL, NUMBER(NULL), 0 },
    { "erf", "@erf($a)", "$g * 1.12837917f * @exp(-$a * $a)", NULL, NULL, NUMBER(NULL), 0 },
    { "exp", "@exp($a)", "$g * $y", NULL, NULL, NUMBER(NULL), 0 },
    { "expm1", "@expm1($a)", "$g * ($y + 1)", NULL, NULL, NUMBER(NULL), 0 },
    { "log", "@log($a)", "$g / $a", NULL, NULL, NUMBER(NULL), 0 },
    { "log1p", "@log1p($a)", "$g / (1 + $a)", NULL, NULL, NUMBER(NULL), 0 },
    { "logsigmoid", "($a < 0 ? $a : 0) - @log1p(@exp($a < 0 ? $a : -$a))", "$g * @sigmoid(-$a)",
        NULL, NULL, NUMBER(NULL), 0 },
    { "maximum", "$a > $b || $a != $a ? $a : $b", "$a == $b ? 0.5f * $g : $a < $b ? 0.0f : $g",
        "$a == $b ? 0.5f * $g : $b < $a ? 0.0f : $g", NULL, NUMBER(NULL), 0 },
    { "minimum", "$a < $b || $a != $a ? $a : $b", "$a == $b ? 0.5f * $g : $a > $b ? 0.0f : $g",
        "$a == $b ? 0.5f * $g : $b > $a ? 0.0f : $g", NULL, NUMBER(NULL), 0 },
    { "pow", "@pow($a, $b)", "$b == 0 ? 0.0f : $g * $b * @pow($a, $b - 1)",
        "$a == 0 && $b >= 0 ? 0.0f : $g * $y * @log($a)", NULL, NUMBER(NULL), 0 },
    { "pow_number", "@pow($a, $0)", "$g * $0 * @pow($a, $0 - 1)", NULL, NULL, NUMBER("exponent"),
        1 },
    { "reciprocal", "1 / $a", "-$g * $y * $y", NULL, NULL, NUMBER(NULL), 0 },
    { "rsqrt", "1 / @sqrt($a)", "-0.5f * $g * $y * $y * $y", NULL, NULL, NUMBER(NULL), 0 },
    { "sqrt", "@sqrt($a)", "0.5f * $g / $y", NULL, NULL, NUMBER(NULL), 0 },
    { "square", "$a * $a", "2 * $g * $a", NULL, NULL, NUMBER(NULL), 0 },
    { "tanh", "@tanh($a)", "$g * (1 - $y * $y)", NULL, NULL, NUMBER(NULL), 0 },
    { "sigmoid", "@sigmoid($a)", "$g * $y * (1 - $y)", NULL, NULL, NUMBER(NULL), 0 },
    { "relu", "$a < 0 ? 0 : $a", "$y <= 0 ? 0.0f : $g", NULL, NULL, NUMBER(NULL), 0 },
    { "leaky_relu", "$a > 0 ? $a : $0 * $a", "$a > 0 ? $g : $0 * $g", NULL, NULL,
        NUMBER("negative_slope"), 0.01 },
    { "elu", "$a > 0 ? $a : $0 * @expm1($a)", "$a > 0 ? $g : $g * ($y + $0)", NULL, NULL,
        NUMBER("alpha"), 1 },
    { "silu", "$a * @sigmoid($a)", "$g * @silu_slope($a)", NULL, NULL, NUMBER(NULL), 0 },
    { "softplus", "$0 * $a > $1 ? $a : @softplus($0 * $a) / $0",
        "$0 * $a > $1 ? $g : $g * @sigmoid($0 * $a)", NULL, NULL, { "beta", "threshold" }, 1 },
    { "clone", "$a", "$g", NULL, NULL, NUMBER(NULL), 0 },
    { "to", "$a", "$g", NULL, NULL, NUMBER(NULL), 0 },
    { "copy", "$b", NULL, "$g", NULL, NUMBER(NULL), 0 },
    { "fill", "$0", NULL, NULL, NULL, NUMBER("value"), 0 },
    { "isnan", "$a != $a", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "isfinite", "$a - $a == 0", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "logical_not", "!$a", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "masked_fill", "$b ? $0 : $a", "$b ? 0.0f : $g", NULL, NULL, NUMBER("value"), 0 },
    { "where", "$a ? $b : $c", NULL, "$a ? $g : 0.0f", "$a ? 0.0f : $g", NUMBER(NULL), 0 },
    COMPARE(eq, "=="),
    COMPARE(ne, "!="),
    COMPARE(lt, "<"),
    COMPARE(le, "<="),
    COMPARE(gt, ">"),
    COMPARE(ge, ">="),
    COMPARE(logical_and, "&&"),
    COMPARE(logical_or, "||"),
    { "logical_xor", "!$a != !$b", NULL, NULL, NULL, NUMBER(NULL), 0 },
};

static const row gelu_rows[] = {
    { "gelu", "@gelu($a)", "$g * @gelu_slope($a)", NULL, NULL, NUMBER(NULL), 0 },
    { "gelu", "$a * @sigmoid(1.59576912f * ($a + 0.044715f * $a * $a * $a))",
        "$g * @gelu_tanh_slope($a)", NULL, NULL, NUMBER(NULL), 0 },
};

/* Powers that need no function. */
static const struct {
    double exponent;
    row row;
} powers[] = {
    { 0, { "pow_number", "1", "0.0f", NULL, NULL, NUMBER(NULL), 0 } },
    { 0.5, { "pow_number", "@sqrt($a)", "0.5f * $g / $y", NULL, NULL, NUMBER(NULL), 0 } },
    { -0.5, { "pow_number", "1 / @sqrt($a)", "-0.5f * $g * $y * $y * $y", NULL, NULL, NUMBER(NULL),
                0 } },
    { -1, { "pow_number", "1 / $a", "-$g * $y * $y", NULL, NULL, NUMBER(NULL), 0 } },
    { 1, { "pow_number", "$a", "$g", NULL, NULL, NUMBER(NULL), 0 } },
    { 2, { "pow_number", "$a * $a", "2 * $g * $a", NULL, NULL, NUMBER(NULL), 0 } },
    { 3, { "pow_number", "$a * $a * $a", "3 * $g * $a * $a", NULL, NULL, NUMBER(NULL), 0 } },
    { 4, { "pow_number", "$a * $a * $a * $a", "4 * $g * $a * $a * $a", NULL, NULL, NUMBER(NULL),
             0 } },
};

/* Integers. Signed ones are computed as unsigned ones, which wrap as they do in the library; in C
 * an overflow of int32_t would be undefined. */
static const row signed_rows[] = {
    { "add", "(int32_t)((uint32_t)$a + %0(uint32_t)$b)", NULL, NULL, NULL, NUMBER("alpha"), 1 },
    { "sub", "(int32_t)((uint32_t)$a - %0(uint32_t)$b)", NULL, NULL, NULL, NUMBER("alpha"), 1 },
    { "mul", "(int32_t)((uint32_t)$a * (uint32_t)$b)", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "addcmul", "(int32_t)((uint32_t)$a + %0(uint32_t)$b * (uint32_t)$c)", NULL, NULL, NULL,
        NUMBER("value"), 1 },
    { "neg", "(int32_t)(0u - (uint32_t)$a)", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "abs", "(int32_t)($a < 0 ? 0u - (uint32_t)$a : (uint32_t)$a)", NULL, NULL, NULL, NUMBER(NULL),
        0 },
    { "square", "(int32_t)((uint32_t)$a * (uint32_t)$a)", NULL, NULL, NULL, NUMBER(NULL), 0 },
};

/* Bools are 0 or 1. */
static const row bool_rows[] = {
    { "add", "$a || %0$b", NULL, NULL, NULL, NUMBER("alpha"), 1 },
};

/* Integers of any type, and bool. Conditions that no element can meet would be warnings. */
static const row whole_rows[] = {
    { "abs", "$a", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "maximum", "$a > $b ? $a : $b", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "minimum", "$a < $b ? $a : $b", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "relu", "$a > 0 ? $a : 0", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "pow", "@whole_pow($a, $b)", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "pow_number", "@whole_pow($a, $0)", NULL, NULL, NULL, NUMBER("exponent"), 1 },
    { "isnan", "0", NULL, NULL, NULL, NUMBER(NULL), 0 },
    { "isfinite", "1", NULL, NULL, NULL, NUMBER(NULL), 0 },
};

static const row *find_row(const row *from, size_t n, const char *op)
{
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(op, from[i].op) == 0) {
            return &from[i];
        }
    }
    return NULL;
}

/* The row of an operator for integers or bools, or NULL if the general one serves them. */
static const row *whole_row_of(const char *op, adz_dtype dtype)
{
    const row *r = NULL;
    if (dtype == ADZ_I32 || dtype == ADZ_I64) {
        r = find_row(signed_rows, sizeof signed_rows / sizeof *signed_rows, op);
    } else if (dtype == ADZ_BOOL) {
        r = find_row(bool_rows, sizeof bool_rows / sizeof *bool_rows, op);
    }
    return r != NULL ? r : find_row(whole_rows, sizeof whole_rows / sizeof *whole_rows, op);
}

static const row *row_of(const adzi_c99_call *call)
{
    const char *op = call->op->name;
    if (strcmp(op, "gelu") == 0) {
        return &gelu_rows[adzi_c99_attr(call, "approximate", 0) == (double)ADZ_GELU_TANH];
    }
    for (size_t i = 0; strcmp(op, "pow_number") == 0 && i < sizeof powers / sizeof *powers; ++i) {
        if (powers[i].exponent == adzi_c99_attr(call, "exponent", 0)) {
            return &powers[i].row;
        }
    }
    return find_row(rows, sizeof rows / sizeof *rows, op);
}

bool adzi_c99_is_elementwise(const char *op)
{
    const adz_operator named = { .name = op };
    const adzi_c99_call call = { .op = &named };
    return row_of(&call) != NULL;
}

/* What the letters of an expression stand for; NULL for what the call has not. */
typedef struct {
    const char *a, *b, *c, *y, *g;
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
            const char *part = *at == 'a'   ? p->a
                               : *at == 'b' ? p->b
                               : *at == 'c' ? p->c
                               : *at == 'y' ? p->y
                                            : p->g;
            adzi_text_add(text, part != NULL ? part : "0");
        } else {
            adzi_text_add_n(text, at, 1);
        }
    }
}

static void numbers_of(const row *r, const adzi_c99_call *call, double numbers[2])
{
    for (int k = 0; k < 2; ++k) {
        numbers[k] = r->fields[k] != NULL ? adzi_c99_attr(call, r->fields[k], r->otherwise) : 1;
    }
}

static const char *text_of(const adzi_c99_nest *nest, int operand)
{
    return operand >= 0 ? nest->operand[operand].text : NULL;
}

/* Prints "target = expression" for every element of y's shape. `to` is y or the gradient of an
 * input, which broadcasts and is added to. */
static void print(adzi_c99 *c, const adzi_c99_call *call, const char *expression,
    const double numbers[2], const adzi_c99_value *to, const adzi_c99_value *g)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    adzi_c99_nest nest = adzi_c99_nest_of(y->rank, y->sizes);
    const int target = adzi_c99_nest_add(&nest, to);
    int in[3] = { -1, -1, -1 }, result = -1, gradient = -1;
    for (int i = 0; i < call->n_in && i < 3; ++i) {
        const char letter[] = { '$', (char)('a' + i), '\0' };
        const adzi_c99_value *v = adzi_c99_in(c, call, i);
        in[i] = v != NULL && strstr(expression, letter) != NULL ? adzi_c99_nest_add(&nest, v) : -1;
    }
    if (g != NULL) {
        gradient = adzi_c99_nest_add(&nest, g);
        result = strstr(expression, "$y") != NULL ? adzi_c99_nest_add(&nest, y) : -1;
    }
    adzi_c99_nest_open(c, &nest);
    parts p = { text_of(&nest, in[0]), text_of(&nest, in[1]), text_of(&nest, in[2]),
        text_of(&nest, result), text_of(&nest, gradient), { numbers[0], numbers[1] }, y->dtype };
    adzi_text text = { 0 };
    fill_in(c, &text, expression, &p);
    if (text.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
        adzi_text_free(&text);
        return;
    }
    adzi_c99_line(
        c, "%s %s %s;", text_of(&nest, target), g != NULL ? "+=" : "=", adzi_text_get(&text));
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

/* `to` and `copy`: y has another dtype than x. */
static void print_conversion(adzi_c99 *c, const adzi_c99_call *call, bool copies)
{
    static const double none[2] = { 1, 1 };
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    char text[64];
    snprintf(
        text, sizeof text, "%s", conversion(adzi_c99_in(c, call, copies ? 1 : 0)->dtype, y->dtype));
    char *letter = strchr(text, '$') + 1;
    *letter = copies ? 'b' : 'a';
    print(c, call, text, none, y, NULL);
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

bool adzi_c99_elementwise(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0), *x = adzi_c99_in(c, call, 0);
    const char *op = call->op->name;
    const row *r = row_of(call);
    double numbers[2];
    if (r != NULL && x != NULL && !adzi_is_float(x->dtype)) {
        const row *whole = whole_row_of(op, x->dtype);
        r = whole != NULL ? whole : r;
    }
    if (r == NULL) {
        return false;
    }
    if (strcmp(op, "to") == 0 || strcmp(op, "copy") == 0) {
        print_conversion(c, call, op[0] == 'c');
        return true;
    }
    numbers_of(r, call, numbers);
    const char *text = strcmp(op, "clamp") == 0 ? clamp_text(y->dtype, numbers) : r->y;
    if (r == &bool_rows[0]) { /* a factor of a bool only says whether it counts */
        text = numbers[0] != 0 ? text : "$a";
        numbers[0] = 1;
    }
    print(c, call, text, numbers, y, NULL);
    return true;
}

bool adzi_c99_elementwise_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const row *r = row_of(call);
    if (r == NULL) {
        return false;
    }
    const char *const expressions[] = { r->da, r->db, r->dc };
    double numbers[2];
    numbers_of(r, call, numbers);
    const adzi_c99_value g = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    for (int i = 0; i < call->n_in && i < 3; ++i) {
        const adzi_c99_value *x = adzi_c99_in(c, call, i);
        if (expressions[i] != NULL && x != NULL && adzi_c99_wants(c, x)) {
            const adzi_c99_value dx = adzi_c99_gradient(c, x);
            print(c, call, expressions[i], numbers, &dx, &g);
        }
    }
    return true;
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
