/* Steps of a scan that are computed again in the backward.
 *
 * The steps of a chunk are computed without a graph, and one node is recorded for them. Its inputs
 * are the carries that the chunk begins with, the inputs of its steps, and all other tensors with a
 * gradient that the body has used: a listener hears of them while the body runs. The backward of
 * the node calls the body again, this time with a graph, and the running backward continues through
 * that graph. So gradients are added in the order of the unrolled program.
 *
 * The outputs of a chunk are the carries behind it, and the results of its steps. A tensor that is
 * an output twice is one result of the node. An output that the body has not made, such as a
 * weight, is no result and keeps its own graph. */
#include "solvers/loops/saved_chunk.h"

#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "base/alloc.h"
#include "base/capture.h"

enum { MOST_EDGES = 32768 }; /* inputs of the steps of one node, and results */

static const char name[] = "adz_scan";

static void attributes_free(void *attributes)
{
    adzi_saved_chunk *saved;
    memcpy(&saved, attributes, sizeof saved);
    adzi_free(saved->position, saved->n_positions * sizeof *saved->position);
    adzi_free(saved, sizeof *saved);
}

int64_t adzi_loop_chunk_steps(const adzi_loop *loop, int64_t length)
{
    const size_t each = loop->n_inputs > loop->n_results ? loop->n_inputs : loop->n_results;
    const int64_t most = MOST_EDGES / (int64_t)(each > 0 ? each : 1);
    const int64_t root = (int64_t)ceil(sqrt((double)length));
    return root < most ? root : most;
}

/* ---- the first call -------------------------------------------------------------------------- */

void adzi_ear_listen(adzi_ear *e)
{
    e->listener.before = adzi_listener_current;
    adzi_listener_current = &e->listener;
}

void adzi_ear_end(adzi_ear *e)
{
    if (adzi_listener_current == &e->listener) {
        adzi_listener_current = e->listener.before;
    }
    if (e->draws) {
        adzi_draws_end(&e->saved->draws);
        e->draws = false;
    }
}

static void ear_free(void *attributes)
{
    adzi_ear *e;
    memcpy(&e, attributes, sizeof e);
    adzi_ear_end(e);
    for (size_t i = 0; i < e->n; ++i) {
        adzi_drop(e->tensors[i]);
    }
    adzi_free(e->tensors, e->capacity * sizeof *e->tensors);
    if (e->saved != NULL) {
        attributes_free(&e->saved);
    }
    adzi_free(e, sizeof *e);
}

static const adzi_op ear_op = {
    .size = sizeof(adzi_op), .name = name, .attributes_free = ear_free
};

adzi_ear *adzi_ear_new(void (*hears)(adzi_listener *listener, adz_tensor *const *in, int n))
{
    adzi_thread *thread = adzi_self();
    adz_tensor *owner = adzi_scratch(name, ADZ_U8, 0, NULL);
    adzi_ear *e = owner != NULL ? adzi_alloc_zero(sizeof *e) : NULL;
    adzi_node *node =
        e != NULL ? adzi_node_new(thread, &ear_op, NULL, 0, 1, 0, &e, sizeof e) : NULL;
    if (node == NULL) {
        adzi_free(e, e != NULL ? sizeof *e : 0);
        return owner != NULL && e == NULL ? adzi_fail_memory(name, sizeof *e) : NULL;
    }
    adzi_node_attach(node, 0, owner); /* which ends with the scope, also after a jump */
    adzi_node_release(thread, node);
    e->listener.hear = hears;
    return e;
}

static void hear(adzi_listener *listener, adz_tensor *const *in, int n)
{
    adzi_ear *e = (adzi_ear *)(void *)listener;
    for (int i = 0; i < n; ++i) {
        bool known = adzi_is_none(in[i]) || !adzi_requires_grad(in[i]);
        for (size_t k = 0; k < e->n && !known; ++k) {
            known = e->tensors[k] == in[i];
        }
        if (!known && !adzi_grow(&e->tensors, &e->capacity, e->n + 1, sizeof *e->tensors)) {
            e->refused = true;
        } else if (!known) {
            e->tensors[e->n++] = adzi_retain(in[i]);
        }
    }
}

/* What comes out of a chunk. */
typedef struct outputs {
    adz_tensor **t;      /* the carries, and behind them result j of step k: chunk->y */
    adz_tensor **inner;  /* of each: itself if the body has made it in this chunk, else NULL */
    adz_tensor **before; /* `inner` of the carries of the step that runs */
    size_t n;
} outputs;

/* Whether the body has made output t of the step that has run, in it or in an earlier one of the
 * chunk. Carries lie behind the loop's mark, too. */
static bool is_made(const adzi_loop *loop, const outputs *o, const adz_tensor *t)
{
    const adzi_thread *thread = adzi_self();
    for (size_t i = 0; i < loop->n_carries + loop->n_inputs; ++i) {
        if (loop->in[i] == t) {
            return i < loop->n_carries && o->before[i] == t;
        }
    }
    bool made = false;
    for (size_t i = thread->n_temporaries; i > loop->mark && !made; --i) {
        made = thread->temporaries[i - 1] == t;
    }
    return made;
}

/* Computes the steps without a graph. */
static bool run_steps(adzi_loop *loop, const adzi_loop_chunk *chunk, const outputs *o)
{
    const size_t n_carries = loop->n_carries;
    for (int64_t k = 0; k < chunk->n; ++k) {
        if (!adzi_loop_chunk_step(loop, chunk->x, chunk->n, k, chunk->begin + k)) {
            return false;
        }
        adz_tensor **y = loop->out + n_carries;
        for (size_t c = 0; c < n_carries; ++c) {
            o->inner[c] = is_made(loop, o, loop->out[c]) ? loop->out[c] : NULL;
        }
        for (size_t j = 0; j < loop->n_results; ++j) {
            const size_t at = n_carries + j * (size_t)chunk->n + (size_t)k;
            o->t[at] = chunk->y[at - n_carries] = y[j];
            o->inner[at] = is_made(loop, o, y[j]) ? y[j] : NULL;
        }
        if (!adzi_loop_advance(loop, y, loop->n_results)) {
            return false;
        }
        memcpy(o->before, o->inner, n_carries * sizeof *o->before);
    }
    memcpy(o->t, loop->in, n_carries * sizeof *o->t);
    return true;
}

static const adzi_op chunk_op = { .size = sizeof(adzi_op),
    .name = name,
    .backward = adzi_loop_chunk_backward,
    .attributes_free = attributes_free };

static bool any_wants(adz_tensor *const *tensors, size_t n)
{
    bool some = false;
    for (size_t i = 0; i < n; ++i) {
        some = some || adzi_requires_grad(tensors[i]);
    }
    return some;
}

static bool any_float(adz_tensor *const *tensors, size_t n)
{
    bool some = false;
    for (size_t i = 0; i < n; ++i) {
        some = some || adzi_is_float((adz_dtype)tensors[i]->dtype);
    }
    return some;
}

/* Saves the carries behind the chunk, with which those of the second call are compared. The next
 * chunk saves them anyway. */
static void save_carries(const adzi_saved_chunk *saved, adzi_node *node, adz_tensor *const *out)
{
    for (size_t c = 0; c < saved->n_carries; ++c) {
        const int k = (int)saved->position[c] - 1;
        if (k >= 0 && node->results[k].saved == NULL && adzi_is_contiguous(out[k]) &&
            out[k]->data == out[k]->storage->data) {
            adzi_node_save_result(node, k, out[k]);
        }
    }
}

/* Makes the node of the chunk, which takes over what was saved. */
static bool record(adzi_ear *e, adz_tensor **in, adz_tensor **out, int n_out)
{
    adzi_call call;
    const int n_in = e->saved->n_edges;
    if (!adzi_enter(&call, &chunk_op, "input", in, n_in, 0) ||
        !adzi_record_extra(&call, n_out, out, 0, &e->saved, sizeof e->saved)) {
        return false;
    }
    if (call.node != NULL) {
        save_carries(e->saved, call.node, out);
        e->saved = NULL; /* it is the node's */
    }
    for (int i = 0; i < n_in; ++i) {
        adzi_save_input(&call, i);
    }
    return true;
}

/* The results of the node: each output that the body has made, once. One that shares its elements
 * is copied. Fills saved->position. Returns how many there are; SIZE_MAX with the error recorded.
 */
static size_t find_results(const adzi_saved_chunk *saved, const outputs *o, adz_tensor **results)
{
    size_t n = 0;
    for (size_t k = 0; k < o->n; ++k) {
        size_t same = 0;
        while (same < k && (o->inner[k] == NULL || o->inner[same] != o->inner[k])) {
            ++same;
        }
        saved->position[k] = 0;
        if (same < k) {
            saved->position[k] = saved->position[same];
            o->t[k] = o->t[same];
        } else if (o->inner[k] != NULL) {
            const bool shares =
                atomic_load_explicit(&o->t[k]->storage->refs, memory_order_acquire) > 1;
            o->t[k] = shares ? adz_clone(o->t[k]) : o->t[k];
            if (o->t[k] == NULL) {
                return SIZE_MAX;
            }
            results[n++] = o->t[k];
            saved->position[k] = (uint16_t)n;
        }
    }
    return n;
}

/* Makes the node, whose inputs are `in`, if a gradient is wanted. */
static bool make_results(adzi_ear *e, const outputs *o, adz_tensor **in, size_t n_in)
{
    adzi_saved_chunk *saved = e->saved;
    adz_tensor **results = adzi_loop_list(name, o->n + 1);
    saved->position = results != NULL ? adzi_alloc(o->n * sizeof *saved->position) : NULL;
    if (saved->position == NULL) {
        return results != NULL && adzi_fail_memory(name, o->n * sizeof *saved->position) != NULL;
    }
    saved->n_positions = o->n;
    const bool before = adz_set_grad_enabled(false);
    const size_t n = find_results(saved, o, results);
    adz_set_grad_enabled(before);
    return n != SIZE_MAX &&
           (!any_wants(in, n_in) || !any_float(results, n) || record(e, in, results, (int)n));
}

/* Lists the inputs of the node, and makes it. `carries` are those that the chunk began with. */
static bool make_node(adzi_ear *e, const adzi_loop *loop, const adzi_loop_chunk *chunk,
    adz_tensor *const *carries, const outputs *o)
{
    const size_t n_x = loop->n_inputs * (size_t)chunk->n;
    const size_t n_in = loop->n_carries + n_x + e->n;
    adz_tensor **in = adzi_loop_list(name, n_in + 1);
    if (in == NULL) {
        return false;
    }
    if (n_in > UINT16_MAX || o->n > UINT16_MAX) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "%zu tensors in the steps that are computed again together; at most %d are possible",
            n_in > o->n ? n_in : o->n, UINT16_MAX);
        return false;
    }
    e->saved->n_edges = (int)n_in;
    for (size_t i = 0; i < n_in; ++i) {
        in[i] = i < loop->n_carries         ? carries[i]
                : i < loop->n_carries + n_x ? chunk->x[i - loop->n_carries]
                                            : e->tensors[i - loop->n_carries - n_x];
    }
    if (!make_results(e, o, in, n_in)) {
        return false;
    }
    memcpy(loop->in, o->t, loop->n_carries * sizeof *o->t);
    for (size_t k = loop->n_carries; k < o->n; ++k) {
        chunk->y[k - loop->n_carries] = o->t[k];
    }
    return true;
}

static adzi_saved_chunk *saved_new(const adzi_loop *loop, const adzi_loop_chunk *chunk)
{
    adzi_saved_chunk *saved =
        adzi_alloc_for_kernels(sizeof *saved); /* kernels write states there */
    if (saved == NULL) {
        return adzi_fail_memory(name, sizeof *saved);
    }
    memset(saved, 0, sizeof *saved);
    saved->body = loop->body;
    saved->user = loop->user;
    saved->n_carries = loop->n_carries;
    saved->n_inputs = loop->n_inputs;
    saved->n_results = loop->n_results;
    saved->begin = chunk->begin;
    saved->n = chunk->n;
    return saved;
}

/* Computes the steps, and hears what the body uses. */
static bool run_and_hear(
    adzi_loop *loop, const adzi_loop_chunk *chunk, adzi_ear *e, const outputs *o)
{
    const bool before = adz_set_grad_enabled(false);
    adzi_ear_listen(e);
    adzi_draws_begin(&e->saved->draws);
    e->draws = true;
    const bool good = run_steps(loop, chunk, o);
    adzi_ear_end(e);
    adz_set_grad_enabled(before);
    if (good && e->saved->draws.count > ADZI_MOST_DRAWN) {
        adzi_error(name, ADZ_ERR_UNSUPPORTED,
            "with the option checkpoint, a body draws from at most %d generators", ADZI_MOST_DRAWN);
        return false;
    }
    if (good && e->refused) {
        adzi_fail_memory(name, e->capacity * sizeof *e->tensors);
    }
    return good && !e->refused;
}

bool adzi_loop_chunk_run(adzi_loop *loop, adzi_loop_chunk *chunk)
{
    adzi_ear *e = adzi_ear_new(hear);
    const size_t n_carries = loop->n_carries, n = n_carries + loop->n_results * (size_t)chunk->n;
    adz_tensor **carries = e != NULL ? adzi_loop_list(name, 2 * n_carries + 2 * n) : NULL;
    if (carries == NULL || (e->saved = saved_new(loop, chunk)) == NULL) {
        return false;
    }
    outputs o = { .before = carries + n_carries, .t = carries + 2 * n_carries, .n = n };
    o.inner = o.t + n;
    for (size_t c = 0; c < n_carries; ++c) {
        carries[c] = loop->in[c];
    }
    loop->mark = adzi_self()->n_temporaries; /* so the scope keeps these carries */
    return run_and_hear(loop, chunk, e, &o) && make_node(e, loop, chunk, carries, &o);
}
