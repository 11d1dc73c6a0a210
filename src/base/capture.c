/* Capturing and tracing: which thread does it, and the functions that code above calls while it
 * does. */
#include "base/capture.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/threads/fork.h"
#include "base/threads/marks.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"

_Atomic(uint64_t) adzi_settings_epoch, adzi_captures_begun;
_Atomic(int) adzi_captures_running;

/* The observer of launches belongs to the process, a capture or a tracer to a thread. `before` is
 * the observer that a test had set when the first thread began to capture or to trace. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n_observing;
static adzi_observer before;

ADZI_FORK_TAKES(lock, ADZI_LOCK_OBSERVERS)

/* Whether the capture of this thread records without computing. */
static _Thread_local bool skips;

/* A launch, as an observer gets it. */
typedef struct {
    adzi_kernel kernel;
    const void *args;
    size_t size;
    int64_t units, grain;
} launch;

static void compute(const launch *l)
{
    if (before != NULL) {
        before(l->kernel, l->args, l->size, l->units, l->grain);
    } else {
        adzi_launch_unobserved(l->kernel, l->args, l->units, l->grain);
    }
}

/* Computes a launch of a thread whose function is traced (Note [Nothing outside the trace]).
 * Launches inside the kernel belong to it. */
static void compute_traced(adzi_tracer *tracer, const launch *l)
{
    const bool open = tracer->open;
    if (!open && tracer->launched != NULL) {
        tracer->launched(tracer);
    }
    tracer->open = true;
    compute(l);
    tracer->open = open;
}

static void observe(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    const launch l = { kernel, args, size, units, grain };
    /* A thread of the pool has no state of its own, and no capture. */
    const adzi_thread *thread = adzi_inside_launch() ? NULL : adzi_thread_current;
    if (thread != NULL && thread->tracer != NULL) {
        compute_traced(thread->tracer, &l);
        return;
    }
    adzi_capture *capture = thread != NULL ? adzi_capture_of(thread) : NULL;
    if (capture == NULL) {
        compute(&l);
        return;
    }
    capture->launched(capture, kernel, args, thread->layout, size, units, grain);
    if (!skips) {
        capture->inside = true;
        compute(&l);
        capture->inside = false;
    }
}

static void begin_observing(void)
{
    pthread_mutex_lock(&lock);
    if (n_observing++ == 0) {
        before = atomic_load(&adzi_launch_observer);
        atomic_store(&adzi_launch_observer, observe);
    }
    pthread_mutex_unlock(&lock);
}

static void end_observing(void)
{
    pthread_mutex_lock(&lock);
    if (--n_observing == 0) {
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

void adzi_capture_begin(adzi_capture *capture)
{
    begin_observing();
    capture->inside = skips = false;
    capture->op = "a launch";
    atomic_fetch_add(&adzi_captures_running, 1);
    atomic_fetch_add(&adzi_captures_begun, 1);
    adzi_self()->capture = capture;
}

void adzi_capture_end(void)
{
    adzi_thread *thread = adzi_self();
    if (thread->capture == NULL) {
        return;
    }
    thread->capture = NULL;
    atomic_fetch_sub(&adzi_captures_running, 1);
    end_observing();
}

adz_status adzi_repeat_sized(
    adzi_host_function function, const void *args, const adzi_args_layout *layout, size_t size)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->repeated(capture, function, args, layout, size);
    }
    return capture != NULL && skips ? ADZ_OK : function(args);
}

adz_status adzi_mark(const void *args)
{
    (void)args;
    return ADZ_OK;
}

void adzi_add_mark(adzi_mark_kind kind, const void *truth, int64_t most)
{
    const adzi_mark_args args = { truth, kind, most, 0 };
    (void)adzi_repeat(adzi_mark, adzi_mark_args, &args);
}

bool adzi_capture_skips(bool on)
{
    const bool were = skips;
    skips = on;
    return were;
}

void *adzi_alloc_for_kernels(size_t bytes)
{
    void *block = adzi_alloc(bytes);
    adzi_capture *capture = block != NULL ? adzi_capture_of(adzi_self()) : NULL;
    if (capture != NULL) {
        capture->stored(capture, block, bytes);
    }
    return block;
}
