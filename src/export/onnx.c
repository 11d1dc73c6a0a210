/* A network as an ONNX file: opset 17, ir_version 8. Operators that ONNX lacks are written as their
 * expressions. Calls that depend on no input and no parameter are not written; their results are
 * constants. */
#include "export/onnx.h"
#include "base/capture.h"

#include <string.h>

#include "adze/options.h"
#include "base/sink.h"
#include "data/unicode.h"
#include "nn/module.h"
#include "plan/plan.h"

enum { OPSET = 17, IR_VERSION = 8 };

/* Fields of the messages, from onnx.proto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { GRAPH_INITIALIZER = 5 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
enum { TENSOR_RAW_DATA = 9 };

static const char *const batch_dimensions[] = { "auto", "free", "fixed", NULL };

static const adz_field fields[] = { ADZ_FIELD_AS(adz_onnx_options, batch_dimension,
    "batch_dimension", ADZ_FIELD_ENUM, .values = batch_dimensions) };

ADZ_OPTIONS_TABLE(adz_onnx_options, ADZ_ONNX_OPTIONS, fields)

static bool prints(const adz_operator *op)
{
    const adzi_row *row = adzi_row_of(op->name);
    return row != NULL && row->onnx.print != NULL;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Whether the text is UTF-8, which names in the file have to be. */
static bool is_utf8(const char *text)
{
    return adzi_utf8_valid(text, strlen(text)) == strlen(text);
}

/* Takes a name that the program has given. NULL with the error recorded if it cannot be that of
 * one value in the file. */
static const char *take_name(adzi_onnx *g, const char *given)
{
    if (given[0] == '\0' || !is_utf8(given)) {
        adzi_error(g->op, ADZ_ERR_ARGUMENT,
            "the name \"%s\" of an input, result, parameter or buffer is %s; names in ONNX files are not empty and UTF-8",
            given, given[0] == '\0' ? "empty" : "not UTF-8");
        return NULL;
    }
    const char *name = adzi_onnx_unique(g, given);
    if (name != NULL && strcmp(name, given) != 0) {
        adzi_error(g->op, ADZ_ERR_ARGUMENT,
            "\"%s\" is the name of two values; give the inputs or results other names", given);
        return NULL;
    }
    return name;
}

/* Names the values that have their own name: inputs, parameters and buffers. */
static bool name_given(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->name == NULL || (!v->used && v->kind != ADZI_VALUE_INPUT)) {
            continue;
        }
        const char *name = take_name(g, v->name);
        if (name == NULL) {
            return false;
        }
        g->values[i].name = name;
        adzi_onnx_set_dtype(g, name, v->dtype);
    }
    return true;
}

/* Names the graph's outputs. A value that a node computes gets the name of the first output that it
 * is. */
static bool name_outputs(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t k = 0; k < trace->n_outputs; ++k) {
        const int value = trace->outputs[k];
        char usual[32];
        adzi_result_name(usual, sizeof usual, trace->n_outputs, k);
        g->outputs[k] = trace->output_names != NULL ? take_name(g, trace->output_names[k])
                                                    : adzi_onnx_unique(g, usual);
        if (g->outputs[k] == NULL) {
            return false;
        }
        adzi_onnx_set_dtype(g, g->outputs[k], trace->values[value].dtype);
        if (trace->values[value].kind == ADZI_VALUE_RESULT && !g->values[value].constant &&
            g->values[value].name == NULL) {
            g->values[value].name = g->outputs[k];
        }
    }
    return true;
}

/* True if the tensor still holds the value that the calls gave it. */
static bool is_intact(const adzi_trace *trace, size_t value)
{
    for (size_t i = 0; i < trace->n_tensors; ++i) {
        const adzi_traced_tensor *t = &trace->tensors[i];
        if (t->tensor == trace->values[value].tensor) {
            return t->value == (int)value && t->version == t->tensor->storage->version;
        }
    }
    return false;
}

/* Finds the results that depend on constants alone. */
static void find_constants(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t i = 0; i < trace->n_values; ++i) {
        g->values[i].constant = trace->values[i].kind == ADZI_VALUE_CONSTANT;
    }
    for (size_t i = 0; i < trace->n_calls; ++i) {
        const adzi_traced_call *c = &trace->calls[i];
        bool constant =
            c->used && !c->inplace && c->n_in > 0 && adzi_trace_region_of(c) == ADZI_NO_REGION;
        for (int k = 0; k < c->n_in && constant; ++k) {
            constant = c->in[k] < 0 || g->values[c->in[k]].constant;
        }
        for (int k = 0; k < c->n_out && constant; ++k) {
            g->values[c->out[k]].constant = is_intact(trace, (size_t)c->out[k]);
        }
    }
}

/* Names constants and results: "constant", and the modules and operator of the call. */
static bool name_others(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (g->values[i].name != NULL || (v->call < 0 && !v->used) ||
            (v->call >= 0 && !trace->calls[v->call].used)) {
            continue;
        }
        adzi_text name = { 0 };
        if (g->values[i].constant) {
            adzi_text_add(&name, "constant");
        } else {
            const adzi_traced_call *c = &trace->calls[v->call];
            adzi_text_format(&name, "%s%s%s", is_utf8(c->path) ? c->path : "",
                c->path[0] != '\0' ? "." : "", c->op->name);
        }
        if (name.failed) {
            adzi_fail_memory(g->op, name.length);
        }
        g->values[i].name = name.failed ? NULL : adzi_onnx_unique(g, adzi_text_get(&name));
        adzi_text_free(&name);
        if (g->values[i].name == NULL) {
            return false;
        }
        adzi_onnx_set_dtype(g, g->values[i].name, v->dtype);
    }
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

bool adzi_onnx_print_call(adzi_onnx *g, const adzi_traced_call *c)
{
    bool constant = c->n_out > 0;
    g->call = c;
    for (int k = 0; k < c->n_out; ++k) {
        constant = constant && g->values[c->out[k]].constant;
    }
    if (constant) {
        return true;
    }
    return c->row->onnx.print(g) && !g->failed;
}

static bool print_calls(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t i = 0; i < trace->n_calls; ++i) {
        if (trace->calls[i].used && !adzi_onnx_print_call(g, &trace->calls[i])) {
            return false;
        }
    }
    g->call = NULL;
    for (size_t k = 0; k < trace->n_outputs && !g->failed; ++k) {
        if (strcmp(g->values[trace->outputs[k]].name, g->outputs[k]) != 0) {
            const char *y = adzi_onnx_name(g, trace->outputs[k]);
            adzi_onnx_node(g, "Identity", ADZI_NAMES(y), ADZI_NAMES(g->outputs[k]), ADZI_NO_ATTRS);
        }
    }
    return !g->failed;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Adds the name and the type, whose shape is freed. */
static void add_typed(
    adzi_message *graph, int field, adz_dtype dtype, adzi_message *shape, const char *name)
{
    adzi_message info = { 0 }, type = { 0 }, tensor = { 0 };
    adzi_pb_int(&tensor, TENSOR_ELEMENT, adzi_onnx_dtype(dtype));
    adzi_pb_message(&tensor, TENSOR_SHAPE, shape);
    adzi_pb_message(&type, TYPE_TENSOR, &tensor);
    adzi_pb_string(&info, VALUE_NAME, name);
    adzi_pb_message(&info, VALUE_TYPE, &type);
    adzi_pb_message(graph, field, &info);
}

void adzi_onnx_add_scalar_info(adzi_message *graph, int field, adz_dtype dtype, const char *name)
{
    adzi_message shape = { 0 };
    add_typed(graph, field, dtype, &shape, name);
}

void adzi_onnx_add_info(
    adzi_message *graph, const adzi_onnx *g, int field, int value, const char *name)
{
    const adzi_traced_value *v = &g->trace->values[value];
    const adzi_onnx_batch b = g->values[value].batch;
    adzi_message shape = { 0 };
    for (int d = 0; d < v->rank; ++d) {
        adzi_message dim = { 0 };
        if (g->free_batch && d == b.axis && b.before == 1 && b.after == 1) {
            adzi_pb_string(&dim, DIM_PARAM, "batch");
        } else if (!g->free_batch || d != b.axis) {
            adzi_pb_int(&dim, DIM_VALUE, v->sizes[d]);
        }
        adzi_pb_message(&shape, SHAPE_DIM, &dim);
    }
    add_typed(graph, field, v->dtype, &shape, name);
}

/* Bytes of an initialiser's TensorProto: what is in its head, and its elements. */
static uint64_t tensor_bytes(const adzi_onnx_initialiser *t)
{
    return t->head.length + 1 + adzi_pb_varint_size(t->bytes) + t->bytes;
}

static adz_status write_elements(
    adzi_sink *sink, const adzi_onnx *g, const adzi_onnx_initialiser *t)
{
    const size_t item = adz_dtype_size(t->dtype);
    if (t->value < 0) {
        return adzi_sink_items(sink, (const char *)t->number, t->bytes, item, false);
    }
    adz_scope *scope = adz_scope_open();
    const adz_tensor *x = scope != NULL ? adzi_traced_contents(g->trace, t->value) : NULL;
    const adz_status status =
        x != NULL ? adzi_sink_items(sink, x->data, t->bytes, item, false) : adzi_status(NULL);
    adz_scope_close(scope);
    return status;
}

static adz_status write_initialiser(
    adzi_sink *sink, const adzi_onnx *g, const adzi_onnx_initialiser *t)
{
    adzi_message m = { 0 };
    adzi_pb_head(&m, GRAPH_INITIALIZER, tensor_bytes(t));
    adzi_text_add_n(&m, t->head.data, t->head.length);
    adzi_pb_head(&m, TENSOR_RAW_DATA, t->bytes);
    adz_status status = m.failed ? ADZ_ERR_MEMORY : adzi_sink_write(sink, m.data, m.length);
    if (m.failed) {
        adzi_fail_memory(g->op, m.length + t->head.length);
    }
    adzi_text_free(&m);
    return status == ADZ_OK ? write_elements(sink, g, t) : status;
}

/* What stands before the graph's nodes: the fields of the model, and those of the graph that are
 * short. False if memory was refused or the file would be too large. */
static bool begin_file(const adzi_onnx *g, adzi_message *model, adzi_message *graph)
{
    const adzi_trace *trace = g->trace;
    adzi_pb_string(graph, ADZI_ONNX_GRAPH_NAME, "adze");
    for (int i = 0; i < trace->n_inputs; ++i) {
        adzi_onnx_add_info(graph, g, ADZI_ONNX_GRAPH_INPUT, i, g->values[i].name);
    }
    for (size_t k = 0; k < trace->n_outputs; ++k) {
        adzi_onnx_add_info(graph, g, ADZI_ONNX_GRAPH_OUTPUT, trace->outputs[k], g->outputs[k]);
    }
    uint64_t bytes = graph->length + g->nodes.length;
    for (size_t i = 0; i < g->n_initialisers; ++i) {
        const uint64_t n = tensor_bytes(&g->initialisers[i]);
        bytes += 1 + adzi_pb_varint_size(n) + n;
    }
    if (bytes > INT32_MAX - 1024) {
        adzi_error(g->op, ADZ_ERR_UNSUPPORTED,
            "the file would have %llu bytes; files of this format have at most 2 GiB",
            (unsigned long long)bytes);
        return false;
    }
    adzi_message opset = { 0 };
    adzi_pb_string(&opset, OPSET_DOMAIN, "");
    adzi_pb_int(&opset, OPSET_VERSION, OPSET);
    adzi_pb_int(model, MODEL_IR_VERSION, IR_VERSION);
    adzi_pb_string(model, MODEL_PRODUCER, "adze");
    adzi_pb_string(model, MODEL_PRODUCER_VERSION, adz_version());
    adzi_pb_message(model, MODEL_OPSET, &opset);
    adzi_pb_head(model, MODEL_GRAPH, bytes);
    if (model->failed || graph->failed) {
        adzi_fail_memory(g->op, model->length + graph->length);
    }
    return !model->failed && !graph->failed;
}

static adz_status write_file(const adzi_onnx *g, const char *path)
{
    adzi_message model = { 0 }, graph = { 0 };
    adz_status status = begin_file(g, &model, &graph) ? ADZ_OK : adzi_status(NULL);
    adzi_sink *sink = status == ADZ_OK ? adzi_alloc(sizeof *sink) : NULL;
    if (status == ADZ_OK && sink == NULL) {
        adzi_fail_memory(g->op, sizeof *sink);
        status = ADZ_ERR_MEMORY;
    }
    if (status == ADZ_OK) {
        status = adzi_sink_open(sink, g->op, path);
    }
    if (status == ADZ_OK) {
        const adzi_message *const parts[] = { &model, &graph, &g->nodes };
        for (int i = 0; i < 3 && status == ADZ_OK; ++i) {
            status = adzi_sink_write(sink, parts[i]->data, parts[i]->length);
        }
        for (size_t i = 0; i < g->n_initialisers && status == ADZ_OK; ++i) {
            status = write_initialiser(sink, g, &g->initialisers[i]);
        }
        status = adzi_sink_end(sink, status);
    }
    adzi_free(sink, sizeof *sink);
    adzi_text_free(&model);
    adzi_text_free(&graph);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void end(adzi_onnx *g)
{
    for (size_t i = 0; i < g->n_initialisers; ++i) {
        adzi_text_free(&g->initialisers[i].head);
    }
    for (size_t i = 0; i < g->n_names; ++i) {
        adzi_string_free(g->names[i]);
    }
    adzi_index_free(&g->by_name);
    adzi_text_free(&g->nodes);
    adzi_onnx_end_regions(g);
    adzi_free(g->initialisers, g->initialisers_capacity * sizeof *g->initialisers);
    adzi_free(g->names, g->names_capacity * sizeof *g->names);
    adzi_free(g->dtypes, g->dtypes_capacity * sizeof *g->dtypes);
    adzi_free(g->values, g->trace->n_values * sizeof *g->values);
    adzi_free(g->outputs, g->trace->n_outputs * sizeof *g->outputs);
}

/* Decides on the batch dimension. False if it has to be free and cannot be. */
static bool choose_batch(adzi_onnx *g, adz_batch_dimension wanted)
{
    if (wanted == ADZ_BATCH_FIXED) {
        for (size_t i = 0; i < g->trace->n_values; ++i) {
            g->values[i].batch.axis = -1;
        }
        return true;
    }
    const adzi_traced_call *hindrance = adzi_onnx_find_batches(g);
    if (wanted == ADZ_BATCH_FREE && hindrance != NULL) {
        g->call = hindrance;
        return adzi_onnx_refuse(g, "can only be written for the batch size of the inputs");
    }
    if (wanted == ADZ_BATCH_FREE && !g->free_batch) {
        adzi_error(g->op, ADZ_ERR_ARGUMENT,
            "no input has a dimension, so that there is no batch dimension to be free");
        return false;
    }
    return true;
}

static bool check_calls(adzi_onnx *g)
{
    for (size_t i = 0; i < g->trace->n_calls; ++i) {
        g->call = &g->trace->calls[i];
        if (g->call->used && !prints(g->call->op)) {
            const char *reason = g->call->row != NULL ? g->call->row->onnx.refused : NULL;
            return adzi_onnx_refuse(g, reason != NULL ? reason : "has no counterpart in ONNX");
        }
    }
    return true;
}

static adz_status write_trace(
    const char *op, const adzi_trace *trace, const char *path, const adz_onnx_options *o)
{
    adzi_onnx g = { .op = op, .trace = trace };
    g.values = adzi_alloc_zero(trace->n_values * sizeof *g.values);
    g.outputs = adzi_alloc_zero(trace->n_outputs * sizeof *g.outputs);
    bool good = g.values != NULL && g.outputs != NULL;
    if (!good) {
        adzi_fail_memory(op, trace->n_values * sizeof *g.values);
    } else {
        find_constants(&g);
        good = check_calls(&g) && name_given(&g) && name_outputs(&g) && name_others(&g) &&
               choose_batch(&g, o->batch_dimension) && print_calls(&g);
    }
    const adz_status status = good ? write_file(&g, path) : adzi_status(NULL);
    end(&g);
    return status;
}

adz_status adzi_write_onnx(
    const char *op, const adzi_export *what, const char *path, const adz_onnx_options *options)
{
    adz_onnx_options o;
    if (adzi_refused(op) != ADZ_OK || !adz_options_take(op, &adz_onnx_options_table, &o, options)) {
        return adzi_pending();
    }
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    adzi_trace *trace = adzi_trace_new(op, what, prints);
    if (trace == NULL) {
        return adzi_status(NULL);
    }
    const adz_status status = o.allow_nonfinite || adzi_trace_is_finite(trace)
                                  ? write_trace(op, trace, path, &o)
                                  : adzi_pending();
    adzi_trace_free(&trace);
    return status;
}

/* ---- a module's forward --------------------------------------------------------------------- */

typedef struct {
    adz_module *module;
    adz_tensor *x;
} forward_of;

static adz_tensor *forward(void *user)
{
    const forward_of *f = user;
    return adz_module_forward(f->module, f->x);
}

adz_status adz_module_write_onnx(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_module_write_onnx";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    forward_of f = { module, x };
    const adzi_export what = {
        .function = forward, .user = &f, .inputs = { &f.x, 1 }, .module = module
    };
    return adzi_write_onnx(op, &what, path, options);
}

/* ---- a plan --------------------------------------------------------------------------------- */

adz_status adz_plan_write_onnx(adz_plan *plan, const char *path, const adz_onnx_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_plan_write_onnx";
    if (plan == NULL) {
        return adzi_error_null(op, "plan");
    }
    const adzi_export what = adzi_export_of(plan);
    return adzi_write_onnx(op, &what, path, options);
}
