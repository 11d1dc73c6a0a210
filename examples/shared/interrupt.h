/* Ctrl-C (SIGINT) and SIGTERM ask the program to end. After the first signal the program saves its
 * results and ends by itself. A second signal ends it at once. */
#ifndef EXAMPLES_INTERRUPT_H
#define EXAMPLES_INTERRUPT_H

#include <stdbool.h>

void listen_to_interrupts(void);
bool is_interrupted(void);

/* The name of the signal that the program received, for messages: "Ctrl-C" or "SIGTERM". */
const char *interrupt_name(void);

/* Restores the default handlers: from now on a signal ends the program at once. */
void stop_listening(void);

#endif
