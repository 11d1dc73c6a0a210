/* Frames of the calls that run the user's code, and what is restored after a jump out of such a
 * call: Note [Calls that are left by a jump] in thread.h. */
#include <string.h>

#include "base/error.h"
#include "base/recorder.h"
#include "base/tracer.h"
#include "base/threads/thread.h"
#include "base/upper.h"

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
        thread->reading = f.reading;
        thread->deriving = f.deriving;
        if (f.recorder == NULL) {
            adzi_recorder_end(); /* a captured function was left by a jump */
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
 * than the two kilobytes of ADZI_STEP_DOWN below the function that called the library. */
void adzi_settle(adzi_thread *thread)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    size_t running = thread->n_frames;
    while (running > 0 && here > thread->frames[running - 1].floor) {
        --running;
    }
    adzi_frames_leave(thread, running);
}

size_t adzi_frame_begin_text(adzi_thread *thread, uintptr_t floor, const char *op, const char *text)
{
    adzi_settle(thread);
    char *copy = adzi_string_copy(text);
    const size_t index = copy != NULL ? adzi_frame_begin(thread, floor, NULL) : SIZE_MAX;
    if (index == SIZE_MAX) {
        adzi_string_free(copy);
        adzi_fail_memory(op, strlen(text) + 1);
        return SIZE_MAX;
    }
    thread->frames[index].text = copy;
    return index;
}

size_t adzi_frame_begin_no_grad(adzi_thread *thread, uintptr_t floor, const char *op)
{
    adzi_settle(thread);
    const size_t index = adzi_frame_begin(thread, floor, NULL);
    if (index == SIZE_MAX) {
        adzi_fail_memory(op, sizeof(adzi_frame));
    } else {
        thread->grad_enabled = false;
    }
    return index;
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
