/* What a trace does with the reports of a training step: backwards, gradients, optimizers. Also
 * which variables the step changes, and whether a second run would do the same. */
#include <stdio.h>
#include <string.h>

#include "export/trace.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* Adds a value that `t` holds, called "<name of the leaf>.<what>" if the leaf has a name. */
static int add_named(adzi_trace *trace, adzi_value_kind kind, adz_tensor *t, const adz_tensor *leaf,
    const char *what)
{
    const char *owner = adzi_trace_name_of(trace, leaf);
    adzi_text name = { 0 };
    if (owner != NULL) {
        adzi_text_format(&name, "%s.%s", owner, what);
    }
    if (name.failed) {
        adzi_fail_memory(trace->op, name.length);
    }
    const int value = name.failed ? -1
                                  : adzi_trace_add_value(trace, kind, t,
                                        owner != NULL ? adzi_text_get(&name) : NULL);
    adzi_text_free(&name);
    trace->failed = trace->failed || value < 0;
    if (value >= 0) {
        trace->values[value].leaf = adzi_retain((adz_tensor *)(uintptr_t)leaf);
    }
    return value;
}

/* ---- reports -------------------------------------------------------------------------------- */

adz_status adzi_trace_note_backward(adzi_tracer *tracer)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    trace->backward = true;
    if (trace->step) {
        return ADZ_OK;
    }
    trace->failed = true;
    return adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "the function calls adz_backward; only a forward can be exported, so return the prediction before it");
}

void adzi_trace_note_gradient(adzi_tracer *tracer, adzi_gradient *gradient, bool replaced)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    if (replaced &&
        !adzi_trace_is_outside(trace, "a function that changes the gradient of a leaf")) {
        return;
    }
    const size_t before = trace->kept->n_gradients;
    const adzi_kept_gradient *g = adzi_kept_add_gradient(trace->kept, gradient, replaced);
    if (g == NULL) {
        trace->failed = true;
    } else if (trace->kept->n_gradients > before && g->grad != NULL &&
               !adzi_trace_knows(trace, g->grad)) {
        add_named(trace, ADZI_VALUE_GRADIENT, g->grad, g->leaf, "grad");
    }
}

/* The parameters of an optimizer that are none of the module are parameters as well. */
static bool name_parameters(adzi_trace *trace, const adz_optimizer *o)
{
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const int value = adzi_trace_value_of(trace, o->groups[g]->parameters[i]);
            if (value < 0) {
                return false;
            }
            if (trace->values[value].kind == ADZI_VALUE_CONSTANT) {
                trace->values[value].kind = ADZI_VALUE_PARAMETER;
            }
        }
    }
    return true;
}

adz_status adzi_trace_note_step(adzi_tracer *tracer, adz_optimizer *optimizer)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    if (!adzi_trace_is_outside(trace, "adz_optimizer_step")) {
        return adzi_status(NULL);
    }
    if (!trace->step) {
        trace->failed = true;
        return adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "the function calls adz_optimizer_step; only a forward can be exported, so return the prediction before it");
    }
    const bool good = adzi_kept_add_optimizer(trace->kept, optimizer) != NULL &&
                      name_parameters(trace, optimizer);
    trace->failed = trace->failed || !good;
    return good ? ADZ_OK : adzi_status(NULL);
}

bool adzi_trace_note_update(
    adzi_tracer *tracer, adz_tensor *t, const adzi_parameter_position *position, int k)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    const adzi_group *group = position->optimizer->groups[position->group];
    const adzi_kept_update *before = adzi_kept_update_of(trace->kept, position);
    if (before == NULL || (k >= 0 && adzi_trace_knows(trace, t))) {
        return before != NULL;
    }
    const adz_tensor *leaf = group->parameters[position->i];
    const int value = k < 0 ? adzi_trace_add_value(trace, ADZI_VALUE_NUMBER, t, NULL)
                            : add_named(trace, ADZI_VALUE_STATE, t, leaf,
                                  position->optimizer->type->states[k].name);
    if (value >= 0) {
        adzi_traced_value *v = &trace->values[value];
        v->position = *position;
        v->which = k < 0 ? -1 - k : k;
        v->ahead = group->kept[position->i].steps - before->steps;
        v->fresh = group->kept[position->i].fresh;
    }
    return value >= 0;
}

adz_status adzi_trace_note_refused(adzi_tracer *tracer, const char *function, const char *why)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    if (!trace->step) {
        return ADZ_OK;
    }
    trace->failed = true;
    return adzi_error(function, ADZ_ERR_STATE,
        "cannot be a part of an exported step, because %s; call it outside the function", why);
}

void adzi_trace_note_moves(adzi_tracer *tracer)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    char path[128];
    if (trace->moved[0] == '\0') {
        const bool inside = adzi_calls_path(path, sizeof path) > 0;
        snprintf(trace->moved, sizeof trace->moved, "%s%sbatch_norm", inside ? path : "",
            inside ? ": " : "");
    }
}

/* ---- one of two forms ----------------------------------------------------------------------- */

static void choose(const adzi_trace *trace, int *value)
{
    if (*value >= 0 && trace->values[*value].instead >= 0) {
        *value = trace->values[*value].instead;
    }
}

void adzi_trace_choose(adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_calls && trace->backward; ++i) {
        for (int k = 0; k < trace->calls[i].n_in; ++k) {
            choose(trace, &trace->calls[i].in[k]);
        }
    }
    for (size_t i = 0; i < trace->n_tensors && trace->backward; ++i) {
        choose(trace, &trace->tensors[i].value);
        choose(trace, &trace->tensors[i].first);
    }
    for (size_t k = 0; k < trace->n_outputs && trace->backward; ++k) {
        choose(trace, &trace->outputs[k]);
    }
}

/* ---- what the step changes ------------------------------------------------------------------ */

/* Whether the next run begins with what the tensor holds then. */
static bool is_variable(const adzi_trace *trace, const adzi_traced_value *v)
{
    return v->kind == ADZI_VALUE_PARAMETER || v->kind == ADZI_VALUE_BUFFER ||
           v->kind == ADZI_VALUE_STATE ||
           (v->kind == ADZI_VALUE_CONSTANT && adzi_trace_is_older(trace, v->tensor));
}

/* Refuses a gradient by which the next run would differ from this one. */
static bool check_gradient(adzi_trace *trace, const adzi_kept_gradient *g)
{
    const bool is = g->leaf->gradient->grad != NULL, was = g->grad != NULL;
    const char *name = adzi_trace_name_of(trace, g->leaf);
    const int value = adzi_trace_first_value(trace, g->leaf);
    const bool made = value < 0 || trace->values[value].kind == ADZI_VALUE_RESULT ||
                      !adzi_trace_is_older(trace, g->leaf);
    if (g->replaced || is == was || made) { /* the next run makes its own leaf */
        return true;
    }
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        is ? "the function leaves a gradient of %s%s, to which its next run would add; call adz_optimizer_zero_grad in the function, before adz_backward"
           : "the function uses the earlier gradient of %s%s and then drops it, so its next run would differ; call adz_optimizer_zero_grad before the export",
        name != NULL ? name : "a tensor ", adzi_text_shape(g->leaf));
    return false;
}

static bool find_gradients(adzi_trace *trace)
{
    for (size_t i = 0; i < trace->kept->n_gradients; ++i) {
        const adzi_kept_gradient *g = &trace->kept->gradients[i];
        if (!check_gradient(trace, g)) {
            return false;
        }
        adz_tensor *now = g->leaf->gradient->grad;
        const int first = g->grad != NULL ? adzi_trace_first_value(trace, g->grad) : -1;
        /* One that was dropped is another tensor now, unless it was zeroed in place. */
        if (first >= 0 && now != NULL && (!g->replaced || now == g->grad)) {
            const int last = adzi_trace_value_of(trace, now);
            if (last < 0) {
                return false;
            }
            trace->values[first].becomes = last;
        }
    }
    return true;
}

/* A buffer may be another tensor now. */
static bool find_buffers(adzi_trace *trace)
{
    for (size_t i = 0; i < trace->kept->n_buffers; ++i) {
        const adzi_kept_buffer *b = &trace->kept->buffers[i];
        adz_tensor *now = b->module->buffers[b->index].tensor;
        const int first = adzi_trace_first_value(trace, b->tensor);
        if (now == b->tensor || adzi_is_none(now) || first < 0) {
            continue;
        }
        const int last = adzi_trace_value_of(trace, now);
        if (last < 0) {
            return false;
        }
        trace->values[first].becomes = last;
    }
    return true;
}

/* What the program has read of a tensor is a constant of the file, so the step must not change
 * it. */
static bool check_read(const adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->reader != NULL && (v->becomes != (int)i || v->kind == ADZI_VALUE_NUMBER)) {
            adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
                "%s accesses elements of %s, which the step changes, by the program itself; use adze's operators",
                v->reader, v->name != NULL ? v->name : "a tensor");
            return false;
        }
    }
    return true;
}

bool adzi_trace_find_changes(adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_tensors; ++i) {
        const adzi_traced_tensor *t = &trace->tensors[i];
        if (is_variable(trace, &trace->values[t->first])) {
            trace->values[t->first].becomes = t->value;
        }
    }
    return find_gradients(trace) && find_buffers(trace) && check_read(trace);
}
