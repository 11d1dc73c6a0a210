/* Nodes and their attributes, read from a file. */
#include <string.h>

#include "adze/ops/convert.h"
#include "run.h"

/* ---- attributes ----------------------------------------------------------------------------- */

/* Fields of the message of an attribute. */
enum {
    NAME = 1,
    FLOAT = 2,
    INT = 3,
    STRING = 4,
    TENSOR = 5,
    GRAPH = 6,
    FLOATS = 7,
    INTS = 8,
    STRINGS = 9,
    TYPE = 20,
    REFERENCE = 21
};

static double as_float(uint64_t bits)
{
    const uint32_t half = (uint32_t)bits;
    float f;
    memcpy(&f, &half, sizeof f);
    return (double)f;
}

/* Counts the entries of the lists, and finds name and type. */
static adz_status read_head(
    reader_model *model, reader_bytes message, reader_attribute *a, size_t *n)
{
    reader_field f;
    reader_bytes name = { 0 };
    int more;
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        if (f.number == NAME && f.kind == WIRE_BYTES) {
            name = f.bytes;
        } else if (f.number == TYPE && f.kind == WIRE_VARINT) {
            a->type = (int)(f.value & 0xff);
        } else if (f.number == INTS && f.kind == WIRE_BYTES) {
            for (size_t i = 0; i < f.bytes.size; ++i) {
                *n += f.bytes.at[i] < 0x80; /* the last byte of a number */
            }
        } else if (f.number == FLOATS && f.kind == WIRE_BYTES) {
            *n += f.bytes.size / 4;
        } else if (f.number == INTS || f.number == FLOATS || f.number == STRINGS) {
            ++*n;
        }
    }
    a->name = adzi_reader_text(&model->arena, name);
    return more < 0 ? adzi_reader_malformed("attribute")
                    : (a->name != NULL ? ADZ_OK : ADZ_ERR_MEMORY);
}

static bool read_ints(reader_attribute *a, reader_field f)
{
    uint64_t value;
    if (f.kind == WIRE_VARINT) {
        a->ints[a->n++] = (int64_t)f.value;
        return true;
    }
    while (f.kind == WIRE_BYTES && f.bytes.size > 0) {
        if (!adzi_reader_varint(&f.bytes, &value)) {
            return false;
        }
        a->ints[a->n++] = (int64_t)value;
    }
    return f.kind == WIRE_BYTES;
}

static bool read_floats(reader_attribute *a, reader_field f)
{
    if (f.kind == WIRE_FIXED32) {
        a->floats[a->n++] = as_float(f.value);
        return true;
    }
    if (f.kind != WIRE_BYTES || f.bytes.size % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < f.bytes.size; i += 4) {
        uint32_t bits = 0;
        for (size_t k = 4; k-- > 0;) {
            bits = bits << 8 | f.bytes.at[i + k];
        }
        a->floats[a->n++] = as_float(bits);
    }
    return true;
}

static adz_status read_tensor(
    reader_model *model, const reader_node *node, reader_attribute *a, reader_bytes message)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adzi_reader_tensor(model, message, node->name, &a->element);
    adz_status status = t == NULL ? adz_error_code() : adzi_reader_keep(model, t);
    a->t = t;
    if (t != NULL && adz_tensor_numel(t) == 1) { /* which no captured function may read */
        const adz_dtype dtype = adz_tensor_dtype(t);
        const bool is_float = dtype == ADZ_F32 || dtype == ADZ_F64;
        a->f = adz_item(t);
        a->i = dtype == ADZ_I64 ? adz_item_i64(t) : is_float ? 0 : (int64_t)a->f;
    }
    adz_scope_close(scope);
    return status;
}

static adz_status read_value(reader_model *model, reader_graph *graph, const reader_node *node,
    reader_attribute *a, const reader_field *f)
{
    bool good = true;
    switch (f->number) {
    case FLOAT:
        good = f->kind == WIRE_FIXED32;
        a->f = as_float(f->value);
        break;
    case INT:
        good = f->kind == WIRE_VARINT;
        a->i = (int64_t)f->value;
        break;
    case STRING:
        good = f->kind == WIRE_BYTES;
        a->s = adzi_reader_text(&model->arena, f->bytes);
        break;
    case TENSOR:
        return read_tensor(model, node, a, f->bytes);
    case GRAPH:
        a->graph = adzi_reader_graph(model, f->bytes, graph);
        return a->graph != NULL ? ADZ_OK : adz_error_code();
    case FLOATS:
        good = a->floats != NULL && read_floats(a, *f);
        break;
    case INTS:
        good = a->ints != NULL && read_ints(a, *f);
        break;
    case STRINGS:
        good = a->strings != NULL && f->kind == WIRE_BYTES;
        if (good) {
            a->strings[a->n++] = adzi_reader_text(&model->arena, f->bytes);
        }
        break;
    default:
        break;
    }
    return good ? adz_error_code() : adzi_reader_malformed("attribute");
}

/* Older files have no type: the field that is there says it. */
static int type_of(int number)
{
    static const int types[] = { [FLOAT] = ATTRIBUTE_FLOAT,
        [INT] = ATTRIBUTE_INT,
        [STRING] = ATTRIBUTE_STRING,
        [TENSOR] = ATTRIBUTE_TENSOR,
        [GRAPH] = ATTRIBUTE_GRAPH,
        [FLOATS] = ATTRIBUTE_FLOATS,
        [INTS] = ATTRIBUTE_INTS,
        [STRINGS] = ATTRIBUTE_STRINGS };
    return number >= FLOAT && number <= STRINGS ? types[number] : 0;
}

static adz_status read_attribute(reader_model *model, reader_graph *graph, const reader_node *node,
    reader_bytes message, reader_attribute *a);

/* An attribute of a node in a function that is an attribute of the call, or a default. Without both
 * it is left out: its name becomes NULL. */
static adz_status read_reference(reader_model *model, reader_graph *graph, const reader_node *node,
    reader_bytes reference, reader_attribute *a)
{
    reader_graph *scope = graph;
    reader_bytes again;
    const char *name = a->name;
    while (scope != NULL && scope->call == NULL) {
        scope = scope->parent;
    }
    if (scope == NULL) {
        return adzi_reader_refuse(
            node, "attribute \"%.60s\" refers to one of a function, but the node is in none", name);
    }
    for (size_t i = 0; i < scope->call->n_attributes; ++i) {
        if (adzi_reader_is(reference, scope->call->attributes[i].name)) {
            *a = scope->call->attributes[i];
            a->name = name;
            return ADZ_OK;
        }
    }
    const reader_bytes given = adzi_reader_default(scope->function, reference);
    *a = (reader_attribute){ 0 };
    if (given.at == NULL) {
        return ADZ_OK;
    }
    if (adzi_reader_part(given, REFERENCE, &again) && again.size > 0) {
        return adzi_reader_refuse(
            node, "the default of attribute \"%.60s\" refers to an attribute", name);
    }
    const adz_status status = read_attribute(model, scope, node, given, a);
    a->name = name;
    return status;
}

static adz_status read_attribute(reader_model *model, reader_graph *graph, const reader_node *node,
    reader_bytes message, reader_attribute *a)
{
    size_t n = 0;
    reader_field f;
    reader_bytes reference = { 0 };
    adz_status status = read_head(model, message, a, &n);
    if (status == ADZ_OK && adzi_reader_part(message, REFERENCE, &reference) &&
        reference.size > 0) {
        return read_reference(model, graph, node, reference, a);
    }
    if (status == ADZ_OK && n > 0) {
        reader_arena *arena = &model->arena;
        a->ints = a->type == ATTRIBUTE_INTS ? adzi_reader_alloc(arena, n, sizeof(int64_t)) : NULL;
        a->floats =
            a->type == ATTRIBUTE_FLOATS ? adzi_reader_alloc(arena, n, sizeof(double)) : NULL;
        a->strings =
            a->type == ATTRIBUTE_STRINGS ? adzi_reader_alloc(arena, n, sizeof(char *)) : NULL;
        status = adz_error_code();
    }
    while (status == ADZ_OK && adzi_reader_next(&message, &f) > 0) {
        const int type = type_of((int)(f.number < 32 ? f.number : 0));
        if (type != 0 && a->type == 0) {
            a->type = type;
        }
        if (type != 0 && type == a->type) {
            status = read_value(model, graph, node, a, &f);
        }
    }
    if (status == ADZ_OK && ((a->type == ATTRIBUTE_TENSOR && a->t == NULL) ||
                                (a->type == ATTRIBUTE_GRAPH && a->graph == NULL))) {
        return adzi_reader_malformed("attribute");
    }
    a->s = a->s != NULL ? a->s : ""; /* an empty text may be left out */
    return status;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static adz_status read_input(
    reader_model *model, reader_graph *graph, reader_node *node, reader_bytes name)
{
    size_t value = name.size > 0 ? adzi_reader_lookup(model, graph, name) : NO_VALUE;
    if (name.size > 0 && value == NO_VALUE) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s) reads \"%.*s\", which no input, initialiser or earlier node gives",
            node->name, node->type, TEXT(name));
    }
    value = value == LEFT_OUT ? NO_VALUE : value;
    node->inputs[node->n_inputs++] = value;
    return ADZ_OK;
}

static adz_status read_output(
    reader_model *model, reader_graph *graph, reader_node *node, reader_bytes name)
{
    size_t value = NO_VALUE;
    adz_status status = ADZ_OK;
    if (name.size > 0) {
        status = adzi_reader_define(model, graph, name, VALUE_COMPUTED, &value);
    }
    node->outputs[node->n_outputs++] = value;
    return status;
}

/* The name of a node. One without gets its operator's name with its number in the graph. */
static const char *name_of(
    reader_model *model, const reader_graph *graph, reader_bytes name, reader_bytes type)
{
    char text[96];
    if (name.size > 0) {
        return adzi_reader_text(&model->arena, name);
    }
    const int n = snprintf(text, sizeof text, "%.*s_%zu", TEXT(type), graph->home->n_nodes);
    return adzi_reader_text(
        &model->arena, (reader_bytes){ (const uint8_t *)text, n > 0 ? (size_t)n : 0 });
}

/* Texts and room for the lists. */
static adz_status read_parts(
    reader_model *model, const reader_graph *graph, reader_bytes message, reader_node *node)
{
    reader_bytes name, type, domain;
    size_t inputs = 0, outputs = 0, attributes = 0;
    reader_arena *arena = &model->arena;
    if (!adzi_reader_part(message, 3, &name) || !adzi_reader_part(message, 4, &type) ||
        !adzi_reader_part(message, 7, &domain) || !adzi_reader_count(message, 1, &inputs) ||
        !adzi_reader_count(message, 2, &outputs) || !adzi_reader_count(message, 5, &attributes)) {
        return adzi_reader_malformed("node");
    }
    node->opset = graph->opset;
    node->name = name_of(model, graph, name, type);
    node->type = adzi_reader_text(arena, type);
    node->domain = adzi_reader_text(arena, domain);
    node->inputs = adzi_reader_alloc(arena, inputs, sizeof(size_t));
    node->outputs = adzi_reader_alloc(arena, outputs, sizeof(size_t));
    node->attributes = adzi_reader_alloc(arena, attributes, sizeof(reader_attribute));
    return node->name == NULL || node->type == NULL || node->domain == NULL ||
                   node->inputs == NULL || node->outputs == NULL || node->attributes == NULL
               ? ADZ_ERR_MEMORY
               : ADZ_OK;
}

/* All inputs, or all attributes, or all outputs: the order of the fields in a file does not
 * matter. */
static adz_status read_fields(reader_model *model, reader_graph *graph, reader_bytes message,
    reader_node *node, uint32_t number)
{
    reader_field f;
    adz_status status = ADZ_OK;
    while (status == ADZ_OK && adzi_reader_next(&message, &f) > 0) {
        if (f.number != number || f.kind != WIRE_BYTES) {
            continue;
        }
        if (number == 1) {
            status = read_input(model, graph, node, f.bytes);
        } else if (number == 5) {
            reader_attribute *a = &node->attributes[node->n_attributes];
            status = read_attribute(model, graph, node, f.bytes, a);
            node->n_attributes += a->name != NULL;
        } else {
            status = read_output(model, graph, node, f.bytes);
        }
    }
    return status;
}

/* The tensor of a Constant node's attribute, borrowed from the scope; NULL with an error recorded.
 */
static adz_tensor *constant_of(const reader_model *model, const reader_attribute *a, int *element)
{
    const adz_dtype dtype = model->f64 ? ADZ_F64 : ADZ_F32;
    const int64_t n = (int64_t)a->n;
    *element = a->type == ATTRIBUTE_TENSOR                             ? a->element
               : a->type == ATTRIBUTE_INT || a->type == ATTRIBUTE_INTS ? ELEMENT_INT64
                                                                       : ELEMENT_FLOAT;
    switch (a->type) {
    case ATTRIBUTE_TENSOR:
        return a->t;
    case ATTRIBUTE_INT:
        return adz_tensor_from(&a->i, ADZ_SHAPE_SCALAR, ADZ_I64);
    case ATTRIBUTE_INTS:
        return adz_tensor_from(a->ints, ADZ_SHAPE(n), ADZ_I64);
    case ATTRIBUTE_FLOAT:
        return adz_scalar(a->f, dtype);
    default:
        return adz_to(adz_tensor_from(a->floats, ADZ_SHAPE(n), ADZ_F64), dtype);
    }
}

/* A Constant node becomes a value without a node. */
static adz_status make_constant(reader_model *model, const reader_node *node)
{
    if (strcmp(node->type, "Constant") != 0 || node->n_outputs != 1 || node->n_attributes != 1 ||
        node->outputs[0] == NO_VALUE) {
        return ADZ_OK;
    }
    reader_value *v = &model->values[node->outputs[0]];
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = constant_of(model, &node->attributes[0], &v->element);
    v->kind = VALUE_CONSTANT;
    v->weight = t != NULL ? adz_keep(t) : NULL;
    adz_scope_close(scope);
    return t != NULL ? ADZ_OK : adz_error_code();
}

adz_status adzi_reader_node(
    reader_model *model, reader_graph *graph, reader_bytes message, reader_node *node)
{
    static const uint32_t order[] = { 1, 5, 2 };
    reader_bytes overload;
    adz_status status = read_parts(model, graph, message, node);
    for (int pass = 0; pass < 2 && status == ADZ_OK; ++pass) {
        status = read_fields(model, graph, message, node, order[pass]);
    }
    if (status == ADZ_OK && adzi_reader_part(message, 8, &overload)) {
        const reader_function *function =
            adzi_reader_function(model, node->domain, node->type, overload);
        if (function != NULL) {
            status = adzi_reader_inline(model, graph, node, function, message);
            node->type = NULL;
            return status;
        }
    }
    status = status == ADZ_OK ? read_fields(model, graph, message, node, order[2]) : status;
    if (status == ADZ_OK) {
        status = adzi_reader_check(model, node);
    }
    if (status == ADZ_OK) {
        status = make_constant(model, node);
    }
    return status == ADZ_OK ? adzi_reader_types(model, node) : status;
}
