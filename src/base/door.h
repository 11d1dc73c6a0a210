/* The door to the user's code: how the library calls functions of the program.
 *
 * Note [The door to the user's code]
 * A function that the program has given may fail, with or without an error, may call adze, and may
 * be left by longjmp or by a C++ exception (Note [Calls that are left by a jump]). What it does
 * decides how it is called:
 *
 * - It computes or reports progress, on the thread that called adze. adze/base.h lists these
 *   functions. They run inside adzi_through_door(). A call on whose path every instruction counts,
 *   that of a module or a backward, begins its frame by adzi_open_door() instead. What runs inside
 *   such a call, as hooks and the backwards of operators, needs no frame of its own.
 * - It is a kernel, or gives the numbers of an update. Any thread may run it, so no jump may leave
 *   it, and it cannot fail.
 * - It ends something, hands out memory, copies or describes: a deleter, a module's destroy,
 *   copy_state and extra_repr, attributes_free, the checks of an optimizer's settings and of its
 *   parameters, the shapes of its states, the rules of a tokenizer, an adz_allocator. It is called
 *   directly and must return.
 * - It carries messages between processes (adz_transport). It is called directly, because other
 *   ranks wait for what it does.
 * - It gets a message (adz_on_error, adz_on_warning). base/errors/error.c calls it.
 *
 * No other file begins a frame, which tests/checks/tree.py holds. A callback that fails without an
 * error gets one by adzi_callback_failed(). */
#ifndef ADZI_BASE_DOOR_H
#define ADZI_BASE_DOOR_H

#include "base/error.h"
#include "base/threads/thread.h"

/** Whether calls are recorded while the code behind the door runs. */
typedef enum adzi_door_mode {
    ADZI_DOOR_KEEPS_MODES = 0, /**< as before, and a mode that the code changes stays changed */
    ADZI_DOOR_RECORDS,         /**< yes; all modes are restored when the code returns */
    ADZI_DOOR_RECORDS_NOTHING  /**< no; all modes are restored when the code returns */
} adzi_door_mode;

typedef struct adzi_door {
    const char *op; /**< whose error it is if there is no memory for a frame */
    adzi_door_mode mode;
    const char *path;    /**< a step of the path in messages, such as the name of a file; or NULL */
    bool reports_errors; /**< at once, although the caller holds reports back */
} adzi_door;

/**
 * Runs `body`, which calls the user's code. If that is left by a jump, the next call of adze that
 * lies no deeper in the stack restores the modes of the thread and the path of modules, and ends
 * captures, traces and backwards that began inside.
 *
 * @return what `body` has returned; false with the error recorded if memory was refused
 */
bool adzi_through_door(const adzi_door *door, bool (*body)(void *state), void *state);

/**
 * Begins the frame of a call that runs the user's code, after ADZI_STEP_DOWN. The calling function
 * is not inlined, because ADZI_FLOOR() is its own stack frame.
 *
 * @param owner  the module that is called, which messages name in the path, or NULL
 * @return       what adzi_close_door takes; SIZE_MAX with the error recorded if memory was refused
 */
static inline size_t adzi_open_door(
    adzi_thread *thread, const char *op, uintptr_t floor, const void *owner)
{
    const size_t frame = adzi_frame_begin(thread, floor, owner);
    if (frame == SIZE_MAX) {
        adzi_fail_memory(op, sizeof(adzi_frame));
    }
    return frame;
}

/** Ends the frame of a call that returns. Modes stay as the code has left them. */
static inline void adzi_close_door(adzi_thread *thread, size_t frame)
{
    adzi_frame_end(thread, frame);
}

/** Whether a callback has failed. If it has recorded no error, one with its status and this message
 * is recorded. */
bool adzi_callback_failed(const char *op, adz_status status, const char *format, ...)
    ADZI_FORMAT(3, 4);

#endif
