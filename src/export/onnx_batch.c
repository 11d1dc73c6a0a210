/* Where the batch dimension goes in each call. A network whose shapes were traced with one batch
 * size is written for any size if every call allows it. */
#include <string.h>

#include "autograd/regions.h"
#include "export/onnx.h"

adzi_onnx_batch_rule adzi_onnx_batch_enter, adzi_onnx_batch_leave, adzi_onnx_batch_join,
    adzi_onnx_batch_pass;

static bool has(adzi_onnx_batch b)
{
    return b.axis >= 0;
}

static bool same(adzi_onnx_batch a, adzi_onnx_batch b)
{
    return a.axis == b.axis && a.before == b.before && a.after == b.after;
}

static adzi_onnx_batch moved(adzi_onnx_batch b, int by)
{
    b.axis += by;
    return b;
}

/* The batch of input i, none for ADZ_NONE. */
static adzi_onnx_batch batch_of(const adzi_onnx *g, int i)
{
    return g->call->in[i] < 0 ? (adzi_onnx_batch){ -1, 0, 0 } : *adzi_onnx_batch_in(g, i);
}

bool adzi_onnx_batch_none(const adzi_onnx *g)
{
    for (int i = 0; i < g->call->n_in; ++i) {
        if (has(batch_of(g, i))) {
            return false;
        }
    }
    return true;
}

bool adzi_onnx_is_uniform(const adzi_onnx *g, int i)
{
    const int value = g->call->in[i];
    if (!g->values[value].constant) {
        return false;
    }
    adz_scope *scope = adz_scope_open();
    const adz_tensor *t = scope != NULL ? adzi_traced_contents(g->trace, value) : NULL;
    bool same = t != NULL;
    const size_t item = t != NULL ? adzi_item_size(t) : 1;
    for (int64_t k = 1; same && k < t->numel; ++k) {
        same = memcmp(t->data, t->data + (size_t)k * item, item) == 0;
    }
    adz_scope_close(scope);
    return same;
}

int adzi_onnx_repeats(const adzi_onnx *g, int i)
{
    const adzi_onnx_batch y = *adzi_onnx_batch_out(g, 0);
    if (!g->free_batch || y.axis < 0 || g->call->in[i] < 0 || has(batch_of(g, i))) {
        return -1;
    }
    const adzi_traced_value *x = adzi_onnx_input(g, i);
    const int axis = y.axis - (adzi_onnx_result(g, 0)->rank - x->rank);
    return axis >= 0 && x->sizes[axis] != 1 ? axis : -1;
}

/* Dimensions are aligned at the last one. Where one input has the batch, the others have it too, or
 * broadcast, or are constants of one number, which can be made to broadcast. */
bool adzi_onnx_batch_broadcast(const adzi_onnx *g)
{
    const int rank = adzi_onnx_result(g, 0)->rank;
    adzi_onnx_batch y = { -1, 0, 0 };
    for (int i = 0; i < g->call->n_in; ++i) {
        adzi_onnx_batch b = batch_of(g, i);
        if (has(b)) {
            const int64_t size = adzi_onnx_input(g, i)->sizes[b.axis];
            b = moved(b, rank - adzi_onnx_input(g, i)->rank);
            if ((has(y) && !same(y, b)) || adzi_onnx_result(g, 0)->sizes[b.axis] != size) {
                return false; /* a batch of size 1 that broadcasts is no free batch */
            }
            y = b;
        }
    }
    *adzi_onnx_batch_out(g, 0) = y;
    for (int i = 0; i < g->call->n_in && has(y); ++i) {
        if (adzi_onnx_repeats(g, i) >= 0 && !adzi_onnx_is_uniform(g, i)) {
            return false;
        }
    }
    return true;
}

bool adzi_onnx_batch_to(const adzi_onnx *g, int axis)
{
    adzi_onnx_batch b = batch_of(g, 0);
    b.axis = has(b) ? axis : -1;
    for (int k = 0; k < g->call->n_out; ++k) {
        *adzi_onnx_batch_out(g, k) = b;
    }
    return true;
}

bool adzi_onnx_batch_first(const adzi_onnx *g)
{
    for (int i = 1; i < g->call->n_in; ++i) {
        if (has(batch_of(g, i))) {
            return false;
        }
    }
    return adzi_onnx_batch_to(g, batch_of(g, 0).axis);
}

bool adzi_onnx_batch_but_dim(const adzi_onnx *g)
{
    const int dim = (int)adzi_attr_whole(g->call->op, g->call->attr, "dim");
    return (!has(batch_of(g, 0)) || batch_of(g, 0).axis != dim) && adzi_onnx_batch_first(g);
}

/* ---- loops and branches ---------------------------------------------------------------------- */

static int carries_of(const adzi_onnx *g)
{
    return ((const adzi_region_attr *)g->call->attr)->carries;
}

static bool same_or_none(adzi_onnx_batch a, adzi_onnx_batch b)
{
    return same(a, b) || (!has(a) && !has(b));
}

/* The batch of a carry, and of an input of all steps as one step sees it. The number of steps does
 * not depend on the batch. */
bool adzi_onnx_batch_enter(const adzi_onnx *g)
{
    bool good = true;
    for (int k = 0; k < g->call->n_out && good; ++k) {
        adzi_onnx_batch b = *adzi_onnx_batch_in(g, k);
        good = k < carries_of(g) || b.axis != 0;
        b.axis -= k >= carries_of(g) && b.axis > 0 ? 1 : 0;
        *adzi_onnx_batch_out(g, k) = b;
    }
    return good;
}

bool adzi_onnx_batch_leave(const adzi_onnx *g)
{
    const size_t at = (size_t)(g->call - g->trace->calls);
    const adzi_traced_call *begin = &g->trace->calls[adzi_trace_region_begin(g->trace, at)];
    bool good = true;
    for (int k = 0; k < g->call->n_in && good; ++k) {
        adzi_onnx_batch b = *adzi_onnx_batch_in(g, k);
        good = k >= carries_of(g) || same_or_none(b, g->values[begin->out[k]].batch);
        b.axis += k >= carries_of(g) && b.axis >= 0 ? 1 : 0;
        *adzi_onnx_batch_out(g, k) = b;
    }
    return good;
}

/* Both bodies of a branch give the batch in the same dimension. */
bool adzi_onnx_batch_join(const adzi_onnx *g)
{
    const adzi_traced_call *middle = g->call - 1;
    const size_t at = (size_t)(g->call - g->trace->calls);
    const size_t begin = adzi_trace_region_begin(g->trace, at);
    while (adzi_trace_region_of(middle) != ADZI_BRANCH_ELSE ||
           adzi_trace_region_begin(g->trace, (size_t)(middle - g->trace->calls)) != begin) {
        --middle;
    }
    bool good = true;
    for (int k = 0; k < g->call->n_in && good; ++k) {
        const adzi_onnx_batch b = *adzi_onnx_batch_in(g, k);
        good = same_or_none(b, g->values[middle->in[k]].batch);
        *adzi_onnx_batch_out(g, k) = b;
    }
    return good;
}

/* The calls of a region that hand on nothing. */
bool adzi_onnx_batch_pass(const adzi_onnx *g)
{
    (void)g;
    return true;
}

/* ---- the walk over the calls ---------------------------------------------------------------- */

/* The inputs whose first dimension is the batch. False if no input has one. */
static bool begin(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    bool found = false;
    for (int i = 0; i < trace->n_inputs; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->rank > 0 && !found) {
            g->batch_size = v->sizes[0];
            found = true;
        }
        if (v->rank > 0 && v->sizes[0] == g->batch_size) {
            g->values[i].batch = (adzi_onnx_batch){ 0, 1, 1 };
        }
    }
    return found;
}

const adzi_traced_call *adzi_onnx_find_batches(adzi_onnx *g)
{
    const adzi_trace *trace = g->trace;
    for (size_t i = 0; i < trace->n_values; ++i) {
        g->values[i].batch = (adzi_onnx_batch){ -1, 0, 0 };
    }
    g->free_batch = begin(g);
    for (size_t i = 0; i < trace->n_calls && g->free_batch; ++i) {
        const adzi_traced_call *c = &trace->calls[i];
        const adzi_row *row = c->row;
        g->call = c;
        if (c->used && row != NULL && row->onnx.batch_rule != NULL && !row->onnx.batch_rule(g)) {
            g->free_batch = false;
            for (size_t k = 0; k < trace->n_values; ++k) {
                g->values[k].batch = (adzi_onnx_batch){ -1, 0, 0 };
            }
            return c;
        }
    }
    return NULL;
}
