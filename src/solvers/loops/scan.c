/* adz_scan: the unrolled program, step by step.
 *
 * The inputs are cut into the elements of their first dimension by one adz_unbind, so that their
 * gradients are stacked once. Results are stacked by one adz_stack; without a graph each is copied
 * to its position as soon as its step has ended. */
#include "solvers/loops/checkpoint.h"
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "autograd/op.h"
#include "base/capture.h"

enum { MOST_STEPS = 65535 }; /* the results that one node may have */

static const adz_field fields[] = {
    ADZ_FIELD(adz_scan_options, reverse, .value = false),
    ADZ_FIELD(adz_scan_options, length, .value = -1, ADZ_CLOSED(-1, MOST_STEPS)),
    ADZ_FIELD(adz_scan_options, checkpoint, .value = false),
};

ADZ_OPTIONS_TABLE(adz_scan_options, ADZ_SCAN_OPTIONS, fields)

typedef struct scan {
    adzi_loop loop;
    adz_scan_options options;
    adz_tensor *const *inputs;
    adz_tensor **results; /* the caller's */
    int64_t length;
    bool stacks;        /* the results of all steps are kept, and stacked at the end */
    adz_tensor **x;     /* input i of step t is x[i * length + t] */
    adz_tensor **y;     /* result k of step t is y[k * length + t] if `stacks` */
    uint32_t *versions; /* of each of these when its step ended */
    adz_tensor **all;   /* the stacked results, which steps fill if not `stacks` */
} scan;

/* ---- checks ---------------------------------------------------------------------------------- */

/* Finds the number of steps. */
static bool find_length(scan *s)
{
    const adzi_loop *loop = &s->loop;
    s->length = s->options.length;
    for (size_t i = 0; i < loop->n_inputs; ++i) {
        const adz_tensor *x = s->inputs[i];
        if (x->rank == 0) {
            adzi_error(loop->op, ADZ_ERR_SHAPE,
                "input %zu is a scalar, and has no first dimension whose elements are the steps",
                i);
            return false;
        }
        s->length = s->length < 0 ? x->sizes[0] : s->length;
        if (x->sizes[0] != s->length) {
            adzi_error(loop->op, ADZ_ERR_SHAPE,
                "input %zu is %s, which gives %lld steps, and %s gives %lld", i, adzi_text_shape(x),
                (long long)x->sizes[0],
                s->options.length >= 0 ? "the option length" : "the input before",
                (long long)s->length);
            return false;
        }
    }
    if (s->length < 0 || s->length > MOST_STEPS) {
        adzi_error(loop->op, ADZ_ERR_ARGUMENT,
            s->length < 0 ? "without inputs, the option length has to say how many steps there are"
                          : "%lld steps; at most 65535 are possible",
            (long long)s->length);
        return false;
    }
    return true;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool cut_inputs(scan *s)
{
    const size_t n = s->loop.n_inputs, length = (size_t)s->length;
    s->x = n > 0 ? adzi_loop_list(s->loop.op, n * length) : NULL;
    bool good = n == 0 || s->x != NULL;
    for (size_t i = 0; i < n && length > 0 && good; ++i) {
        good = adz_unbind(s->inputs[i], 0, s->x + i * length, length, NULL) == ADZ_OK;
    }
    return good;
}

/* Without steps, the inputs of the one call of the body. */
static bool make_zeros(scan *s)
{
    bool good = true;
    for (size_t i = 0; i < s->loop.n_inputs && good; ++i) {
        const adz_tensor *x = s->inputs[i];
        adz_tensor **in = &s->loop.in[s->loop.n_carries + i];
        *in = adz_zeros(adz_shape_of(x->rank - 1, x->sizes + 1), (adz_dtype)x->dtype);
        good = *in != NULL;
    }
    return good;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Room for a result of all steps. */
static adz_tensor *room_for(const scan *s, const adz_tensor *y)
{
    adz_shape shape = { .rank = y->rank + 1 };
    if (y->rank == ADZ_MAX_RANK) {
        return adzi_fail(s->loop.op, ADZ_ERR_SHAPE,
            "a result of a step has %d dimensions, so there is none for the steps", ADZ_MAX_RANK);
    }
    shape.sizes[0] = s->length;
    memcpy(shape.sizes + 1, y->sizes, (size_t)y->rank * sizeof *y->sizes);
    return adz_empty(shape, (adz_dtype)y->dtype);
}

/* Whether a result of a step has the shape and the dtype of `sizes`, its sizes in the first one. */
static bool fits(size_t k, adz_dtype dtype, int rank, const int64_t *sizes, const adz_tensor *y)
{
    if (y->dtype == dtype && y->rank == rank &&
        memcmp(y->sizes, sizes, (size_t)rank * sizeof *sizes) == 0) {
        return true;
    }
    adzi_error("the body", y->dtype != dtype ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
        "result %zu is %s%s, and was %s%s in the first step", k,
        adz_dtype_name((adz_dtype)y->dtype), adzi_text_shape(y), adz_dtype_name(dtype),
        adzi_text_sizes(rank, sizes));
    return false;
}

/* Takes result k of the step for element t. */
static bool keep_result(scan *s, size_t k, adz_tensor *y, int64_t t, bool first)
{
    adz_tensor **of = s->y + k * (size_t)s->length;
    const adz_tensor *begin = first ? y : of[s->options.reverse ? s->length - 1 : 0];
    of[t] = y;
    s->versions[(int64_t)k * s->length + t] = y->storage->version;
    return fits(k, (adz_dtype)begin->dtype, begin->rank, begin->sizes, y);
}

/* Copies result k to its position t. */
static bool copy_result(scan *s, size_t k, adz_tensor *y, int64_t t, bool first)
{
    if (first) {
        s->all[k] = room_for(s, y);
    }
    const adz_tensor *all = s->all[k];
    return all != NULL && fits(k, (adz_dtype)all->dtype, all->rank - 1, all->sizes + 1, y) &&
           (y->numel == 0 || adz_copy_(adz_select(s->all[k], 0, t), y) != NULL);
}

/* Takes the results of a step, and what lasts of it. */
static bool end_step(scan *s, int64_t t, bool first)
{
    adz_tensor **y = s->loop.out + s->loop.n_carries;
    for (size_t k = 0; k < s->loop.n_results; ++k) {
        if (!(s->stacks ? keep_result : copy_result)(s, k, y[k], t, first)) {
            return false;
        }
    }
    return s->stacks || first
               ? adzi_loop_advance(&s->loop, s->stacks ? y : s->all, s->loop.n_results)
               : adzi_loop_advance(&s->loop, NULL, 0);
}

/* Whether the steps have left the results of earlier steps as they were. Records an error if not.
 */
static bool are_lasting(const scan *s, size_t k)
{
    for (int64_t t = 0; t < s->length; ++t) {
        const int64_t i = (int64_t)k * s->length + t;
        if (s->y[i]->storage->version != s->versions[i]) {
            adzi_error(s->loop.op, ADZ_ERR_STATE,
                "result %zu of a step was changed in place by a later step; give a copy (adz_clone)",
                k);
            return false;
        }
    }
    return true;
}

static bool stack_results(scan *s)
{
    const size_t length = (size_t)s->length;
    for (size_t k = 0; k < s->loop.n_results && s->stacks; ++k) {
        s->all[k] = are_lasting(s, k) ? adz_stack(s->y + k * length, length, 0) : NULL;
        if (s->all[k] == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The element that step `step` takes. */
static int64_t element_of(const scan *s, int64_t step)
{
    return s->options.reverse ? s->length - 1 - step : step;
}

static bool run_steps(scan *s)
{
    adzi_loop *loop = &s->loop;
    for (int64_t step = 0; step < s->length; ++step) {
        const int64_t t = element_of(s, step);
        for (size_t i = 0; i < loop->n_inputs; ++i) {
            loop->in[loop->n_carries + i] = s->x[(int64_t)i * s->length + t];
        }
        adzi_loop_name_step(loop, step);
        adzi_capture_loop(loop->op, ADZI_LOOP_STEP, step);
        if (!adzi_loop_step(loop, step) || !end_step(s, t, step == 0)) {
            return false;
        }
    }
    return true;
}

/* Runs a chunk of steps, which the backward computes again. */
static bool run_chunk(scan *s, adzi_loop_chunk *chunk)
{
    const size_t n = (size_t)chunk->n;
    for (size_t i = 0; i < s->loop.n_inputs; ++i) {
        for (size_t k = 0; k < n; ++k) {
            chunk->x[i * n + k] =
                s->x[(int64_t)i * s->length + element_of(s, chunk->begin + (int64_t)k)];
        }
    }
    bool good = adzi_loop_chunk_run(&s->loop, chunk);
    for (size_t k = 0; k < n; ++k) {
        for (size_t j = 0; j < s->loop.n_results && good; ++j) {
            const int64_t step = chunk->begin + (int64_t)k;
            good = keep_result(s, j, chunk->y[j * n + k], element_of(s, step), step == 0);
        }
    }
    return good;
}

static bool run_chunks(scan *s)
{
    adzi_loop *loop = &s->loop;
    const int64_t most = adzi_loop_chunk_steps(loop, s->length);
    adz_tensor **lists =
        adzi_loop_list(loop->op, (loop->n_inputs + loop->n_results) * (size_t)most + 1);
    bool good = lists != NULL;
    for (int64_t begin = 0; begin < s->length && good; begin += most) {
        const int64_t left = s->length - begin;
        adzi_loop_chunk chunk = { .begin = begin, .n = left < most ? left : most, .x = lists };
        chunk.y = lists + loop->n_inputs * (size_t)most;
        good = run_chunk(s, &chunk);
    }
    return good;
}

/* Calls the body once, for the shapes of its results. */
static bool run_without_steps(scan *s)
{
    adzi_loop *loop = &s->loop;
    bool good = true;
    if (loop->n_results == 0) {
        return true;
    }
    adzi_loop_name_step(loop, 0);
    const bool before = adz_set_grad_enabled(false);
    good = make_zeros(s) && adzi_loop_step(loop, 0);
    adz_set_grad_enabled(before);
    for (size_t k = 0; k < loop->n_results && good; ++k) {
        s->all[k] = room_for(s, loop->out[loop->n_carries + k]);
        good = s->all[k] != NULL;
    }
    return good;
}

static bool make_lists(scan *s, adz_tensor *const *carries)
{
    const size_t n = s->loop.n_results;
    s->all = adzi_loop_list(s->loop.op, n);
    const size_t kept = s->stacks ? n * (size_t)s->length : 0;
    s->y = s->all != NULL ? adzi_loop_list(s->loop.op, 2 * kept) : NULL;
    s->versions = (uint32_t *)(void *)(s->y != NULL ? s->y + kept : NULL);
    return s->y != NULL && cut_inputs(s) && adzi_loop_begin(&s->loop, carries);
}

static bool run(void *state)
{
    scan *s = state;
    if (s->length == 0) {
        return run_without_steps(s);
    }
    adzi_capture_loop(s->loop.op, ADZI_LOOP_BEGINS, 0);
    const bool good = s->options.checkpoint && s->stacks ? run_chunks(s) : run_steps(s);
    adzi_capture_loop(s->loop.op, ADZI_LOOP_ENDS, s->length);
    return good && stack_results(s);
}

static bool check(scan *s, adz_tensor *const *carries, const adz_scan_options *options)
{
    const char *op = s->loop.op;
    const adzi_loop *loop = &s->loop;
    if (loop->body == NULL || s->results == NULL) {
        adzi_error_null(op, loop->body == NULL ? "body" : "results");
        return false;
    }
    if (loop->n_results > ADZ_LOOP_TENSORS || loop->n_results + loop->n_carries == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%zu carries and %zu results; 1 to %d are possible",
            loop->n_carries, loop->n_results, ADZ_LOOP_TENSORS);
        return false;
    }
    return adzi_loop_check_list(op, "carries", carries, loop->n_carries, 0) &&
           adzi_loop_check_list(op, "inputs", s->inputs, loop->n_inputs, 0) &&
           adz_options_take(op, &adz_scan_options_table, &s->options, options) && find_length(s);
}

/* The lists of the scan end before its results reach the caller. */
static adz_status give_results(scan *s, size_t mark, adz_tensor *const *carries)
{
    const size_t n = s->loop.n_carries, n_results = s->loop.n_results;
    if (n > 0) {
        memcpy(s->results, s->length > 0 ? s->loop.in : carries, n * sizeof *carries);
    }
    if (n_results > 0) {
        memcpy(s->results + n, s->all, n_results * sizeof *carries);
    }
    return adzi_loop_survive(s->loop.op, mark, s->results, n + n_results) ? ADZ_OK
                                                                          : adzi_status(NULL);
}

adz_status adz_scan(adz_loop_body body, void *user, adz_tensor *const *carries, size_t n_carries,
    adz_tensor *const *inputs, size_t n_inputs, size_t n_results, const adz_scan_options *options,
    adz_tensor **results)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    scan s = { .loop = { .op = "adz_scan",
                   .body = body,
                   .user = user,
                   .n_carries = n_carries,
                   .n_inputs = n_inputs,
                   .n_results = n_results },
        .inputs = inputs,
        .results = results,
        .stacks = thread->grad_enabled };
    adzi_settle(thread);
    if (!check(&s, carries, options)) {
        return adzi_status(NULL);
    }
    if (thread->tracer != NULL) {
        return adzi_scan_in_trace(&s.loop, carries, inputs, s.length, s.options.reverse, results);
    }
    if (!make_lists(&s, carries) || !adzi_loop_run(&s.loop, run, &s)) {
        return adzi_status(NULL);
    }
    return give_results(&s, mark, carries);
}
