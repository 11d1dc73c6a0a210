/* Modes of a thread, whether calls are recorded and whether NaN is looked for, and of a context:
 * whether activations are computed again. */
#include "autograd/op.h"
#include "base/capture.h"
#include "base/context.h"

bool adz_set_grad_enabled(bool on)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    bool before = thread->grad_enabled;
    thread->grad_enabled = on;
    return before;
}

bool adz_is_grad_enabled(void)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    return thread->grad_enabled;
}

bool adz_set_anomaly_enabled(bool on)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    bool before = thread->anomaly;
    if (before != on && adzi_is_captured("adz_set_anomaly_enabled", "a replay looks for no NaN")) {
        return before;
    }
    thread->anomaly = on;
    return before;
}

bool adz_is_anomaly_enabled(void)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    return thread->anomaly;
}

bool adz_set_recomputing(bool on)
{
    return atomic_exchange_explicit(&adzi_self()->context->recomputing, on, memory_order_relaxed);
}

bool adz_is_recomputing(void)
{
    return adzi_recomputes(adzi_self()->context);
}
