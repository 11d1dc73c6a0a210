/* If, Loop and Scan: nodes that run graphs inside them. */
#include "control.h"

#include "adze/ops/compare.h"
#include "adze/ops/shape.h"

void adzi_reader_end(reader_carried *value)
{
    if (value->t != NULL) {
        adz_release(&value->t);
    }
    *value = (reader_carried){ 0 };
}

/* What a value of a run is. The tensor is kept, for it may end with the value. */
static reader_carried take(reader_run *run, size_t value)
{
    if (run->slots[value].numbers != NULL) {
        return (reader_carried){ .numbers = run->slots[value].numbers };
    }
    adz_tensor *t = adzi_reader_value(run, value);
    return (reader_carried){ .t = t != NULL ? adz_keep(t) : NULL };
}

void adzi_reader_give(reader_run *run, size_t value, reader_carried *given)
{
    adzi_reader_drop(run, value);
    run->slots[value] =
        (reader_slot){ .t = given->t, .owned = given->t != NULL, .numbers = given->numbers };
    *given = (reader_carried){ 0 };
}

/* Sets output i of the node. */
static void put(const reader_call *call, size_t i, reader_carried *value)
{
    if (value->numbers != NULL && adzi_reader_wants(call, i)) {
        adzi_reader_give(call->run, call->node->outputs[i], value);
    } else if (value->t != NULL) {
        adzi_reader_set(call, i, adzi_reader_another(value->t));
    }
    adzi_reader_end(value);
}

reader_graph *adzi_reader_graph_of(const reader_call *call, const char *name)
{
    return adzi_reader_attribute(call->node, name)->graph;
}

adz_status adzi_reader_run_graph(
    const reader_call *call, const reader_graph *graph, reader_carried *outputs, size_t n)
{
    adz_scope *scope = adz_scope_open();
    adz_status status = adzi_reader_nodes(call->run, graph);
    for (size_t i = 0; i < n && status == ADZ_OK; ++i) {
        outputs[i] = take(call->run, graph->outputs[i].value);
        status = adz_error_code();
    }
    for (size_t i = 0; i < graph->n_outputs; ++i) {
        const reader_value *v = &call->run->model->values[graph->outputs[i].value];
        if (v->graph == graph) {
            adzi_reader_drop(call->run, graph->outputs[i].value);
        }
    }
    for (size_t i = 0; i < graph->n_inputs; ++i) {
        adzi_reader_drop(call->run, graph->inputs[i].value);
    }
    adz_scope_close(scope);
    return status;
}

/* A number of one element that the host knows, or that is read. */
static bool read_number(const reader_call *call, size_t i, int64_t *number)
{
    const reader_numbers *numbers = adzi_reader_host(call, i);
    if (numbers != NULL && numbers->n != 1) {
        adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "input %zu must have one element, not %zu", i, numbers->n);
    }
    *number = numbers != NULL && numbers->n == 1 ? numbers->at[0].i : 0;
    return adz_error_code() == ADZ_OK;
}

/* Whether a condition that a graph computed holds. */
static bool read_condition(const reader_call *call, const reader_carried *value, bool *holds)
{
    if (value->numbers != NULL && value->numbers->n == 1) {
        *holds = value->numbers->at[0].i != 0;
        return true;
    }
    if (value->t == NULL || adz_tensor_numel(value->t) != 1) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "the condition must have one element");
        return false;
    }
    *holds = adz_item(value->t) != 0;
    if (adz_error_code() != ADZ_OK) {
        const adz_status status = adz_error_take(NULL, 0);
        adzi_reader_fail(call, status,
            "its condition is computed from the network's inputs, so it can neither be captured nor exported");
        return false;
    }
    return true;
}

static reader_carried *make_room(const reader_call *call, size_t n)
{
    return adzi_reader_alloc(&call->run->arena, n > 0 ? n : 1, sizeof(reader_carried));
}

static void end_all(reader_carried *values, size_t n)
{
    for (size_t i = 0; values != NULL && i < n; ++i) {
        adzi_reader_end(&values[i]);
    }
}

/* ---- If ------------------------------------------------------------------------------------- */

static adz_status check_branch(const reader_node *node, const char *name)
{
    const reader_attribute *a = adzi_reader_attribute(node, name);
    if (a == NULL || a->graph == NULL || a->graph->n_inputs != 0 ||
        a->graph->n_outputs != node->n_outputs) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s): attribute \"%s\" must be a graph without inputs that gives %zu values",
            node->name, node->type, name, node->n_outputs);
    }
    return ADZ_OK;
}

static adz_status check_if(const reader_model *model, const reader_node *node)
{
    (void)model;
    const adz_status status = check_branch(node, "then_branch");
    return status == ADZ_OK ? check_branch(node, "else_branch") : status;
}

static adz_tensor *run_if(const reader_call *call)
{
    int64_t holds;
    const size_t n = call->node->n_outputs;
    if (!adzi_reader_is_host(call->run, call->node->inputs[0])) {
        return adzi_reader_branch(call);
    }
    reader_carried *values = make_room(call, n);
    if (values == NULL || !read_number(call, 0, &holds)) {
        return NULL;
    }
    const reader_graph *branch =
        adzi_reader_graph_of(call, holds != 0 ? "then_branch" : "else_branch");
    if (adzi_reader_run_graph(call, branch, values, n) == ADZ_OK) {
        for (size_t i = 0; i < n; ++i) {
            put(call, i, &values[i]);
        }
    }
    end_all(values, n);
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

/* ---- Loop ----------------------------------------------------------------------------------- */

static adz_status check_loop(const reader_model *model, const reader_node *node)
{
    (void)model;
    const reader_attribute *a = adzi_reader_attribute(node, "body");
    const size_t states = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
    if (a == NULL || a->graph == NULL || a->graph->n_inputs != states + 2 ||
        a->graph->n_outputs != node->n_outputs + 1 || node->n_outputs < states) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s): its body must take %zu values and give %zu", node->name,
            node->type, states + 2, node->n_outputs + 1);
    }
    for (size_t i = 2; i < node->n_inputs; ++i) {
        if (node->inputs[i] == NO_VALUE) {
            return adz_error_format(LOAD, ADZ_ERR_FORMAT,
                "node \"%.60s\" (%.60s, opset %lld): input %zu is left out, but needed", node->name,
                node->type, (long long)node->opset, i);
        }
    }
    return ADZ_OK;
}

/* What a Loop gathers: tensors of every turn. */
typedef struct gathered {
    adz_tensor **at;
    size_t n, room;
} gathered;

static adz_status gather(const reader_call *call, gathered *list, reader_carried *value)
{
    if (list->n == list->room) {
        const size_t room = list->room == 0 ? 16 : 2 * list->room;
        adz_tensor **at = adzi_reader_alloc(&call->run->arena, room, sizeof(adz_tensor *));
        for (size_t i = 0; i < list->n && at != NULL; ++i) {
            at[i] = list->at[i];
        }
        if (at == NULL) {
            return ADZ_ERR_MEMORY;
        }
        list->at = at;
        list->room = room;
    }
    adz_tensor *t = value->t;
    if (t == NULL && value->numbers != NULL) {
        t = adzi_reader_from_numbers(call->run, value->numbers);
        t = t != NULL ? adz_keep(t) : NULL;
    }
    value->t = NULL;
    list->at[list->n] = t;
    list->n += t != NULL;
    return adz_error_code();
}

/* The turns in the order of time, or against it, along a new dimension. */
static adz_tensor *stacked(
    const reader_call *call, gathered *list, size_t i, int64_t dim, bool backward)
{
    if (list->n == 0) {
        return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
            "output %zu gathers values of a graph that runs zero times, whose shapes are unknown",
            i);
    }
    for (size_t k = 0; backward && k < list->n / 2; ++k) {
        adz_tensor *t = list->at[k];
        list->at[k] = list->at[list->n - 1 - k];
        list->at[list->n - 1 - k] = t;
    }
    return adz_stack(list->at, list->n, (int)dim);
}

static void end_gathered(gathered *lists, size_t n)
{
    for (size_t i = 0; lists != NULL && i < n; ++i) {
        for (size_t k = 0; k < lists[i].n; ++k) {
            adz_release(&lists[i].at[k]);
        }
    }
}

/* The number of a turn, or a truth value. */
static reader_carried host_number(const reader_call *call, adz_dtype dtype, int64_t number)
{
    reader_numbers *numbers = adzi_reader_numbers(call, dtype, ADZ_SHAPE_SCALAR);
    if (numbers != NULL) {
        numbers->at[0].i = number;
    }
    return (reader_carried){ .numbers = numbers };
}

/* One turn of a Loop: outputs become the states of the next one. */
static adz_status turn(const reader_call *call, int64_t i, reader_carried *outputs, size_t states,
    gathered *lists, bool *goes_on)
{
    const reader_graph *body = adzi_reader_graph_of(call, "body");
    reader_carried count = host_number(call, ADZ_I64, i), holds = host_number(call, ADZ_BOOL, 1);
    if (count.numbers == NULL || holds.numbers == NULL) {
        return adz_error_code();
    }
    adzi_reader_give(call->run, body->inputs[0].value, &count);
    adzi_reader_give(call->run, body->inputs[1].value, &holds);
    for (size_t k = 0; k < states; ++k) {
        adzi_reader_give(call->run, body->inputs[2 + k].value, &outputs[1 + k]);
    }
    adz_status status = adzi_reader_run_graph(call, body, outputs, body->n_outputs);
    if (status == ADZ_OK && !read_condition(call, &outputs[0], goes_on)) {
        status = adz_error_code();
    }
    adzi_reader_end(&outputs[0]);
    for (size_t k = 1 + states; k < body->n_outputs && status == ADZ_OK; ++k) {
        status = gather(call, &lists[k - 1 - states], &outputs[k]);
        adzi_reader_end(&outputs[k]);
    }
    return status;
}

static adz_tensor *run_loop(const reader_call *call)
{
    const reader_node *node = call->node;
    const size_t states = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
    const size_t n_lists = node->n_outputs - states;
    int64_t most = INT64_MAX, holds = 1;
    bool fits;
    adz_tensor *done = adzi_reader_loop(call, &fits);
    if (fits) {
        return done;
    }
    reader_carried *outputs = make_room(call, node->n_outputs + 1);
    gathered *lists = adzi_reader_alloc(&call->run->arena, n_lists + 1, sizeof *lists);
    if (outputs == NULL || lists == NULL ||
        (adzi_reader_has(call, 0) && !read_number(call, 0, &most)) ||
        (adzi_reader_has(call, 1) && !read_number(call, 1, &holds))) {
        return NULL;
    }
    for (size_t k = 0; k < states; ++k) {
        outputs[1 + k] = take(call->run, node->inputs[2 + k]);
    }
    bool goes_on = holds != 0;
    adz_status status = adz_error_code();
    for (int64_t i = 0; i < most && goes_on && status == ADZ_OK; ++i) {
        status = turn(call, i, outputs, states, lists, &goes_on);
    }
    for (size_t k = 0; k < states && status == ADZ_OK; ++k) {
        put(call, k, &outputs[1 + k]);
    }
    for (size_t k = 0; k < n_lists && status == ADZ_OK; ++k) {
        if (adzi_reader_wants(call, states + k)) {
            adzi_reader_set(call, states + k, stacked(call, &lists[k], states + k, 0, false));
        }
        status = adz_error_code();
    }
    end_all(outputs, node->n_outputs + 1);
    end_gathered(lists, n_lists);
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

/* ---- Scan ----------------------------------------------------------------------------------- */

static adz_status check_scan(const reader_model *model, const reader_node *node)
{
    (void)model;
    const reader_attribute *a = adzi_reader_attribute(node, "body");
    const reader_attribute *scanned = adzi_reader_attribute(node, "num_scan_inputs");
    if (a == NULL || a->graph == NULL || scanned == NULL || scanned->i < 1 ||
        (uint64_t)scanned->i > node->n_inputs || a->graph->n_inputs != node->n_inputs ||
        a->graph->n_outputs != node->n_outputs ||
        node->n_outputs < node->n_inputs - (size_t)scanned->i) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s): its body must take %zu values and give %zu, and \"num_scan_inputs\" says how many are scanned",
            node->name, node->type, node->n_inputs, node->n_outputs);
    }
    return ADZ_OK;
}

/* Entry i of a list of attributes; 0 without the list. */
static int64_t entry(const reader_call *call, const char *name, size_t i)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, name);
    return a != NULL && i < a->n ? a->ints[i] : 0;
}

/* One scanned input. */
typedef struct scanned {
    adz_tensor *t;
    int dim;
    bool backward;
} scanned;

/* Reads the scanned inputs and their common number of turns, -1 with an error recorded. */
static int64_t read_scanned(const reader_call *call, size_t states, scanned *inputs)
{
    int64_t turns = -1;
    for (size_t i = 0; i + states < call->node->n_inputs; ++i) {
        scanned *in = &inputs[i];
        in->t = adzi_reader_in(call, states + i);
        if (in->t == NULL) {
            return -1;
        }
        in->dim = adzi_reader_dim(call, entry(call, "scan_input_axes", i), adz_tensor_rank(in->t));
        in->backward = entry(call, "scan_input_directions", i) != 0;
        if (in->dim < 0) {
            return -1;
        }
        if (turns >= 0 && turns != adz_tensor_size(in->t, in->dim)) {
            adzi_reader_fail(call, ADZ_ERR_SHAPE,
                "input %zu%s is to be scanned along dimension %d, where others have %lld elements",
                states + i, adz_text_shape(in->t), in->dim, (long long)turns);
            return -1;
        }
        turns = adz_tensor_size(in->t, in->dim);
    }
    return turns;
}

/* One turn of a Scan. */
static adz_status scan_turn(const reader_call *call, const scanned *inputs, int64_t i,
    int64_t turns, reader_carried *outputs, size_t states, gathered *lists)
{
    const reader_graph *body = adzi_reader_graph_of(call, "body");
    adz_scope *scope = adz_scope_open();
    for (size_t k = 0; k < states; ++k) {
        adzi_reader_give(call->run, body->inputs[k].value, &outputs[k]);
    }
    for (size_t k = states; k < body->n_inputs; ++k) {
        const scanned *in = &inputs[k - states];
        adz_tensor *t = adz_select(in->t, in->dim, in->backward ? turns - 1 - i : i);
        reader_carried value = { .t = t != NULL ? adz_keep(t) : NULL };
        adzi_reader_give(call->run, body->inputs[k].value, &value);
    }
    adz_status status = adz_error_code();
    status =
        status == ADZ_OK ? adzi_reader_run_graph(call, body, outputs, body->n_outputs) : status;
    for (size_t k = states; k < body->n_outputs && status == ADZ_OK; ++k) {
        status = gather(call, &lists[k - states], &outputs[k]);
        adzi_reader_end(&outputs[k]);
    }
    adz_scope_close(scope);
    return status;
}

static adz_tensor *run_scan(const reader_call *call)
{
    const reader_node *node = call->node;
    const size_t n_scanned = (size_t)adzi_reader_int(call, "num_scan_inputs", 1);
    const size_t states = node->n_inputs - n_scanned, n_lists = node->n_outputs - states;
    bool fits;
    adz_tensor *done = adzi_reader_scan(call, &fits);
    if (fits) {
        return done;
    }
    scanned *inputs = adzi_reader_alloc(&call->run->arena, n_scanned, sizeof *inputs);
    reader_carried *outputs = make_room(call, node->n_outputs);
    gathered *lists = adzi_reader_alloc(&call->run->arena, n_lists + 1, sizeof *lists);
    if (inputs == NULL || outputs == NULL || lists == NULL) {
        return NULL;
    }
    const int64_t turns = read_scanned(call, states, inputs);
    for (size_t k = 0; k < states && turns >= 0; ++k) {
        outputs[k] = take(call->run, node->inputs[k]);
    }
    adz_status status = adz_error_code();
    for (int64_t i = 0; i < turns && status == ADZ_OK; ++i) {
        status = scan_turn(call, inputs, i, turns, outputs, states, lists);
    }
    for (size_t k = 0; k < states && status == ADZ_OK; ++k) {
        put(call, k, &outputs[k]);
    }
    for (size_t k = 0; k < n_lists && status == ADZ_OK; ++k) {
        if (adzi_reader_wants(call, states + k)) {
            adzi_reader_set(call, states + k,
                stacked(call, &lists[k], states + k, entry(call, "scan_output_axes", k),
                    entry(call, "scan_output_directions", k) != 0));
        }
        status = adz_error_code();
    }
    end_all(outputs, node->n_outputs);
    end_gathered(lists, n_lists);
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

#define SCAN_ATTRIBUTES                                                                      \
    "body:g num_scan_inputs:i scan_input_axes:I scan_input_directions:I scan_output_axes:I " \
    "scan_output_directions:I"

const reader_operator adzi_reader_control[] = {
    { "If", 1, 0, 1, 1, MANY, "then_branch:g else_branch:g", 1u, .run = run_if, .check = check_if },
    { "Loop", 1, 0, 0, MANY, MANY, "body:g", 3u, .run = run_loop, .check = check_loop },
    { "Scan", 9, 0, 1, MANY, MANY, SCAN_ATTRIBUTES, 0, .run = run_scan, .check = check_scan },
    { 0 },
};
