/* What a traced function computes outside the traced calls: Note [Nothing outside the trace] in
 * base/tracer.h. */
#include "export/trace.h"

/* The newest entry of the storage, or NULL. A storage around foreign memory has none. */
static adzi_traced_birth *birth_of(const adzi_trace *trace, const adzi_storage *storage)
{
    size_t i = storage->deleter == NULL ? trace->n_births : 0;
    while (i > 0 && trace->births[i - 1].storage != storage) {
        --i;
    }
    return i > 0 ? &trace->births[i - 1] : NULL;
}

void adzi_trace_note_made(adzi_tracer *tracer, const adz_tensor *t, const char *op)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    if (adzi_grow(
            &trace->births, &trace->births_capacity, trace->n_births + 1, sizeof *trace->births)) {
        trace->births[trace->n_births++] = (adzi_traced_birth){ t->storage, op, false };
    } else {
        trace->failed = true;
        adzi_fail_memory(trace->op, sizeof *trace->births);
    }
}

void adzi_trace_note_constant(adzi_tracer *tracer, const adz_tensor *t)
{
    const adzi_trace *trace = (const adzi_trace *)(const void *)tracer;
    adzi_traced_birth *birth = birth_of(trace, t->storage);
    if (birth != NULL) {
        birth->accounted = true;
    }
}

/* Names what runs, for a message. */
static void name_running(const adzi_tracer *tracer, adzi_text *text)
{
    if (tracer->backwards != NULL) {
        adzi_text_format(text, "the backward of %s", tracer->backwards);
    } else {
        adzi_text_format(
            text, "code after the call of %s", tracer->last != NULL ? tracer->last : "no operator");
    }
}

/* A launch outside a reported call: Note [Nothing outside the trace]. */
void adzi_trace_note_launch(adzi_tracer *tracer)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    adzi_text running = { 0 };
    trace->failed = true;
    name_running(tracer, &running);
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s computes elements by a kernel that belongs to no traced call, which an export would turn into constants; compute them by adze's operators",
        adzi_text_get(&running));
    adzi_text_free(&running);
}

bool adzi_trace_is_older(const adzi_trace *trace, const adz_tensor *t)
{
    return birth_of(trace, t->storage) == NULL;
}

bool adzi_trace_is_constant(adzi_trace *trace, const adz_tensor *t)
{
    const adzi_traced_birth *birth = birth_of(trace, t->storage);
    if (birth == NULL || birth->accounted) {
        return true;
    }
    adzi_text running = { 0 };
    trace->failed = true;
    name_running(&trace->tracer, &running);
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s has made a tensor %s whose elements no traced call has computed, which an export would turn into a constant (in %s); compute it by adze's operators, or outside the function",
        birth->op, adzi_text_shape(t), adzi_text_get(&running));
    adzi_text_free(&running);
    return false;
}
