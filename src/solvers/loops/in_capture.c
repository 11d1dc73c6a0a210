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

/* One element of a condition as a bool scalar. */
adz_tensor *adzi_truth_of(const char *op, const char *what, adz_tensor *t)
{
    if (t == NULL) {
        (void)adzi_status(NULL); /* an error if the condition has recorded none */
        return NULL;
    }
    return adzi_loop_check_truth(op, what, t) ? adz_ne_number(adz_reshape(t, ADZ_SHAPE_SCALAR), 0)
                                              : NULL;
}

/* Whether the element of a tensor of adzi_truth_of is true. Its launches have been computed. */
bool adzi_is_true(const adz_tensor *truth)
{
    return *(const char *)truth->data != 0;
}

/* Whether launches are recorded without being computed: those of a body around this call, which
 * does not run. */
bool adzi_is_skipped(void)
{
    const bool skipped = adzi_capture_skips(true);
    adzi_capture_skips(skipped);
    return skipped;
}

bool adzi_any_requires_grad(adz_tensor *const *tensors, size_t n)
{
    bool any = false;
    for (size_t k = 0; k < n; ++k) {
        any = any || adzi_requires_grad(tensors[k]);
    }
    return any;
}

static int64_t n_launches(void)
{
    return adzi_plan_position_of(adzi_capture_of(adzi_self())).launches;
}

/* Whether all launches that follow stay in the captured call, so that they can be compared. */
static void hold(bool on)
{
    adzi_plan_hold(adzi_capture_of(adzi_self()), on);
}

/* From here on, launches are recorded and left out of the plan. */
adzi_probe adzi_begin_probe(void)
{
    hold(true);
    adzi_add_mark(ADZI_MARK_PROBE, NULL, 0);
    return (adzi_probe){ .skipped = adzi_capture_skips(true) };
}

void adzi_end_probe(const adzi_probe *p)
{
    adzi_capture_skips(p->skipped);
    adzi_add_mark(ADZI_MARK_PROBED, NULL, 0);
    hold(false);
}

/* Whether nothing older has been changed since a position. Records an error if not. */
bool adzi_is_unseen(const char *op, const char *part, const char *why, adzi_plan_position from)
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
    adzi_probe probe; /* of the body; without launches if none was needed */
} capture_while;

static adz_tensor *condition_of(const capture_while *w)
{
    return adzi_truth_of(w->loop->op, "the condition", w->condition(w->loop->in, w->loop->user));
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
    w->probe = adzi_begin_probe();
    bool good = clone_carries(loop);
    w->probe.begin = n_launches();
    adzi_loop_name_step(loop, 0);
    good = good && adzi_loop_step(loop, 0);
    w->probe.end = n_launches();
    const int wants = good && thread->grad_enabled &&
                      (adzi_any_requires_grad(loop->out, loop->n_carries) ||
                          adzi_any_requires_grad(carries, loop->n_carries));
    adzi_scope_unwind(thread, mark);
    adzi_end_probe(&w->probe);
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
        *(char *)w->truth->data = (char)adzi_is_true(truth);
        if (!adzi_is_true(w->truth) || i >= w->most) {
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
static bool is_step_of_all(const capture_while *w, int64_t begin)
{
    const int64_t n = n_launches() - begin, probed = w->probe.end - w->probe.begin;
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
    const int64_t begin = n_launches();
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
    const bool before = adzi_is_skipped();
    const bool runs = !before && adzi_is_true(w->truth);
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
    const int64_t body = n_launches();
    const bool compares = i == 0 && are_like_clones(loop);
    if (w->count == NULL || !adzi_loop_step(loop, i) || (compares && !is_step_of_all(w, body)) ||
        !adzi_is_unseen(loop->op, "the step", "steps are computed that do not count", begin)) {
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
    good = good && masked_step(w, 0);
    hold(false); /* the first step has been compared */
    for (int64_t i = 1; i < w->most && good; ++i) {
        good = masked_step(w, i);
    }
    hold(true);
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
    hold(true); /* the launches of the probe are compared with those of the first step */
    const int wants = wants_gradient(w);
    const bool good = wants >= 0 && (wants ? run_masked(w) : run_marked(w));
    hold(false);
    return good;
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
