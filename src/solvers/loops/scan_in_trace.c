/* Scans as regions of a trace, and their gradients.
 *
 * Note [The gradient of a traced scan]
 * A scan has a node whose results are its own ones, and in addition the carries before each step.
 * Its backward is a scan in the other direction. It carries the gradients of the carries, and sums
 * of the gradients of captured tensors, which are added in the order of the unrolled program. Its
 * inputs are the carries before each step, the inputs, and the gradients of the results.
 *
 * The body is not called again. What it has recorded in its only call leads from the tensors that
 * stood for a step to the results of the step. In the region of the backward these tensors hold the
 * values of that step, and the calls of the body are repeated (Note [Repeated calls] in
 * export/trace_repeat.c). Then the graph of the body is differentiated. While the thread records,
 * all this is a traced scan with a graph again, so derivatives of any order are scans. */
#include <string.h>

#include "adze/ops.h"
#include "solvers/loops/in_trace.h"

/* A scan whose body is traced. */
typedef struct traced_scan {
    const char *op;
    adzi_region_attr attr;
    size_t n_carries, n_inputs, n_results;
    adz_tensor **outer; /* the carries, and behind them the inputs of all steps */
    adz_tensor **in;    /* the same as one step sees them; NULL for those that are to be made */
    adz_tensor **out;   /* the new carries, the results of the step, and the carries before it */
    adz_tensor **found; /* the last carries, the stacked results, and all carries, stacked */
    bool records;       /* the carries are kept, and the scan gets a node */
    size_t begin;       /* the call that has begun the region */
} traced_scan;

/* What the node of a scan knows. */
typedef struct recorded_scan {
    uint64_t trace; /* its number */
    uint64_t begin;
    int64_t steps;
    int n_carries, n_inputs, n_results, n_captured;
    bool reverse;
} recorded_scan;

static const adzi_op of_scan;

static bool is_float(const adz_tensor *t)
{
    return adzi_is_float((adz_dtype)t->dtype);
}

/* ---- the region ------------------------------------------------------------------------------ */

/* Element t of the first dimension, as a header on the caller's stack. */
static adz_tensor element(const adz_tensor *all, int64_t t)
{
    adz_tensor one = *all;
    --one.rank;
    memmove(one.sizes, one.sizes + 1, (size_t)one.rank * sizeof *one.sizes);
    memmove(one.strides, one.strides + 1, (size_t)one.rank * sizeof *one.strides);
    one.data += t * all->strides[0] * (int64_t)adzi_item_size(all);
    one.numel = all->sizes[0] > 0 ? all->numel / all->sizes[0] : 0;
    return one;
}

/* Makes the tensors of a step that are not there yet. */
static bool make_step(const traced_scan *s, bool *made)
{
    const size_t n = s->n_carries + s->n_inputs;
    bool good = true;
    for (size_t k = 0; k < n && good; ++k) {
        made[k] = s->in[k] == NULL;
        if (made[k]) {
            s->in[k] = adzi_traced_like(s->op, s->outer[k], k < s->n_carries ? 0 : 1, -1);
            good = s->in[k] != NULL;
        }
        if (good && made[k] && s->records && is_float(s->in[k])) {
            s->in[k]->requires_grad = true;
        }
    }
    return good;
}

/* Gives the new tensors of a step the elements of the first one. */
static void fill_step(const traced_scan *s, const bool *made)
{
    for (size_t k = 0; k < s->n_carries + s->n_inputs; ++k) {
        if (made[k] && k < s->n_carries) {
            adzi_copy(s->in[k], s->outer[k]);
        } else if (made[k] && s->attr.steps > 0) {
            const adz_tensor first = element(s->outer[k], s->attr.reverse ? s->attr.steps - 1 : 0);
            adzi_copy(s->in[k], &first);
        } else if (made[k]) {
            adzi_fill(s->in[k], 0);
        }
    }
}

static bool begin(traced_scan *s)
{
    const size_t n = s->n_carries + s->n_inputs;
    adz_tensor *room = adzi_scratch(s->op, ADZ_BOOL, 1, &(int64_t){ (int64_t)n });
    if (room == NULL || !make_step(s, (bool *)room->data) ||
        !adzi_traced_report(&adzi_op_scan, s->outer, n, s->in, n, &s->attr)) {
        return false;
    }
    const adzi_tracer *tracer = adzi_self()->tracer;
    s->begin = tracer->begun(tracer);
    fill_step(s, (bool *)room->data);
    adzi_region_ready();
    return true;
}

static size_t count_found(const traced_scan *s)
{
    return s->n_carries + s->n_results + (s->records ? s->n_carries : 0);
}

static bool end(traced_scan *s)
{
    const size_t n = s->n_carries, all = count_found(s);
    bool good = true;
    if (s->records && n > 0) {
        memcpy(s->out + n + s->n_results, s->in, n * sizeof *s->in);
    }
    for (size_t k = 0; k < all && good; ++k) {
        s->found[k] = adzi_traced_like(s->op, s->out[k], 0, k < n ? -1 : s->attr.steps);
        good = s->found[k] != NULL;
    }
    if (!good || !adzi_traced_report(&adzi_op_scan_end, s->out, all, s->found, all, &s->attr)) {
        return false;
    }
    for (size_t k = 0; k < all; ++k) {
        for (int64_t t = 0; k >= n && t < s->attr.steps; ++t) {
            adz_tensor to = element(s->found[k], t);
            adzi_copy(&to, s->out[k]);
        }
        if (k < n) {
            adzi_copy(s->found[k], s->out[k]);
        }
    }
    adzi_region_ready();
    return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Saves what the backward needs: the inputs, what was captured, all carries, and the ends of the
 * graph of the body. */
static void save(const traced_scan *s, adzi_node *node, adz_tensor *const *sources, int n_sources)
{
    const int n_in = (int)(s->n_carries + s->n_inputs);
    const int n_out = (int)(s->n_carries + s->n_results);
    for (int i = (int)s->n_carries; i < n_sources; ++i) {
        adzi_node_save_input(node, i, sources[i]);
    }
    for (int k = 0; k < n_in; ++k) {
        adzi_node_save_extra(node, k, s->in[k]);
    }
    for (int k = 0; k < n_out; ++k) {
        adzi_node_save_extra(node, n_in + k, s->out[k]);
    }
    for (int k = 0; k < (int)s->n_carries; ++k) {
        if (is_float(s->found[n_out + k])) {
            adzi_node_save_result(node, n_out + k, s->found[n_out + k]);
        } else { /* no result of the node */
            adzi_node_save_extra(node, n_in + n_out + k, s->found[n_out + k]);
        }
    }
}

static bool make_node(const traced_scan *s, adz_tensor *const *sources, size_t n_sources)
{
    adzi_thread *thread = adzi_self();
    const size_t n_in = s->n_carries + s->n_inputs, n = count_found(s);
    const recorded_scan attr = { thread->tracer->number, s->begin, s->attr.steps, (int)s->n_carries,
        (int)s->n_inputs, (int)s->n_results, (int)(n_sources - n_in), s->attr.reverse };
    if (n_sources > UINT16_MAX || n > UINT16_MAX || n_in + n > UINT16_MAX) {
        adzi_error(s->op, ADZ_ERR_UNSUPPORTED,
            "%zu tensors have gradients; at most %d are possible", n_sources, UINT16_MAX);
        return false;
    }
    adzi_node *node = adzi_node_new(
        thread, &of_scan, sources, (int)n_sources, (int)n, (int)(n_in + n), &attr, sizeof attr);
    if (node == NULL) {
        return false;
    }
    for (size_t k = 0; k < n; ++k) {
        if (is_float(s->found[k])) {
            adzi_node_attach(node, (int)k, s->found[k]);
        }
    }
    save(s, node, sources, (int)n_sources);
    adzi_node_release(thread, node);
    return true;
}

/* Gives the results a node if a carry, an input or something captured wants a gradient. */
static bool record(const traced_scan *s)
{
    const adzi_tracer *tracer = adzi_self()->tracer;
    const size_t n = s->n_carries + s->n_inputs;
    const size_t most = s->records ? tracer->captured(tracer, s->begin, NULL, 0) : 0;
    adz_tensor **sources = s->records ? adzi_loop_list(s->op, n + most) : NULL;
    if (sources == NULL) {
        return !s->records;
    }
    memcpy(sources, s->outer, n * sizeof *sources);
    const size_t all = n + tracer->captured(tracer, s->begin, sources + n, most);
    bool wanted = false;
    for (size_t i = 0; i < all && !wanted; ++i) {
        wanted = adzi_requires_grad(sources[i]);
    }
    return !wanted || make_node(s, sources, all);
}

/* ---- the backward ---------------------------------------------------------------------------- */

/* The scan over the steps backwards, and where its tensors come from. */
typedef struct backward_scan {
    adzi_node *node;
    const recorded_scan *of;
    adz_tensor *const *dy;
    adz_tensor **in, **out; /* those of the body */
    adz_tensor **outputs, **upstream;
    size_t n_outputs;
    adz_tensor **targets, **gradients;
    size_t n_targets;
    traced_scan scan;
} backward_scan;

static size_t n_in_of(const recorded_scan *r)
{
    return (size_t)r->n_carries + (size_t)r->n_inputs;
}

/* Room for all lists, which ends with the scope. */
static bool make_lists(backward_scan *b)
{
    const recorded_scan *r = b->of;
    const size_t n_in = n_in_of(r), n_out = (size_t)r->n_carries + (size_t)r->n_results;
    const size_t most = 2 * (n_in + n_out + (size_t)r->n_captured) + 1;
    adz_tensor **room = adzi_loop_list("adz_scan", 12 * most);
    if (room == NULL) {
        return false;
    }
    adz_tensor ***const lists[] = { &b->in, &b->out, &b->outputs, &b->upstream, &b->targets,
        &b->gradients, &b->scan.outer, &b->scan.in, &b->scan.out, &b->scan.found };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        *lists[i] = room + i * most;
    }
    bool good = true;
    for (size_t k = 0; k < n_in + n_out && good; ++k) {
        adz_tensor *t = adzi_saved_extra(b->node, (int)k);
        *(k < n_in ? &b->in[k] : &b->out[k - n_in]) = t;
        good = t != NULL;
    }
    return good;
}

/* Adds a carry that begins with `first`; NULL for an error. */
static bool add_carry(backward_scan *b, adz_tensor *first)
{
    b->scan.outer[b->scan.n_carries++] = first;
    return first != NULL;
}

/* Adds an input of all steps. `in` stands for that of one step; NULL: a new tensor does. */
static bool add_input(backward_scan *b, adz_tensor *all, adz_tensor *in)
{
    traced_scan *s = &b->scan;
    s->outer[s->n_carries + s->n_inputs] = all;
    s->in[s->n_carries + s->n_inputs++] = in;
    return all != NULL;
}

/* The gradients that are carried: of the float carries, and of what was captured. */
static bool add_carries(backward_scan *b)
{
    const recorded_scan *r = b->of;
    bool good = true;
    for (int k = 0; k < r->n_carries && good; ++k) {
        if (is_float(b->in[k])) {
            b->targets[b->n_targets++] = b->in[k];
            good = add_carry(b, b->dy[k] != NULL ? b->dy[k] : adz_zeros_like(b->in[k]));
        }
    }
    for (int i = 0; i < r->n_captured && good; ++i) {
        const int input = (int)n_in_of(r) + i;
        if (adzi_needs(b->node, input)) {
            adz_tensor *t = adzi_saved_input(b->node, input);
            b->targets[b->n_targets++] = t;
            good = t != NULL && add_carry(b, adz_zeros_like(t));
        }
    }
    return good;
}

/* The inputs: gradients of results, and of all carries; the carries; the inputs. */
static bool add_inputs(backward_scan *b)
{
    const recorded_scan *r = b->of;
    const int n_out = r->n_carries + r->n_results;
    bool good = true;
    for (int k = r->n_carries; k < n_out + r->n_carries && good; ++k) {
        good = b->dy[k] == NULL || add_input(b, b->dy[k], NULL);
    }
    for (int k = 0; k < r->n_carries && good; ++k) {
        adz_tensor *all = is_float(b->in[k])
                              ? adzi_saved_result(b->node, n_out + k)
                              : adzi_saved_extra(b->node, (int)n_in_of(r) + n_out + k);
        good = add_input(b, all, b->in[k]);
    }
    for (int i = 0; i < r->n_inputs && good; ++i) {
        good = add_input(b, adzi_saved_input(b->node, r->n_carries + i), b->in[r->n_carries + i]);
        if (good && adzi_needs(b->node, r->n_carries + i)) {
            b->targets[b->n_targets++] = b->in[r->n_carries + i];
        }
    }
    return good;
}

/* The results of the body that have a gradient. Returns where the gradients of the carries before
 * the step begin among the inputs. */
static size_t find_outputs(backward_scan *b)
{
    const recorded_scan *r = b->of;
    size_t carry = 0, input = b->scan.n_carries;
    for (int k = 0; k < r->n_carries + r->n_results; ++k) {
        adz_tensor *upstream = NULL;
        if (k < r->n_carries) {
            upstream = is_float(b->in[k]) ? b->scan.in[carry++] : NULL;
        } else if (b->dy[k] != NULL) {
            upstream = b->scan.in[input++];
        }
        if (upstream != NULL && adzi_requires_grad(b->out[k])) {
            b->outputs[b->n_outputs] = b->out[k];
            b->upstream[b->n_outputs++] = upstream;
        }
    }
    return input;
}

/* The gradient of target i in this step; NULL for none. */
static adz_tensor *gradient_of(const backward_scan *b, size_t i)
{
    adz_tensor *g = b->n_outputs > 0 ? b->gradients[i] : NULL;
    return g != NULL && !adzi_is_none(g) ? g : NULL;
}

/* The new gradients of the carries, to which those of the carries before the step are added. */
static bool give_carries(backward_scan *b, size_t of_all)
{
    const recorded_scan *r = b->of;
    const int n_out = r->n_carries + r->n_results;
    size_t n = 0;
    for (int k = 0; k < r->n_carries; ++k) {
        if (!is_float(b->in[k])) {
            continue;
        }
        adz_tensor *g = gradient_of(b, n);
        adz_tensor *more = b->dy[n_out + k] != NULL ? b->scan.in[of_all++] : NULL;
        g = g != NULL && more != NULL ? adz_add(g, more) : g != NULL ? g : more;
        b->scan.out[n] = g != NULL ? g : adz_zeros_like(b->in[k]);
        if (b->scan.out[n++] == NULL) {
            return false;
        }
    }
    for (; n < b->scan.n_carries; ++n) {
        adz_tensor *g = gradient_of(b, n);
        b->scan.out[n] = g != NULL ? adz_add(b->scan.in[n], g) : b->scan.in[n];
        if (b->scan.out[n] == NULL) {
            return false;
        }
    }
    return true;
}

/* The gradients of the inputs of the step. */
static bool give_results(backward_scan *b)
{
    traced_scan *s = &b->scan;
    for (size_t i = s->n_carries; i < b->n_targets; ++i) {
        adz_tensor *g = gradient_of(b, i);
        s->out[i] = g != NULL ? g : adz_zeros_like(b->targets[i]);
        if (s->out[i] == NULL) {
            return false;
        }
        ++s->n_results;
    }
    return true;
}

/* One step backwards: the body's calls, and the gradients of what it has computed. */
static bool step_back(backward_scan *b)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = adzi_self()->grad_enabled;
    o.retain_graph = o.allow_unused = true;
    if (!tracer->repeat(tracer, (size_t)b->of->begin)) {
        return false;
    }
    const size_t of_all = find_outputs(b);
    return (b->n_outputs == 0 || b->n_targets == 0 ||
               adz_autograd_grad(b->outputs, b->upstream, b->n_outputs, b->targets, b->n_targets,
                   &o, b->gradients) == ADZ_OK) &&
           give_carries(b, of_all) && give_results(b);
}

/* The gradients of the node's inputs. */
static void give_gradients(const backward_scan *b, adz_tensor **dx)
{
    const recorded_scan *r = b->of;
    size_t n = 0;
    for (int k = 0; k < r->n_carries; ++k) {
        dx[k] = is_float(b->in[k]) ? b->scan.found[n++] : NULL;
    }
    for (int i = 0; i < r->n_captured; ++i) {
        const int input = (int)n_in_of(r) + i;
        dx[input] = adzi_needs(b->node, input) ? b->scan.found[n++] : NULL;
    }
    for (int i = r->n_carries; i < (int)n_in_of(r); ++i) {
        dx[i] = adzi_needs(b->node, i) ? b->scan.found[n++] : NULL;
    }
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const recorded_scan *r = adzi_attr(node, recorded_scan);
    const adzi_thread *thread = adzi_self();
    if (thread->tracer == NULL || thread->tracer->number != r->trace) {
        return adzi_error("adz_scan", ADZ_ERR_STATE,
            "was called in a function that was exported, whose graph has ended with the export");
    }
    backward_scan b = { .node = node,
        .of = r,
        .dy = dy,
        .scan = { .op = "adz_scan",
            .attr = { .steps = r->steps, .reverse = !r->reverse },
            .records = thread->grad_enabled } };
    bool good = make_lists(&b) && add_carries(&b) && add_inputs(&b);
    b.scan.attr.carries = (int)b.scan.n_carries;
    good = good && begin(&b.scan) && step_back(&b) && end(&b.scan) && record(&b.scan);
    if (good) {
        give_gradients(&b, dx);
    }
    return good ? ADZ_OK : adzi_status(NULL);
}

static const adzi_op of_scan = { .name = "adz_scan", .backward = backward };

/* ---- the scan -------------------------------------------------------------------------------- */

typedef struct called_scan {
    adzi_loop *loop;
    traced_scan *scan;
} called_scan;

static bool run(void *state)
{
    const called_scan *c = state;
    traced_scan *s = c->scan;
    const size_t n_in = s->n_carries + s->n_inputs, n_out = s->n_carries + s->n_results;
    adzi_loop_name_step(c->loop, -1);
    if (!begin(s)) {
        return false;
    }
    memcpy(c->loop->in, s->in, n_in * sizeof *s->in);
    if (!adzi_loop_step(c->loop, 0)) {
        return false;
    }
    memcpy(s->out, c->loop->out, n_out * sizeof *s->out);
    return end(s);
}

adz_status adzi_scan_in_trace(adzi_loop *loop, adz_tensor *const *carries,
    adz_tensor *const *inputs, int64_t length, bool reverse, adz_tensor **results)
{
    const size_t n = loop->n_carries, n_in = n + loop->n_inputs, n_out = n + loop->n_results;
    traced_scan s = { .op = loop->op,
        .attr = { length, (int)n, reverse },
        .n_carries = n,
        .n_inputs = loop->n_inputs,
        .n_results = loop->n_results,
        .records = adzi_self()->grad_enabled };
    s.outer = adzi_loop_list(loop->op, 2 * (n_in + n_out + n) + 1);
    if (s.outer == NULL || !adzi_loop_begin(loop, carries)) {
        return adzi_status(NULL);
    }
    s.in = s.outer + n_in;
    s.out = s.in + n_in;
    s.found = s.out + n_out + n;
    for (size_t k = 0; k < n_in; ++k) {
        s.outer[k] = k < n ? carries[k] : inputs[k - n];
    }
    if (!adzi_loop_run(loop, run, &(called_scan){ loop, &s }) || !record(&s)) {
        return adzi_status(NULL);
    }
    memcpy(results, s.found, n_out * sizeof *results);
    return ADZ_OK;
}
