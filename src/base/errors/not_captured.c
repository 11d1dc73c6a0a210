/* Refusing what a plan cannot capture and a trace cannot hold. */
#include "base/error.h"
#include "base/capture.h"
#include "base/tracer.h"

bool adzi_is_captured(const char *op, const char *why)
{
    if (adzi_capture_gives_up()) {
        return false;
    }
    if (adzi_capture_of(adzi_self()) == NULL) {
        return adzi_trace_refuse(op, why) != ADZ_OK;
    }
    adzi_error(op, ADZ_ERR_STATE,
        "cannot be captured, because %s; call it outside the function that a plan runs", why);
    return true;
}

adz_status adzi_capture_keeps(const char *op, const char *what)
{
    const adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture == NULL || capture->steps == NULL) {
        return ADZ_OK;
    }
    return adzi_error(op, ADZ_ERR_STATE,
        "a plan that puts everything back (adz_plan_options.restore) cannot put back %s", what);
}

bool adzi_host_may_touch(const char *op, const adz_tensor *t, const char *why)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && !capture->host_may_use(capture, t)) {
        return !adzi_is_captured(op, why);
    }
    return adzi_host_may(t, op);
}
