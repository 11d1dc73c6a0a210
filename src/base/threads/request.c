/* The number of threads that the environment asks for. */
#include "base/threads/request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

int adzi_threads_request(void)
{
    const char *text = getenv("ADZE_NUM_THREADS");
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return 0;
    }
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && value >= 1 && value <= INT16_MAX ? (int)value : 0;
}

const char *adzi_threads_request_ignored(void)
{
    const char *text = getenv("ADZE_NUM_THREADS");
    const bool ignored = text != NULL && text[0] != '\0' && adzi_threads_request() == 0;
    return ignored ? "is no number from 1 to 32767" : NULL;
}
