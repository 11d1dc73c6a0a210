/* The results of a plan: their names, the call that computes them, and who has them.
 *
 * Note [What a result may be]
 * A result may be any tensor: one that the function makes, an input, a parameter, a view of
 * another result, or a tensor that is returned twice. Replays write into the memory that the
 * captured call has used, so a result that shares memory with an input or a parameter goes on
 * showing what lies there. Two things are different from a program that has called the function by
 * itself, and are taken care of here:
 *
 * - A module may replace a buffer. A plan copies the new contents to the old tensor instead
 *   (adzi_captured_call_carry). A result that is the old tensor is copied before.
 * - No kernel need read a result. So two calls in a row must have returned the same tensors, and
 *   elements of the host that are a result are compared as those that a kernel reads. */
#include <stdio.h>
#include <string.h>

#include "adze/ops.h"
#include "base/alloc.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

enum { MOST_RESULTS = 1024 };

/* ---- names ---------------------------------------------------------------------------------- */

void adzi_result_name(char *name, size_t size, size_t n, size_t k)
{
    snprintf(name, size, n == 1 ? "output" : "output%zu", k);
}

/* Whether the name of result k, which is given, is that of no other result and of no input. */
static bool is_free(const char *op, const adz_plan *plan, size_t k, const char *name)
{
    for (size_t i = 0; i < k; ++i) {
        if (strcmp(plan->result_names[i], name) == 0) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "result_names[%zu] and result_names[%zu] are both \"%s\"; give each result a name that no other one has",
                i, k, name);
            return false;
        }
    }
    for (size_t i = 0; i < plan->n_inputs; ++i) {
        if (strcmp(plan->input_names[i], name) == 0) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "result_names[%zu] is \"%s\", which is the name of input %zu as well; give the result another name",
                k, name, i);
            return false;
        }
    }
    return true;
}

static bool check_name(const char *op, const adz_plan *plan, size_t k, const char *name)
{
    if (name == NULL) {
        adzi_error_null(op, "the name of a result");
        return false;
    }
    if (name[0] == '\0') {
        adzi_error(op, ADZ_ERR_ARGUMENT, "result_names[%zu] is empty; give the result a name", k);
        return false;
    }
    return is_free(op, plan, k, name);
}

bool adzi_plan_make_results(const char *op, adz_plan *plan, const adz_plan_options *o)
{
    const size_t n = plan->function.n_results;
    if (n == 0 || n > MOST_RESULTS) {
        plan->function.n_results = 0;
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "n_results is %zu; a plan has 1 to %d results", n, MOST_RESULTS);
        return false;
    }
    plan->named = o->result_names != NULL;
    plan->result_names = adzi_alloc_zero(n * sizeof *plan->result_names);
    plan->outputs = adzi_alloc_zero(n * sizeof(adz_tensor *));
    plan->returned = adzi_alloc_zero(n * sizeof(adz_tensor *));
    bool good = plan->result_names != NULL && plan->outputs != NULL && plan->returned != NULL;
    for (size_t k = 0; k < n && good; ++k) {
        char name[32];
        adzi_result_name(name, sizeof name, n, k);
        if (plan->named && !check_name(op, plan, k, o->result_names[k])) {
            return false;
        }
        plan->result_names[k] = adzi_string_copy(plan->named ? o->result_names[k] : name);
        good = plan->result_names[k] != NULL;
    }
    if (!good) {
        adzi_fail_memory(op, n * sizeof *plan->result_names);
    }
    return good;
}

void adzi_plan_free_results(adz_plan *plan)
{
    const size_t n = plan->function.n_results;
    for (size_t k = 0; plan->result_names != NULL && k < n; ++k) {
        adzi_string_free(plan->result_names[k]);
    }
    for (size_t k = 0; plan->outputs != NULL && k < n; ++k) {
        adzi_drop(plan->outputs[k]);
    }
    adzi_free(plan->result_names, n * sizeof *plan->result_names);
    adzi_free(plan->outputs, n * sizeof(adz_tensor *));
    adzi_free(plan->returned, n * sizeof(adz_tensor *));
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Whether result k is a tensor. Records an error if not. */
static bool check_result(
    const char *op, const adzi_function *f, adz_tensor *const *results, size_t k)
{
    char what[48] = "the function's result";
    if (f->n_results > 1) {
        snprintf(what, sizeof what, "result %zu of the function", k);
    }
    if (results[k] == NULL) {
        adzi_error(op, ADZ_ERR_STATE,
            f->n_results == 1
                ? "the function returned NULL without an error"
                : "the function gave no result %zu, without an error; it fills the array with all %zu results",
            k, f->n_results);
        return false;
    }
    return adzi_check_tensor(op, what, results[k]);
}

bool adzi_function_call(const char *op, const adzi_function *f, adz_tensor **results)
{
    memset(results, 0, f->n_results * sizeof *results);
    adz_status status = ADZ_OK;
    if (f->single != NULL) {
        results[0] = f->single(f->user);
    } else {
        status = f->several(results, f->user);
    }
    if (status != ADZ_OK && adzi_pending() == ADZ_OK) {
        adzi_error(op, ADZ_ERR_STATE, "the function returned %s without an error",
            adz_status_name(status));
    }
    bool good = adzi_pending() == ADZ_OK;
    for (size_t k = 0; k < f->n_results && good; ++k) {
        good = check_result(op, f, results, k);
    }
    if (!good) {
        memset(results, 0, f->n_results * sizeof *results);
    }
    return good;
}

/* ---- taking results ------------------------------------------------------------------------- */

/* Whether the tensor is, or views, a buffer that the call has replaced. */
static bool is_replaced(const adzi_captured_call *c, const adz_tensor *t)
{
    for (size_t i = 0; i < c->n_carried; ++i) {
        if (c->carried[i].tensor->storage == t->storage) {
            return true;
        }
    }
    return false;
}

/* Notes that the arguments of the next calls are the results. Two calls that agree have returned
 * the same tensors. */
static void note_results(adz_plan *plan)
{
    adzi_captured_call *c = plan->current;
    c->results_at = c->n_arguments;
    c->n_results = plan->function.n_results;
    for (size_t k = 0; k < c->n_results; ++k) {
        const size_t block = adzi_plan_blocks_find(&c->blocks, plan->returned[k]->storage->data);
        if (block != SIZE_MAX) {
            c->blocks.all[block].returned = true;
        }
    }
}

bool adzi_plan_take_results(const char *op, adz_plan *plan)
{
    const size_t n = plan->function.n_results;
    bool good = true;
    size_t taken = 0;
    for (size_t k = 0; k < n && good; ++k) {
        if (is_replaced(plan->current, plan->returned[k])) {
            plan->returned[k] = adz_clone(adz_detach(plan->returned[k]));
            good = plan->returned[k] != NULL;
        }
    }
    if (good) {
        note_results(plan);
    }
    for (; taken < n && good; taken += good) {
        adz_tensor *y = adz_detach(plan->returned[taken]);
        good = y != NULL;
        plan->returned[taken] = good ? adzi_retain(y) : NULL;
    }
    /* A buffer that the module got in this call ends here, unless it is a result. */
    good = good && adzi_captured_call_carry(op, plan->current);
    while (!good && taken > 0) {
        adzi_drop(plan->returned[--taken]);
    }
    return good;
}

void adzi_plan_show_results(adz_plan *plan)
{
    for (size_t k = 0; k < plan->function.n_results; ++k) {
        adzi_drop(plan->outputs[k]);
        plan->outputs[k] = plan->returned[k];
        plan->returned[k] = NULL;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

size_t adz_plan_result_count(const adz_plan *plan)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, 0);
    if (plan == NULL) {
        adzi_error_null("adz_plan_result_count", "plan");
    }
    return plan != NULL ? plan->function.n_results : 0;
}

/* Whether the plan has a result k. Records an error if not. */
static bool has_result(const char *op, const adz_plan *plan, size_t k)
{
    if (plan == NULL) {
        adzi_error_null(op, "plan");
        return false;
    }
    if (k >= plan->function.n_results) {
        adzi_error(op, ADZ_ERR_INDEX, "result %zu was asked for, but the plan has %zu%s", k,
            plan->function.n_results, plan->function.n_results == 1 ? ", which is result 0" : "");
    }
    return k < plan->function.n_results;
}

adz_tensor *adz_plan_result_at(const adz_plan *plan, size_t k)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NULL);
    return has_result("adz_plan_result_at", plan, k) ? plan->outputs[k] : NULL;
}

const char *adz_plan_result_name_at(const adz_plan *plan, size_t k)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NULL);
    return has_result("adz_plan_result_name_at", plan, k) ? plan->result_names[k] : NULL;
}

adz_tensor *adz_plan_output(const adz_plan *plan)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NULL);
    return has_result("adz_plan_output", plan, 0) ? plan->outputs[0] : NULL;
}
