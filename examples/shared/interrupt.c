/* Handlers of SIGINT and SIGTERM. */
#define _GNU_SOURCE
#include "interrupt.h"

#include <signal.h>
#include <string.h>

#include "about.h"

static volatile sig_atomic_t interrupted; /* the number of the signal; 0 before one came */
static const int signals[] = { SIGINT, SIGTERM };

enum { SIGNALS = sizeof signals / sizeof *signals };

void stop_listening(void)
{
    end_on_signals();
}

/* Notes the signal. From now on a second one ends the program at once. */
static void interrupt(int signal_number)
{
    interrupted = signal_number;
    stop_listening();
}

void listen_to_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; ++i) { /* one handler is not interrupted by the other signal */
        sigaddset(&action.sa_mask, signals[i]);
    }
    for (int i = 0; i < SIGNALS; ++i) {
        sigaction(signals[i], &action, NULL);
    }
}

bool is_interrupted(void)
{
    return interrupted != 0;
}

int interrupt_code(void)
{
    return interrupted != 0 ? CODE_SIGNAL + interrupted : 0;
}

void take_interrupt(int code)
{
    interrupted = code - CODE_SIGNAL;
}

const char *interrupt_name(void)
{
    return interrupted == SIGTERM ? "SIGTERM" : "Ctrl-C";
}
