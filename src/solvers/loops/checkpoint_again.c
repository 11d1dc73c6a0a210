/* The backward of steps that are computed again: see checkpoint.c. */
#include <string.h>

#include "adze/ops.h"
#include "autograd/engine.h"
#include "base/capture.h"
#include "base/threads/marks.h"
#include "solvers/loops/saved_chunk.h"

static const char name[] = "adz_scan";

/* Gives a step its inputs, and calls the body. */
bool adzi_loop_chunk_step(
    adzi_loop *loop, adz_tensor *const *x, int64_t n, int64_t k, int64_t number)
{
    for (size_t i = 0; i < loop->n_inputs; ++i) {
        loop->in[loop->n_carries + i] = x[(int64_t)i * n + k];
    }
    adzi_loop_name_step(loop, number);
    adzi_capture_loop(loop->op, ADZI_LOOP_STEP, number);
    return adzi_loop_step(loop, number);
}

/* The second call of the steps. */
typedef struct again {
    adzi_ear *ear;
    adzi_node *node;
    adzi_saved_chunk *saved;
    adzi_loop loop;
    adz_tensor **x, **y;
} again;

/* Whether a node depends on a tensor. */
static bool depends(const adzi_node *node, const adz_tensor *t)
{
    bool found = false;
    for (int i = node->n_inputs - 1; i >= 0 && !found; --i) {
        const adzi_edge *edge = &node->inputs[i];
        found =
            t->node != NULL ? edge->node == t->node && edge->result == t->result : edge->leaf == t;
    }
    return found;
}

static void hear_again(adzi_listener *listener, adz_tensor *const *in, int n)
{
    adzi_ear *e = (adzi_ear *)(void *)listener;
    for (int i = 0; i < n; ++i) {
        const adz_tensor *t = in[i];
        if (!adzi_is_none(t) && adzi_requires_grad(t) &&
            (t->node == NULL || t->node->sequence <= e->sequence)) {
            e->strange = e->strange || !depends(e->node, t);
        }
    }
}

/* Gives the generators the states that they had before the first call, or those that they had
 * before that. */
static void set_generators(adzi_saved_chunk *saved, bool back)
{
    for (size_t i = 0; i < saved->draws.count; ++i) {
        adz_generator *generator = saved->draws.drawn[i].generator;
        if (generator != NULL && back) { /* one that the body made and freed is made again */
            adzi_generator_copy_state(&saved->later[i], &generator->state);
            adzi_generator_copy_state(&generator->state, &saved->draws.drawn[i].before);
        } else if (generator != NULL) {
            adzi_generator_copy_state(&generator->state, &saved->later[i]);
        }
    }
}

static bool run_again(void *state)
{
    again *a = state;
    const adzi_saved_chunk *saved = a->saved;
    adzi_loop *loop = &a->loop;
    bool good = true;
    adzi_capture_loop(name, ADZI_LOOP_BEGINS, 0);
    for (int64_t k = 0; k < saved->n && good; ++k) {
        good = adzi_loop_chunk_step(loop, a->x, saved->n, k, saved->begin + k);
        for (size_t j = 0; j < loop->n_results && good; ++j) {
            a->y[(int64_t)j * saved->n + k] = loop->out[loop->n_carries + j];
        }
        good = good && adzi_loop_advance(loop, loop->out + loop->n_carries, loop->n_results);
    }
    adzi_capture_loop(name, ADZI_LOOP_ENDS, saved->n);
    return good;
}

static bool call_again(again *a)
{
    a->ear->node = a->node;
    a->ear->sequence = adzi_self()->sequence;
    adzi_ear_listen(a->ear);
    set_generators(a->saved, true);
    const bool before = adz_set_grad_enabled(true);
    const bool good = adzi_loop_run(&a->loop, run_again, a);
    adz_set_grad_enabled(before);
    set_generators(a->saved, false);
    adzi_ear_end(a->ear);
    if (good && a->ear->strange) {
        adzi_error(name, ADZ_ERR_STATE,
            "the body uses a tensor with a gradient that it did not use in the forward; with the option checkpoint, it is called again in the backward and must do the same. If the body has made the tensor itself, as the solvers of adze/solvers.h do, leave checkpoint out");
    }
    return good && !a->ear->strange;
}

/* Continues the running backward behind the results that have received a gradient. */
static bool go_on(const again *a, adz_tensor *const *dy)
{
    const size_t n_carries = a->loop.n_carries;
    const size_t all = n_carries + a->loop.n_results * (size_t)a->saved->n;
    adz_tensor **from = adzi_loop_list(name, 2 * all + 1), **gradients = from + all;
    size_t n = 0, next = 0;
    for (size_t k = 0; from != NULL && k < all; ++k) {
        adz_tensor *y = k < n_carries ? a->loop.in[k] : a->y[k - n_carries];
        const size_t result = a->saved->position[k];
        if (result > next && dy[result - 1] != NULL && adzi_requires_grad(y)) {
            from[n] = y;
            gradients[n++] = dy[result - 1];
        }
        next = result > next ? result : next; /* results are counted as they come */
    }
    return from != NULL && (n == 0 || adzi_run_within(a->node, from, gradients, n));
}

/* Whether carry c behind the chunk has the bits of the first call. One that was changed in place
 * since is not looked at. */
static bool is_as_before(const again *a, size_t c)
{
    const adz_tensor *y = a->loop.in[c];
    const size_t result = a->saved->position[c];
    const adzi_result *r = result > 0 ? &a->node->results[result - 1] : NULL;
    return r == NULL || r->saved == NULL || r->saved->version != r->version ||
           !adzi_is_contiguous(y) ||
           memcmp(y->data, r->saved->data, (size_t)y->numel * adzi_item_size(y)) == 0;
}

/* Whether the second call has computed what the first one had. Records an error if not. */
static bool is_repeated(const again *a)
{
    const bool skipped = adzi_capture_skips(true); /* then nothing is computed */
    size_t c = 0;
    adzi_capture_skips(skipped);
    while (c < a->loop.n_carries && (skipped || is_as_before(a, c))) {
        ++c;
    }
    if (c < a->loop.n_carries) {
        adzi_error(name, ADZ_ERR_STATE,
            "the second call of steps %lld to %lld, which the option checkpoint makes in the backward, has computed another carry %zu than the first one: something has changed since that the body reads, such as a tensor without a gradient or a number, or that decides its bits, such as the precision of products",
            (long long)a->saved->begin, (long long)(a->saved->begin + a->saved->n - 1), c);
    }
    return c == a->loop.n_carries;
}

/* Leaves dx empty: the gradients reach the inputs through the graph of the second call. */
adz_status adzi_loop_chunk_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    again a = { .node = node, .ear = adzi_ear_new(hear_again) };
    memcpy(&a.saved, node->attr, sizeof a.saved);
    const adzi_saved_chunk *saved = a.saved;
    adz_tensor **in = a.ear != NULL ? adzi_loop_list(name, (size_t)saved->n_edges + 1) : NULL;
    a.y = in != NULL ? adzi_loop_list(name, saved->n_results * (size_t)saved->n + 1) : NULL;
    if (a.y == NULL) {
        return adz_error_code();
    }
    for (int i = 0; i < saved->n_edges; ++i) {
        in[i] = adzi_saved_input(node, i);
        if (in[i] == NULL) {
            return adz_error_code();
        }
    }
    a.x = in + saved->n_carries;
    a.loop = (adzi_loop){ .op = name,
        .body = saved->body,
        .user = saved->user,
        .n_carries = saved->n_carries,
        .n_inputs = saved->n_inputs,
        .n_results = saved->n_results };
    return adzi_loop_begin(&a.loop, in) && call_again(&a) && is_repeated(&a) && go_on(&a, dy)
               ? ADZ_OK
               : adz_error_code();
}
