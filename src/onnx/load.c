/* The module that a file becomes. */
#include <stdio.h>
#include <string.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/options.h"
#include "run.h"

typedef struct reader_state {
    reader_model *model;
} reader_state;

/* ---- calling -------------------------------------------------------------------------------- */

static reader_model *model_of(adz_module *module)
{
    return ((reader_state *)adz_module_data(module))->model;
}

/* Whether a tensor has the dtype and shape that the file declares. Names of free sizes are
 * comments: exporters give one name to sizes that differ. */
static bool check_input(const reader_model *model, const reader_declared *d, const adz_tensor *t)
{
    adz_dtype dtype;
    if (!adz_check_tensor("ONNX", d->name, t)) {
        return false;
    }
    if (adzi_reader_dtype(model, d->element, &dtype) && dtype != adz_tensor_dtype(t)) {
        adz_error_format("ONNX", ADZ_ERR_DTYPE, "input \"%.60s\" is %s, but must be %s", d->name,
            adz_dtype_name(adz_tensor_dtype(t)), adz_dtype_name(dtype));
        return false;
    }
    const adz_shape shape = adz_tensor_shape(t);
    bool good = d->shape.rank < 0 || d->shape.rank == shape.rank;
    for (int k = 0; k < d->shape.rank && good; ++k) {
        good = d->shape.sizes[k] < 0 || d->shape.sizes[k] == shape.sizes[k];
    }
    if (!good) {
        adz_error_format("ONNX", ADZ_ERR_SHAPE,
            "input \"%.60s\"%s must be %s, as the file says (-1: any size); export it with dynamic axes for other sizes",
            d->name, adz_text_shape(t), adz_text_sizes(d->shape));
    }
    return good;
}

/* An int8 input, which the caller has as int32. */
typedef struct narrow {
    adz_tensor *x, *y;
} narrow;

/* Takes the values from a list of all that int8 has. So others are refused, also when a plan or a
 * written file runs. */
static adz_status take_int8(void *state)
{
    narrow *n = state;
    adz_tensor *at = adz_add_number(adz_to(n->x, ADZ_I64), 128);
    n->y = adz_take(adz_arange(INT8_MIN, INT8_MAX + 1, 1, ADZ_I32), at);
    return n->y != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *checked_int8(const reader_declared *d, adz_tensor *t)
{
    char text[128];
    narrow n = { .x = t };
    snprintf(text, sizeof text, "input \"%.60s\" of int8, -128 to 127", d->name);
    return adz_error_within(text, take_int8, &n) == ADZ_OK ? n.y : NULL;
}

static bool set_inputs(reader_run *run, const adz_values *in)
{
    const reader_graph *graph = run->model->graph;
    for (size_t i = 0; i < graph->n_inputs; ++i) {
        const reader_declared *d = &graph->inputs[i];
        adz_tensor *t = adz_values_argument(in, i, d->name);
        if (t == ADZ_NONE) {
            adz_error_format("ONNX", ADZ_ERR_ARGUMENT, "input \"%.60s\" is missing", d->name);
            return false;
        }
        if (!check_input(run->model, d, t)) {
            return false;
        }
        t = d->element == ELEMENT_INT8 ? checked_int8(d, t) : t;
        if (t == NULL) {
            return false;
        }
        run->slots[d->value] = (reader_slot){ .t = t };
    }
    return true;
}

static adz_status add_results(reader_run *run, adz_values *out)
{
    const reader_graph *graph = run->model->graph;
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < graph->n_outputs && status == ADZ_OK; ++i) {
        const reader_declared *d = &graph->outputs[i];
        adz_tensor *t = adzi_reader_value(run, d->value);
        const char *name = strlen(d->name) <= ADZ_VALUE_NAME ? d->name : "";
        status = t != NULL ? adz_values_add(out, name, t) : adz_error_code();
    }
    return status;
}

static adz_status call_module(adz_module *self, const adz_values *in, adz_values *out)
{
    reader_run run = { .model = model_of(self), .module = self, .arena.plain = true };
    run.slots = adzi_reader_alloc(&run.arena, run.model->n_values, sizeof *run.slots);
    adz_status status = run.slots != NULL ? ADZ_OK : ADZ_ERR_MEMORY;
    if (status == ADZ_OK) {
        status = set_inputs(&run, in) ? ADZ_OK : adz_error_code();
    }
    if (status == ADZ_OK) {
        status = adzi_reader_nodes(&run, run.model->graph);
    }
    if (status == ADZ_OK) {
        status = add_results(&run, out);
    }
    for (size_t i = 0; i < run.model->n_values && run.slots != NULL; ++i) {
        adzi_reader_drop(&run, i);
    }
    adzi_reader_arena_free(&run.arena);
    return status;
}

/* ---- the types ------------------------------------------------------------------------------ */

static void destroy(adz_module *self)
{
    adzi_reader_model_release(model_of(self));
}

static adz_status copy_data(adz_module *copy, adz_module *original)
{
    reader_model *model = model_of(original);
    atomic_fetch_add(&model->references, 1);
    ((reader_state *)adz_module_data(copy))->model = model;
    return ADZ_OK;
}

static size_t print_list(
    char *buffer, size_t size, const char *start, const reader_declared *list, size_t n)
{
    size_t length = (size_t)snprintf(buffer, size, "%s", start);
    for (size_t i = 0; i < n; ++i) {
        const size_t room = size > length ? size - length : 0;
        length +=
            (size_t)snprintf(room > 0 ? buffer + length : NULL, room, "%s%s%s", i > 0 ? ", " : "",
                list[i].name, list[i].shape.rank >= 0 ? adz_text_sizes(list[i].shape) : "");
    }
    return length;
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const reader_graph *graph = model_of(self)->graph;
    size_t length = print_list(buffer, size, "inputs: ", graph->inputs, graph->n_inputs);
    const size_t room = size > length ? size - length : 0;
    return length + print_list(room > 0 ? buffer + length : NULL, room,
                        "; outputs: ", graph->outputs, graph->n_outputs);
}

static const adz_module_type model_type = {
    .size = sizeof(adz_module_type),
    .name = "ONNX",
    .call = call_module,
    .extra_repr = extra_repr,
    .destroy = destroy,
    .copy_data = copy_data,
};

/* ---- loading -------------------------------------------------------------------------------- */

static const adz_field fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_onnx_load_options),
    ADZ_FIELD(adz_onnx_load_options, freeze_norms, .value = false),
};

ADZ_OPTIONS_TABLE(adz_onnx_load_options, ADZ_ONNX_LOAD_OPTIONS, fields)

/* The model lies in its own arena. */
static reader_model *model_new(const char *path, const adz_onnx_load_options *o)
{
    reader_arena arena = { 0 };
    reader_model *model = adzi_reader_alloc(&arena, 1, sizeof *model);
    if (model == NULL) {
        adzi_reader_arena_free(&arena);
        return NULL;
    }
    model->arena = arena;
    model->op = LOAD;
    atomic_init(&model->references, 1);
    model->f64 = o->dtype == ADZ_F64;
    model->freeze_norms = o->freeze_norms;
    const char *slash = strrchr(path, '/');
    const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    model->folder =
        adzi_reader_text(&model->arena, (reader_bytes){ (const uint8_t *)path, length });
    return model;
}

/* What is needed while a file is read. */
typedef struct loading {
    reader_model *model;
    adz_module *module;
    const char *path;
    const adz_onnx_load_options *options;
} loading;

/* Fills a module with the model of a file. */
static adz_status fill(void *state)
{
    const loading *l = state;
    reader_model *model = l->model;
    adz_tensor *file = adzi_reader_file(LOAD, l->path);
    if (file == NULL || adzi_reader_parse(model, (reader_bytes){ adz_tensor_data(file),
                                                     (size_t)adz_tensor_numel(file) }) != ADZ_OK) {
        return adz_error_code();
    }
    model->file = (reader_bytes){ 0 };
    adzi_reader_reach(model);
    const adz_status status = adzi_reader_add_weights(model, l->module, l->options);
    return status == ADZ_OK ? adz_module_eval(l->module) : status;
}

adz_module *adz_onnx_load(const char *path, const adz_onnx_load_options *options)
{
    adz_onnx_load_options o;
    if (adz_error_code() != ADZ_OK ||
        !adz_options_take(LOAD, &adz_onnx_load_options_table, &o, options)) {
        return NULL;
    }
    if (path == NULL) {
        adz_error_null(LOAD, "path");
        return NULL;
    }
    reader_model *model = model_new(path, &o);
    adz_module *module = model != NULL ? adz_module_new(&model_type, sizeof(reader_state)) : NULL;
    if (module == NULL) {
        adzi_reader_model_release(model);
        return NULL;
    }
    ((reader_state *)adz_module_data(module))->model = model;
    adz_scope *scope = adz_scope_open();
    if (adz_error_within(path, fill, &(loading){ model, module, path, &o }) != ADZ_OK) {
        adz_module_release(&module);
    }
    adz_scope_close(scope);
    return module;
}

/* ---- what a network takes and gives --------------------------------------------------------- */

static const reader_graph *graph_of(const char *op, const adz_module *module)
{
    adz_module *m = (adz_module *)(uintptr_t)module;
    if (module == NULL) {
        adz_error_null(op, "module");
        return NULL;
    }
    if (adz_module_type_of(module) != &model_type) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "the module is a %s, but must be from adz_onnx_load",
            adz_module_name(module));
        return NULL;
    }
    return model_of(m)->graph;
}

static const reader_declared *declared(
    const char *op, const adz_module *module, bool input, size_t index)
{
    const reader_graph *graph = graph_of(op, module);
    if (graph == NULL) {
        return NULL;
    }
    const size_t n = input ? graph->n_inputs : graph->n_outputs;
    if (index >= n) {
        adz_error_format(op, ADZ_ERR_INDEX, "index is %zu, but there are %zu", index, n);
        return NULL;
    }
    return input ? &graph->inputs[index] : &graph->outputs[index];
}

static adz_shape shape_at(const reader_declared *d)
{
    return d != NULL ? d->shape : (adz_shape){ .rank = -1 };
}

static adz_dtype dtype_at(const adz_module *module, const reader_declared *d)
{
    adz_dtype dtype = ADZ_F32;
    if (d != NULL) {
        adzi_reader_dtype(model_of((adz_module *)(uintptr_t)module), d->element, &dtype);
    }
    return dtype;
}

size_t adz_onnx_input_count(const adz_module *module)
{
    const reader_graph *graph = graph_of("adz_onnx_input_count", module);
    return graph != NULL ? graph->n_inputs : 0;
}

const char *adz_onnx_input_name_at(const adz_module *module, size_t index)
{
    const reader_declared *d = declared("adz_onnx_input_name_at", module, true, index);
    return d != NULL ? d->name : NULL;
}

adz_dtype adz_onnx_input_dtype_at(const adz_module *module, size_t index)
{
    return dtype_at(module, declared("adz_onnx_input_dtype_at", module, true, index));
}

adz_shape adz_onnx_input_shape_at(const adz_module *module, size_t index)
{
    return shape_at(declared("adz_onnx_input_shape_at", module, true, index));
}

size_t adz_onnx_output_count(const adz_module *module)
{
    const reader_graph *graph = graph_of("adz_onnx_output_count", module);
    return graph != NULL ? graph->n_outputs : 0;
}

const char *adz_onnx_output_name_at(const adz_module *module, size_t index)
{
    const reader_declared *d = declared("adz_onnx_output_name_at", module, false, index);
    return d != NULL ? d->name : NULL;
}

adz_dtype adz_onnx_output_dtype_at(const adz_module *module, size_t index)
{
    return dtype_at(module, declared("adz_onnx_output_dtype_at", module, false, index));
}

adz_shape adz_onnx_output_shape_at(const adz_module *module, size_t index)
{
    return shape_at(declared("adz_onnx_output_shape_at", module, false, index));
}
