/* The graph of an ONNX model while it is built: names, nodes and constants. */
#include <stdio.h>
#include <string.h>

#include "export/onnx.h"

/* Fields of the messages, from onnx.proto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20
};
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8 };
enum { GRAPH_NODE = 1 };

int adzi_onnx_dtype(adz_dtype dtype)
{
    /* FLOAT, DOUBLE, INT32, INT64, BOOL, UINT8, FLOAT16, BFLOAT16: in the order of adz_dtype. */
    static const int types[] = { [ADZ_F32] = 1,
        [ADZ_F64] = 11,
        [ADZ_I32] = 6,
        [ADZ_I64] = 7,
        [ADZ_BOOL] = 9,
        [ADZ_U8] = 2,
        [ADZ_F16] = 10,
        [ADZ_BF16] = 16 };
    return types[dtype];
}

static void fail_memory(adzi_onnx *g, size_t bytes)
{
    if (!g->failed) {
        adzi_fail_memory(g->op, bytes);
    }
    g->failed = true;
}

bool adzi_onnx_refuse(adzi_onnx *g, const char *reason)
{
    adzi_text call = { 0 }, dtypes = { 0 };
    g->failed = true;
    for (int i = 0; g->call != NULL && i < g->call->n_in; ++i) {
        if (g->call->in[i] >= 0) {
            adzi_text_format(&dtypes, "%s%s", dtypes.length > 0 ? ", " : "",
                adz_dtype_name(adzi_onnx_input(g, i)->dtype));
        }
    }
    adzi_error(g->op, ADZ_ERR_UNSUPPORTED, "%s %s; its inputs are %s",
        g->call != NULL ? adzi_traced_text(&call, g->call) : "the output", reason,
        adzi_text_get(&dtypes));
    adzi_text_free(&call);
    adzi_text_free(&dtypes);
    return false;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_name(const void *list, size_t position, const void *key, size_t size)
{
    char *const *names = list;
    return strlen(names[position]) == size && memcmp(names[position], key, size) == 0;
}

static bool is_taken(const adzi_onnx *g, const char *name)
{
    return name[0] == '\0' ||
           adzi_index_find(&g->by_name, name, strlen(name), is_name, g->names) != ADZI_NOWHERE;
}

const char *adzi_onnx_unique(adzi_onnx *g, const char *text)
{
    adzi_text name = { 0 };
    adzi_text_add(&name, text);
    for (size_t n = 1; !name.failed && is_taken(g, adzi_text_get(&name)); ++n) {
        adzi_text_cut(&name, 0);
        adzi_text_format(&name, "%s_%zu", text, n);
    }
    char *copy = name.failed ? NULL : adzi_string_copy(adzi_text_get(&name));
    adzi_text_free(&name);
    if (copy == NULL || !adzi_index_reserve(&g->by_name, 1) ||
        !adzi_grow(&g->names, &g->names_capacity, g->n_names + 1, sizeof *g->names) ||
        !adzi_grow(&g->dtypes, &g->dtypes_capacity, g->n_names + 1, sizeof *g->dtypes)) {
        adzi_string_free(copy);
        fail_memory(g, strlen(text) + 1);
        return NULL;
    }
    adzi_index_enter(&g->by_name, copy, strlen(copy), g->n_names);
    g->dtypes[g->n_names] = -1;
    g->names[g->n_names++] = copy;
    return copy;
}

int adzi_onnx_dtype_of(const adzi_onnx *g, const char *name)
{
    const size_t position = adzi_index_find(&g->by_name, name, strlen(name), is_name, g->names);
    return position != ADZI_NOWHERE ? g->dtypes[position] : -1;
}

void adzi_onnx_set_dtype(adzi_onnx *g, const char *name, adz_dtype dtype)
{
    const size_t position = adzi_index_find(&g->by_name, name, strlen(name), is_name, g->names);
    if (position != ADZI_NOWHERE) {
        g->dtypes[position] = (int8_t)dtype;
    }
}

const char *adzi_onnx_temporary(adzi_onnx *g)
{
    char name[40];
    snprintf(name, sizeof name, "step%zu", g->n_temporaries++);
    return adzi_onnx_unique(g, name);
}

const char *adzi_onnx_out(const adzi_onnx *g, int k)
{
    return g->values[g->call->out[k]].name;
}

const adzi_traced_value *adzi_onnx_input(const adzi_onnx *g, int i)
{
    return &g->trace->values[g->call->in[i]];
}

const adzi_traced_value *adzi_onnx_result(const adzi_onnx *g, int k)
{
    return &g->trace->values[g->call->out[k]];
}

adzi_onnx_batch *adzi_onnx_batch_in(const adzi_onnx *g, int i)
{
    return &g->values[g->call->in[i]].batch;
}

adzi_onnx_batch *adzi_onnx_batch_out(const adzi_onnx *g, int k)
{
    return &g->values[g->call->out[k]].batch;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* Appends an initialiser with its head written. NULL after a failure. */
static adzi_onnx_initialiser *add_initialiser(
    adzi_onnx *g, const char *name, adz_dtype dtype, int rank, const int64_t *sizes)
{
    if (name == NULL || !adzi_grow(&g->initialisers, &g->initialisers_capacity,
                            g->n_initialisers + 1, sizeof *g->initialisers)) {
        fail_memory(g, sizeof *g->initialisers);
        return NULL;
    }
    adzi_onnx_initialiser *t = &g->initialisers[g->n_initialisers++];
    memset(t, 0, sizeof *t);
    t->value = -1;
    t->dtype = dtype;
    adzi_onnx_set_dtype(g, name, dtype);
    t->bytes = adz_dtype_size(dtype);
    for (int d = 0; d < rank; ++d) {
        adzi_pb_int(&t->head, TENSOR_DIMS, sizes[d]);
        t->bytes *= (size_t)sizes[d];
    }
    adzi_pb_int(&t->head, TENSOR_TYPE, adzi_onnx_dtype(dtype));
    adzi_pb_string(&t->head, TENSOR_NAME, name);
    if (t->head.failed) {
        fail_memory(g, t->head.length);
        return NULL;
    }
    return t;
}

/* Writes the elements of a traced value as an initialiser under its name, once. */
static bool store(adzi_onnx *g, int value)
{
    const adzi_traced_value *v = &g->trace->values[value];
    adzi_onnx_value *own = &g->values[value];
    if (own->stored) {
        return true;
    }
    adzi_onnx_initialiser *t = add_initialiser(g, own->name, v->dtype, v->rank, v->sizes);
    if (t != NULL) {
        t->value = value;
        own->stored = true;
    }
    return t != NULL;
}

const char *adzi_onnx_ints(adzi_onnx *g, const int64_t *values, size_t n)
{
    const char *name = adzi_onnx_unique(g, "numbers");
    adzi_onnx_initialiser *t = add_initialiser(g, name, ADZ_I64, 1, &(int64_t){ (int64_t)n });
    if (t != NULL) {
        memcpy(t->number, values, n * sizeof *values);
    }
    return name;
}

/* Writes a number of any dtype to memory. */
static void write_number(void *to, adz_dtype dtype, double value)
{
    adz_tensor t = { .dtype = (uint8_t)dtype, .rank = 0, .numel = 1, .data = to };
    adzi_fill(&t, value);
}

const char *adzi_onnx_number(adzi_onnx *g, adz_dtype dtype, double value)
{
    const char *name = adzi_onnx_unique(g, "number");
    adzi_onnx_initialiser *t = add_initialiser(g, name, dtype, 0, NULL);
    if (t != NULL) {
        write_number(t->number, dtype, value);
    }
    return name;
}

/* An Expand of a number to the length. */
const char *adzi_onnx_repeated(adzi_onnx *g, adz_dtype dtype, double value, int64_t n)
{
    const char *number = adzi_onnx_number(g, dtype, value);
    return adzi_onnx_step(g, "Expand", number, adzi_onnx_ints(g, &n, 1));
}

const char *adzi_onnx_name(adzi_onnx *g, int value)
{
    const adzi_value_kind kind = g->trace->values[value].kind;
    const bool computed = kind == ADZI_VALUE_RESULT && !g->values[value].constant;
    return kind == ADZI_VALUE_INPUT || computed || store(g, value) ? g->values[value].name : NULL;
}

const char *adzi_onnx_in(adzi_onnx *g, int i)
{
    const int value = i < g->call->n_in ? g->call->in[i] : -1;
    if (value < 0) {
        return "";
    }
    /* A constant that was made for the traced batch size is cut to size 1, which broadcasts. */
    const bool broadcasts = g->call->row->onnx.batch_rule == adzi_onnx_batch_broadcast;
    const int repeats = broadcasts ? adzi_onnx_repeats(g, i) : -1;
    const char *name = adzi_onnx_name(g, value);
    return repeats >= 0 && name != NULL ? adzi_onnx_first(g, name, repeats) : name;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void add_attribute(adzi_message *node, const adzi_onnx_attr *a)
{
    adzi_message m = { 0 };
    adzi_pb_string(&m, ATTRIBUTE_NAME, a->name);
    switch (a->type) {
    case ADZI_ONNX_FLOAT:
        adzi_pb_float(&m, ATTRIBUTE_F, (float)a->number);
        break;
    case ADZI_ONNX_INT:
        adzi_pb_int(&m, ATTRIBUTE_I, a->whole);
        break;
    case ADZI_ONNX_STRING:
        adzi_pb_string(&m, ATTRIBUTE_S, a->text);
        break;
    case ADZI_ONNX_INTS:
        for (size_t i = 0; i < a->n; ++i) {
            adzi_pb_int(&m, ATTRIBUTE_INTS, a->list[i]);
        }
        break;
    case ADZI_ONNX_STRINGS:
        adzi_pb_string(&m, ATTRIBUTE_STRINGS, a->text);
        break;
    case ADZI_ONNX_GRAPH:
        adzi_pb_message(&m, ATTRIBUTE_G, a->graph);
        break;
    }
    adzi_pb_int(&m, ATTRIBUTE_TYPE, a->type);
    adzi_pb_message(node, NODE_ATTRIBUTE, &m);
}

void adzi_onnx_add_input(adzi_message *m, const char *name)
{
    adzi_pb_string(m, NODE_INPUT, name != NULL ? name : "");
    m->failed = m->failed || name == NULL;
}

void adzi_onnx_add_output(adzi_message *m, const char *name)
{
    adzi_pb_string(m, NODE_OUTPUT, name != NULL ? name : "");
    m->failed = m->failed || name == NULL;
}

/* Appends a node whose inputs have the dtypes that it takes. */
void adzi_onnx_append(
    adzi_onnx *g, adzi_message *m, const char *type, const char *out, adzi_onnx_attrs attrs)
{
    /* The name says which module of the network the node belongs to. */
    adzi_text name = { 0 };
    adzi_text_format(&name, "%s%s%s:%s", g->call != NULL ? g->call->path : "",
        g->call != NULL && g->call->path[0] != '\0' ? "." : "", type, out);
    adzi_pb_string(m, NODE_NAME, adzi_text_get(&name));
    adzi_pb_string(m, NODE_TYPE, type);
    for (size_t i = 0; i < attrs.count; ++i) {
        add_attribute(m, &attrs.items[i]);
    }
    m->failed = m->failed || name.failed;
    adzi_text_free(&name);
    adzi_pb_message(&g->nodes, GRAPH_NODE, m);
    if (g->nodes.failed) {
        fail_memory(g, g->nodes.length);
    }
}

static void cast_node(adzi_onnx *g, const char *from, const char *to, adz_dtype dtype)
{
    adzi_message m = { 0 };
    const adzi_onnx_attr attr = ADZI_ATTR_INT("to", adzi_onnx_dtype(dtype));
    if (from == NULL || to == NULL) {
        fail_memory(g, 1);
        return;
    }
    adzi_pb_string(&m, NODE_INPUT, from);
    adzi_pb_string(&m, NODE_OUTPUT, to);
    adzi_onnx_append(g, &m, "Cast", to, (adzi_onnx_attrs){ &attr, 1 });
    adzi_onnx_set_dtype(g, to, dtype);
}

/* Writes the names of the inputs, which are converted to the dtypes that were chosen. */
static void add_inputs(
    adzi_onnx *g, adzi_message *m, const adzi_onnx_choice *choice, adzi_onnx_names in)
{
    for (size_t i = 0; i < in.count && !g->failed; ++i) {
        const char *name = in.items[i];
        const int dtype = name[0] != '\0' ? adzi_onnx_input_dtype(choice, i) : -1;
        if (dtype >= 0 && dtype != adzi_onnx_dtype_of(g, name)) {
            const char *wide = adzi_onnx_temporary(g);
            cast_node(g, name, wide, (adz_dtype)dtype);
            name = wide;
        }
        adzi_pb_string(m, NODE_INPUT, name != NULL ? name : "");
    }
}

static bool has_names(adzi_onnx *g, adzi_onnx_names names)
{
    for (size_t i = 0; i < names.count; ++i) {
        if (names.items[i] == NULL) {
            fail_memory(g, 1);
        }
    }
    return !g->failed;
}

enum { MOST_OUTPUTS = 4 }; /* of one node: the parts of a Split */

void adzi_onnx_node(
    adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_names out, adzi_onnx_attrs attrs)
{
    adzi_onnx_choice choice;
    adzi_message m = { 0 };
    const char *made[MOST_OUTPUTS] = { NULL };
    int node[MOST_OUTPUTS], result[MOST_OUTPUTS];
    if (!has_names(g, in) || !has_names(g, out) || !adzi_onnx_type_node(g, type, in, &choice)) {
        return;
    }
    add_inputs(g, &m, &choice, in);
    for (size_t k = 0; k < out.count && !g->failed; ++k) {
        adzi_onnx_output_dtypes(&choice, k, &node[k], &result[k]);
        made[k] = node[k] != result[k] ? adzi_onnx_temporary(g) : out.items[k];
        adzi_pb_string(&m, NODE_OUTPUT, made[k] != NULL ? made[k] : "");
    }
    if (g->failed) {
        adzi_text_free(&m);
        return;
    }
    adzi_onnx_append(g, &m, type, made[0], attrs);
    for (size_t k = 0; k < out.count && !g->failed; ++k) {
        if (node[k] != result[k]) {
            cast_node(g, made[k], out.items[k], (adz_dtype)result[k]);
        } else if (result[k] >= 0) {
            adzi_onnx_set_dtype(g, out.items[k], (adz_dtype)result[k]);
        }
    }
}

bool adzi_onnx_last(adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_attrs attrs)
{
    adzi_onnx_node(g, type, in, ADZI_NAMES(adzi_onnx_out(g, 0)), attrs);
    return !g->failed;
}

const char *adzi_onnx_step(adzi_onnx *g, const char *type, const char *a, const char *b)
{
    const char *y = adzi_onnx_temporary(g);
    const char *const in[] = { a, b };
    adzi_onnx_node(
        g, type, (adzi_onnx_names){ in, b != NULL ? 2 : 1 }, ADZI_NAMES(y), ADZI_NO_ATTRS);
    return y;
}

const char *adzi_onnx_cast(adzi_onnx *g, const char *name, adz_dtype from, adz_dtype to)
{
    const char *y = from == to ? name : adzi_onnx_temporary(g);
    if (from != to) {
        cast_node(g, name, y, to);
    }
    return y;
}

void adzi_onnx_cast_to(adzi_onnx *g, const char *name, const char *y, adz_dtype to)
{
    cast_node(g, name, y, to);
}

static bool lacks_batch(const adzi_onnx *g, size_t n)
{
    return (size_t)adzi_onnx_input(g, 0)->rank == n + 1;
}

const char *adzi_onnx_batched(adzi_onnx *g, size_t n)
{
    const int64_t zero = 0;
    const char *x = adzi_onnx_in(g, 0);
    return lacks_batch(g, n) ? adzi_onnx_step(g, "Unsqueeze", x, adzi_onnx_ints(g, &zero, 1)) : x;
}

const char *adzi_onnx_batched_result(adzi_onnx *g, size_t n)
{
    return lacks_batch(g, n) ? adzi_onnx_temporary(g) : adzi_onnx_out(g, 0);
}

bool adzi_onnx_unbatched(adzi_onnx *g, size_t n, const char *y)
{
    const int64_t zero = 0;
    return lacks_batch(g, n) ? adzi_onnx_last(g, "Squeeze",
                                   ADZI_NAMES(y, adzi_onnx_ints(g, &zero, 1)), ADZI_NO_ATTRS)
                             : !g->failed;
}

const char *adzi_onnx_first(adzi_onnx *g, const char *name, int64_t dim)
{
    const int64_t zero = 0, one = 1;
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Slice",
        ADZI_NAMES(name, adzi_onnx_ints(g, &zero, 1), adzi_onnx_ints(g, &one, 1),
            adzi_onnx_ints(g, &dim, 1)),
        ADZI_NAMES(y), ADZI_NO_ATTRS);
    return y;
}
