/* Loops and branches that a plan captures.
 *
 * Note [Loops with a condition in plans]
 * Without a gradient the launches of the condition and of one step are recorded between marks
 * (Note [Marks among launches]), and the carries lie in tensors that each step writes in place.
 * With a gradient a loop is a masked scan up to its bound: every step is computed, and counts as
 * long as the condition has held. A branch with a gradient computes both bodies and chooses
 * elements.
 *
 * Which of the two it is depends on the results of the body, so it is called once beforehand. What
 * that call launches is recorded and never computed, so it changes nothing.
 *
 * What does not count must not be seen, so steps of a masked scan and bodies of such a branch
 * change nothing but what they have made themselves: no older tensor, and no generator. */
#include "solvers/loops/in_capture.h"
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "adze/ops.h"
#include "base/door.h"
#include "base/threads/marks.h"
#include "plan/effects.h"
#include "tensor/shape.h"

enum { MOST_MASKED = 65535 };

/* The launches of a call that is made in order to see its results. */
typedef struct probe {
    size_t begin, end;
    bool skipped; /* the calls around it are not computed either */
} probe;

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

static size_t n_launches(void)
{
    return adzi_plan_position_of(adzi_capture_of(adzi_self())).launches;
}

/* From here on, launches are recorded and left out of the plan. */
static probe begin_probe(void)
{
    adzi_add_mark(ADZI_MARK_PROBE, NULL, 0);
    return (probe){ .skipped = adzi_capture_skips(true) };
}

static void end_probe(const probe *p)
{
    adzi_capture_skips(p->skipped);
    adzi_add_mark(ADZI_MARK_PROBED, NULL, 0);
}

/* Whether nothing older has been changed since a position. Records an error if not. */
static bool is_unseen(const char *op, const char *part, const char *why, adzi_plan_position from)
{
    const char *by = adzi_plan_changed_since(adzi_capture_of(adzi_self()), from);
    if (by != NULL) {
        adzi_error(op, ADZ_ERR_STATE,
            "%s changes a tensor or a generator that %s has not made, and in a plan with a gradient %s; call %s outside of the plan, or without gradients",
            by, part, why, op);
    }
    return by == NULL;
}

/* ---- while loops ----------------------------------------------------------------------------- */

typedef struct capture_while {
    adzi_loop *loop;
    adz_loop_condition condition;
    int64_t most;
    adz_tensor *truth, *count, *ended;
    uint32_t version; /* of a tensor that was cloned */
    probe probe;      /* of the body; without launches if none was needed */
} capture_while;

static adz_tensor *condition_of(const capture_while *w)
{
    return truth_of(w->loop->op, "the condition", w->condition(w->loop->in, w->loop->user));
}

/* The first of n tensors whose elements were changed in place since they were cloned; n for none.
 */
static size_t first_changed(adz_tensor *const *tensors, size_t n, uint32_t version)
{
    size_t k = 0;
    while (k < n && tensors[k]->storage->version == version) {
        ++k;
    }
    return k;
}

static bool clone_carries(const adzi_loop *loop)
{
    bool good = true;
    for (size_t k = 0; k < loop->n_carries && good; ++k) {
        loop->in[k] = adz_clone(loop->in[k]);
        good = loop->in[k] != NULL;
    }
    return good;
}

/* Probes the body. Whether the carries have a gradient behind a step. -1 with the error recorded.
 */
static int wants_gradient(capture_while *w)
{
    adzi_thread *thread = adzi_self();
    adzi_loop *loop = w->loop;
    adz_tensor **carries = adzi_loop_list(loop->op, loop->n_carries);
    if (carries == NULL) {
        return -1;
    }
    memcpy(carries, loop->in, loop->n_carries * sizeof *carries);
    const size_t mark = thread->n_temporaries;
    w->probe = begin_probe();
    bool good = clone_carries(loop);
    w->probe.begin = n_launches();
    adzi_loop_name_step(loop, 0);
    good = good && adzi_loop_step(loop, 0);
    w->probe.end = n_launches();
    const int wants = good && thread->grad_enabled &&
                      (any_requires_grad(loop->out, loop->n_carries) ||
                          any_requires_grad(carries, loop->n_carries));
    adzi_scope_unwind(thread, mark);
    end_probe(&w->probe);
    memcpy(loop->in, carries, loop->n_carries * sizeof *carries);
    return good ? wants : -1;
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
    w->count = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64);
    if (w->count == NULL || !clone_carries(w->loop)) {
        return false;
    }
    w->version = w->loop->in[0]->storage->version;
    return true;
}

/* Whether the launches of the first step, those from `begin` on, may stand for all steps. Records
 * an error if not. */
static bool is_step_of_all(const capture_while *w, size_t begin)
{
    const size_t n = n_launches() - begin, probed = w->probe.end - w->probe.begin;
    const char *by = n == probed
                         ? adzi_plan_differs(adzi_capture_of(adzi_self()), w->probe.begin, begin, n)
                         : "the body";
    if (probed > 0 && by != NULL) {
        adzi_error(w->loop->op, ADZ_ERR_STATE,
            "%s computes something else in each call of the body, which a plan repeats as it is; put a value that changes into a carry",
            by);
    }
    return probed == 0 || by == NULL;
}

/* The step that is recorded. A carry that the body changes would be the caller's tensor in an
 * ordinary call, and is a copy here. */
static bool first_step(const capture_while *w)
{
    const adzi_loop *loop = w->loop;
    const size_t begin = n_launches();
    adzi_loop_name_step(loop, 0);
    if (!adzi_loop_step(w->loop, 0) || !is_step_of_all(w, begin)) {
        return false;
    }
    const size_t k = first_changed(loop->in, loop->n_carries, w->version);
    if (k < loop->n_carries) {
        adzi_error(loop->op, ADZ_ERR_STATE,
            "the body changes carry %zu in place, which a plan cannot repeat; change a copy (adz_clone)",
            k);
        return false;
    }
    return write_carries(loop) && adz_add_number_(w->count, 1) != NULL;
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
    const bool runs = !before && is_true(w->truth);
    adzi_capture_skips(!runs);
    bool good = first_step(w);
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

/* Whether a body launches the same for the carries as for clones of them. */
static bool are_like_clones(const adzi_loop *loop)
{
    bool like = true;
    for (size_t k = 0; k < loop->n_carries; ++k) {
        like = like && adzi_is_contiguous(loop->in[k]);
        for (size_t j = 0; j < k; ++j) {
            like = like && loop->in[j]->storage != loop->in[k]->storage;
        }
    }
    return like;
}

/* A step of the masked scan. w->truth says whether the condition has held so far. */
static bool masked_step(capture_while *w, int64_t i)
{
    adzi_loop *loop = w->loop;
    adzi_loop_name_step(loop, i);
    adzi_capture_loop(loop->op, ADZI_LOOP_STEP, i);
    const adzi_plan_position begin = adzi_plan_position_of(adzi_capture_of(adzi_self()));
    w->truth = adz_logical_and(w->truth, condition_of(w));
    w->count = adz_add(w->count, adz_to(w->truth, ADZ_I64));
    const size_t body = n_launches();
    const bool compares = i == 0 && are_like_clones(loop);
    if (w->count == NULL || !adzi_loop_step(loop, i) || (compares && !is_step_of_all(w, body)) ||
        !is_unseen(loop->op, "the step", "steps are computed that do not count", begin)) {
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

/* A bound of 0 steps: the results are the carries that were given, with their graph. */
static bool run_none(capture_while *w)
{
    adzi_loop_name_step(w->loop, 0);
    w->truth = condition_of(w);
    w->count = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64);
    w->ended = w->truth != NULL ? adz_logical_not(w->truth) : NULL;
    return w->count != NULL && w->ended != NULL;
}

static bool run_while(void *state)
{
    capture_while *w = state;
    if (w->most == 0) {
        return run_none(w);
    }
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

/* Whether a result of a body has a gradient. -1 with the error recorded. */
static int body_wants_gradient(const capture_branch *b, bool truth)
{
    adzi_thread *thread = adzi_self();
    const size_t mark = thread->n_temporaries;
    const probe p = begin_probe();
    const int wants = !call_body(b, truth) ? -1 : any_requires_grad(b->found[!truth], b->n_results);
    adzi_scope_unwind(thread, mark);
    end_probe(&p);
    return wants;
}

static int branch_wants_gradient(const capture_branch *b)
{
    int wants = 0;
    for (int truth = 1; truth >= 0 && wants == 0 && adzi_self()->grad_enabled; --truth) {
        wants = body_wants_gradient(b, truth);
    }
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
    const adzi_plan_position begin = adzi_plan_position_of(adzi_capture_of(adzi_self()));
    bool good = call_body(b, true) && call_body(b, false) && fit(b) &&
                is_unseen(op, "the body", "both bodies are computed", begin);
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
