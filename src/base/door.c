/* Calling the user's code. */
#include "base/door.h"
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* This function is not inlined, because ADZI_FLOOR needs its own stack frame. */
static __attribute__((noinline)) bool run(
    adzi_thread *thread, const adzi_door *door, bool (*body)(void *state), void *state)
{
    const size_t frame = adzi_open_door(thread, door->op, ADZI_FLOOR(), NULL);
    if (frame == SIZE_MAX) {
        return false;
    }
    if (door->path != NULL) {
        char *path = adzi_string_copy(door->path);
        if (path == NULL) {
            adzi_frame_end(thread, frame);
            adzi_fail_memory(door->op, strlen(door->path) + 1);
            return false;
        }
        thread->frames[frame].text = path;
    }
    if (door->mode != ADZI_DOOR_KEEPS_MODES) {
        thread->grad_enabled = door->mode == ADZI_DOOR_RECORDS;
    }
    const unsigned holds = door->reports_errors ? adzi_pause_reports() : 0;
    const char *composed = thread->composed; /* the code behind the door has errors of its own */
    thread->composed = NULL;
    const bool good = body(state);
    thread->composed = composed;
    if (door->reports_errors) {
        adzi_resume_reports(holds);
    }
    if (door->mode != ADZI_DOOR_KEEPS_MODES) {
        adzi_frames_leave(thread, frame);
    } else {
        adzi_frame_end_text(thread, frame);
    }
    return good;
}

bool adzi_through_door(const adzi_door *door, bool (*body)(void *state), void *state)
{
    ADZI_STEP_DOWN();
    return run(adzi_self(), door, body, state);
}

bool adzi_callback_failed(const char *op, adz_status status, const char *format, ...)
{
    if (status != ADZ_OK && adzi_pending() == ADZ_OK) {
        char text[2 * ADZI_TEXT_SIZE];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        adzi_error(op, status, "%s", text);
    }
    return status != ADZ_OK;
}
