/* Contexts: making and choosing them, and the callbacks and numbers that they hold. */
#include "base/context.h"
#include "base/capture.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/threads/parallel.h"
#include "base/threads/thread.h"

adz_context adzi_context_default;

int adzi_context_threads(const adz_context *context)
{
    return atomic_load_explicit(&context->threads, memory_order_relaxed);
}

adz_context *adz_context_new(void)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    adz_context *context = adzi_handle_new(sizeof *context);
    if (context == NULL) {
        return adzi_fail_memory("adz_context_new", sizeof *context);
    }
    adz_context *from = adzi_self()->context;
    atomic_init(&context->threads, atomic_load(&from->threads));
    atomic_init(&context->deterministic, atomic_load(&from->deterministic));
    atomic_init(&context->recomputing, atomic_load(&from->recomputing));
    atomic_init(&context->products, atomic_load(&from->products));
    context->on_error = from->on_error;
    context->on_error_user = from->on_error_user;
    context->on_warning = from->on_warning;
    context->on_warning_user = from->on_warning_user;
    return context;
}

void adz_context_free(adz_context **context)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adz_context *gone = adzi_handle_take("adz_context_free", "context", context);
    adzi_thread *thread = adzi_self();
    if (gone != NULL && thread->context == gone) {
        thread->context = &adzi_context_default;
    }
    adzi_handle_end(gone, sizeof *gone);
}

adz_context *adz_context_use(adz_context *context)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    adzi_thread *thread = adzi_self();
    adz_context *before = thread->context;
    if (context != NULL && !adzi_check_handle("adz_context_use", "context", context)) {
        return before == &adzi_context_default ? NULL : before;
    }
    thread->context = context != NULL ? context : &adzi_context_default;
    return before == &adzi_context_default ? NULL : before;
}

void adz_on_error(adz_message_callback callback, void *user)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    adz_context *context = thread->context;
    context->on_error_user = user;
    context->on_error = callback;
}

void adz_on_warning(adz_message_callback callback, void *user)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    adz_context *context = thread->context;
    context->on_warning_user = user;
    context->on_warning = callback;
}

adz_status adz_set_num_threads(int threads)
{
    if (threads < 0) {
        return adzi_error("adz_set_num_threads", ADZ_ERR_ARGUMENT,
            "%d threads: give 1 or more, or 0 for one per processor", threads);
    }
    atomic_store_explicit(&adzi_self()->context->threads, threads, memory_order_relaxed);
    return ADZ_OK;
}

int adz_get_num_threads(void)
{
    return adzi_num_threads();
}
