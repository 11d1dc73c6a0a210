/* Ctrl-C (SIGINT) and SIGTERM ask the program to end. After the first signal the program saves its
 * results and ends by itself. A second signal ends it at once. Its exit code is 130 after Ctrl-C
 * and 143 after SIGTERM in either case; finish_output() returns it. */
#ifndef EXAMPLES_INTERRUPT_H
#define EXAMPLES_INTERRUPT_H

#include <stdbool.h>

void listen_to_interrupts(void);
bool is_interrupted(void);

/* 130 or 143 after a signal, the exit code of the program; 0 without one. */
int interrupt_code(void);

/* Declares that the program was interrupted, though the signal of this exit code came to another
 * process. */
void take_interrupt(int code);

/* The name of the signal that the program received, for messages: "Ctrl-C" or "SIGTERM". */
const char *interrupt_name(void);

/* From now on a signal ends the program at once. */
void stop_listening(void);

#endif
