/* Printing on stderr: warnings, and errors that nobody has heard of. */
#include "base/errors/unheard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/threads/fork.h"
#include "base/threads/request.h"
#include "base/threads/upcalls.h"

enum {
    PRINTED = 64,     /* so many different texts are printed */
    MOST_REFUSED = 3, /* Note [Errors that nobody hears] */
    ROOM = 512        /* bytes of a line beside the message of an error */
};

/* The texts that were printed, as hashes. */
static struct {
    pthread_mutex_t lock;
    uint64_t hashes[PRINTED];
    size_t count;
} printed = { .lock = PTHREAD_MUTEX_INITIALIZER };

ADZI_FORK_TAKES(printed.lock, ADZI_LOCK_PRINTED)

/* Writes all lines in one call, so that lines of several threads do not mix. A failure has no
 * remedy. */
static void print(const char *lines)
{
    ssize_t done = write(STDERR_FILENO, lines, strlen(lines));
    (void)done;
}

void adzi_print_once(const char *kind, const char *text, const char *more, const char *last)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = text; *c != '\0'; ++c) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    pthread_mutex_lock(&printed.lock);
    size_t i = 0;
    while (i < printed.count && printed.hashes[i] != hash) {
        ++i;
    }
    const bool is_new = i == printed.count && i < PRINTED;
    const bool is_last = is_new && i == PRINTED - 1;
    if (is_new) {
        printed.hashes[printed.count++] = hash;
    }
    pthread_mutex_unlock(&printed.lock);
    if (is_new) {
        char lines[ADZI_MESSAGE_SIZE + ROOM];
        snprintf(lines, sizeof lines, "adze: %s: %s%s\n%s", kind, text, more, is_last ? last : "");
        print(lines);
    }
}

/* Whether neither a callback nor the program has heard of the thread's error. */
static bool is_unheard(const adzi_thread *thread)
{
    return thread->error.code != ADZ_OK && !thread->error.heard &&
           thread->context->on_error == NULL;
}

void adzi_print_unheard(adzi_thread *thread)
{
    adzi_error_record *error = &thread->error;
    if (!is_unheard(thread) || error->printed) {
        return;
    }
    error->printed = true;
    char more[ROOM / 2];
    snprintf(more, sizeof more,
        " (%s)\nadze: the program goes on without having looked at this error. adz_on_error(adz_die, NULL) ends it at its first error; adz_on_error(adz_quiet, NULL) prints none.",
        adz_status_name(error->code));
    adzi_print_once("error", error->text, more, "adze: further errors are not printed\n");
}

void adzi_count_refused(adzi_thread *thread)
{
    if (++thread->error.refused >= MOST_REFUSED) {
        adzi_print_unheard(thread);
    }
}

/* Called when a thread or the process ends. */
static void error_end(adzi_thread *thread)
{
    adzi_print_unheard(thread);
    const adzi_error_record *error = &thread->error;
    if (is_unheard(thread) && error->refused > 0) {
        char line[ROOM];
        snprintf(line, sizeof line, "adze: %zu call%s refused because of the error in %.100s\n",
            error->refused, error->refused == 1 ? " was" : "s were", error->op);
        print(line);
    }
}

ADZI_AT_LOAD register_error_end(void)
{
    adzi_upper.error_end = error_end;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* Nobody who mistypes the variable would notice otherwise. No callback can be set at this time. */
ADZI_AT_LOAD report_request(void)
{
    const char *why = adzi_threads_request_ignored();
    if (why != NULL) {
        char line[128];
        snprintf(line, sizeof line, "ADZE_NUM_THREADS=%.32s ignored: it %s",
            getenv("ADZE_NUM_THREADS"), why);
        adzi_print_once("warning", line, "", "");
    }
}
