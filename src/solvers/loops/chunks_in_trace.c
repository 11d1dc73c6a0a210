/* The option checkpoint of adz_scan while the thread is traced: a scan over chunks of about the
 * square root of the steps, whose body is the scan over the steps of a chunk.
 *
 * The node of a traced scan keeps the carries before each step, and its backward repeats the calls
 * of the body (Note [The gradient of a traced loop]). So the outer scan keeps the carries between
 * chunks, and the inner one those of the chunk that is differentiated. Steps that fill no chunk
 * come last, in a scan of their own. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "solvers/loops/in_trace.h"

typedef struct chunks {
    const adzi_loop *loop;
    int64_t steps; /* of a chunk */
    bool reverse;
} chunks;

static adz_status scan(const chunks *c, adz_loop_body body, void *user, adz_tensor *const *in,
    int64_t length, adz_tensor **results)
{
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = c->reverse;
    o.length = length;
    return adz_scan(body, user, in, c->loop->n_carries, in + c->loop->n_carries, c->loop->n_inputs,
        c->loop->n_results, &o, results);
}

static adz_status chunk(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const chunks *c = user;
    return scan(c, c->loop->body, c->loop->user, in, c->steps, results);
}

/* `length` elements of the first dimension from `begin` on; in chunks if `steps` is not 0. */
static adz_tensor *part_of(adz_tensor *x, int64_t begin, int64_t length, int64_t steps)
{
    adz_tensor *part = adz_narrow(x, 0, begin, length);
    adz_shape shape = { .rank = x->rank + 1 };
    if (part == NULL || steps == 0) {
        return part;
    }
    if (x->rank == ADZ_MAX_RANK) {
        return adzi_fail("adz_scan", ADZ_ERR_SHAPE,
            "an input has %d dimensions, so there is none for the chunks of the option checkpoint",
            ADZ_MAX_RANK);
    }
    shape.sizes[0] = length / steps;
    shape.sizes[1] = steps;
    memcpy(shape.sizes + 2, x->sizes + 1, (size_t)(x->rank - 1) * sizeof *shape.sizes);
    return adz_reshape(part, shape);
}

/* The results of all chunks as those of all steps. */
static adz_tensor *without_chunks(adz_tensor *y, int64_t length)
{
    adz_shape shape = { .rank = y->rank - 1 };
    shape.sizes[0] = length;
    memcpy(shape.sizes + 1, y->sizes + 2, (size_t)(y->rank - 2) * sizeof *shape.sizes);
    return adz_reshape(y, shape);
}

/* Scans the steps behind all chunks from the carries in `results`, and joins the results. */
static adz_status scan_rest(const chunks *c, adz_tensor *const *inputs, int64_t begin, int64_t rest,
    adz_tensor **in, adz_tensor **results)
{
    const adzi_loop *loop = c->loop;
    const size_t n = loop->n_carries;
    adz_tensor **more = adzi_loop_list(loop->op, n + loop->n_results + 1);
    bool good = more != NULL;
    memcpy(in, results, n * sizeof *in);
    for (size_t i = 0; i < loop->n_inputs && good; ++i) {
        in[n + i] = part_of(inputs[i], begin, rest, 0);
        good = in[n + i] != NULL;
    }
    if (!good || scan(c, loop->body, loop->user, in, rest, more) != ADZ_OK) {
        return adzi_status(NULL);
    }
    memcpy(results, more, n * sizeof *in);
    for (size_t k = n; k < n + loop->n_results && good; ++k) {
        adz_tensor *both[] = { c->reverse ? more[k] : results[k],
            c->reverse ? results[k] : more[k] };
        results[k] = adz_cat(both, 2, 0);
        good = results[k] != NULL;
    }
    return good ? ADZ_OK : adzi_status(NULL);
}

/* The steps of a chunk: the square root of all, or up to twice as many if these fill chunks. */
static int64_t steps_of(int64_t length)
{
    const int64_t root = (int64_t)ceil(sqrt((double)length));
    int64_t steps = root;
    while (steps < 2 * root && length % steps != 0) {
        ++steps;
    }
    return length % steps == 0 ? steps : root;
}

bool adzi_scan_has_chunks(int64_t length)
{
    const adzi_thread *thread = adzi_self();
    return length > 3 && thread->grad_enabled && thread->tracer->of_step;
}

adz_status adzi_scan_chunks_in_trace(const adzi_loop *loop, adz_tensor *const *carries,
    adz_tensor *const *inputs, int64_t length, bool reverse, adz_tensor **results)
{
    const size_t n = loop->n_carries, n_results = loop->n_results;
    chunks c = { loop, steps_of(length), reverse };
    const int64_t all = length - length % c.steps, rest = length - all;
    adz_tensor **in = adzi_loop_list(loop->op, n + loop->n_inputs + n + n_results + 1);
    adz_tensor **found = in + n + loop->n_inputs;
    if (in == NULL) {
        return adzi_status(NULL);
    }
    for (size_t i = 0; i < n + loop->n_inputs; ++i) {
        in[i] = i < n ? carries[i] : part_of(inputs[i - n], reverse ? rest : 0, all, c.steps);
        if (in[i] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (scan(&c, chunk, &c, in, all / c.steps, found) != ADZ_OK) {
        return adzi_status(NULL);
    }
    for (size_t k = n; k < n + n_results; ++k) {
        found[k] = without_chunks(found[k], all);
        if (found[k] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (rest > 0 && scan_rest(&c, inputs, reverse ? 0 : all, rest, in, found) != ADZ_OK) {
        return adzi_status(NULL);
    }
    memcpy(results, found, (n + n_results) * sizeof *found);
    return ADZ_OK;
}
