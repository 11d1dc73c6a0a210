/* Refusing what a plan cannot capture and a trace cannot hold. */
#include "base/error.h"
#include "base/recorder.h"
#include "base/tracer.h"

bool adzi_is_recorded(const char *op, const char *why)
{
    if (adzi_recorder_of(adzi_self()) == NULL) {
        return adzi_trace_refuse(op, why) != ADZ_OK;
    }
    adzi_error(op, ADZ_ERR_STATE,
        "cannot be captured, because %s; call it outside the function "
        "that a plan runs",
        why);
    return true;
}

bool adzi_host_may_touch(const char *op, const adz_tensor *t, const char *why)
{
    adzi_recorder *recorder = adzi_recorder_of(adzi_self());
    if (recorder != NULL && !recorder->host_may_use(recorder, t)) {
        return !adzi_is_recorded(op, why);
    }
    return adzi_host_may(t, op);
}
