/* Recording and tracing: which thread does it, and the functions that code above calls while it
 * does. */
#include "base/recorder.h"

#include <pthread.h>

#include "base/threads/parallel.h"
#include "base/tracer.h"

_Atomic(uint64_t) adzi_settings_epoch;

/* The observer of launches belongs to the process, a recorder or a tracer to a thread. `before` is
 * the observer that a test had set when the first thread began to record or to trace. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n_recording;
static adzi_observer before;

static void compute(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    if (before != NULL) {
        before(kernel, args, size, units, grain);
    } else {
        adzi_launch_unobserved(kernel, args, units, grain);
    }
}

/* Computes a launch of a thread whose function is traced (Note [Nothing beside the trace]).
 * Launches inside the kernel belong to it. */
static void compute_traced(adzi_tracer *tracer, adzi_kernel kernel, const void *args, size_t size,
    int64_t units, int64_t grain)
{
    const bool open = tracer->open;
    if (!open && tracer->launched != NULL) {
        tracer->launched(tracer);
    }
    tracer->open = true;
    compute(kernel, args, size, units, grain);
    tracer->open = open;
}

static void observe(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    /* A thread of the pool has no state of its own, and no recorder. */
    const adzi_thread *thread = adzi_inside_launch() ? NULL : adzi_thread_current;
    if (thread != NULL && thread->tracer != NULL) {
        compute_traced(thread->tracer, kernel, args, size, units, grain);
        return;
    }
    adzi_recorder *recorder = thread != NULL ? adzi_recorder_of(thread) : NULL;
    if (recorder == NULL) {
        compute(kernel, args, size, units, grain);
        return;
    }
    recorder->launched(recorder, kernel, args, thread->mask, size, units, grain);
    recorder->inside = true;
    compute(kernel, args, size, units, grain);
    recorder->inside = false;
}

static void begin_observing(void)
{
    pthread_mutex_lock(&lock);
    if (n_recording++ == 0) {
        before = atomic_load(&adzi_launch_observer);
        atomic_store(&adzi_launch_observer, observe);
    }
    pthread_mutex_unlock(&lock);
}

static void end_observing(void)
{
    pthread_mutex_lock(&lock);
    if (--n_recording == 0) {
        atomic_store(&adzi_launch_observer, before);
    }
    pthread_mutex_unlock(&lock);
}

void adzi_tracer_begin(adzi_tracer *tracer)
{
    begin_observing();
    adzi_self()->tracer = tracer;
}

void adzi_tracer_end(void)
{
    adzi_thread *thread = adzi_self();
    if (thread->tracer != NULL) {
        thread->tracer = NULL;
        end_observing();
    }
}

void adzi_recorder_begin(adzi_recorder *recorder)
{
    begin_observing();
    recorder->inside = false;
    recorder->op = "a launch";
    adzi_self()->recorder = recorder;
}

void adzi_recorder_end(void)
{
    adzi_thread *thread = adzi_self();
    if (thread->recorder == NULL) {
        return;
    }
    thread->recorder = NULL;
    end_observing();
}

adz_status adzi_repeat_sized(
    adzi_host_function function, const void *args, const void *mask, size_t size)
{
    adzi_recorder *recorder = adzi_recorder_of(adzi_self());
    if (recorder != NULL) {
        recorder->repeated(recorder, function, args, mask, size);
    }
    return function(args);
}

void *adzi_alloc_for_kernels(size_t bytes)
{
    void *block = adzi_alloc(bytes);
    adzi_recorder *recorder = block != NULL ? adzi_recorder_of(adzi_self()) : NULL;
    if (recorder != NULL) {
        recorder->stored(recorder, block, bytes);
    }
    return block;
}
