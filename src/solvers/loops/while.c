/* adz_while: the unrolled program of as many steps as the condition allows. */
#include "solvers/loops/in_capture.h"
#include "solvers/loops/in_trace.h"

#include <string.h>

#include "adze/ops.h"
#include "base/capture.h"

typedef struct loop_while {
    adzi_loop loop; /* the first member */
    adz_loop_condition condition;
    int64_t most, count;
    bool ended;
} loop_while;

/* Whether another step comes. -1 with the error recorded. */
static int goes_on(const loop_while *w)
{
    const adz_tensor *truth = w->condition(w->loop.in, w->loop.user);
    if (truth == NULL) {
        (void)adzi_status(NULL); /* an error if the condition has recorded none */
        return -1;
    }
    return adzi_loop_truth(w->loop.op, "the condition", truth);
}

static bool run(void *state)
{
    loop_while *w = state;
    for (;; ++w->count) {
        adzi_loop_name_step(&w->loop, w->count);
        const int on = goes_on(w);
        w->ended = on == 0;
        if (on != 1 || w->count == w->most) {
            return on >= 0;
        }
        if (!adzi_loop_step(&w->loop, w->count) || !adzi_loop_advance(&w->loop, NULL, 0)) {
            return false;
        }
    }
}

static bool check(const loop_while *w, adz_tensor *const *carries, adz_tensor **results)
{
    const char *op = w->loop.op;
    if (w->condition == NULL || w->loop.body == NULL || results == NULL) {
        adzi_error_null(op, w->condition == NULL   ? "condition"
                            : w->loop.body == NULL ? "body"
                                                   : "results");
        return false;
    }
    if (w->most < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "max_iterations is %lld, and must be 0 or more",
            (long long)w->most);
        return false;
    }
    return adzi_loop_check_list(op, "carries", carries, w->loop.n_carries, 1);
}

/* Runs the loop, and makes *n and *e of how it has ended. */
static bool run_loop(loop_while *w, adz_tensor *const *carries, adz_tensor **n, adz_tensor **e)
{
    if (!adzi_loop_begin(&w->loop, carries)) {
        return false;
    }
    if (adzi_capture_of(adzi_self()) != NULL && !adzi_capture_gives_up()) {
        return adzi_while_in_capture(&w->loop, w->condition, w->most, n, e);
    }
    if (!adzi_loop_run(&w->loop, run, w)) {
        return false;
    }
    *n = adz_scalar((double)w->count, ADZ_I64);
    *e = adz_scalar(w->ended, ADZ_BOOL);
    return *n != NULL && *e != NULL;
}

/* Gives the results to the scope. The lists of the loop end before. */
static bool keep_results(
    const loop_while *w, size_t mark, adz_tensor **results, adz_tensor *n, adz_tensor *e)
{
    adz_tensor *const both[] = { adzi_retain(n), adzi_retain(e) };
    memcpy(results, w->loop.in, w->loop.n_carries * sizeof *results);
    bool good = adzi_loop_survive(w->loop.op, mark, results, w->loop.n_carries);
    good = adzi_loop_survive(w->loop.op, adzi_self()->n_temporaries, both, 2) && good;
    adzi_drop(n);
    adzi_drop(e);
    return good;
}

adz_status adz_while(adz_loop_condition condition, adz_loop_body body, void *user,
    adz_tensor *const *carries, size_t n_carries, int64_t max_iterations, adz_tensor **results,
    adz_tensor **count, adz_tensor **ended)
{
    loop_while w = {
        .loop = { .op = "adz_while", .body = body, .user = user, .n_carries = n_carries },
        .condition = condition,
        .most = max_iterations
    };
    adzi_settle(adzi_self());
    const size_t mark = adzi_self()->n_temporaries;
    if (!check(&w, carries, results)) {
        return adzi_status(NULL);
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_while_in_trace(
            &w.loop, condition, carries, max_iterations, results, count, ended);
    }
    adz_tensor *n, *e;
    if (!run_loop(&w, carries, &n, &e)) {
        return adzi_status(NULL);
    }
    if (!keep_results(&w, mark, results, n, e)) {
        return adzi_status(NULL);
    }
    if (count != NULL) {
        *count = n;
    }
    if (ended != NULL) {
        *ended = e;
    }
    return ADZ_OK;
}
