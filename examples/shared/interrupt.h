/* Ctrl-C as a wish to end well: the first one is heard by the program, a second one ends it. */
#ifndef EXAMPLES_INTERRUPT_H
#define EXAMPLES_INTERRUPT_H

#include <stdbool.h>

void listen_to_interrupts(void);
bool is_interrupted(void);
void stop_listening(void);

#endif
