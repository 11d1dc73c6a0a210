/* adz_branch: calls one of two bodies. */
#include "solvers/loops/in_capture.h"
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "base/capture.h"
#include "base/door.h"

typedef struct branch {
    adz_loop_body body;
    void *user;
    adz_tensor *const *inputs;
    adz_tensor **found;
    size_t n_results;
} branch;

static const char op[] = "adz_branch";

bool adzi_branch_call(
    adz_loop_body body, void *user, adz_tensor *const *inputs, adz_tensor **found, size_t n_results)
{
    if (adzi_callback_failed(op, body(found, inputs, user), "the body failed")) {
        return false;
    }
    for (size_t k = 0; k < n_results; ++k) {
        if (found[k] == NULL || adzi_is_none(found[k])) {
            adzi_error(op, found[k] == NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT,
                "the body gave %s for result %zu", found[k] == NULL ? "NULL" : "ADZ_NONE", k);
            return false;
        }
        if (!adzi_check_tensor(op, "a result of the body", found[k])) {
            return false;
        }
    }
    return true;
}

static bool run(void *state)
{
    const branch *b = state;
    return adzi_branch_call(b->body, b->user, b->inputs, b->found, b->n_results);
}

adz_status adz_branch(adz_tensor *predicate, adz_loop_body if_true, adz_loop_body if_false,
    void *user, adz_tensor *const *inputs, size_t n_inputs, size_t n_results, adz_tensor **results)
{
    const adzi_door door = { .op = op };
    branch b = { .user = user, .inputs = inputs, .n_results = n_results };
    adzi_settle(adzi_self());
    if (if_true == NULL || if_false == NULL || results == NULL) {
        return adzi_error_null(op, results == NULL ? "results" : "a body");
    }
    if (n_results < 1 || n_results > ADZ_LOOP_TENSORS) {
        return adzi_error(
            op, ADZ_ERR_ARGUMENT, "%zu results; 1 to %d are possible", n_results, ADZ_LOOP_TENSORS);
    }
    if (!adzi_loop_check_list(op, "inputs", inputs, n_inputs, 0)) {
        return adzi_status(NULL);
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_loop_check_truth(op, "the predicate", predicate)
                   ? adzi_branch_in_trace(op, predicate, (adz_loop_body[]){ if_true, if_false },
                         user, inputs, n_results, results)
                   : adzi_status(NULL);
    }
    const size_t mark = adzi_self()->n_temporaries;
    if (adzi_capture_of(adzi_self()) != NULL && !adzi_capture_gives_up()) {
        return adzi_branch_in_capture(predicate, (adz_loop_body[]){ if_true, if_false }, user,
                   inputs, n_results, results) &&
                       adzi_loop_survive(op, mark, results, n_results)
                   ? ADZ_OK
                   : adzi_status(NULL);
    }
    const int truth = adzi_loop_truth(op, "the predicate", predicate);
    if (truth < 0 || (b.found = adzi_loop_list(op, n_results)) == NULL) {
        return adzi_status(NULL);
    }
    b.body = truth ? if_true : if_false;
    if (!adzi_through_door(&door, run, &b)) {
        return adzi_status(NULL);
    }
    memcpy(results, b.found, n_results * sizeof *results);
    return adzi_loop_survive(op, mark, results, n_results) ? ADZ_OK : adzi_status(NULL);
}
