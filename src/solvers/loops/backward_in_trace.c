/* The backward of traced scans and while loops.
 *
 * Note [The gradient of a traced loop]
 * The backward is a scan in the other direction. It carries the gradients of the carries, and sums
 * of the gradients of captured tensors, which are added in the order of the unrolled program. Its
 * inputs are the carries before each step, the inputs, and the gradients of the results. That of a
 * while loop makes as many steps as the loop has made: the loop gives their number.
 *
 * The body is not called again. What it has recorded in its only call leads from the tensors that
 * stood for a step to the results of the step. In the region of the backward these tensors hold the
 * values of that step, and the calls of the body are repeated (Note [Repeated calls] in
 * export/trace_repeat.c). Then the graph of the body is differentiated. While the thread records,
 * all this is a traced scan with a graph again, so derivatives of any order are scans. */
#include "adze/ops.h"
#include "solvers/loops/cut.h"
#include "solvers/loops/in_trace.h"

/* The scan over the steps backwards, and where its tensors come from. */
typedef struct backward_scan {
    adzi_node *node;
    const adzi_recorded_steps *of;
    adz_tensor *const *dy;
    adz_tensor **in, **out; /* those of the body */
    adz_tensor **outputs, **upstream;
    size_t n_outputs;
    adz_tensor **targets, **gradients;
    size_t n_targets;
    adzi_traced_steps scan;
} backward_scan;

static size_t n_in_of(const adzi_recorded_steps *r)
{
    return (size_t)r->n_carries + (size_t)r->n_inputs;
}

/* Room for all lists, which ends with the scope. */
static bool make_lists(backward_scan *b)
{
    const adzi_recorded_steps *r = b->of;
    const size_t n_in = n_in_of(r), n_out = (size_t)r->n_carries + (size_t)r->n_results;
    const size_t most = 2 * (n_in + n_out + (size_t)r->n_captured) + 1;
    adz_tensor **room = adzi_loop_list(b->node->op->name, 12 * most);
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
    adzi_traced_steps *s = &b->scan;
    s->outer[s->n_carries + s->n_inputs] = all;
    s->in[s->n_carries + s->n_inputs++] = in;
    return all != NULL;
}

/* The gradients that are carried: of the float carries, and of what was captured. */
static bool add_carries(backward_scan *b)
{
    const adzi_recorded_steps *r = b->of;
    bool good = true;
    for (int k = 0; k < r->n_carries && good; ++k) {
        if (adzi_traced_is_float(b->in[k])) {
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
    const adzi_recorded_steps *r = b->of;
    const int n_out = r->n_carries + r->n_results;
    bool good = true;
    for (int k = r->n_carries; k < n_out + r->n_carries && good; ++k) {
        good = b->dy[k] == NULL || add_input(b, b->dy[k], NULL);
    }
    for (int k = 0; k < r->n_carries && good; ++k) {
        adz_tensor *all = adzi_traced_is_float(b->in[k])
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
    const adzi_recorded_steps *r = b->of;
    size_t carry = 0, input = b->scan.n_carries;
    for (int k = 0; k < r->n_carries + r->n_results; ++k) {
        adz_tensor *upstream = NULL;
        if (k < r->n_carries) {
            upstream = adzi_traced_is_float(b->in[k]) ? b->scan.in[carry++] : NULL;
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
    const adzi_recorded_steps *r = b->of;
    const int n_out = r->n_carries + r->n_results;
    size_t n = 0;
    for (int k = 0; k < r->n_carries; ++k) {
        if (!adzi_traced_is_float(b->in[k])) {
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
    adzi_traced_steps *s = &b->scan;
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
    if (!tracer->repeat(tracer, (size_t)b->of->begin)) {
        return false;
    }
    const size_t of_all = find_outputs(b);
    return adzi_region_gradients(b->node, (int)n_in_of(b->of),
               (adzi_graded){ b->outputs, b->upstream, b->n_outputs },
               (adzi_graded){ b->targets, b->gradients, b->n_targets }) &&
           give_carries(b, of_all) && give_results(b);
}

/* The gradients of the node's inputs. */
static void give_gradients(const backward_scan *b, adz_tensor **dx)
{
    const adzi_recorded_steps *r = b->of;
    size_t n = 0;
    for (int k = 0; k < r->n_carries; ++k) {
        dx[k] = adzi_traced_is_float(b->in[k]) ? b->scan.found[n++] : NULL;
    }
    for (int i = 0; i < r->n_captured; ++i) {
        const int input = (int)n_in_of(r) + i;
        dx[input] = adzi_needs(b->node, input) ? b->scan.found[n++] : NULL;
    }
    for (int i = r->n_carries; i < (int)n_in_of(r); ++i) {
        dx[i] = adzi_needs(b->node, i) ? b->scan.found[n++] : NULL;
    }
}

adz_status adzi_steps_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_recorded_steps *r = adzi_attr(node, adzi_recorded_steps);
    if (!adzi_traced_runs(node->op->name, r->trace)) {
        return adzi_status(NULL);
    }
    backward_scan b = { .node = node,
        .of = r,
        .dy = dy,
        .scan = { .op = node->op,
            .attr = { .steps = r->steps, .reverse = !r->reverse },
            .records = adzi_self()->grad_enabled } };
    bool good = make_lists(&b) && add_carries(&b) && add_inputs(&b);
    if (r->counted && good) {
        b.scan.count = adzi_saved_extra(node, adzi_recorded_count(r));
        good = b.scan.count != NULL;
    }
    b.scan.attr.carries = (int)b.scan.n_carries;
    good = good && adzi_steps_begin(&b.scan) && step_back(&b) && adzi_steps_end(&b.scan) &&
           adzi_steps_record(&b.scan);
    if (good) {
        give_gradients(&b, dx);
    }
    return good ? ADZ_OK : adzi_status(NULL);
}
