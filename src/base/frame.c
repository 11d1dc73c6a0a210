/* Frames of the calls that run the user's code, and what is restored after a jump out of such a
 * call: Note [Calls that are left by a jump] in thread.h. A thread that ends leaves all its frames.
 */
#include <string.h>

#include "base/capture.h"
#include "base/alloc.h"
#include "base/tracer.h"
#include "base/threads/thread.h"
#include "base/threads/upcalls.h"

bool adzi_frames_grow(adzi_thread *thread)
{
    const size_t capacity = thread->frames_capacity * 2;
    adzi_frame *frames = capacity > 0 ? adzi_alloc(capacity * sizeof *frames) : NULL;
    if (frames == NULL) {
        return false;
    }
    memcpy(frames, thread->frames, thread->n_frames * sizeof *frames);
    if (thread->frames != thread->first_frames) {
        adzi_free(thread->frames, thread->frames_capacity * sizeof *frames);
    }
    thread->frames = frames;
    thread->frames_capacity = capacity;
    return true;
}

/* Ends the capture of the thread, whose function was left by a jump. */
static void leave_capture(adzi_thread *thread)
{
    adzi_capture *capture = thread->capture;
    adzi_capture_end();
    if (capture != NULL && capture->abandoned != NULL) {
        capture->abandoned(capture);
    }
}

/* Ends the trace of the thread, and undoes it. */
static void abandon(adzi_tracer *tracer)
{
    adzi_tracer_end();
    if (tracer->abandoned != NULL) {
        tracer->abandoned(tracer);
    }
}

void adzi_frames_leave(adzi_thread *thread, size_t first)
{
    while (thread->n_frames > first) {
        const adzi_frame f = thread->frames[--thread->n_frames];
        thread->grad_enabled = f.grad_enabled;
        thread->anomaly = f.anomaly;
        thread->draws = f.draws;
        thread->cache.granted = f.granted;
        thread->reading = f.reading;
        thread->deriving = f.deriving;
        if (f.capture == NULL) {
            leave_capture(thread);
        }
        adzi_string_free(f.text);
        if (f.run != NULL) {
            adzi_upper.run_abandon(f.run);
        }
        if (f.tracer == NULL && thread->tracer != NULL) { /* a traced function was left by a jump */
            abandon(thread->tracer);
        }
    }
}

/* The stack frame of this function lies below the floor of every call that still runs. It lies less
 * than the four kilobytes of ADZI_STEP_DOWN below the function that called the library. */
void adzi_settle(adzi_thread *thread)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    size_t running = thread->n_frames;
    while (running > 0 && here > thread->frames[running - 1].floor) {
        --running;
    }
    adzi_frames_leave(thread, running);
}

void adzi_frame_end_text(adzi_thread *thread, size_t index)
{
    char *text = thread->n_frames > index ? thread->frames[index].text : NULL;
    adzi_frame_end(thread, index);
    adzi_string_free(text);
}

void adzi_frames_forget(adzi_thread *thread, const void *owner)
{
    for (size_t i = 0; i < thread->n_frames; ++i) {
        if (thread->frames[i].owner == owner) {
            thread->frames[i].owner = NULL;
        }
    }
}

/* ---- the end of a thread --------------------------------------------------------------------- */

void adzi_thread_trim(adzi_thread *thread)
{
    if (thread->scope != &thread->root || thread->n_temporaries > 0) {
        return;
    }
    if (thread->n_frames == 0 && thread->frames != thread->first_frames) {
        adzi_free(thread->frames, thread->frames_capacity * sizeof *thread->frames);
        thread->frames = thread->first_frames;
        thread->frames_capacity = ADZI_FIRST_FRAMES;
    }
    adzi_free(thread->temporaries, thread->temporaries_capacity * sizeof *thread->temporaries);
    thread->temporaries = NULL;
    thread->temporaries_capacity = 0;
    for (adz_scope *s = thread->root.inner; s != NULL;) {
        adz_scope *inner = s->inner;
        adzi_free(s, sizeof *s);
        s = inner;
    }
    thread->root.inner = NULL;
}

/* Ends the frames, scopes and free lists of the calling thread. */
static void end_thread(adzi_thread *thread)
{
    adzi_frames_leave(thread, 0);
    adzi_upper.error_end(thread);
    if (thread->n_temporaries > 0) { /* without tensors, src/tensor may not be linked at all */
        adzi_upper.scope_unwind(thread, 0);
    }
    thread->scope = &thread->root;
    adzi_thread_trim(thread);
    adzi_cache_empty(&thread->cache);
    adzi_cache_flush(&thread->cache);
}

ADZI_AT_LOAD register_end(void)
{
    adzi_upper.thread_end = end_thread;
}

/* Ends the state of the thread that ends the process, because no destructor of a pthread_key runs
 * for it. The memory is given back by a new state, which is ended as well. */
__attribute__((destructor)) static void library_end(void)
{
    adzi_thread_end();
    adzi_cache_empty(&adzi_self()->cache);
    adzi_release_unused();
    adzi_thread_end();
}
