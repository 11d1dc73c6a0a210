/* Nodes of ONNX from the text of an operator's row, whose parts export/rows.h explains. A text is
 * read from left to right, and each node is added when its inputs are. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/onnx.h"

enum {
    MOST_INPUTS = 6,
    MOST_ATTRIBUTES = 4,
    MOST_NUMBERS = 2 * ADZ_MAX_RANK,
    MOST_NAMES = 6,
    MOST_RESULTS = 2,
    MOST_CHARACTERS = 40
};

/* A name that the text gives to a result. */
typedef struct {
    char text[MOST_CHARACTERS];
    const char *value;
} named;

typedef struct {
    adzi_onnx *g;
    const char *at; /* what is read next */
    named names[MOST_NAMES];
    int n_names;
} reading;

/* A node whose parts are being read. */
typedef struct {
    char type[MOST_CHARACTERS];
    const char *in[MOST_INPUTS];
    size_t n_in;
    adzi_onnx_attr attrs[MOST_ATTRIBUTES];
    char names[MOST_ATTRIBUTES][MOST_CHARACTERS];
    int64_t lists[MOST_ATTRIBUTES][MOST_NUMBERS];
    size_t n_attrs;
    bool empty; /* a list of dimensions is empty, so that nothing is to be done */
} node;

static const char *expression(reading *r, const char *target);

/* ---- attributes of the operator -------------------------------------------------------------- */

int64_t adzi_onnx_attr_whole(const adzi_onnx *g, const char *name)
{
    return adzi_attr_whole(g->call->op, g->call->attr, name);
}

double adzi_onnx_attr_number(const adzi_onnx *g, const char *name)
{
    return adzi_attr_number(g->call->op, g->call->attr, name);
}

static const adz_field *field_of(const adzi_onnx *g, const char *name)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(g->call->op, &n);
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

const char *adzi_onnx_like_input(adzi_onnx *g, double value)
{
    return adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, value);
}

size_t adzi_onnx_list(const adzi_onnx *g, const char *name, int64_t *values, size_t most)
{
    const adz_field *field = field_of(g, name);
    if (field != NULL && field->count > 0) {
        return adzi_attr_list(g->call->op, g->call->attr, name, values, most);
    }
    values[0] = adzi_onnx_attr_whole(g, name);
    if (field == NULL || field->kind != ADZ_FIELD_MASK) {
        return field != NULL;
    }
    const unsigned mask = (unsigned)values[0];
    size_t n = 0;
    for (int d = 0; d < ADZ_MAX_RANK; ++d) {
        if (mask & (1U << d)) {
            values[n++] = d;
        }
    }
    return n;
}

/* Refuses the call if a text names an attribute that the operator does not have. */
static bool has_field(adzi_onnx *g, const char *name)
{
    char reason[100];
    if (field_of(g, name) != NULL) {
        return true;
    }
    snprintf(reason, sizeof reason, "has no attribute \"%s\", which its row for ONNX names", name);
    return adzi_onnx_refuse(g, reason);
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Skips spaces and, if the character follows, this too. */
static bool takes(reading *r, char character)
{
    r->at += strspn(r->at, " ");
    const bool found = *r->at == character;
    r->at += found;
    return found;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void read_word(reading *r, char word[MOST_CHARACTERS])
{
    size_t n = 0;
    for (r->at += strspn(r->at, " "); is_of_word(*r->at) && n + 1 < MOST_CHARACTERS; ++r->at) {
        word[n++] = *r->at;
    }
    word[n] = '\0';
}

/* Whether a word and then this character follow. Reads both if so. */
static bool takes_word_before(reading *r, char character, char word[MOST_CHARACTERS])
{
    const char *start = r->at;
    read_word(r, word);
    if (word[0] != '\0' && takes(r, character)) {
        return true;
    }
    r->at = start;
    return false;
}

/* The list that the row computes, that of the sizes of the result, or that of an attribute. */
static size_t read_list(reading *r, int64_t *values)
{
    adzi_onnx *g = r->g;
    char name[MOST_CHARACTERS];
    if (takes(r, '@')) {
        return g->call->row->onnx.list(g, values);
    }
    read_word(r, name);
    if (strcmp(name, "y") == 0) {
        memcpy(values, adzi_onnx_result(g, 0)->sizes, sizeof adzi_onnx_result(g, 0)->sizes);
        return (size_t)adzi_onnx_result(g, 0)->rank;
    }
    return has_field(g, name) ? adzi_onnx_list(g, name, values, MOST_NUMBERS) : 0;
}

/* Whether a number such as 2, 0.5, -1 or inf follows. Reads it if so. The point is a dot in every
 * locale. */
static bool takes_literal(reading *r, double *value)
{
    r->at += strspn(r->at, " ");
    const char *at = r->at;
    const bool negative = *at == '-';
    at += negative;
    double number = 0, unit = 1;
    if (strncmp(at, "inf", 3) == 0 && !is_of_word(at[3])) {
        number = (double)INFINITY;
        at += 3;
    } else if (!isdigit((unsigned char)*at)) {
        return false;
    }
    for (bool behind = false; isdigit((unsigned char)*at) || (*at == '.' && !behind); ++at) {
        behind = behind || *at == '.';
        if (*at != '.') {
            number = 10 * number + (*at - '0');
            unit *= behind ? 10 : 1;
        }
    }
    r->at = at;
    *value = (negative ? -number : number) / unit;
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Reads the value of an attribute of the node. */
static void read_attribute(reading *r, node *n)
{
    adzi_onnx *g = r->g;
    const size_t k = n->n_attrs++;
    adzi_onnx_attr *attr = &n->attrs[k];
    const char *start = r->at += strspn(r->at, " ");
    *attr = (adzi_onnx_attr){ .name = n->names[k], .type = ADZI_ONNX_INT };
    double literal;
    if (takes_literal(r, &literal)) {
        attr->whole = (int64_t)literal;
        return;
    }
    char name[MOST_CHARACTERS];
    read_word(r, name);
    r->at = start;
    const adz_field *field = field_of(g, name);
    if (*start == '@' || (field != NULL && (field->count > 0 || field->kind == ADZ_FIELD_MASK))) {
        attr->type = ADZI_ONNX_INTS;
        attr->list = n->lists[k];
        attr->n = read_list(r, n->lists[k]);
        n->empty = n->empty || (attr->n == 0 && *start != '@');
        return;
    }
    read_word(r, name);
    if (!has_field(g, name)) {
        return;
    }
    if (field->kind == ADZ_FIELD_F64) {
        attr->type = ADZI_ONNX_FLOAT;
        attr->number = adzi_onnx_attr_number(g, name);
    } else {
        attr->whole = adzi_onnx_attr_whole(g, name);
    }
}

/* Reads a list that is an input of the node. */
static void read_list_input(reading *r, node *n)
{
    int64_t values[MOST_NUMBERS] = { 0 };
    const bool of_result = strncmp(r->at, "y]", 2) == 0;
    const size_t length = read_list(r, values);
    takes(r, ']');
    n->empty = n->empty || (length == 0 && !of_result);
    n->in[n->n_in++] = n->empty ? "" : adzi_onnx_ints(r->g, values, length);
}

/* Reads what stands between the parentheses of a node. */
static void read_parts(reading *r, node *n)
{
    do {
        if (takes_word_before(r, '=', n->names[n->n_attrs])) {
            read_attribute(r, n);
        } else if (takes(r, '[')) {
            read_list_input(r, n);
        } else {
            n->in[n->n_in++] = expression(r, NULL);
        }
    } while (!n->empty && takes(r, ',') && n->n_in < MOST_INPUTS && n->n_attrs < MOST_ATTRIBUTES);
    for (int open = 0; n->empty && *r->at != '\0' && (open > 0 || *r->at != ')'); ++r->at) {
        open += (*r->at == '(') - (*r->at == ')'); /* the other parts are not needed */
    }
    takes(r, ')');
}

/* Adds a node. Its result is `target`, or a temporary name if that is NULL. The results of the last
 * node are all those of the call. */
static const char *add_node(reading *r, node *n, const char *target)
{
    adzi_onnx *g = r->g;
    const char *out[MOST_RESULTS] = { target != NULL ? target : adzi_onnx_temporary(g) };
    size_t n_out = 1;
    for (; target != NULL && n_out < (size_t)g->call->n_out && n_out < MOST_RESULTS; ++n_out) {
        out[n_out] = adzi_onnx_out(g, (int)n_out);
    }
    if (n->empty) {
        adzi_onnx_node(
            g, "Identity", (adzi_onnx_names){ n->in, 1 }, ADZI_NAMES(out[0]), ADZI_NO_ATTRS);
    } else {
        adzi_onnx_node(g, n->type, (adzi_onnx_names){ n->in, n->n_in },
            (adzi_onnx_names){ out, n_out }, (adzi_onnx_attrs){ n->attrs, n->n_attrs });
    }
    return out[0];
}

/* ---- expressions ---------------------------------------------------------------------------- */

/* Whether a conversion follows what is read next. */
static bool is_converted(const char *at)
{
    int open = 0;
    at += strspn(at, " $-.");
    while (is_of_word(*at) || *at == '.' || *at == '(' || (open > 0 && *at != '\0')) {
        open += (*at == '(') - (*at == ')');
        ++at;
    }
    return *at == ':';
}

static adz_dtype read_dtype(reading *r)
{
    static const struct {
        const char *name;
        adz_dtype dtype;
    } dtypes[] = { { "bool", ADZ_BOOL }, { "i32", ADZ_I32 }, { "i64", ADZ_I64 } };
    char name[MOST_CHARACTERS];
    read_word(r, name);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return dtypes[i].dtype;
        }
    }
    if (strcmp(name, "y") != 0) {
        adzi_onnx_refuse(r->g, "has a row whose text for ONNX cannot be read");
    }
    return adzi_onnx_result(r->g, 0)->dtype;
}

/* Reads conversions of `name`. The last one has the result `target`, unless that is NULL. */
static const char *convert(reading *r, const char *name, const char *target)
{
    enum { MOST_CONVERSIONS = 3 };
    adzi_onnx *g = r->g;
    adz_dtype dtypes[MOST_CONVERSIONS], last = ADZ_F32;
    int n = 0, from = name != NULL ? adzi_onnx_dtype_of(g, name) : -1;
    while (n < MOST_CONVERSIONS && takes(r, ':')) {
        last = read_dtype(r);
        if ((int)last != from) {
            dtypes[n++] = last;
            from = (int)last;
        }
    }
    if (n == 0 && target != NULL) {
        dtypes[n++] = last;
    }
    for (int i = 0; i < n && !g->failed; ++i) {
        const bool ends = i == n - 1 && target != NULL;
        const char *y = ends ? target : adzi_onnx_temporary(g);
        adzi_onnx_cast_to(g, name, y, dtypes[i]);
        name = y;
    }
    return name;
}

/* A tensor of one integer: i64(dim). */
static const char *read_i64(reading *r)
{
    char word[MOST_CHARACTERS];
    read_word(r, word);
    takes(r, ')');
    return has_field(r->g, word)
               ? adzi_onnx_number(r->g, ADZ_I64, (double)adzi_onnx_attr_whole(r->g, word))
               : NULL;
}

/* A number, an input, a name, or a node whose result is `target`. */
static const char *operand(reading *r, const char *target)
{
    adzi_onnx *g = r->g;
    node n = { .n_in = 0 };
    if (takes(r, '$')) {
        return adzi_onnx_in(g, *r->at++ - 'a');
    }
    if (takes_word_before(r, '(', n.type)) {
        if (strcmp(n.type, "i64") == 0) {
            return read_i64(r);
        }
        read_parts(r, &n);
        return g->failed ? NULL : add_node(r, &n, target);
    }
    double literal;
    if (takes_literal(r, &literal)) {
        return adzi_onnx_like_input(g, literal);
    }
    read_word(r, n.type);
    for (int i = 0; i < r->n_names; ++i) {
        if (strcmp(r->names[i].text, n.type) == 0) {
            return r->names[i].value;
        }
    }
    return has_field(g, n.type) ? adzi_onnx_like_input(g, adzi_onnx_attr_number(g, n.type)) : NULL;
}

/* An operand with its conversions and its factor. */
static const char *expression(reading *r, const char *target)
{
    char factor[MOST_CHARACTERS];
    const bool scaled = takes_word_before(r, '*', factor);
    const bool converted = is_converted(r->at);
    const char *y = operand(r, converted || scaled ? NULL : target);
    y = converted ? convert(r, y, target) : y;
    const double number =
        scaled && has_field(r->g, factor) ? adzi_onnx_attr_number(r->g, factor) : 1;
    return number != 1 ? adzi_onnx_step(r->g, "Mul", y, adzi_onnx_like_input(r->g, number)) : y;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Whether f32, in which a node has its attributes, would round one of the call's. */
static bool rounds_attributes(const adzi_onnx *g)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(g->call->op, &n);
    for (size_t i = 0; i < n; ++i) {
        const double value =
            fields[i].kind == ADZ_FIELD_F64 ? adzi_onnx_attr_number(g, fields[i].name) : 0;
        if ((double)(float)value != value) {
            return true;
        }
    }
    return false;
}

/* The text for the dtype of the first input. */
static const char *text_for(const adzi_onnx *g)
{
    const adzi_onnx_row *row = &g->call->row->onnx;
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    if (dtype == ADZ_BOOL && row->bools != NULL) {
        return row->bools;
    }
    if (!adzi_is_float(dtype) && row->whole != NULL) {
        return row->whole;
    }
    char type[MOST_CHARACTERS];
    read_word(&(reading){ .at = row->text }, type);
    const bool wide = dtype == ADZ_F64 && row->doubles != NULL;
    return wide && (rounds_attributes(g) || !adzi_onnx_runs(type, dtype)) ? row->doubles
                                                                          : row->text;
}

/* The node of a text that is a type alone: it takes the inputs of the call. */
static void print_plain(adzi_onnx *g, const char *type)
{
    const char *const in[] = { adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), adzi_onnx_in(g, 2) };
    adzi_onnx_node(g, type, (adzi_onnx_names){ in, (size_t)g->call->n_in },
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
}

bool adzi_onnx_print_text(adzi_onnx *g)
{
    const char *text = text_for(g), *out = adzi_onnx_out(g, 0);
    if (text[0] == '!') {
        return adzi_onnx_refuse(g, text + 1);
    }
    if (g->call->row->onnx.of_dimensions && adzi_onnx_input(g, 0)->rank == 0) {
        return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
    }
    if (strchr(text, '(') == NULL && strchr(text, ':') == NULL) {
        print_plain(g, text);
        return !g->failed;
    }
    reading r = { .g = g, .at = text };
    while (r.n_names < MOST_NAMES && takes_word_before(&r, '=', r.names[r.n_names].text)) {
        r.names[r.n_names].value = expression(&r, NULL);
        r.n_names++;
        takes(&r, ';');
    }
    const char *y = expression(&r, out);
    if (!g->failed && *r.at != '\0') {
        return adzi_onnx_refuse(g, "has a row whose text for ONNX cannot be read");
    }
    return y == out ? !g->failed : adzi_onnx_last(g, "Identity", ADZI_NAMES(y), ADZI_NO_ATTRS);
}
