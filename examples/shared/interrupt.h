/* Ctrl-C (SIGINT) and SIGTERM as a wish to end well: the first signal is heard by the program,
 * which then keeps what it has; a second one of either kind ends it. */
#ifndef EXAMPLES_INTERRUPT_H
#define EXAMPLES_INTERRUPT_H

#include <stdbool.h>

void listen_to_interrupts(void);
bool is_interrupted(void);

/* What the program heard, for its messages: "Ctrl-C" or "SIGTERM". */
const char *interrupt_name(void);

/* From here on a signal ends the program. */
void stop_listening(void);

#endif
