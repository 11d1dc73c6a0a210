/* If, Scan and Loop by adz_branch, adz_scan and adz_while, so that plans and exports have them as
 * branches and loops. */
#include "control.h"

#include <string.h>

#include "adze/loops.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/shape.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

/* A graph as the body of a loop or a branch. */
typedef struct body_of {
    const reader_call *call;
    const reader_graph *graph;
    reader_carried *outputs; /* room for them */
    size_t skipped;          /* inputs of the graph before the first that the body gets */
    bool counts;             /* the body gets the number of its turn behind the states */
    size_t states;
} body_of;

/* A kept tensor, or numbers, as a tensor of the innermost scope. */
static adz_tensor *borrowed(reader_run *run, reader_carried *value)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = value->t != NULL || value->numbers == NULL
                        ? value->t
                        : adzi_reader_from_numbers(run, value->numbers);
    t = adz_scope_return(scope, t);
    adzi_reader_end(value);
    return t;
}

static void give_tensor(reader_run *run, size_t value, adz_tensor *t)
{
    reader_carried given = { .t = adz_keep(t) };
    adzi_reader_give(run, value, &given);
}

/* Runs the graph and hands its outputs from `from` on out. */
static adz_status run_body(const body_of *b, size_t from, adz_tensor **results)
{
    const size_t n = b->graph->n_outputs;
    adz_status status = adzi_reader_run_graph(b->call, b->graph, b->outputs, n);
    for (size_t k = 0; k < n && status == ADZ_OK; ++k) {
        if (k >= from) {
            results[k - from] = borrowed(b->call->run, &b->outputs[k]);
        }
        adzi_reader_end(&b->outputs[k]);
        status = adz_error_code();
    }
    return status;
}

/* ---- numbers that the host reads ------------------------------------------------------------- */

/* Whether the operator reads the numbers of this input on the host: mostly, they decide about
 * shapes. */
static bool reads_on_host(const char *type, size_t input)
{
    static const struct {
        const char *type;
        size_t first; /* it reads inputs from this one on */
    } readers[] = { { "AffineGrid", 1 }, { "BlackmanWindow", 0 }, { "CenterCropPad", 1 },
        { "Clip", 1 }, { "Col2Im", 1 }, { "ConstantOfShape", 0 }, { "CumProd", 1 }, { "CumSum", 1 },
        { "DFT", 1 }, { "Dropout", 1 }, { "Expand", 1 }, { "HammingWindow", 0 },
        { "HannWindow", 0 }, { "MaxUnpool", 2 }, { "NonMaxSuppression", 2 }, { "OneHot", 1 },
        { "Pad", 1 }, { "Range", 0 }, { "Reshape", 1 }, { "Resize", 1 }, { "STFT", 1 },
        { "Slice", 1 }, { "Split", 1 }, { "Squeeze", 1 }, { "Tile", 1 }, { "TopK", 1 },
        { "Trilu", 1 }, { "Unsqueeze", 1 }, { "Upsample", 1 } };
    bool found = strncmp(type, "Reduce", 6) == 0 && input > 0;
    for (size_t i = 0; i < sizeof readers / sizeof *readers && !found; ++i) {
        found = input >= readers[i].first && strcmp(type, readers[i].type) == 0;
    }
    return found;
}

static bool has_graph(const reader_node *node)
{
    bool found = false;
    for (size_t i = 0; i < node->n_attributes && !found; ++i) {
        found = node->attributes[i].graph != NULL;
    }
    return found;
}

/* Whether a node leaves the numbers alone that follow from `changing`, a flag of each value. Notes
 * which of its results follow from them. */
static bool node_fits(const reader_node *node, bool *changing)
{
    bool takes = false, fits = true;
    for (size_t i = 0; i < node->n_inputs && fits; ++i) {
        const bool changes = node->inputs[i] != NO_VALUE && changing[node->inputs[i]];
        takes = takes || changes;
        fits = !changes || !reads_on_host(node->type, i);
    }
    takes = takes && strcmp(node->type, "Shape") != 0 && strcmp(node->type, "Size") != 0;
    for (size_t k = 0; k < node->n_outputs; ++k) {
        if (node->outputs[k] != NO_VALUE) {
            changing[node->outputs[k]] = takes;
        }
    }
    return fits;
}

/* Whether the body can do without the host's knowledge of these values, which differ from turn to
 * turn. `changing` gets room for a flag of each value, and says what follows from them. A graph
 * inside the body may read them by their names. */
static bool body_fits(const reader_call *call, const reader_graph *body, const size_t *values,
    size_t n, bool **changing)
{
    *changing = adzi_reader_alloc(&call->run->arena, call->run->model->n_values, sizeof **changing);
    bool fits = *changing != NULL;
    for (size_t i = 0; i < n && fits; ++i) {
        (*changing)[values[i]] = true;
    }
    for (size_t i = 0; i < body->n_nodes && fits && n > 0; ++i) {
        fits = !has_graph(&body->nodes[i]) && node_fits(&body->nodes[i], *changing);
    }
    return fits;
}

/* The inputs of the body, from `first` on, that stand for states which the host knows. */
static size_t known_states(const reader_call *call, const reader_graph *body, size_t first,
    size_t input, size_t states, size_t *values)
{
    size_t n = 0;
    for (size_t k = 0; k < states; ++k) {
        if (adzi_reader_is_host(call->run, call->node->inputs[input + k])) {
            values[n++] = body->inputs[first + k].value;
        }
    }
    return n;
}

/* ---- If -------------------------------------------------------------------------------------- */

typedef struct both_bodies {
    body_of bodies[2];
} both_bodies;

static adz_status run_then(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)inputs;
    return run_body(&((both_bodies *)user)->bodies[0], 0, results);
}

static adz_status run_else(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)inputs;
    return run_body(&((both_bodies *)user)->bodies[1], 0, results);
}

adz_tensor *adzi_reader_branch(const reader_call *call)
{
    const size_t n = call->node->n_outputs;
    reader_carried *outputs = adzi_reader_alloc(&call->run->arena, n, sizeof *outputs);
    adz_tensor **results = adzi_reader_alloc(&call->run->arena, n, sizeof(adz_tensor *));
    adz_tensor *predicate = adzi_reader_in(call, 0);
    if (outputs == NULL || results == NULL || predicate == NULL) {
        return NULL;
    }
    both_bodies both = {
        { { .call = call, .graph = adzi_reader_graph_of(call, "then_branch"), .outputs = outputs },
            { .call = call,
                .graph = adzi_reader_graph_of(call, "else_branch"),
                .outputs = outputs } }
    };
    if (adz_branch(predicate, run_then, run_else, &both, NULL, 0, n, results) != ADZ_OK) {
        return NULL;
    }
    for (size_t k = 0; k < n; ++k) {
        adzi_reader_set(call, k, results[k]);
    }
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

/* The tensors of a loop. */
typedef struct loop_tensors {
    adz_tensor **carries, **inputs, **results;
    size_t n_carries, n_inputs, n_results;
} loop_tensors;

static bool make_tensors(const reader_call *call, loop_tensors *t)
{
    const size_t n = t->n_carries + t->n_inputs + t->n_carries + t->n_results;
    t->carries = adzi_reader_alloc(&call->run->arena, n + 1, sizeof(adz_tensor *));
    t->inputs = t->carries != NULL ? t->carries + t->n_carries : NULL;
    t->results = t->carries != NULL ? t->inputs + t->n_inputs : NULL;
    return t->carries != NULL;
}

static adz_status scan_body(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const body_of *b = user;
    for (size_t k = 0; k < b->graph->n_inputs; ++k) {
        give_tensor(b->call->run, b->graph->inputs[k].value, inputs[k]);
    }
    return run_body(b, 0, results);
}

static int64_t entry(const reader_call *call, const char *name, size_t i)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, name);
    return a != NULL && i < a->n ? a->ints[i] : 0;
}

/* Whether every scanned input goes backwards. */
static bool is_backward(const reader_call *call, size_t n)
{
    bool backward = true;
    for (size_t i = 0; i < n; ++i) {
        backward = backward && entry(call, "scan_input_directions", i) != 0;
    }
    return backward;
}

/* Scanned input i, with the turns in dimension 0, in the direction of the loop. */
static adz_tensor *scanned_input(const reader_call *call, size_t states, size_t i, bool backward)
{
    adz_tensor *x = adzi_reader_in(call, states + i);
    const int dim =
        x != NULL ? adzi_reader_dim(call, entry(call, "scan_input_axes", i), adz_tensor_rank(x))
                  : -1;
    x = dim > 0 ? adz_movedim(x, ADZ_DIMS(dim), ADZ_DIMS(0)) : x;
    const bool turned = (entry(call, "scan_input_directions", i) != 0) != backward;
    return dim < 0 ? NULL : turned ? adz_flip(x, ADZ_DIMS(0)) : x;
}

static adz_tensor *stacked_output(const reader_call *call, size_t k, adz_tensor *all, bool backward)
{
    const bool turned = (entry(call, "scan_output_directions", k) != 0) != backward;
    const int64_t axis = entry(call, "scan_output_axes", k);
    adz_tensor *y = turned ? adz_flip(all, ADZ_DIMS(0)) : all;
    return axis != 0 ? adz_movedim(y, ADZ_DIMS(0), ADZ_DIMS((int)axis)) : y;
}

/* Whether the inputs have a common number of turns, 1 or more. The other way says what is wrong. */
static bool have_turns(const loop_tensors *t)
{
    bool good = true;
    for (size_t i = 0; i < t->n_inputs && good; ++i) {
        good = adz_tensor_size(t->inputs[i], 0) == adz_tensor_size(t->inputs[0], 0) &&
               adz_tensor_size(t->inputs[i], 0) > 0;
    }
    return good;
}

adz_tensor *adzi_reader_scan(const reader_call *call, bool *fits)
{
    const reader_node *node = call->node;
    const size_t n = (size_t)adzi_reader_int(call, "num_scan_inputs", 1);
    const size_t states = node->n_inputs - n;
    const bool backward = is_backward(call, n);
    body_of body = { .call = call, .graph = adzi_reader_graph_of(call, "body") };
    loop_tensors t = { .n_carries = states, .n_inputs = n, .n_results = node->n_outputs - states };
    bool *changing;
    size_t *known = adzi_reader_alloc(&call->run->arena, states + 1, sizeof *known);
    body.outputs =
        adzi_reader_alloc(&call->run->arena, node->n_outputs + 1, sizeof(reader_carried));
    if (known == NULL || body.outputs == NULL || !make_tensors(call, &t)) {
        return NULL;
    }
    *fits = body_fits(
        call, body.graph, known, known_states(call, body.graph, 0, 0, states, known), &changing);
    for (size_t k = 0; k < states && *fits; ++k) {
        t.carries[k] = adzi_reader_in(call, k);
        *fits = t.carries[k] != NULL;
    }
    for (size_t i = 0; i < n && *fits; ++i) {
        t.inputs[i] = scanned_input(call, states, i, backward);
        *fits = t.inputs[i] != NULL;
    }
    *fits = adz_error_code() != ADZ_OK || (*fits && have_turns(&t));
    if (!*fits || adz_error_code() != ADZ_OK) {
        return NULL;
    }
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = backward;
    if (adz_scan(scan_body, &body, t.carries, states, t.inputs, n, t.n_results, &o, t.results) !=
        ADZ_OK) {
        return NULL;
    }
    for (size_t k = 0; k < node->n_outputs && adz_error_code() == ADZ_OK; ++k) {
        adzi_reader_set(call, k,
            k < states ? t.results[k] : stacked_output(call, k - states, t.results[k], backward));
    }
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Gives the graph of a Loop the number of the turn, true for its condition, and the states. */
static bool give_turn(const body_of *b, adz_tensor *number, adz_tensor *const *states)
{
    reader_run *run = b->call->run;
    adz_tensor *holds = adz_full(ADZ_SHAPE_SCALAR, 1, ADZ_BOOL);
    if (holds == NULL) {
        return false;
    }
    if (number != NULL) {
        give_tensor(run, b->graph->inputs[0].value, number);
    }
    give_tensor(run, b->graph->inputs[1].value, holds);
    for (size_t k = 0; k < b->states; ++k) {
        give_tensor(run, b->graph->inputs[2 + k].value, states[k]);
    }
    return true;
}

static adz_status for_body(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const body_of *b = user;
    return give_turn(b, b->counts ? inputs[b->states] : NULL, inputs) ? run_body(b, 1, results)
                                                                      : adz_error_code();
}

/* The carries are whether the loop goes on, the number of the turn, and the states. */
static adz_tensor *while_holds(adz_tensor *const *carries, void *user)
{
    (void)user;
    return carries[0];
}

static adz_status while_body(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const body_of *b = user;
    if (!give_turn(b, inputs[1], inputs + 2) || run_body(b, 0, results) != ADZ_OK) {
        return adz_error_code();
    }
    for (size_t k = b->states; k > 0; --k) {
        results[1 + k] = results[k];
    }
    results[0] = adz_reshape(adz_ne_number(results[0], 0), ADZ_SHAPE_SCALAR);
    results[1] = adz_add_number(inputs[1], 1);
    return adz_error_code();
}

/* Whether the body gives its condition on, or a constant that holds: the bound ends the loop. */
static bool always_goes_on(const reader_call *call, const reader_graph *body)
{
    size_t value = body->outputs[0].value;
    for (size_t i = body->n_nodes; i > 0; --i) {
        const reader_node *node = &body->nodes[i - 1];
        if (node->n_outputs > 0 && node->outputs[0] == value &&
            strcmp(node->type, "Identity") == 0) {
            value = node->inputs[0];
        }
    }
    if (value == body->inputs[1].value) {
        return true;
    }
    const reader_value *v = &call->run->model->values[value];
    if ((v->kind != VALUE_CONSTANT && v->kind != VALUE_WEIGHT) ||
        !adzi_reader_is_host(call->run, value)) {
        return false;
    }
    const adz_tensor *t = adzi_reader_value(call->run, value);
    return t != NULL && adz_tensor_numel(t) == 1 && adz_item(t) != 0;
}

/* Whether a state keeps its shape, as the graph declares it. */
static bool keeps_shape(const reader_declared *in, const reader_declared *out)
{
    bool same = in->shape.rank >= 0 && in->shape.rank == out->shape.rank;
    for (int d = 0; d < in->shape.rank && same; ++d) {
        same = in->shape.sizes[d] >= 0 && in->shape.sizes[d] == out->shape.sizes[d];
    }
    return same;
}

enum { MOST_TURNS = 65535, NO_BOUND = INT32_MAX };

/* What is known of a Loop before it runs. */
typedef struct loop_facts {
    size_t states, lists;
    bool *changing; /* what follows from numbers that the host knows: body_fits */
    bool counts;    /* the body reads the number of its turn */
    bool fixed;     /* it makes `most` turns, whatever it computes */
    int64_t most;   /* turns; -1 without a bound */
} loop_facts;

/* A number of one element, if the host knows it; `otherwise` if it is left out. */
static bool known_number(const reader_call *call, size_t i, int64_t otherwise, int64_t *number)
{
    *number = otherwise;
    if (!adzi_reader_has(call, i)) {
        return true;
    }
    const reader_numbers *numbers =
        adzi_reader_is_host(call->run, call->node->inputs[i]) ? adzi_reader_host(call, i) : NULL;
    *number = numbers != NULL && numbers->n == 1 ? numbers->at[0].i : otherwise;
    return numbers != NULL && numbers->n == 1;
}

/* False if the loop has to run turn by turn. */
static bool find_facts(const reader_call *call, const reader_graph *body, loop_facts *f)
{
    const reader_model *model = call->run->model;
    int64_t begins = 1;
    f->states = call->node->n_inputs > 2 ? call->node->n_inputs - 2 : 0;
    f->lists = call->node->n_outputs - f->states;
    f->counts = model->values[body->inputs[0].value].read;
    size_t *known = adzi_reader_alloc(&call->run->arena, f->states + 1, sizeof *known);
    if (known == NULL) {
        return false;
    }
    size_t n = known_states(call, body, 2, 2, f->states, known);
    known[n] = body->inputs[0].value;
    n += f->counts ? 1 : 0;
    bool fits = body_fits(call, body, known, n, &f->changing) &&
                known_number(call, 0, -1, &f->most) && f->states + f->lists > 0;
    for (size_t k = 0; k < f->states && fits; ++k) {
        fits = keeps_shape(&body->inputs[2 + k], &body->outputs[1 + k]);
    }
    f->fixed = known_number(call, 1, 1, &begins) && begins != 0 && always_goes_on(call, body);
    return fits;
}

static bool take_states(const reader_call *call, const loop_facts *f, adz_tensor **carries)
{
    bool good = true;
    for (size_t k = 0; k < f->states && good; ++k) {
        carries[k] = adzi_reader_in(call, 2 + k);
        good = carries[k] != NULL;
    }
    return good;
}

static adz_tensor *run_for(const reader_call *call, body_of *body, const loop_facts *f)
{
    loop_tensors t = { .n_carries = f->states, .n_inputs = f->counts, .n_results = f->lists };
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = f->most;
    body->counts = f->counts;
    if (!make_tensors(call, &t) || !take_states(call, f, t.carries)) {
        return NULL;
    }
    if (f->counts) {
        t.inputs[0] = adz_arange(0, (double)f->most, 1, ADZ_I64);
    }
    if (adz_scan(for_body, body, t.carries, t.n_carries, t.inputs, t.n_inputs, t.n_results, &o,
            t.results) != ADZ_OK) {
        return NULL;
    }
    for (size_t k = 0; k < call->node->n_outputs && adz_error_code() == ADZ_OK; ++k) {
        adzi_reader_set(call, k, t.results[k]);
    }
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

static adz_tensor *run_while(const reader_call *call, body_of *body, const loop_facts *f)
{
    loop_tensors t = { .n_carries = f->states + 2 };
    if (!make_tensors(call, &t) || !take_states(call, f, t.carries + 2)) {
        return NULL;
    }
    adz_tensor *holds = adzi_reader_has(call, 1) ? adzi_reader_in(call, 1)
                                                 : adz_full(ADZ_SHAPE_SCALAR, 1, ADZ_BOOL);
    t.carries[0] = adz_reshape(adz_ne_number(holds, 0), ADZ_SHAPE_SCALAR);
    t.carries[1] = adz_full(ADZ_SHAPE_SCALAR, 0, ADZ_I64);
    if (adz_while(while_holds, while_body, body, t.carries, t.n_carries,
            f->most < 0 ? NO_BOUND : f->most, t.results, NULL, NULL) != ADZ_OK) {
        return NULL;
    }
    for (size_t k = 0; k < f->states && adz_error_code() == ADZ_OK; ++k) {
        adzi_reader_set(call, k, t.results[2 + k]);
    }
    return adz_error_code() == ADZ_OK ? ADZ_NONE : NULL;
}

adz_tensor *adzi_reader_loop(const reader_call *call, bool *fits)
{
    loop_facts f = { 0 };
    body_of body = { .call = call, .graph = adzi_reader_graph_of(call, "body") };
    body.outputs =
        adzi_reader_alloc(&call->run->arena, body.graph->n_outputs, sizeof(reader_carried));
    *fits = body.outputs == NULL || find_facts(call, body.graph, &f);
    if (!*fits || body.outputs == NULL || adz_error_code() != ADZ_OK) {
        *fits = *fits || adz_error_code() != ADZ_OK;
        return NULL;
    }
    body.states = f.states;
    if (f.fixed && f.most > 0 && f.most <= MOST_TURNS) {
        return run_for(call, &body, &f);
    }
    /* Numbers that the host knows end the loop for a plan, too. */
    *fits = !f.fixed && f.lists == 0 &&
            (adz_is_exporting() || !f.changing[body.graph->outputs[0].value]);
    return *fits ? run_while(call, &body, &f) : NULL;
}
