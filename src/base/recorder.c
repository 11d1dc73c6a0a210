/* Recording: which thread records, and the functions that code above calls while it does. */
#include "base/recorder.h"

#include <pthread.h>

#include "base/error.h"
#include "base/threads/parallel.h"

_Atomic(uint64_t) adzi_settings_epoch;

/* The observer of launches belongs to the process, a recorder to a thread. `before` is the observer
 * that a test had set when the first thread began to record. */
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

static void observe(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    /* A thread of the pool has no state of its own, and no recorder. */
    const adzi_thread *thread = adzi_inside_launch() ? NULL : adzi_thread_current;
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

void adzi_recorder_begin(adzi_recorder *recorder)
{
    pthread_mutex_lock(&lock);
    if (n_recording++ == 0) {
        before = atomic_load(&adzi_launch_observer);
        atomic_store(&adzi_launch_observer, observe);
    }
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    if (--n_recording == 0) {
        atomic_store(&adzi_launch_observer, before);
    }
    pthread_mutex_unlock(&lock);
}

bool adzi_is_recorded_tensor(const char *op, const adz_tensor *t, const char *why)
{
    adzi_recorder *recorder = adzi_recorder_of(adzi_self());
    return recorder != NULL && !recorder->host_may_use(recorder, t) && adzi_is_recorded(op, why);
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

bool adzi_is_recorded(const char *op, const char *why)
{
    if (adzi_recorder_of(adzi_self()) == NULL) {
        return false;
    }
    adzi_error(op, ADZ_ERR_STATE,
        "cannot be captured, because %s; call it outside the function "
        "that a plan runs",
        why);
    return true;
}
