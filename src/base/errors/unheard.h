/* What is printed on stderr: an error that nobody has heard of, and warnings. */
#ifndef ADZI_BASE_UNHEARD_H
#define ADZI_BASE_UNHEARD_H

#include "base/threads/thread.h"

/* Note [Errors that nobody hears]
 * A program that sets no callback may look at results and messages, or may not look at all. Nothing
 * is printed while the former is still possible. An error counts as heard once a callback has got
 * it, or once the program has read its message or has cleared it. An error that nobody has heard is
 * printed when the program shows that it goes on:
 *
 * - It opens a scope, as it does in the next step of a training.
 * - It asks for the address of the elements of a tensor that is NULL, and will crash.
 * - The error has refused three calls. A program that looks at the last result of a step has made
 *   two such calls: a backward and a step. A call that hands a NULL on does not count, because it
 * is part of an expression, whose result the program may look at.
 * - The thread or the process ends.
 */

/** Prints the recorded error if nobody has heard of it. The program is about to go on. */
void adzi_print_unheard(adzi_thread *thread);

/** Counts a call that the recorded error has refused. The third one prints the error if nobody has
 * heard of it. */
void adzi_count_refused(adzi_thread *thread);

/** Prints "adze: <kind>: <text>", `more` and a line feed on stderr, each text once in the life of
 * the process. `last` follows the last text that is printed. */
void adzi_print_once(const char *kind, const char *text, const char *more, const char *last);

#endif
