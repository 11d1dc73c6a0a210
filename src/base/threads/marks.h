/* Marks among the launches of a captured call, by which a replay repeats launches or leaves them
 * out.
 *
 * Note [Marks among launches]
 * The launches of a loop whose steps a condition counts are recorded once:
 *
 *     WHILE, the condition's launches, TEST, the body's launches, AGAIN
 *
 * and so are those of two bodies of which one runs:
 *
 *     IF, the launches of the one, ELSE, those of the other, END
 *
 * What lies between PROBE and PROBED is never computed. A call has been made there in order to see
 * its results, and the plan leaves its launches out.
 *
 * TEST and IF read one byte. Marks may be nested. The ordinary call, during which they are
 * recorded, goes its own way: it pauses the capture for the steps behind the first one, and records
 * what does not run without computing it (adzi_capture_skips). */
#ifndef ADZI_BASE_THREADS_MARKS_H
#define ADZI_BASE_THREADS_MARKS_H

#include <stdbool.h>

#include "adze/base.h"
#include "base/threads/addresses.h"

typedef enum adzi_mark_kind {
    ADZI_MARK_NONE = 0,
    ADZI_MARK_WHILE,
    ADZI_MARK_TEST,
    ADZI_MARK_AGAIN,
    ADZI_MARK_IF,
    ADZI_MARK_ELSE,
    ADZI_MARK_END,
    ADZI_MARK_PROBE,
    ADZI_MARK_PROBED
} adzi_mark_kind;

/** The arguments of a mark. */
typedef struct adzi_mark_args {
    const char *truth; /* of TEST and IF: one byte, 0 for false */
    int64_t kind;
    int64_t most;  /* of TEST: the steps that run at most */
    int64_t count; /* of TEST: the steps of the replay that runs */
} adzi_mark_args;

ADZI_ADDRESSES(adzi_mark_args, truth);

/** A mark, as a function of the host that does nothing. */
adz_status adzi_mark(const void *args);

/** Adds a mark to the captured call of the thread. */
void adzi_add_mark(adzi_mark_kind kind, const void *truth, int64_t most);

/** Whether launches of the capture are recorded without being computed, from now on. Returns
 * whether they were. */
bool adzi_capture_skips(bool skips);

#endif
