/* Ready-made callbacks for adz_on_error. No other file of the library ends the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads/thread.h"

void adz_die(adz_status status, const char *message, void *user)
{
    (void)user;
    char line[ADZI_MESSAGE_SIZE + 64];
    snprintf(line, sizeof line, "%s (%s)\n", message != NULL ? message : "an error",
        adz_status_name(status));
    ssize_t done = write(STDERR_FILENO, line, strlen(line)); /* a failure has no remedy */
    (void)done;
    exit(EXIT_FAILURE);
}

void adz_quiet(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}
