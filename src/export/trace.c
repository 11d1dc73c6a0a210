/* Making a trace: the call of the function, what is restored after it, and what the output needs.
 * trace_record.c has the reports of the calls. */
#include "export/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/door.h"
#include "io/finite.h"
#include "plan/plan.h"

/* ---- what a trace leaves as it was ---------------------------------------------------------- */

/* Puts back tensors that were changed in place, gradients, optimizers, buffers and generators. */
static void restore(adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->contents != NULL) {
            adzi_copy(v->tensor, v->contents);
            v->tensor->storage->version = v->version;
        }
    }
    if (trace->kept != NULL) {
        adzi_kept_restore(trace->kept);
        trace->kept = NULL;
    }
}

void adzi_trace_abandon(adzi_tracer *tracer)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    adzi_draws_end(&trace->kept->draws);
    restore(trace);
    adzi_trace_free(&trace);
}

/* ---- the call of the function --------------------------------------------------------------- */

static bool add_inputs(adzi_trace *trace, const adzi_export *what)
{
    for (size_t i = 0; i < what->inputs.count; ++i) {
        char name[40] = "input";
        if (what->inputs.count > 1) {
            snprintf(name, sizeof name, "input%zu", i);
        }
        adz_tensor *t = what->inputs.items[i];
        const char *given = what->input_names != NULL ? what->input_names[i] : name;
        if (!adzi_check_tensor(trace->op, given != NULL ? given : name, t) ||
            adzi_trace_add_value(trace, ADZI_VALUE_INPUT, t, given != NULL ? given : name) < 0) {
            return false;
        }
    }
    trace->n_inputs = (int)what->inputs.count;
    return true;
}

static bool add_named(adzi_trace *trace, adz_named_list list, adzi_value_kind kind)
{
    for (size_t i = 0; i < list.count; ++i) {
        if (adzi_trace_add_value(trace, kind, list.items[i].tensor, list.items[i].name) < 0) {
            return false;
        }
    }
    return true;
}

static bool add_module(adzi_trace *trace, adz_module *module)
{
    return module == NULL ||
           (add_named(trace, adz_module_named_parameters(module), ADZI_VALUE_PARAMETER) &&
               add_named(trace, adz_module_named_buffers(module), ADZI_VALUE_BUFFER) &&
               adzi_pending() == ADZ_OK);
}

typedef struct traced {
    adzi_trace *trace;
    const adzi_export *what;
} traced;

/* Calls the function, and finds the values of its results. */
static bool find_outputs(adzi_trace *trace, const adzi_export *what)
{
    const adzi_function f = { .single = what->function,
        .several = what->several,
        .user = what->user,
        .n_results = trace->n_outputs };
    adzi_tracer_begin(&trace->tracer);
    bool good = adzi_function_call(trace->op, &f, trace->returned);
    for (size_t k = 0; k < f.n_results && good; ++k) {
        trace->outputs[k] = trace->failed ? -1 : adzi_trace_value_of(trace, trace->returned[k]);
        good = trace->outputs[k] >= 0;
    }
    adzi_tracer_end();
    return good;
}

static bool call_traced(void *state)
{
    const traced *t = state;
    adz_scope *scope = adz_scope_open();
    const bool good = scope != NULL && find_outputs(t->trace, t->what);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

/* Calls the function in a scope, with the trace on. A jump out of the function turns it off. */
static bool call(adzi_trace *trace, const adzi_export *what)
{
    const adzi_door door = { .op = trace->op };
    const bool good = adzi_through_door(&door, call_traced, &(traced){ trace, what });
    if (trace->failed && adzi_pending() == ADZ_OK) {
        adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "the function went on after a call that cannot be exported; return NULL there");
    }
    return good && adzi_pending() == ADZ_OK;
}

/* ---- what the outputs need ------------------------------------------------------------------ */

static bool takes_varying(const adzi_traced_call *c, const bool *varies)
{
    bool any = false;
    for (int k = adzi_trace_overwrites(c) ? 1 : 0; k < c->n_in && !any; ++k) {
        any = c->in[k] >= 0 && varies[c->in[k]];
    }
    return any;
}

/* Marks what differs from run to run: the inputs, what a step changes, and what is computed from
 * them. */
static void find_varying(const adzi_trace *trace, bool *varies)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        varies[i] =
            v->kind == ADZI_VALUE_INPUT || v->kind == ADZI_VALUE_NUMBER || v->becomes != (int)i;
    }
    for (size_t i = 0; i < trace->n_calls; ++i) {
        const adzi_traced_call *c = &trace->calls[i];
        const bool region = adzi_region_ends(adzi_trace_region_of(c));
        bool any = false; /* a loop or a branch varies if anything in it does */
        for (size_t k = region ? adzi_trace_region_begin(trace, i) : i; k <= i && !any; ++k) {
            any = takes_varying(&trace->calls[k], varies);
        }
        for (int k = 0; k < c->n_out; ++k) {
            varies[c->out[k]] = varies[c->out[k]] || any;
        }
    }
}

/* Records the error of a result that is the same in every run. Returns false. */
static bool refuse_output(const adzi_trace *trace, size_t k)
{
    adzi_text which = { 0 };
    if (trace->n_outputs == 1) {
        adzi_text_add(&which, "the result");
    } else {
        adzi_text_format(&which, "result %zu", k);
    }
    if (trace->output_names != NULL) {
        adzi_text_format(&which, " \"%s\"", trace->output_names[k]);
    }
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s does not depend on %s, so that it would be a constant; %scompute it from the input by adze's operators, and not by the program itself",
        adzi_text_get(&which), trace->n_inputs > 1 ? "any input" : trace->values[0].name,
        trace->n_outputs > 1 ? "leave it out, or " : "");
    adzi_text_free(&which);
    return false;
}

/* Every result must differ from run to run, and some result must depend on an input. Otherwise the
 * file would compute a constant, which most often is one by mistake. */
static bool check_outputs(const adzi_trace *trace)
{
    if (trace->n_inputs == 0) {
        adzi_error(trace->op, ADZ_ERR_ARGUMENT,
            "there are no inputs, so that the result would be a constant; name the tensors that differ from run to run in adz_plan_options.inputs");
        return false;
    }
    bool *varies = adzi_alloc(trace->n_values * sizeof *varies), depends = false;
    if (varies == NULL) {
        adzi_fail_memory(trace->op, trace->n_values * sizeof *varies);
        return false;
    }
    find_varying(trace, varies);
    size_t k = 0;
    while (k < trace->n_outputs && varies[trace->outputs[k]]) {
        ++k;
    }
    adzi_free(varies, trace->n_values * sizeof *varies);
    for (int i = 0; i < trace->n_inputs; ++i) {
        depends = depends || trace->values[i].used;
    }
    return (k == trace->n_outputs && depends) || refuse_output(trace, k < trace->n_outputs ? k : 0);
}

/* Parameters, buffers and constants must hold at the end what they held when they were first used:
 * their contents are read after the function. */
static bool check_constants(const adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_tensors; ++i) {
        const adzi_traced_tensor *t = &trace->tensors[i];
        const adzi_traced_value *v = &trace->values[t->value];
        if (v->used && v->kind != ADZI_VALUE_RESULT && v->kind != ADZI_VALUE_INPUT &&
            v->contents == NULL && t->version != t->tensor->storage->version) {
            adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
                "%s changed %s%s%s while the function ran, which an export cannot repeat",
                t->tensor->storage->writer, v->name != NULL ? v->name : "a constant",
                v->name != NULL ? " " : "", adzi_text_shape(t->tensor));
            return false;
        }
    }
    return true;
}

/* A file that was written with batch norm in training by mistake would normalise by its batch. */
static bool check_statistics(const adzi_trace *trace)
{
    if (trace->moved[0] == '\0' || trace->backward || trace->kept->n_optimizers > 0) {
        return true;
    }
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s is in training, although the function makes neither a backward nor a step of an optimizer; call adz_module_eval before the export, or in the function",
        trace->moved);
    return false;
}

void adzi_trace_note_entered(adzi_tracer *tracer, adz_tensor *const *in, int n)
{
    const adzi_trace *trace = (const adzi_trace *)(const void *)tracer;
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < trace->n_inputs; ++i) {
            adzi_traced_value *v = &trace->values[i];
            v->entered = v->entered || (!adzi_is_none(in[k]) && in[k]->data == v->tensor->data);
        }
    }
}

/* An input that the function has read when the plan was made, and does not read now, would be a
 * constant in the file. */
static bool check_inputs(const adzi_trace *trace, const adzi_export *what)
{
    for (int i = 0; i < trace->n_inputs && what->reads != NULL; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (what->reads[i] && !v->entered) {
            adzi_error(trace->op, ADZ_ERR_STATE,
                "the function was called again for the file, and reads another tensor now instead of the input \"%s\" %s, which it has read when the plan was made; let it read that tensor, or make a new plan",
                v->name, adzi_text_shape(v->tensor));
            return false;
        }
    }
    return true;
}

/* Buffers may be infinite, because masks are, and so may other constants. */
bool adzi_trace_is_finite(const adzi_trace *trace)
{
    bool finite = true;
    for (size_t i = 0; i < trace->n_values && finite; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        const bool state = v->kind == ADZI_VALUE_BUFFER || v->kind == ADZI_VALUE_STATE ||
                           v->kind == ADZI_VALUE_GRADIENT;
        const bool weight = v->kind == ADZI_VALUE_PARAMETER ||
                            (v->kind == ADZI_VALUE_CONSTANT && v->tensor->requires_grad);
        if (v->used && (state || weight)) {
            finite = adzi_check_finite(trace->op, v->name != NULL ? v->name : "a weight ",
                         v->contents != NULL ? v->contents : v->tensor, state) == ADZ_OK;
        }
    }
    return finite;
}

/* ---- making and freeing --------------------------------------------------------------------- */

/* Enters what is known before the function is called. */
static bool begin(adzi_trace *trace, const adzi_export *what)
{
    const size_t n = what->function != NULL ? 1 : what->n_results;
    trace->outputs = adzi_alloc(n * sizeof *trace->outputs);
    trace->returned = adzi_alloc(n * sizeof(adz_tensor *));
    trace->n_outputs = n;
    trace->output_names = what->result_names;
    if (trace->outputs == NULL || trace->returned == NULL) {
        adzi_fail_memory(trace->op, n * sizeof *trace->outputs);
        return false;
    }
    trace->kept = adzi_kept_new(trace->op, what->module);
    return trace->kept != NULL && add_inputs(trace, what) && add_module(trace, what->module);
}

static _Atomic(uint64_t) n_traces; /* of the process */

adzi_trace *adzi_trace_new(
    const char *op, const adzi_export *what, bool (*prints)(const adz_operator *op))
{
    if (adzi_refused(op) != ADZ_OK) {
        return NULL;
    }
    const bool given = what->function != NULL || what->several != NULL;
    if (!given || (what->inputs.items == NULL && what->inputs.count > 0)) {
        return adzi_fail_null(op, !given ? "function" : "inputs");
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_fail(op, ADZ_ERR_STATE, "an export cannot run inside another one");
    }
    adzi_trace *trace = adzi_alloc_zero(sizeof *trace);
    if (trace == NULL) {
        return adzi_fail_memory(op, sizeof *trace);
    }
    trace->tracer = adzi_trace_reports;
    trace->op = op;
    trace->prints = prints;
    trace->step = trace->tracer.of_step = what->step;
    trace->tracer.number = atomic_fetch_add(&n_traces, 1) + 1;
    trace->texts = what->texts;
    bool good = begin(trace, what);
    if (good) {
        adzi_settle(adzi_self());
        adzi_draws_begin(&trace->kept->draws);
        good = call(trace, what);
        adzi_draws_end(&trace->kept->draws);
    }
    if (good) {
        adzi_trace_choose(trace);
        good = check_statistics(trace) && check_inputs(trace, what) &&
               (!trace->step || adzi_trace_find_changes(trace));
    }
    if (good) {
        adzi_trace_mark_used(trace);
        good = check_outputs(trace) && check_constants(trace);
    }
    restore(trace);
    if (!good) {
        adzi_trace_free(&trace);
    }
    return trace;
}

void adzi_trace_free(adzi_trace **trace)
{
    adzi_trace *t = *trace;
    *trace = NULL;
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < t->n_calls; ++i) {
        adzi_traced_call_end(&t->calls[i]);
    }
    for (size_t i = 0; i < t->n_values; ++i) {
        adzi_string_free(t->values[i].name);
        adzi_drop(t->values[i].contents);
        adzi_drop(t->values[i].leaf);
    }
    for (size_t i = 0; i < t->n_tensors; ++i) {
        adzi_drop(t->tensors[i].tensor);
    }
    adzi_free(t->outputs, t->n_outputs * sizeof *t->outputs);
    adzi_free(t->returned, t->n_outputs * sizeof(adz_tensor *));
    adzi_index_free(&t->by_tensor);
    adzi_index_free(&t->by_storage);
    adzi_free(t->calls, t->calls_capacity * sizeof *t->calls);
    adzi_free(t->values, t->values_capacity * sizeof *t->values);
    adzi_free(t->tensors, t->tensors_capacity * sizeof *t->tensors);
    adzi_free(t->storages, t->storages_capacity * sizeof *t->storages);
    adzi_free(t->births, t->births_capacity * sizeof *t->births);
    adzi_free(t->regions, t->regions_capacity * sizeof *t->regions);
    adzi_free(t, sizeof *t);
}

/* ---- layouts ------------------------------------------------------------------------------- */

adz_tensor *adzi_trace_with_layout(adz_tensor *t, const adz_tensor *like)
{
    int order[ADZ_MAX_RANK], back[ADZ_MAX_RANK];
    bool same = adzi_same_sizes(t, like);
    if (!same) {
        return t; /* the caller reports it */
    }
    for (int d = 0; d < t->rank; ++d) {
        same = same && (t->sizes[d] <= 1 || t->strides[d] == like->strides[d]);
        int at = d; /* dimensions of `like`, the longest stride first */
        for (; at > 0 && like->strides[order[at - 1]] < like->strides[d]; --at) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    if (same) {
        return t;
    }
    for (int d = 0; d < t->rank; ++d) {
        back[order[d]] = d;
    }
    adz_tensor *ordered = adz_contiguous(adz_permute(t, adz_dims_of(t->rank, order)));
    return adz_permute(ordered, adz_dims_of(t->rank, back));
}

/* ---- plans ---------------------------------------------------------------------------------- */

adzi_export adzi_export_of(const adz_plan *plan)
{
    return (adzi_export){ .function = plan->function.single,
        .several = plan->function.several,
        .n_results = plan->function.n_results,
        .user = plan->function.user,
        .inputs = { plan->inputs, plan->n_inputs },
        .reads = plan->reads,
        .input_names = (const char *const *)plan->input_names,
        .result_names = plan->named ? (const char *const *)plan->result_names : NULL,
        .module = plan->module };
}

/* ---- reading -------------------------------------------------------------------------------- */

const char *adzi_traced_text(adzi_text *text, const adzi_traced_call *c)
{
    if (c->path[0] != '\0') {
        adzi_text_format(text, "%s: ", c->path);
    }
    return adzi_attr_text(text, c->op, c->attr);
}

adz_tensor *adzi_traced_contents(const adzi_trace *trace, int value)
{
    const adzi_traced_value *v = &trace->values[value];
    adz_tensor *t = v->contents != NULL ? v->contents : v->tensor;
    return adzi_compact(trace->op, t);
}
