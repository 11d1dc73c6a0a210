/* Beginning frames, for calls that want the error recorded if memory is refused. */
#include <string.h>

#include "base/error.h"
#include "base/threads/thread.h"

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
