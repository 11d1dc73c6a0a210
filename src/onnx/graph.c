/* Graphs and models, read from a file. */
#include <string.h>

#include "run.h"

enum { DEEPEST = 32 }; /* graphs inside graphs; a file may not exhaust the stack */

adz_status adzi_reader_malformed(const char *where)
{
    return adz_error_format(LOAD, ADZ_ERR_FORMAT,
        "the file ends inside a %s or is no ONNX model; fetch or export it again", where);
}

bool adzi_reader_count(reader_bytes message, uint32_t number, size_t *n)
{
    reader_field f;
    int more;
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        *n += f.number == number && f.kind == WIRE_BYTES;
    }
    return more == 0;
}

bool adzi_reader_part(reader_bytes message, uint32_t number, reader_bytes *bytes)
{
    reader_field f;
    int more;
    *bytes = (reader_bytes){ 0 };
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        if (f.number == number && f.kind == WIRE_BYTES) {
            *bytes = f.bytes;
        }
    }
    return more == 0;
}

/* ---- inputs and outputs --------------------------------------------------------------------- */

/* One size: a number, or free. */
static bool read_size(reader_bytes message, reader_declared *d)
{
    reader_field f;
    int more;
    int64_t size = -1;
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        if (f.number == 1 && f.kind == WIRE_VARINT && f.value <= INT64_MAX / 16) {
            size = (int64_t)f.value;
        }
    }
    if (d->shape.rank == ADZ_MAX_RANK) {
        adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "\"%.60s\" has more than %d dimensions, the most that adze holds", d->name,
            ADZ_MAX_RANK);
        return false;
    }
    d->shape.sizes[d->shape.rank++] = size;
    return more == 0 || adzi_reader_malformed("shape") == ADZ_OK;
}

/* Type and shape of an input or output. */
static bool read_type(reader_bytes message, reader_declared *d)
{
    reader_bytes type, tensor, shape;
    reader_field f;
    if (!adzi_reader_part(message, 2, &type) || !adzi_reader_part(type, 1, &tensor) ||
        !adzi_reader_part(tensor, 2, &shape)) {
        return adzi_reader_malformed("type") == ADZ_OK;
    }
    if (type.size > 0 && tensor.at == NULL) {
        adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "\"%.60s\" is no tensor but a sequence, a map or an optional value, which adze does not have",
            d->name);
        return false;
    }
    reader_bytes rest = tensor;
    while (adzi_reader_next(&rest, &f) > 0) {
        if (f.number == 1 && f.kind == WIRE_VARINT) {
            d->element = f.value < 256 ? (int)f.value : 255;
        }
    }
    d->shape.rank = shape.at != NULL ? 0 : -1;
    while (shape.at != NULL && adzi_reader_next(&shape, &f) > 0) {
        if (f.number == 1 && f.kind == WIRE_BYTES && !read_size(f.bytes, d)) {
            return false;
        }
    }
    return true;
}

static adz_status read_weight(reader_model *model, reader_graph *graph, reader_bytes message)
{
    reader_bytes name;
    size_t value = NO_VALUE;
    if (!adzi_reader_part(message, 8, &name)) {
        return adzi_reader_malformed("tensor");
    }
    adz_status status = adzi_reader_define(model, graph, name, VALUE_WEIGHT, &value);
    if (status == ADZ_OK) {
        reader_value *v = &model->values[value];
        adz_scope *scope = adz_scope_open();
        v->weight = adzi_reader_tensor(model, message, v->name, &v->element);
        if (v->weight != NULL) {
            adz_keep(v->weight);
        } else {
            status = adz_error_code();
        }
        adz_scope_close(scope);
    }
    return status;
}

/* Whether adze has a dtype for an input or output. */
static adz_status check_element(const reader_model *model, const reader_declared *d)
{
    adz_dtype dtype;
    if (d->element == 0 || adzi_reader_dtype(model, d->element, &dtype)) {
        return ADZ_OK;
    }
    return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
        "\"%.60s\" has elements of type %s (%d), which adze does not hold", d->name,
        adzi_reader_element_name(d->element), d->element);
}

/* An input of the graph. Old files list initialisers among the inputs, too. */
static adz_status read_input(reader_model *model, reader_graph *graph, reader_bytes message)
{
    reader_bytes name;
    reader_declared *d = &graph->inputs[graph->n_inputs];
    if (!adzi_reader_part(message, 1, &name)) {
        return adzi_reader_malformed("input");
    }
    const size_t found = adzi_reader_lookup(model, graph, name);
    if (found != NO_VALUE && found != LEFT_OUT && model->values[found].graph == graph &&
        model->values[found].kind == VALUE_WEIGHT) {
        return ADZ_OK;
    }
    adz_status status = adzi_reader_define(model, graph, name, VALUE_INPUT, &d->value);
    if (status == ADZ_OK) {
        d->name = model->values[d->value].name;
        status = read_type(message, d) ? check_element(model, d) : adz_error_code();
        model->values[d->value].element = d->element;
        ++graph->n_inputs;
    }
    return status;
}

static adz_status read_output(reader_model *model, reader_graph *graph, reader_bytes message)
{
    reader_bytes name;
    reader_declared *d = &graph->outputs[graph->n_outputs++];
    if (!adzi_reader_part(message, 1, &name)) {
        return adzi_reader_malformed("output");
    }
    d->value = adzi_reader_lookup(model, graph, name);
    if (d->value == NO_VALUE || d->value == LEFT_OUT) {
        return adz_error_format(
            LOAD, ADZ_ERR_FORMAT, "no node gives the output \"%.*s\"", TEXT(name));
    }
    d->name = adzi_reader_text(&model->arena, name);
    if (d->name == NULL) {
        return ADZ_ERR_MEMORY;
    }
    model->values[d->value].result = true;
    return read_type(message, d) ? check_element(model, d) : adz_error_code();
}

/* ---- the graph ------------------------------------------------------------------------------ */

/* Marks what a node reads. A node inside counts for the nodes around it. */
static void mark_read(reader_model *model, const reader_graph *graph, const reader_node *node)
{
    for (size_t i = 0; i < node->n_inputs; ++i) {
        if (node->inputs[i] == NO_VALUE) {
            continue;
        }
        reader_value *v = &model->values[node->inputs[i]];
        const reader_graph *at = graph->home;
        while (at != NULL && at != v->graph->home) {
            at = at->parent != NULL ? at->parent->home : NULL;
        }
        v->read = true;
        v->last = at != NULL ? at->n_nodes : 0;
    }
}

adz_status adzi_reader_add_node(reader_model *model, reader_graph *graph, reader_bytes message)
{
    reader_node node = { 0 };
    reader_graph *home = graph->home;
    const adz_status status = adzi_reader_node(model, graph, message, &node);
    if (status != ADZ_OK || node.type == NULL) {
        return status;
    }
    mark_read(model, graph, &node);
    if (home->n_nodes == home->room) {
        const size_t room = 2 * home->room + 8;
        reader_node *nodes = adzi_reader_alloc(&model->arena, room, sizeof *nodes);
        if (nodes == NULL) {
            return ADZ_ERR_MEMORY;
        }
        if (home->n_nodes > 0) {
            memcpy(nodes, home->nodes, home->n_nodes * sizeof *nodes);
        }
        home->nodes = nodes;
        home->room = room;
    }
    home->nodes[home->n_nodes++] = node;
    return ADZ_OK;
}

static adz_status read_field(
    reader_model *model, reader_graph *graph, uint32_t number, reader_bytes bytes)
{
    switch (number) {
    case 1:
        return adzi_reader_add_node(model, graph, bytes);
    case 5:
        return read_weight(model, graph, bytes);
    case 11:
        return read_input(model, graph, bytes);
    case 12:
        return read_output(model, graph, bytes);
    default:
        return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "the file has sparse initialisers; store them as full tensors");
    }
}

static bool make_room(reader_model *model, reader_graph *graph, reader_bytes message)
{
    size_t nodes = 0, inputs = 0, outputs = 0;
    if (!adzi_reader_count(message, 1, &nodes) || !adzi_reader_count(message, 11, &inputs) ||
        !adzi_reader_count(message, 12, &outputs)) {
        return adzi_reader_malformed("graph") == ADZ_OK;
    }
    graph->nodes = adzi_reader_alloc(&model->arena, nodes, sizeof(reader_node));
    graph->room = nodes;
    graph->inputs = adzi_reader_alloc(&model->arena, inputs, sizeof(reader_declared));
    graph->outputs = adzi_reader_alloc(&model->arena, outputs, sizeof(reader_declared));
    return graph->nodes != NULL && graph->inputs != NULL && graph->outputs != NULL;
}

reader_graph *adzi_reader_scope(reader_model *model, reader_graph *parent)
{
    reader_graph *graph = adzi_reader_alloc(&model->arena, 1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->parent = parent;
    graph->home = graph;
    graph->opset = parent != NULL ? parent->opset : model->opset;
    graph->id = model->n_graphs++;
    graph->depth = parent != NULL ? parent->depth + 1 : 0;
    if (graph->depth > DEEPEST) {
        adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "the file has more than %d graphs or functions inside each other", DEEPEST);
        return NULL;
    }
    return graph;
}

reader_graph *adzi_reader_graph(reader_model *model, reader_bytes message, reader_graph *parent)
{
    static const uint32_t order[] = { 5, 11, 1, 12, 15 };
    reader_graph *graph = adzi_reader_scope(model, parent);
    if (graph == NULL || !make_room(model, graph, message)) {
        return NULL;
    }
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < 5; ++i) {
        reader_bytes rest = message;
        reader_field f;
        while (status == ADZ_OK && adzi_reader_next(&rest, &f) > 0) {
            if (f.number == order[i] && f.kind == WIRE_BYTES) {
                status = read_field(model, graph, f.number, f.bytes);
            }
        }
    }
    return status == ADZ_OK ? graph : NULL;
}

/* ---- the model ------------------------------------------------------------------------------ */

bool adzi_reader_opset(reader_bytes message, int64_t *version)
{
    reader_field f;
    reader_bytes domain = { 0 };
    int more;
    while ((more = adzi_reader_next(&message, &f)) > 0) {
        if (f.number == 1 && f.kind == WIRE_BYTES) {
            domain = f.bytes;
        } else if (f.number == 2 && f.kind == WIRE_VARINT) {
            *version = (int64_t)f.value;
        }
    }
    if (domain.size > 0 && !adzi_reader_is(domain, "ai.onnx")) {
        *version = 0;
    }
    return more == 0;
}

static adz_status read_opset(reader_model *model, reader_bytes message)
{
    int64_t version = 0;
    if (!adzi_reader_opset(message, &version)) {
        return adzi_reader_malformed("opset");
    }
    model->opset = version != 0 ? version : model->opset;
    return ADZ_OK;
}

static adz_status check_versions(const reader_model *model)
{
    if (model->ir < 3 || model->ir > 14) {
        return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "the file has IR version %lld; versions 3 to 14 are read", (long long)model->ir);
    }
    if (model->opset == 0) {
        return ADZ_OK; /* its nodes are of other domains or functions, or they are refused */
    }
    if (model->opset < 6 || model->opset > 28) {
        return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "the file has opset %lld; opsets 6 to 28 are read", (long long)model->opset);
    }
    return ADZ_OK;
}

adz_status adzi_reader_parse(reader_model *model, reader_bytes file)
{
    reader_bytes all = file, graph = { 0 };
    reader_field f;
    int more;
    adz_status status = ADZ_OK;
    model->file = file;
    while (status == ADZ_OK && (more = adzi_reader_next(&all, &f)) != 0) {
        if (more < 0) {
            return adzi_reader_malformed("model");
        }
        if (f.number == 1 && f.kind == WIRE_VARINT) {
            model->ir = f.value < INT64_MAX ? (int64_t)f.value : INT64_MAX;
        } else if (f.number == 7 && f.kind == WIRE_BYTES) {
            graph = f.bytes;
        } else if (f.number == 8 && f.kind == WIRE_BYTES) {
            status = read_opset(model, f.bytes);
        }
    }
    if (status == ADZ_OK && graph.at == NULL) {
        return adzi_reader_malformed("model: it has no graph");
    }
    status = status == ADZ_OK ? check_versions(model) : status;
    status = status == ADZ_OK ? adzi_reader_functions(model, file) : status;
    if (status == ADZ_OK) {
        model->graph = adzi_reader_graph(model, graph, NULL);
        status = model->graph != NULL ? ADZ_OK : adz_error_code();
    }
    if (status == ADZ_OK && model->graph->n_outputs == 0) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT, "the graph has no output");
    }
    return status;
}
