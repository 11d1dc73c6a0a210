#define _GNU_SOURCE
#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void listen_to_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, NULL);
}

bool is_interrupted(void)
{
    return interrupted != 0;
}

void stop_listening(void)
{
    signal(SIGINT, SIG_DFL);
}
