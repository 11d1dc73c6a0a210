/* Functions of a model: a call becomes the nodes of the function. Their names have a scope of their
 * own, in which the names of inputs stand for the values of the call. */
#include <string.h>

#include "model.h"

/* Fields of the message of a function. */
enum {
    NAME = 1,
    INPUT = 4,
    OUTPUT = 5,
    NODE = 7,
    OPSET = 9,
    DOMAIN = 10,
    DEFAULT = 11,
    OVERLOAD = 13
};

enum { MOST_SMALL = 1 << 20 }; /* bytes of functions that any file may repeat 16 times */

adz_status adzi_reader_functions(reader_model *model, reader_bytes file)
{
    size_t n = 0;
    reader_field f;
    if (!adzi_reader_count(file, 25, &n)) {
        return adzi_reader_malformed("model");
    }
    model->functions = n > 0 ? adzi_reader_alloc(&model->arena, n, sizeof *model->functions) : NULL;
    while (n > 0 && adz_error_code() == ADZ_OK && adzi_reader_next(&file, &f) > 0) {
        if (f.number != 25 || f.kind != WIRE_BYTES) {
            continue;
        }
        reader_function *function = &model->functions[model->n_functions++];
        function->message = f.bytes;
        if (!adzi_reader_part(f.bytes, NAME, &function->name) ||
            !adzi_reader_part(f.bytes, DOMAIN, &function->domain) ||
            !adzi_reader_part(f.bytes, OVERLOAD, &function->overload)) {
            return adzi_reader_malformed("function");
        }
    }
    return adz_error_code();
}

const reader_function *adzi_reader_function(
    const reader_model *model, const char *domain, const char *type, reader_bytes overload)
{
    for (size_t i = 0; i < model->n_functions; ++i) {
        const reader_function *f = &model->functions[i];
        if (adzi_reader_is(f->name, type) && adzi_reader_is(f->domain, domain) &&
            f->overload.size == overload.size &&
            (overload.size == 0 || memcmp(f->overload.at, overload.at, overload.size) == 0)) {
            return f;
        }
    }
    return NULL;
}

/* ---- attributes ----------------------------------------------------------------------------- */

reader_bytes adzi_reader_default(const reader_function *function, reader_bytes name)
{
    reader_bytes rest = function->message, found;
    reader_field f;
    while (adzi_reader_next(&rest, &f) > 0) {
        if (f.number == DEFAULT && f.kind == WIRE_BYTES && adzi_reader_part(f.bytes, 1, &found) &&
            found.size == name.size && memcmp(found.at, name.at, name.size) == 0) {
            return f.bytes;
        }
    }
    return (reader_bytes){ 0 };
}

/* ---- a call --------------------------------------------------------------------------------- */

/* A name in a scope that stands for a value. */
static adz_status stand_for(
    reader_model *model, const reader_graph *scope, reader_bytes name, size_t value)
{
    size_t alias;
    const adz_status status = adzi_reader_define(model, scope, name, VALUE_ALIAS, &alias);
    if (status == ADZ_OK) {
        model->values[alias].target = value;
    }
    return status;
}

static adz_status read_opset(reader_graph *scope, reader_bytes message)
{
    int64_t version = 0;
    if (!adzi_reader_opset(message, &version)) {
        return adzi_reader_malformed("opset");
    }
    scope->opset = version != 0 ? version : scope->opset;
    return ADZ_OK;
}

/* The scope of a call, with the names of its inputs. */
static adz_status open_scope(
    reader_model *model, reader_graph *scope, const reader_node *call, reader_bytes message)
{
    size_t inputs = 0;
    reader_field f;
    adz_status status = ADZ_OK;
    while (status == ADZ_OK && adzi_reader_next(&message, &f) > 0) {
        if (f.number == OPSET && f.kind == WIRE_BYTES) {
            status = read_opset(scope, f.bytes);
        } else if (f.number == INPUT && f.kind == WIRE_BYTES) {
            const size_t value = inputs < call->n_inputs ? call->inputs[inputs] : NO_VALUE;
            status = stand_for(model, scope, f.bytes, value == NO_VALUE ? LEFT_OUT : value);
            ++inputs;
        }
    }
    if (status == ADZ_OK && call->n_inputs > inputs) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" gives %zu inputs to the function %.60s, which takes %zu", call->name,
            call->n_inputs, call->type, inputs);
    }
    if (status == ADZ_OK && (scope->opset < 6 || scope->opset > 28)) {
        return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
            "the function %.60s has opset %lld; opsets 6 to 28 are read", call->type,
            (long long)scope->opset);
    }
    return status;
}

/* The value that the function gives as output i; NO_VALUE if it has none. */
static size_t output_of(
    const reader_model *model, const reader_graph *scope, reader_bytes message, size_t i)
{
    reader_field f;
    while (adzi_reader_next(&message, &f) > 0) {
        if (f.number == OUTPUT && f.kind == WIRE_BYTES && i-- == 0) {
            return adzi_reader_lookup(model, scope, f.bytes);
        }
    }
    return NO_VALUE;
}

/* The names of the call's outputs stand for the function's values. */
static adz_status give_outputs(reader_model *model, reader_graph *graph, const reader_graph *scope,
    const reader_node *call, reader_bytes node)
{
    size_t i = 0;
    reader_field f;
    adz_status status = ADZ_OK;
    while (status == ADZ_OK && adzi_reader_next(&node, &f) > 0) {
        if (f.number != 2 || f.kind != WIRE_BYTES) {
            continue;
        }
        const size_t value = output_of(model, scope, scope->function->message, i++);
        if (f.bytes.size == 0) {
            continue;
        }
        if (value == NO_VALUE || value == LEFT_OUT) {
            return adz_error_format(LOAD, ADZ_ERR_FORMAT,
                "node \"%.60s\": the function %.60s does not give output %zu", call->name,
                call->type, i - 1);
        }
        status = stand_for(model, graph, f.bytes, value);
    }
    return status;
}

static adz_status too_many(const reader_node *call)
{
    return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED,
        "node \"%.60s\": the functions of the file have too many nodes for its length", call->name);
}

/* Calls of functions inside functions multiply: a small file may not become a large network. */
static adz_status count_node(reader_model *model, const reader_node *call)
{
    return ++model->n_inlined <= model->file.size / 4 + 16384 ? ADZ_OK : too_many(call);
}

/* Each call reads the function again, and has its constants and inner graphs again. */
static adz_status count_call(
    reader_model *model, const reader_node *call, const reader_function *function)
{
    model->inlined_bytes += function->message.size;
    return model->inlined_bytes / 16 <= model->file.size + MOST_SMALL ? ADZ_OK : too_many(call);
}

adz_status adzi_reader_inline(reader_model *model, reader_graph *graph, const reader_node *call,
    const reader_function *function, reader_bytes node)
{
    reader_graph *scope =
        count_call(model, call, function) == ADZ_OK ? adzi_reader_scope(model, graph) : NULL;
    if (scope == NULL) {
        return adz_error_code();
    }
    scope->home = graph->home;
    scope->call = call;
    scope->function = function;
    adz_status status = open_scope(model, scope, call, function->message);
    reader_bytes rest = function->message;
    reader_field f;
    while (status == ADZ_OK && adzi_reader_next(&rest, &f) > 0) {
        if (f.number == NODE && f.kind == WIRE_BYTES) {
            status = count_node(model, call);
            status = status == ADZ_OK ? adzi_reader_add_node(model, scope, f.bytes) : status;
        }
    }
    return status == ADZ_OK ? give_outputs(model, graph, scope, call, node) : status;
}
