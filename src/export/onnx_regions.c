/* Loops and branches as nodes of ONNX: Scan, Loop and If, whose bodies are graphs.
 *
 * The nodes of a body are written where those of the graph around it were, which wait in the
 * meantime. A body reads values of the graphs around it by their names. What it gives gets a name
 * of its own by an Identity, because a graph may not give one value twice or one from outside.
 *
 * A Loop takes the condition of its first step as an input, and computes that of the next step in
 * its body. So the nodes of a condition are written twice, with other names. */
#include <string.h>

#include "autograd/regions.h"
#include "export/onnx.h"

typedef const char *name_of;

adzi_onnx_printer adzi_onnx_print_scan, adzi_onnx_print_scan_end, adzi_onnx_print_while,
    adzi_onnx_print_while_test, adzi_onnx_print_while_end, adzi_onnx_print_branch,
    adzi_onnx_print_branch_else, adzi_onnx_print_branch_end;

/* ---- the region that is printed -------------------------------------------------------------- */

static adzi_onnx_region *innermost(const adzi_onnx *g)
{
    return &g->regions[g->n_regions - 1];
}

static const adzi_traced_call *begin_of(const adzi_onnx *g)
{
    return &g->trace->calls[innermost(g)->begin];
}

static const adzi_region_attr *attr_of(const adzi_onnx *g)
{
    return g->call->attr;
}

static bool fail_memory(adzi_onnx *g, size_t bytes)
{
    if (!g->failed) {
        adzi_fail_memory(g->op, bytes);
    }
    g->failed = true;
    return false;
}

static bool open_region(adzi_onnx *g)
{
    if (!adzi_grow(&g->regions, &g->regions_capacity, g->n_regions + 1, sizeof *g->regions)) {
        return fail_memory(g, sizeof *g->regions);
    }
    g->regions[g->n_regions++] = (adzi_onnx_region){ .begin = (size_t)(g->call - g->trace->calls) };
    return true;
}

/* Ends the region, unless the graph has failed: then the writer ends all of them. */
static bool close_region(adzi_onnx *g)
{
    if (!g->failed) {
        adzi_free(innermost(g)->own, innermost(g)->own_bytes);
        --g->n_regions;
    }
    return !g->failed;
}

/* The nodes that follow belong to a body. */
static void enter_body(adzi_onnx *g)
{
    innermost(g)->outside = g->nodes;
    memset(&g->nodes, 0, sizeof g->nodes);
}

/* The nodes that follow belong to the graph around the body. Returns the body's. */
static adzi_message leave_body(adzi_onnx *g)
{
    adzi_message body = g->nodes;
    g->nodes = innermost(g)->outside;
    memset(&innermost(g)->outside, 0, sizeof g->nodes);
    adzi_pb_string(&body, ADZI_ONNX_GRAPH_NAME, "body");
    return body;
}

static bool is_used(const adzi_onnx *g, int value)
{
    return g->trace->values[value].used;
}

static bool is_carried(const adzi_onnx *g, int k)
{
    return is_used(g, begin_of(g)->out[k]) || is_used(g, g->call->out[k]);
}

/* A new name for a value, as an output of the body that is printed. */
static const char *give(adzi_onnx *g, int value)
{
    const char *name = adzi_onnx_temporary(g), *from = adzi_onnx_name(g, value);
    adzi_onnx_node(g, "Identity", ADZI_NAMES(from), ADZI_NAMES(name), ADZI_NO_ATTRS);
    return name;
}

/* A value of one element as a bool of rank 0. */
static const char *truth(adzi_onnx *g, int value)
{
    const adzi_traced_value *v = &g->trace->values[value];
    const char *name = adzi_onnx_name(g, value);
    name = name != NULL ? adzi_onnx_cast(g, name, v->dtype, ADZ_BOOL) : NULL;
    return name != NULL && v->rank > 0 ? adzi_onnx_step(g, "Squeeze", name, NULL) : name;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

bool adzi_onnx_print_scan(adzi_onnx *g)
{
    if (open_region(g)) {
        enter_body(g);
    }
    return !g->failed;
}

/* Whether input or result k of the steps is needed. */
static bool is_scanned(const adzi_onnx *g, int k)
{
    return k < begin_of(g)->n_in && is_used(g, begin_of(g)->out[k]);
}

static bool is_stacked(const adzi_onnx *g, int k)
{
    return k < g->call->n_out && is_used(g, g->call->out[k]);
}

/* What the body takes, and what it gives under the names `given`. Returns the number of inputs of
 * single steps. */
static int64_t describe_scan(adzi_onnx *g, adzi_message *body, const name_of *given)
{
    const adzi_traced_call *begin = begin_of(g), *end = g->call;
    const int carries = attr_of(g)->carries;
    int64_t scanned = 0;
    for (int k = 0; k < begin->n_in; ++k) {
        if (k < carries ? is_carried(g, k) : is_scanned(g, k)) {
            adzi_onnx_add_info(
                body, g, ADZI_ONNX_GRAPH_INPUT, begin->out[k], adzi_onnx_name(g, begin->out[k]));
            scanned += k >= carries;
        }
    }
    for (int k = 0; k < end->n_in; ++k) {
        if (given[k] != NULL) {
            adzi_onnx_add_info(body, g, ADZI_ONNX_GRAPH_OUTPUT, end->in[k], given[k]);
        }
    }
    if (scanned == 0) { /* a Scan has an input, by which it knows its steps */
        adzi_onnx_add_scalar_info(body, ADZI_ONNX_GRAPH_INPUT, ADZ_BOOL, adzi_onnx_temporary(g));
    }
    return scanned;
}

static void connect_scan(adzi_onnx *g, adzi_message *node, int64_t scanned)
{
    const adzi_traced_call *begin = begin_of(g), *end = g->call;
    const int carries = attr_of(g)->carries;
    for (int k = 0; k < begin->n_in; ++k) {
        if (k < carries ? is_carried(g, k) : is_scanned(g, k)) {
            adzi_onnx_add_input(node, adzi_onnx_name(g, begin->in[k]));
        }
    }
    if (scanned == 0) {
        adzi_onnx_add_input(node, adzi_onnx_repeated(g, ADZ_BOOL, 0, attr_of(g)->steps));
    }
    for (int k = 0; k < end->n_out; ++k) {
        if (k < carries ? is_carried(g, k) : is_stacked(g, k)) {
            adzi_onnx_add_output(node, g->values[end->out[k]].name);
        }
    }
}

static void add_scan(adzi_onnx *g, const name_of *given, int64_t *directions)
{
    adzi_message body = leave_body(g), node = { 0 };
    const int64_t scanned = describe_scan(g, &body, given);
    size_t stacked = 0;
    for (int k = attr_of(g)->carries; k < g->call->n_in; ++k) {
        stacked += given[k] != NULL ? 1 : 0;
    }
    const int64_t n = scanned > 0 ? scanned : 1;
    connect_scan(g, &node, scanned);
    const adzi_onnx_attr attrs[] = {
        { .name = "body", .type = ADZI_ONNX_GRAPH, .graph = &body },
        ADZI_ATTR_INT("num_scan_inputs", n),
        ADZI_ATTR_INTS("scan_input_directions", directions, (size_t)n),
        ADZI_ATTR_INTS("scan_output_directions", directions, stacked),
    };
    adzi_onnx_append(g, &node, "Scan", g->values[g->call->out[0]].name,
        (adzi_onnx_attrs){ attrs, stacked > 0 ? 4 : 3 });
}

bool adzi_onnx_print_scan_end(adzi_onnx *g)
{
    const adzi_traced_call *begin = begin_of(g), *end = g->call;
    const size_t n = (size_t)(begin->n_in + end->n_in) + 1;
    const char **given = adzi_alloc_zero(n * sizeof *given);
    int64_t *directions = adzi_alloc(n * sizeof *directions);
    bool good = given != NULL && directions != NULL;
    for (size_t k = 0; k < n && good; ++k) {
        directions[k] = attr_of(g)->reverse;
    }
    for (int k = 0; k < end->n_in && good; ++k) {
        if (k < attr_of(g)->carries ? is_carried(g, k) : is_stacked(g, k)) {
            given[k] = give(g, end->in[k]);
        }
    }
    if (good) {
        add_scan(g, given, directions);
    } else {
        fail_memory(g, n * sizeof *given);
    }
    adzi_free(given, n * sizeof *given);
    adzi_free(directions, n * sizeof *directions);
    return close_region(g);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Gives the carries of the loop the names of other values, those of the list, and keeps their own
 * ones in `own`. NULL: gives them their own ones again. */
static void rename_carries(adzi_onnx *g, const int *values, const char **own)
{
    const adzi_traced_call *begin = begin_of(g);
    for (int k = 0; k < begin->n_out; ++k) {
        adzi_onnx_value *carry = &g->values[begin->out[k]];
        if (values != NULL) {
            own[k] = carry->name;
        }
        carry->name = values == NULL              ? own[k]
                      : is_used(g, begin->out[k]) ? adzi_onnx_name(g, values[k])
                                                  : carry->name;
    }
}

/* The condition's nodes come next, of the first step. */
bool adzi_onnx_print_while(adzi_onnx *g)
{
    const size_t n = (size_t)g->call->n_out + 1;
    const char **own = adzi_alloc(n * sizeof *own);
    if (own == NULL) {
        return fail_memory(g, n * sizeof *own);
    }
    if (open_region(g)) {
        innermost(g)->own = own;
        innermost(g)->own_bytes = n * sizeof *own;
        rename_carries(g, g->call->in, own);
    } else {
        adzi_free(own, n * sizeof *own);
    }
    return !g->failed;
}

bool adzi_onnx_print_while_test(adzi_onnx *g)
{
    innermost(g)->test = (size_t)(g->call - g->trace->calls);
    innermost(g)->condition = truth(g, g->call->in[0]);
    rename_carries(g, NULL, innermost(g)->own);
    enter_body(g);
    return !g->failed;
}

/* Writes the condition of the next step, with new names. Returns its name. */
static const char *write_condition(adzi_onnx *g)
{
    const adzi_traced_call *end = g->call;
    const size_t test = innermost(g)->test;
    rename_carries(g, end->in, innermost(g)->own);
    for (size_t i = innermost(g)->begin + 1; i < test && !g->failed; ++i) {
        const adzi_traced_call *c = &g->trace->calls[i];
        for (int k = 0; k < c->n_out && c->used && !g->failed; ++k) {
            adzi_onnx_value *v = &g->values[c->out[k]];
            if (!v->constant) {
                v->name = adzi_onnx_temporary(g);
                adzi_onnx_set_dtype(
                    g, v->name != NULL ? v->name : "", g->trace->values[c->out[k]].dtype);
            }
        }
        if (c->used && !g->failed) {
            adzi_onnx_print_call(g, c);
        }
    }
    const char *next = g->failed ? NULL : truth(g, g->trace->calls[test].in[0]);
    g->call = end;
    rename_carries(g, NULL, innermost(g)->own);
    return next;
}

/* A number that the loop carries in addition to the carries. */
typedef struct {
    bool wanted;
    adz_dtype dtype;
    const char *first, *in, *out, *last;
} extra;

/* Whether the condition holds behind the last step; and the number of steps. */
static void make_extras(adzi_onnx *g, extra extras[2], const char *next)
{
    const int n = g->call->n_in;
    const int count = g->call->out[n], ended = g->call->out[n + 1];
    extras[0] = (extra){ .wanted = is_used(g, ended), .dtype = ADZ_BOOL };
    extras[1] = (extra){ .wanted = is_used(g, count), .dtype = ADZ_I64 };
    if (extras[0].wanted) {
        extras[0].first = innermost(g)->condition;
        extras[0].in = adzi_onnx_temporary(g);
        extras[0].out = adzi_onnx_step(g, "Identity", next, NULL);
        extras[0].last = adzi_onnx_temporary(g);
    }
    if (extras[1].wanted) {
        extras[1].first = adzi_onnx_number(g, ADZ_I64, 0);
        extras[1].in = adzi_onnx_temporary(g);
        if (!g->failed) {
            adzi_onnx_set_dtype(g, extras[1].in, ADZ_I64);
        }
        extras[1].out = adzi_onnx_step(g, "Add", extras[1].in, adzi_onnx_number(g, ADZ_I64, 1));
        extras[1].last = g->values[count].name;
    }
}

/* The body: its nodes, what it takes and what it gives. */
static adzi_message loop_body(adzi_onnx *g, const name_of *given, const extra *extras)
{
    const adzi_traced_call *begin = begin_of(g), *end = g->call;
    adzi_message body = leave_body(g);
    adzi_onnx_add_scalar_info(&body, ADZI_ONNX_GRAPH_INPUT, ADZ_I64, adzi_onnx_temporary(g));
    adzi_onnx_add_scalar_info(&body, ADZI_ONNX_GRAPH_INPUT, ADZ_BOOL, adzi_onnx_temporary(g));
    adzi_onnx_add_scalar_info(&body, ADZI_ONNX_GRAPH_OUTPUT, ADZ_BOOL, given[end->n_in]);
    for (int i = 0; i < 2; ++i) {
        if (extras[i].wanted) {
            adzi_onnx_add_scalar_info(&body, ADZI_ONNX_GRAPH_INPUT, extras[i].dtype, extras[i].in);
            adzi_onnx_add_scalar_info(
                &body, ADZI_ONNX_GRAPH_OUTPUT, extras[i].dtype, extras[i].out);
        }
    }
    for (int k = 0; k < end->n_in; ++k) {
        if (given[k] != NULL) {
            adzi_onnx_add_info(
                &body, g, ADZI_ONNX_GRAPH_INPUT, begin->out[k], adzi_onnx_name(g, begin->out[k]));
            adzi_onnx_add_info(&body, g, ADZI_ONNX_GRAPH_OUTPUT, end->in[k], given[k]);
        }
    }
    return body;
}

static void add_loop(adzi_onnx *g, const name_of *given, const extra *extras)
{
    const adzi_traced_call *begin = begin_of(g), *end = g->call;
    adzi_message body = loop_body(g, given, extras), node = { 0 };
    adzi_onnx_add_input(&node, adzi_onnx_number(g, ADZ_I64, (double)attr_of(g)->steps));
    adzi_onnx_add_input(&node, innermost(g)->condition);
    for (int i = 0; i < 2; ++i) {
        if (extras[i].wanted) {
            adzi_onnx_add_input(&node, extras[i].first);
            adzi_onnx_add_output(&node, extras[i].last);
        }
    }
    for (int k = 0; k < end->n_in; ++k) {
        if (given[k] != NULL) {
            adzi_onnx_add_input(&node, adzi_onnx_name(g, begin->in[k]));
            adzi_onnx_add_output(&node, g->values[end->out[k]].name);
        }
    }
    const adzi_onnx_attr attr = { .name = "body", .type = ADZI_ONNX_GRAPH, .graph = &body };
    adzi_onnx_append(g, &node, "Loop", g->values[end->out[0]].name, (adzi_onnx_attrs){ &attr, 1 });
    if (extras[0].wanted && !g->failed) {
        adzi_onnx_set_dtype(g, extras[0].last, ADZ_BOOL);
        adzi_onnx_node(g, "Not", ADZI_NAMES(extras[0].last),
            ADZI_NAMES(g->values[end->out[end->n_in + 1]].name), ADZI_NO_ATTRS);
    }
}

bool adzi_onnx_print_while_end(adzi_onnx *g)
{
    const adzi_traced_call *end = g->call;
    const size_t n = (size_t)end->n_in + 1;
    const char **given = adzi_alloc_zero(n * sizeof *given);
    extra extras[2];
    if (given == NULL) {
        return fail_memory(g, n * sizeof *given);
    }
    const char *next = write_condition(g);
    given[end->n_in] = g->failed ? NULL : adzi_onnx_step(g, "Identity", next, NULL);
    for (int k = 0; k < end->n_in && !g->failed; ++k) {
        given[k] = is_carried(g, k) ? give(g, end->in[k]) : NULL;
    }
    if (!g->failed) {
        make_extras(g, extras, next);
        add_loop(g, given, extras);
    }
    adzi_free(given, n * sizeof *given);
    return close_region(g);
}

/* ---- If -------------------------------------------------------------------------------------- */

bool adzi_onnx_print_branch(adzi_onnx *g)
{
    if (open_region(g)) {
        innermost(g)->condition = truth(g, g->call->in[0]);
        enter_body(g);
    }
    return !g->failed;
}

/* The call that ends the branch whose call is printed. */
static const adzi_traced_call *branch_end(const adzi_onnx *g)
{
    const adzi_traced_call *end = g->call;
    while (
        !adzi_region_ends(adzi_trace_region_of(end)) ||
        adzi_trace_region_begin(g->trace, (size_t)(end - g->trace->calls)) != innermost(g)->begin) {
        ++end;
    }
    return end;
}

/* The graph of a body, whose results the call takes. */
static adzi_message branch_body(adzi_onnx *g)
{
    const adzi_traced_call *end = branch_end(g);
    adzi_message given = { 0 };
    for (int k = 0; k < end->n_out && !g->failed; ++k) {
        if (is_used(g, end->out[k])) {
            const char *name = give(g, g->call->in[k]);
            adzi_onnx_add_info(
                &given, g, ADZI_ONNX_GRAPH_OUTPUT, end->out[k], name != NULL ? name : "");
        }
    }
    adzi_message body = leave_body(g);
    adzi_text_add_n(&body, adzi_text_get(&given), given.length);
    body.failed = body.failed || given.failed;
    adzi_text_free(&given);
    return body;
}

bool adzi_onnx_print_branch_else(adzi_onnx *g)
{
    innermost(g)->branch = branch_body(g);
    enter_body(g);
    return !g->failed;
}

bool adzi_onnx_print_branch_end(adzi_onnx *g)
{
    adzi_message other = branch_body(g), node = { 0 };
    adzi_onnx_add_input(&node, innermost(g)->condition);
    for (int k = 0; k < g->call->n_out; ++k) {
        if (is_used(g, g->call->out[k])) {
            adzi_onnx_add_output(&node, g->values[g->call->out[k]].name);
        }
    }
    const adzi_onnx_attr attrs[] = {
        { .name = "then_branch", .type = ADZI_ONNX_GRAPH, .graph = &innermost(g)->branch },
        { .name = "else_branch", .type = ADZI_ONNX_GRAPH, .graph = &other },
    };
    adzi_onnx_append(
        g, &node, "If", g->values[g->call->out[0]].name, (adzi_onnx_attrs){ attrs, 2 });
    return close_region(g);
}

void adzi_onnx_end_regions(adzi_onnx *g)
{
    for (size_t i = 0; i < g->n_regions; ++i) {
        adzi_text_free(&g->regions[i].outside);
        adzi_text_free(&g->regions[i].branch);
        adzi_free(g->regions[i].own, g->regions[i].own_bytes);
    }
    adzi_free(g->regions, g->regions_capacity * sizeof *g->regions);
}
