/* Branches that a plan captures: Note [Loops with a condition in plans] in in_capture.c. */
#include "solvers/loops/in_capture.h"

#include <string.h>

#include "adze/ops.h"
#include "base/door.h"
#include "base/threads/marks.h"
#include "tensor/shape.h"

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
    const adzi_probe p = adzi_begin_probe();
    const int wants =
        !call_body(b, truth) ? -1 : adzi_any_requires_grad(b->found[!truth], b->n_results);
    adzi_scope_unwind(thread, mark);
    adzi_end_probe(&p);
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
                adzi_is_unseen(op, "the body", "both bodies are computed", begin);
    for (size_t k = 0; k < b->n_results && good; ++k) {
        b->results[k] = adz_where(b->truth, b->found[0][k], b->found[1][k]);
        good = b->results[k] != NULL;
    }
    return good;
}

/* Records the launches of one body, which computes them if it is the one that is chosen. */
static bool record_body(const capture_branch *b, bool truth, bool chosen)
{
    const bool before = adzi_is_skipped();
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
    const bool chosen = !adzi_is_skipped() && adzi_is_true(b->truth);
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
        .truth = adzi_truth_of(op, "the predicate", predicate) };
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
