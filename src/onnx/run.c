/* Runs a graph node by node. */
#include <string.h>

#include "host.h"
#include "run.h"
#include "adze/ops/shape.h"

/* ---- values --------------------------------------------------------------------------------- */

/* The child of the module that holds a weight. */
static adz_module *holder_of(const reader_run *run, size_t holder)
{
    const reader_holder *h = &run->model->holders[holder];
    if (holder == 0) {
        return run->module;
    }
    return adz_module_child_at(holder_of(run, h->parent), h->child);
}

static adz_tensor *weight_of(const reader_run *run, const reader_value *v)
{
    adz_module *holder = holder_of(run, v->holder);
    return v->parameter ? adz_module_parameter_at(holder, v->index)
                        : adz_module_buffer_at(holder, v->index);
}

adz_tensor *adzi_reader_from_numbers(reader_run *run, const reader_numbers *numbers)
{
    const adz_dtype dtype = numbers->dtype;
    void *data = adzi_reader_alloc(&run->arena, numbers->n, sizeof(int64_t));
    if (data == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < numbers->n; ++i) {
        const reader_number x = numbers->at[i];
        switch (dtype) {
        case ADZ_F32:
            ((float *)data)[i] = (float)x.f;
            break;
        case ADZ_F64:
            ((double *)data)[i] = x.f;
            break;
        case ADZ_I32:
            ((int32_t *)data)[i] = (int32_t)x.i;
            break;
        case ADZ_I64:
            ((int64_t *)data)[i] = x.i;
            break;
        default:
            ((uint8_t *)data)[i] = (uint8_t)x.i;
            break;
        }
    }
    return adz_tensor_from_sized(data, numbers->shape, dtype, adz_dtype_size(dtype));
}

adz_tensor *adzi_reader_value(reader_run *run, size_t value)
{
    const reader_value *v = &run->model->values[value];
    const reader_slot *slot = &run->slots[value];
    if (slot->t != NULL) {
        return slot->t;
    }
    if (slot->numbers != NULL) {
        return adzi_reader_from_numbers(run, slot->numbers);
    }
    if (v->kind == VALUE_WEIGHT || v->kind == VALUE_CONSTANT) {
        return weight_of(run, v);
    }
    adz_error_format("ONNX", ADZ_ERR_STATE, "\"%.60s\" is read, but was not computed", v->name);
    return NULL;
}

void adzi_reader_drop(reader_run *run, size_t value)
{
    reader_slot *slot = &run->slots[value];
    if (slot->owned) {
        adz_release(&slot->t);
    }
    *slot = (reader_slot){ 0 };
}

/* Whether the operator gave one of its inputs back. */
static bool is_input(const reader_call *call, const adz_tensor *t)
{
    for (size_t i = 0; i < call->node->n_inputs; ++i) {
        const size_t value = call->node->inputs[i];
        if (value != NO_VALUE && call->run->slots[value].t == t) {
            return true;
        }
    }
    return false;
}

adz_tensor *adzi_reader_another(adz_tensor *t)
{
    const bool full = adz_tensor_rank(t) == ADZ_MAX_RANK;
    adz_tensor *other = full ? adz_flatten(t, 0, -1) : adz_unsqueeze(t, 0);
    return full ? adz_reshape(other, adz_tensor_shape(t)) : adz_squeeze(other, 0);
}

void adzi_reader_set(const reader_call *call, size_t i, adz_tensor *t)
{
    if (t == NULL || !adzi_reader_wants(call, i)) {
        return;
    }
    const size_t value = call->node->outputs[i];
    if (call->run->model->values[value].result && is_input(call, t)) {
        t = adzi_reader_another(t);
    }
    if (t == NULL) {
        return;
    }
    adzi_reader_drop(call->run, value);
    call->run->slots[value] = (reader_slot){ .t = adz_keep(t), .owned = true };
}

bool adzi_reader_is_host(const reader_run *run, size_t value)
{
    const reader_value *v = &run->model->values[value];
    if (run->slots[value].numbers != NULL) {
        return true;
    }
    if (run->slots[value].t != NULL || (v->kind != VALUE_WEIGHT && v->kind != VALUE_CONSTANT)) {
        return false;
    }
    const adz_tensor *t = weight_of(run, v);
    return t != NULL && adz_tensor_dtype(t) != ADZ_F32 && adz_tensor_dtype(t) != ADZ_F64 &&
           adzi_reader_few(adz_tensor_shape(t));
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Records the error again, with the node's name. */
static adz_status name_node(const reader_node *node)
{
    char text[1024];
    if (strstr(adz_error_message(), "node \"") != NULL) {
        return adz_error_code();
    }
    const adz_status status = adz_error_take(text, sizeof text);
    if (status == ADZ_OK) {
        return adz_error_format(
            node->type, ADZ_ERR_NULL, "node \"%.60s\" has no result", node->name);
    }
    return adz_error_format(node->type, status, "node \"%.60s\" (opset %lld): %.800s", node->name,
        (long long)node->opset, text);
}

/* Whether a result of the node is one of the graph. */
static bool gives_result(const reader_call *call)
{
    for (size_t i = 0; i < call->node->n_outputs; ++i) {
        const size_t value = call->node->outputs[i];
        if (value != NO_VALUE && call->run->model->values[value].result) {
            return true;
        }
    }
    return false;
}

static adz_tensor *compute(const reader_call *call)
{
    const reader_operator *op = call->node->op;
    if (op->unary != NULL) {
        return op->unary(adzi_reader_in(call, 0));
    }
    if (op->binary != NULL) {
        adz_tensor *a = adzi_reader_in(call, 0);
        return op->binary(a, adzi_reader_in(call, 1));
    }
    return op->run(call);
}

static bool is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64;
}

/* Refuses a result whose dtype is not that of its element type: floats where ONNX gives whole
 * numbers, or other whole numbers. */
static void check_types(const reader_call *call)
{
    const reader_model *model = call->run->model;
    for (size_t i = 0; i < call->node->n_outputs; ++i) {
        const size_t value = call->node->outputs[i];
        const adz_tensor *t = value != NO_VALUE ? call->run->slots[value].t : NULL;
        adz_dtype dtype;
        if (t == NULL || !adzi_reader_dtype(model, model->values[value].element, &dtype)) {
            continue;
        }
        const adz_dtype got = adz_tensor_dtype(t);
        if (got != dtype && !(is_float(got) && is_float(dtype))) {
            adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "results of %s are not supported",
                adzi_reader_element_name(model->values[value].element));
        }
    }
}

/* Computes a node within its name, which so stands in errors, in plans and in files that are
 * written. */
static adz_status compute_named(void *user)
{
    const reader_call *call = user;
    adz_tensor *y = compute(call);
    if (y != NULL && y != ADZ_NONE && adz_error_code() == ADZ_OK) {
        adzi_reader_set(call, 0, call->node->wraps ? adzi_reader_wrapped(y) : y);
    }
    if (y != NULL && adz_error_code() == ADZ_OK) {
        check_types(call);
    }
    if (y == NULL && adz_error_code() == ADZ_OK) {
        adz_error_set(call->node->type, ADZ_ERR_NULL, "there is no result");
    }
    return adz_error_code();
}

/* Computes a node. What it made by the way ends with it. Results of the graph stay in the scope of
 * the module's call, from which its caller borrows them. */
static adz_status compute_node(const reader_call *call)
{
    const reader_node *node = call->node;
    const int done = node->host != NULL ? adzi_reader_run_host(call) : 0;
    if (done != 0) {
        return done > 0 ? ADZ_OK : name_node(node);
    }
    reader_call named = *call;
    adz_scope *scope = gives_result(call) ? NULL : adz_scope_open();
    const adz_status status = adz_error_within(node->name, compute_named, &named);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return status == ADZ_OK ? ADZ_OK : name_node(node);
}

/* Ends the values that no later node reads. */
static void drop_read(reader_run *run, const reader_graph *graph, size_t n)
{
    const reader_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->n_inputs; ++i) {
        const size_t value = node->inputs[i];
        const reader_value *v = value != NO_VALUE ? &run->model->values[value] : NULL;
        if (v != NULL && v->graph->home == graph && v->last == n && !v->result) {
            adzi_reader_drop(run, value);
        }
    }
    for (size_t i = 0; i < node->n_outputs; ++i) {
        const size_t value = node->outputs[i];
        const reader_value *v = value != NO_VALUE ? &run->model->values[value] : NULL;
        if (v != NULL && !v->read && !v->result) {
            adzi_reader_drop(run, value);
        }
    }
}

adz_status adzi_reader_nodes(reader_run *run, const reader_graph *graph)
{
    adz_status status = ADZ_OK;
    for (size_t n = 0; n < graph->n_nodes && status == ADZ_OK; ++n) {
        const reader_node *node = &graph->nodes[n];
        const reader_call call = { run, graph, node };
        if (node->n_outputs > 0 && node->outputs[0] != NO_VALUE &&
            run->model->values[node->outputs[0]].kind == VALUE_CONSTANT) {
            continue; /* a Constant, which the module holds */
        }
        status = compute_node(&call);
        if (status == ADZ_OK) {
            drop_read(run, graph, n);
        }
    }
    return status;
}
