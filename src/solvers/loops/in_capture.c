/* Loops and branches that a plan captures.
 *
 * Note [Loops with a condition in plans]
 * Without a gradient the launches of the condition and of one step are recorded between marks
 * (Note [Marks among launches]), and the carries lie in tensors that each step writes in place.
 * With a gradient a loop is a masked scan up to its bound: every step is computed, and counts as
 * long as the condition has held. A branch with a gradient computes both bodies and chooses
 * elements.
 *
 * Which of the two it is depends on the results of the body, so it is called once beforehand, while
 * the capture pauses. */
#include "solvers/loops/in_capture.h"
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "adze/ops.h"
#include "base/door.h"
#include "base/threads/marks.h"
#include "tensor/shape.h"

enum { MOST_MASKED = 65535 };

/* One element of a condition as a bool scalar. */
static adz_tensor *truth_of(const char *op, const char *what, adz_tensor *t)
{
    if (t == NULL) {
        (void)adzi_status(NULL); /* an error if the condition has recorded none */
        return NULL;
    }
    return adzi_loop_check_truth(op, what, t) ? adz_ne_number(adz_reshape(t, ADZ_SHAPE_SCALAR), 0)
                                              : NULL;
}

/* Whether the element of a tensor of truth_of is true. Its launches have been computed. */
static bool is_true(const adz_tensor *truth)
{
    return *(const char *)truth->data != 0;
}

/* Whether launches are recorded without being computed: those of a body around this call, which
 * does not run. */
static bool is_skipped(void)
{
    const bool skipped = adzi_capture_skips(true);
    adzi_capture_skips(skipped);
    return skipped;
}

static bool any_requires_grad(adz_tensor *const *tensors, size_t n)
{
    bool any = false;
    for (size_t k = 0; k < n; ++k) {
        any = any || adzi_requires_grad(tensors[k]);
    }
    return any;
}

/* ---- while loops ----------------------------------------------------------------------------- */

typedef struct capture_while {
    adzi_loop *loop;
    adz_loop_condition condition;
    int64_t most;
    adz_tensor *truth, *count, *ended;
} capture_while;

static adz_tensor *condition_of(const capture_while *w)
{
    return truth_of(w->loop->op, "the condition", w->condition(w->loop->in, w->loop->user));
}

/* Whether the carries have a gradient behind a step. -1 with the error recorded. */
static int wants_gradient(const capture_while *w)
{
    adzi_thread *thread = adzi_self();
    if (!thread->grad_enabled || w->most == 0) {
        return 0;
    }
    const size_t mark = thread->n_temporaries;
    adzi_capture *paused = adzi_capture_pause();
    adzi_loop_name_step(w->loop, 0);
    const int wants = !adzi_loop_step(w->loop, 0)
                          ? -1
                          : any_requires_grad(w->loop->out, w->loop->n_carries) ||
                                any_requires_grad(w->loop->in, w->loop->n_carries);
    adzi_scope_unwind(thread, mark);
    adzi_capture_resume(paused);
    return wants;
}

/* Copies the next carries over the carries. Those that lie in the memory of a carry are copied
 * aside before. */
static bool write_carries(const adzi_loop *loop)
{
    for (size_t k = 0; k < loop->n_carries; ++k) {
        bool shared = false;
        for (size_t j = 0; j < loop->n_carries; ++j) {
            shared = shared || (j != k && loop->out[k]->storage == loop->in[j]->storage);
        }
        loop->out[k] = shared ? adz_clone(loop->out[k]) : loop->out[k];
        if (loop->out[k] == NULL) {
            return false;
        }
    }
    for (size_t k = 0; k < loop->n_carries; ++k) {
        if (loop->out[k] != loop->in[k] && adz_copy_(loop->in[k], loop->out[k]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool step(const capture_while *w, int64_t i)
{
    adzi_loop_name_step(w->loop, i);
    return adzi_loop_step(w->loop, i) && write_carries(w->loop) &&
           adz_add_number_(w->count, 1) != NULL;
}

/* The steps behind the first one, which are not recorded. */
static bool run_others(const capture_while *w)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    bool good = true;
    for (int64_t i = 1; good; ++i) {
        const adz_tensor *truth = condition_of(w);
        if (truth == NULL) {
            return false;
        }
        *(char *)w->truth->data = (char)is_true(truth);
        if (!is_true(w->truth) || i >= w->most) {
            break;
        }
        good = step(w, i);
        adzi_scope_unwind(thread, mark);
    }
    return good;
}

static bool make_carries(capture_while *w)
{
    bool good = true;
    for (size_t k = 0; k < w->loop->n_carries && good; ++k) {
        w->loop->in[k] = adz_clone(w->loop->in[k]);
        good = w->loop->in[k] != NULL;
    }
    w->count = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64);
    return good && w->count != NULL;
}

static bool run_marked(capture_while *w)
{
    if (!make_carries(w)) {
        return false;
    }
    adzi_add_mark(ADZI_MARK_WHILE, NULL, 0);
    adzi_loop_name_step(w->loop, 0);
    w->truth = condition_of(w);
    if (w->truth == NULL) {
        return false;
    }
    adzi_add_mark(ADZI_MARK_TEST, w->truth->data, w->most);
    const bool before = is_skipped();
    const bool runs = !before && is_true(w->truth) && w->most > 0;
    adzi_capture_skips(!runs);
    bool good = step(w, 0);
    adzi_capture_skips(before);
    adzi_add_mark(ADZI_MARK_AGAIN, NULL, 0);
    if (good && runs) {
        adzi_capture *paused = adzi_capture_pause();
        good = run_others(w);
        adzi_capture_resume(paused);
    }
    w->ended = good ? adz_logical_not(w->truth) : NULL;
    return w->ended != NULL;
}

/* A step of the masked scan. w->truth says whether the condition has held so far. */
static bool masked_step(capture_while *w, int64_t i)
{
    adzi_loop *loop = w->loop;
    adzi_loop_name_step(loop, i);
    adzi_capture_loop(loop->op, ADZI_LOOP_STEP, i);
    w->truth = adz_logical_and(w->truth, condition_of(w));
    w->count = adz_add(w->count, adz_to(w->truth, ADZ_I64));
    if (w->count == NULL || !adzi_loop_step(loop, i)) {
        return false;
    }
    for (size_t k = 0; k < loop->n_carries; ++k) {
        loop->out[k] = adz_where(w->truth, loop->out[k], loop->in[k]);
        if (loop->out[k] == NULL) {
            return false;
        }
    }
    return adzi_loop_advance(loop, (adz_tensor *[]){ w->truth, w->count }, 2);
}

static bool run_masked(capture_while *w)
{
    if (w->most > MOST_MASKED) {
        adzi_error(w->loop->op, ADZ_ERR_ARGUMENT,
            "max_iterations is %lld; with a gradient, a plan computes all of them, and 65535 are possible",
            (long long)w->most);
        return false;
    }
    w->truth = adz_ones(ADZ_SHAPE_SCALAR, ADZ_BOOL);
    w->count = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64);
    bool good = w->truth != NULL && w->count != NULL;
    w->loop->mark = adzi_self()->n_temporaries;
    adzi_capture_loop(w->loop->op, ADZI_LOOP_BEGINS, 0);
    for (int64_t i = 0; i < w->most && good; ++i) {
        good = masked_step(w, i);
    }
    adzi_capture_loop(w->loop->op, ADZI_LOOP_ENDS, w->most);
    w->ended = good ? adz_logical_not(adz_logical_and(w->truth, condition_of(w))) : NULL;
    return w->ended != NULL;
}

static bool run_while(void *state)
{
    capture_while *w = state;
    const int wants = wants_gradient(w);
    return wants >= 0 && (wants ? run_masked(w) : run_marked(w));
}

bool adzi_while_in_capture(adzi_loop *loop, adz_loop_condition condition, int64_t most,
    adz_tensor **count, adz_tensor **ended)
{
    capture_while w = { .loop = loop, .condition = condition, .most = most };
    if (!adzi_loop_run(loop, run_while, &w)) {
        return false;
    }
    *count = w.count;
    *ended = w.ended;
    return true;
}

/* ---- branches -------------------------------------------------------------------------------- */

typedef struct capture_branch {
    const adz_loop_body *bodies;
    void *user;
    adz_tensor *const *inputs;
    size_t n_results;
    adz_tensor *truth;
    adz_tensor **found[2], **results;
} capture_branch;

static const char op[] = "adz_branch";

/* Calls the body for a truth. */
static bool call_body(const capture_branch *b, bool truth)
{
    adz_tensor **found = b->found[!truth];
    memset(found, 0, b->n_results * sizeof *found);
    return adzi_branch_call(b->bodies[!truth], b->user, b->inputs, found, b->n_results);
}

static int branch_wants_gradient(const capture_branch *b)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    if (!thread->grad_enabled) {
        return 0;
    }
    adzi_capture *paused = adzi_capture_pause();
    int wants = 0;
    for (int truth = 1; truth >= 0 && wants == 0; --truth) {
        wants = !call_body(b, truth) ? -1 : any_requires_grad(b->found[!truth], b->n_results);
    }
    adzi_scope_unwind(thread, mark);
    adzi_capture_resume(paused);
    return wants;
}

/* Both bodies give results of equal shapes and dtypes, because a plan has one tensor for each. */
static bool fit(const capture_branch *b)
{
    for (size_t k = 0; k < b->n_results; ++k) {
        const adz_tensor *x = b->found[0][k], *y = b->found[1][k];
        if (x->dtype != y->dtype || x->rank != y->rank || !adzi_same_sizes(x, y)) {
            adzi_error(op, x->dtype != y->dtype ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
                "result %zu is %s%s if the predicate is true, and else %s%s; in a plan they must be equal",
                k, adz_dtype_name((adz_dtype)x->dtype), adzi_text_shape(x),
                adz_dtype_name((adz_dtype)y->dtype), adzi_text_shape(y));
            return false;
        }
    }
    return true;
}

static bool choose(const capture_branch *b)
{
    bool good = call_body(b, true) && call_body(b, false) && fit(b);
    for (size_t k = 0; k < b->n_results && good; ++k) {
        b->results[k] = adz_where(b->truth, b->found[0][k], b->found[1][k]);
        good = b->results[k] != NULL;
    }
    return good;
}

/* Records the launches of one body, which computes them if it is the one that is chosen. */
static bool record_body(const capture_branch *b, bool truth, bool chosen)
{
    const bool before = is_skipped();
    adzi_capture_skips(before || !chosen);
    bool good = call_body(b, truth) && (truth || fit(b));
    for (size_t k = 0; k < b->n_results && good; ++k) {
        adz_tensor *found = b->found[!truth][k];
        b->results[k] = truth ? adz_empty_like(found) : b->results[k];
        good = b->results[k] != NULL && adz_copy_(b->results[k], found) != NULL;
    }
    adzi_capture_skips(before);
    return good;
}

static bool run_branch(void *state)
{
    const capture_branch *b = state;
    const int wants = branch_wants_gradient(b);
    if (wants != 0) {
        return wants > 0 && choose(b);
    }
    const bool chosen = !is_skipped() && is_true(b->truth);
    adzi_add_mark(ADZI_MARK_IF, b->truth->data, 0);
    bool good = record_body(b, true, chosen);
    adzi_add_mark(ADZI_MARK_ELSE, NULL, 0);
    good = good && record_body(b, false, !chosen);
    adzi_add_mark(ADZI_MARK_END, NULL, 0);
    return good;
}

bool adzi_branch_in_capture(adz_tensor *predicate, const adz_loop_body bodies[2], void *user,
    adz_tensor *const *inputs, size_t n_results, adz_tensor **results)
{
    const adzi_door door = { .op = op };
    capture_branch b = { .bodies = bodies,
        .user = user,
        .inputs = inputs,
        .n_results = n_results,
        .truth = truth_of(op, "the predicate", predicate) };
    b.results = b.truth != NULL ? adzi_loop_list(op, 3 * n_results) : NULL;
    if (b.results == NULL) {
        return false;
    }
    b.found[0] = b.results + n_results;
    b.found[1] = b.found[0] + n_results;
    if (!adzi_through_door(&door, run_branch, &b)) {
        return false;
    }
    memcpy(results, b.results, n_results * sizeof *results);
    return true;
}
