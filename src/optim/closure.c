/* Steps that evaluate a closure: the call, the parameters as one vector, and the way back. */
#include "optim/closure.h"

#include <math.h>
#include <string.h>

#include "adze/scope.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/error.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

/* ---- the parameters as one vector ------------------------------------------------------------ */

int64_t adzi_search_numel(const adz_optimizer *optimizer)
{
    const adzi_group *group = optimizer->groups[0];
    int64_t count = 0;
    for (size_t i = 0; i < group->count; ++i) {
        count += group->parameters[i]->numel;
    }
    return count;
}

static size_t bytes_of(const adz_tensor *t)
{
    return (size_t)t->numel * adzi_item_size(t);
}

adz_tensor *adzi_search_values(const char *op, const adz_optimizer *optimizer)
{
    const adzi_group *group = optimizer->groups[0];
    const int64_t count = adzi_search_numel(optimizer);
    adz_tensor *all =
        adzi_tensor_borrowed(adzi_self(), op, (adz_dtype)group->parameters[0]->dtype, 1, &count);
    size_t at = 0;
    for (size_t i = 0; i < group->count && all != NULL; ++i) {
        const adz_tensor *t = group->parameters[i];
        if (t->numel > 0) {
            memcpy(all->data + at, t->data, bytes_of(t));
        }
        at += bytes_of(t);
    }
    return all;
}

void adzi_search_move(const char *op, adz_optimizer *optimizer, const adz_tensor *values)
{
    const adzi_group *group = optimizer->groups[0];
    size_t at = 0;
    for (size_t i = 0; i < group->count; ++i) {
        adz_tensor *t = group->parameters[i];
        if (t->numel > 0) {
            memcpy(t->data, values->data + at, bytes_of(t));
        }
        at += bytes_of(t);
        adzi_written(t, op);
    }
}

/* The gradients of all parameters as one vector. The closure must have computed one of them. */
static adz_tensor *gradients(const adzi_search_run *run)
{
    const adzi_group *group = run->optimizer->groups[0];
    adz_tensor *all = adzi_tensor_borrowed(adzi_self(), run->op, run->dtype, 1, &run->numel);
    size_t at = 0, found = 0;
    for (size_t i = 0; i < group->count && all != NULL; ++i) {
        const adz_tensor *t = group->parameters[i], *grad = adzi_update_gradient(t);
        if (grad != NULL && !adzi_check_gradient(run->op, t, i)) {
            return NULL;
        }
        if (grad != NULL && t->numel > 0) {
            memcpy(all->data + at, grad->data, bytes_of(t));
        } else if (t->numel > 0) {
            memset(all->data + at, 0, bytes_of(t));
        }
        found += grad != NULL;
        at += bytes_of(t);
    }
    if (all != NULL && found == 0) {
        return adzi_fail(run->op, ADZ_ERR_GRAPH,
            "no parameter has a gradient after the closure; it has to call adz_backward on the loss that it returns");
    }
    return all;
}

/* ---- the closure ----------------------------------------------------------------------------- */

typedef struct closure_call {
    adz_optimizer_closure closure;
    void *user;
    adz_tensor *result;
} closure_call;

static bool run_closure(void *state)
{
    closure_call *call = state;
    call->result = call->closure(call->user);
    return call->result != NULL;
}

static adz_tensor *call_closure(const char *op, adz_optimizer_closure closure, void *user)
{
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS };
    closure_call call = { closure, user, NULL };
    const bool given = adzi_through_door(&door, run_closure, &call);
    const bool good = !adzi_callback_failed(op, given ? ADZ_OK : ADZ_ERR_STATE,
                          "the closure returned NULL, but recorded no error") &&
                      adzi_pending() == ADZ_OK &&
                      adzi_check_tensor(op, "the closure's result", call.result);
    return good ? call.result : NULL;
}

/* The closure's loss as a number. False with the error recorded. */
static bool evaluate(const char *op, adz_optimizer_closure closure, void *user, double *loss)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *result = scope != NULL ? call_closure(op, closure, user) : NULL;
    if (result != NULL && result->numel != 1) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "the closure returned %s; a loss has one element, as adz_mean gives it",
            adzi_text_shape(result));
    } else if (result != NULL) {
        *loss = adz_item(result);
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return adzi_pending() == ADZ_OK;
}

/* Whether the step still runs. A closure may have begun another step, or saved a checkpoint. */
static bool still_runs(const adzi_search_run *run)
{
    if (run->optimizer->preparations == run->preparations) {
        return true;
    }
    if (adzi_pending() == ADZ_OK) {
        adzi_error(run->op, ADZ_ERR_STATE,
            "the closure has ended the step of %s that called it; it may clear gradients, compute the loss and call adz_backward, and may not step, save or load the optimizer",
            run->optimizer->type->name);
    }
    return false;
}

adz_tensor *adzi_search_call(adzi_search_run *run)
{
    adzi_settle(adzi_self());
    adz_tensor *result = call_closure(run->op, run->closure, run->user);
    return still_runs(run) ? result : NULL;
}

bool adzi_search_evaluate(adzi_search_run *run, double *loss, adz_tensor **gradient)
{
    adzi_settle(adzi_self());
    const bool good = evaluate(run->op, run->closure, run->user, loss);
    if (!still_runs(run) || !good) {
        return false;
    }
    *gradient = gradients(run);
    return *gradient != NULL;
}

/* ---- beginning and ending a step ------------------------------------------------------------- */

void adzi_search_drop(const adz_optimizer *optimizer, void *memory)
{
    const adzi_search *search = optimizer->search;
    if (memory != NULL && search->drop != NULL) {
        search->drop(memory);
    }
    if (memory != NULL) {
        adzi_free(memory, search->size);
    }
}

void adzi_search_undo(adz_optimizer *optimizer)
{
    adz_tensor *before = optimizer->before;
    optimizer->before = NULL;
    if (before != NULL) {
        adzi_search_move("adz_optimizer_step_closure", optimizer, before);
        adzi_drop(before);
    }
    adzi_search_drop(optimizer, optimizer->working);
    optimizer->working = NULL;
    ++optimizer->preparations;
}

void adzi_search_end(adz_optimizer *optimizer)
{
    adzi_search_drop(optimizer, optimizer->memory);
    adzi_search_drop(optimizer, optimizer->working);
    adzi_drop(optimizer->before);
    adzi_drop(optimizer->constants[0]);
    adzi_drop(optimizer->constants[1]);
}

/* Checks that the parameters make one vector. The dtype may have changed since the last step. */
static bool check_parameters(const char *op, const adz_optimizer *optimizer)
{
    const adzi_group *group = optimizer->groups[0];
    const adz_tensor *first = group->parameters[0];
    for (size_t i = 0; i < group->count; ++i) {
        const adz_tensor *t = group->parameters[i];
        if (t->dtype != first->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE,
                "parameter %zu%s is %s and parameter 0%s %s; %s treats all parameters as one vector, so call adz_module_to to give them one dtype",
                i, adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(first),
                adz_dtype_name((adz_dtype)first->dtype), optimizer->type->name);
            return false;
        }
        if (!adzi_is_contiguous(t)) {
            adzi_error(
                op, ADZ_ERR_SHAPE, "parameter %zu%s is not contiguous", i, adzi_text_shape(t));
            return false;
        }
    }
    if (adzi_search_numel(optimizer) == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the parameters have no elements");
        return false;
    }
    return true;
}

/* Copies the memory and the parameters, and fills `run`. False with the error recorded. */
static bool begin(adzi_search_run *run)
{
    adz_optimizer *o = run->optimizer;
    const adzi_search *search = o->search;
    if (!check_parameters(run->op, o)) {
        return false;
    }
    o->working = adzi_alloc(search->size);
    if (o->working != NULL) {
        memcpy(o->working, o->memory, search->size);
    }
    if (o->working == NULL || (search->copy != NULL && !search->copy(o->working))) {
        adzi_fail_memory(run->op, search->size);
        return false;
    }
    adz_tensor *values = adzi_search_values(run->op, o);
    o->before = values != NULL ? adzi_retain(values) : NULL;
    memcpy(run->settings, o->groups[0]->settings, sizeof run->settings);
    run->memory = o->working;
    run->dtype = (adz_dtype)o->groups[0]->parameters[0]->dtype;
    run->numel = adzi_search_numel(o);
    run->preparations = ++o->preparations;
    return o->before != NULL;
}

/* Keeps the memory of the step, and reports what the step was. */
static void commit(adzi_search_run *run)
{
    adz_optimizer *o = run->optimizer;
    o->report = (adz_closure_report){ .reason = run->reason,
        .iterations = (int64_t)adzi_search_counted(o, o->working, ADZI_SEARCH_ITERATIONS) -
                      (int64_t)adzi_search_counted(o, o->memory, ADZI_SEARCH_ITERATIONS),
        .evaluations = (int64_t)adzi_search_counted(o, o->working, ADZI_SEARCH_EVALUATIONS) -
                       (int64_t)adzi_search_counted(o, o->memory, ADZI_SEARCH_EVALUATIONS),
        .loss = run->after,
        .gradient = run->gradient };
    o->reported = true;
    adzi_search_drop(o, o->memory);
    o->memory = o->working;
    o->working = NULL;
    adzi_drop(o->before);
    o->before = NULL;
}

static adz_status run_search(adzi_search_run *run)
{
    adz_optimizer *o = run->optimizer;
    adzi_optimizer_settle(o);
    adz_scope *scope = adz_scope_open();
    bool good = scope != NULL && begin(run);
    good = good && o->search->step(run) && adzi_pending() == ADZ_OK && still_runs(run);
    if (good) {
        commit(run);
    } else if (o->working != NULL) {
        adzi_search_undo(o);
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good ? ADZ_OK : adz_error_code();
}

/* Checks that a closure may be called now. False with the error recorded. */
static bool may_call(const char *op)
{
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    if (adzi_refused(op) != ADZ_OK) {
        return false;
    }
    if (adzi_self()->tracer != NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "a step with a closure cannot be exported, because the closure's loss decides what is done; export a step by adz_optimizer_step");
        return false;
    }
    return true;
}

bool adzi_search_open(adzi_search_run *run)
{
    adz_optimizer *o = run->optimizer;
    if (!may_call(run->op)) {
        return false;
    }
    adzi_optimizer_settle(o);
    if (!check_parameters(run->op, o)) {
        return false;
    }
    run->dtype = (adz_dtype)o->groups[0]->parameters[0]->dtype;
    run->numel = adzi_search_numel(o);
    run->preparations = o->preparations;
    return true;
}

adz_status adz_optimizer_step_closure(
    adz_optimizer *optimizer, adz_optimizer_closure closure, void *user, double *loss)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_optimizer_step_closure";
    if (!adzi_check_handle(op, "optimizer", optimizer)) {
        return adz_error_code();
    }
    if (closure == NULL) {
        return adzi_error_null(op, "closure");
    }
    if (!may_call(op)) {
        return adz_error_code();
    }
    adzi_search_run run = { .op = op, .optimizer = optimizer, .closure = closure, .user = user };
    adz_status status;
    if (optimizer->search != NULL) {
        status = run_search(&run);
    } else {
        adzi_settle(adzi_self());
        status = evaluate(op, closure, user, &run.loss) ? adz_optimizer_step(optimizer)
                                                        : adz_error_code();
    }
    if (status == ADZ_OK && loss != NULL) {
        *loss = run.loss;
    }
    return status;
}

/* ---- making an optimizer --------------------------------------------------------------------- */

adz_status adzi_search_no_update(adz_tensor **results, const adz_update *update)
{
    (void)results;
    return adzi_error("adz_optimizer_step", ADZ_ERR_UNSUPPORTED,
        "the type %s has no update of single parameters; make the optimizer with its constructor",
        update->at->optimizer->type->name);
}

adz_optimizer *adzi_search_new(const char *op, const adz_optimizer_type *type,
    const adzi_search *search, adz_tensor_list parameters, const double *settings)
{
    adz_optimizer *o = adzi_optimizer_new(op, type, parameters, settings);
    if (o == NULL) {
        return NULL;
    }
    o->search = search;
    o->memory = adzi_alloc_zero(search->size);
    if (o->memory == NULL) {
        adzi_fail_memory(op, search->size);
    }
    if (o->memory == NULL || !check_parameters(op, o)) {
        adz_optimizer_release(&o);
    }
    return o;
}
